"""Where a gap can sit: measurements in any form, causes by the law itself, shares that add up."""

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.design import Estimated, attribute, estimate, measured_step_s
from clusterwright.errors import InputError

PLAN = {"tp": "4", "pp": "4", "cp": "1", "dp": "64", "micro_batch": "1"}
ASKED = {"model": "llama-3-70b", "gpu": "h100", "gpus": "1024", "global_batch": "512", **PLAN}


@pytest.fixture(scope="module")
def run() -> Estimated:
    return estimate({**ASKED, "recompute": "selective"}, load_catalog())


@pytest.mark.parametrize("text", ["4.9s", "4900 ms", "4.9 s"])
def test_a_time_is_a_time(run: Estimated, text: str) -> None:
    assert measured_step_s(text, run) == pytest.approx(4.9)


def test_a_share_of_the_peak_and_a_rate_become_a_step_time(run: Estimated) -> None:
    # a step holds 512 x 8,192 = 4,194,304 tokens; at 1M tokens/s it takes 4.19 s
    assert measured_step_s("1M tokens/s", run) == pytest.approx(4.194304)
    half = 100 * run.value("mfu") / 2
    assert measured_step_s(f"{half:.4f} % MFU", run) == pytest.approx(2 * run.value("step_time_s"), rel=1e-4)
    flops = f"{run.value('tflops_per_gpu') / 2:.3f} TFLOPS"
    assert measured_step_s(flops, run) == pytest.approx(2 * run.value("step_time_s"), rel=1e-4)


@pytest.mark.parametrize("text", ["4.9", "fast", "0 s", "0 % MFU", "-3s"])
def test_what_is_no_measurement_is_refused(run: Estimated, text: str) -> None:
    with pytest.raises(InputError) as caught:
        measured_step_s(text, run)
    assert [f.code for f in caught.value.findings] == ["ESTIMATE-MEASURED"]


def test_a_run_that_recomputed_everything_is_found_out(run: Estimated) -> None:
    slow = estimate({**ASKED, "recompute": "full"}, load_catalog())
    assert slow.plan["interleave"] == run.plan["interleave"]
    found = attribute(run, slow.value("step_time_s"))
    (recomputed,) = [cause for cause in found.causes if cause.slower == "everything is recomputed"]
    assert recomputed.most_s == pytest.approx(slow.value("step_time_s") - run.value("step_time_s"))
    # it alone is the gap, so it is likelier than every range that is not; another switch of the same size may tie
    assert all(recomputed.share > cause.share for cause in found.causes if cause.most_s < 0.95 * recomputed.most_s)


def test_traffic_that_is_not_hidden_adds_what_the_law_hid(run: Estimated) -> None:
    found = {cause.part: cause for cause in attribute(run, 2 * run.value("step_time_s")).causes if cause.part}
    wire = run.value("traffic.dp_bytes") / run.value("traffic.dp_bytes_s")
    assert found["dp_s"].most_s == pytest.approx(wire - run.value("step.dp_s"))


def test_shares_add_up_and_no_cause_has_more_than_a_larger_range(run: Estimated) -> None:
    for factor in (0.8, 1.2, 1.6):
        found = attribute(run, factor * run.value("step_time_s"))
        assert sum(cause.share for cause in found.causes) == pytest.approx(1.0)
        assert all(cause.toward(found.gap_s) > 0 for cause in found.causes)
        ranges = [cause for cause in found.causes if not cause.switch]
        reach = [cause.toward(found.gap_s) for cause in ranges]
        assert reach == sorted(reach, reverse=True)


def test_a_measurement_as_predicted_needs_no_explanation(run: Estimated) -> None:
    found = attribute(run, run.value("step_time_s"))
    assert (found.causes, found.inside, found.unexplained_s) == ([], True, 0.0)


def test_a_gap_beyond_every_cause_leaves_something_over(run: Estimated) -> None:
    found = attribute(run, 20 * run.value("step_time_s"))
    assert not found.inside
    assert found.unexplained_s == pytest.approx(found.gap_s - sum(c.most_s for c in found.causes))
    assert found.unexplained_s > 10 * run.value("step_time_s")


def test_the_document_says_each_cause_with_a_way_to_tell(run: Estimated) -> None:
    document = attribute(run, 1.3 * run.value("step_time_s")).to_dict()
    assert document["gap_fraction"] == pytest.approx(0.3)
    assert all(cause["check"] and cause["source"] for cause in document["causes"])
    assert all(0 < cause["covers_fraction"] <= 1 for cause in document["causes"])


def test_uneven_experts_are_a_cause_of_mixtures_only(run: Estimated) -> None:
    mixture = estimate({"model": "mixtral-8x7b", "gpu": "h100", "gpus": "64"}, load_catalog())
    names = [cause.slower for cause in attribute(mixture, 1.2 * mixture.value("step_time_s")).causes]
    assert "experts are loaded unevenly" in names
    assert "experts are loaded unevenly" not in [c.slower for c in attribute(run, 10.0).causes]
