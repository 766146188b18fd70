"""The flags that start the chosen plan in a training framework, with what they cannot say.

The names are held against the frameworks' own declarations (``data/launch_arguments.yaml``) by a test.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from clusterwright.design.estimate import Estimated
from clusterwright.design.launch_megatron import bridge_overrides, megatron_arguments
from clusterwright.design.launch_titan import torchtitan_arguments

__all__ = ["FRAMEWORKS", "Launch", "known_arguments", "launch"]


@dataclass(frozen=True)
class Launch:
    """How to start a plan.

    Attributes:
        framework: key of :data:`FRAMEWORKS`.
        project: name of the project, with the version whose arguments these are.
        arguments: name to value; None where the flag takes none.
        notes: what the flags cannot say, or say differently.
        text: to paste.
    """

    framework: str
    project: str
    arguments: Mapping[str, Any]
    text: str
    notes: list[str] = field(default_factory=list)


@cache
def known_arguments() -> Mapping[str, Mapping[str, Any]]:
    """What each framework declares: project, version, commit, date and the set of its arguments."""
    text = files("clusterwright.design").joinpath("data", "launch_arguments.yaml").read_text("utf-8")
    read = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # a safe loader
    return {name: {**entry, "arguments": frozenset(entry["arguments"].split())} for name, entry in read.items()}


def launch(run: Estimated, framework: str) -> Launch:
    """The flags of the run's plan.

    Args:
        run: with a plan that fits.
        framework: a key of :data:`FRAMEWORKS`.
    """
    arguments, notes = FRAMEWORKS[framework](run)
    if not run.fits:
        notes.insert(0, "the law says that this plan does not fit the memory")
    known = known_arguments()[framework]
    project = f"{known['project']} {known['version']} ({known['date']})"
    return Launch(framework, project, arguments, _TEXTS[framework](run, arguments), notes)


# --- DeepSpeed --------------------------------------------------------------------------------------------


def deepspeed_config(run: Estimated) -> tuple[dict[str, Any], list[str]]:
    """The keys of ``ds_config.json``, nested ones with dots."""
    plan, train = run.plan, run.train
    shard = int(plan["shard"])
    made: dict[str, Any] = {
        "train_batch_size": plan["batch_sequences"],
        "train_micro_batch_size_per_gpu": plan["micro_batch"],
        "gradient_accumulation_steps": plan["micro_batches"],
        "gradient_clipping": 1.0,
        "fp16.enabled" if train.precision == "fp16" else "bf16.enabled": True,
        "zero_optimization.stage": shard,
        "zero_optimization.overlap_comm": True,
        "zero_optimization.reduce_scatter": True,
        "zero_optimization.contiguous_gradients": True,
    }
    notes: list[str] = []
    made |= _kept_elsewhere(plan, notes)
    if plan["tp"] > 1:
        made["tensor_parallel.autotp_size"] = plan["tp"]
    if plan["cp"] > 1:
        made |= {"sequence_parallel_size": plan["cp"], "data_parallel_size": plan["dp"]}
        notes.append(
            "context parallelism is Ulysses in DeepSpeed: it cuts the heads, where the law exchanges keys and values"
        )
    if plan["ep"] > 1:
        made |= {"expert_parallel.enabled": True, "expert_parallel.autoep_size": plan["ep"]}
    if plan["pp"] > 1:
        made["pipeline.stages"] = plan["pp"]
        notes.append(
            f"the pipeline stands in the code: PipelineModule(layers, num_stages={plan['pp']}); ZeRO 2 and 3 exclude it"
        )
        if plan["tp"] > 1:
            notes.append("automatic tensor parallelism does not cut a PipelineModule; take layers that are cut already")
        if plan["interleave"] > 1:
            notes.append(f"DeepSpeed has no interleaving; expect {plan['interleave']} times the bubble")
        if plan["schedule"] == "zero-bubble":
            notes.append("DeepSpeed has no zero-bubble schedule; its pipeline runs 1F1B")
    if plan["recompute"] != "none":
        made["activation_checkpointing.partition_activations"] = plan["tp"] > 1
        notes.append(
            f"recomputation ({plan['recompute']}) is switched on in the model: gradient_checkpointing_enable()"
        )
    if train.precision not in ("bf16", "fp16"):
        notes.append(f"{train.precision} products come from the model (Transformer Engine), not from DeepSpeed")
    return made, notes


def _kept_elsewhere(plan: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Groups that share out (MiCS), and what lies in the memory of the host."""
    made: dict[str, Any] = {}
    if "shard_group" in plan:
        made["zero_optimization.mics_shard_size"] = plan["shard_group"]
        notes.append("groups are MiCS in DeepSpeed: build the model under deepspeed.zero.MiCS_Init")
    if plan["offload"] in ("optimizer", "both"):
        made["zero_optimization.offload_optimizer"] = {"device": "cpu", "pin_memory": True}
        notes.append("the optimizer must be DeepSpeedCPUAdam, which DeepSpeed takes for 'Adam' in its configuration")
    if plan["offload"] in ("activations", "both"):
        made["activation_checkpointing.cpu_checkpointing"] = True
        notes.append("DeepSpeed moves only what its own checkpointing keeps: the inputs of the recomputed layers")
    return made


def _nested(arguments: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in arguments.items():
        here = tree
        *above, last = name.split(".")
        for part in above:
            here = here.setdefault(part, {})
        here[last] = value
    return tree


# --- text -------------------------------------------------------------------------------------------------


def _nodes(run: Estimated) -> tuple[int, int]:
    each = int(run.cluster.value("server.gpus"))
    gpus = int(run.plan["gpus"])
    return math.ceil(gpus / each), min(each, gpus)


def _torchrun(run: Estimated, script: str, arguments: Mapping[str, Any]) -> str:
    nodes, each = _nodes(run)
    said = [name if value is None else f"{name} {_quoted(value)}" for name, value in arguments.items()]
    return " \\\n  ".join([f"torchrun --nnodes {nodes} --nproc-per-node {each} {script}", *said])


def _quoted(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else shlex.quote(str(value))


def _megatron_text(run: Estimated, arguments: Mapping[str, Any]) -> str:
    return _torchrun(run, "pretrain_gpt.py", arguments)


def _bridge_text(run: Estimated, arguments: Mapping[str, Any]) -> str:
    nodes, each = _nodes(run)
    script = "scripts/training/run_recipe.py --recipe RECIPE --mode pretrain"
    head = f"torchrun --nnodes {nodes} --nproc-per-node {each} {script}"
    said = [shlex.quote(f"{name}={json.dumps(v) if not isinstance(v, str) else v}") for name, v in arguments.items()]
    return " \\\n  ".join([head, *said])


def _deepspeed_text(run: Estimated, arguments: Mapping[str, Any]) -> str:
    return json.dumps(_nested(arguments), indent=2)


def _titan_text(run: Estimated, arguments: Mapping[str, Any]) -> str:
    return _torchrun(run, "-m torchtitan.train", arguments)


_Flags = Callable[[Estimated], tuple[dict[str, Any], list[str]]]
FRAMEWORKS: dict[str, _Flags] = {
    "megatron": megatron_arguments,
    "megatron-bridge": bridge_overrides,
    "deepspeed": deepspeed_config,
    "torchtitan": torchtitan_arguments,
}
"""What writes the flags of each framework."""
_TEXTS: dict[str, Callable[[Estimated, Mapping[str, Any]], str]] = {
    "megatron": _megatron_text,
    "megatron-bridge": _bridge_text,
    "deepspeed": _deepspeed_text,
    "torchtitan": _titan_text,
}
