"""What runs against what was rendered: a bundle of the cluster whose real Slurm was recorded, and changes by hand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.deploy import Folder, render, slurm_files
from clusterwright.deploy import SlurmFiles as Read
from clusterwright.design import design
from clusterwright.operate.drift import compare, world
from clusterwright.operate.drift.compare import BUNDLE, CLUSTER, Difference
from clusterwright.operate.observe import describe, files_of, read_dump
from clusterwright.operate.site import Site, read_site
from clusterwright.operate.slurm import Node
from clusterwright.spec import read_spec, written_anew

RECORDED = Path(__file__).with_name("dump-22.05")
OF_THE_LAB = {
    "AccountingStorageBackupHost", "AccountingStorageHost", "AccountingStoragePort", "AuthAltParameters",
    "AuthAltTypes", "AccountingStoreFlags", "CommunicationParameters", "DisableRootJobs", "Epilog",
    "HealthCheckInterval", "HealthCheckNodeState", "HealthCheckProgram", "JobAcctGatherFrequency",
    "JobAcctGatherType", "JobContainerType", "LaunchParameters", "MpiDefault", "PlugStackConfig", "PrivateData",
    "ProctrackType", "Prolog", "PrologFlags", "RebootProgram", "RoutePlugin", "SlurmUser", "SlurmctldLogFile",
    "SlurmctldParameters", "SlurmctldPidFile", "SlurmctldPort", "SlurmdLogFile", "SlurmdPidFile", "SlurmdPort",
    "SlurmdSpoolDir", "StateSaveLocation", "TaskPlugin", "TopologyParam", "TreeWidth",
}  # fmt: skip
"""Keys that the recorded cluster, a lab on one machine, has otherwise than a site: paths, ports, no cgroups."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {Path(name).name: text for name, text in files_of(RECORDED).items()}


@pytest.fixture(scope="module")
def read(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Read:
    catalog = load_catalog()
    observed = written_anew(describe(read_dump(texts), catalog).spec, ())
    spec = read_spec(observed, overrides=('deploy.slurm="25.05"',), catalog=catalog)  # what the lab was rendered for
    bundle = tmp_path_factory.mktemp("drift") / "bundle"
    render(design(spec, catalog), catalog).write(bundle)
    return slurm_files(Folder.open(bundle))[0]


def told(found: Any) -> list[tuple[str, str, str, str, str]]:
    return [(one.part, one.name, one.key, one.rendered, one.running) for one in found]


def all_of(read: Read, texts: dict[str, str]) -> list[Difference]:
    dump = read_dump(texts)
    return [
        *compare.nodes(read, dump),
        *compare.partitions(read, dump, {}, "take"),
        *compare.settings(read, dump, sorted(OF_THE_LAB), "take")[0],
        *compare.qos(read, dump),
        *compare.accounts(read, dump),
    ]


def test_recorded_cluster_has_no_drift_from_a_bundle_of_what_was_observed(read: Read, texts: dict[str, str]) -> None:
    assert told(all_of(read, texts)) == []


CHANGES: list[tuple[str, str, str, str, list[tuple[str, str, str, str, str]]]] = [
    ("a GPU type", "nodes.txt", "Gres=gpu:h100:8", "Gres=gpu:h100:4",
     [("node", "s1-compute-0001", "GPUs", "8 h100", "4 h100")]),
    ("memory", "nodes.txt", "RealMemory=1850128", "RealMemory=900000",
     [("node", "s1-compute-0001", "RealMemory", "1850128", "900000")]),
    ("CPUs", "nodes.txt", "CPUTot=128", "CPUTot=64", [("node", "s1-compute-0001", "CPUs", "128", "64")]),
    ("a time limit", "partitions.txt", "MaxTime=1-00:00:00", "MaxTime=1-00:00:01",
     [("partition", "train", "MaxTime", "1-00:00:00", "1-00:00:01")]),
    ("an account NONE", "partitions.txt", "AllowAccounts=ALL", "AllowAccounts=NONE",
     [("partition", "train", "AllowAccounts", "nothing", "NONE")]),
    ("a node out of a partition", "partitions.txt", "Nodes=s1-compute-[0001-0040]", "Nodes=s1-compute-[0002-0040]",
     [("partition", "train", "nodes gone", "1: s1-compute-0001", "")]),
    ("a weight", "config.txt", "PriorityWeightAge       = 50000", "PriorityWeightAge       = 5",
     [("setting", "PriorityWeightAge", "", "50000", "5")]),
    ("a word of backfill", "config.txt", "bf_max_job_test=584", "bf_max_job_test=5",
     [("setting", "SchedulerParameters", "", "bf_max_job_test=584", "bf_max_job_test=5")]),
    ("a quota", "qos.txt", "gres/gpu=64", "gres/gpu=65",
     [("qos", "students-own", "GrpTRES", "gres/gpu=64", "gres/gpu=65")]),
    ("who is preempted", "qos.txt", "borrow,operations,students-own|", "borrow,operations|",
     [("qos", "research-own", "Preempt", "operations,borrow,students-own", "borrow,operations")]),
    ("a share", "assoc.txt", "|students||root|10|", "|students||root|11|",
     [("account", "students", "fairshare", "10", "11")]),
    ("a person gone", "assoc.txt", "|research|ada|", "|research|adam|",
     [("account", "research", "user", "ada", "nothing")]),
    ("an account more", "assoc.txt", "north|urgent||root", "north|new||root|1||normal||\nnorth|urgent||root",
     [("account", "new", "", "", "an account")]),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), [one[1:] for one in CHANGES], ids=[c[0] for c in CHANGES])
