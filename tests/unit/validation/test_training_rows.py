"""Reading published runs: any CSV with the columns that are known; what is not said is assumed and said."""

from importlib import resources
from pathlib import Path

import pytest
import yaml

from clusterwright.catalog import load_catalog
from clusterwright.errors import InputError
from clusterwright.validation import validate_training
from clusterwright.validation.training_cases import case_of
from clusterwright.validation.training_memory import memory_bytes
from clusterwright.validation.training_parts import RefusedRowError, chip_of, model_of, network_bytes_s
from clusterwright.validation.training_rows import Published, read_published

CATALOG = load_catalog()


def row(**cells: str) -> Published:
    base = {"id": "r", "gpu": "H100-SXM", "gpu_count": "64", "model": "llama3-70b", "seq_len": "8192"}
    return Published(2, {**base, **cells})


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("H100-SXM", "h100-sxm-80gb"),
        ("A100-80G", "a100-sxm-80gb"),
        ("A100-40G", "a100-sxm-40gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("B200-SXM", "b200-sxm-180gb"),
        ("GB200", "gb200-nvl72"),
        ("GB300", "gb300-nvl72"),
        ("B300", "b300-sxm-288gb"),
        ("MI300X", "mi300x"),
        ("MI355X", "mi355x"),
        ("TPU-v5p", "tpu-v5p"),
        ("H800", "h800-sxm-80gb"),
    ],
)
def test_published_names_of_accelerators_find_their_part(name: str, part: str) -> None:
    assert chip_of(name, CATALOG).name == part


def test_memory_power_and_kind_of_memory_in_a_name_replace_those_of_the_part() -> None:
    chip = chip_of("H100-96G-HBM2e-500W", CATALOG)
    # Six stacks of 16 GB at 400 GB/s each.
    assert (chip.memory_bytes, chip.tdp_w, chip.memory_bandwidth_bytes_s) == (96e9, 500.0, 2.4e12)
    assert chip.achievable_bf16_flops == 0, "nobody measured the capped part"


def test_an_accelerator_that_nobody_knows_is_refused_with_its_name() -> None:
    with pytest.raises(RefusedRowError, match="xyz9000"):
        chip_of("XYZ9000", CATALOG)


def test_dimensions_come_from_the_catalogue_where_the_row_has_none() -> None:
    model, assumed = model_of(row(), CATALOG)
    assert (model.layers, model.hidden, model.kv_heads) == (80, 8192, 8)
    assert assumed == ["dimensions of llama-3-70b from the catalogue"]


def test_the_row_goes_before_the_catalogue() -> None:
    model, _ = model_of(row(model="deepseek-v3(truncated)", layers="4", hidden="7168", num_experts="256"), CATALOG)
    assert (model.layers, model.dense_layers, model.kv_lora_rank) == (4, 1, 512)


def test_a_model_of_unknown_dimensions_is_stood_in_for_by_its_size() -> None:
    model, assumed = model_of(row(model="somebody-7b"), CATALOG)
    assert model.parameters == pytest.approx(7e9, rel=0.25)
    assert "7B parameters" in assumed[0]
    with pytest.raises(RefusedRowError, match="dimensions of somebody"):
        model_of(row(model="somebody"), CATALOG)


@pytest.mark.parametrize(
    ("text", "bytes_s"),
    [
        ("NVLink4 + 8x400G NDR IB (Eos)", 50e9),  # 8 x 400 Gb/s over 8 GPUs
        ("1600 Gbps/node RoCE", 25e9),
        ("NVLink3 8-GPU + 4x100G Omni-Path", 6.25e9),
        ("NVLink4 8-GPU + 400 Gb/s RDMA per GPU", 50e9),
        ("", 50e9),
    ],
)
def test_the_network_is_read_from_words(text: str, bytes_s: float) -> None:
    assert network_bytes_s(row(interconnect=text), 8.0) == pytest.approx(bytes_s)


def test_what_is_not_published_is_assumed_and_said() -> None:
    case = case_of(row(tp="8", pp="2", framework="Megatron-Bridge", precision="FP8"), CATALOG)
    said = " ".join(case.assumed)
    for knob in ("global batch", "micro-batch", "recomputation", "interleaving", "optimizer state"):
        assert knob in said
    assert case.plan["dp"] == 4  # 64 / (8 x 2)


def test_a_recorded_run_is_never_refused_for_being_inconsistent() -> None:
    # Layers that the stages do not divide, 65 GPUs, 130 heads over 7 key heads, more experts used than there are.
    dims = {"layers": "7", "hidden": "1000", "heads": "130", "kv_heads": "7", "num_experts": "4", "top_k": "9"}
    case = case_of(row(model="odd", gpu_count="65", tp="3", pp="5", **dims), CATALOG)
    assert case.plan["dp"] == pytest.approx(65 / 15)


