"""The doctor verb: says what is missing, and ends with 3 only when something needed is."""

import json
import os
from importlib import metadata
from pathlib import Path

import pytest

from clusterwright.cli import doctor, main


def test_a_good_installation_is_code_0_and_every_check_has_a_state(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    names = [check["name"] for check in document["checks"]]
    assert [n for n in ("python", "numpy", "pydantic", "folder", "terminal", "catalogue", "browser") if n in names] == [
        "python",
        "numpy",
        "pydantic",
        "folder",
        "terminal",
        "catalogue",
        "browser",
    ]
    assert all(check["state"] for check in document["checks"])


def test_a_package_that_is_missing_or_old_is_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy>=99.1", "no-such-package>=1", 'x>=1; extra == "a"'])
    assert main(["doctor"]) == 3
    said = capsys.readouterr()
    assert "numpy CLI-PACKAGE-VERSION version" in said.err
    assert "99.1 or newer is needed" in said.err
    assert "no-such-package CLI-PACKAGE-VERSION is not installed" in said.err
    assert "x CLI" not in said.err


def test_a_version_is_compared_by_numbers_not_by_letters() -> None:
    # 1.10 is newer than 1.9 though "1.10" < "1.9" as text
    assert doctor._numbers("1.10") > doctor._numbers("1.9")
    assert doctor._numbers("1.9.0.post1") == (1, 9, 0)
    assert doctor._numbers("2.0rc1") == (2, 0)


def test_a_python_out_of_range_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PYTHONS", ((3, 99), (3, 99)))
    check = doctor._python()
    assert check.failed
    assert check.finding is not None
    assert check.finding.code == "CLI-PYTHON-VERSION"


def test_a_folder_that_cannot_be_written_is_a_warning_with_a_way_out(tmp_path: Path) -> None:
    check = doctor._folder(tmp_path / "absent")
    assert check.finding is not None
    assert (check.finding.code, check.failed) == ("CLI-FOLDER-READ-ONLY", False)
    assert "--out" in check.finding.hint


def test_a_damaged_catalogue_is_an_error_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise FileNotFoundError("accelerators.yaml")

    monkeypatch.setattr("clusterwright.catalog.load_catalog", broken)
    assert main(["doctor"]) == 3
    assert "CLI-CATALOGUE-BROKEN" in capsys.readouterr().err


def test_without_a_browser_all_is_well_but_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    check = doctor._browser()
    assert check.finding is not None
    assert (check.finding.code, check.failed) == ("CLI-TOOL-MISSING", False)
