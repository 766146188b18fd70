"""Measures over a history: one small history reckoned by hand, and a slow twin second by second."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.traces import METRICS, Capacity, JobTable, Measures, Samples, definition, judged, measure
from clusterwright.traces.occupancy import node_use, queue

S = 1_000_000


def small(**more: object) -> JobTable:
    """Two nodes of 8 GPUs, 100 seconds.

    ::

        job 1  8 GPUs on n1      ready 0   runs 0-50    COMPLETED
        job 2  16 GPUs on n1-2   ready 10  runs 50-90   NODE_FAIL, again ready 92, runs from 95
        job 3  2 GPUs on n2      ready 20  runs 20-40   FAILED
    """
    columns: dict[str, object] = {
        "account": ["a", "b", "b", "a"],
        "state": ["COMPLETED", "NODE_FAIL", "RUNNING", "FAILED"],
        "submit_us": [0, 10 * S, 92 * S, 20 * S],
        "eligible_us": [0, 10 * S, 92 * S, 20 * S],
        "start_us": [0, 50 * S, 95 * S, 20 * S],
        "end_us": [50 * S, 90 * S, -1, 40 * S],
        "nodes": [1, 2, 2, 1],
        "gpus": [8, 16, 16, 2],
        "node_list": ["n1", "n[1-2]", "n[1-2]", "n2"],
    }
    return JobTable.of([1, 2, 2, 3], **(columns | more))


CAPACITY = Capacity.steady(2, 8)


def measured(**more: object) -> Measures:
    return measure(small(**more), CAPACITY, 0, 100 * S)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # held: 8 x 50 + 16 x 40 + 16 x 5 + 2 x 20 = 1160 of 1600 GPU-seconds
        ("cluster_utilisation", 1160 / 1600),
        # n1 is held 0-50, 50-90, 95-100; n2 20-40, 50-90, 95-100
        ("node_utilisation", (95 + 65) / 200),
        # free: 440; on a node with a job: 6 GPUs of n2 for 20 s
        ("fragmentation", 120 / 440),
        ("throughput", 36.0),  # one in 100 s
        ("failure_rate", 2 / 3),
        ("infrastructure_failure_rate", 1 / 3),
        ("bounded_slowdown", 1.0),  # jobs 1 and 3 did not wait
        ("goodput", 1.0),  # of the jobs that ended; job 2 runs
        ("work_kept", (400 + 80 + 40) / 1160),  # nobody counted what job 2 lost: all 40 s
    ],
)
def test_the_small_history_measures_as_reckoned_by_hand(name: str, value: float) -> None:
    assert measured().get(name).value == pytest.approx(value, rel=1e-12)


def test_waits_are_quantiles_of_the_attempts_that_started() -> None:
    found = measured()  # waits 0, 0, 3, 40 s
    assert found.get("queue_time", quantile="0.5").value == pytest.approx(1.5)
    assert found.get("queue_time", quantile="0.95").value == pytest.approx(3 + 0.85 * 37)
    assert found.get("queue_time", tenant="b", quantile="0.5").value == pytest.approx(21.5)
    assert found.get("queue_time", tenant="a", quantile="0.95").value == 0
    assert found.get("queue_time_by_size", size="larger", quantile="0.5").value == pytest.approx(21.5)
    assert found.get("queue_time_by_size", size="part", quantile="0.5").value == 0


def test_the_bottleneck_is_what_was_short_while_jobs_waited() -> None:
    # jobs wait 10-50 and 92-95; held then: 8 x 10 + 10 x 20 + 8 x 10 = 360 GPU-seconds
    found = measured()
    assert found.scores["gpus"] == pytest.approx(360 / 1600)
    assert found.scores["scheduling"] == pytest.approx((43 * 16 - 360) / 1600)
    assert found.bottleneck == "gpus"
    nobody_waits = measure(small().take(np.array([0])), CAPACITY, 0, 100 * S)
    assert nobody_waits.bottleneck == "none"


def test_lost_work_is_what_was_counted_else_half_a_checkpoint_interval() -> None:
    counted = measured(lost_us=[-1, 10 * S, -1, -1])
    assert counted.get("work_kept").value == pytest.approx((1160 - 160) / 1160)
    assert counted.get("work_kept").why == ""
    guessed = measure(small(), CAPACITY, 0, 100 * S, checkpoint_us=20 * S)
    assert guessed.get("work_kept").value == pytest.approx((1160 - 160) / 1160)
    assert "half a checkpoint interval" in guessed.get("work_kept").why


def test_goodput_counts_waits_and_all_attempts_by_gpus() -> None:
    # job 2 now ends at 99: 4 s kept of 89 s since it could start
    ended = measured(end_us=[50 * S, 90 * S, 99 * S, 40 * S], state=["COMPLETED", "NODE_FAIL", "COMPLETED", "FAILED"])
    assert ended.get("goodput").value == pytest.approx((400 + 40 + 16 * 4) / (400 + 40 + 16 * 89))
    # its slowdown is 89 / max(4, 10) = 8.9; the others have 1
    assert ended.get("bounded_slowdown").value == pytest.approx((8.9 + 1 + 1) / 3)


def test_gpu_utilisation_is_weighted_by_what_was_held_and_says_how_much_was_measured() -> None:
    one = measured(utilisation=[0.5, math.nan, math.nan, 1.0]).get("gpu_utilisation")
    assert one.value == pytest.approx((400 * 0.5 + 40 * 1.0) / 440)
    assert "38%" in one.why
    assert one.verdict == "missed"


def test_samples_count_where_they_are_there() -> None:
    samples = Samples(
        np.array([0, 50 * S]),
        {
            "gpu_utilisation": np.array([0.9, 0.6]),
            "gpus_allocated": np.array([8.0, 16.0]),
            "mfu": np.array([0.4, np.nan]),
            "network_utilisation": np.array([0.9, 0.9]),
        },
    )
    found = measure(small(), CAPACITY, 0, 100 * S, samples=samples, reference_mfu=0.5)
    assert found.get("gpu_utilisation").value == pytest.approx((0.9 * 8 + 0.6 * 16) / 24)
    assert found.get("gpu_utilisation").verdict == "met"
    assert found.get("scaling_efficiency").value == pytest.approx(0.8)
    assert found.bottleneck == "network"


def test_what_cannot_be_known_is_unknown_with_a_reason_and_never_zero() -> None:
    found = measured(node_list=["", "", "", ""])
    for name in ("gpu_utilisation", "node_utilisation", "fragmentation", "wasted", "stranded", "scaling_efficiency"):
        assert found.get(name).value is None
        assert found.get(name).verdict == "unknown"
        assert found.get(name).why


def test_stranded_is_what_no_job_could_get() -> None:
    capacity = Capacity.steps(2, 8, np.array([0, 60 * S, 70 * S]), np.array([16.0, 8.0, 16.0]))
    assert measure(small(), capacity, 0, 100 * S).get("stranded").value == pytest.approx(80 / 1600)


def test_verdicts_are_those_of_the_targets() -> None:
    assert judged("gpu_utilisation", 0.95).verdict == "missed"  # above the band of 70 to 90 %
    assert judged("gpu_utilisation", 0.8).verdict == "met"
    assert judged("failure_rate", 0.05).verdict == "met"
    assert judged("failure_rate", 0.051).verdict == "missed"
    assert judged("throughput", 5.0).verdict == "no target"
    assert judged("mfu", math.nan).verdict == "unknown"


def test_targets_are_those_that_the_product_is_held_to() -> None:
    held = {one.name: (one.low, one.high) for one in METRICS if one.source.startswith("targets of")}
    assert held == {
        "gpu_utilisation": (0.7, 0.9),
        "node_utilisation": (0.8, None),
        "scaling_efficiency": (0.8, None),
        "failure_rate": (None, 0.05),
    }
    assert definition("goodput").direction == "higher"


def test_a_history_without_jobs_measures_nothing_and_fails_nothing() -> None:
    found = measure(JobTable.empty(), CAPACITY, 0, 100 * S)
    assert found.get("cluster_utilisation").value == 0
    assert found.get("failure_rate").verdict == "unknown"
    assert found.jobs == 0
    with pytest.raises(ValueError, match="empty"):
        measure(JobTable.empty(), CAPACITY, 5, 5)


END = 24
JOB = st.tuples(st.integers(0, END), st.integers(0, 8), st.integers(1, 12), st.sets(st.integers(0, 3), min_size=1))


@settings(max_examples=150, deadline=None)
@given(st.lists(JOB, max_size=7), st.integers(0, 5), st.integers(6, END + 4))
def test_sweeps_equal_a_count_second_by_second(
    jobs: list[tuple[int, int, int, set[int]]], begin: int, end: int
) -> None:
    """Jobs may overlap and exceed the nodes: the twin counts whatever is there."""
    ready = np.array([one[0] for one in jobs], dtype=np.int64)
    start = ready + np.array([one[1] for one in jobs], dtype=np.int64)
    stop = start + np.array([one[2] for one in jobs], dtype=np.int64)
    nodes = [sorted(one[3]) for one in jobs]
    table = JobTable.of(
        range(len(jobs)), submit_us=ready * S, eligible_us=ready * S, start_us=start * S, end_us=stop * S,
        gpus=[2 * len(one) for one in nodes], node_list=[",".join(f"n{i}" for i in one) for one in nodes],
    )  # fmt: skip
    capacity = Capacity.steady(4, 8)
    held = free = gpu_held = 0.0
    waiting = taken = unused = 0.0
    for second in range(begin, end):
        on = [0, 0, 0, 0]
        for i, places in enumerate(nodes):
            if start[i] <= second < stop[i]:
                for place in places:
                    on[place] += 2
        held += sum(used > 0 for used in on)
        free += sum(max(8 - used, 0) for used in on if used)
        gpu_held += sum(on)
        if any(ready[i] <= second < start[i] for i in range(len(jobs))):
            waiting, taken, unused = waiting + 1, taken + sum(on), unused + max(32 - sum(on), 0)
    use = node_use(table, capacity, begin * S, end * S)
    assert use is not None
    assert (use.held / S, use.free / S, use.gpu_held / S) == pytest.approx((held, free, gpu_held))
    seen = queue(table, capacity, begin * S, end * S)
    whole = end - begin
    assert (seen.waiting, seen.taken, seen.free) == pytest.approx(
        (waiting / whole, taken / whole / 32, unused / whole / 32)
    )
