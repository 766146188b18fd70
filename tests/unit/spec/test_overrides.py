"""``--set path=value`` lies over the file, before anything is understood, and has a place of its own."""

import pytest

from clusterwright.spec import read_spec
from tests.unit.spec.test_load import BY_EXAMPLE
from tests.unit.spec.writing import GOOD, only, spec_with, wrong, wrong_with


def test_a_value_is_laid_over_the_file_and_placed_at_the_option() -> None:
    spec = spec_with("limits: {power: 10 MW, racks: 4}\n", "limits.power=8 MW")
    assert (spec.limits.power_w, spec.limits.racks) == (8e6, 4)
    assert str(spec.place("limits.power")) == "--set limits.power"
    assert str(spec.place("limits.racks")) == "spec.yaml:6:31"
    assert spec.given("limits.power")


def test_a_section_that_is_not_there_is_made() -> None:
    spec = spec_with("", "sites[0].power=8 MW", "sites[0].region=uk", "workloads[0].train.plan.tp=8")
    assert (spec.sites[0].power_w, spec.sites[0].region) == (8e6, "uk")
    assert spec.workloads[0].train is not None
    assert spec.workloads[0].train.plan is not None
    assert spec.workloads[0].train.plan.tp == 8


def test_a_section_that_is_auto_is_made() -> None:
    assert spec_with("limits: auto\nsites:\n", "limits.racks=3", "sites[0].racks=2").limits.racks == 3


def test_a_list_grows_by_one() -> None:
    spec = spec_with("sites: [{name: a}]\n", "sites[1].name=b", "sites[2]={name: c, racks: 2}")
    assert [s.name for s in spec.sites] == ["a", "b", "c"]


def test_values_are_yaml() -> None:
    spec = spec_with("", "compute.accelerators=[h100-sxm-80gb, a100-sxm-80gb]", "objective={cost: 1, time: 1}")
    assert spec.compute.accelerators == ["h100-sxm-80gb", "a100-sxm-80gb"]
    assert spec.objective == {"cost": 0.5, "time": 0.5}


def test_text_that_yaml_would_not_take_stands_as_it_is() -> None:
    more = 'claims: [{path: "training[0].mfu", value: 40 %}]\n'
    assert spec_with(more, "claims[0].value=>= 50 %").claims[0].low == 0.5


def test_later_ones_win_and_a_wish_can_be_taken_back() -> None:
    assert spec_with("", "limits.racks=3", "limits.racks=5").limits.racks == 5
    spec = spec_with("limits: {racks: 9}\n", "limits.racks=auto")
    assert spec.limits.racks is None
    assert not spec.given("limits.racks")


def test_the_text_of_a_spec_with_overrides_reads_as_the_same_spec() -> None:
    overrides = ["limits.racks=5", "limits.power=8 MW", "claims[0].value=>= 50 %", "workloads[0].name='010'"]
    spec = read_spec(BY_EXAMPLE.replace("facility.meter_power_w", '"training[0].mfu"'), overrides=overrides)
    assert spec.text.startswith("# with --set limits.racks=5\n# with --set limits.power=8 MW\n")
    again = read_spec(spec.text)
    assert again.model_dump() == spec.model_dump()
    assert (again.claims[0].low, again.workloads[0].name, again.tree) == (0.5, "010", spec.tree)


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("limits.power", "--set", "SPEC-SET"),
        ("=5", "--set", "SPEC-SET"),
        ("", "--set", "SPEC-SET"),
        ("limits..power=5", "--set", "SPEC-SET"),
        ("[0].x=5", "--set", "SPEC-SET"),
        ("name.inner=5", "--set name.inner", "SPEC-SET"),
        ("workloads[9].name=x", "--set workloads[9].name", "SPEC-SET"),
        ("workloads.name=x", "--set workloads.name", "SPEC-SET"),
        ("limits.power=", "--set limits.power", "SPEC-EMPTY"),
        ("limits.power=[1", "--set limits.power", "SPEC-SYNTAX"),
        ("limits.powr=8 MW", "--set limits.powr", "SPEC-UNKNOWN-KEY"),
        ("limit.power=8 MW", "--set limit.power", "SPEC-UNKNOWN-KEY"),
        ("limits.power=8", "--set limits.power", "SPEC-UNIT"),
        ("compute.accelerators=[h100-sxm-80g]", "--set compute.accelerators", "SPEC-UNKNOWN-PART"),
        ("version=7", "--set version", "SPEC-VERSION"),
    ],
)
def test_what_is_wrong_with_an_override_is_placed_at_it(text: str, place: str, code: str) -> None:
    found = only(wrong(GOOD, text))
    assert (found[0], found[1]) == (code, place)
    assert found[3]


def test_an_override_can_mend_what_is_wrong_in_the_file() -> None:
    assert wrong_with("limits: {power: 8}\n", "limits.power=8 MW") == ()
