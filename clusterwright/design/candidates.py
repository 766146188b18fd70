"""The options: which servers, GPU counts, rack densities, link technologies and procurements are weighed.

Candidates are columns, one row a candidate. Those inside the spec come first; those that would need a pin of the
spec to be lifted (another accelerator, another GPU count ...) follow, named by the pin they lift: they are shown
and serve as the way out of an infeasible spec, but they are never chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from clusterwright.catalog import Catalog, Part
from clusterwright.spec import Spec, Train

__all__ = [
    "Candidate",
    "enumerate_candidates",
    "feasible_fabrics",
    "lacking",
    "nearest_sold",
    "peak_key",
    "provided",
    "servers_for",
    "sold_fabrics",
    "with_switches",
]

NODE_COUNTS_WITHOUT_DEADLINE = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
COUNT_STEPS = (0.75, 0.9, 1.0, 1.15, 1.3, 1.5, 2.0, 3.0)
RACK_DENSITIES = (1, 2, 4, 6, 8, 10)
FIRST_YEAR_OFFERED = 2022
"""With ``accelerators: auto`` older parts are not weighed; they can be asked for by name."""
RENTED = ("rent", "reserved")
RENTAL_WORDS = {"on-demand": ("rent",), "index": ("rent",), "reserved": ("reserved",)}
"""Which ways of procurement a kind of rental offer serves; spot offers serve none, for they can be taken away."""
EXPECTED_MFU = 0.35
"""Only to place the grid of GPU counts; the training law judges each count."""


@dataclass(frozen=True)
class Candidate:
    """One option.

    Attributes:
        server: catalogue name of the server; it decides the accelerator.
        accelerator: catalogue name of the accelerator.
        gpus: number of GPUs that do work (spares come on top).
        nodes_per_rack: compute nodes in a rack.
        fabric: catalogue name of the link technology.
        procurement: buy, rent, reserved or colocate.
        lifts: the pins of the spec that this option ignores; empty when it is what was asked for.
    """

    server: str
    accelerator: str
    gpus: int
    nodes_per_rack: int
    fabric: str
    procurement: str
    lifts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name that tells the option apart from all others."""
        return (
            f"{self.gpus:,} x {self.accelerator} in {self.server}, {self.nodes_per_rack} a rack, "
            f"{self.fabric}, {self.procurement}"
        )


def enumerate_candidates(spec: Spec, catalog: Catalog) -> list[Candidate]:
    """All options inside the spec, then those that lift one pin (or two), without repetition."""
    asked = list(_options(spec, catalog, ()))
    wider: list[Candidate] = []
    for lifts in _liftable(spec):
        wider += _options(spec, catalog, lifts)
    return list(dict.fromkeys(asked)) + _new(asked, wider)


def _new(asked: Sequence[Candidate], wider: Sequence[Candidate]) -> list[Candidate]:
    """The wider options that are not among those asked for, each once with its fewest lifts."""
    seen = set(asked)
    result = []
    for option in sorted(wider, key=lambda c: len(c.lifts)):
        plain = replace(option, lifts=())
        if plain not in seen:
            seen.add(plain)
            result.append(option)
    return result


def _liftable(spec: Spec) -> Iterator[tuple[str, ...]]:
    """The pins of the spec that an alternative may lift, singly and together."""
    gpus = spec.compute.gpus is not None and not all(site.gpus for site in spec.sites)
    parts = spec.compute.accelerators is not None or spec.compute.server is not None
    if gpus:
        yield ("compute.gpus",)
    if parts:
        yield ("compute.accelerators",)
    if gpus and parts:
        yield ("compute.accelerators", "compute.gpus")
    if spec.compute.nodes_per_rack is not None:
        yield ("compute.nodes_per_rack",)


def _options(spec: Spec, catalog: Catalog, lifts: tuple[str, ...]) -> Iterator[Candidate]:
    """The product of the axes. What is rented stands in somebody else's hall: one server, one density is enough."""
    rented: set[tuple[str, int, str, str]] = set()
    for server in servers_for(spec, catalog, lifted="compute.accelerators" in lifts):
        accelerator = catalog.get("accelerator", server.text("accelerator"))
        counts = _counts(spec, catalog, server, accelerator, lifted="compute.gpus" in lifts)
        densities = _densities(spec, server, lifted="compute.nodes_per_rack" in lifts)
        fabrics = feasible_fabrics(spec, catalog, server, lifted="compute.accelerators" in lifts)
        if lifts:
            densities = densities if "compute.nodes_per_rack" in lifts else densities[-1:]
            fabrics = fabrics[:1]
        ways = _procurements(spec, server, accelerator, bool(lifts))
        for gpus, density, fabric, way in product(counts, reversed(densities), fabrics, ways):
            key = (accelerator.name, gpus, fabric, way)
            if way in RENTED and key in rented:
                continue
            rented.add(key)
            yield Candidate(server.name, accelerator.name, gpus, density, fabric, way, lifts)


