"""How good a choice of plan is: regret, ties and order of a group of measured plans, worked out by hand."""

from pathlib import Path

import numpy as np
import pytest

from clusterwright.catalog import load_catalog
from clusterwright.validation.training_calibrate import gathered
from clusterwright.validation.training_cases import Case
from clusterwright.validation.training_plans import judged_planner, spearman
from clusterwright.validation.training_rows import read_published

HEAD = "id,family,model,gpu,gpu_count,precision,framework,seq_len,global_batch_seqs,tp,pp,micro_batch,recompute"
HEAD += ",why_not_in_target,measured_step_s"


def cases(tmp_path: Path, *rows: str) -> list[Case]:
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return gathered(read_published(path), load_catalog())[0]


def row(name: str, tp: int, pp: int, measured: float, *, family: str = "site", why: str = "", batch: int = 256) -> str:
    return (
        f"{name},{family},llama3-70b,H100-SXM,64,BF16,Megatron-LM,8192,{batch},{tp},{pp},1,selective,{why},{measured}"
    )


def test_regret_and_order_of_a_group_by_hand(tmp_path: Path) -> None:
    # Measured 10, 11, 12, 14; predicted 11, 10, 13, 12: the second is chosen, 11 / 10 - 1 = 10 % too slow.
    # Ranks measured 1 2 3 4, predicted 2 1 4 3: Spearman = 1 - 6 (1 + 1 + 1 + 1) / (4 (16 - 1)) = 0.6.
    # Pairs that differ by more than 6 %: all six; out of order are 10/11 and 12/14: 4 of 6.
    group = cases(tmp_path, row("a", 1, 8, 10), row("b", 2, 8, 11), row("c", 4, 8, 12), row("d", 8, 8, 14))
    found = judged_planner(group, [11.0, 10.0, 13.0, 12.0])
    (one,) = found["by_group"]
    assert (one["runs"], one["plans"], one["chosen"]["id"], one["best"]["id"]) == (4, 4, "b", "a")
    assert one["regret"] == pytest.approx(0.10)
    assert one["spearman"] == pytest.approx(0.6)
    assert one["ordered_pairs"] == pytest.approx(4 / 6)
    assert (one["tied_with_best"], one["limit"], one["within_limit"]) == (0, 0.03, False)
    assert found["regret"] == pytest.approx(0.10)
    assert found["within_limit"] == 0


@pytest.mark.parametrize(("second", "limit", "within"), [(10.59, 0.06, True), (10.61, 0.03, False)])
def test_a_choice_may_miss_by_6_percent_only_where_plans_tie_within_noise(
    tmp_path: Path, second: float, limit: float, within: bool
) -> None:
    group = cases(tmp_path, row("a", 1, 8, 10), row("b", 2, 8, second), row("c", 4, 8, 12))
    (one,) = judged_planner(group, [2.0, 1.0, 3.0])["by_group"]
    assert (one["limit"], one["within_limit"]) == (limit, within)


def test_repeats_of_a_plan_count_once_and_equal_predictions_share_their_mean(tmp_path: Path) -> None:
    # Plan a three times: median 10.2. a and b are predicted equal: (10.2 + 11) / 2 = 10.6 over the best, 10.2.
    repeats = (row("a1", 1, 8, 10), row("a2", 1, 8, 10.2), row("a3", 1, 8, 13))
    group = cases(tmp_path, *repeats, row("b", 2, 8, 11), row("c", 4, 8, 12))
    (one,) = judged_planner(group, [1.0, 1.0, 1.0, 1.0, 2.0])["by_group"]
    assert (one["runs"], one["plans"]) == (5, 3)
    assert one["regret"] == pytest.approx(10.6 / 10.2 - 1)


def test_what_differs_in_more_than_the_plan_is_no_group(tmp_path: Path) -> None:
    plans = [row("a", 1, 8, 10), row("b", 2, 8, 11)]
    other = [
        row("c", 4, 8, 12, family="elsewhere"),
        row("d", 4, 8, 12, why="frozen weights"),
        row("e", 4, 8, 9, batch=8),
    ]
    found = judged_planner(cases(tmp_path, *plans, *other), [1.0, 2.0, 3.0, 4.0, 5.0])
    assert found["by_group"] == []
    assert (found["groups"], found["regret"], found["spearman"]) == (0, None, None)


def test_families_count_the_same(tmp_path: Path) -> None:
    # Family x: two groups with regret 20 % and 0; family y: one with 4 %: (10 + 4) / 2 = 7 %.
    rows, predicted = [], []
    for family, batch, times in (("x", 64, (12, 10, 14)), ("x", 128, (10, 12, 14)), ("y", 64, (10.4, 10, 14))):
        rows += [row(f"{family}{batch}{i}", 2**i, 8, t, family=family, batch=batch) for i, t in enumerate(times)]
        predicted += [1.0, 2.0, 3.0]
    found = judged_planner(cases(tmp_path, *rows), predicted)
    assert found["groups"] == 3
    assert found["regret"] == pytest.approx(0.07)
    assert found["worst_regret"] == pytest.approx(0.20)


def test_spearman_gives_equal_values_their_mean_rank() -> None:
    # Ranks 1 2.5 2.5 4 against 1 2 3 4: covariance 4.5, variances 4.5 and 5: 4.5 / sqrt(22.5).
    assert spearman(np.array([1.0, 2.0, 2.0, 3.0]), np.arange(4.0)) == pytest.approx(4.5 / 22.5**0.5)
    assert spearman(np.ones(3), np.arange(3.0)) is None
