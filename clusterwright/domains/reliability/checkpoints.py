"""How often to save, and what part of the time remains for training."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = [
    "daly_interval",
    "ettr",
    "ettr_first_order",
    "finish",
    "first_order_loss",
    "largest_job",
    "restart_overhead",
    "time_to_train",
    "young_interval",
]

_HALVINGS = 60
_LEAST = 1e-3
"""Least effective training time ratio that a wall-clock time is worked out for."""


@law(
    "reliability.young_interval",
    formula="sqrt(2 C M)",
    unit="s",
    source="Young 1974, doi:10.1145/361147.361115",
    valid="C much smaller than M",
    bounds=(0.0, float("inf")),
)
def young_interval(checkpoint_s: Floats, mtti_s: Floats) -> Floats:
    """Training time between checkpoints, first order, shape (n,). C: blocking time of a checkpoint; M: MTTI."""
    return np.asarray(np.sqrt(2.0 * checkpoint_s * mtti_s))


@law(
    "reliability.daly_interval",
    formula="sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C for C < 2M, else M",
    unit="s",
    source="Daly 2006, doi:10.1016/j.future.2004.11.016",
    valid="failures memoryless",
    bounds=(0.0, float("inf")),
)
def daly_interval(checkpoint_s: Floats, mtti_s: Floats) -> Floats:
    """Training time between checkpoints, higher order, shape (n,); equals Young's for small C / M."""
    ratio = checkpoint_s / (2.0 * mtti_s)
    higher = young_interval(checkpoint_s, mtti_s) * (1.0 + np.sqrt(ratio) / 3.0 + ratio / 9.0) - checkpoint_s
    return np.where(ratio < 1.0, np.maximum(higher, 1.0), mtti_s)


@law(
    "reliability.restart_overhead",
    formula="(detect + reschedule + restart + warm up) x stretch + read the checkpoint",
    unit="s",
    source="recovery budget by declared conventions, stretched to the published median; reading by the storage law",
    bounds=(0.0, float("inf")),
)
def restart_overhead(parts_s: list[Floats], stretch: Floats, read_s: Floats) -> Floats:
    """Time from an interruption until training goes on, lost steps left out, shape (n,)."""
    return np.asarray(np.sum(parts_s, axis=0) * stretch + read_s, dtype=np.float64)


@law(
    "reliability.ettr",
    formula="dt / [(1/l) exp(l R) (exp(l (dt + C)) - 1)], l = 1 / MTTI, dt interval, C checkpoint, R restart",
    unit="1",
    source="Daly 2006 (exact for memoryless failures, also during restart); agrees with the first order of Kokolis et "
    "al. (arXiv:2410.21680) where that is valid, and holds where that is not",
    valid="any; below 0.5 the job should be made smaller",
    bounds=(0.0, 1.0),
)
def ettr(interval_s: Floats, checkpoint_s: Floats, restart_s: Floats, mtti_s: Floats) -> Floats:
    """Effective training time ratio, productive time over wall-clock time, shape (n,)."""
    rate = 1.0 / mtti_s
    # exponents are capped where the ratio is nil anyway, so that nothing overflows
    lost = np.exp(np.minimum(rate * restart_s, 300.0)) * np.expm1(np.minimum(rate * (interval_s + checkpoint_s), 300.0))
    return np.asarray(np.clip(interval_s * rate / lost, 1e-12, 1.0))


@law(
    "reliability.first_order_loss",
    formula="(R + dt/2) / M",
    unit="1",
    source="Kokolis et al., HPCA 2025 (arXiv:2410.21680): N r (u0 + dt/2)",
    valid="the first order loses its meaning as this comes near 1; up to 0.1 it is good to about 1 %",
    bounds=(0.0, float("inf")),
)
def first_order_loss(interval_s: Floats, restart_s: Floats, mtti_s: Floats) -> Floats:
    """Share of the time that restarts and lost steps take, to first order, shape (n,)."""
    return (restart_s + interval_s / 2.0) / mtti_s


@law(
    "reliability.ettr_first_order",
    formula="max(0, 1 - N r (u0 + dt/2)) / (1 + w/dt)",
    unit="1",
    source="Kokolis et al., HPCA 2025 (arXiv:2410.21680)",
    valid="N r (u0 + dt/2) well below 1",
    bounds=(0.0, 1.0),
)
def ettr_first_order(interval_s: Floats, checkpoint_s: Floats, restart_s: Floats, mtti_s: Floats) -> Floats:
    """Effective training time ratio by the published first-order formula, shape (n,), for comparison."""
    left = np.maximum(1.0 - first_order_loss(interval_s, restart_s, mtti_s), 0.0)
    return np.asarray(left / (1.0 + checkpoint_s / interval_s))


@law(
    "reliability.largest_job",
    formula="the nodes N at which ETTR (Daly's interval at MTTI = 1 / (N r)) falls to the target, by bisection",
    unit="1",
    source="laws reliability.daly_interval and reliability.ettr",
    valid="checkpoint and restart as of the run that is looked at",
    bounds=(0.0, float("inf")),
)
def largest_job(rate_per_s: Floats, checkpoint_s: Floats, restart_s: Floats, target: Floats) -> Floats:
    """Nodes that one job may span for an effective training time ratio, shape (n,)."""
    low, high = np.zeros_like(rate_per_s), np.full_like(rate_per_s, 24.0)  # decades of nodes
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        mean = 1.0 / (10.0**middle * rate_per_s)
        enough = ettr(daly_interval(checkpoint_s, mean), checkpoint_s, restart_s, mean) >= target
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.asarray(10.0**low, dtype=np.float64)


@law(
    "reliability.time_to_train",
    formula="compute time / max(ETTR, 0.001)",
    unit="s",
    source="definition of the effective training time ratio",
    valid="a run of which less than a thousandth is productive does not end; it is given as a thousandfold",
    bounds=(0.0, float("inf")),
)
def time_to_train(compute_time_s: Floats, ettr: Floats) -> Floats:
    """Wall-clock time of a run, checkpoints and failures included, shape (n,)."""
    return compute_time_s / np.maximum(ettr, _LEAST)


@law(
    "reliability.finish",
    formula="own time where all runs fit beside each other, else the sum of the times up to this run",
    unit="s",
    source="runs that need the same GPUs follow one another in the order of the spec",
    bounds=(0.0, float("inf")),
)
def finish(times_s: list[Floats], gpus: list[Floats], all_gpus: Floats) -> Floats:
    """When a run is done, counted from the start of the first, shape (n,).

    Args:
        times_s: wall-clock times of the runs up to this one, which is the last.
        gpus: GPUs of all runs.
        all_gpus: GPUs of the cluster.
    """
    beside = np.sum(gpus, axis=0) <= all_gpus
    return np.asarray(np.where(beside, times_s[-1], np.sum(times_s, axis=0)), dtype=np.float64)
