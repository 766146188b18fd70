"""The audit: each claim against the laws and against the other claims, with the sums."""

from types import SimpleNamespace

import pytest

from clusterwright.cluster import Cluster, assumed
from clusterwright.design.audit import audit

DAY = 86400.0


def cluster() -> Cluster:
    """A cluster of 1,024 GPUs that sustains 400 TFLOP/s each on a run of 4.5e23 FLOP."""
    made = Cluster()
    give = made.frame.give
    give("compute.gpus", 1024, assumed("test"), count=True)
    give("compute.nodes", 128, assumed("test"), count=True)
    give("training[0].gpus", 1024, assumed("test"), count=True)
    give("training[0].flop", 4.5e23, assumed("test"))
    give("training[0].peak_flops", 989e12, assumed("test"))
    give("training[0].ettr", 0.97, assumed("test"))
    give("training[0].tflops_per_gpu", 400, assumed("test"), low=360, high=440)
    give("training[0].cluster_tflops", 400 * 1024, assumed("test"), low=360 * 1024, high=440 * 1024)
    give("training[0].tokens_per_s", 9e5, assumed("test"))
    # 4.5e23 / (409,600e12) / 0.97 = 1.1326e6 s = 13.1 d
    give("training[0].time_to_train_s", 1.1326e6, assumed("test"), low=1.03e6, high=1.25e6)
    give("facility.meter_power_w", 1.8e6, assumed("test"), low=1.6e6, high=2.0e6)
    give("facility.it_power_w", 1.5e6, assumed("test"), low=1.4e6, high=1.6e6)
    give("facility.pue", 1.2, assumed("test"))
    give("facility.compute_racks", 16, assumed("test"), count=True)
    return made


def judge(*claims: tuple[str, float, float, str]) -> list[dict]:
    asked = [SimpleNamespace(path=p, low=lo, high=hi, text=t, who="proposal") for p, lo, hi, t in claims]
    return audit(cluster(), SimpleNamespace(claims=asked))


def test_a_claim_that_meets_the_computed_value_holds() -> None:
    (row,) = judge(("facility.compute_racks", 16, 32, "16-32"))
    assert row["verdict"] == "holds"
    assert row["contradicts"] == []


def test_a_deadline_that_the_interval_exceeds_holds_and_says_so() -> None:
    (row,) = judge(("training[0].time_to_train_s", 0, 14 * DAY, "<= 14 d"))
    assert row["verdict"] == "holds"
    assert "not over the whole interval" in row["arithmetic"]
    # 4.5e23 / 1.2096e6 s / 1024 = 363.3 TFLOP/s with failures, an MFU of 36.7 %; / 0.97 = 374.5, 37.9 % while it runs
    assert "363 TFLOP/s per GPU on average, failures included (an MFU of 36.7%)" in row["arithmetic"]
    assert "375 TFLOP/s (37.9%) while it runs" in row["arithmetic"]


def test_a_claim_far_off_does_not_hold_and_the_factor_is_said() -> None:
    (row,) = judge(("facility.meter_power_w", 6e6, 10e6, "6-10 MW"))
    assert row["verdict"] == "does-not-hold"
    # 6 / 1.8 = 3.33, 10 / 1.8 = 5.56; 6 MW / 1,024 = 5.86 kW
    assert "too high by a factor of 3.33 to 5.56" in row["arithmetic"]
    assert "5.86 kW to 9.77 kW a GPU" in row["arithmetic"]


def test_a_claim_inside_the_interval_but_off_the_best_estimate_cannot_be_told() -> None:
    (row,) = judge(("training[0].tflops_per_gpu", 420, 480, "420-480 TFLOPS"))
    assert row["verdict"] == "cannot-tell"


def test_claims_that_cannot_all_be_true_name_each_other() -> None:
    per_gpu, total, two_weeks = judge(
        ("training[0].tflops_per_gpu", 2, 2, "2 TFLOPS"),
        ("training[0].cluster_tflops", 16384, 16384, "16,384 TFLOPS"),
        ("training[0].time_to_train_s", 0, 14 * DAY, "<= 14 d"),
    )
    assert per_gpu["verdict"] == total["verdict"] == "does-not-hold"
    assert per_gpu["contradicts"] == ["training[0].cluster_tflops", "training[0].time_to_train_s"]
    assert total["contradicts"] == ["training[0].tflops_per_gpu", "training[0].time_to_train_s"]
    assert two_weeks["contradicts"] == ["training[0].tflops_per_gpu", "training[0].cluster_tflops"]
    # 400 / 2 = 200 times; 4.5e23 / (2,048e12) = 2.197e8 s = 6.96 years; 16,384 / 1,024 = 16 each: 2.747e7 s = 318 d
    assert "too low by a factor of 200" in per_gpu["arithmetic"]
    assert "6.96 years" in per_gpu["arithmetic"]
    assert "16 TFLOP/s each" in total["arithmetic"]
    assert "318 d" in total["arithmetic"]


def test_claims_about_the_same_thing_that_agree_do_not_contradict() -> None:
    rows = judge(
        ("facility.meter_power_w", 1.7e6, 1.9e6, "1.7-1.9 MW"),
        ("facility.it_power_w", 1.4e6, 1.6e6, "1.4-1.6 MW"),  # x 1.2 = 1.68 to 1.92 MW
    )
    assert [row["contradicts"] for row in rows] == [[], []]


def test_a_figure_that_no_law_computes_is_not_judged() -> None:
    (row,) = judge(("scheduling.gpu_utilisation", 0.9, 0.9, "90 %"))
    assert row["verdict"] == "cannot-tell"
    assert row["computed"] is None


@pytest.mark.parametrize("high", [float("inf"), 0.9])
def test_open_ends_are_null_in_json(high: float) -> None:
    (row,) = judge(("training[0].mfu", 0.8, high, ">= 80 %"))
    assert row["claimed"]["high"] == (None if high == float("inf") else high)
