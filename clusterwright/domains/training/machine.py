"""From the figures of a design to the machine under a job: peaks, links, memory; equal candidates once."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import Frame, Provenance
from clusterwright.domains.training.plans import Machines

__all__ = ["BYTES_PER_ELEMENT", "Fleet", "fleet_of", "job_gpus"]

Floats = NDArray[np.float64]

BYTES_PER_ELEMENT = {
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "nvfp4": 0.5,
    "fp4": 0.5,
}
"""Bytes of a matrix operand."""
ACHIEVABLE_DEFAULT = 0.75
"""Best measured product over peak where nobody measured it: the middle of twelve accelerators (0.51 to 0.97)."""
NARROW_PENALTY = 0.94
"""Fraction of peak reached in 8 bits over that in BF16: mean of H100 0.88, H200 0.91, B200 0.98, GB200 0.99."""


NETWORK_EFFICIENCY = 0.94
"""Share of the link rate that collectives reach where the design does not say (46 to 48 of 50 GB/s are seen)."""


SLOWEST_NETWORK_BYTES_S = 1.25e8
"""A server without a card for the compute fabric still has 1 Gb/s Ethernet."""


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


def fleet_of(frame: Frame, j: int, precision: str, gpus: Floats) -> Fleet:
    """The distinct machines of the candidates for workload ``j``."""
    columns = _columns(frame, j, precision)
    table = np.stack([*columns.values(), gpus])
    unique, index = np.unique(table, axis=1, return_inverse=True)
    machines = Machines(**{name: unique[i] for i, name in enumerate(columns)})
    return Fleet(machines, unique[-1], index.reshape(-1))


def _columns(frame: Frame, j: int, precision: str) -> dict[str, Floats]:
    """The columns of :class:`Machines`, shape (n,) each, in its order."""
    peak, best, best16 = _rates(frame, j, precision)
    made = {
        "memory_bytes": frame["accelerator.memory_bytes"],
        "memory_bandwidth_bytes_s": frame["accelerator.memory_bandwidth_bytes_s"],
        "peak_flops": peak,
        "achievable_flops": best,
        "achievable_bf16_flops": best16,
        "bytes_per_element": np.full(frame.n, BYTES_PER_ELEMENT[precision]),
        "domain": np.maximum(frame["accelerator.scaleup_domain"], 1.0),
        "scaleup_bytes_s": frame["accelerator.scaleup_bandwidth_bytes_s"],
        "network_bytes_s": _network_bytes_s(frame),
        "latency_s": frame["fabric.latency_s"],
    }
    return {f.name: np.asarray(made[f.name], dtype=np.float64) for f in fields(Machines)}


def _rates(frame: Frame, j: int, precision: str) -> tuple[Floats, Floats, Floats]:
    """Peak, best product at the precision, best product in BF16; what was not measured is inferred."""
    peak, bf16 = np.maximum(frame[f"training[{j}].peak_flops"], 1.0), frame["accelerator.peak_bf16_flops"]
    bf16 = np.where(bf16 > 0, bf16, peak)
    narrow = NARROW_PENALTY if BYTES_PER_ELEMENT[precision] < 2.0 else 1.0
    here, there = frame.get(f"training[{j}].achievable_flops", 0.0), frame.get("accelerator.achievable_bf16_flops", 0.0)
    fraction = np.where(here > 0, here / peak / narrow, ACHIEVABLE_DEFAULT)
    fraction16 = np.minimum(np.where(there > 0, there / bf16, fraction), 1.0)
    best = np.minimum(np.where(here > 0, here, peak * fraction16 * narrow), peak)
    note = "best measured matrix product; where none is known at this precision, its fraction of the peak in BF16"
    frame.give(f"training[{j}].product_flops", best, Provenance("catalog", place="accelerator achievable", note=note))
    return peak, best, bf16 * fraction16


def _network_bytes_s(frame: Frame) -> Floats:
    """What one accelerator's share of the network cards carries in collectives, one direction."""
    link = np.minimum(frame["server.nic_bandwidth_bytes_s"], frame["fabric.link_bandwidth_bytes_s"])
    said = frame.get("fabric.rdma_efficiency", 0.0)
    reached = np.where(said > 0, said, NETWORK_EFFICIENCY) / np.maximum(frame["fabric.oversubscription"], 1.0)
    share = frame["server.nics"] / np.maximum(frame["server.gpus"], 1.0)
    return np.maximum(share * link * reached, SLOWEST_NETWORK_BYTES_S)
