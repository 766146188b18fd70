"""The JSON document of an estimate: ``clusterwright estimate train --json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterwright.cluster import plain
from clusterwright.design.attribution import Attribution
from clusterwright.design.estimate import RUN, Estimated
from clusterwright.design.launch import Launch
from clusterwright.design.whatif import WhatIf

__all__ = ["ESTIMATE_SCHEMA", "estimate_document"]

ESTIMATE_SCHEMA = "clusterwright/estimate-train/1"
_PREDICTED = (
    "step_time_s",
    "mfu",
    "tokens_per_s",
    "tflops_per_gpu",
    "cluster_tflops",
    "scaling_efficiency",
    "compute_time_s",
    "checkpoint_bytes",
)
_DEGREES = ("tp", "pp", "cp", "ep", "dp", "interleave", "micro_batch", "micro_batches", "recompute")

_CHOICES = ("schedule", "sharding", "shard_group", "offload")


def estimate_document(
    run: Estimated,
    *,
    top: int = 8,
    what_ifs: Sequence[WhatIf] = (),
    attribution: Attribution | None = None,
    launched: Launch | None = None,
) -> dict[str, Any]:
    """Everything that was worked out about a run; predictions are ``{value, low, high}``, units are in the names.

    Args:
        run: the run.
        top: plans that fit to list; those that do not are listed besides.
        what_ifs: changes of it.
        attribution: of a measurement.
        launched: flags of its plan.
    """
    train, frame = run.train, run.cluster.frame
    fitting = [plan for plan in run.plans if plan["fits"]]
    made: dict[str, Any] = {
        "schema": ESTIMATE_SCHEMA,
        "verdict": "fits" if run.fits else "does-not-fit",
        "run": {
            "model": train.model,
            "parameters": run.value("parameters"),
            "gpu": run.candidate.accelerator,
            "gpus": run.gpus,
            "server": run.candidate.server,
            "fabric": run.candidate.fabric,
            "precision": train.precision,
            "sequence": train.sequence,
            "global_batch_sequences": run.value("batch_tokens") / train.sequence,
            "tokens": train.tokens,
            "steps": run.value("steps"),
        },
        "plan": _plan(run) | {"batch_sequences": run.plan["batch_sequences"]},
        **{name: frame.estimate(f"{RUN}.{name}").to_dict() for name in _PREDICTED if run.has(name)},
        "memory": _memory(run),
        "step": _step(run),
        "bottleneck": run.cluster.answers["bottleneck"][RUN],
        "roofline": run.cluster.answers["roofline"][RUN],
        "plans": [*fitting[:top], *(plan for plan in run.plans if not plan["fits"])],
        "findings": [finding.to_dict() for finding in run.cluster.worst_first()],
    }
    if what_ifs:
        made["what_if"] = [_change(run, one) for one in what_ifs]
    if attribution is not None:
        made["attribution"] = attribution.to_dict()
    if launched is not None:
        made["launch"] = _launch(launched)
    document: dict[str, Any] = plain(made)
    return document


def _plan(run: Estimated) -> dict[str, Any]:
    """The degrees and choices of the plan; ``shard_group`` where ranks share out in groups."""
    return {name: run.plan[name] for name in ("gpus", *_DEGREES, *_CHOICES) if name in run.plan}


def _memory(run: Estimated) -> dict[str, Any]:
    frame, head = run.cluster.frame, f"{RUN}.memory."
    return {
        "bytes": frame.estimate(f"{RUN}.memory_bytes").to_dict(),
        "available_bytes": run.cluster.value("accelerator.memory_bytes"),
        "fraction": run.value("memory_fraction"),
        "parts": {
            path.removeprefix(head): run.cluster.value(path)
            for path in frame
            if path.startswith(head) and path.endswith("_bytes")
        },
    }


def _step(run: Estimated) -> list[dict[str, Any]]:
    """The parts of the step in the order in which the law sums them."""
    total, head = run.value("step_time_s"), f"{RUN}.step."
    order = run.cluster.frame.figure(f"{RUN}.step_time_s").provenance.inputs["parts"]
    parts = {path.removeprefix(head): run.cluster.value(path) for path in order}
    return [{"part": name, "seconds": seconds, "fraction": seconds / total} for name, seconds in parts.items()]


def _change(base: Estimated, one: WhatIf) -> dict[str, Any]:
    shown = one.kept or one.best
    return {
        "change": one.change.text,
        "plan_kept": one.kept is not None,
        "why_not_kept": one.why_not_kept,
        **_figures(base, shown),
        "searched_anew": _figures(base, one.best),
    }


def _figures(base: Estimated, run: Estimated) -> dict[str, Any]:
    step, was = run.value("step_time_s"), base.value("step_time_s")
    return {
        "fits": run.fits,
        "step_time_s": step,
        "step_time_change": step / was - 1.0,
        "mfu": run.value("mfu"),
        "mfu_change": run.value("mfu") - base.value("mfu"),
        "tokens_per_s": run.value("tokens_per_s"),
        "tokens_per_s_change": run.value("tokens_per_s") / base.value("tokens_per_s") - 1.0,
        "memory_bytes": run.value("memory_bytes"),
        "memory_change_bytes": run.value("memory_bytes") - base.value("memory_bytes"),
        "memory_fraction": run.value("memory_fraction"),
        "compute_time_s": run.value("compute_time_s"),
        "plan": _plan(run),
    }


def _launch(launched: Launch) -> dict[str, Any]:
    return {
        "framework": launched.framework,
        "project": launched.project,
        "arguments": [{"name": name, "value": value} for name, value in launched.arguments.items()],
        "text": launched.text,
        "notes": launched.notes,
    }
