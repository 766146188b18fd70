"""The policy is data: one table of XIDs, a site's own laid over it, and every mistake said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.errors import InputError
from clusterwright.operate.watch import read_policy
from clusterwright.operate.watch.policy import KINDS


def _own(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(text, "utf-8")
    return path


def test_every_fault_of_the_lab_has_a_rule() -> None:
    from clusterwright.lab.faults import KINDS as BROKEN

    assert set(BROKEN) <= set(read_policy().faults) == set(KINDS)


@pytest.mark.parametrize(
    ("code", "fault"),
    [(79, "xid"), (48, "xid"), (95, "xid"), (119, "xid"), (13, "xid-app"), (31, "xid-app"), (94, "xid-later"),
     (64, "xid"), (45, "xid-noted-45"), (43, "xid-noted-43"), (63, "xid-noted-63"), (999, "xid-noted-999")],
)  # fmt: skip
def test_what_a_code_means_comes_from_nvidias_catalogue(code: int, fault: str) -> None:
    assert read_policy().fault_of_xid(code) == fault


def test_the_table_of_the_bundle_holds_and_what_the_site_overrides_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "slurm" / "main"
    folder.mkdir(parents=True)
    (folder / "xid_actions.csv").write_text("xid,mnemonic,action,remedy\n13,X,drain,y\n79,Z,drain,y\n", "utf-8")
    (folder / "xid_overrides.csv").write_text("# ours\nxid,mnemonic,action,remedy\n79,Z,count,y\n", "utf-8")
    policy = read_policy(None, tmp_path)
    assert (policy.fault_of_xid(13), policy.fault_of_xid(79)) == ("xid", "xid-app")


@pytest.mark.parametrize(
    ("said", "fault"),
    [("node: does not answer", "node-dead"), ("gpu: GPU 3 is gone", "gpu-lost"), ("gpu: 7 of 8", "gpu-lost"),
     ("gpu: 3 is slowed down by its hardware", "node-slow"), ("fabric: a port is down", "link-down"),
     ("xid: 79 on GPU 0", "xid"), ("xid: 13 on GPU 0", "xid-app"), ("xid: 45 on GPU 0", "xid-noted-45"),
     ("disk: the shared file system is full", "fs-full"), ("something new", "unfit")],
)  # fmt: skip
def test_what_a_check_prints_is_understood(said: str, fault: str) -> None:
    assert read_policy().fault_of(said) == fault


def test_a_site_overrides_parts_and_keeps_the_rest(tmp_path: Path) -> None:
    own = "version: 1\nfaults: {node-slow: {jobs: none}}\nxid_overrides: {64: null}\nbreaker: {share: 0.5}\n"
    policy, packaged = read_policy(_own(tmp_path, own)), read_policy()
    assert policy.faults["node-slow"].jobs == "none" and policy.faults["node-slow"].node == "drain"
    assert policy.faults["node-dead"] == packaged.faults["node-dead"]
    assert policy.fault_of_xid(64) == "xid-noted-64" and policy.fault_of_xid(79) == "xid"
    assert policy.breaker_limit(100) == 50


@pytest.mark.parametrize(("nodes", "limit"), [(8, 2), (40, 2), (100, 5), (4096, 204)])
def test_the_breaker_lets_two_or_a_twentieth_go(nodes: int, limit: int) -> None:
    assert read_policy().breaker_limit(nodes) == limit


def test_every_mistake_is_said_at_once(tmp_path: Path) -> None:
    own = """\
version: 2
brakes: {}
breaker: {nodes: -1, shares: 1}
faults: {node-dead: {node: kill}, melted: {node: drain}, xid: {spare: maybe}}
xid_overrides: {many: xid, 64: melted}
alerts: {NodeDown: gone}
findings: [{match: '(', fault: xid}, {match: x}]
doubted: [nobody]
give_back: {checks: 0}
retry: 3
"""
    with pytest.raises(InputError) as error:
        read_policy(_own(tmp_path, own))
    places = [str(one.place).rpartition(": ")[2] for one in error.value.findings]
    assert places == ["version", "brakes", "breaker.nodes", "breaker.shares", "faults.node-dead.node", "faults.melted",
                      "faults.xid.spare", "xid_overrides.many", "xid_overrides.64", "alerts.NodeDown",
                      "findings[0].match", "findings[1]", "doubted", "give_back.checks", "retry"]  # fmt: skip
    assert {one.code for one in error.value.findings} == {"WATCH-POLICY"}


@pytest.mark.parametrize("text", ["[1]", "a: b: c", "\x00"])
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="WATCH-POLICY"):
        read_policy(_own(tmp_path, text))
