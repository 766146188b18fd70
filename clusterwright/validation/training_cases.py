"""Published rows as runs that the training laws can time: plans, machines and software side by side as columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.catalog import Catalog
from clusterwright.domains import training
from clusterwright.domains.training import Machines, ModelShape, Plans, Runs, Software
from clusterwright.validation.training_parts import Chip, RefusedRowError, chip_of, model_of, network_bytes_s, placed
from clusterwright.validation.training_rows import Published

__all__ = ["Case", "Cases", "case_of", "cases_of", "memory_under"]

Floats = NDArray[np.float64]

NETWORK_EFFICIENCY, LATENCY_S = 0.94, 5e-6
PER_OPERATOR = 1.5
"""Recomputation by operator keeps every second product's result (torchtitan's selective policy)."""
NOBODY = training.Measured(*np.zeros((4, 0)))
"""No accelerator is measured: enough to weigh plans of one machine against each other."""
USABLE = 0.97
"""Share of the memory that a recorded run may have filled."""


@dataclass(frozen=True)
class Case:
    """One row, understood.

    Attributes:
        row: as published.
        shape: of the model.
        sequence: tokens in a sequence.
        chip: the accelerator.
        precision: of the products.
        plan: by the names of :class:`Plans`.
        network_bytes_s: of one accelerator's share of the network cards.
        traits: by the names of :class:`Software`.
        release: of the software, in years; None where it is not given.
        assumed: what was not published and how it was taken.
    """

    row: Published
    shape: ModelShape
    sequence: float
    chip: Chip
    precision: str
    plan: Mapping[str, float]
    network_bytes_s: float
    traits: Mapping[str, float]
    release: float | None
    assumed: Sequence[str]

    @property
    def peak_flops(self) -> float:
        """Dense peak at the precision."""
        return peak_of(self.chip, self.precision)


def peak_of(chip: Chip, precision: str) -> float:
    """Dense peak at a precision; where the part has no such format, the next wider one that it has."""
    wider = {"nvfp4": ("fp4", "nvfp4", "fp8", "bf16", "fp16"), "mxfp8": ("fp8", "bf16"), "fp8": ("fp8", "bf16")}
    for name in wider.get(precision, ("bf16", "fp16")):
        if chip.peaks.get(name):
            return chip.peaks[name]
    return max(chip.peaks.values())


def precision_of(text: str) -> tuple[str, list[str]]:
    """``bf16``, ``fp8``, ``mxfp8`` or ``nvfp4`` from a published label, and what was assumed."""
    label = text.lower()
    if not label:
        return "bf16", ["precision taken as BF16"]
    if "fp4" in label:
        return "nvfp4", []
    if "mx" in label:
        return "mxfp8", []
    if "fp8" in label or "int8" in label:
        return "fp8", []
    return "bf16", []


def case_of(row: Published, catalog: Catalog) -> Case:
    """What a row says, with everything that it leaves out assumed as its framework has it by default.

    Raises:
        RefusedRowError: the accelerator, the model or the size of the job cannot be known.
    """
    chip = placed(chip_of(row.text("gpu"), catalog), row)
    model, assumed = model_of(row, catalog)
    precision, said = precision_of(row.text("precision"))
    assumed += said
    gpus = row.number("gpu_count")
    if gpus is None:
        raise RefusedRowError("the number of accelerators is not given")
    sequence = row.number("seq_len") or 4096.0
    if row.number("seq_len") is None:
        assumed.append("sequence taken as 4,096 tokens")
    shape = training.shape_of(model)
    network = network_bytes_s(row, row.number("gpus_per_node") or min(8.0, chip.domain))
    release = _release(row)
    traits = _traits(row, precision, release)
    if not shape.gated:
        traits["fused_experts"] = 0.0  # the one kernel for all experts is made for gated activations
    plan = _plan(row, shape, sequence, gpus, chip, network, traits, assumed)
    return Case(row, shape, sequence, chip, precision, plan, network, traits, release, assumed)


def _release(row: Published) -> float | None:
    found = re.match(r"(\d\d)\.(\d\d)", row.text("release"))
    return 2000.0 + float(found[1]) + (float(found[2]) - 1.0) / 12.0 if found and float(found[2]) <= 12 else None


GRAPHS_SINCE = 2026.0 + 5.0 / 12.0
"""Megatron launches mixtures of experts as captured graphs from its release 26.06 on."""


_HIDE_TP = ("bridge", "nemo", "mlperf")
_HIDE_DP = (*_HIDE_TP, "foundry", "titan", "fsdp", "deepspeed")
"""Frameworks that hide tensor and data parallel traffic as they come; in any other it has to be switched on."""


def _traits(row: Published, precision: str, release: float | None) -> dict[str, float]:
    """What the framework does by default, and what the row's note says."""
    framework, note = row.text("framework").lower(), row.text("verbatim_note").lower()
    old = "fp16" in row.text("precision").lower() and "foundry" not in framework
    half = (old and "deepspeed" not in framework) or any(w in framework for w in ("mlperf", "nemo", "bridge"))
    mixed = "asynctp" in note or "async tp" in note
    hides_tp = any(word in framework for word in _HIDE_TP) or ("torchtitan" in framework and mixed)
    traits = {
        "fused_attention": 0.0 if old else 1.0,
        "tp_overlap": 1.0 if hides_tp and not old else 0.0,
        "dp_overlap": 1.0 if any(word in framework for word in _HIDE_DP) and not old else 0.0,
        "natural_routing": 0.0 if "forced" in row.text("routing").lower() else 1.0,
        "row_scaled": 1.0 if "rowwise" in row.text("precision").lower() else 0.0,
        "half_gradients": 1.0 if half else 0.0,
        "separate_casts": 1.0 if any(w in framework for w in ("foundry", "titan", "fsdp")) else 0.0,
        "frees_outputs": 0.0 if "deepspeed" in framework else 1.0,
        "host": 1.0,
        "fused_experts": 0.0,
        "frozen_weights": 1.0 if "lora" in (row.text("model") + row.text("why_not_in_target")).lower() else 0.0,
        "tiled_attention": 0.0 if "foundry" in framework else 1.0,
        "async_attention": 0.0 if any(w in framework for w in ("foundry", "titan", "fsdp", "deepspeed")) else 1.0,
        "whole_recompute": 0.0 if any(w in framework for w in ("foundry", "titan", "fsdp")) else 1.0,
        "once_per_domain": 1.0,
    }
    if (release or 0.0) >= GRAPHS_SINCE:
        traits |= {"host": 0.0, "fused_experts": 1.0}
    return traits


