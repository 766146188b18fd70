"""Which system serves a tier: the one asked for, or the cheapest over the operating years."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterwright.catalog import Catalog, Part
from clusterwright.cluster import Floats, Frame, Provenance, chosen, from_spec
from clusterwright.domains.storage.tiers import blocks
from clusterwright.spec import Spec

__all__ = ["Wanted", "block_figure", "give_block", "lifetime_usd", "needed", "offers", "pick"]

FIELDS = {
    "block_bytes": "capacity_bytes",
    "usable_fraction": "usable_fraction",
    "block_read_bytes_s": "read_bytes_s",
    "block_write_bytes_s": "write_bytes_s",
    "fewest": "minimum_blocks",
    "block_power_w": "power_w",
    "block_units": "units",
    "block_weight_kg": "weight_kg",
    "price_usd": "purchase_price_usd",
    "rent_usd_per_tb_month": "rent_usd_per_tb_month",
}
"""Figure of a tier -> field of the catalogue."""
_ABSENT = {"fewest": 1.0, "block_weight_kg": 40.0, "block_units": 2.0, "block_power_w": 0.0, "price_usd": 0.0}
_COUNTS = ("fewest",)
_TB = 1e12
_UNBOUND_BYTES_S = 1e9
"""Rate that a rented terabyte of object storage brings when the catalogue is silent."""


@dataclass(frozen=True)
class Wanted:
    """What a tier must do at one site, shape (n,) each."""

    capacity_bytes: Floats
    read_bytes_s: Floats
    write_bytes_s: Floats


def offers(catalog: Catalog, tier: str) -> list[Part]:
    """The systems of a tier that are weighed: building blocks that are known; for objects also what is rented."""
    parts = [p for p in catalog.parts("storage") if p.text("tier") == tier]
    bought = [p for p in parts if p.text("procurement") == "buy" and p.get("write_bytes_s") and p.get("capacity_bytes")]
    return bought + [p for p in parts if tier == "object" and p.text("procurement") == "rent"]


def block_figure(part: Part, name: str) -> float:
    """A figure of a system's building block; a rented system's block is a terabyte that stands nowhere here."""
    key = FIELDS[name]
    if key in part:
        return part[key]
    if part.text("procurement") == "rent":
        rented = {
            "block_bytes": _TB,
            "usable_fraction": 1.0,
            "fewest": 1.0,
            "block_read_bytes_s": part.get("read_per_tb_bytes_s", _UNBOUND_BYTES_S),
            "block_write_bytes_s": part.get("write_per_tb_bytes_s", _UNBOUND_BYTES_S),
        }
        return rented.get(name, 0.0)
    return _ABSENT.get(name, 0.0)


def needed(part: Part, wanted: Wanted) -> Floats:
    """Building blocks of a system that do what is wanted, shape (n,)."""
    names = ("block_bytes", "usable_fraction", "block_read_bytes_s", "block_write_bytes_s", "fewest")
    size, usable, read, write, fewest = (np.asarray(block_figure(part, name)) for name in names)
    found = blocks(
        wanted.capacity_bytes, size, usable, wanted.read_bytes_s, read, wanted.write_bytes_s, write, fewest, 1.0
    )
    return np.asarray(found, dtype=np.float64)


def lifetime_usd(part: Part, wanted: Wanted, years: float) -> Floats:
    """Purchase of the blocks and rent of their capacity over the years, shape (n,)."""
    count = needed(part, wanted)
    rent = block_figure(part, "rent_usd_per_tb_month") * 12.0 * years * block_figure(part, "block_bytes") / _TB
    price = block_figure(part, "price_usd")
    return count * (price + rent) if price + rent > 0 else np.full_like(count, np.inf)


def pick(frame: Frame, spec: Spec, catalog: Catalog, tier: str, wanted: Wanted) -> None:
    """Give the building block of a tier: as the spec asks, else the cheapest for each candidate."""
    asked = getattr(spec.storage, tier, None)
    if asked is not None:
        part = catalog.get("storage", asked)
        give_block(frame, f"storage.{tier}", part, from_spec(str(spec.place(f"storage.{tier}"))))
        return
    parts = offers(catalog, tier)
    cost = np.stack([lifetime_usd(part, wanted, spec.finance.years) for part in parts])
    best = np.argmin(cost, axis=0)
    why = chosen("the cheapest over the operating years that reaches capacity, read and write rate")
    if len(set(best.tolist())) == 1:
        give_block(frame, f"storage.{tier}", parts[int(best[0])], why)
        return
    for name in FIELDS:
        column = np.array([block_figure(part, name) for part in parts])
        frame.give(f"storage.{tier}.{name}", column[best], why, count=name in _COUNTS)


def give_block(frame: Frame, tier: str, part: Part, why: Provenance) -> None:
    """Give the building block of one tier from one system of the catalogue."""
    frame.choose(f"{tier}.system", part.name, why)
    place = f"catalogue: storage/{part.name}"
    rented = part.text("procurement") == "rent"
    for name, key in FIELDS.items():
        path, count = f"{tier}.{name}", name in _COUNTS
        if key in part:
            frame.give_fact(path, part.fact(key), f"{place} {key}", count=count)
        else:
            note = "rented by the terabyte" if rented else "the catalogue is silent; a usual value"
            frame.give(path, block_figure(part, name), Provenance("assumption", place=place, note=note), count=count)
