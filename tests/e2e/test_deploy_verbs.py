"""The verbs render, verify, plan and apply: exit codes, streams, bad input by name, nothing half-written."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clusterwright.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = [sys.executable, "-m", "clusterwright"]
SOME = ("--target", "storage", "--target", "security")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small design under Slurm."""
    folder = tmp_path_factory.mktemp("designs") / "a100-64"
    assert main(["design", str(EXAMPLES / "a100-64.yaml"), "--out", str(folder), "--json"]) == 0
    return folder


@pytest.fixture
def bundle(run: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    assert main(["render", str(run), "--out", str(folder), *SOME, "--json"]) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return out, err


def test_render_writes_a_manifest_with_the_sha256_of_each_file(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import hashlib

    capsys.readouterr()
    assert main(["render", str(run), "--out", str(tmp_path / "b"), *SOME, "--json"]) == 0
    document = json.loads(said(capsys)[0])
    assert [row["target"] for row in document["targets"]] == ["storage", "security"]
    manifest = json.loads((tmp_path / "b/manifest.json").read_text())
    assert document["files"] == len(manifest["files"])
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "b" / name).read_bytes()).hexdigest() == digest
    assert os.access(tmp_path / "b/storage/quotas.sh", os.X_OK)


def test_equal_designs_give_equal_bytes(run: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["render", str(run), "--out", str(tmp_path / name), *SOME, "--json"]) == 0
    files = {p.relative_to(tmp_path / "one"): p.read_bytes() for p in (tmp_path / "one").rglob("*") if p.is_file()}
    assert files == {
        p.relative_to(tmp_path / "two"): p.read_bytes() for p in (tmp_path / "two").rglob("*") if p.is_file()
    }


def test_a_spec_is_designed_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = str(EXAMPLES / "a100-64.yaml")
    assert main(["render", spec, "--out", str(tmp_path / "b"), "--target", "security", "--json"]) == 0
    assert json.loads(said(capsys)[0])["name"] == "a100-64"


# --- bad input ---


def test_an_infeasible_design_is_not_rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(EXAMPLES / "infeasible-15t.yaml"), "--out", str(tmp_path / "b")]) == 2
    assert "DEPLOY-INFEASIBLE" in said(capsys)[1]
    assert not (tmp_path / "b").exists()


def test_unknown_targets_and_releases_are_said_at_once(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--target", "slrm", "--release", "slurm=19.05", "--release", "linux=6"]
    assert main(["render", str(run), "--out", str(tmp_path / "b"), *words]) == 2
    err = said(capsys)[1]
    assert "DEPLOY-TARGET" in err
    assert "did you mean 'slurm'?" in err
    assert "no configuration is written for slurm 19.05" in err
    assert "'linux' has no releases" in err
    assert not (tmp_path / "b").exists()


def test_a_release_without_a_version_is_bad_usage(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(run), "--release", "slurm"]) == 2
    assert "NAME=VERSION" in said(capsys)[1]


def test_a_missing_design_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(tmp_path / "nothing"), "--out", str(tmp_path / "b")]) == 2
    assert "does not exist" in said(capsys)[1]


def hostile(run: Path, folder: Path, edit: Any) -> Path:
    """A design whose cluster.json was edited: names there may hold anything."""
    shutil.copytree(run, folder)
    document = json.loads((folder / "cluster.json").read_text())
    edit(document)
    (folder / "cluster.json").write_text(json.dumps(document))
    (folder / "manifest.json").unlink()
    return folder


NAMES = [
    'a"b',
    "a'b",
    "a\nSlurmUser=root",
    "$(reboot)",
    "`reboot`",
    "a;reboot",
    "a b",
    "../../etc/passwd",
    "näme",
    "名前",
    "a" * 300,
    "-rf",
    "",
    "\u202eevil",
    "{{ 7 * 7 }}",
    "a\x00b",
]


PLACES = ("tenant", "site", "workload", "cluster", "user", "group")
HOSTILE = [(where, name) for where in PLACES for name in NAMES if where != "user" or len(name.split()) == 1]
"""Users are separated by blanks, so neither an empty name nor one with a blank can be a user's."""


