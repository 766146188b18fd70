"""Where the gap between a measured step and the predicted one can sit: what could explain it, and how to tell.

A cause is a way in which a run can differ from what the law takes it for: a switch (recomputation is on, a transfer is
not hidden) or a range (products run at another share of the peak). Each gives the seconds that it would add to the
step or take from it, by the law itself. The expected share of the gap is what independent causes of these sizes give
together: in proportion to the square of the seconds, less for a switch that would overshoot the gap.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.design.codes import FINDINGS
from clusterwright.design.estimate import RUN, Estimated, estimate
from clusterwright.design.whatif import kept_plan
from clusterwright.errors import InputError
from clusterwright.units import UnitError, parse

__all__ = ["NOISE", "Attribution", "Cause", "attribute", "measured_step_s"]

NOISE = 0.06
"""Step time of the same plan between software releases, relative: median of the published pairs."""
_NOTHING = 0.005
"""A gap smaller than this share of the step needs no explanation."""


@dataclass(frozen=True)
class Cause:
    """One way in which the run may differ.

    Attributes:
        slower: what is so when it adds to the step, in words.
        faster: what is so when it takes from it.
        part: of the step that it sits in; empty where it is between the parts.
        least_s: the most that it takes from the step, zero or negative.
        most_s: the most that it adds, zero or positive.
        switch: whether it is there in full or not at all.
        why: where the range comes from.
        check: how to tell on the machine.
        share: expected share of the gap, 0 to 1.
    """

    slower: str
    faster: str
    part: str
    least_s: float
    most_s: float
    why: str
    check: str
    switch: bool = False
    share: float = 0.0

    def name(self, gap_s: float) -> str:
        """What is so, given the direction of the gap."""
        return self.slower if gap_s > 0 else self.faster

    def toward(self, gap_s: float) -> float:
        """Seconds that it can give in the direction of a gap, positive."""
        return self.most_s if gap_s > 0 else -self.least_s


@dataclass(frozen=True)
class Attribution:
    """A measurement beside the prediction.

    Attributes:
        measured_s: the measured step.
        predicted: value, low and high of the predicted one.
        causes: those that can give something in the direction of the gap, the likeliest first.
    """

    measured_s: float
    predicted: dict[str, float]
    causes: list[Cause] = field(default_factory=list)

    @property
    def gap_s(self) -> float:
        """Measured minus predicted."""
        return self.measured_s - self.predicted["value"]

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the interval of the prediction."""
        return self.predicted["low"] <= self.measured_s <= self.predicted["high"]

    @property
    def unexplained_s(self) -> float:
        """What all causes together leave over."""
        return max(0.0, abs(self.gap_s) - sum(cause.toward(self.gap_s) for cause in self.causes))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "measured_s": self.measured_s,
            "predicted_s": self.predicted,
            "gap_s": self.gap_s,
            "gap_fraction": self.gap_s / self.predicted["value"],
            "inside_interval": self.inside,
            "unexplained_s": self.unexplained_s,
            "causes": [
                {
                    "name": cause.name(self.gap_s),
                    "part": cause.part,
                    "least_s": cause.least_s,
                    "most_s": cause.most_s,
                    "kind": "switch" if cause.switch else "range",
                    "covers_fraction": min(1.0, cause.toward(self.gap_s) / abs(self.gap_s)),
                    "expected_fraction": cause.share,
                    "source": cause.why,
                    "check": cause.check,
                }
                for cause in self.causes
            ],
        }


# --- the measurement --------------------------------------------------------------------------------------

_MFU = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*%\s*(?:mfu)?\s*$", re.IGNORECASE)
_RATE = re.compile(r"^\s*(.+?)\s*tokens?(?:/s|\s+per\s+second)\s*$", re.IGNORECASE)


def measured_step_s(text: str, run: Estimated) -> float:
    """A measured step in seconds from ``4.9s``, ``38 % MFU`` (causal convention), ``1.2M tokens/s`` or ``400 TFLOPS``.

    TFLOPS are of model operations and one GPU.

    Raises:
        InputError: when it is none of these.
    """
    predicted = run.value("step_time_s")
    try:
        if match := _MFU.match(text):
            measured = predicted * run.value("mfu") / _positive(float(match[1]) / 100.0)
        elif match := _RATE.match(text):
            measured = run.value("batch_tokens") / _positive(parse(match[1], "count"))
        elif re.search(r"FLOP", text, re.IGNORECASE):
            measured = predicted * run.value("tflops_per_gpu") * 1e12 / _positive(parse(text, "flops"))
        else:
            measured = _positive(parse(text, "time"))
    except UnitError as error:
        hint = f"{error.hint}; a time (4.9s), '38 % MFU', '1.2M tokens/s' or '400 TFLOPS' of one GPU"
        raise InputError(FINDINGS["ESTIMATE-MEASURED"].at("--measured", error.message, hint)) from None
    return measured