def test_traits_follow_framework_era_and_release() -> None:
    old = case_of(row(framework="Megatron-LM", precision="fp16", gpu="A100-80G"), CATALOG).traits
    assert (old["fused_attention"], old["tp_overlap"], old["dp_overlap"]) == (0, 0, 0)
    new = case_of(row(framework="Megatron-Bridge", release="26.06"), CATALOG).traits
    assert (new["host"], new["fused_experts"], new["fused_attention"]) == (0, 1, 1)
    assert case_of(row(routing="forced-balanced"), CATALOG).traits["natural_routing"] == 0
    assert case_of(row(precision="FP8 (page does not list precision per row)"), CATALOG).traits["row_scaled"] == 0
    assert case_of(row(precision="fp8 rowwise"), CATALOG).traits["row_scaled"] == 1


def test_a_framework_that_nobody_knows_hides_no_traffic() -> None:
    unseen = case_of(row(framework="trainer-x"), CATALOG).traits
    assert (unseen["tp_overlap"], unseen["dp_overlap"], unseen["fused_attention"]) == (0, 0, 1)
    for framework, both in (
        ("Megatron-Bridge", (1, 1)),
        ("NeMo", (1, 1)),
        ("torchtitan", (0, 1)),
        ("Megatron-LM", (0, 0)),
    ):
        traits = case_of(row(framework=framework), CATALOG).traits
        assert (traits["tp_overlap"], traits["dp_overlap"]) == both, framework


def test_gradients_are_kept_as_the_framework_keeps_them() -> None:
    """Megatron-Bridge's performance recipes and MLPerf reduce in BF16; BigScience counts 18 bytes a parameter."""

    def halved(**cells: str) -> float:
        return case_of(row(**cells), CATALOG).traits["half_gradients"]

    assert halved(framework="Megatron-Bridge") == halved(framework="MLPerf submission") == 1
    assert halved(framework="Megatron-LM", precision="fp16") == 1
    assert halved(framework="Megatron-LM") == halved(framework="torchtitan") == 0
    assert halved(framework="Megatron-DeepSpeed", precision="fp16") == 0


def test_the_jean_zay_system_has_two_boards_of_four() -> None:
    words = "NVLink3 8-GPU + 4x100G Omni-Path (Jean Zay)"
    assert case_of(row(gpu="A100-80G", interconnect=words), CATALOG).chip.domain == 4
    assert case_of(row(gpu="A100-80G", interconnect="NVLink3 + 8x200G HDR IB (Selene)"), CATALOG).chip.domain == 8


@pytest.mark.parametrize("name", ["nemotron_3_nano", "nemotron_3_super", "nemotronh_56b", "nemotron-h-8b"])
def test_published_hybrids_have_their_published_parameters(name: str) -> None:
    text = resources.files("clusterwright.validation").joinpath("data/hybrids.yaml").read_text(encoding="utf-8")
    model, assumed = model_of(row(model=name, layers="52", hidden="2688"), CATALOG)
    assert model.parameters == pytest.approx(yaml.safe_load(text)[model.name]["published"], rel=0.01)
    assert model.state_layers > 0
    assert "not known how far the law holds" in assumed[0]


def test_allocated_memory_is_compared_without_the_driver() -> None:
    plain = case_of(row(tp="8", pp="1"), CATALOG)
    allocated = case_of(row(tp="8", pp="1", verbatim_note="real alloc 45.63 GiB"), CATALOG)
    assert memory_bytes(plain) - memory_bytes(allocated) == pytest.approx(2.5e9)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "gpu\n\x00"])
def test_a_file_that_is_no_table_of_runs_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="VALIDATION-DATA"):
        read_published(path)


def test_every_row_of_any_file_is_run_or_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    lines = ["id,model,gpu,gpu_count,measured_step_s", "a,llama3-70b,H100-SXM,512,8", "b,llama3-8b,XYZ,8,1"]
    path.write_text("\n".join([*lines, "c,llama3-8b,H200,,1", "d,llama3-8b,B300,8,"]) + "\n")
    document = validate_training(path, CATALOG).to_dict()
    assert (document["rows"], document["run"], document["refused"], document["no_target"]) == (4, 1, 2, 1)
    reasons = {p["id"]: p["refused"] for p in document["predictions"] if "refused" in p}
    assert set(reasons) == {"b", "c"}
    assert all(reasons.values())
    told = next(p for p in document["predictions"] if p["id"] == "d")
    assert told["error"] is None
    assert told["step_time_s"]["low"] < told["step_time_s"]["value"] < told["step_time_s"]["high"]
