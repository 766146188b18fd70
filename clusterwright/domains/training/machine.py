"""From the figures of a design to the machine under a job: peaks, links, memory; equal candidates once."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Provenance
from clusterwright.domains.training.plans import USUAL_HOST, Machines

__all__ = [
    "BRIDGE_BYTES_S",
    "BYTES_PER_ELEMENT",
    "Fleet",
    "Measured",
    "best_products",
    "fleet_of",
    "job_gpus",
    "measured_parts",
]

Floats = NDArray[np.float64]

BYTES_PER_ELEMENT = {
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "mxfp8": 1.03125,
    "int8": 1.0,
    "nvfp4": 0.5625,
    "fp4": 0.5,
}
"""Bytes of a matrix operand, with the scales of its blocks (one byte to 32 elements in MXFP8, to 16 in NVFP4)."""
ACHIEVABLE_DEFAULT, USUAL_W_PER_FLOPS, DENSITY_EXPONENT = 0.80, 0.7e-12, 0.15
"""Best measured product over peak where nobody measured it or a part like it: 0.80 at 0.7 W a TFLOP/s (H100 0.803),
more where more power stands behind a peak (A100, 1.28 W: 0.869; B200, 0.44 W: 0.776)."""
ALIKE = 0.15
"""Two accelerators whose BF16 peaks differ by less (in logarithm) are taken as one design at two power limits."""


NETWORK_EFFICIENCY = 0.94
"""Share of the link rate that collectives reach where the design does not say (46 to 48 of 50 GB/s are seen)."""


SLOWEST_NETWORK_BYTES_S = 1.25e8
"""A server without a card for the compute fabric still has 1 Gb/s Ethernet."""


BRIDGE_BYTES_S = 12.5e9
"""Between the scale-up domains of a server: a PCIe 4 x16 link moves 25 GB/s, and two accelerators share one."""


@dataclass(frozen=True)
class Fleet:
    """Distinct machines, and which of them each candidate has.

    Attributes:
        machines: shape (U,).
        gpus: accelerators for the job, shape (U,).
        index: machine of each candidate, shape (n,).
    """

    machines: Machines
    gpus: Floats
    index: NDArray[np.intp]


def job_gpus(frame: Frame, j: int, sites: int, wanted: int | None, place: str) -> Floats:
    """GPUs that workload ``j`` is given: as asked, at most those of the largest site; put at ``.available_gpus``."""
    largest = frame["sites[0].gpus"]
    for i in range(1, sites):
        largest = np.maximum(largest, frame[f"sites[{i}].gpus"])
    given = largest if wanted is None else np.minimum(largest, float(wanted))
    note = "all GPUs of the largest site; a job does not span sites"
    origin = Provenance("default", note=note) if wanted is None else Provenance("spec", place=place)
    frame.give(f"training[{j}].available_gpus", given, origin, count=True)
    return given


def fleet_of(frame: Frame, j: int, precision: str, gpus: Floats, catalog: Catalog) -> Fleet:
    """The distinct machines of the candidates for workload ``j``."""
    columns = _columns(frame, j, precision, catalog)
    table = np.stack([*columns.values(), gpus])
    unique, index = np.unique(table, axis=1, return_inverse=True)
    machines = Machines(**{name: unique[i] for i, name in enumerate(columns)})
    return Fleet(machines, unique[-1], index.reshape(-1))


def _columns(frame: Frame, j: int, precision: str, catalog: Catalog) -> dict[str, Floats]:
    """The columns of :class:`Machines`, shape (n,) each, in its order."""
    peak, best, best16, power = _rates(frame, j, catalog)
    network = _network_bytes_s(frame)
    peak16 = np.maximum(frame["accelerator.peak_bf16_flops"], 1.0)
    made = {
        "memory_bytes": frame["accelerator.memory_bytes"],
        "memory_bandwidth_bytes_s": frame["accelerator.memory_bandwidth_bytes_s"],
        "peak_flops": peak,
        "achievable_flops": best,
        "achievable_bf16_flops": best16,
        "bytes_per_element": np.full(frame.n, BYTES_PER_ELEMENT[precision]),
        "power_ratio": power,
        "power_density": _limit_w(frame, peak16) / peak16,
        "domain": np.maximum(frame["accelerator.scaleup_domain"], 1.0),
        "scaleup_bytes_s": frame["accelerator.scaleup_bandwidth_bytes_s"],
        "network_bytes_s": network,
        "latency_s": frame["fabric.latency_s"],
        "node": np.maximum(frame["server.gpus"], 1.0),
        "bridge_bytes_s": np.maximum(network, BRIDGE_BYTES_S),
        **_host(frame),
    }
    return {f.name: np.asarray(made[f.name], dtype=np.float64) for f in fields(Machines)}


HOST_LINK_SHARE = 0.8
"""Share of its bare rate that the link to the host reaches: 25 of 31.5 GB/s over PCIe 4.0 x16."""


def _host(frame: Frame) -> dict[str, Floats]:
    """What an accelerator has of the host: its link, and its share of the main memory and of the bandwidth of that."""
    gpus = np.maximum(frame["server.gpus"], 1.0)
    given = {
        "host_link_bytes_s": HOST_LINK_SHARE * frame.get("accelerator.host_link_bytes_s", 0.0),
        "host_bandwidth_bytes_s": frame.get("server.host_bandwidth_bytes_s", 0.0) / gpus,
        "host_memory_bytes": frame.get("server.memory_bytes", 0.0) / gpus,
    }
    return {name: np.where(value > 0, value, USUAL_HOST[name]) for name, value in given.items()}


def _limit_w(frame: Frame, peak16: Floats) -> Floats:
    """Power limit of the accelerator; where it is not known, the usual one for its peak."""
    said = frame.get("accelerator.tdp_w", 0.0)
    return np.where(said > 0, said, USUAL_W_PER_FLOPS * peak16)


def _rates(frame: Frame, j: int, catalog: Catalog) -> tuple[Floats, Floats, Floats, Floats]:
    """Peak, best product at the precision, best product in BF16, and the power limit over that of the measured part."""
    peak, bf16 = np.maximum(frame[f"training[{j}].peak_flops"], 1.0), frame["accelerator.peak_bf16_flops"]
    bf16 = np.where(bf16 > 0, bf16, peak)
    known = frame.get("accelerator.achievable_bf16_flops", 0.0)
    best16, power = best_products(
        bf16, _limit_w(frame, bf16), frame["accelerator.scaleup_bandwidth_bytes_s"], known, measured_parts(catalog)
    )
    best = np.minimum(best16 * peak / bf16, peak)
    note = "best measured product in BF16 (of the nearest part where this one was not measured), by ratio of the peaks"
    frame.give(f"training[{j}].product_flops", best, Provenance("catalog", place="accelerator achievable", note=note))
    return peak, best, best16, power


@dataclass(frozen=True)
class Measured:
    """Accelerators whose best BF16 product is published, shape (M,) each."""

    peak_flops: Floats
    tdp_w: Floats
    scaleup_bytes_s: Floats
    best_flops: Floats

    def without(self, peak_flops: float, tdp_w: float) -> Measured:
        """All but the part with that peak and power limit: as if it were known from its data sheet only."""
        rest = (np.abs(self.peak_flops / peak_flops - 1.0) > 1e-3) | (np.abs(self.tdp_w / tdp_w - 1.0) > 1e-3)
        return Measured(self.peak_flops[rest], self.tdp_w[rest], self.scaleup_bytes_s[rest], self.best_flops[rest])


def measured_parts(catalog: Catalog) -> Measured:
    """The accelerators of the catalogue with a published best product in BF16."""
    keys = ("peak_bf16_flops", "tdp_w", "scaleup_bandwidth_bytes_s", "achievable_bf16_flops")
    rows = []
    for name in catalog.names("accelerator"):
        part = catalog.get("accelerator", name)
        row = [part.get(key, 0.0) for key in keys]
        if all(row):
            rows.append(row)
    table = np.array(rows, dtype=np.float64).reshape(-1, len(keys)).T
    return Measured(*table)


def best_products(
    peak: Floats, tdp: Floats, scaleup: Floats, known: ArrayLike, measured: Measured
) -> tuple[Floats, Floats]:
    """Best BF16 product of each part, and its power limit over that of the part it was measured on, shape (n,) each.

    A part that nobody measured takes the fraction of the peak of the measured part that is nearest in peak and
    scale-up rate, if the peaks are alike, and otherwise the middle of all.
    """
    here = np.broadcast_to(np.asarray(known, dtype=np.float64), peak.shape)
    density = np.maximum(tdp, 1.0) / peak / USUAL_W_PER_FLOPS
    guess = np.clip(ACHIEVABLE_DEFAULT * density**DENSITY_EXPONENT, 0.5, 0.95)
    best, ratio = np.where(here > 0, here, guess * peak), np.ones_like(peak)
    if not len(measured.peak_flops):
        return best, ratio
    apart = np.abs(np.log(peak[:, None] / measured.peak_flops))
    links = np.abs(np.log(np.maximum(scaleup[:, None], 1.0) / measured.scaleup_bytes_s))
    nearest = np.argmin(apart + 0.5 * np.minimum(links, 2.0), axis=1)
    takes = (here <= 0) & (np.take_along_axis(apart, nearest[:, None], axis=1)[:, 0] < ALIKE)
    theirs = measured.best_flops[nearest] / measured.peak_flops[nearest] * peak
    power = np.maximum(tdp, 1.0) / measured.tdp_w[nearest] / (peak / measured.peak_flops[nearest])
    return np.where(takes, theirs, best), np.where(takes, power, ratio)


def _network_bytes_s(frame: Frame) -> Floats:
    """What one accelerator's share of the network cards carries in collectives, one direction."""
    link = np.minimum(frame["server.nic_bandwidth_bytes_s"], frame["fabric.link_bandwidth_bytes_s"])
    said = frame.get("fabric.rdma_efficiency", 0.0)
    reached = np.where(said > 0, said, NETWORK_EFFICIENCY) / np.maximum(frame["fabric.oversubscription"], 1.0)
    share = frame["server.nics"] / np.maximum(frame["server.gpus"], 1.0)
    return np.maximum(share * link * reached, SLOWEST_NETWORK_BYTES_S)
