"""The catalog verb: lists, shows, compares, says what is stale, takes overlays."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterwright.catalog import KINDS
from clusterwright.cli import main


class Said:
    """What one command line said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]):
    def run(*words: str) -> Said:
        code = main(["catalog", *words])
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def overlay(tmp_path: Path) -> str:
    path = tmp_path / "ours.yaml"
    path.write_text(
        "date: 2026-11-30\nsources:\n  quote: {title: our contract}\n"
        "accelerators:\n  h100-sxm-80gb:\n    purchase_price: {v: 21000 USD, source: quote, status: checked}\n"
    )
    return str(path)


def test_list_without_a_kind_lists_every_kind_with_its_number_of_parts(say) -> None:
    kinds = {row["kind"]: row["parts"] for row in say("list", "--json").json["kinds"]}
    assert list(kinds) == list(KINDS)
    assert kinds["accelerators"] >= 28
    assert kinds["servers"] >= 24
    assert kinds["models"] >= 35


def test_list_gives_si_numbers_to_programs_and_units_to_people(say) -> None:
    rows = {row["name"]: row for row in say("list", "accelerators", "--json").json["parts"]}
    assert rows["h100-sxm-80gb"]["memory_bytes"] == 80e9
    assert rows["h100-sxm-80gb"]["tdp_w"] == 700
    line = next(line for line in say("list", "accelerator").out.splitlines() if line.startswith("h100-sxm-80gb"))
    assert "80 GB" in line
    assert "700 W" in line


def test_list_of_planning_values_says_the_unit_of_each(say) -> None:
    assert all(row["unit"] for row in say("list", "planning", "--json").json["parts"])


def test_every_form_says_the_same(say) -> None:
    as_json = say("list", "switches", "-o", "json").json
    assert yaml.safe_load(say("list", "switches", "-o", "yaml").out) == as_json
    rows = list(csv.DictReader(io.StringIO(say("list", "switches", "-o", "csv").out)))
    assert [row["name"] for row in rows] == [part["name"] for part in as_json["parts"]]


def test_an_unknown_kind_is_a_usage_error_with_the_nearest_name(say) -> None:
    said = say("list", "servrs")
    assert said.code == 2
    assert said.out == ""
    assert "did you mean 'servers'?" in said.err


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_every_kind_can_be_shown_in_every_form(say, kind: str) -> None:
    first = next(iter(say("list", kind, "--json").json["parts"]))["name"]
    document = say("show", first, "--kind", kind, "--json").json
    assert document["name"] == first
    assert document["values"]
    assert all(value["source"]["title"] and value["status"] for value in document["values"])
    for form in ("table", "yaml", "csv"):
        said = say("show", first, "--kind", kind, "-o", form)
        assert said.code == 0
        assert said.out


def test_show_finds_a_part_by_an_alias_and_tells_source_and_date_of_each_value(say) -> None:
    document = say("show", "H100", "--json").json
    assert (document["kind"], document["name"]) == ("accelerators", "h100-sxm-80gb")
    memory = next(v for v in document["values"] if v["key"] == "memory_bytes")
    assert memory["value"] == 80e9
    assert memory["unit"] == "byte"
    assert memory["date"]
    assert document["rentals"] == sorted(document["rentals"], key=lambda offer: offer["usd_per_gpu_h"])


def test_show_counts_the_parameters_of_a_model_from_its_dimensions(say) -> None:
    # 80 layers x (attention 2 x 8192^2 + 2 x 8192 x 1024, MLP 3 x 8192 x 28672, norms 2 x 8192)
    # + embedding and head 2 x 128256 x 8192 + last norm 8192 = 70,553,706,496
    layer = 2 * 8192**2 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192
    assert say("show", "llama-3-70b", "--json").json["computed"]["parameters"] == (
        80 * layer + 2 * 128256 * 8192 + 8192
    )


def test_show_of_nothing_known_is_code_2_with_near_names(say) -> None:
    said = say("show", "h100-smx-80gb")
    assert said.code == 2
    assert "CATALOG-UNKNOWN-PART" in said.err
    assert "h100-sxm-80gb" in said.err


def test_an_overlay_replaces_a_price_and_says_so(say, overlay: str) -> None:
    document = say("show", "h100-sxm-80gb", "--overlay", overlay, "--json").json
    price = next(v for v in document["values"] if v["key"] == "purchase_price_usd")
    assert (price["value"], price["source"]["title"]) == (21000, "our contract")


def test_compare_lays_parts_of_one_kind_side_by_side(say) -> None:
    document = say("compare", "h100-sxm-80gb", "mi300x", "--json").json
    assert document["parts"] == ["h100-sxm-80gb", "mi300x"]
    memory = next(row for row in document["fields"] if row["field"] == "memory_bytes")
    assert (memory["h100-sxm-80gb"], memory["mi300x"], memory["unit"]) == (80e9, 192e9, "byte")


@pytest.mark.parametrize(
    ("names", "reason"), [(["mi300x"], "at least two"), (["mi300x", "dgx-h100"], "not of one kind")]
)
def test_compare_refuses_one_part_and_parts_of_two_kinds(say, names: list[str], reason: str) -> None:
    said = say("compare", *names)
    assert said.code == 2
    assert reason in said.err


def test_stale_lists_prices_older_than_the_days_asked_oldest_first(say) -> None:
    document = say("stale", "--days", "365", "--json").json
    ages = [row["age_days"] for row in document["stale"] if row["age_days"] is not None]
    assert ages == sorted(ages, reverse=True)
    assert min(ages) > 365
    assert len(say("stale", "--days", "365", "--all", "--json").json["stale"]) > len(ages)


def test_nothing_is_older_than_a_thousand_years(say) -> None:
    undated = [row for row in say("stale", "--days", "365000", "--json").json["stale"] if row["age_days"] is not None]
    assert undated == []