def _procurements(spec: Spec, server: Part, accelerator: Part, lifted: bool) -> list[str]:
    """The ways of procurement to weigh: those asked for, or buying, renting and colocating.

    A provider's instance is only rented. Renting what nobody is known to offer is left out, unless the spec asks for
    nothing else.
    """
    asked = list(spec.finance.procurement) or ["buy", "rent", "colocate"]
    if provided(server):
        return [way for way in asked if way in RENTED]
    offered = {kind for rental in accelerator.rentals() for kind in RENTAL_WORDS.get(rental.kind, ())}
    had = [way for way in asked if way not in RENTED or way in offered]
    return had if had or lifted else asked


def provided(server: Part) -> bool:
    """Whether a cloud's instance: its hall, racks and network are the provider's."""
    return server.text("procurement") == "rent"


def servers_for(spec: Spec, catalog: Catalog, *, lifted: bool = False) -> list[Part]:
    """The servers that may be used: the named one, those of the named accelerators, or all that train and are sold."""
    compute = spec.compute
    if compute.server is not None and not lifted:
        named = catalog.get("server", compute.server)
        return [named] if _trains(named, catalog, spec) else []
    sold = [s for s in catalog.parts("server") if "buy" in s.text("procurement") and _trains(s, catalog, spec)]
    if compute.accelerators is not None and not lifted:
        names = {catalog.get("accelerator", name).name for name in compute.accelerators}
        return [s for s in sold if s.text("accelerator") in names]
    return [s for s in sold if _current(catalog.get("accelerator", s.text("accelerator")), spec)]


def _trains(server: Part, catalog: Catalog, spec: Spec) -> bool:
    """A server whose data are complete and whose accelerator has a peak at the precision asked."""
    if lacking(server):
        return False
    accelerator = catalog.get("accelerator", server.text("accelerator"))
    precisions = [w.train.precision for w in spec.workloads if w.train is not None]
    return all(accelerator.get(peak_key(accelerator, precision), 0.0) for precision in precisions)


def lacking(server: Part) -> list[str]:
    """What the catalogue would have to know of a server to design with it; instances of clouds often lack it."""
    numbers = [key for key in ("power_w", "gpus", "units", "nics", "nic_rate_bytes_s") if not server.get(key, 0.0)]
    return numbers if "cooling" in server else [*numbers, "cooling"]


def peak_key(accelerator: Part, precision: str) -> str:
    """The key of the peak rate at a precision; where only BF16 is published it stands for FP16, on the same units."""
    key = f"peak_{precision}_flops"
    return "peak_bf16_flops" if precision == "fp16" and key not in accelerator else key


def _current(accelerator: Part, spec: Spec) -> bool:
    """Offered when nobody names a part: recent, sold where the sites are, and able to train with the models' memory."""
    if "market" in accelerator and not all(accelerator.text("market") in site.region for site in spec.sites):
        return False
    year = accelerator.get("launch_year", FIRST_YEAR_OFFERED)
    return year >= FIRST_YEAR_OFFERED and accelerator["scaleup_domain"] >= 8


def feasible_fabrics(spec: Spec, catalog: Catalog, server: Part, *, lifted: bool = False) -> list[str]:
    """The link technologies that can be bought and run at the rate of the server's NICs, lowest latency first.

    A technology named by the spec is the only one, unless ``lifted``: then it gives way where it does not fit. A
    provider's instance has the provider's network, which no wish changes; any EFA stands for that of the instance.
    """
    nic, speaks = server["nic_rate_bytes_s"], _protocols(server, catalog)
    sold = [f for f in catalog.parts("fabric") if f.text("protocol") in speaks]
    sold = sold if provided(server) else sold_fabrics(sold)
    fitting = sorted(
        (f for f in sold if math.isclose(f["link_rate_bytes_s"], nic, rel_tol=0.01)),
        key=lambda f: (f["latency_s"], f.name),
    )
    if spec.fabric.technology is not None:
        named = catalog.get("fabric", spec.fabric.technology)
        if provided(server):
            efa = named.text("protocol") == "efa"
            return [f.name for f in fitting if f.name == named.name or (efa and f.text("protocol") == "efa")]
        if not lifted or named.name in {f.name for f in fitting}:
            return [named.name] if "switch" in named and "buy" in named.text("procurement") else []
    return [f.name for f in fitting]


