"""Older grammars are lifted by a chain of migrations; what no chain reaches is refused."""

from typing import Any

import pytest

from clusterwright.spec.migrate import MIGRATIONS, VERSION, migrate, supported


def power_becomes_meter_power(tree: dict[str, Any]) -> dict[str, Any]:
    return {("meter_power" if key == "power" else key): value for key, value in tree.items()}


def racks_are_doubled(tree: dict[str, Any]) -> dict[str, Any]:
    return {**tree, "racks": 2 * tree["racks"]}


CHAIN = {1: power_becomes_meter_power, 2: racks_are_doubled}


def test_the_present_chain_is_empty_and_reads_the_present_version() -> None:
    assert (dict(MIGRATIONS), supported()) == ({}, [VERSION])
    assert migrate({"version": VERSION, "name": "x"}) == {"version": VERSION, "name": "x"}


def test_each_step_of_a_chain_is_taken_in_order() -> None:
    old = {"version": 1, "power": "8 MW", "racks": 3}
    assert migrate(old, CHAIN, current=3) == {"version": 3, "meter_power": "8 MW", "racks": 6}
    assert old == {"version": 1, "power": "8 MW", "racks": 3}


def test_a_spec_that_is_half_way_takes_the_rest() -> None:
    assert migrate({"version": 2, "racks": 3}, CHAIN, current=3) == {"version": 3, "racks": 6}


def test_the_versions_that_can_be_read_are_those_with_a_chain() -> None:
    assert supported(CHAIN, current=3) == [1, 2, 3]
    assert supported({1: racks_are_doubled}, current=3) == [3]  # nothing leads from 2 to 3


def test_a_version_without_a_chain_is_refused() -> None:
    with pytest.raises(KeyError):
        migrate({"version": 0}, CHAIN, current=3)
