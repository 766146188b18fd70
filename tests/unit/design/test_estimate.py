"""An estimate: figures against arithmetic by hand, refusals with the nearest plans, what-if, all errors at once."""

import math
import re

import pytest

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.design import Estimated, estimate, estimate_document, what_if
from clusterwright.errors import InputError

ASKED = {"model": "llama-3-70b", "gpu": "h100-sxm-80gb", "gpus": "1024", "sequence": "8192", "global_batch": "512"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="module")
def run(catalog: Catalog) -> Estimated:
    return estimate({**ASKED, "tokens": "1e12"}, catalog)


def refused(asked: dict[str, str], catalog: Catalog, sets: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    """Place, code and message of everything that is wrong."""
    with pytest.raises(InputError) as caught:
        estimate(asked, catalog, sets)
    return [(str(f.place), f.code, f.message) for f in caught.value.findings]


# --- figures ---


def test_steps_and_time_follow_from_tokens_batch_and_step_time(run: Estimated) -> None:
    # 1e12 tokens / (512 sequences x 8,192 tokens) = 238,418.6 steps
    assert run.value("steps") == 238_419
    assert run.value("compute_time_s") == pytest.approx(238_419 * run.value("step_time_s"))


def test_mfu_is_model_operations_over_what_the_gpus_could_do_in_a_step(run: Estimated) -> None:
    # 70.6e9 parameters less the input embedding 128,256 x 8,192 = 1.05e9 -> 69.5e9 that multiply a token;
    # causal attention forward and backward: 3 x 80 layers x 2 x 8,192 tokens / 2 x (8,192 + 8,192) = 32.2e9 FLOP
    flop = 6 * (run.value("parameters") - 128_256 * 8_192) + 3 * 80 * 8_192 * 2 * 8_192
    expected = flop * 512 * 8_192 / (run.value("step_time_s") * 1_024 * 989e12)
    assert run.value("mfu") == pytest.approx(expected, rel=2e-3)


def test_the_waterfall_sums_to_the_step_and_the_memory_to_its_parts(run: Estimated) -> None:
    document = estimate_document(run)
    assert sum(part["seconds"] for part in document["step"]) == pytest.approx(document["step_time_s"]["value"])
    assert sum(document["memory"]["parts"].values()) == pytest.approx(document["memory"]["bytes"]["value"])
    assert sum(part["fraction"] for part in document["step"]) == pytest.approx(1.0)


def test_the_plan_uses_all_gpus_and_the_whole_batch(run: Estimated) -> None:
    plan = run.plan
    assert plan["tp"] * plan["pp"] * plan["cp"] * plan["dp"] == 1024
    assert plan["dp"] * plan["micro_batch"] * plan["micro_batches"] == 512
    assert plan == run.plans[0]
    assert [p["fits"] for p in run.plans] == sorted((p["fits"] for p in run.plans), reverse=True)


def test_a_batch_that_nobody_names_is_a_power_of_two_of_sequences(catalog: Catalog) -> None:
    asked = {name: text for name, text in ASKED.items() if name != "global_batch"}
    # 4M tokens / 8,192 = 488 sequences, nearest power of two 512; 4M / 2,048 = 1,953 -> 2,048
    assert estimate(asked, catalog).value("batch_tokens") == 512 * 8192
    assert estimate({**asked, "sequence": "2048"}, catalog).value("batch_tokens") == 2048 * 2048


def test_less_than_a_server_can_be_used(catalog: Catalog) -> None:
    small = {"model": "llama-3.2-1b", "gpu": "h100", "gpus": "1", "sequence": "2048", "global_batch": "32"}
    run = estimate(small, catalog)
    assert (run.gpus, run.plan["gpus"], run.fits) == (1, 1, True)


def test_an_accelerator_that_no_server_carries_stands_in_a_server_of_eight_and_it_is_said(catalog: Catalog) -> None:
    run = estimate({"model": "llama-3-8b", "gpu": "tpu-v5p", "gpus": "64"}, catalog)
    assert [f.code for f in run.cluster.findings] == ["ESTIMATE-SERVER-ASSUMED"]
    assert run.cluster.value("server.gpus") == 8


def test_a_fabric_that_is_only_rented_can_be_estimated_on(catalog: Catalog) -> None:
    asked = {"model": "llama-3-8b", "gpu": "h100", "gpus": "64", "global_batch": "512"}
    bare, efa = (estimate({**asked, **more}, catalog) for more in ({}, {"fabric": "efa"}))
    assert efa.candidate.fabric == "efa"
    assert efa.value("step_time_s") > bare.value("step_time_s")  # its latency is higher, its efficiency lower


def test_what_does_not_fit_is_said_and_shown(catalog: Catalog) -> None:
    # 2 bytes of weights and 4 of gradients for 70.6e9 parameters are 106 GB on each of four, whatever is offloaded
    run = estimate({**ASKED, "gpus": "4"}, catalog)
    document = estimate_document(run)
    assert document["verdict"] == "does-not-fit"
    assert not any(plan["fits"] for plan in document["plans"])
    assert "TRAINING-DOES-NOT-FIT" in [f["code"] for f in document["findings"]]


# --- refusals ---


def test_everything_that_is_wrong_is_said_at_once_at_its_option(catalog: Catalog) -> None:
    found = refused({"model": "lama-3-70b", "gpu": "h10", "tp": "eight", "precision": "bf61"}, catalog)
    assert sorted((place, code) for place, code, _ in found) == [
        ("--gpu", "CATALOG-UNKNOWN-PART"),
        ("--gpus", "ESTIMATE-MISSING"),
        ("--model", "SPEC-UNKNOWN-PART"),
        ("--precision", "SPEC-UNKNOWN-WORD"),
        ("--tp", "SPEC-TYPE"),
    ]


@pytest.mark.parametrize(
    ("degrees", "place", "message"),
    [
        ({"tp": "8", "pp": "8", "cp": "1", "dp": "8"}, "--dp", "tp 8 x pp 8 x cp 1 x dp 8 = 512 is not the 1,024 GPUs"),
        ({"tp": "8", "pp": "80", "cp": "2"}, "--cp", "tp 8 x pp 80 x cp 2 = 1,280 is more than the 1,024 GPUs"),
        ({"pp": "5"}, "--pp", "pp 5 does not divide the 1,024 GPUs"),
        ({"tp": "16"}, "--tp", "tp 16 leaves the scale-up domain of 8 GPUs"),
        ({"pp": "128"}, "--pp", "pp 128 is more than the 80 layers of llama-3-70b"),
        ({"ep": "2"}, "--ep", "ep 2 for llama-3-70b, which has no experts"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(catalog: Catalog, degrees: dict[str, str], place: str, message: str) -> None:
    assert refused({**ASKED, **degrees}, catalog) == [(place, "ESTIMATE-PLAN-INCONSISTENT", message)]


def test_heads_and_experts_must_divide(catalog: Catalog) -> None:
    # GPT-NeoX-like widths: 96 heads over 7 ranks, and 256 experts over 24
    found = refused({"model": "gpt-3-175b", "gpu": "a100-sxm-80gb", "gpus": "56", "tp": "7"}, catalog)
    assert [m for _, _, m in found] == ["tp 7 does not divide the 96 heads of gpt-3-175b"]
    found = refused({"model": "deepseek-v3", "gpu": "h100", "gpus": "2304", "ep": "24"}, catalog)
    assert [m for _, _, m in found] == ["ep 24 does not divide the 256 experts of deepseek-v3"]


def test_a_batch_must_give_every_rank_whole_micro_batches(catalog: Catalog) -> None:
    asked = {**ASKED, "global_batch": "500", "tp": "8", "pp": "4", "cp": "1", "dp": "32", "micro_batch": "1"}
    assert [(p, m) for p, _, m in refused(asked, catalog)] == [
        ("--global-batch", "dp 32 x micro-batch 1 = 32 does not divide the 500 sequences")
    ]


def test_the_nearest_plans_are_valid_themselves(catalog: Catalog) -> None:
    wrong = {**ASKED, "gpus": "1000", "tp": "6", "pp": "8", "cp": "1", "dp": "16"}
    with pytest.raises(InputError) as caught:
        estimate(wrong, catalog)
    hint = caught.value.findings[-1].hint
    offered = [dict(re.findall(r"(tp|pp|cp|dp) (\d+)", plan)) for plan in hint.partition(": ")[2].split(";")]
    assert len(offered) == 3
    for degrees in offered:
        assert math.prod(map(int, degrees.values())) == 1000
        assert estimate({**wrong, **degrees}, catalog).value("gpus") == 1000


def test_a_precision_without_a_peak_is_refused_with_those_that_there_are(catalog: Catalog) -> None:
    with pytest.raises(InputError) as caught:
        estimate({"model": "llama-3-8b", "gpu": "v100-sxm-32gb", "gpus": "64"}, catalog)
    (finding,) = caught.value.findings
    assert (finding.code, finding.place) == ("ESTIMATE-NO-PEAK", "--precision")
    assert "fp16" in finding.hint


def test_a_server_with_another_accelerator_is_refused(catalog: Catalog) -> None:
    found = refused(ASKED, catalog, ("compute.server=dgx-a100",))
    assert [code for _, code, _ in found] == ["ESTIMATE-SERVER-DIFFERS"]


# --- what if ---


def test_twice_the_gpus_with_the_plan_kept_means_twice_the_data_parallelism(run: Estimated) -> None:
    (twice,) = what_if(run, ["gpus=2x"])
    assert twice.kept is not None
    same = ("tp", "pp", "cp", "ep", "micro_batch")
    assert [twice.kept.plan[d] for d in same] == [run.plan[d] for d in same]
    assert twice.kept.plan["dp"] == 2 * run.plan["dp"]
    assert run.value("step_time_s") / 2 < twice.kept.value("step_time_s") < run.value("step_time_s")


def test_a_part_of_the_step_can_be_halved(run: Estimated) -> None:
    (half,) = what_if(run, ["training[0].step.tp_s=0.5x"])
    saved = run.value("step_time_s") - half.best.value("step_time_s")
    assert saved == pytest.approx(0.5 * run.value("step.tp_s"))


def test_knobs_turn_together_and_a_plan_that_cannot_be_kept_is_searched_anew(run: Estimated) -> None:
    both, data = what_if(run, ["tp=4,pp=4", "dp=16"])
    assert both.change.options == {"tp": "4", "pp": "4"}
    assert (both.best.plan["tp"], both.best.plan["pp"]) == (4, 4)
    assert data.kept is None
    assert "is not the 1,024 GPUs" in data.why_not_kept
    assert data.best.plan["dp"] == 16


def test_a_change_that_is_searched_anew_is_never_slower_than_with_the_plan_kept(run: Estimated) -> None:
    for one in what_if(run, ["micro_batch=2", "gpu=h200", "accelerator.memory_bandwidth_bytes_s=2x"]):
        assert one.kept is not None
        assert one.best.value("step_time_s") <= 1.05 * one.kept.value("step_time_s")  # awkward plans are put back 5 %


def test_a_plan_that_rounds_the_batch_can_be_kept(catalog: Catalog) -> None:
    asked = {"model": "llama-3-8b", "gpu": "h100", "gpus": "96", "global_batch": "500"}
    base = estimate(asked, catalog)
    assert base.plan["batch_sequences"] != 500  # 96 GPUs do not divide 500 sequences
    (slower,) = what_if(base, ["recompute=full"])
    assert slower.kept is not None
    assert slower.kept.value("step_time_s") > base.value("step_time_s")


def test_unknown_knobs_and_values_are_said_all_at_once(run: Estimated) -> None:
    with pytest.raises(InputError) as caught:
        what_if(run, ["micro_bacth=2", "accelerator.memory_bytes=3", "gpus", "tp=3"])
    found = [(str(f.place), f.code) for f in caught.value.findings]
    assert found[:3] == [
        ("--what-if micro_bacth=2", "ESTIMATE-WHAT-IF"),
        ("--what-if accelerator.memory_bytes=3", "ESTIMATE-WHAT-IF"),
        ("--what-if gpus", "ESTIMATE-WHAT-IF"),
    ]
    assert {code for place, code in found[3:]} == {"ESTIMATE-PLAN-INCONSISTENT"}
    assert "micro_batch" in caught.value.findings[0].hint


# --- schedule, sharing, offloading ---


def test_what_nothing_fits_without_is_offloaded_and_said(catalog: Catalog) -> None:
    run = estimate({**ASKED, "gpus": "8"}, catalog)
    (found,) = [f for f in run.cluster.findings if f.code == "TRAINING-OFFLOADED"]
    assert (run.fits, run.plan["offload"]) == (True, "optimizer")
    assert "106 GB a GPU" in found.message  # 12 bytes for an eighth of 70.6e9 parameters
    assert not estimate({**ASKED, "gpus": "8", "offload": "none"}, catalog).fits


def test_a_plan_shows_what_was_asked_for(catalog: Catalog) -> None:
    asked = {"tp": "4", "pp": "4", "cp": "1", "interleave": "5", "schedule": "zero-bubble", "sharding": "zero-2"}
    plan = estimate_document(estimate({**ASKED, **asked}, catalog))["plan"]
    assert (plan["interleave"], plan["schedule"], plan["sharding"], plan["offload"]) == (
        5,
        "zero-bubble",
        "zero-2",
        "none",
    )


def test_a_zero_bubble_schedule_can_be_asked_of_a_plan_as_what_if(catalog: Catalog) -> None:
    base = estimate({**ASKED, "tp": "4", "pp": "8", "interleave": "1"}, catalog)
    (change,) = what_if(base, ["schedule=zero-bubble"])
    assert change.kept is not None
    assert change.kept.parts()["pp_bubble_s"] < 0.7 * base.parts()["pp_bubble_s"]  # the wait for the head stays


@pytest.mark.parametrize(
    ("asked", "place", "words"),
    [
        ({"interleave": "4", "schedule": "1f1b"}, "--interleave", "schedule 1f1b"),
        ({"interleave": "4", "pp": "1"}, "--interleave", "without a pipeline"),
        ({"interleave": "50", "pp": "4"}, "--interleave", "more chunks than the 80 layers"),
        ({"schedule": "zero-bubble", "pp": "1"}, "--schedule", "without a pipeline"),
        ({"shard_group": "8"}, "--shard-group", "sharding auto"),
        ({"sharding": "zero"}, "--sharding", "'zero' is not a sharding"),
        ({"offload": "nvme"}, "--offload", "'nvme' is not an offload"),
    ],
)
def test_choices_that_contradict_are_refused_at_their_option(
    asked: dict[str, str], place: str, words: str, catalog: Catalog
) -> None:
    found = refused({**ASKED, **asked}, catalog)
    assert [(p, words in message) for p, _, message in found] == [(place, True)]
