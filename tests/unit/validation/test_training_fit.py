"""The fit recovers what runs were made with, leaves alone what they say nothing about, and does not depend on order."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from clusterwright.catalog import load_catalog
from clusterwright.domains import training
from clusterwright.domains.training import PRIOR, Calibration
from clusterwright.validation.training_calibrate import PUBLISHED, gathered
from clusterwright.validation.training_cases import Case, Cases, cases_of
from clusterwright.validation.training_fit import Fit, fit, predicted_s
from clusterwright.validation.training_interval import half_width, spread_of, student
from clusterwright.validation.training_rows import Published, read_published
from clusterwright.validation.training_scores import errors_of, macro

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def published() -> Cases:
    cases, _ = gathered(read_published(PUBLISHED), CATALOG)
    return cases_of([c for c in cases if c.row.counted], training.measured_parts(CATALOG))


def _made(cases: Cases, step_s: np.ndarray) -> Cases:
    """The same cases with other measured times."""

    def with_time(case: Case, seconds: float) -> Case:
        row = Published(case.row.line, {**case.row.cells, "measured_step_s": repr(float(seconds))})
        return replace(case, row=row)

    return Cases([with_time(c, s) for c, s in zip(cases.cases, step_s, strict=True)], cases.runs)


def test_constants_that_the_runs_were_made_with_are_found_again(published: Cases) -> None:
    truth = replace(PRIOR, matmul=0.82, attention=0.47, memory=0.66)
    made = _made(published, published.step_s(truth))
    found = fit(made, np.ones(len(made), dtype=bool))
    # A slower product and a shallower tile look alike, so single constants come back less sharply than times.
    assert predicted_s(made, found) == pytest.approx(published.step_s(truth), rel=0.03)
    assert found.physics.matmul == pytest.approx(0.82, rel=0.05)
    assert found.physics.attention == pytest.approx(0.47, rel=0.05)
    assert found.physics.memory == pytest.approx(0.66, rel=0.05)


def test_constants_that_no_run_speaks_of_stay_where_they_were(published: Cases) -> None:
    dense = np.array([c.row.kind == "dense" and c.chip.name.startswith("a100") for c in published.cases])
    found = fit(published, dense).physics
    for name in ("grouped", "all_to_all", "ep_exposed", "matmul_8bit", "matmul_4bit", "natural", "power"):
        assert getattr(found, name) == pytest.approx(getattr(PRIOR, name), rel=1e-6), name


def test_a_slow_framework_gets_a_factor_and_the_hardware_does_not(published: Cases) -> None:
    slow = published.column("framework") == "torchtitan"
    made = _made(published, published.step_s(PRIOR) * np.where(slow, 1.10, 1.0))
    found = fit(made, np.ones(len(made), dtype=bool))
    # Held near one with a spread of 5 %: a third of the 10 % at least is found, and no more than all of it.
    assert 1.033 < found.factors["torchtitan"] <= 1.10
    assert all(0.97 < f < 1.03 for name, f in found.factors.items() if name != "torchtitan")
    assert found.physics.matmul == pytest.approx(PRIOR.matmul, rel=0.02)


def test_one_run_gone_wrong_hardly_moves_the_constants(published: Cases) -> None:
    truth = published.step_s(PRIOR)
    wrong = truth.copy()
    wrong[0] *= 10.0
    found = fit(_made(published, wrong), np.ones(len(published), dtype=bool)).physics
    assert found.matmul == pytest.approx(PRIOR.matmul, rel=0.01)


def test_an_unseen_framework_takes_the_mean_factor(published: Cases) -> None:
    some = published.take(np.flatnonzero(published.column("framework") == "torchtitan"))
    without = predicted_s(some, Fit(PRIOR, {"another": 1.5}, 0, {}))
    assert without == pytest.approx(some.step_s(PRIOR))


def test_cases_side_by_side_are_timed_as_one_by_one(published: Cases) -> None:
    every = published.step_s(PRIOR)
    for i in range(0, len(published), 37):
        alone = cases_of([published.cases[i]], training.measured_parts(CATALOG)).step_s(PRIOR)
        assert alone[0] == pytest.approx(every[i], rel=1e-12)


def test_what_was_assumed_widens_the_interval(published: Cases) -> None:
    sure = next(c for c in published.cases if not c.assumed and not c.shape.expert)
    known = Calibration(
        PRIOR,
        factors={sure.row.text("framework"): 1.0},
        spread={"dense": 0.12, "moe": 0.2, "software": 0.09, "gpu": 0.06},
        apart={},
        facts={"gpus": [sure.chip.name], "releases": ["26.06"]},
    )
    assert half_width(sure, known) == pytest.approx(0.12)
    unsure = replace(sure, assumed=["micro-batch taken as 1", "recomputation taken as none"])
    assert half_width(unsure, known) == pytest.approx((0.12**2 + 2 * 0.05**2) ** 0.5)
    assert half_width(sure, replace(known, factors={})) == pytest.approx((0.12**2 + 0.09**2) ** 0.5)
    elsewhere = replace(known, facts={"gpus": ["another"], "releases": ["26.06"]})
    assert half_width(sure, elsewhere) == pytest.approx((0.12**2 + 0.06**2) ** 0.5)
    newer = replace(sure, row=replace(sure.row, cells={**sure.row.cells, "release": "27.01"}))
    assert half_width(newer, known) == pytest.approx((0.12**2 + 0.09**2) ** 0.5)


def test_the_interval_is_that_of_one_more_family() -> None:
    # Four families, one run each, off by 10 % either way: variance 0.01 between, one quarter more for the next family,
    # and 1.638 (Student's t, three degrees of freedom, by tables) in place of 1.282.
    off = np.expm1(np.array([0.1, -0.1, 0.1, -0.1]))
    found = spread_of(list("abcd"), ["dense"] * 4, off, np.zeros(4))["dense"]
    assert found < 1.638 * (0.01 * 1.25) ** 0.5  # which would hold all four: cut to the width that does not
    assert found <= 0.1
    # One of five far off: 80 % of the families are inside, so nothing is cut (t of four degrees of freedom: 1.533).
    far = np.expm1(np.array([0.0, 0.0, 0.0, 0.0, 0.5]))
    whole = spread_of(list("abcde"), ["dense"] * 5, far, np.zeros(5))["dense"]
    assert whole == pytest.approx(1.533 * (0.05 * 1.2) ** 0.5, rel=0.01)
    # What the runs leave open by themselves is taken off.
    less = spread_of(list("abcde"), ["dense"] * 5, far, np.full(5, 0.2))["dense"]
    assert less == pytest.approx((whole**2 - 0.2**2) ** 0.5, rel=0.01)


@pytest.mark.parametrize(("freedom", "table"), [(4, 1.533), (9, 1.383), (11, 1.363), (30, 1.310)])
def test_student_s_t_is_that_of_the_tables(freedom: int, table: float) -> None:
    assert student(freedom) == pytest.approx(table, rel=0.003)


def test_errors_are_averaged_family_by_family() -> None:
    # Family a: 10 % twice; family b: 30 % once: mean of 10 % and 30 %.
    found = macro(["a", "a", "b"], np.array([0.1, -0.1, 0.3]))
    assert found["mape"] == pytest.approx(0.2)
    assert found["bias"] == pytest.approx(0.15)
    assert errors_of(np.zeros(0))["mape"] is None


def test_every_constant_is_fitted_and_positive() -> None:
    from clusterwright.validation.training_fit import SURENESS

    assert set(SURENESS) == set(asdict(PRIOR))
    assert all(v > 0 for v in asdict(training.CALIBRATION.physics).values())