def _plan(
    row: Published,
    shape: ModelShape,
    sequence: float,
    gpus: float,
    chip: Chip,
    network: float,
    traits: Mapping[str, float],
    assumed: list[str],
) -> dict[str, float]:
    batch = row.number("global_batch_seqs")
    if batch is None:
        batch = max(gpus, 4e6 / sequence)
        assumed.append("global batch taken as 4M tokens")
    degrees = {d: row.number(d) for d in ("tp", "pp", "cp", "ep")}
    moe = bool(shape.expert)
    if degrees["tp"] is None and degrees["pp"] is None:
        assumed.append("plan not published: the fastest that fits")
        if traits["frozen_weights"]:
            return _planned_frozen(row, shape, sequence, gpus, batch, chip, traits)
        return _planned(row, shape, sequence, gpus, batch, chip)
    tp, pp, cp = (degrees[d] or 1.0 for d in ("tp", "pp", "cp"))
    dp = max(gpus / (tp * pp * cp), 1.0)
    ep = degrees["ep"] or (min(8.0, float(shape.experts)) if moe else 1.0)
    micro = row.number("micro_batch")
    shard = _shard(row, assumed)
    parallel = row.text("sequence_parallel").lower()
    cut = 1.0 if parallel == "yes" or (not parallel and tp > 1 and traits["tp_overlap"] > 0) else 0.0
    chunks = row.number("vpp")
    if chunks is None and pp > 1:
        assumed.append("no interleaving taken")
    plan = {
        "tp": tp,
        "pp": pp,
        "cp": cp,
        "ep": ep if moe else 1.0,
        "dp": dp,
        "interleave": (chunks or 1.0) if pp > 1 else 1.0,
        "micro_batch": micro or 1.0,
        "micro_batches": max(batch / (dp * (micro or 1.0)), 1.0),
        "recompute": 0.0,
        "shard": shard,
        "sequence_parallel": cut,
    }
    plan["recompute"] = _recompute(row, shape, sequence, chip, plan, traits, assumed)
    if micro is None:
        plan = _with_micro_batch(plan, shape, sequence, chip, network, traits)
        assumed.append(f"micro-batch taken as {plan['micro_batch']:g}, the fastest that fits")
    return plan


