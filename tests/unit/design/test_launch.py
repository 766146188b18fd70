"""Launch flags: every name is one that the framework declares, and together they say the plan."""

import json
import re

import pytest

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.design import FRAMEWORKS, Estimated, estimate, known_arguments, launch
from clusterwright.design.launch_megatron import uneven_layout

MODELS = ("llama-3-8b", "llama-3-70b", "llama-3.1-405b", "gpt-3-175b", "qwen2.5-72b", "gemma-2-27b") + (
    "mixtral-8x7b",
    "deepseek-v3",
    "llama-4-maverick",
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def run(catalog: Catalog, model: str, **more: str) -> Estimated:
    asked = {"model": model, "gpu": "h100-sxm-80gb", "gpus": "512", "sequence": "4096", "global_batch": "1024"}
    return estimate({**asked, **more}, catalog)


def test_the_arguments_of_every_framework_are_kept_with_version_commit_and_date() -> None:
    assert set(known_arguments()) == set(FRAMEWORKS)
    for entry in known_arguments().values():
        assert re.fullmatch(r"[0-9a-f]{40}", entry["commit"])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", entry["date"])
        assert entry["version"]
        assert entry["url"].startswith("https://github.com/")
        assert len(entry["arguments"]) > 100


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("model", MODELS)
def test_every_flag_is_one_that_the_framework_declares(catalog: Catalog, framework: str, model: str) -> None:
    known = known_arguments()[framework]["arguments"]
    for more in ({}, {"recompute": "selective"}, {"recompute": "full"}, {"precision": "fp8"}, {"cp": "2", "pp": "2"}):
        made = launch(run(catalog, model, **more), framework)
        assert sorted(set(made.arguments) - known) == []


CHOICES: tuple[dict[str, str], ...] = (
    {"pp": "4", "schedule": "zero-bubble"},
    {"sharding": "zero-2", "offload": "optimizer"},
    {"sharding": "fsdp", "offload": "activations"},
    {"sharding": "hsdp", "offload": "both", "pp": "1"},
)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("more", CHOICES)
def test_every_choice_is_said_in_flags_that_the_framework_declares(
    catalog: Catalog, framework: str, more: dict[str, str]
) -> None:
    made = launch(run(catalog, "llama-3-8b", **more), framework)
    assert sorted(set(made.arguments) - known_arguments()[framework]["arguments"]) == []


def test_interleaving_that_was_asked_for_is_in_the_flags(catalog: Catalog) -> None:
    made = launch(run(catalog, "llama-3-70b", tp="8", pp="4", interleave="5"), "megatron").arguments
    assert made["--num-virtual-stages-per-pipeline-rank"] == 5


def test_groups_that_share_out_are_named_as_each_framework_counts_them(catalog: Catalog) -> None:
    one = run(catalog, "llama-3-8b", tp="1", pp="1", cp="1", dp="512", sharding="hsdp", shard_group="16")
    assert launch(one, "megatron").arguments["--num-distributed-optimizer-instances"] == 32
    assert launch(one, "megatron").arguments["--data-parallel-sharding-strategy"] == "optim_grads_params"
    titan = launch(one, "torchtitan").arguments
    assert titan["--parallelism.data_parallel_replicate_degree"] == 32
    assert titan["--parallelism.data_parallel_shard_degree"] == 16
    assert json.loads(launch(one, "deepspeed").text)["zero_optimization"]["mics_shard_size"] == 16


def test_an_offloaded_optimizer_is_named_in_every_framework(catalog: Catalog) -> None:
    one = run(catalog, "llama-3-8b", offload="optimizer")
    assert {"--optimizer-cpu-offload", "--use-distributed-optimizer"} <= set(launch(one, "megatron").arguments)
    assert launch(one, "megatron-bridge").arguments["optimizer.optimizer_cpu_offload"] is True
    assert "--training.enable_cpu_offload" in launch(one, "torchtitan").arguments
    config = json.loads(launch(one, "deepspeed").text)
    assert config["zero_optimization"]["offload_optimizer"] == {"device": "cpu", "pin_memory": True}


def test_a_zero_bubble_schedule_is_torchtitan_s_and_missing_elsewhere(catalog: Catalog) -> None:
    one = run(catalog, "llama-3-70b", tp="8", pp="4", schedule="zero-bubble", interleave="2")
    made = launch(one, "torchtitan").arguments
    assert made["--parallelism.pipeline_parallel_schedule"] == "InterleavedZeroBubble"
    for framework in ("megatron", "deepspeed"):
        assert "no zero-bubble schedule" in " ".join(launch(one, framework).notes)


def test_block_scaled_formats_are_named_on_blackwell(catalog: Catalog) -> None:
    fp8 = launch(run(catalog, "llama-3-70b", gpu="gb200-nvl72", gpus="576", precision="fp8"), "megatron").arguments
    assert (fp8["--fp8-format"], fp8["--fp8-recipe"]) == ("e4m3", "mxfp8")
    fp4 = launch(run(catalog, "llama-3-70b", gpu="gb200-nvl72", gpus="576", precision="nvfp4"), "megatron").arguments
    assert fp4["--fp4-format"] == "e2m1"
    assert "--fp4-format" in known_arguments()["megatron"]["arguments"]


def test_megatron_is_told_the_plan_and_the_model(catalog: Catalog) -> None:
    one = run(catalog, "llama-3-70b", tp="4", pp="4", cp="1", dp="32", micro_batch="1")
    made = launch(one, "megatron").arguments
    assert made["--tensor-model-parallel-size"] == 4
    assert made["--pipeline-model-parallel-size"] == 4
    assert made["--global-batch-size"] == 1024
    assert made["--num-query-groups"] == 8  # llama-3-70b has 8 key-value heads
    assert made["--hidden-size"] == 8192
    assert "--sequence-parallel" in made
    text = launch(one, "megatron").text
    assert text.startswith("torchrun --nnodes 64 --nproc-per-node 8 pretrain_gpt.py")  # 512 GPUs in servers of eight


def test_megatron_recompute_modules_are_ones_that_it_allows(catalog: Catalog) -> None:
    # TransformerConfig: core_attn moe_act layernorm mla_up_proj mlp moe shared_experts ...
    made = launch(run(catalog, "deepseek-v3", gpus="1024", recompute="selective"), "megatron").arguments
    assert made["--recompute-modules"] == ["layernorm", "moe_act", "mla_up_proj"]
    assert made["--moe-layer-freq"] == "([0]*3+[1]*58)"  # three dense layers, then 58 mixtures


def test_embedding_and_head_count_as_layers_where_that_divides(catalog: Catalog) -> None:
    # (126 + 2) / 16 = 8 layers a stage
    one = run(catalog, "llama-3.1-405b", gpus="1024", tp="8", pp="16", cp="1", dp="8")
    made = launch(one, "megatron").arguments
    assert "--account-for-embedding-in-pipeline-split" in made
    assert "--account-for-loss-in-pipeline-split" in made


@pytest.mark.parametrize(("layers", "stages"), [(61, 8), (61, 16), (7, 7), (10, 3), (5, 1)])
def test_an_uneven_layout_holds_every_layer_once_and_no_stage_more_than_one_extra(layers: int, stages: int) -> None:
    layout = uneven_layout(layers, stages).split("|")
    counts = [stage.count("t") for stage in layout]
    assert (len(layout), sum(counts)) == (stages, layers)
    assert max(counts) - min(counts) <= 1
    assert layout[0].startswith("E")
    assert layout[-1].endswith("L")


def test_deepspeed_batch_is_micro_batch_times_accumulation_times_ranks(catalog: Catalog) -> None:
    one = run(catalog, "llama-3-8b", gpus="64", tp="1", pp="1", cp="1", dp="64")
    config = json.loads(launch(one, "deepspeed").text)
    ranks = (
        config["train_batch_size"] / config["train_micro_batch_size_per_gpu"] / config["gradient_accumulation_steps"]
    )
    assert ranks == 64
    assert config["zero_optimization"]["stage"] == 1
    assert config["bf16"] == {"enabled": True}


def test_torchtitan_counts_the_pipeline_s_micro_batches_in_its_local_batch(catalog: Catalog) -> None:
    # 1,024 sequences over dp 32 are 32 a rank, in micro-batches of 1 through 4 stages
    made = launch(run(catalog, "llama-3-70b", tp="4", pp="4", cp="1", dp="32", micro_batch="1"), "torchtitan").arguments
    assert made["--training.local_batch_size"] == 32
    assert made["--parallelism.pipeline_parallel_microbatch_size"] == 1
    assert (made["--model.name"], made["--model.flavor"]) == ("llama3", "70B")


def test_what_the_flags_cannot_say_is_noted(catalog: Catalog) -> None:
    notes = " ".join(launch(run(catalog, "gpt-3-175b", pp="4"), "torchtitan").notes)
    assert "no flavor for gpt-3-175b" in notes
    notes = " ".join(launch(run(catalog, "llama-3-70b", gpus="4"), "megatron").notes)
    assert "does not fit" in notes