def sold_fabrics(fabrics: Iterable[Part]) -> list[Part]:
    """Those whose switches and cables can be bought."""
    return [f for f in fabrics if "switch" in f and "buy" in f.text("procurement")]


def with_switches(fabric: Part, catalog: Catalog) -> Part:
    """The fabric, or where it is only rented the one nearest in rate, whose switches and cables stand for its own."""
    return fabric if "switch" in fabric else nearest_sold(fabric["link_rate_bytes_s"], catalog)


def nearest_sold(rate_bytes_s: float, catalog: Catalog) -> Part:
    """Of the fabrics that can be bought the one nearest in rate, lowest latency first."""
    return min(
        sold_fabrics(catalog.parts("fabric")),
        key=lambda f: (round(abs(math.log2(f["link_rate_bytes_s"] / rate_bytes_s)), 2), f["latency_s"], f.name),
    )


def _protocols(server: Part, catalog: Catalog) -> tuple[str, ...]:
    """What the server's network cards speak; cards built into the accelerator speak Ethernet."""
    if "nic" not in server:
        return ("ethernet",)
    spoken = catalog.get("nic", server.text("nic")).text("protocol")
    return ("infiniband", "ethernet") if spoken == "both" else (spoken,)


def _counts(spec: Spec, catalog: Catalog, server: Part, accelerator: Part, *, lifted: bool) -> list[int]:
    """GPU counts to weigh: the asked one, that of all sites, or a grid around what the deadline needs."""
    if spec.compute.gpus is not None and not lifted:
        return [spec.compute.gpus]
    if all(site.gpus for site in spec.sites):
        return [sum(site.gpus or 0 for site in spec.sites)]
    per_system = int(server["gpus"] * server.get("system_nodes", 1))
    least = _least_asked(spec, per_system)
    needed = max((_gpus_needed(w.train, accelerator) for w in spec.workloads if w.train is not None), default=0.0)
    if needed <= 0:
        return sorted({least + per_system * n for n in (0, *NODE_COUNTS_WITHOUT_DEADLINE) if least + n > 0})
    group = per_system if needed < 16 * per_system else max(per_system, int(4 * server["gpus"]))
    return sorted({max(math.ceil(needed * step / group) * group, least) for step in COUNT_STEPS})


def _least_asked(spec: Spec, per_system: int) -> int:
    """The fewest GPUs, in whole systems, that give each site and each run what the spec asks for it; 0 where it is
    silent.
    """
    runs = max((w.train.gpus or 0 for w in spec.workloads if w.train is not None), default=0) * len(spec.sites)
    asked = [site.gpus for site in spec.sites if site.gpus]
    sites = sum(asked) + per_system * (len(spec.sites) - len(asked)) if asked else 0
    return math.ceil(max(runs, sites) / per_system) * per_system


def _gpus_needed(train: Train, accelerator: Part) -> float:
    """GPUs that meet the deadline at the expected utilisation; 0 without a deadline."""
    if train.deadline_s is None:
        return 0.0
    flop = 6.0 * train.architecture.active_parameters * train.tokens
    peak = accelerator[peak_key(accelerator, train.precision)]
    return float(flop / (train.deadline_s * peak * EXPECTED_MFU))


def _densities(spec: Spec, server: Part, *, lifted: bool) -> list[int]:
    """Nodes per rack to weigh: the asked one, that of a rack-scale system, or what height allows."""
    if server.get("system_nodes", 1) > 1:
        return [int(server["system_nodes"])]
    if spec.compute.nodes_per_rack is not None and not lifted:
        return [spec.compute.nodes_per_rack]
    height = RACK_UNITS - 2
    tall = [n for n in RACK_DENSITIES if n * server["units"] <= height]
    return tall or [1]


RACK_UNITS = 52
"""Height of the rack assumed for compute; the facility law counts the same."""
