"""The choice: limits, who wins, why the others lost, what would have to give."""

import pytest

from clusterwright.design import design
from clusterwright.design.candidates import enumerate_candidates
from clusterwright.design.choose import considered_rows
from clusterwright.design.limits import limits_of
from clusterwright.design.relax import relaxations
from clusterwright.design.weighing import weigh_all

H100 = "compute: {accelerators: [h100-sxm-80gb], gpus: 64}\n"


@pytest.fixture(scope="session")
def weigh(ask, catalog):
    def made(rest: str, deadline: str = "30 d"):
        spec = ask(rest, deadline)
        return weigh_all(enumerate_candidates(spec, catalog), spec, catalog)

    return made


def test_the_cheapest_that_was_asked_for_wins(weigh) -> None:
    weighing = weigh(H100)
    asked = [i for i, ok in enumerate(weighing.asked & weighing.feasible) if ok]
    assert weighing.cost[weighing.winner] == pytest.approx(min(weighing.cost[i] for i in asked), rel=1e-4)
    assert weighing.asked[weighing.winner]


def test_the_objective_decides(weigh) -> None:
    free = "compute: {accelerators: [h100-sxm-80gb, b200-sxm-180gb]}\n"
    for word, values in (("time", "finish"), ("cost", "cost")):
        weighing = weigh(free + f"objective: {word}")
        figures = getattr(weighing, values)
        best = min(figures[i] for i, ok in enumerate(weighing.asked & weighing.feasible) if ok)
        assert figures[weighing.winner] == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(
    ("limit", "path", "key"),
    [
        ("limits: {budget: 1M USD}\nfinance: {procurement: [buy]}", "cost.committed_usd", "limits.budget"),
        ("limits: {power: 50 kW}\nfinance: {procurement: [buy]}", "facility.meter_power_w", "limits.power"),
        ("limits: {racks: 1}\nfinance: {procurement: [buy]}", "facility.racks", "limits.racks"),
        ("limits: {rack_power: 5 kW}\nfinance: {procurement: [buy]}", "facility.rack_power_w", "limits.rack_power"),
        ("limits: {floor: 3 m2}\nfinance: {procurement: [buy]}", "facility.floor_m2", "limits.floor"),
        (
            "limits: {rack_weight: 100 kg}\nfinance: {procurement: [buy]}",
            "facility.rack_weight_kg",
            "limits.rack_weight",
        ),
    ],
)
def test_each_limit_alone_can_bind_and_its_relaxation_names_it(ask, catalog, limit: str, path: str, key: str) -> None:
    cluster = design(ask(H100 + limit), catalog)
    assert cluster.verdict == "infeasible"
    binding = cluster.answers["constraints"][0]
    assert (binding["path"], binding["binding"], binding["holds"]) == (path, True, False)
    assert any(list(row["change"]) == [key] for row in cluster.answers["relaxations"])


def test_a_relaxation_loosens_to_what_is_needed_and_holds_as_printed(weigh, ask, catalog) -> None:
    weighing = weigh(H100, "1 d")
    (row,) = [r for r in relaxations(weighing) if list(r["change"]) == ["workloads[0].train.deadline"]]
    assert row["change"]["workloads[0].train.deadline"] == pytest.approx(1.006 * row["time_to_train_s"])
    assert row["time_to_train_s"] > 86400
    printed = row["text"].split(" -> ")[1].split(" (")[0]
    assert design(ask(H100, printed), catalog).verdict == "feasible"


def test_relaxations_come_with_the_fewest_changes_first(weigh) -> None:
    steps = [row["steps"] for row in relaxations(weigh(H100, "1 d"))]
    assert steps == sorted(steps)


def test_rented_clusters_need_not_hold_the_limits_of_our_halls(ask, catalog) -> None:
    cluster = design(ask(H100 + "limits: {power: 50 kW}\nfinance: {procurement: [rent]}"), catalog)
    assert cluster.verdict == "feasible"


def test_no_deadline_means_the_operating_years(ask, catalog) -> None:
    spec = ask(H100, "")
    cluster = design(spec, catalog)
    named = [row for row in cluster.answers["constraints"] if "operating years" in row["name"]]
    assert len(named) == 1
    assert named[0]["limit"] == pytest.approx(spec.finance.years * 365.25 * 86400)


def test_one_row_is_ticked_and_every_row_says_why(weigh) -> None:
    rows = considered_rows(weigh(H100))
    assert [row["chosen"] for row in rows].count(True) == 1
    assert rows[0]["chosen"]
    assert all(row["why"] for row in rows)
    assert any(row["why"].startswith("not asked for: needs compute.accelerators") for row in rows)


def test_an_infeasible_choice_is_not_ticked(weigh) -> None:
    rows = considered_rows(weigh(H100, "1 h"))
    assert not any(row["chosen"] for row in rows)
    assert rows[0]["closest"]
    assert "breaks deadline of run" in rows[0]["why"]


def test_a_stricter_limit_never_makes_more_options_feasible(weigh) -> None:
    loose, strict = (weigh(H100 + f"limits: {{power: {power}}}").feasible.sum() for power in ("200 kW", "100 kW"))
    assert strict <= loose


def test_limits_of_sites_are_limits(ask, catalog) -> None:
    spec = ask(H100 + "sites: [{name: a, power: 80 kW, racks: 3}]")
    weighing = weigh_all(enumerate_candidates(spec, catalog), spec, catalog)
    assert {"sites[0].meter_power_w", "sites[0].racks"} <= {limit.path for limit in limits_of(spec, weighing.frame)}


def test_nothing_to_choose_from_is_an_input_error(ask, catalog) -> None:
    from clusterwright.errors import InputError

    with pytest.raises(InputError, match="DESIGN-NO-OPTION"):
        design(ask("compute: {accelerators: [a100-sxm-80gb]}", "30 d, precision: nvfp4"), catalog)
