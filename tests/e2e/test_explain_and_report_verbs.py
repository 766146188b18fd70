"""The verbs explain and report on a run folder: exit codes, streams, files whole or not at all."""

import json
from pathlib import Path

import pytest

from clusterwright.cli import main
from clusterwright.cluster import dumps, edited_files, save, write_run
from tests.unit.report.synthetic_cluster import worked_example


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "llm-70b"
    write_run(folder, {"cluster.json": dumps(worked_example()).encode()})
    return folder


def test_explain_opens_a_figure_on_stdout(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run), "facility.meter_power_w"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("facility.meter_power_w  Power at the meter\n  1.74 MW  1.56–1.87 MW (80 % interval)")
    assert "it_power_w = facility.it_power_w" in out
    assert "\x1b[" not in out
    assert err == ""


def test_explain_as_json_holds_units_and_inputs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run), "facility.meter_power_w", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "clusterwright/explain/1"
    (figure,) = document["figures"]
    assert figure["unit"] == "W"
    assert figure["inputs"]["pue"][0]["value"] == 1.18


def test_explain_lists_what_a_prefix_names_and_everything_without_a_path(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(run), "fabric"]) == 0
    some = capsys.readouterr().out.splitlines()
    assert main(["explain", str(run)]) == 0
    assert len(capsys.readouterr().out.splitlines()) > len(some) > 5


def test_a_wrong_path_is_bad_input_with_a_suggestion(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run), "facility.meter_powr_w"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "REPORT-UNKNOWN-PATH" in err
    assert "did you mean facility.meter_power_w" in err


@pytest.mark.parametrize("code", ["REPORT-UNKNOWN-PATH", "report-unknown-path"])
def test_explain_tells_what_a_code_means(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    assert "Nothing of that name" in capsys.readouterr().out


def test_explain_tells_what_a_law_says(capsys: pytest.CaptureFixture[str]) -> None:
    from clusterwright.cli.doors import all_laws

    name = next(iter(all_laws()))
    assert main(["explain", name]) == 0
    assert all_laws()[name][1].formula in capsys.readouterr().out


@pytest.mark.parametrize("word", ["DESIGN-INFEASIBEL", "runs/nothing", "zzz"])
def test_an_unknown_word_is_bad_input(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 2
    assert "hint:" in capsys.readouterr().err


def test_report_writes_into_the_run_folder_and_enters_the_manifest(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out.strip() == str(run / "report.html")
    assert (run / "report.html").read_text().startswith("<!doctype html>")
    assert edited_files(run) == []


@pytest.mark.parametrize(("name", "start"), [("r.md", "# llm-70b"), ("r.json", "{"), ("r.html", "<!doctype html>")])
def test_the_ending_of_the_file_says_the_form(run: Path, tmp_path: Path, name: str, start: str) -> None:
    assert main(["report", str(run / "cluster.json"), "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_report_to_stdout(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--format", "json", "--out", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "clusterwright/report/1"


def test_a_report_that_cannot_be_written_leaves_nothing(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for target in (tmp_path, tmp_path / "missing" / "r.html"):
        assert main(["report", str(run), "--out", str(target)]) == 3
        assert "CLI-WORLD" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_design_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["report", str(tmp_path)], ["explain", str(tmp_path), "x"], ["report", str(tmp_path / "no")]):
        assert main(words) == 2
        assert "CLUSTER-NOT-FOUND" in capsys.readouterr().err


def test_a_plain_folder_with_a_cluster_is_enough(tmp_path: Path) -> None:
    save(worked_example(), tmp_path)
    assert main(["report", str(tmp_path), "--format", "md"]) == 0
    assert (tmp_path / "report.md").exists()