def test_one_change_is_one_difference(
    read: Read, texts: dict[str, str], file: str, old: str, new: str, expected: list[Any]
) -> None:
    assert old in texts[file]
    assert told(all_of(read, texts | {file: texts[file].replace(old, new, 1)})) == expected


def test_missing_and_added_nodes_are_named_and_the_cluster_wins(read: Read, texts: dict[str, str]) -> None:
    blocks = texts["nodes.txt"].split("\n\n")
    blocks[0] = blocks[0].replace("s1-compute-0001", "s1-compute-0099")
    found = list(compare.nodes(read, read_dump(texts | {"nodes.txt": "\n\n".join(blocks)})))
    assert told(found) == [
        ("node", "s1-compute-0001", "", "a node", ""),
        ("node", "s1-compute-0099", "", "", "a node"),
    ]
    assert {one.wins for one in found} == {CLUSTER}
    assert "clusterwright observe" in found[0].mend


def test_mend_is_a_command_that_puts_the_rendered_value_back(read: Read, texts: dict[str, str]) -> None:
    changed = texts | {
        "partitions.txt": texts["partitions.txt"].replace("AllowAccounts=ALL", "AllowAccounts=research", 1),
        "qos.txt": texts["qos.txt"].replace("gres/gpu=64", "gres/gpu=65"),
    }
    found = all_of(read, changed)
    assert [one.mend for one in found] == [
        "scontrol update PartitionName=train AllowAccounts=ALL",
        "sacctmgr -i modify qos where name=students-own set GrpTRES=gres/gpu=64",
    ]
    assert {one.wins for one in found} == {BUNDLE}


def test_name_of_an_account_cannot_become_a_command(read: Read, texts: dict[str, str]) -> None:
    line = "north|x;reboot\x1b[1m||root|1||normal||\n"
    found = list(compare.accounts(read, read_dump(texts | {"assoc.txt": texts["assoc.txt"] + line})))
    assert [one.name for one in found] == ["x;reboot?[1m"]
    assert found[0].mend.endswith("sacctmgr delete account 'x;reboot?[1m'")


@pytest.mark.parametrize(
    ("rendered", "running"),
    [
        ("60", "60 sec"),
        ("0-00:05:00", "00:05:00"),
        ("7-00:00:00", "7-00:00:00"),
        ("MAX_TRES,CALCULATE_RUNNING", "CALCULATE_RUNNING,MAX_TRES"),
        ("CR_Core_Memory", "CR_CORE_MEMORY"),
        ("root", "root(0)"),
        ("-1", ""),
        ("UNLIMITED", "UNLIMITED"),
    ],
)
def test_two_ways_of_writing_a_value_are_no_drift(rendered: str, running: str) -> None:
    assert compare.normal(rendered) == compare.normal(running)


@pytest.mark.parametrize(
    ("a", "b"), [("1-00:00:00", "01:00:00"), ("60", "61 sec"), ("NO", "YES"), ("a,b", "a"), ("ALL", "(null)")]
)
def test_other_values_are_drift(a: str, b: str) -> None:
    assert compare.normal(a) != compare.normal(b)


# --- spares that stand in ---


def moved(read: Read, texts: dict[str, str], state: Path, drained: str = "") -> dict[str, set[str]]:
    more = texts["partitions.txt"].replace(
        "Nodes=s1-compute-[0001-0040]", "Nodes=s1-compute-[0001-0040],s1-spare-0001", 1
    )
    nodes = [Node("s1-compute-0007", frozenset({"IDLE", "DRAIN"}), reason=drained)]
    site = Site(path=state / "site.yaml", name="north", state=state)
    return world._moved(site, read, read_dump(texts | {"partitions.txt": more}), nodes, world.Drift("north"))