def _positive(number: float) -> float:
    if number <= 0:
        raise UnitError("a measurement of zero says nothing", "give what was measured")
    return number


# --- the causes -------------------------------------------------------------------------------------------


def attribute(run: Estimated, measured_s: float) -> Attribution:
    """Rank what could explain the gap between the measured and the predicted step.

    Args:
        run: the prediction, with intervals.
        measured_s: mean time of a step, warm-up, checkpoints and evaluation left out.
    """
    found = run.cluster.total(f"{RUN}.step_time_s").to_dict()
    gap = measured_s - found["value"]
    if abs(gap) < _NOTHING * found["value"]:
        return Attribution(measured_s, found)
    able = [cause for cause in _causes(run) if cause.toward(gap) > 1e-4 * found["value"]]
    weights = [_weight(cause, gap, NOISE * found["value"]) for cause in able]
    total = sum(weights) or 1.0
    shared = [replace(cause, share=weight / total) for cause, weight in zip(able, weights, strict=True)]
    return Attribution(measured_s, found, sorted(shared, key=lambda cause: -cause.share))


def _weight(cause: Cause, gap: float, noise: float) -> float:
    """Variance that a cause lends to the step; a switch that overshoots the gap beyond the noise is unlikely."""
    reach = cause.toward(gap)
    over = max(0.0, reach - abs(gap)) / noise if cause.switch else 0.0
    return float(reach**2 * math.exp(-0.5 * over**2))


def _causes(run: Estimated) -> Iterator[Cause]:
    parts = run.parts()
    step = run.value("step_time_s")
    yield from _recomputation(run, step)
    yield from _kernels(parts)
    yield from _transfers(run)
    yield from _pipeline(run, parts, step)
    yield from _fabric(run, step)
    yield from _around(parts, step)
    if run.train.architecture.moe_layers:
        yield Cause(
            "experts are loaded unevenly",
            "",
            "ep_s",
            0.0,
            0.20 * step,
            "published runs with natural routing are 8 to 20 % slower than with forced balance",
            "log tokens per expert; force balance once and compare",
        )


def _recomputation(run: Estimated, step: float) -> Iterator[Cause]:
    """The step with each other level of recomputation, the plan kept."""
    now = run.plan["recompute"]
    for level, name in (("full", "everything is recomputed"), ("none", "nothing is recomputed")):
        if level == now:
            continue
        other = _again(run, {"recompute": level})
        if other is not None:
            change = other - step
            yield Cause(
                name,
                name,
                "matmul_s",
                min(change, 0.0),
                max(change, 0.0),
                f"the law with recomputation {level} instead of {now}, the plan kept",
                "read the recompute arguments of the launch command",
                switch=True,
            )


_KERNELS = (
    (
        "matmul_s",
        "matrix products reach less",
        "matrix products reach more",
        -0.10,
        0.25,
        "clocks under a power cap, shapes, libraries: published runs of equal plans lie between",
        "nvidia-smi -q -d CLOCK,POWER under load; time one product of the model's shapes",
    ),
    (
        "attention_s",
        "a slower attention kernel",
        "a faster attention kernel",
        -0.30,
        1.00,
        "FlashAttention-2 reaches about half the rate of FlashAttention-3 on H100 (arXiv:2407.08608)",
        "profile one layer; look which attention backend is loaded",
    ),
    (
        "memory_bound_s",
        "element-wise work is not fused",
        "element-wise work is fused better",
        -0.40,
        1.00,
        "norms, activations and rotations move their operands once where they are fused, twice where not",
        "profile one layer; switch fusions or compilation on",
    ),
    (
        "optimizer_s",
        "the optimizer step is slower",
        "the optimizer step is faster",
        -0.30,
        1.00,
        "unfused or offloaded Adam; gradient clipping over all ranks",
        "time the optimizer step apart",
    ),
    (
        "offload_s",
        "the host updates and transfers more slowly",
        "the host updates and transfers faster",
        -0.30,
        1.00,
        "cores not bound to ranks cost 1.3 times the step (DeepSpeed pull request 7474); memory that is not pinned",
        "time the optimizer step; bind cores to ranks; bandwidthTest between host and GPU",
    ),
)


def _kernels(parts: dict[str, float]) -> Iterator[Cause]:
    for part, slower, faster, less, more, why, check in _KERNELS:
        seconds = parts.get(part, 0.0)
        yield Cause(slower, faster, part, less * seconds, more * seconds, why, check)


