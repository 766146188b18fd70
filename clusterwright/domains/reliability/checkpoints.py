"""How often to save, and what part of the time remains for training."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["daly_interval", "ettr", "restart_overhead", "time_to_train", "young_interval"]


@law(
    "reliability.young_interval",
    formula="sqrt(2 C M)",
    unit="s",
    source="Young 1974, doi:10.1145/361147.361115",
    valid="C much smaller than M",
)
def young_interval(checkpoint_s: Floats, mtti_s: Floats) -> Floats:
    """Training time between checkpoints, first order. C: blocking time of a checkpoint; M: MTTI."""
    return np.asarray(np.sqrt(2.0 * checkpoint_s * mtti_s))


@law(
    "reliability.daly_interval",
    formula="sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C for C < 2M, else M",
    unit="s",
    source="Daly 2006, doi:10.1016/j.future.2004.11.016",
    valid="failures memoryless",
)
def daly_interval(checkpoint_s: Floats, mtti_s: Floats) -> Floats:
    """Training time between checkpoints, higher order; equals Young's for small C / M."""
    ratio = checkpoint_s / (2.0 * mtti_s)
    higher = young_interval(checkpoint_s, mtti_s) * (1.0 + np.sqrt(ratio) / 3.0 + ratio / 9.0) - checkpoint_s
    return np.where(ratio < 1.0, np.maximum(higher, 1.0), mtti_s)


@law(
    "reliability.restart_overhead",
    formula="detect + reschedule + restart + warm up + read the checkpoint",
    unit="s",
    source="recovery budget; parts from the catalogue and the storage law",
)
def restart_overhead(parts_s: list[Floats]) -> Floats:
    """Time from an interruption until training goes on, lost steps left out."""
    return np.asarray(sum(parts_s), dtype=np.float64)


@law(
    "reliability.ettr",
    formula="dt / [(1/l) exp(l R) (exp(l (dt + C)) - 1)], l = 1 / MTTI, dt interval, C checkpoint, R restart",
    unit="1",
    source="Daly 2006 (exact for memoryless failures, also during restart); agrees with the first-order "
    "(1 - l (R + dt/2)) / (1 + C/dt) of Kokolis et al. (arXiv:2410.21680) where that is near 1",
    valid="any; below 0.5 the job should be made smaller",
    bounds=(0.0, 1.0),
)
def ettr(interval_s: Floats, checkpoint_s: Floats, restart_s: Floats, mtti_s: Floats) -> Floats:
    """Effective training time ratio: productive time over wall-clock time."""
    rate = 1.0 / mtti_s
    # exponents are capped where the ratio is nil anyway, so that nothing overflows
    lost = np.exp(np.minimum(rate * restart_s, 300.0)) * np.expm1(np.minimum(rate * (interval_s + checkpoint_s), 300.0))
    return np.asarray(np.clip(interval_s * rate / lost, 1e-12, 1.0))


@law(
    "reliability.time_to_train",
    formula="compute time / ETTR",
    unit="s",
    source="definition of the effective training time ratio",
)
def time_to_train(compute_time_s: Floats, ettr: Floats) -> Floats:
    """Wall-clock time of a run, checkpoints and failures included."""
    return compute_time_s / ettr