def test_spare_in_a_partition_without_a_reason_is_drift(read: Read, texts: dict[str, str], tmp_path: Path) -> None:
    assert moved(read, texts, tmp_path)["train"] == set()
    assert moved(read, texts, tmp_path, "somebody's own reason")["train"] == set()


def test_spare_for_a_node_that_the_watcher_drained_is_no_drift(
    read: Read, texts: dict[str, str], tmp_path: Path
) -> None:
    assert moved(read, texts, tmp_path, "clusterwright:4 xid 79")["train"] == {"s1-spare-0001"}


@pytest.mark.parametrize(("state", "expected"), [("done", {"s1-spare-0001"}), ("undone", set())])
def test_spare_in_the_journal_of_the_watcher_is_no_drift_until_undone(
    read: Read, texts: dict[str, str], tmp_path: Path, state: str, expected: set[str]
) -> None:
    with sqlite3.connect(tmp_path / "operate.sqlite") as db:
        db.execute("CREATE TABLE actions (kind TEXT, state TEXT, params TEXT)")
        params = json.dumps({"partitions": ["train"], "spare": "s1-spare-0001"})
        db.execute("INSERT INTO actions VALUES ('spare', ?, ?)", (state, params))
    assert moved(read, texts, tmp_path)["train"] == expected


@pytest.mark.parametrize(("spare", "expected"), [("s1-spare-0001", {"s1-spare-0001"}), ("", set())])
def test_spare_that_the_watcher_remembers_for_a_node_is_no_drift(
    read: Read, texts: dict[str, str], tmp_path: Path, spare: str, expected: set[str]
) -> None:
    with sqlite3.connect(tmp_path / "watch.sqlite") as db:
        db.execute("CREATE TABLE nodes (name TEXT, spare TEXT)")
        db.execute("INSERT INTO nodes VALUES ('s1-compute-0007', ?)", (spare,))
    assert moved(read, texts, tmp_path)["train"] == expected


def test_journal_that_is_broken_is_as_none(read: Read, texts: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "operate.sqlite").write_text("no database")
    assert moved(read, texts, tmp_path)["train"] == set()


# --- site.yaml ---


def test_exempt_keys_are_read_and_must_be_words(tmp_path: Path) -> None:
    from clusterwright.errors import InputError

    path = tmp_path / "site.yaml"
    path.write_text("version: 1\nname: x\nexempt: [TreeWidth]\n")
    assert read_site(path).exempt == ("TreeWidth",)
    path.write_text("version: 1\nname: x\nexempt: TreeWidth\n")
    with pytest.raises(InputError) as caught:
        read_site(path)
    assert caught.value.findings[0].message == "is a list of words"


# --- Prometheus ---


class Loaded:
    """A Prometheus with rules and targets of its own, which writes queries without blanks."""

    url = "http://127.0.0.1:9"

    def __init__(self, folder: Folder, site: str, change: Callable[[str], str]) -> None:
        import yaml

        self.held: list[tuple[str, str, str]] = []
        for path in folder.paths:
            if path.startswith(f"monitoring/{site}/prometheus/rules/"):
                for group in yaml.safe_load(folder.read(path))["groups"]:
                    for rule in group["rules"]:
                        query = change("".join(rule["expr"].split()))
                        self.held.append((group["name"], rule.get("alert") or rule["record"], query))

    def rules(self) -> list[tuple[str, str, str]]:
        return self.held

    def formatted(self, query: str) -> str:
        return "".join(query.split())


def test_rules_that_are_loaded_as_rendered_are_no_drift(read: Read) -> None:
    prometheus: Any = Loaded(read.folder, read.site, str)
    assert list(world._rules(world.Drift("x"), prometheus, read.folder, read.site)) == []


def test_rule_with_another_expression_and_one_that_is_not_loaded_are_drift(read: Read) -> None:
    prometheus: Any = Loaded(read.folder, read.site, lambda q: q.replace("avgby", "sumby"))
    name = prometheus.held.pop(0)[1]
    found = list(world._rules(world.Drift("x"), prometheus, read.folder, read.site))
    assert (name, "0 loaded") in [(one.name, one.running) for one in found]
    assert any(one.key == "expr" and one.name == "node:gpu_utilisation:ratio" for one in found)


@pytest.mark.parametrize(("mib", "count"), [(1850128, 0), (1907000, 0), (1850127, 1), (2000000, 1)])
def test_node_that_registers_a_little_more_memory_than_the_least_is_no_drift(
    read: Read, texts: dict[str, str], mib: int, count: int
) -> None:
    text = texts["nodes.txt"].replace("RealMemory=1850128", f"RealMemory={mib}", 1)
    assert len(list(compare.nodes(read, read_dump(texts | {"nodes.txt": text})))) == count
