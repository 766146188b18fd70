"""From spec, catalogue and candidates to the inputs of the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterwright.catalog import Catalog, Part, Rental
from clusterwright.cluster import Floats, Frame, Provenance, assumed, chosen, from_spec
from clusterwright.design.candidates import RENTAL_WORDS, Candidate, peak_key, provided, with_switches
from clusterwright.domains.fabric import cable_power, cable_price
from clusterwright.search import median
from clusterwright.spec import Spec

__all__ = ["PROCUREMENTS", "fill"]

PROCUREMENTS = ("buy", "rent", "reserved", "colocate")

_ACCELERATOR = {
    "accelerator.memory_bytes": "memory_bytes",
    "accelerator.memory_bandwidth_bytes_s": "memory_bandwidth_bytes_s",
    "accelerator.peak_bf16_flops": "peak_bf16_flops",
    "accelerator.tdp_w": "tdp_w",
    "accelerator.scaleup_bandwidth_bytes_s": "scaleup_bandwidth_bytes_s",
    "accelerator.scaleup_domain": "scaleup_domain",
    "accelerator.launch_year": "launch_year",
    "accelerator.price_usd": "purchase_price_usd",
    "accelerator.achievable_bf16_flops": "achievable_bf16_flops",
    "accelerator.host_link_bytes_s": "host_link_bytes_s",
}
_SERVER = {
    "server.gpus": "gpus",
    "server.power_w": "power_w",
    "server.units": "units",
    "server.weight_kg": "weight_kg",
    "server.price_usd": "purchase_price_usd",
    "server.nics": "nics",
    "server.nic_bandwidth_bytes_s": "nic_rate_bytes_s",
    "server.nvme_bytes": "nvme_bytes",
    "server.memory_bytes": "memory_bytes",
    "server.host_bandwidth_bytes_s": "host_bandwidth_bytes_s",
    "server.system_nodes": "system_nodes",
    "server.liquid_fraction": "liquid_fraction",
}
_SILENT = {
    "weight_kg": 130.0,
    "nvme_bytes": 0.0,
    "memory_bytes": 2e12,
    "system_nodes": 1.0,
    "liquid_fraction": 0.0,
    "purchase_price_usd": 0.0,
    "peak_bf16_flops": 0.0,
    "scaleup_bandwidth_bytes_s": 0.0,
    "host_link_bytes_s": 32e9,
    "host_bandwidth_bytes_s": 409.6e9,
}
_UNMEASURED = {"achievable_bf16_flops"}
"""Figures that are left out where no candidate has them: the laws then take those of parts like it."""
_COUNTS = {"gpus", "units", "nics", "system_nodes", "scaleup_domain", "launch_year", "ports", "radix"}


def fill(frame: Frame, candidates: Sequence[Candidate], spec: Spec, catalog: Catalog) -> None:
    """Give the frame its inputs: what each candidate is made of, and the wishes of the spec."""
    servers = _Column([catalog.get("server", c.server) for c in candidates], "server")
    accelerators = _Column([catalog.get("accelerator", c.accelerator) for c in candidates], "accelerator")
    for path, key in _ACCELERATOR.items():
        if accelerators.known(key) or key not in _UNMEASURED:
            accelerators.give(frame, path, key)
    _give_pcie(frame)
    for path, key in _SERVER.items():
        servers.give(frame, path, key)
    liquid = [1.0 if "liquid" in s.text("cooling") or s.text("cooling") == "hybrid" else 0.0 for s in servers.parts]
    frame.give("server.liquid", liquid, servers.origin("cooling"), count=True)
    for j, workload in enumerate(spec.workloads):
        if workload.train is not None:
            precision = workload.train.precision
            accelerators.give(frame, f"training[{j}].peak_flops", f"peak_{precision}_flops")
    _give_choices(frame, candidates, spec)
    _give_fabric(frame, candidates, spec, catalog)
    _give_prices(frame, servers, accelerators)
    _give_sites(frame, spec)
    if len(candidates) == 1:
        _name_choices(frame, candidates[0])


PCIE_BYTES_S = 25e9
"""PCIe 4.0 x16 in one direction, protocol overhead taken off."""


def _give_pcie(frame: Frame) -> None:
    """Accelerators without links of their own speak over PCIe."""
    path = "accelerator.scaleup_bandwidth_bytes_s"
    linked = frame[path] > 0
    if not linked.all():
        frame.give(path, np.where(linked, frame[path], PCIE_BYTES_S), assumed("no links of their own: PCIe 4.0 x16"))


class _Column:
    """The parts of a kind, one a candidate, read column by column."""

    def __init__(self, parts: Sequence[Part], kind: str) -> None:
        self.kind = kind
        self.parts = parts
        names = {p.name: p for p in parts}
        self.unique = list(names.values())
        position = {name: i for i, name in enumerate(names)}
        self.index = np.array([position[p.name] for p in parts], dtype=np.intp)

    def origin(self, key: str) -> Provenance:
        """Provenance of a column that has several parts, or of one part's text."""
        return Provenance("catalog", place=f"catalogue: {self.kind}/{self.unique[0].name} {key}")

    def known(self, key: str) -> bool:
        """Whether the catalogue has a value for any of the parts."""
        return any(key in part for part in self.unique)

    def give(self, frame: Frame, path: str, key: str) -> None:
        """Put one field of every candidate's part, with the interval of its fact."""
        facts = [self._fact(part, key) for part in self.unique]
        if frame.n == 1 and not isinstance(facts[0], float):
            place = f"catalogue: {self.kind}/{self.unique[0].name} {key}"
            frame.give_fact(path, facts[0], place, count=key in _COUNTS)
            return
        values: Floats = np.array([f if isinstance(f, float) else f.value for f in facts], dtype=np.float64)
        note = "" if not isinstance(facts[0], float) else "the catalogue has no value; a neutral one is used"
        origin = Provenance("assumption", note=note) if note else self.origin(key)
        frame.give(path, values[self.index], origin, count=key in _COUNTS)

    def _fact(self, part: Part, key: str) -> Any:
        try:
            return part.fact(key if not key.startswith("peak_fp16") else peak_key(part, "fp16"))
        except KeyError:
            return _SILENT.get(key, 0.0)


