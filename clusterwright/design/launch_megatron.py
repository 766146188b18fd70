"""Flags of Megatron-LM's ``pretrain_gpt.py``, and the same as overrides of Megatron-Bridge."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from clusterwright.catalog import ModelArchitecture
from clusterwright.design.estimate import Estimated

__all__ = ["bridge_overrides", "megatron_arguments", "uneven_layout"]

_FIRST_MXFP8_YEAR = 2024
"""Accelerators from Blackwell on scale in blocks of 32 (MXFP8)."""


def megatron_arguments(run: Estimated) -> tuple[dict[str, Any], list[str]]:
    """Arguments by name, None for a flag without a value, and what they cannot say."""
    notes: list[str] = []
    made = _model(run, notes) | _parallel(run, notes) | _numerics(run) | _recompute(run, notes)
    made |= {"--train-iters": int(run.value("steps"))}
    return made, notes


def _model(run: Estimated, notes: list[str]) -> dict[str, Any]:
    model, train = run.train.architecture, run.train
    made: dict[str, Any] = {
        "--num-layers": model.layers,
        "--hidden-size": model.hidden,
        "--ffn-hidden-size": model.ffn_hidden,
        "--num-attention-heads": model.heads,
        "--seq-length": train.sequence,
        "--max-position-embeddings": train.sequence,
        "--position-embedding-type": "learned_absolute" if model.learned_positions else "rope",
        "--normalization": "RMSNorm" if model.norm == "rmsnorm" else "LayerNorm",
    }
    if not model.is_latent:
        made["--kv-channels"] = model.head_dim
        if model.kv_heads < model.heads:
            made |= {"--group-query-attention": None, "--num-query-groups": model.kv_heads}
    if model.gated_mlp:
        made["--swiglu"] = None
    if not model.tied_embeddings:
        made["--untie-embeddings-and-output-weights"] = None
    if model.biases != "all":
        made["--disable-bias-linear"] = None
    if model.biases == "qkv":
        made["--add-qkv-bias"] = None
    if model.state_layers:
        notes.append(
            f"{model.state_layers} of {model.layers} layers have a state-space block: name their order with "
            "--hybrid-layer-pattern"
        )
    if model.window_layers:
        notes.append(
            f"{model.window_layers} of {model.layers} layers look back {model.window} tokens: add --window-size"
        )
    return made | _experts(model) | _latent(model)


def _experts(model: ModelArchitecture) -> dict[str, Any]:
    if not model.moe_layers:
        return {}
    made: dict[str, Any] = {
        "--num-experts": model.experts,
        "--moe-router-topk": model.top_k,
        "--moe-ffn-hidden-size": model.expert_ffn_hidden,
        "--moe-grouped-gemm": None,
        "--moe-token-dispatcher-type": "alltoall",
    }
    if model.shared_experts:
        width = model.shared_experts * (model.shared_ffn_hidden or model.expert_ffn_hidden)
        made["--moe-shared-expert-intermediate-size"] = width
    if model.moe_layers < model.layers:
        made["--moe-layer-freq"] = _pattern([int(model.is_moe_layer(i)) for i in range(model.layers)])
    return made


def _pattern(layers: list[int]) -> str:
    """Which layers are mixtures, as an expression of lists: ``([0]*3+[1]*58)``."""
    runs = [(kind, len(list(group))) for kind, group in groupby(layers)]
    if len(runs) > 4:
        return "[" + ",".join(map(str, layers)) + "]"
    return "(" + "+".join(f"[{kind}]*{count}" for kind, count in runs) + ")"


def _latent(model: ModelArchitecture) -> dict[str, Any]:
    if not model.is_latent:
        return {}
    made: dict[str, Any] = {
        "--multi-latent-attention": None,
        "--kv-lora-rank": model.kv_lora_rank,
        "--qk-head-dim": model.qk_nope_head_dim,
        "--qk-pos-emb-head-dim": model.qk_rope_head_dim,
        "--v-head-dim": model.v_head_dim,
    }
    return made | ({"--q-lora-rank": model.q_lora_rank} if model.q_lora_rank else {})


def _parallel(run: Estimated, notes: list[str]) -> dict[str, Any]:
    plan, model = run.plan, run.train.architecture
    made: dict[str, Any] = {"--tensor-model-parallel-size": plan["tp"]}
    if plan["tp"] > 1:
        made["--sequence-parallel"] = None
    made["--pipeline-model-parallel-size"] = plan["pp"]
    if plan["pp"] > 1:
        made |= _stages(model.layers, plan["pp"], plan["interleave"])
    made["--context-parallel-size"] = plan["cp"]
    if model.moe_layers:
        made |= {"--expert-model-parallel-size": plan["ep"]}
        made |= {"--expert-tensor-parallel-size": 1 if plan["ep"] > 1 else plan["tp"]}
    made |= {"--micro-batch-size": plan["micro_batch"], "--global-batch-size": plan["batch_sequences"]}
    if plan["schedule"] == "zero-bubble":
        notes.append("Megatron-LM has no zero-bubble schedule; these flags run 1F1B, whose bubble is up to three times")
    return made | _sharing(plan, notes) | _offload(plan, notes)


_STRATEGIES = {0: "no_shard", 1: "optim", 2: "optim_grads", 3: "optim_grads_params"}
"""What Megatron-FSDP shares out, by ZeRO stage."""


def _sharing(plan: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """What data-parallel ranks share out: the distributed optimizer, beyond it Megatron-FSDP."""
    copies = plan["dp"] * plan["cp"]
    if copies == 1:
        return {}
    made: dict[str, Any] = {"--overlap-grad-reduce": None}
    if plan["shard"] >= 1:
        made |= {"--use-distributed-optimizer": None, "--overlap-param-gather": None}
    if plan["shard"] >= 2:
        made |= {"--use-megatron-fsdp": None, "--data-parallel-sharding-strategy": _STRATEGIES[plan["shard"]]}
        made["--ckpt-format"] = "fsdp_dtensor"
        notes.append("Megatron-FSDP needs CUDA_DEVICE_MAX_CONNECTIONS unset or above 1")
    if "shard_group" in plan:
        made["--num-distributed-optimizer-instances"] = copies // plan["shard_group"]
    return made


def _offload(plan: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if plan["offload"] in ("optimizer", "both"):
        made |= {"--optimizer-cpu-offload": None, "--optimizer-offload-fraction": 1.0}
        made["--use-distributed-optimizer"] = None
        made |= {"--overlap-cpu-optimizer-d2h-h2d": None, "--use-precision-aware-optimizer": None}
    if plan["offload"] in ("activations", "both"):
        made |= {"--fine-grained-activation-offloading": None, "--offload-modules": list(_OFFLOADABLE)}
        notes.append("Megatron-LM offloads the activations of the modules named; what is left of a layer stays")
    return made


_OFFLOADABLE = ("attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm")
"""Modules of a layer whose inputs fine-grained offloading moves."""


def _stages(layers: int, pp: int, chunks: int) -> dict[str, Any]:
    """How the layers are dealt out: evenly, with embedding or head counted as layers, or by a layout."""
    made: dict[str, Any] = {}
    for ends, flags in (
        (0, ()),
        (1, ("--account-for-loss-in-pipeline-split",)),
        (2, ("--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split")),
    ):
        if (layers + ends) % (pp * chunks) == 0:
            made = dict.fromkeys(flags)
            return {"--num-virtual-stages-per-pipeline-rank": chunks, **made} if chunks > 1 else made
    return {"--pipeline-model-parallel-layout": uneven_layout(layers, pp * chunks)}


def uneven_layout(layers: int, stages: int) -> str:
    """Megatron's layout string for layers that stages do not divide: the middle stages hold one more.

    ``E`` is the embedding, ``t`` a layer, ``L`` the loss; ``|`` parts the stages.
    """
    each, more = divmod(layers, stages)
    middle = list(range(1, stages - 1)) + [0, stages - 1]
    fuller = set(middle[:more])
    counts = [each + (k in fuller) for k in range(stages)]
    said = ["t" * count for count in counts]
    return "|".join(["E" + said[0], *said[1:-1], said[-1] + "L"]) if stages > 1 else f"E{said[0]}L"


def _numerics(run: Estimated) -> dict[str, Any]:
    precision = run.train.precision
    if precision == "fp16":
        return {"--fp16": None}
    made: dict[str, Any] = {"--bf16": None}
    if precision == "fp8":
        recent = run.cluster.value("accelerator.launch_year") >= _FIRST_MXFP8_YEAR
        made |= {"--fp8-format": "e4m3" if recent else "hybrid", "--fp8-recipe": "mxfp8" if recent else "tensorwise"}
    if precision == "nvfp4":
        made["--fp4-format"] = "e2m1"
    return made if precision not in ("fp32", "tf32") else {}


def _recompute(run: Estimated, notes: list[str]) -> dict[str, Any]:
    level, model = run.plan["recompute"], run.train.architecture
    if level == "full":
        return {"--recompute-granularity": "full", "--recompute-method": "uniform", "--recompute-num-layers": 1}
    if level != "selective":
        return {}
    modules = ["layernorm"] + (["moe_act"] if model.moe_layers else [])
    if model.is_latent:
        modules.append("mla_up_proj")
    notes.append(
        "selective recomputes norms and activation functions here; Megatron-LM has modules for norms and for the "
        "activation of experts, none for that of a dense layer, so a little more memory is held"
    )
    return {"--recompute-granularity": "selective", "--recompute-modules": modules}


# --- Megatron-Bridge --------------------------------------------------------------------------------------

_BRIDGE = {
    "--seq-length": "model.seq_length",
    "--tensor-model-parallel-size": "model.tensor_model_parallel_size",
    "--pipeline-model-parallel-size": "model.pipeline_model_parallel_size",
    "--num-virtual-stages-per-pipeline-rank": "model.virtual_pipeline_model_parallel_size",
    "--account-for-embedding-in-pipeline-split": "model.account_for_embedding_in_pipeline_split",
    "--account-for-loss-in-pipeline-split": "model.account_for_loss_in_pipeline_split",
    "--pipeline-model-parallel-layout": "model.pipeline_model_parallel_layout",
    "--context-parallel-size": "model.context_parallel_size",
    "--expert-model-parallel-size": "model.expert_model_parallel_size",
    "--expert-tensor-parallel-size": "model.expert_tensor_parallel_size",
    "--sequence-parallel": "model.sequence_parallel",
    "--micro-batch-size": "train.micro_batch_size",
    "--global-batch-size": "train.global_batch_size",
    "--use-distributed-optimizer": "ddp.use_distributed_optimizer",
    "--overlap-grad-reduce": "ddp.overlap_grad_reduce",
    "--overlap-param-gather": "ddp.overlap_param_gather",
    "--data-parallel-sharding-strategy": "ddp.data_parallel_sharding_strategy",
    "--use-megatron-fsdp": "ddp.use_megatron_fsdp",
    "--num-distributed-optimizer-instances": "ddp.num_distributed_optimizer_instances",
    "--ckpt-format": "checkpoint.ckpt_format",
    "--optimizer-cpu-offload": "optimizer.optimizer_cpu_offload",
    "--optimizer-offload-fraction": "optimizer.optimizer_offload_fraction",
    "--overlap-cpu-optimizer-d2h-h2d": "optimizer.overlap_cpu_optimizer_d2h_h2d",
    "--use-precision-aware-optimizer": "optimizer.use_precision_aware_optimizer",
    "--fine-grained-activation-offloading": "model.fine_grained_activation_offloading",
    "--offload-modules": "model.offload_modules",
    "--recompute-granularity": "model.recompute_granularity",
    "--recompute-method": "model.recompute_method",
    "--recompute-num-layers": "model.recompute_num_layers",
    "--recompute-modules": "model.recompute_modules",
    "--train-iters": "train.train_iters",
}
_MIXED = {
    "bf16": "bf16_mixed",
    "fp16": "fp16_mixed",
    "nvfp4": "bf16_with_nvfp4_mixed",
}


def bridge_overrides(run: Estimated) -> tuple[dict[str, Any], list[str]]:
    """Overrides of a Megatron-Bridge recipe by name; the recipe brings the model itself."""
    arguments, notes = megatron_arguments(run)
    made = {_BRIDGE[name]: True if value is None else value for name, value in arguments.items() if name in _BRIDGE}
    made["dataset.seq_length"] = run.train.sequence
    precision = run.train.precision
    if precision == "fp8":
        recent = arguments["--fp8-recipe"] == "mxfp8"
        made["mixed_precision"] = "bf16_with_mxfp8_mixed" if recent else "bf16_with_fp8_current_scaling_mixed"
    elif precision in _MIXED:
        made["mixed_precision"] = _MIXED[precision]
    return made, [f"RECIPE is the recipe of {run.train.model}; it brings the dimensions of the model", *notes]
