"""A cluster that runs becomes a spec: a dump recorded from a real Slurm 22.05, and variants written by hand.

The dump is of 40 nodes and 2 spares with 8 GPUs each, rendered from a spec with the tenants in ``NORTH``; the JSON
follows the fields of the OpenAPI plug-ins v0.0.40 to v0.0.42 (Slurm 23.11 to 25.05): counts as ``{set, infinite,
number}``, lists of words.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.design import design
from clusterwright.errors import InputError
from clusterwright.operate.observe import Observation, SpareRule, describe, files_of, how, read_dump
from clusterwright.spec import read_spec, written_anew

RECORDED = Path(__file__).with_name("dump-22.05")
NORTH = {"research": (25, 200, None, "normal"), "students": (10, 64, 96, "low"), "urgent": (10, 32, None, "high")}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    return {Path(name).name: text for name, text in files_of(RECORDED).items()}


Observe = Callable[..., Observation]


@pytest.fixture
def seen(catalog: Catalog) -> Observe:
    def do(texts: dict[str, str], **how_: Any) -> Observation:
        return describe(read_dump(texts), catalog, **how_)

    return do


def refused(do: Callable[[], Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        do()
    return [f"{one.place} {one.code} {one.message}" for one in caught.value.findings]


def tenants(found: Observation) -> dict[str, tuple[Any, ...]]:
    return {
        t["name"]: (t["share"], t.get("quota"), t.get("limit"), t.get("priority", "normal"))
        for t in found.spec["tenants"]
    }


def test_recorded_dump_gives_nodes_gpus_spares_leaves_tenants_and_quotas(seen: Observe, recorded: Any) -> None:
    found = seen(recorded)
    assert found.name == "north"
    assert found.release == "22.05.8"
    assert [(one.name, len(one.nodes), len(one.spares), one.gpus) for one in found.groups] == [("h100-8", 40, 2, 8)]
    assert found.leaf_sizes == [32, 10]
    assert tenants(found) == NORTH
    assert found.spec["tenants"][0]["users"] == ["ada", "grace"]
    assert found.spec["compute"] == {"gpus": 320, "accelerators": ["h100-sxm-80gb"], "server": "hgx-h100"}
    assert found.spec["reliability"] == {"spares": 2}
    assert found.spec["deploy"] == {"slurm": "22.05"}


def test_recorded_dump_gives_the_policy_that_was_rendered(seen: Observe, recorded: Any) -> None:
    policy = seen(recorded).policy
    assert policy is not None
    assert (policy.weights.qos, policy.weights.fairshare, policy.weights.age) == (1_000_000, 300_000, 50_000)
    assert policy.backfill.max_jobs == 500 + 2 * 42
    assert policy.partition("train").max_time_min == 1440
    assert policy.partition("interactive").max_nodes == 2
    assert {one.name: one.gpus for one in policy.qos}["students-own"] == 64
    assert {one.name: one.gpus for one in policy.accounts}["students"] == 96


def test_design_of_the_observed_spec_renders_the_same_nodes_leaves_and_accounts(
    seen: Observe, recorded: Any, catalog: Catalog, tmp_path: Path
) -> None:
    from clusterwright.deploy import Folder, render, slurm_files

    cluster = design(read_spec(written_anew(seen(recorded).spec, ()), catalog=catalog), catalog)
    assert cluster.verdict == "feasible"
    render(cluster, catalog).write(tmp_path / "bundle")
    (read,) = slurm_files(Folder.open(tmp_path / "bundle"))
    live = read_dump(recorded)
    assert set(read.nodes) == set(live.nodes)
    assert {n: sum(c for _, c in node.gres) for n, node in live.nodes.items()} == read.gpus
    assert {one.name: one.nodes for one in read.leaves} == {one.name: one.nodes for one in live.leaves.values()}
    assert [int(read.nodes[n].get("RealMemory")) for n in live.nodes] == [v.memory_mib for v in live.nodes.values()]
    policy = seen(recorded).policy
    assert policy is not None
    rendered = read.policy()
    assert {q.name: (q.gpus, q.priority, set(q.preempts)) for q in rendered.qos} == {
        q.name: (q.gpus, q.priority, set(q.preempts)) for q in policy.qos if q.name != "normal"
    }
    assert [(p.name, p.nodes, p.max_time_min, p.max_nodes) for p in rendered.partitions] == [
        (p.name, p.nodes, p.max_time_min, p.max_nodes) for p in policy.partitions
    ]


def test_what_slurm_cannot_know_is_said_and_not_written(seen: Observe, recorded: Any) -> None:
    found = seen(recorded)
    unknown = {str(one.place) for one in found.findings if one.code == "OBSERVE-UNKNOWN"}
    assert unknown == {"fabric.technology", "storage", "sites", "finance"}
    assert not {"fabric", "storage", "sites", "finance", "limits"} & set(found.spec)
    assert any(one.code == "OBSERVE-WORKLOAD" for one in found.findings)


@pytest.mark.parametrize(
    ("features", "hint"),
    [
        ("nic-8x400g", "--set fabric.technology=NAME, one of infiniband-ndr, ethernet-400g-roce, efa"),
        ("hdr", "--set fabric.technology=infiniband-hdr"),
        ("(null)", "--set fabric.technology=infiniband-ndr"),
    ],
)
def test_feature_that_speaks_of_links_gives_candidates_and_is_not_written(
    seen: Observe, features: str, hint: str
) -> None:
    found = seen({"nodes.txt": nodes("h200", features)})
    assert [one.hint for one in found.findings if str(one.place) == "fabric.technology"] == [hint]
    assert "fabric" not in found.spec


def test_base_keeps_workloads_and_sites_and_takes_nodes_and_tenants_from_the_cluster(
    seen: Observe, recorded: Any
) -> None:
    workload = {"name": "own", "train": {"model": "llama-3-70b"}}
    base = {
        "version": 1, "name": "plan", "workloads": [workload], "compute": {"gpus": 64, "nodes_per_rack": 4},
        "sites": [{"name": "main", "region": "us-east"}], "tenants": [{"name": "old"}],
    }  # fmt: skip
    found = seen(recorded, base=base)
    assert found.spec["workloads"] == [workload]
    assert found.spec["sites"] == base["sites"]
    assert found.spec["compute"]["gpus"] == 320
    assert found.spec["compute"]["nodes_per_rack"] == 4
    assert set(tenants(found)) == set(NORTH)
    assert not any(one.code == "OBSERVE-WORKLOAD" for one in found.findings)


# --- the same cluster in other forms ---


def one_line(text: str) -> str:
    return "\n".join(" ".join(line.strip() for line in block.splitlines()) for block in text.split("\n\n")) + "\n"


def some(number: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": number}


NO_END = {"set": False, "infinite": True, "number": 0}


def node_json(name: str, spare: bool = False) -> dict[str, Any]:
    return {
        "architecture": "x86_64", "comment": "", "cores": 32, "cpus": 128, "sockets": 2, "threads": 2,
        "features": ["hgx-h100", "spare" if spare else "compute"], "gres": "gpu:h100:8(S:0-1)", "name": name,
        "partitions": ["spare"] if spare else ["train"], "real_memory": 1850128, "reason": "", "state": ["IDLE"],
        "free_mem": some(1_000_000), "version": "25.05.1", "boot_time": some(1_750_000_000),
    }  # fmt: skip


def json_dump() -> dict[str, str]:
    meta = {"slurm": {"version": {"major": "25", "micro": "1", "minor": "05"}, "release": "25.05.1", "cluster": "alps"}}
    tres = [{"type": "gres", "name": "gpu", "id": 1001, "count": 24}]
    nodes = [*(node_json(f"n{i:02d}") for i in range(4)), node_json("s1", spare=True)]

    def part(name: str, configured: str, limit: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": name, "nodes": {"configured": configured, "total": 4}, "maximums": {"time": limit, "nodes": NO_END},
            "defaults": {"time": some(60), "job": ""}, "priority": {"job_factor": 1, "tier": 1},
            "qos": {"allowed": "", "deny": "", "assigned": ""}, "accounts": {"allowed": "", "deny": ""},
            "tres": {"billing_weights": "", "configured": ""}, "partition": {"state": ["UP"]},
        }  # fmt: skip

    def assoc(account: str, user: str, parent: str, shares: int, limit: list[Any]) -> dict[str, Any]:
        return {
            "account": account, "cluster": "alps", "user": user, "parent_account": parent, "partition": "",
            "shares_raw": shares, "default": {"qos": ""}, "qos": ["normal"], "max": {"tres": {"total": limit}},
        }  # fmt: skip

    return {
        "nodes.json": json.dumps({"nodes": nodes, "meta": meta, "errors": [], "warnings": []}),
        "partitions.json": json.dumps(
            {"partitions": [part("train", "n[00-03]", some(2880)), part("spare", "s1", NO_END)], "meta": meta}
        ),
        "assoc.json": json.dumps(
            {
                "associations": [
                    assoc("root", "", "", 1, []), assoc("ml", "", "root", 3, tres), assoc("ml", "eve", "", 1, []),
                    assoc("bio", "", "root", 1, [{"type": "gres", "name": "gpu", "id": 1001, "count": 8}]),
                ],
                "meta": meta,
            }
        ),
        "qos.json": json.dumps(
            {
                "qos": [
                    {
                        "name": "normal", "priority": some(0), "flags": [],
                        "preempt": {"list": [], "mode": ["DISABLED"], "exempt_time": NO_END},
                        "limits": {"grace_time": 0, "max": {"tres": {"total": [], "per": {"user": []}}}},
                    }
                ],
                "meta": meta,
            }
        ),
    }  # fmt: skip


def test_one_line_nodes_and_partitions_read_as_many_lines_do(seen: Observe, recorded: Any) -> None:
    flat = recorded | {name: one_line(recorded[name]) for name in ("nodes.txt", "partitions.txt")}
    assert seen(flat).spec == seen(recorded).spec


def test_json_of_25_05_gives_nodes_partitions_tenants_and_release(seen: Observe) -> None:
    found = seen(json_dump())
    assert (found.name, found.release, found.spec["deploy"]) == ("alps", "25.05.1", {"slurm": "25.05"})
    assert (len(found.group.nodes), len(found.group.spares)) == (4, 1)
    assert tenants(found) == {"ml": (3, 24, 24, "normal"), "bio": (1, 8, 8, "normal")}
    assert found.spec["tenants"][0]["users"] == ["eve"]
    assert read_dump(json_dump()).queues["train"].get("MaxTime") == "2-00:00:00"


def test_json_of_23_02_with_features_as_text_and_a_state_as_one_word(seen: Observe) -> None:
    row = node_json("n1") | {"features": "hgx-h100,compute", "state": "idle", "state_flags": [], "partitions": ["a"]}
    found = seen({"nodes.json": json.dumps({"nodes": [row]})})
    assert found.spec["compute"]["server"] == "hgx-h100"


def test_slurm_conf_and_gres_conf_alone_are_enough(seen: Observe) -> None:
    conf = """ClusterName=small
