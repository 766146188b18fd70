"""What there was to use: the GPUs and nodes of a cluster over time, and samples of how busy they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Capacity", "Samples"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Capacity:
    """The GPUs of a cluster over time, in steps.

    Attributes:
        node_gpus: GPUs of a node; of the largest where nodes differ.
        nodes, gpus: that stand there, spares and broken ones included.
        since_us: when a step begins, rising, shape (steps,).
        gpus_up: GPUs that jobs can get in that step: nodes neither down nor drained, shape (steps,).
        known: whether ``gpus_up`` was observed; else it is assumed to be all.
    """

    node_gpus: int
    nodes: int
    gpus: float
    since_us: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    gpus_up: Reals | None = None
    known: bool = False

    @classmethod
    def steady(cls, nodes: int, node_gpus: int) -> Capacity:
        """The same all the time."""
        return cls(node_gpus, nodes, float(nodes * node_gpus))

    @classmethod
    def steps(cls, nodes: int, node_gpus: int, since_us: Ints, gpus_up: Reals) -> Capacity:
        """With observed outages."""
        return cls(node_gpus, nodes, float(nodes * node_gpus), since_us, gpus_up, True)

    @property
    def up(self) -> Reals:
        """GPUs that jobs can get in each step, shape (steps,)."""
        return self.gpus_up if self.gpus_up is not None else np.full(len(self.since_us), self.gpus)

    def stranded_us(self, begin_us: int, end_us: int) -> float:
        """GPU-microseconds that no job could get."""
        edges = np.clip(np.append(self.since_us, np.iinfo(np.int64).max), begin_us, end_us)
        return float(np.sum((self.gpus - self.up) * np.diff(edges)))


@dataclass(frozen=True, eq=False)
class Samples:
    """Shares that were sampled, as Prometheus or a simulator gives them.

    Attributes:
        at_us: times of the samples, rising, shape (samples,).
        values: by the name of the metric (``gpu_utilisation``, ``wasted``, ``mfu``, ``network_utilisation`` ...), shape
            (samples,); NaN where there is none.
    """

    at_us: Ints
    values: Mapping[str, Reals]

    def mean(self, name: str, weight: str = "") -> float:
        """Mean of the samples that are there, weighted by another series; NaN without any."""
        values = self.values.get(name)
        if values is None:
            return float("nan")
        weights = self.values.get(weight, np.ones_like(values))
        there = np.isfinite(values) & np.isfinite(weights) & (weights > 0)
        return float(np.average(values[there], weights=weights[there])) if there.any() else float("nan")