@pytest.mark.parametrize(("where", "name"), HOSTILE, ids=[f"{where} {name!r}"[:30] for where, name in HOSTILE])
def test_no_name_gets_into_a_file_that_could_break_it(
    where: str, name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(document: dict[str, Any]) -> None:
        tables = document["tables"]
        columns = {key: table.get("columns", table) for key, table in tables.items()}
        if where == "cluster":
            document["head"]["name"] = name
        elif where == "user":
            columns["tenants"]["users"] = [name]
        else:
            table = {"tenant": "tenants", "site": "sites", "workload": "workloads", "group": "nodes"}[where]
            columns[table]["name"][0] = name
            if where == "site":
                for other in ("racks", "nodes", "switches", "links"):
                    columns[other]["site"] = [name] * len(columns[other]["site"])

    design = hostile(run, tmp_path / "design", edit)
    code = main(["render", str(design), "--out", str(tmp_path / "b"), *SOME])
    err = said(capsys)[1]
    assert code == 2, err
    assert "DEPLOY-NAME" in err or "CLUSTER-" in err
    assert not (tmp_path / "b").exists()


def test_a_template_takes_no_value_that_a_format_could_obey() -> None:
    from clusterwright.deploy.text import fill, safe
    from clusterwright.errors import InputError

    for text in ('"', "'", "\\", "`", "$HOME", "$(x)", "a\nb", "ä", "\x1b[2J", "a\tb"):
        with pytest.raises(InputError, match="DEPLOY-VALUE"):
            safe(text)
    with pytest.raises(InputError, match="DEPLOY-VALUE"):
        fill("security/vault-policy.hcl.j2", reader="x", paths=['a"\n} path "*'])


def test_an_edited_bundle_is_neither_overwritten_nor_planned(
    run: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bundle / "storage/tiers.yaml").write_text("mine")
    assert main(["render", str(run), "--out", str(bundle), *SOME]) == 2
    assert "RUN-EDITED" in said(capsys)[1]
    assert (bundle / "storage/tiers.yaml").read_text() == "mine"
    assert main(["plan", str(bundle), "--against", str(tmp_path / "live")]) == 2
    assert "DEPLOY-FILE-CHANGED" in said(capsys)[1]
    assert main(["verify", str(bundle)]) == 1
    assert "differs from the manifest" in said(capsys)[1]


def test_a_file_that_is_missing_or_strange_fails_the_gate(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bundle / "storage/quotas.sh").unlink()
    (bundle / "storage/extra.conf").write_text("x")
    assert main(["verify", str(bundle), "--no-tools", "--json"]) == 1
    out, _ = said(capsys)
    failed = {c["file"]: c["message"] for c in json.loads(out)["checks"] if not c["ok"]}
    assert failed["storage/quotas.sh"].startswith("is missing")
    assert failed["storage/extra.conf"].startswith("is not in the manifest")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "x"}', '{"schema": "clusterwright/bundle/1", "files": 3}', "[" * 100_000]
)
def test_a_folder_that_is_no_bundle_is_said(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text(text)
    for verb in (["verify", str(tmp_path)], ["plan", str(tmp_path), "--against", str(tmp_path / "x")]):
        assert main(verb) == 2
        assert "DEPLOY-NOT-A-BUNDLE" in said(capsys)[1]


@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", b"", b"- [", b"a: &a [*a]", b"{" * 5000, b"0" * 100_000])
def test_any_bytes_in_any_file_of_a_bundle_end_in_a_verdict(
    junk: bytes, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import hashlib

    manifest = json.loads((bundle / "manifest.json").read_text())
    for name in manifest["files"]:
        (bundle / name).write_bytes(junk)
        manifest["files"][name] = hashlib.sha256(junk).hexdigest()
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    assert main(["verify", str(bundle), "--json"]) == 1
    said(capsys)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_a_full_disk_leaves_nothing(run: Path, tmp_path: Path) -> None:
    words = [*PROGRAM, "render", str(run), "--out", str(tmp_path / "b"), *SOME]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limited, check=False, timeout=60)
    assert (done.returncode, "RUN-NOT-WRITABLE" in done.stderr) == (3, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_render_leaves_the_old_bundle(run: Path, bundle: Path) -> None:
    before = (bundle / "manifest.json").read_bytes()
    words = [*PROGRAM, "render", str(run), "--out", str(bundle), *SOME]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130, -signal.SIGINT)  # before the program itself runs, Python ends by the signal
    assert "Traceback" not in err or process.returncode == -signal.SIGINT
    assert (bundle / "manifest.json").read_bytes() == before
    assert [p.name for p in bundle.parent.iterdir()] == ["bundle"]


# --- plan and apply ---


def planned(bundle: Path, live: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["plan", str(bundle), "--against", str(live), "--out", str(out), "--json"]) == 0
    plan: dict[str, Any] = json.loads(said(capsys)[0])
    return plan


def test_a_first_plan_adds_everything_and_apply_makes_it_so(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live, saved = tmp_path / "live", tmp_path / "plan.json"
    plan = planned(bundle, live, saved, capsys)
    assert {change["kind"] for change in plan["changes"]} == {"add"}
    assert not live.exists()
    assert main(["apply", str(saved), "--yes", "--json"]) == 0
    assert json.loads(said(capsys)[0])["changes"]["add"] == len(plan["changes"])
    assert (live / "storage/tiers.yaml").read_bytes() == (bundle / "storage/tiers.yaml").read_bytes()
    assert planned(bundle, live, saved, capsys)["changes"] == []


def test_more_nodes_are_a_small_plan_and_move_no_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """64 -> 576 GPUs: 64 nodes more; what is there keeps its name and address."""
    spec, live = str(EXAMPLES / "a100-64.yaml"), tmp_path / "live"
    common = [
        "--set",
        "limits={}",
        "--set",
        "sites=[{name: campus}]",
        "--target",
        "security",
        "--target",
        "fabric",
        "--json",
    ]
    assert main(["render", spec, "--out", str(tmp_path / "a"), *common]) == 0
    planned(tmp_path / "a", live, tmp_path / "p.json", capsys)
    assert main(["apply", str(tmp_path / "p.json"), "--yes", "--json"]) == 0
    assert main(["render", spec, "--set", "compute.gpus=576", "--out", str(tmp_path / "b"), *common]) == 0
    plan = planned(tmp_path / "b", live, tmp_path / "p.json", capsys)
    assert "s1-compute: 8 -> 72 nodes (+64)" in plan["summary"]
    hosts = next(change for change in plan["changes"] if change["path"].endswith("hosts.csv"))
    assert 64 <= hosts["added"] <= 90
    old = {r.split(",")[0]: r.split(",")[6:] for r in (live / "fabric/campus/hosts.csv").read_text().splitlines()}
    new = {r.split(",")[0]: r.split(",")[6:] for r in (tmp_path / "b/fabric/campus/hosts.csv").read_text().splitlines()}
    compute = {name: row for name, row in old.items() if name.startswith("s1-compute")}
    assert len(compute) == 8
    assert all(new[name] == row for name, row in compute.items())


def test_a_stale_plan_and_drift_are_refused(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live, saved = tmp_path / "live", tmp_path / "plan.json"
    planned(bundle, live, saved, capsys)
    assert main(["apply", str(saved), "--yes"]) == 0
    assert main(["apply", str(saved), "--yes"]) == 2
    assert "DEPLOY-PLAN-STALE" in said(capsys)[1]
    (live / "storage/quotas.sh").write_text("mine")
    assert main(["plan", str(bundle), "--against", str(live), "--out", str(tmp_path / "no.json")]) == 1
    assert "DEPLOY-DRIFT" in said(capsys)[1]
    assert not (tmp_path / "no.json").exists()


def test_apply_does_nothing_without_a_yes(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planned(bundle, tmp_path / "live", tmp_path / "plan.json", capsys)
    done = subprocess.run(
        [*PROGRAM, "apply", str(tmp_path / "plan.json")], input="", capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not (tmp_path / "live").exists()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": "clusterwright/plan/1"}', "nonsense", "[" * 100_000])
def test_what_is_no_plan_is_said(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.json").write_text(text)
    assert main(["apply", str(tmp_path / "plan.json"), "--yes"]) == 2
    assert "DEPLOY-PLAN" in said(capsys)[1]


def test_an_absent_plan_is_the_world_s_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", str(tmp_path / "none.json"), "--yes"]) == 3
    assert "DEPLOY-PLAN" in said(capsys)[1]
