"""The verbs account and status as a person calls them."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright import cli

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "unit" / "traces" / "data" / "sacct-22.05-steps.txt"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of a cluster of 32 GPUs with three tenants."""
    folder = tmp_path_factory.mktemp("design") / "run"
    tenants = "tenants=[{name: research, quota: 16}, {name: product, quota: 12}, {name: students, quota: 4}]"
    words = ("design", str(ROOT / "examples" / "a100-64.yaml"), "--set", tenants, "--out", str(folder), "-q")
    assert cli.main(words) == 0
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_SITE", raising=False)
    monkeypatch.setenv("CLUSTERWRIGHT_LABS", str(tmp_path / "no-labs"))

    def call(*words: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def bill(design: Path) -> tuple[str | Path, ...]:
    return ("account", "--jobs", RECORDED, "--design", design, "--from", "2026-12-01", "--to", "2026-12-02")


def test_a_day_sums_to_the_cent_in_every_form(run: Run, design: Path) -> None:
    code, out, err = run(*bill(design), "--json")
    assert code == 0
    found = json.loads(out)
    cents = round(found["cost"] * 100)
    assert cents > 0
    assert sum(round(one["cost"] * 100) for one in found["teams"]) == cents
    assert sum(round(one["cost"] * 100) for one in found["lines"]) == cents
    assert {one["team"] for one in found["teams"]} == {"research", "product", "students"}
    assert "TRACE-LINE" in err
    _, text, _ = run(*bill(design), "-o", "csv")
    assert sum(round(float(row["cost"]) * 100) for row in csv.DictReader(io.StringIO(text))) == cents
    _, text, _ = run(*bill(design), "-o", "focus", "--idle", "apart", "--subsidy", "students=50%")
    assert sum(round(float(row["ListCost"]) * 100) for row in csv.DictReader(io.StringIO(text))) == cents
    _, text, _ = run(*bill(design))
    assert f"USD {cents / 100:,.2f}, all rows together" in text
    assert "quotas" not in err


def test_our_own_csv_gives_the_same_bill_as_sacct(run: Run, design: Path, tmp_path: Path) -> None:
    from clusterwright.traces import csv_lines, sacct_file

    (tmp_path / "jobs.csv").write_text("".join(csv_lines(sacct_file(RECORDED).jobs)), "utf-8")
    _, one, _ = run(*bill(design), "--json")
    _, other, _ = run("account", "--jobs", "jobs.csv", *bill(design)[3:], "--json")
    assert one == other


def test_without_a_period_a_file_is_accounted_from_its_first_start_to_its_last_end(run: Run, design: Path) -> None:
    _, out, _ = run("account", "--jobs", RECORDED, "--design", design, "--json")
    found = json.loads(out)
    assert found["begin_s"] == 1796120767  # the first start of the recording


def test_a_job_has_its_report_and_its_hostile_name_prints_no_control_character(run: Run, design: Path) -> None:
    code, out, _ = run("account", "--jobs", RECORDED, "--design", design, "--job", "15")
    assert code == 0
    assert "NODE_FAIL" in out
    assert "42.9%" in out  # 30 s kept of 70 s from 10:27:47 to 10:28:57
    code, out, err = run("account", "--jobs", RECORDED, "--design", design, "--job", "5")
    assert code == 0
    assert "?[31mred $(id) `id`" in out
    assert CONTROL.search(out.replace("\n", "")) is None
    assert CONTROL.search(err.replace("\n", "")) is None


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("account",), 2, "OPERATE-NO-SITE"),
        (("account", "--jobs", "nowhere.txt", "--design", "DESIGN"), 2, "TRACE-NOT-READABLE"),
        (("account", "--jobs", RECORDED), 2, "ACCOUNT-NO-DESIGN"),
        (("account", "--jobs", RECORDED, "--design", "nowhere"), 2, "CLUSTER-NOT-FOUND"),
        (("account", "--jobs", RECORDED, "--design", "DESIGN", "--from", "soon"), 2, "ACCOUNT-PERIOD"),
        (("account", "--jobs", RECORDED, "--design", "DESIGN", "--basis", "use"), 2, "ACCOUNT-NOT-MEASURED"),
        (("account", "--jobs", RECORDED, "--design", "DESIGN", "--job", "99"), 2, "ACCOUNT-NO-JOB"),
        (("account", "--jobs", RECORDED, "--design", "DESIGN", "--subsidy", "x"), 2, "CLI-USAGE"),
        (("account", "--jobs", RECORDED, "--design", "DESIGN", "--subsidy", "x=2"), 2, "CLI-USAGE"),
        (("account", "--jobs", RECORDED, "--design", "DESIGN", "--price", "nobody=2"), 2, "ACCOUNT-TEAM"),
        (("account", "--jobs", RECORDED, "--site", "s.yaml"), 2, "CLI-USAGE"),
        (("status",), 2, "OPERATE-NO-SITE"),
        (("status", "--site", "nowhere.yaml"), 2, "OPERATE-SITE"),
    ],
)
def test_what_is_wrong_is_said_with_its_code(
    run: Run, design: Path, words: tuple[str | Path, ...], code: int, says: str
) -> None:
    found, out, err = run(*(design if word == "DESIGN" else word for word in words))
    assert (found, says in err) == (code, True), err
    assert out == ""


def test_a_cluster_that_nobody_answers_for_ends_with_3(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clusterwright.operate import Slurm

    def refuse(self: Slurm, *words: str, **_: object) -> str:
        raise self._failed(words, "no answer within 20 s", "scontrol ping")

    monkeypatch.setattr(Slurm, "run", refuse)
    (tmp_path / "site.yaml").write_text("version: 1\nname: t\nprometheus: http://127.0.0.1:9\n", "utf-8")
    code, out, err = run("status", "--site", "site.yaml")
    assert (code, out) == (3, "")
    assert "OPERATE-SLURM" in err
    assert "OPERATE-PROMETHEUS" in err
