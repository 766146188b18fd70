"""The verb operate without a cluster: exit codes, dry by default, nothing printed that a terminal obeys."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from clusterwright.cli import main
from clusterwright.operate.watch import Action, Condition, Store


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site whose Slurm cannot be reached."""
    monkeypatch.delenv("CLUSTERWRIGHT_SITE", raising=False)
    monkeypatch.setenv("CLUSTERWRIGHT_LABS", str(tmp_path / "none"))
    path = tmp_path / "site.yaml"
    path.write_text("version: 1\nname: x\nslurm: {conf: nowhere.conf}\nstate: state\n", "utf-8")
    return path


def _kept(site: Path) -> Store:
    store = Store(site.parent / "state")
    seen = Condition("prometheus", "n1", "xid", "xid 79 on GPU 0", 100.0, 101.0)
    store.save_conditions([seen])
    store.intend([Action("drain:n1:f", "drain", "n1", "xid", [seen.to_dict()], {"event": "n1"}, "done"),
                  Action("job:7:0", "requeue", "7", "xid", [], {}, "done", note="evil \x1b[31m")])  # fmt: skip
    return store


def test_without_a_site_it_is_bad_input(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operate", "run", "--once"]) == 2
    assert "OPERATE-NO-SITE" in capsys.readouterr().err


def test_a_dry_run_makes_no_state_and_says_that_slurm_is_not_seen(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["operate", "run", "--once", "--site", str(site)]) == 0
    assert "WATCH-BLIND" in capsys.readouterr().err
    assert not (site.parent / "state").exists()


def test_a_policy_that_is_wrong_is_bad_input_before_anything_is_done(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.parent / "own.yaml").write_text("version: 1\nbreaker: {nodes: x}\nfoo: 1\n", "utf-8")
    site.write_text(site.read_text("utf-8") + "policy: own.yaml\n", "utf-8")
    assert main(["operate", "run", "--act", "--once", "--site", str(site)]) == 2
    assert capsys.readouterr().err.count("WATCH-POLICY") == 2
    assert not (site.parent / "state").exists()


@pytest.mark.parametrize("words", [["--act", "--dry-run"], ["--listen", "127.0.0.1:0"]])
def test_options_that_contradict_each_other_are_refused(site: Path, words: list[str]) -> None:
    assert main(["operate", "run", "--once", "--site", str(site), *words]) == 2


def test_it_listens_beyond_loopback_only_with_tokens(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operate", "run", "--act", "--once", "--listen", "0.0.0.0:0", "--site", str(site)]) == 3
    assert "WATCH-TOKEN" in capsys.readouterr().err


def test_the_log_and_an_action_with_its_evidence(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _kept(site).close()
    assert main(["operate", "log", "--json", "--site", str(site)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "clusterwright/operate/1"
    assert [(a["id"], a["kind"], a["target"]) for a in document["actions"]] == [(1, "drain", "n1"), (2, "requeue", "7")]
    assert main(["operate", "log", "--site", str(site)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["operate", "show", "1", "--json", "--site", str(site)]) == 0
    assert json.loads(capsys.readouterr().out)["action"]["evidence"][0]["detail"] == "xid 79 on GPU 0"
    assert main(["operate", "show", "9", "--site", str(site)]) == 2


@pytest.mark.parametrize(("number", "said"), [("2", "cannot be undone"), ("9", "no action has that number")])
def test_what_cannot_be_undone_is_refused(
    site: Path, capsys: pytest.CaptureFixture[str], number: str, said: str
) -> None:
    _kept(site).close()
    assert main(["operate", "undo", number, "--site", str(site)]) == 2
    assert said in capsys.readouterr().err


def test_a_drain_by_hand_without_slurm_fails_and_stays_intended(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operate", "drain", "n1", "--site", str(site)]) == 3
    assert [a.state for a in Store(site.parent / "state").actions()] == ["intended"]


def test_a_token_is_shown_once_and_not_kept(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operate", "token", "operator", "--site", str(site)]) == 0
    token = capsys.readouterr().out.strip()
    path = site.parent / "state" / "tokens"
    assert len(token) == 43 and token not in path.read_text("utf-8") and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_resume_says_whether_the_breaker_was_open(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = _kept(site)
    assert main(["operate", "resume", "--site", str(site)]) == 0
    assert "was not open" in capsys.readouterr().out
    store.set_meta("breaker", {"why": "9 nodes would go", "at_s": 1.0})
    assert main(["operate", "resume", "--site", str(site)]) == 0
    assert "9 nodes would go" in capsys.readouterr().out and store.meta("breaker") is None
    store.close()
