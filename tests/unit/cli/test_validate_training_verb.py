"""``validate training`` and ``calibrate`` from the command line: documents, tables, files, exit codes."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clusterwright.cli import main, program
from clusterwright.domains.training import CALIBRATION, read_calibration
from clusterwright.validation import PUBLISHED


def run(*words: str) -> Result:
    return CliRunner().invoke(program, list(words))


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every ninth published run."""
    path = tmp_path_factory.mktemp("runs") / "some.csv"
    lines = PUBLISHED.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], *lines[1::9]]) + "\n", "utf-8")
    return path


def test_the_document_has_what_was_agreed(some: Path) -> None:
    result = run("validate", "training", "--data", str(some), "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    figures = {"rows", "run", "refused", "no_target", "mape", "median", "p90", "bias", "coverage80"}
    assert figures | {"predictions", "memory", "baselines", "by_family", "by_gpu", "by_kind"} <= set(document)
    for group in ("by_family", "by_gpu", "by_kind"):
        assert all(figures <= set(one) for one in document[group].values())
    assert {"rows", "mape", "false_misfits"} <= set(document["memory"])
    assert len(document["baselines"]) == 2
    assert len(document["predictions"]) == document["rows"]
    assert all({"value", "low", "high"} == set(p["step_time_s"]) for p in document["predictions"] if "step_time_s" in p)


def test_a_person_gets_a_table_and_a_spreadsheet_gets_rows(some: Path) -> None:
    table = run("validate", "training", "--data", str(some)).stdout
    assert "all families alike" in table
    assert "one efficiency" in table and "6ND at 40 %" in table
    for family in ("mosaicml", "megatron-bridge", "vtrain"):
        (line,) = [line for line in table.splitlines() if line.startswith(f"family {family} ")]
        assert line.count("%") == 7, "five figures of ours, two of the rules of thumb"
    assert "the plan ranked first against the best measured one" in table
    assert "inside intervals: 50% holds" in table
    rows = list(csv.DictReader(run("validate", "training", "--data", str(some), "-o", "csv").stdout.splitlines()))
    assert len(rows) == len(some.read_text("utf-8").splitlines()) - 1


def test_rules_of_thumb_stand_beside_every_family_and_families_won_are_counted(some: Path) -> None:
    document = json.loads(run("validate", "training", "--data", str(some), "--json").stdout)
    counted = {name: f for name, f in document["by_family"].items() if f["counted"]}
    won = dict.fromkeys(("law", *document["baselines"]), 0)
    for name, figures in counted.items():
        errors = {"law": figures["mape"]}
        for rule, by in document["baselines"].items():
            assert figures["baselines"][rule] == by["by_family"][name]
            errors[rule] = figures["baselines"][rule]["mape"]
        won[min(errors, key=errors.get)] += 1
    assert document["families_won"] == won
    assert sum(won.values()) == len(counted)


def test_the_coverage_of_80_percent_is_that_of_the_interval_and_wider_ones_hold_more(some: Path) -> None:
    document = json.loads(run("validate", "training", "--data", str(some), "--json").stdout)
    held = {one["nominal"]: one["coverage"] for one in document["interval"]}
    assert list(held) == [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    assert held[0.8] == pytest.approx(document["coverage80"])
    assert list(held.values()) == sorted(held.values())


def test_a_folder_gets_the_page_and_the_document(some: Path, tmp_path: Path) -> None:
    result = run("validate", "training", "--data", str(some), "--out", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0
    page = (tmp_path / "out" / "training.html").read_text("utf-8")
    assert json.loads((tmp_path / "out" / "training.json").read_text("utf-8")) == json.loads(result.stdout)
    assert page.count("<svg") == 4, "scatter plot and intervals, for a desk and for a telephone"
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page and "<script" not in page
    assert "megatron-bridge" in page and "6ND at 40 %" in page


def test_runs_that_made_the_constants_are_no_test_of_them(some: Path, tmp_path: Path) -> None:
    assert json.loads(run("validate", "training", "--data", str(some), "--json").stdout)["fitted"] == 0
    inside = json.loads(run("validate", "training", "--data", str(some), "--in-sample", "--json").stdout)
    assert inside["fitted"] == sum(p.get("counted", False) for p in inside["predictions"]) > 0
    assert inside["out_of_sample"] is False
    site, out = _site(tmp_path / "site.csv", 1.1), tmp_path / "mine.json"
    assert run("calibrate", "--data", str(site), "--out", str(out)).exit_code == 0
    table = run("validate", "training", "--data", str(site), "--calibration", str(out)).stdout
    assert "this is no test of the law" in table


def test_a_missing_file_is_bad_input() -> None:
    assert main(["validate", "training", "--data", "/nowhere/runs.csv"]) == 2


def _site(path: Path, slower: float) -> Path:
    """A made-up site: nineteen published dense runs, each slower by a factor."""
    rows = list(csv.DictReader(PUBLISHED.read_text("utf-8").splitlines()))
    runs = [r for r in rows if r["family"] == "mosaicml"][::6]
    for r in runs:
        r |= {"measured_step_s": str(slower * float(r["measured_step_s"])), "framework": "ours", "family": "site"}
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(runs[0]))
        writer.writeheader()
        writer.writerows(runs)
    return path


def test_a_sites_runs_move_the_constants_and_the_change_is_shown(tmp_path: Path) -> None:
    site, out = _site(tmp_path / "site.csv", 1.25), tmp_path / "mine.json"
    result = run("calibrate", "--data", str(site), "--out", str(out), "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["after"]["mape"] < 0.55 * document["before"]["mape"]
    assert document["left_out"]["mape"] < 0.6 * document["before"]["mape"]
    factor = next(c for c in document["changes"] if c["name"] == "factor of ours")
    assert 1.05 < factor["after"] <= 1.3
    assert json.loads(out.read_text("utf-8"))["factors"]["ours"] == factor["after"]
    assert "written" in result.stderr
    again = json.loads(run("validate", "training", "--data", str(site), "--calibration", str(out), "--json").stdout)
    assert again["mape"] < 0.6 * json.loads(run("validate", "training", "--data", str(site), "--json").stdout)["mape"]


def test_a_file_that_is_no_calibration_is_said(tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    for text in ("{}", "[1]", "no", '{"physics": {"magic": 1}}'):
        path.write_text(text)
        assert main(["validate", "training", "--calibration", str(path)]) == 2, text


@pytest.mark.slow
def test_without_data_the_shipped_constants_are_derived_anew_from_the_shipped_runs(tmp_path: Path) -> None:
    result = run("calibrate", "--out", str(tmp_path / "again.json"))
    assert result.exit_code == 0
    assert "332 runs of 10 families" in result.stdout
    again = read_calibration(tmp_path / "again.json")
    for name, value in asdict(again.physics).items():
        assert value == pytest.approx(getattr(CALIBRATION.physics, name), rel=0.01), name
    assert again.factors == pytest.approx(dict(CALIBRATION.factors), rel=0.005)
    assert again.spread == pytest.approx(dict(CALIBRATION.spread), abs=0.01)
    assert set(again.apart) == set(CALIBRATION.apart)