def _give_choices(frame: Frame, candidates: Sequence[Candidate], spec: Spec) -> None:
    given = from_spec(str(spec.place("compute.gpus"))) if spec.compute.gpus else chosen("best of the options weighed")
    frame.give("compute.gpus", [c.gpus for c in candidates], given, count=True)
    pinned = spec.compute.nodes_per_rack is not None
    density = from_spec(str(spec.place("compute.nodes_per_rack"))) if pinned else chosen("best of the options weighed")
    frame.give("compute.nodes_per_rack", [c.nodes_per_rack for c in candidates], density, count=True)
    for word in PROCUREMENTS:
        hot = [1.0 if c.procurement == word else 0.0 for c in candidates]
        frame.give(f"cost.{word}", hot, chosen("one option per way of procurement"), count=True)


OFFER_YEARS = 1
"""Rental offers more calendar years older than the newest one are not the market's price any more."""
CABLE_LENGTHS_M = {"cable": 12.0, "trunk": 30.0}
"""Mean lengths assumed: node to leaf within a row of racks, leaf to spine across the hall."""


_PROVIDED = "1 where the servers are a provider's instances: the compute network between them is the provider's, too"


def _give_fabric(frame: Frame, candidates: Sequence[Candidate], spec: Spec, catalog: Catalog) -> None:
    fabrics = [catalog.get("fabric", c.fabric) for c in candidates]
    column = _Column(fabrics, "fabric")
    bought = [with_switches(f, catalog) for f in fabrics]
    theirs = [float(provided(catalog.get("server", c.server))) for c in candidates]
    frame.give("fabric.provided", theirs, Provenance("default", note=_PROVIDED), count=True)
    for path, key in {
        "fabric.link_bandwidth_bytes_s": "link_rate_bytes_s",
        "fabric.latency_s": "latency_s",
        "fabric.rdma_efficiency": "achievable_fraction",
    }.items():
        column.give(frame, path, key)
    _Column(bought, "fabric").give(frame, "fabric.radix", "radix")
    frame.give("fabric.planes", 1.0, Provenance("default", note="one plane"), count=True)
    switches = _Column([catalog.get("switch", f.text("switch")) for f in bought], "switch")
    for path, key in {
        "fabric.switch_power_w": "power_w",
        "fabric.switch_price_usd": "purchase_price_usd",
        "fabric.switch_units": "units",
        "fabric.switch_weight_kg": "weight_kg",
    }.items():
        switches.give(frame, path, key)
    for name, field in (("cable", "cable_medium"), ("trunk", "cable_long")):
        cables = _Column([catalog.get("cable", f.text(field)) for f in bought], "cable")
        ends = "node to leaf" if name == "cable" else "leaf to spine"
        length = Provenance("assumption", note=f"mean length, {ends}")
        frame.give(f"fabric.{name}_length_m", CABLE_LENGTHS_M[name], length)
        cables.give(frame, f"fabric.{name}_assembly_usd", "price_usd")
        cables.give(frame, f"fabric.{name}_transceiver_usd", "transceiver_price_usd")
        cables.give(frame, f"fabric.{name}_usd_per_m", "price_usd_per_m")
        cables.give(frame, f"fabric.{name}_end_power_w", "power_per_end_w")
        frame.derive(
            f"fabric.{name}_price_usd",
            cable_price,
            assembly_usd=f"fabric.{name}_assembly_usd",
            transceiver_usd=f"fabric.{name}_transceiver_usd",
            usd_per_m=f"fabric.{name}_usd_per_m",
            length_m=f"fabric.{name}_length_m",
        )
    frame.derive("fabric.cable_power_w", cable_power, end_power_w="fabric.cable_end_power_w")
    origin = from_spec(str(spec.place("fabric.oversubscription")))
    if not spec.given("fabric.oversubscription"):
        origin = Provenance("default", note="non-blocking unless asked otherwise")
    frame.give("fabric.oversubscription", spec.fabric.oversubscription, origin)