SlurmctldHost=head
NodeName=DEFAULT Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=1980000
NodeName=gpu[01-16] CPUs=224 Gres=gpu:8 Feature=dgx-h100
NodeName=cpu[1-4] CPUs=64 RealMemory=256000
PartitionName=DEFAULT MaxTime=2-00:00:00
PartitionName=batch Nodes=gpu[01-16] Default=YES
PartitionName=all Nodes=ALL
"""
    found = seen({"slurm.conf": conf, "gres.conf": "AutoDetect=off\nNodeName=gpu[01-16] Name=gpu Type=h100 Count=8\n"})
    assert (found.name, found.accelerator, found.server) == ("small", "h100-sxm-80gb", "dgx-h100")
    assert found.spec["compute"]["gpus"] == 128
    left = [one for one in found.findings if one.code == "OBSERVE-GROUPS"]
    assert [(str(one.place), one.message[:17]) for one in left] == [("slurm.conf:5:1", "4 nodes of group ")]
    assert read_dump({"slurm.conf": conf}).queues["all"].get("MaxTime") == "2-00:00:00"


def test_sinfo_alone_tells_nodes_and_the_partition_of_spares(seen: Observe) -> None:
    text = "NODELIST|PARTITION|GRES|CPUS|MEMORY|AVAIL_FEATURES|STATE\n"
    text += "n1|train*|gpu:mi300x:8|192|2000000|(null)|idle\nn1|short|gpu:mi300x:8|192|2000000|(null)|idle\n"
    text += "n2|spare|gpu:mi300x:8|192|2000000|(null)|idle\n"
    found = seen({"sinfo.txt": text})
    assert (found.accelerator, found.spec["compute"]["gpus"]) == ("mi300x", 8)
    assert [one.name for one in found.group.spares] == ["n2"]
    assert found.group.spare_why == ("partition 'spare'",)


def test_sinfo_in_groups_with_blanks_between_columns_tells_nodes(seen: Observe) -> None:
    text = "NODELIST   PARTITION GRES         CPUS MEMORY   AVAIL_FEATURES\n"
    text += "n[1-3],m7 train*    gpu:mi300x:8 192  2000000+ (null)\n"
    assert [one.name for one in seen({"s": text}).group.nodes] == ["n1", "n2", "n3", "m7"]


def test_sinfo_as_people_call_it_tells_too_little_and_that_is_said(seen: Observe) -> None:
    text = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ntrain*       up 1-00:00:00      8   idle n[1-8]\n"
    found = seen({"nodes.txt": nodes("mi300x"), "sinfo.txt": text})
    assert [(str(one.place), one.severity) for one in found.findings if one.code == "OBSERVE-IGNORED"] == [
        ("sinfo.txt:1:1", "warning")
    ]


def test_sacctmgr_dump_reads_as_show_assoc_does(seen: Observe, recorded: Any) -> None:
    text = """# comment
