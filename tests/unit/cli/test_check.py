"""The check verb: everything that is wrong, on stderr for people, on stdout for programs, exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from clusterwright.cli import main
from clusterwright.cli.check import command

GOOD = "version: 1\nname: small\nworkloads: [{name: a, train: {model: llama-3-8b}}]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD, "utf-8")
    (tmp_path / "bad.yaml").write_text(GOOD + "limits: {powr: 8 MW, racks: 0}\n", "utf-8")
    return tmp_path


def test_a_good_spec_is_ok_and_code_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.yaml"]) == 0
    assert capsys.readouterr() == ("good.yaml: ok\n", "")


def test_a_bad_spec_is_code_2_with_every_finding_on_stderr(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.yaml"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "bad.yaml:4:10 SPEC-UNKNOWN-KEY 'powr' means nothing in limits\n"
        "  hint: did you mean 'power'?\n"
        "bad.yaml:4:29 SPEC-RANGE '0' is zero\n"
        "  hint: write a whole number such as 48\n"
    )


def test_json_holds_everything_and_stderr_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.yaml", "bad.yaml", "--json"]) == 2
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert (document["schema"], document["ok"]) == ("clusterwright/check/1", False)
    assert document["files"] == [
        {"file": "good.yaml", "ok": True, "findings": 0},
        {"file": "bad.yaml", "ok": False, "findings": 2},
    ]
    assert document["findings"][0] == {
        "code": "SPEC-UNKNOWN-KEY",
        "severity": "error",
        "place": "bad.yaml:4:10",
        "message": "'powr' means nothing in limits",
        "hint": "did you mean 'power'?",
    }


def test_an_override_is_laid_over_every_spec(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.yaml", "--set", "limits.power=8"]) == 2
    assert "--set limits.power SPEC-UNIT 8 has no unit" in capsys.readouterr().err


def test_an_overlay_s_parts_are_known(here: Path) -> None:
    (here / "own.yaml").write_text("servers:\n  dgx-h100:\n    aliases: [our-box]\n", "utf-8")
    (here / "s.yaml").write_text(GOOD + "compute: {server: our-box}\n", "utf-8")
    assert main(["check", "s.yaml"]) == 2
    assert main(["check", "s.yaml", "--overlay", "own.yaml"]) == 0


def test_colour_is_there_only_when_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    assert "\x1b[" not in runner.invoke(command, ["bad.yaml"]).stderr
    assert "\x1b[" in runner.invoke(command, ["bad.yaml"], color=True).stderr
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in runner.invoke(command, ["bad.yaml"], color=True).stderr


def test_nothing_is_written(here: Path) -> None:
    before = sorted(here.iterdir())
    main(["check", "bad.yaml", "good.yaml"])
    assert sorted(here.iterdir()) == before


def test_no_spec_is_bad_usage(here: Path) -> None:
    assert main(["check"]) == 2


def test_a_spec_from_a_pipe_is_read_once(here: Path) -> None:
    words = [sys.executable, "-m", "clusterwright", "check", "/dev/stdin"]
    ended = subprocess.run(words, input=GOOD, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "/dev/stdin: ok\n")


def test_a_calibration_that_a_spec_names_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD + "calibration: mine.json\n")
    assert main(["check", str(path)]) == 2
    (tmp_path / "mine.json").write_text('{"physics": {}}')
    assert main(["check", str(path)]) == 0