_TRANSFERS = {
    "tp": ("tensor-parallel", 0.6, "tp-comm-overlap or async TP; profile NCCL kernels beside the products"),
    "cp": ("context-parallel", 1.0, "profile: do key-value transfers run beside attention"),
    "ep": ("expert", 0.5, "profile the all-to-all; is it hidden behind shared experts or another micro-batch"),
    "pp": ("pipeline", 1.0, "profile send and receive between stages; overlap-p2p"),
    "dp": ("data-parallel", 1.0, "overlap-grad-reduce and overlap-param-gather; bucket sizes"),
}
"""In words; the share of what is exposed that the best implementations still hide; how to tell."""


def _transfers(run: Estimated) -> Iterator[Cause]:
    """Each kind of communication with nothing of it hidden, and with what can be hidden."""
    for name, (words, hidden, check) in _TRANSFERS.items():
        if not run.has(f"traffic.{name}_bytes"):
            continue
        wire = run.value(f"traffic.{name}_bytes") / run.value(f"traffic.{name}_bytes_s")
        exposed = run.value(f"step.{name}_s")
        yield Cause(
            f"{words} traffic is hidden less",
            f"{words} traffic is hidden more",
            f"{name}_s",
            -hidden * exposed,
            max(0.0, wire - exposed),
            f"nothing of its {wire:.3g} s on the wire hidden; or {hidden:.0%} of what is exposed hidden too",
            check,
        )


def _pipeline(run: Estimated, parts: dict[str, float], step: float) -> Iterator[Cause]:
    chunks, bubble = run.plan.get("interleave", 1), parts.get("pp_bubble_s", 0.0)
    if bubble <= 0:
        return
    zero = run.plan["schedule"] == "zero-bubble"
    other = None if zero else _again(run, {"schedule": "zero-bubble"})
    saved = 0.0 if other is None else min(0.0, other - step)
    why = "the law with a zero-bubble schedule (ZB-H1)"
    if chunks > 1:
        why = f"without its {chunks} chunks a stage the bubble is {chunks} times as long; {why}"
    yield Cause(
        "the pipeline is not interleaved",
        "a zero-bubble pipeline schedule",
        "pp_bubble_s",
        saved,
        (chunks - 1) * bubble,
        why,
        "read the schedule and the virtual stages of the launch command",
        switch=True,
    )


def _fabric(run: Estimated, step: float) -> Iterator[Cause]:
    slow = _again(run, {}, {"server.nic_bandwidth_bytes_s": 0.5, "fabric.link_bandwidth_bytes_s": 0.5})
    if slow is not None:
        yield Cause(
            "the fabric gives less than its rate",
            "",
            "",
            0.0,
            max(0.0, slow - step),
            "half the rate, as congestion, wrong rails or missing GPUDirect leave",
            "nccl-tests all_reduce_perf over the same nodes; compare its bus bandwidth with the link rate",
        )


def _around(parts: dict[str, float], step: float) -> Iterator[Cause]:
    yield Cause(
        "stragglers: a slow GPU, node or link holds all up",
        "no stragglers",
        "other_s",
        -parts.get("other_s", 0.0),
        0.10 * step,
        "up to a tenth is taken; what causes them in production jobs: arXiv:2505.05713",
        "log the step time of each rank before synchronisation; leave the slowest node out once",
    )
    yield Cause(
        "waiting for data, logging, checkpoints in the mean",
        "",
        "",
        0.0,
        0.08 * step,
        "assumed; a step that waits for its data shows it between steps",
        "run once with synthetic data; take the median step, not the mean",
    )
    yield Cause(
        "an older software release",
        "a newer software release",
        "",
        -NOISE * step,
        NOISE * step,
        "the same plan differs by a median 6 % between published releases",
        "say the versions of the framework, CUDA, cuDNN and NCCL",
    )


def _again(run: Estimated, options: dict[str, str], factors: dict[str, float] | None = None) -> float | None:
    """The step with the plan kept and something changed; None where that plan cannot be or does not fit."""
    kept = {**kept_plan(run), "dp": str(run.plan["dp"]), "recompute": run.plan["recompute"]}
    if run.plan["pp"] > 1:
        kept["interleave"] = str(run.plan["interleave"])
    asked = {**run.asked, **kept, **options}
    if run.plan["gpus"] != run.gpus:
        asked["gpus"] = str(run.plan["gpus"])
    try:
        other = estimate(asked, run.catalog, run.sets, {**run.factors, **(factors or {})}, quick=True, rounds=True)
    except InputError:
        return None
    same = all(other.plan.get(name) == run.plan.get(name) for name in ("dp", "interleave"))
    return other.value("step_time_s") if same and other.fits else None