Cluster - 'north':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'operations':Description='operations':DefaultQOS='operations':Fairshare=10:QOS='operations'
Account - 'research':DefaultQOS='research-own':Fairshare=25:GrpTRES=gres/gpu=320:QOS='borrow,interactive,research-own'
Account - 'students':DefaultQOS='students-own':Fairshare=10:GrpTRES=gres/gpu=96:QOS='borrow,interactive,students-own'
Account - 'urgent':DefaultQOS='urgent-own':Fairshare=10:GrpTRES=gres/gpu=320:QOS='borrow,interactive,urgent-own'
Parent - 'research'
User - 'ada':DefaultAccount='research':Fairshare=1
User - 'grace':DefaultAccount='research':Fairshare=1
Parent - 'students'
User - 'alan':DefaultAccount='students':Fairshare=1
"""
    assert seen(recorded | {"assoc.txt": text}).spec == seen(recorded).spec


# --- which part it is ---


def nodes(kind: str, features: str = "(null)", count: int = 2, gpus: int = 8, first: int = 1) -> str:
    return "".join(
        f"NodeName=n{i} Arch=x86_64 CoresPerSocket=32 CPUTot=128 AvailableFeatures={features} Gres=gpu:{kind}:{gpus} "
        f"Version=24.11.3 RealMemory=2000000 Sockets=2 State=IDLE ThreadsPerCore=2 Partitions=a\n"
        for i in range(first, first + count)
    )


@pytest.mark.parametrize(
    ("kind", "features", "part"),
    [
        ("nvidia_h100_80gb_hbm3", "(null)", "h100-sxm-80gb"),  # as the driver names the SXM5 board
        ("nvidia_a100-sxm4-80gb", "(null)", "a100-sxm-80gb"),
        ("nvidia_h100_pcie", "(null)", "h100-pcie-80gb"),
        ("tesla_v100-sxm2-32gb", "(null)", "v100-sxm-32gb"),
        ("a100", "gpu_mem:40gb", "a100-sxm-40gb"),
        ("a100", "80g,sxm", "a100-sxm-80gb"),
        ("h100", "nvl,ib", "h100-nvl-94gb"),
        ("h100", "dgx-h100", "h100-sxm-80gb"),
        ("H200", "(null)", "h200-sxm-141gb"),
        ("mi300x", "(null)", "mi300x"),
    ],
)
def test_accelerator_is_told_by_the_words_of_type_and_features(
    seen: Observe, kind: str, features: str, part: str
) -> None:
    assert seen({"nodes.txt": nodes(kind, features)}).accelerator == part


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("h100", ("h100-sxm-80gb", "h100-pcie-80gb", "h100-nvl-94gb")),
        ("a100", ("a100-sxm-80gb", "a100-pcie-80gb")),
        ("rtx4090", ()),
        ("a100_1g.5gb", ()),  # a MIG slice is no accelerator
    ],
)
def test_accelerator_that_cannot_be_told_is_asked_for_and_not_guessed(
    seen: Observe, kind: str, named: tuple[str, ...]
) -> None:
    with pytest.raises(InputError) as caught:
        seen({"nodes.txt": nodes(kind)})
    (finding,) = caught.value.findings
    assert (finding.code, str(finding.place)) == ("OBSERVE-PART", "nodes.txt:1:1")
    assert "--set compute.accelerators=[NAME]" in finding.hint
    assert all(name in finding.hint for name in named)


@pytest.mark.parametrize(
    ("features", "part"), [("dgx-h100", "h100-sxm-80gb"), ("mi300x,ib", "mi300x"), ("h100,pcie", "h100-pcie-80gb")]
)
def test_gpus_without_a_type_are_told_by_features_that_name_a_part(seen: Observe, features: str, part: str) -> None:
    assert seen({"nodes.txt": nodes("x", features).replace("gpu:x:8", "gpu:8")}).accelerator == part


@pytest.mark.parametrize("features", ["(null)", "h100", "dgx-h100,mi300x"])
def test_gpus_without_a_type_and_without_one_clear_feature_are_asked_for(seen: Observe, features: str) -> None:
    said = refused(lambda: seen({"nodes.txt": nodes("x", features).replace("gpu:x:8", "gpu:8")}))
    assert said[0].startswith("nodes.txt:1:1 OBSERVE-PART Gres names no type of GPU")


def test_accelerator_of_the_command_line_is_taken(seen: Observe) -> None:
    found = seen({"nodes.txt": nodes("h100")}, sets=("compute.accelerators=[h100-pcie-80gb]",))
    assert found.accelerator == "h100-pcie-80gb"


def test_server_without_a_feature_is_left_to_the_design_with_candidates(seen: Observe) -> None:
    found = seen({"nodes.txt": nodes("h200")})
    assert "server" not in found.spec["compute"]
    (finding,) = [one for one in found.findings if one.code == "OBSERVE-SERVER"]
    assert "dgx-h200" in finding.hint
    assert "hgx-h200" in finding.hint


def test_two_kinds_of_gpus_the_larger_is_described_the_other_is_named(seen: Observe) -> None:
    text = nodes("h200", count=3) + nodes("mi300x", count=2, first=10)
    found = seen({"nodes.txt": text})
    assert found.spec["compute"]["gpus"] == 24
    (left,) = [one for one in found.findings if one.code == "OBSERVE-GROUPS"]
    assert (str(left.place), left.hint) == ("nodes.txt:4:1", "--group mi300x-8 describes them")
    assert seen({"nodes.txt": text}, group="mi300x-8").spec["compute"]["gpus"] == 16


def test_memory_that_differs_a_little_is_one_group_and_a_lot_is_two(seen: Observe) -> None:
    text = nodes("h200", count=2) + nodes("h200", count=1, first=3).replace("2000000", "2012345")
    assert len(seen({"nodes.txt": text}).groups) == 1
    text = nodes("h200", count=2) + nodes("h200", count=1, first=3).replace("2000000", "1000000")
    assert [len(one.nodes) for one in seen({"nodes.txt": text}).groups] == [2, 1]


def test_spares_are_told_as_the_command_line_says(seen: Observe) -> None:
    text = nodes("h200", count=3) + nodes("h200", "reserve", first=4, count=1)
    assert len(seen({"nodes.txt": text}).group.spares) == 0
    rule = SpareRule.of("feature=reserve")
    assert [one.name for one in seen({"nodes.txt": text}, spare=rule).group.spares] == ["n4"]


# --- tenants of sites that were not rendered here ---

HEAD = "Cluster|Account|User|ParentName|Share|GrpTRES|QOS|Def QOS|Partition\n"
QOS = "Name|Priority|GraceTime|Preempt|PreemptMode|Flags|GrpTRES|MaxWall|MaxTRESPU|MaxJobsPU\n"


def site(accounts: str, qos: str = "normal|0|00:00:00||cluster|||||\n") -> dict[str, str]:
    return {"nodes.txt": nodes("h200", count=8), "assoc.txt": HEAD + accounts, "qos.txt": QOS + qos}


def test_limits_that_fit_at_once_are_quotas(seen: Observe) -> None:
    found = seen(site("c|a||root|3|gres/gpu=40|normal||\nc|b||root|1|cpu=9,gres/gpu=24|normal||\n"))
    assert tenants(found) == {"a": (3, 40, 40, "normal"), "b": (1, 24, 24, "normal")}


def test_part_by_share_that_would_be_above_the_limit_is_the_limit(seen: Observe) -> None:
    """64 GPUs by 50 : 1 : 1 are 62, 1 and 1; the first may hold 20, so that the others share 44."""
    found = seen(site("c|a||root|50|gres/gpu=20|normal||\nc|b||root|1||normal||\nc|d||root|1||normal||\n"))
    assert tenants(found) == {
        "a": (50, 20, 20, "normal"),
        "b": (1, None, None, "normal"),
        "d": (1, None, None, "normal"),
    }


def test_limits_that_do_not_fit_stay_limits_and_quotas_auto(seen: Observe) -> None:
    found = seen(site("c|a||root|3|gres/gpu=60|normal||\nc|b||root|1|gres/gpu=24|normal||\n"))
    assert tenants(found) == {"a": (3, None, 60, "normal"), "b": (1, None, 24, "normal")}


def test_quota_is_that_of_the_default_qos_of_one_account_only(seen: Observe) -> None:
    qos = "normal|0|00:00:00||cluster|||||\nqa|5|00:00:00||cluster||gres/gpu=16|||\n"
    found = seen(site("c|a||root|1||normal,qa|qa|\nc|b||root|1||normal|normal|\n", qos))
    assert tenants(found) == {"a": (1, 16, None, "normal"), "b": (1, None, None, "normal")}


def test_overbooked_quotas_become_limits(seen: Observe) -> None:
    qos = "qa|5|00:00:00||cluster||gres/gpu=50|||\nqb|5|00:00:00||cluster||gres/gpu=50|||\n"
    found = seen(site("c|a||root|1||qa|qa|\nc|b||root|1||qb|qb|\n", qos))
    assert tenants(found) == {"a": (1, None, 50, "normal"), "b": (1, None, 50, "normal")}


def test_priorities_follow_who_preempts_whom_not_numbers_alone(seen: Observe) -> None:
    accounts = "c|a||root|1||qa|qa|\nc|b||root|1||qb|qb|\nc|d||root|1||qd|qd|\n"
    numbers = "qa|5|||cluster|||||\nqb|50|||cluster|||||\nqd|500|||cluster|||||\n".replace(
        "|||cluster", "|00:00:00||cluster"
    )
    found = seen(site(accounts, numbers))
    assert {one[3] for one in tenants(found).values()} == {"normal"}
    assert any("do not preempt each other" in one.message for one in found.findings)
    chain = numbers.replace("50|00:00:00||", "50|00:00:00|qa|", 1).replace("500|00:00:00||", "500|00:00:00|qa,qb|")
    assert [one[3] for one in tenants(seen(site(accounts, chain))).values()] == ["low", "normal", "high"]


def test_people_of_accounts_below_count_to_the_tenant_and_the_account_is_named_as_lost(seen: Observe) -> None:
    accounts = "c|a||root|1||normal||\nc|a1||a|9|gres/gpu=4|normal||\nc|a1|eve||1||normal||\nc|a|bob||1||normal||\n"
    found = seen(site(accounts))
    assert found.spec["tenants"] == [{"name": "a", "share": 1, "users": ["eve", "bob"]}]
    lost = [str(one.place) for one in found.findings if one.code == "OBSERVE-LEFT-OUT" and "'a1'" in one.message]
    assert lost == ["assoc.txt:3:1"]


def test_partitions_and_qos_that_a_design_does_not_write_are_listed_as_lost(seen: Observe, recorded: Any) -> None:
    text = recorded["partitions.txt"].replace("PartitionName=interactive", "PartitionName=long")
    extra = recorded["qos.txt"] + "vip" + recorded["qos.txt"].splitlines()[1].removeprefix("normal") + "\n"
    found = seen(recorded | {"partitions.txt": text, "qos.txt": extra})
    lost = [one.message for one in found.findings if one.code == "OBSERVE-LEFT-OUT"]
    assert any("partition 'long' of 40 nodes, jobs up to 08:00:00" in one for one in lost)
    assert any(one.startswith("QOS 'vip'") for one in lost)


# --- bad and hostile dumps ---


def test_reason_comment_and_kernel_cannot_stand_in_for_fields(seen: Observe, recorded: Any) -> None:
    evil = "Gres=gpu:h100:800 Partitions=x NodeName=evil RealMemory=1 CPUTot=1"
    text = recorded["nodes.txt"].replace("OS=Linux", f"OS={evil} Linux")
    text = text.replace("   ExtSensorsJoules", f"   Reason={evil} [root@2026-01-01T00:00:00]\n   ExtSensorsJoules")
    for made in (text, one_line(text)):
        assert seen(recorded | {"nodes.txt": made}).spec == seen(recorded).spec


@pytest.mark.parametrize("name", ["$(reboot)", "a;b", "\x1b[2Jn", "n'1", "../n", "x" * 300])
def test_hostile_names_of_nodes_are_refused_by_line_without_control_characters(seen: Observe, name: str) -> None:
    said = refused(lambda: seen({"nodes.txt": nodes("h200") + nodes("h200", first=9).replace("n9", name)}))
    assert said[0].startswith("nodes.txt:3:1 OBSERVE-NAME")
    assert all(text.isprintable() for text in said)


def test_hostile_accounts_and_users_are_refused_by_line(seen: Observe) -> None:
    said = refused(lambda: seen(site("c|a`id`||root|1||normal||\nc|b||root|1||normal||\nc|b|x\x1b[1m||1||normal||\n")))
    assert [one[:27] for one in said] == ["assoc.txt:2:1 OBSERVE-NAME ", "assoc.txt:4:1 OBSERVE-NAME "]


def test_every_error_is_said_at_once(seen: Observe) -> None:
    texts = site("c|a||root|1\n") | {
        "broken.json": '{"nodes": [',
        "partitions.txt": "PartitionName=p\n   AllowGroups=ALL\n",
    }
    said = refused(lambda: seen(texts))
    assert [one.split()[0] for one in said] == ["broken.json:1:12", "partitions.txt:1:1", "assoc.txt:2:1"]


@pytest.mark.parametrize("end", range(200, 3200, 97))
def test_dump_that_is_cut_off_anywhere_is_never_taken_for_a_whole_one(seen: Observe, recorded: Any, end: int) -> None:
    """The last node is short of fields, or partitions name nodes that are gone."""
    said = refused(lambda: seen(recorded | {"nodes.txt": recorded["nodes.txt"][:end]}))
    assert {one.split()[1] for one in said} <= {"OBSERVE-FILE", "OBSERVE-MIXED"}


def test_files_of_two_clusters_are_refused(seen: Observe, recorded: Any) -> None:
    said = refused(lambda: seen(recorded | {"assoc.txt": recorded["assoc.txt"].replace("north|", "south|")}))
    assert said == ["assoc.txt:2:1 OBSERVE-MIXED has accounts of cluster 'south' and none of 'north'"]
    said = refused(lambda: seen(recorded | {"nodes.txt": nodes("h100", "hgx-h100")}))
    assert any("partition 'train' has 40 nodes that no file describes" in one for one in said)


@pytest.mark.parametrize("texts", [{}, {"a": ""}, {"b": "hello\n"}, {"c": "{}"}, {"d": "[1]"}, {"e": "\0\1\2"}])
def test_dump_without_nodes_is_refused(seen: Observe, texts: dict[str, str]) -> None:
    assert [one.split()[1] for one in refused(lambda: seen(texts))] == ["OBSERVE-NODES"]


def test_cpu_nodes_alone_are_refused(seen: Observe) -> None:
    text = nodes("x").replace("Gres=gpu:x:8", "Gres=(null)")
    assert refused(lambda: seen({"nodes.txt": text})) == [
        "nodes OBSERVE-NODES 2 nodes, none of them with GPUs that run jobs"
    ]


def test_hundred_thousand_nodes_take_less_than_five_seconds_of_processor_time(seen: Observe, recorded: Any) -> None:
    block = recorded["nodes.txt"].split("\n\n")[0]
    text = "\n\n".join(block.replace("s1-compute-0001", f"n{i:06d}") for i in range(100_000))
    leaves = "\n".join(f"SwitchName=l{i} Level=0 Nodes=n[{i * 32:06d}-{i * 32 + 31:06d}]" for i in range(3125))
    begun = time.process_time()
    found = seen({"nodes.txt": text, "topology.txt": leaves})
    assert time.process_time() - begun < 5
    assert found.spec["compute"]["gpus"] == 800_000
    assert len(found.leaves) == 3125


# --- the verb ---


def verb(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "clusterwright", *words], capture_output=True, text=True, check=False)


def test_verb_writes_a_spec_that_check_takes_and_a_cluster_that_loads(tmp_path: Path) -> None:
    from clusterwright.cluster import load

    out = tmp_path / "north.yaml"
    done = verb("observe", "--dump", str(RECORDED), "--out", str(out), "--cluster", str(tmp_path), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "clusterwright/observation/1"
    assert verb("check", str(out)).returncode == 0
    cluster = load(tmp_path)
    assert cluster.value("compute.nodes") == 40
    assert cluster.value("compute.gpus") == 320
    (row,) = cluster.tables["nodes"].where(role="spare")
    assert (row["count"], row["gpus"], row["server"]) == (2, 8, "hgx-h100")
    assert cluster.frame.figure("compute.gpus").provenance.kind == "observed"


def test_verb_ends_with_2_when_a_part_must_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(nodes("h100"))
    done = verb("observe", "--dump", str(tmp_path))
    assert done.returncode == 2
    assert "nodes.txt:1:1 OBSERVE-PART" in done.stderr
    assert "Traceback" not in done.stderr
    assert verb("observe", "--dump", str(tmp_path), "--set", "compute.accelerators=[h100-sxm-80gb]").returncode == 0


def test_how_prints_a_block_that_a_shell_takes() -> None:
    assert subprocess.run(["bash", "-n"], input=how(), text=True, check=False).returncode == 0
    assert "scontrol --all show node > dump/nodes.txt" in how()


@pytest.mark.parametrize("text", ["CPUTot=0", "CPUTot=-4", "CPUTot=x", "CPUTot=1e3"])
def test_counts_that_are_none_are_refused_by_line(seen: Observe, text: str) -> None:
    made = nodes("h200", count=1) + nodes("h200", count=1, first=2).replace("CPUTot=128", text)
    assert refused(lambda: seen({"nodes.txt": made}))[0].startswith("nodes.txt:2:1 OBSERVE-FILE node 'n2'")


@pytest.mark.parametrize("listed", ["n[9-1]", "n[1-", "n[1-99999999]", "n[[1]]"])
def test_host_lists_that_are_none_are_refused_by_line(seen: Observe, listed: str) -> None:
    part = f"PartitionName=p AllowGroups=ALL Nodes={listed} MaxTime=UNLIMITED\n"
    said = refused(lambda: seen({"nodes.txt": nodes("h200"), "partitions.txt": part}))
    assert said[0].startswith("partitions.txt:1:1 OBSERVE-FILE")


def test_five_thousand_accounts_take_less_than_two_seconds_of_processor_time(seen: Observe) -> None:
    lines = "".join(f"c|a{i}||root|1||normal||\nc|a{i}|u{i}||1||normal||\n" for i in range(5000))
    begun = time.process_time()
    assert len(seen(site(lines)).tenants) == 5000
    assert time.process_time() - begun < 2
