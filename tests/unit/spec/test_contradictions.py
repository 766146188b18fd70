"""Values that cannot both be meant are refused; wishes that are only hard are left to the design."""

import pytest

from tests.unit.spec.writing import GOOD, only, wrong, wrong_with


def run_with(more: str) -> str:
    return GOOD.replace("tokens: 1e12", f"tokens: 1e12, {more}")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        # 128 + 64 = 192 at the sites, 1,024 in all
        (
            "compute: {gpus: 1024}\nsites: [{name: a, gpus: 128}, {name: b, gpus: 64}]",
            "compute.gpus is 1,024, but the sites' gpus sum to 192",
        ),
        # one site alone has more than all
        (
            "compute: {gpus: 64}\nsites: [{name: a, gpus: 128}, {name: b}]",
            "compute.gpus is 64, but the sites' gpus sum to 128",
        ),
        (
            "sites: [{rack_power: 2 MW, power: 1 MW}]",
            "one rack of main may draw 2 MW, the whole site only 1 MW",
        ),
        (
            "limits: {rack_power: 100 kW, power: 50 kW}",
            "one rack may draw 100 kW, everything only 50 kW",
        ),
        (
            "limits: {racks: 1}\nsites: [{name: a}, {name: b}]",
            "at most 1 racks for 2 sites, each of which needs one",
        ),
        (
            "compute: {accelerators: [a100-sxm-80gb], server: dgx-h100}",
            "dgx-h100 carries h100-sxm-80gb, which is not among the accelerators",
        ),
        (
            "compute: {gpus: 4, server: dgx-h100}",
            "4 accelerators are less than one server, which carries 8",
        ),
        (
            "compute: {gpus: 1001, server: dgx-h100}",
            "1,001 accelerators do not fill whole servers, which carry 8",
        ),
        (
            "compute: {gpus: 1002, accelerators: [gb200-nvl72]}",
            "1,002 accelerators do not fill whole servers, which carry 4",
        ),
        ("storage: {object: weka}", "wekapod is parallel storage, not object or archive storage"),
        ("storage: {parallel: s3}", "s3-standard is object storage, not parallel storage"),
        (
            'claims: [{path: "training[1].mfu", value: 40 %}]',
            "training[1].mfu speaks of number 1, but there are 1 workloads, counted from 0",
        ),
    ],
)
def test_a_contradiction_is_said_with_both_values(more: str, message: str) -> None:
    code, _, said, hint = only(wrong_with(more + "\n"))
    assert (code, said) == ("SPEC-CONTRADICTION", message)
    assert hint


@pytest.mark.parametrize(
    ("more", "compute", "message"),
    [
        ("gpus: 2048", "compute: {gpus: 1024}", "2,048 accelerators for 'pretrain', but the cluster has 1,024"),
        (
            "gpus: 1024",
            "sites: [{name: a, gpus: 512}, {name: b, gpus: 768}]",
            "1,024 accelerators for 'pretrain', but the largest site has 768",
        ),
        ("global_batch: 4000 tokens", "", "a global batch of 4,000 tokens is less than one sequence of 8,192"),
        # 200M sequences of 8,192 tokens are 1.6e12 tokens, more than the 1e12 of the run
        (
            "global_batch: 1e8 sequences, sequence: 16384",
            "",
            "1,000,000,000,000 tokens are less than one global batch of 1,638,400,000,000",
        ),
        ("plan: {tp: 8, pp: 16}", "compute: {gpus: 64}", "tp x pp = 128 is more than the 64 accelerators"),
        (
            "plan: {tp: 8, pp: 1, cp: 1, dp: 4}",
            "compute: {gpus: 64}",
            "tp x pp x cp x dp = 32 is not the 64 accelerators",
        ),
        ("plan: {ep: 8}", "", "ep = 8 for llama-3-8b, which has no experts"),
        ("plan: {pp: 64}", "", "pp = 64 for llama-3-8b, which has 32 layers"),
    ],
)
def test_a_run_that_contradicts_itself_or_the_cluster(more: str, compute: str, message: str) -> None:
    code, _, said, _ = only(wrong(run_with(more) + compute + "\n"))
    assert (code, said) == ("SPEC-CONTRADICTION", message)


def test_the_place_of_a_contradiction_is_that_of_one_of_the_two_values() -> None:
    assert only(wrong_with("compute: {gpus: 1001, server: dgx-h100}\n"))[1] == "spec.yaml:6:17"


def test_the_hint_for_a_count_gives_the_counts_around_it() -> None:
    # 1,001 = 125 x 8 + 1
    assert only(wrong_with("compute: {gpus: 1001, server: dgx-h100}\n"))[3] == "write 1,000 or 1,008"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("sites: [{name: a}, {name: a}]", "the site 'a' is there twice"),
        ("sites: [{region: us-east}, {region: uk}]", "the site 'main' is there twice"),
        ("compute: {accelerators: [h100-sxm-80gb, H100-SXM-80GB]}", "the accelerator 'h100-sxm-80gb' is there twice"),
        ("finance: {procurement: [buy, buy]}", "the procurement 'buy' is there twice"),
    ],
)
def test_the_same_thing_twice(more: str, message: str) -> None:
    code, _, said, _ = only(wrong_with(more + "\n"))
    assert (code, said) == ("SPEC-DUPLICATE", message)


def test_two_workloads_of_one_name() -> None:
    again = "  - {name: pretrain, train: {model: llama-3-8b}}\n"
    assert only(wrong_with(again))[:2] == ("SPEC-DUPLICATE", "spec.yaml:6:12")


@pytest.mark.parametrize(
    "more",
    [
        "limits: {rack_power: 3 kW}\ncompute: {server: dgx-h100}",  # less than one node draws: infeasible, not wrong
        "limits: {power: 1 MW}\nsites: [{power: 10 MW}]",  # the smaller binds
        "sites: [{rack_power: 100 kW}]\nlimits: {rack_power: 40 kW}",
        "compute: {gpus: 1024}\nsites: [{name: a, gpus: 512}, {name: b}]",
        "compute: {gpus: 555000, accelerators: [gb200-nvl72]}",  # the last rack of 72 is not full
        'claims: [{path: "training[0].mfu", value: 40 %}, {path: "training[0].mfu", value: 60 %}]',
    ],
)
def test_what_is_only_hard_is_no_contradiction(more: str) -> None:
    assert wrong_with(more + "\n") == ()