def _with_micro_batch(
    plan: dict[str, float], shape: ModelShape, sequence: float, chip: Chip, network: float, traits: Mapping[str, float]
) -> dict[str, float]:
    """The plan with the fastest micro-batch of 1, 2, 4, 8 that divides a rank's batch and fits."""
    held = plan["micro_batch"] * plan["micro_batches"]
    sizes = [float(b) for b in (1, 2, 4, 8) if b == 1 or (b <= held and (held / b).is_integer())]
    tried = [plan | {"micro_batch": b, "micro_batches": held / b} for b in sizes]
    plans = Plans(**{k: np.array([t[k] for t in tried]) for k in plan})
    machines = _machines([chip], ["bf16"], [network], [8.0], NOBODY).take(np.zeros(len(tried), dtype=np.intp))
    step = training.step_of(
        Runs(shape, sequence, plans, machines, physics=training.PRIOR, software=Software(**traits))
    )[0].total_s
    fits = memory_under(shape, plans, sequence, traits).total_bytes <= USABLE * chip.memory_bytes
    fits[0] = True
    return tried[int(np.argmin(np.where(fits, step, np.inf)))]


def _shard(row: Published, assumed: list[str]) -> float:
    text = row.text("zero_stage")
    if found := re.search(r"zero-?\s*([0-3])", text.lower()) or re.match(r"([0-3])", text):
        return float(found[1])
    framework = row.text("framework").lower()
    if "fsdp" in text.lower() or "fsdp" in framework or "torchtitan" in framework:
        return 3.0
    assumed.append("optimizer state taken as shared out (stage 1)")
    return 1.0


def memory_under(
    shape: ModelShape, plans: Plans, sequence: float, traits: Mapping[str, float], **software: Any
) -> training.Memory:
    """Memory of plans under the traits of a framework, or with ``software`` in place of them."""
    gradient = training.WEIGHT_BYTES if traits["half_gradients"] else training.GRADIENT_BYTES
    shared = traits["fused_attention"], traits["frozen_weights"]
    own = {"gradient_bytes": gradient, "frees_outputs": traits["frees_outputs"], **software}
    return training.memory_of(shape, plans, sequence, *shared, **own)


def _recompute(
    row: Published,
    shape: ModelShape,
    sequence: float,
    chip: Chip,
    plan: dict[str, float],
    traits: Mapping[str, float],
    assumed: list[str],
) -> float:
    text = row.text("recompute").lower()
    if "per-op" in text:
        return PER_OPERATOR
    for level, word in ((0.0, "none"), (0.0, "no"), (1.0, "select"), (2.0, "full"), (2.0, "yes")):
        if text.startswith(word):
            return level
    level = 0.0
    for level in (0.0, 1.0):
        one = Plans(**{k: np.array([v]) for k, v in (plan | {"recompute": level}).items()})
        if memory_under(shape, one, sequence, traits).total_bytes[0] <= USABLE * chip.memory_bytes:
            break
    assumed.append(f"recomputation taken as {training.RECOMPUTE[int(level)]}, the least that fits")
    return level


def _planned(
    row: Published, shape: ModelShape, sequence: float, gpus: float, batch: float, chip: Chip
) -> dict[str, float]:
    """The fastest plan that fits, where none is published."""
    machines = _machines([chip], ["bf16"], [network_bytes_s(row, 8.0)], [8.0], NOBODY)
    job = training.Job(shape, int(sequence), batch)
    ranked = training.rank(job, machines, np.array([gpus]))
    kept = training.choose(ranked, 1)
    plan = {f.name: float(getattr(kept.plans, f.name)[0]) for f in fields(Plans)}
    plan["dp"] = max(gpus / (plan["tp"] * plan["pp"] * plan["cp"]), 1.0)
    plan["micro_batches"] = max(batch / (plan["dp"] * plan["micro_batch"]), 1.0)
    return plan


def _planned_frozen(
    row: Published,
    shape: ModelShape,
    sequence: float,
    gpus: float,
    batch: float,
    chip: Chip,
    traits: Mapping[str, float],
) -> dict[str, float]:
    """The same where only adapters are trained: no gradients and no optimizer state take room or time."""
    legal = training.legal_plans(training.Job(shape, int(sequence), batch), int(gpus), int(max(chip.domain, 1.0)))
    rows = np.repeat(np.arange(len(legal)), 3)
    plans = replace(legal.take(rows), recompute=np.tile([0.0, 1.0, 2.0], len(legal)))
    machines = _machines([chip], ["bf16"], [network_bytes_s(row, 8.0)], [8.0], NOBODY).take(np.zeros_like(rows))
    runs = Runs(shape, sequence, plans, machines, physics=training.PRIOR, software=Software(**traits))
    fits = memory_under(shape, plans, sequence, traits).total_bytes <= USABLE * chip.memory_bytes
    away = np.abs(np.log(plans.batch / batch)) + (plans.gpus < gpus)
    best = int(np.lexsort((training.step_of(runs)[0].total_s, away, ~fits))[0])
    return {f.name: float(getattr(plans, f.name)[best]) for f in fields(Plans)}


