"""Flags of torchtitan (PyTorch FSDP2, DTensor tensor parallelism, PyTorch pipelines)."""

from __future__ import annotations

import math
from typing import Any

from clusterwright.design.estimate import Estimated

__all__ = ["torchtitan_arguments"]

_FLAVORS = {
    "llama-3-8b": ("llama3", "8B"),
    "llama-3-70b": ("llama3", "70B"),
    "llama-3.1-405b": ("llama3", "405B"),
    "llama-4-scout": ("llama4", "17bx16e"),
    "llama-4-maverick": ("llama4", "17bx128e"),
    "deepseek-v2-lite": ("deepseek_v3", "16B"),
    "deepseek-v2": ("deepseek_v3", "236B"),
    "deepseek-v3": ("deepseek_v3", "671B"),
    "qwen3-8b": ("qwen3", "8B"),
    "qwen3-14b": ("qwen3", "14B"),
    "qwen3-32b": ("qwen3", "32B"),
    "qwen3-30b-a3b": ("qwen3", "30B-A3B"),
    "qwen3-235b-a22b": ("qwen3", "235B-A22B"),
}
"""Model and flavor under which torchtitan knows a model of the catalogue."""


def torchtitan_arguments(run: Estimated) -> tuple[dict[str, Any], list[str]]:
    """Arguments by name, None for a flag without a value, and what they cannot say."""
    plan, train, notes = run.plan, run.train, []
    made: dict[str, Any] = {}
    if train.model in _FLAVORS:
        made["--model.name"], made["--model.flavor"] = _FLAVORS[train.model]
    else:
        notes.append(
            f"torchtitan has no flavor for {train.model}: register one and add --model.name and --model.flavor"
        )
    made |= {
        "--training.seq_len": train.sequence,
        "--training.local_batch_size": plan["micro_batch"] * (plan["micro_batches"] if plan["pp"] > 1 else 1),
        "--training.global_batch_size": plan["batch_sequences"],
        "--training.steps": int(run.value("steps")),
        **_sharing(plan, notes),
        "--parallelism.tensor_parallel_degree": plan["tp"],
        "--parallelism.pipeline_parallel_degree": plan["pp"],
        "--parallelism.context_parallel_degree": plan["cp"],
    }
    if plan["pp"] > 1:
        made |= _pipeline(run, notes)
    if train.architecture.moe_layers:
        made["--parallelism.expert_parallel_degree"] = plan["ep"]
        made["--parallelism.expert_tensor_parallel_degree"] = 1 if plan["ep"] > 1 else plan["tp"]
    made |= _numerics(train.precision, notes)
    made["--activation_checkpoint.mode"] = plan["recompute"]
    if plan["recompute"] == "selective":
        made["--activation_checkpoint.selective_ac_option"] = "op"
    made["--compile.enable"] = None
    return made, notes


def _sharing(plan: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """What data-parallel ranks share out, in groups (HSDP) or not; what lies in the memory of the host."""
    across = plan["dp"] // max(1, plan["shard_group"] // plan["cp"]) if "shard_group" in plan else 1
    if plan["shard"] == 0:
        across = plan["dp"]
    made: dict[str, Any] = {"--parallelism.data_parallel_replicate_degree": across}
    made["--parallelism.data_parallel_shard_degree"] = plan["dp"] // across
    if 0 < plan["shard"] < 3:
        made["--parallelism.fsdp_reshard_after_forward"] = "never"
        notes.append(
            "torchtitan always shares out gradients and weights too; 'never' keeps weights gathered until the step ends"
        )
    if plan["offload"] in ("optimizer", "both"):
        made["--training.enable_cpu_offload"] = None
        notes.append("torchtitan's offload takes weights and gradients to the host too, and gathers from there")
    if plan["offload"] in ("activations", "both"):
        notes.append("torchtitan has no flag that offloads activations; wrap the model in save_on_cpu")
    return made


def _schedule(plan: dict[str, Any], notes: list[str]) -> str:
    """The schedule by torchtitan's name of it."""
    if plan["schedule"] == "zero-bubble" and plan["interleave"] > 1:
        if plan["interleave"] == 2:
            notes.append("ZBVZeroBubble takes two chunks as well, at the memory of 1F1B")
        return "InterleavedZeroBubble"
    if plan["schedule"] == "zero-bubble":
        notes.append("torchtitan's zero-bubble schedules take two or more chunks a stage: ask for 'interleave: 2'")
    return "Interleaved1F1B" if plan["interleave"] > 1 else "1F1B"


def _pipeline(run: Estimated, notes: list[str]) -> dict[str, Any]:
    """Schedule and stages; torchtitan counts embedding and head as layers unless told not to."""
    plan, layers = run.plan, run.train.architecture.layers
    stages = plan["pp"] * plan["interleave"]
    ends = next((e for e in (0, 1, 2) if (layers + e) % stages == 0), 0)
    if (layers + ends) % stages:
        notes.append(f"{layers} layers do not divide into {stages} stages: name them with module_fqns_per_model_part")
    return {
        "--parallelism.pipeline_parallel_schedule": _schedule(plan, notes),
        "--parallelism.pipeline_parallel_microbatch_size": plan["micro_batch"],
        "--parallelism.pipeline_parallel_layers_per_stage": math.ceil((layers + ends) / stages),
        "--parallelism.pipeline_parallel_first_stage_less_layers": int(ends == 2),
        "--parallelism.pipeline_parallel_last_stage_less_layers": int(ends >= 1),
    }


def _numerics(precision: str, notes: list[str]) -> dict[str, Any]:
    if precision == "bf16":
        return {"--training.mixed_precision_param": "bfloat16"}
    if precision == "fp8":
        return {
            "--model.converters": "quantize.linear.float8",
            "--quantize.linear.float8.enable_fsdp_float8_all_gather": None,
            "--quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp": None,
        }
    notes.append(f"torchtitan's flags have no {precision} for products")
    return {}
