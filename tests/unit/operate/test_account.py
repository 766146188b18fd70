"""Accounting: an hour reckoned by hand, a month of a designed cluster that sums, and sums whatever the history is."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster
from clusterwright.design import design
from clusterwright.errors import InputError
from clusterwright.operate import FOCUS_COLUMNS, Bill, Costs, account, costs_of, focus_rows, job_report, period
from clusterwright.operate.account_costs import Line
from clusterwright.operate.account_split import split
from clusterwright.spec import load_spec
from clusterwright.traces import JobTable

HOUR = 3600 * 1_000_000
SPEC = Path(__file__).parents[3] / "examples" / "finetune-8.yaml"
FOCUS = Path(__file__).parent / "data" / "focus_v1_2_columns.csv"


def costs(**more: object) -> Costs:
    """An hour of 10 GPUs: 100.00 for servers, 10.00 for energy, 20 kWh at 500 g."""
    made = Costs(
        "t", "USD", 0, HOUR, (Line("servers", "compute", 10000), Line("energy", "energy", 1000)),
        10.0, 20 * 3.6e6, 500.0, 1.25, 1000.0, {"a": 5, "b": 5}, "us-east",
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def jobs(**more: object) -> JobTable:
    """Team a holds 6 GPUs for the hour, b 4 GPUs for half of it."""
    columns: dict[str, object] = {
        "account": ["a", "b"],
        "gpus": [6, 4],
        "start_us": [0, 0],
        "end_us": [HOUR, HOUR // 2],
    }
    return JobTable.of([1, 2], submit_us=[0, 0], **(columns | more))


def cents(bill: Bill) -> dict[str, tuple[int, int, int]]:
    return {one.name: (one.direct_cents, one.idle_cents, one.overhead_cents) for one in bill.teams}


# --- by hand: 8 of 10 GPU-hours are held, 2 are idle; 110.00 is 11.00 a GPU-hour ---


def test_the_team_whose_quota_was_not_used_pays_for_idle_capacity() -> None:
    assert cents(account(jobs(), costs())) == {"a": (6600, 0, 0), "b": (2200, 2200, 0)}


def test_idle_capacity_can_be_paid_by_all_in_proportion() -> None:
    assert cents(account(jobs(), costs(), idle_rule="held")) == {"a": (6600, 1650, 0), "b": (2200, 550, 0)}


def test_idle_capacity_can_stand_apart() -> None:
    bill = account(jobs(), costs(), idle_rule="apart")
    assert cents(bill) == {"a": (6600, 0, 0), "b": (2200, 0, 0), "(idle)": (0, 2200, 0)}
    assert bill.idle_share == pytest.approx(0.2)
    assert (bill.idle_cents, bill.cents) == (2200, 11000)


def test_jobs_of_the_operation_are_overhead_and_spread_by_what_teams_hold() -> None:
    held = jobs(account=["a", "root"])
    assert cents(account(held, costs(), idle_rule="apart")) == {
        "a": (6600, 0, 2200),
        "b": (0, 0, 0),
        "(idle)": (0, 2200, 0),
        "(overhead)": (0, 0, 0),
    }


def test_use_is_charged_by_gpu_time_that_was_busy() -> None:
    # busy: a 6 x 0.5 = 3, b 2 x 1 = 2; 5 of 10 GPU-hours were not used, quotas left: a 2, b 3
    bill = account(jobs(utilisation=[0.5, 1.0]), costs(), basis="use")
    assert cents(bill) == {"a": (3300, 2200, 0), "b": (2200, 3300, 0)}
    assert [one.used_gpu_hours for one in bill.teams] == [3.0, 2.0]


def test_energy_is_charged_by_joules_where_every_job_was_measured() -> None:
    # at the meter: a 8 kWh x 1.25 = 10, b 4 kWh x 1.25 = 5, idle 5 of 20
    bill = account(jobs(energy_j=[8 * 3.6e6, 4 * 3.6e6]), costs(), idle_rule="apart")
    assert {one.name: one.parts["energy"].cents for one in bill.teams} == {"a": 500, "b": 250, "(idle)": 250}
    assert {one.name: one.parts["servers"].cents for one in bill.teams} == {"a": 6000, "b": 2000, "(idle)": 2000}
    assert {one.name: one.carbon_g for one in bill.teams} == {"a": 5000, "b": 2500, "(idle)": 2500}
    assert sum(one.energy_j for one in bill.teams) == pytest.approx(20 * 3.6e6)


def test_busy_by_energy_is_the_part_of_a_busy_servers_power() -> None:
    # 1,000 W a GPU: a draws 3 kW on 6 GPUs, half; b 4 kW on 4, all
    bill = account(jobs(energy_j=[3 * 3.6e6, 2 * 3.6e6]), costs(), basis="use")
    assert [one.used_gpu_hours for one in bill.teams] == pytest.approx([3.0, 2.0])


def test_jobs_over_the_edge_of_the_period_count_with_their_part_in_it() -> None:
    over = jobs(start_us=[-HOUR + 2 * HOUR, 0], end_us=[3 * HOUR, HOUR // 2])
    bill = account(over, costs(begin_us=HOUR, end_us=2 * HOUR), idle_rule="apart")
    assert {one.name: one.gpu_hours for one in bill.teams if one.jobs} == {"a": 6.0}


def test_a_subsidy_is_taken_off_and_a_price_of_ones_own_makes_one() -> None:
    bill = account(jobs(), costs(), subsidies={"b": 0.25}, prices={"a": 5.0})
    assert {one.name: (one.cost_cents, one.subsidy_cents, one.charged_cents) for one in bill.teams} == {
        "a": (6600, 3600, 3000),  # 6 GPU-hours at 5.00
        "b": (4400, 1100, 3300),
    }


def test_use_that_nobody_measured_is_refused_and_half_measured_is_said() -> None:
    with pytest.raises(InputError) as caught:
        account(jobs(), costs(), basis="use")
    assert caught.value.findings[0].code == "ACCOUNT-NOT-MEASURED"
    bill = account(jobs(utilisation=[0.5, math.nan]), costs(), basis="use")
    assert [one.used_gpu_hours for one in bill.teams] == [3.0, 1.0]
    assert [one.code for one in bill.findings] == ["ACCOUNT-PARTLY-MEASURED"]
    assert "2.0 of 8.0 GPU-hours" in bill.findings[0].message


def test_strange_teams_and_too_many_gpus_are_said() -> None:
    bill = account(jobs(account=["a", "x\x1b[31m"], gpus=[12, 4]), costs())
    assert {one.code for one in bill.findings} == {"ACCOUNT-NO-QUOTA", "ACCOUNT-MORE-THAN-THERE"}
    assert bill.idle_cents == 0
    with pytest.raises(InputError) as caught:
        account(jobs(), costs(), subsidies={"nobody": 1.0})
    assert caught.value.findings[0].code == "ACCOUNT-TEAM"


def test_a_cluster_without_jobs_is_paid_by_quotas_or_by_nobody() -> None:
    assert cents(account(JobTable.empty(), costs())) == {"a": (0, 5500, 0), "b": (0, 5500, 0)}
    assert account(JobTable.empty(), costs(quotas={})).cents == 11000


# --- sums ---


WEIGHTS = st.lists(st.floats(0, 1e12), min_size=1, max_size=12)


@given(st.integers(-(10**12), 10**12), WEIGHTS)
def test_parts_sum_to_the_amount_and_each_is_within_one_of_its_due(amount: int, weights: Sequence[float]) -> None:
    parts = split(amount, weights)
    assert sum(parts) == amount
    whole = sum(map(Fraction, weights))
    if whole:
        assert all(abs(p - amount * Fraction(w) / whole) < 1 for p, w in zip(parts, weights, strict=True))


def test_a_hundred_cents_among_three_are_34_33_33() -> None:
    assert split(100, [1, 1, 1]) == [34, 33, 33]
    assert split(-100, [1, 1, 1]) == [-34, -33, -33]
    assert split(7, [0, 0]) == [4, 3]
    with pytest.raises(ValueError, match="finite"):
        split(7, [math.inf])


RUN = st.tuples(
    st.sampled_from(["a", "b", "c", "root", ""]), st.integers(0, 9), st.integers(0, HOUR), st.integers(1, HOUR),
    st.one_of(st.just(math.nan), st.floats(0, 1)), st.one_of(st.just(math.nan), st.floats(0, 1e8)),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(RUN, max_size=8), st.lists(st.integers(-10**6, 10**9), min_size=1, max_size=5),
    st.sampled_from(["allocation", "use"]), st.sampled_from(["quota", "held", "apart"]), st.floats(0, 1),
)  # fmt: skip
def test_rows_columns_and_focus_sum_to_the_cost_of_the_cluster(
    runs: list[tuple], amounts: list[int], basis: str, rule: str, subsidy: float
) -> None:
    layers = ["compute", "energy", "network", "staff", "storage"]
    given_ = costs(lines=tuple(Line(f"line {i}", layers[i], one) for i, one in enumerate(amounts)))
    table = JobTable.of(
        range(len(runs)), account=[r[0] for r in runs], gpus=[r[1] for r in runs], start_us=[r[2] for r in runs],
        end_us=[r[2] + r[3] for r in runs], utilisation=[r[4] for r in runs], energy_j=[r[5] for r in runs],
    )  # fmt: skip
    try:
        bill = account(table, given_, basis=basis, idle_rule=rule, subsidies={"a": subsidy})  # type: ignore[arg-type]
    except InputError as refused:
        assert basis == "use"
        assert refused.findings[0].code == "ACCOUNT-NOT-MEASURED"
        return
    assert bill.cents == given_.cents == sum(amounts)
    for line in given_.lines:
        assert sum(team.parts[line.name].cents for team in bill.teams if line.name in team.parts) == line.cents
    assert sum(team.charged_cents + team.subsidy_cents for team in bill.teams) == given_.cents
    assert sum(team.carbon_g for team in bill.teams) == round(given_.carbon_g)
    rows = list(focus_rows(bill))
    assert sum(round(Fraction(row["ListCost"]) * 100) for row in rows) == given_.cents
    billed = sum(round(Fraction(row["BilledCost"]) * 100) for row in rows)
    assert billed == sum(team.charged_cents for team in bill.teams)


# --- a month of a designed cluster ---


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    catalog = load_catalog()
    tenants = "tenants=[{name: research, quota: 6}, {name: product, quota: 2}]"
    return design(load_spec(SPEC, (tenants,), catalog), catalog)


def month(cluster: Cluster) -> tuple[JobTable, Costs]:
    begin, end = period("2026-11", "", datetime(2026, 12, 3, tzinfo=UTC))
    rng = np.random.default_rng(7)
    start = np.sort(rng.integers(begin - 10 * HOUR, end, 3000))
    table = JobTable.of(
        np.arange(3000), submit_us=start, start_us=start, end_us=start + rng.integers(1, 2 * HOUR, 3000),
        gpus=rng.choice([0, 0.5, 1], 3000), account=rng.choice(["research", "product", "root"], 3000).tolist(),
    )  # fmt: skip
    return table, costs_of(cluster, begin, end)


def test_thirty_days_cost_their_part_of_the_total_cost_of_ownership(cluster: Cluster) -> None:
    _, thirty = month(cluster)
    # straight line over the years: 30 days of 4 x 365.25
    due = cluster.value("cost.tco_usd") * 30 / (cluster.value("cost.years") * 365.25) * 100
    assert thirty.cents == pytest.approx(due, abs=2)  # charges and credits are rounded apart
    assert {line.layer for line in thirty.lines} >= {"compute", "storage", "staff"}


@pytest.mark.parametrize("rule", ["quota", "held", "apart"])
def test_a_month_sums_to_the_cent_by_team_and_by_line(cluster: Cluster, rule: str) -> None:
    table, thirty = month(cluster)
    bill = account(table, thirty, idle_rule=rule)  # type: ignore[arg-type]
    assert bill.cents == thirty.cents
    rows = list(bill.rows())
    assert sum(round(row["cost"] * 100) for row in rows) == thirty.cents
    assert sum(round(line["cost"] * 100) for line in bill.to_dict()["lines"]) == thirty.cents
    json.dumps(bill.to_dict(), allow_nan=False)


def test_focus_has_every_mandatory_column_and_no_null_where_none_may_be(cluster: Cluster) -> None:
    """The columns as the specification publishes them: FOCUS 1.2, feature level and nulls."""
    with FOCUS.open(encoding="utf-8") as stream:
        published = {row["column"]: row for row in csv.DictReader(stream)}
    mandatory = {name for name, row in published.items() if row["feature_level"] == "Mandatory"}
    assert len(mandatory) == 20
    assert mandatory <= set(FOCUS_COLUMNS) <= set(published)
    table, thirty = month(cluster)
    rows = list(focus_rows(account(table, thirty, subsidies={"product": 0.5})))
    assert {row["ChargeCategory"] for row in rows} == {"Usage", "Credit"}
    for row in rows:
        assert set(row) == set(FOCUS_COLUMNS)
        empty = {name for name, value in row.items() if value == ""}
        assert not [name for name in empty if published[name]["allows_nulls"] == "False"]
        if row["ChargeCategory"] == "Usage":
            assert float(row["PricingQuantity"]) >= 0
            assert row["PricingUnit"]
        json.loads(row["Tags"])
        datetime.strptime(row["ChargePeriodStart"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    out = io.StringIO()
    csv.DictWriter(out, FOCUS_COLUMNS).writerows(rows)


# --- one job ---


def test_a_job_that_lost_its_node_has_its_goodput_lost_work_and_cost() -> None:
    # waits 60 s, runs 600 s of which 90 are lost, waits 40 s, runs 300 s on 4 GPUs
    table = JobTable.of(
        [5, 5, 6], submit_us=[0, 660_000000, 0], start_us=[60_000000, 700_000000, 0],
        end_us=[660_000000, 1000_000000, 9], state=["NODE_FAIL", "COMPLETED", "COMPLETED"], gpus=[4, 4, 1],
        lost_us=[90_000000, -1, -1], utilisation=[0.5, 0.8, math.nan], name=["a\x1b[31m", "a\x1b[31m", ""],
    )  # fmt: skip
    found = job_report(table, "5", costs())
    assert (found.wait_s, found.run_s, found.lost_s) == (100, 900, 90)
    assert found.goodput == pytest.approx(810 / 1000)
    assert found.lost_known
    assert found.gpu_hours == pytest.approx(1.0)
    assert found.cost == pytest.approx(11.0)
    assert found.utilisation == pytest.approx((0.5 * 600 + 0.8 * 300) / 900)
    assert found.energy_j == pytest.approx(2 * 3.6e6)  # 20 kWh an hour over 10 GPUs
    assert found.carbon_g == pytest.approx(1000)
    assert not found.energy_measured
    assert found.name == "a?[31m"
    json.dumps(found.to_dict(), allow_nan=False)


def test_energy_of_a_job_is_measured_energy_at_the_meter() -> None:
    table = JobTable.of([5], submit_us=[0], start_us=[0], end_us=[HOUR], gpus=[1], energy_j=[3.6e6])
    found = job_report(table, "5", costs())
    assert found.energy_measured
    assert found.energy_j == pytest.approx(1.25 * 3.6e6)


@pytest.mark.parametrize("job", ["99", "x", "5_1", "", "5; rm", "9" * 30])
def test_a_job_that_is_not_there_is_said(job: str) -> None:
    with pytest.raises(InputError) as caught:
        job_report(JobTable.of([5], start_us=[0], end_us=[9]), job, costs())
    assert caught.value.findings[0].code == "ACCOUNT-NO-JOB"


# --- periods ---


def test_periods_are_read_as_people_write_them() -> None:
    now = datetime(2026, 12, 3, 12, tzinfo=UTC)

    def days(*asked: str) -> tuple[datetime, ...]:
        return tuple(datetime.fromtimestamp(us / 1e6, UTC) for us in period(*asked, now))

    assert days("2026-11", "") == (datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))
    assert days("", "") == (datetime(2026, 12, 1, tzinfo=UTC), now)
    assert days("-7d", "now") == (datetime(2026, 11, 26, 12, tzinfo=UTC), now)
    assert days("2026-11-01T06:00+02:00", "2026-11-02")[0] == datetime(2026, 11, 1, 4, tzinfo=UTC)
    for asked in (("2026-13", ""), ("soon", ""), ("2026-12", "2026-11"), ("2026-11-01", "2026-11-01")):
        with pytest.raises(InputError):
            period(*asked, now)