def _give_prices(frame: Frame, servers: _Column, accelerators: _Column) -> None:
    """Rental $/GPU-h by way of procurement: the market's price, the lowest and highest recent offer as interval.

    A provider's instance has the provider's price, where it is known.
    """
    pairs = list(zip(servers.parts, accelerators.parts, strict=True))
    for path, way in (("cost.rent_usd_per_gpu_h", "rent"), ("cost.reserved_usd_per_gpu_h", "reserved")):
        found = {part.name: (part, _recent(part, way)) for part in servers.unique if provided(part)}
        found |= {part.name: (part, _recent(part, way)) for part in accelerators.unique}
        asked = [server.name if found.get(server.name, ("", []))[1] else gpu.name for server, gpu in pairs]
        prices = {name: sorted(r.usd_per_gpu_h for r in several) for name, (_, several) in found.items()}
        middle = np.array([_market(found[name][1]) for name in asked])
        low = np.array([prices[name][0] if prices[name] else 0.0 for name in asked])
        high = np.array([prices[name][-1] if prices[name] else 0.0 for name in asked])
        part, offers = found[asked[0]]
        note = "; ".join(f"{r.provider} {r.usd_per_gpu_h:g} USD ({r.kind}, {r.date})" for r in offers)
        place = f"catalogue: {part.kind.removesuffix('s')}/{part.name} rental"
        titles = "; ".join(dict.fromkeys(r.source.title for r in offers))
        origin = Provenance("catalog", place=place, source=titles, note=note)
        frame.give(path, middle, origin, low=low, high=high)


def _market(offers: Sequence[Rental]) -> float:
    """The price of the market: the median of its indices, which average many offers; else of the offers; 0 without."""
    indices = [r.usd_per_gpu_h for r in offers if r.kind == "index"]
    prices = indices or [r.usd_per_gpu_h for r in offers]
    return median(prices)


def _recent(part: Part, way: str) -> list[Rental]:
    """The offers of a way of procurement that are at most :data:`OFFER_YEARS` older than the newest of the part."""
    offers = [r for r in part.rentals() if way in RENTAL_WORDS.get(r.kind, ())]
    newest = max((int(r.date[:4]) for r in offers), default=0)
    return [r for r in offers if int(r.date[:4]) >= newest - OFFER_YEARS]


def _give_sites(frame: Frame, spec: Spec) -> None:
    """Split the GPUs over the sites: as the sites ask, else by their power limits, else evenly."""
    shares, origin = site_shares(spec, frame["compute.gpus"])
    for i, share in enumerate(shares):
        frame.give(f"sites[{i}].share", share, origin)


def site_shares(spec: Spec, gpus: Floats) -> tuple[list[Floats], Provenance]:
    """The fraction of all GPUs at each site, and why.

    Sites that ask for a number of GPUs get it; the others share what is left.

    Args:
        spec: asked for.
        gpus: GPUs of each candidate, shape (n,).

    Returns:
        One array of shape (n,) a site, and the provenance of all.
    """
    sites = spec.sites
    asked = [np.full_like(gpus, site.gpus or 0) for site in sites]
    left = np.clip(gpus - sum(asked), 0.0, None)
    open_sites = [i for i, site in enumerate(sites) if not site.gpus]
    powered = all(sites[i].power_w for i in open_sites)
    weights = {i: (sites[i].power_w or 1.0) if powered else 1.0 for i in open_sites}
    for i, weight in weights.items():
        asked[i] = left * (weight / sum(weights.values()))
    total = sum(asked)
    if len(open_sites) < len(sites):
        first = next(i for i, site in enumerate(sites) if site.gpus)
        origin = from_spec(str(spec.place(f"sites[{first}].gpus")))
    elif len(sites) == 1:
        origin = Provenance("default", note="one site")
    else:
        origin = Provenance("default", note="in proportion to site power" if powered else "evenly over the sites")
    return [np.asarray(share / total) for share in asked], origin


def _name_choices(frame: Frame, winner: Candidate) -> None:
    why = chosen("the best option by the objective among those that hold every limit; see the options considered")
    for path, text in {
        "compute.accelerator": winner.accelerator,
        "compute.server": winner.server,
        "fabric.technology": winner.fabric,
        "cost.procurement": winner.procurement,
    }.items():
        frame.choose(path, text, why)
