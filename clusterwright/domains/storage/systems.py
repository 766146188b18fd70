"""Which system serves a tier: the one asked for, or the cheapest that can be bought."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterwright.catalog import Catalog, Part
from clusterwright.cluster import Floats, Frame, Provenance, chosen, from_spec
from clusterwright.domains.storage.tiers import blocks
from clusterwright.spec import Spec

__all__ = ["Wanted", "give_block", "offers", "pick_parallel", "prices"]

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
}
_ABSENT = {"fewest": 1.0, "block_weight_kg": 40.0, "block_units": 2.0, "block_power_w": 0.0, "price_usd": 0.0}
_EACH_TB = 1e12


@dataclass(frozen=True)
class Wanted:
    """What a tier must do, shape (n,) each."""

    capacity_bytes: Floats
    read_bytes_s: Floats
    write_bytes_s: Floats


def offers(catalog: Catalog, tier: str) -> list[Part]:
    """The systems that can be bought for a tier and whose building block is known."""
    sold = [p for p in catalog.parts("storage") if p.text("tier") == tier and p.text("procurement") == "buy"]
    return [p for p in sold if p.get("write_bytes_s") and p.get("capacity_bytes")]


def prices(parts: list[Part], wanted: Wanted) -> Floats:
    """Price of each system (rows) for each candidate (columns), bought in the blocks that it takes."""
    return np.stack([_needed(p, wanted) * p.get("purchase_price_usd", np.inf) for p in parts])


def _needed(part: Part, wanted: Wanted) -> Floats:
    read = part["read_bytes_s"]
    return np.asarray(
        blocks(
            wanted.capacity_bytes,
            part["capacity_bytes"],
            part["usable_fraction"],
            wanted.read_bytes_s,
            read,
            wanted.write_bytes_s,
            part["write_bytes_s"],
            part.get("minimum_blocks", 1.0),
        )
    )


def pick_parallel(frame: Frame, spec: Spec, catalog: Catalog, wanted: Wanted) -> None:
    """Give the parallel file system's building block: as asked, else the cheapest for each candidate."""
    if spec.storage.parallel is not None:
        part = catalog.get("storage", spec.storage.parallel)
        give_block(frame, "storage.parallel", part, from_spec(str(spec.place("storage.parallel"))))
        return
    parts = offers(catalog, "parallel")
    best = np.argmin(prices(parts, wanted), axis=0)
    if frame.n == 1:
        why = chosen("the cheapest that reaches capacity, read and write rate; see the storage options")
        give_block(frame, "storage.parallel", parts[int(best[0])], why)
        return
    for name, key in FIELDS.items():
        column = np.array([p.get(key, _ABSENT.get(name, np.nan)) for p in parts])
        frame.give(f"storage.parallel.{name}", column[best], chosen("the cheapest for each candidate"))
    frame.give("storage.parallel.rent_usd_per_tb_month", 0.0, chosen("bought"))


def give_block(frame: Frame, tier: str, part: Part, why: Provenance) -> None:
    """Give the building block of one tier from the catalogue; a rented system's block is a terabyte."""
    frame.choose(f"{tier}.system", part.name, why)
    place = f"catalogue: storage/{part.name}"
    rented = part.text("procurement") == "rent"
    for name, key in FIELDS.items():
        path = f"{tier}.{name}"
        if key in part:
            frame.give_fact(path, part.fact(key), f"{place} {key}")
        elif rented:
            frame.give(path, _rented(part, name), Provenance("catalog", place=place, note="rented by the terabyte"))
        else:
            note = "the catalogue is silent; a usual value"
            frame.give(path, _ABSENT.get(name, 1.0), Provenance("assumption", place=place, note=note))
    rent = part.fact("rent_usd_per_tb_month") if "rent_usd_per_tb_month" in part else None
    if rent is None:
        frame.give(f"{tier}.rent_usd_per_tb_month", 0.0, Provenance("catalog", place=place, note="bought, not rented"))
    else:
        frame.give_fact(f"{tier}.rent_usd_per_tb_month", rent, f"{place} rent_usd_per_tb_month")


def _rented(part: Part, name: str) -> float:
    """A figure of the block of a rented system: one terabyte, nothing of which stands in the hall."""
    per_block = {
        "block_bytes": _EACH_TB,
        "fewest": 1.0,
        "block_read_bytes_s": part.get("read_per_tb_bytes_s", 1e9),
        "block_write_bytes_s": part.get("write_per_tb_bytes_s", 1e9),
    }
    return per_block.get(name, 0.0)
