"""Published training runs with a full plan, and what the law of the training room makes of them."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clusterwright.catalog import from_dimensions
from clusterwright.domains.training import (
    PHYSICS,
    Machines,
    ModelShape,
    Physics,
    Plans,
    Runs,
    memory_of,
    shape_of,
    step_of,
)

ROWS = Path(__file__).parent / "data" / "training_published.csv"
"""Extract of public reports, each row with its link. ``recompute`` is ``none`` where the report does not say."""

Floats = NDArray[np.float64]

# memory GB, bandwidth GB/s, peak BF16, FP8, FP4, best measured product BF16, FP8 (TFLOP/s), scale-up GB/s, domain.
# Peaks are the vendors' dense figures; best measured products from stas00/ml-engineering (2026-08-22).
ACCELERATORS = {
    "A100-80G": (80, 2039, 312, 0, 0, 271.2, 0, 300, 8),
    "H100-SXM": (80, 3350, 989, 1979, 0, 794.5, 1402.6, 450, 8),
    "H100-96G-HBM2e-500W": (96, 2400, 989, 1979, 0, 794.5, 1402.6, 450, 8),
    "B200-SXM": (180, 8000, 2250, 4500, 9000, 1745, 3432.5, 900, 8),
    "GB200": (186, 8000, 2500, 5000, 10000, 1822, 3615.6, 900, 72),
}
NETWORK_EFFICIENCY, LATENCY_S = 0.94, 5e-6
NVFP4_OF_FP8 = 0.95
"""No best product in FP4 is published; the fraction of the peak is taken a little below that in FP8."""


@dataclass(frozen=True)
class Published:
    """All rows as columns; ``groups`` lists the rows of one model and sequence."""

    family: NDArray[np.str_]
    kind: NDArray[np.str_]
    step_s: Floats
    memory_gib: Floats
    plans: Plans
    machines: Machines
    groups: list[tuple[ModelShape, float, NDArray[np.intp]]]

    def predicted_s(self, physics: Physics = PHYSICS) -> Floats:
        """Step time of every row by the law."""
        made = np.empty(len(self.step_s))
        for shape, sequence, rows in self.groups:
            runs = Runs(shape, sequence, self.plans.take(rows), self.machines.take(rows), physics)
            made[rows] = step_of(runs)[0].total_s
        return made

    def predicted_memory_gib(self) -> Floats:
        """Memory of every row by the law."""
        made = np.empty(len(self.step_s))
        for shape, sequence, rows in self.groups:
            made[rows] = memory_of(shape, self.plans.take(rows), sequence).total_bytes / 2**30
        return made


def read_published() -> Published:
    """The extract as columns."""
    with ROWS.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    groups: dict[tuple[ModelShape, float], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[_shape(row), float(row["sequence"])].append(i)
    return Published(
        family=np.array([r["family"] for r in rows]),
        kind=np.array([r["kind"] for r in rows]),
        step_s=np.array([float(r["step_s"]) for r in rows]),
        memory_gib=np.array([float(r["memory_gib"] or np.nan) for r in rows]),
        plans=_plans(rows),
        machines=_machines(rows),
        groups=[(shape, sequence, np.array(members)) for (shape, sequence), members in groups.items()],
    )


def _shape(row: dict[str, str]) -> ModelShape:
    wanted = ("layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab")
    said: dict[str, object] = {k: int(row[k]) for k in wanted} | {"gated_mlp": row["gated_mlp"]}
    if row["head_dim"]:
        said["head_dim"] = int(row["head_dim"])
    if row["experts"]:
        inner = int(row["ffn_hidden"])
        said |= {"kind": "moe", "experts": int(row["experts"]), "top_k": int(row["top_k"]), "expert_ffn_hidden": inner}
    if row["model"].startswith("deepseek"):
        said |= {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
        said |= {"v_head_dim": 128, "shared_experts": 2 if "v2" in row["model"] else 1}
    if row["model"] == "deepseek-v3":
        said |= {"ffn_hidden": 18432, "dense_layers": 3}
    if row["model"].startswith("gpt-oss"):
        said |= {"window": 128, "window_layers": int(row["layers"]) // 2}
    return shape_of(from_dimensions(said, row["model"]))


def _plans(rows: list[dict[str, str]]) -> Plans:
    names = ("tp", "pp", "cp", "ep", "dp", "interleave", "micro_batch", "shard", "sequence_parallel")
    columns = {n: np.array([float(r[n]) for r in rows]) for n in names}
    batch = np.array([float(r["batch"]) for r in rows])
    columns["micro_batches"] = np.maximum(np.round(batch / columns["dp"] / columns["micro_batch"]), 1.0)
    levels = {"none": 0.0, "selective": 1.0, "full": 2.0}
    columns["recompute"] = np.array([levels[r["recompute"]] for r in rows])
    return Plans(**columns)


def _machines(rows: list[dict[str, str]]) -> Machines:
    table = np.array([_machine(row) for row in rows]).T
    return Machines(**{f.name: column for f, column in zip(fields(Machines), table, strict=True)})


def _machine(row: dict[str, str]) -> tuple[float, ...]:
    memory, bandwidth, bf16, fp8, fp4, best16, best8, scaleup, domain = ACCELERATORS[row["gpu"]]
    at = {"bf16": (bf16, best16, 2.0), "fp8": (fp8, best8, 1.0)}
    if fp8:
        at["nvfp4"] = (fp4, fp4 * best8 / fp8 * NVFP4_OF_FP8, 0.5)
    peak, best, width = at[row["precision"]]
    network = float(row["nic_bytes_s"]) * NETWORK_EFFICIENCY
    rates = (memory * 1e9, bandwidth * 1e9, peak * 1e12, best * 1e12, best16 * 1e12)
    return *rates, width, domain, scaleup * 1e9, network, LATENCY_S


FITTED = {"matmul": (0.7, 1.0), "attention": (0.3, 0.8), "memory": (0.3, 0.95), "collectives": (0.5, 1.0)}
"""Constants that were compared with these rows, and the range that makes physical sense."""


def refit(published: Published, rows: NDArray[np.bool_]) -> Physics:
    """Constants with the least mean error over the families of ``rows``, by coordinate descent from mid-range."""
    middle = {name: (low + high) / 2 for name, (low, high) in FITTED.items()}
    physics = replace(PHYSICS, **middle)
    best = _loss(published, rows, physics)
    for part in (5, 5, 10, 10, 20, 40):
        for name, (low, high) in FITTED.items():
            for sign in (-1.0, 1.0):
                value = float(np.clip(getattr(physics, name) + sign * (high - low) / part, low, high))
                tried = replace(physics, **{name: value})
                loss = _loss(published, rows, tried)
                if loss < best:
                    physics, best = tried, loss
    return physics


def _loss(published: Published, rows: NDArray[np.bool_], physics: Physics) -> float:
    """Mean over families of the mean |log error|, a family counting by the root of its rows."""
    wrong = np.abs(np.log(published.predicted_s(physics) / published.step_s))
    families = [rows & (published.family == f) for f in np.unique(published.family[rows])]
    means = [float(wrong[f].mean()) for f in families]
    return float(np.average(means, weights=[np.sqrt(f.sum()) for f in families]))