def _machines(
    chips: Sequence[Chip],
    precisions: Sequence[str],
    networks: Sequence[float],
    nodes: Sequence[float],
    measured: training.Measured,
) -> Machines:
    peak16 = np.array([peak_of(c, "bf16") for c in chips])
    peak = np.array([peak_of(c, p) for c, p in zip(chips, precisions, strict=True)])
    tdp, scaleup = np.array([c.tdp_w for c in chips]), np.array([c.scaleup_bytes_s for c in chips])
    known = np.array([c.achievable_bf16_flops for c in chips])
    best16, power = training.best_products(peak16, tdp, scaleup, known, measured)
    width = [
        training.BYTES_PER_ELEMENT[p] if peak_of(c, p) > peak_of(c, "bf16") else 2.0
        for c, p in zip(chips, precisions, strict=True)
    ]
    return Machines(
        memory_bytes=np.array([c.memory_bytes for c in chips]),
        memory_bandwidth_bytes_s=np.array([c.memory_bandwidth_bytes_s for c in chips]),
        peak_flops=peak,
        achievable_flops=best16 * peak / peak16,
        achievable_bf16_flops=best16,
        bytes_per_element=np.array(width),
        power_ratio=power,
        power_density=np.maximum(tdp, 1.0) / peak16,
        domain=np.array([max(c.domain, 1.0) for c in chips]),
        scaleup_bytes_s=np.maximum(scaleup, 1e9),
        network_bytes_s=np.array(networks) * NETWORK_EFFICIENCY,
        latency_s=np.full(len(chips), LATENCY_S),
        node=np.array(nodes),
        bridge_bytes_s=np.maximum(np.array(networks) * NETWORK_EFFICIENCY, training.BRIDGE_BYTES_S),
    )


@dataclass(frozen=True)
class Cases:
    """Several cases as the columns that the laws take.

    Attributes:
        cases: one a row.
        runs: all of them; its physics is the shipped one.
    """

    cases: Sequence[Case]
    runs: Runs

    def __len__(self) -> int:
        return len(self.cases)

    def take(self, rows: NDArray[np.intp]) -> Cases:
        """Some of the cases."""
        r = self.runs
        some = {f.name: _some(getattr(r.shape, f.name), rows) for f in fields(ModelShape)}
        runs = Runs(
            ModelShape(**some),
            np.asarray(r.sequence)[rows],
            r.plans.take(rows),
            r.machines.take(rows),
            r.physics,
            r.software.take(rows),
        )
        return Cases([self.cases[int(i)] for i in rows], runs)

    def column(self, name: str) -> NDArray[np.str_]:
        """A text of every row."""
        return np.array([c.row.text(name) for c in self.cases])

    def step_s(self, physics: training.Physics, software: Software | None = None) -> Floats:
        """Step time of every case by the law."""
        runs = replace(self.runs, physics=physics, software=software or self.runs.software)
        return training.step_of(runs)[0].total_s


def _some(value: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(value, tuple):
        return tuple(replace(p, inner=np.asarray(p.inner)[rows], columns=np.asarray(p.columns)[rows]) for p in value)
    return np.asarray(value)[rows]


def cases_of(cases: Sequence[Case], measured: training.Measured, unmeasured: str = "") -> Cases:
    """The columns of several cases.

    Args:
        cases: the rows.
        measured: accelerators with a published best product.
        unmeasured: a GPU as the rows name it, to be known from its data sheet only.
    """
    chips = [c.chip for c in cases]
    if unmeasured:
        gone = [c.chip for c in cases if c.row.text("gpu") == unmeasured]
        for chip in {g.name: g for g in gone}.values():
            if chip.achievable_bf16_flops:
                measured = measured.without(peak_of(chip, "bf16"), chip.tdp_w)
        chips = [
            replace(c.chip, achievable_bf16_flops=0.0) if c.row.text("gpu") == unmeasured else c.chip for c in cases
        ]
    runs = Runs(
        shape=training.stacked_shapes([c.shape for c in cases]),
        sequence=np.array([c.sequence for c in cases]),
        plans=Plans(**{n: np.array([c.plan[n] for c in cases]) for n in cases[0].plan}),
        machines=_machines(
            chips,
            [c.precision for c in cases],
            [c.network_bytes_s for c in cases],
            [c.row.number("gpus_per_node") or 8.0 for c in cases],
            measured,
        ),
        software=Software(**{n: np.array([c.traits[n] for c in cases]) for n in cases[0].traits}),
    )
    return Cases(cases, runs)
