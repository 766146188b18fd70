"""Faults planted in each kind of file of Slurm; the gate catches every one, most by our own reading."""

import re

import pytest

from tests.unit.deploy.conftest import planted


def swap(old, new, count=1):
    return lambda text: text.replace(old, new, count)


def sub(pattern, new):
    return lambda text: re.sub(pattern, new, text, count=1, flags=re.MULTILINE)


def drop(pattern):
    return sub(rf"^{pattern}.*\n", "")


CONF = {
    "unknown parameter": swap("SlurmdTimeout=300", "SlurmdTimeOutt=300"),
    "bad number": swap("SlurmdTimeout=300", "SlurmdTimeout=5min"),
    "unknown word": swap("bf_continue", "bf_continu"),
    "missing key": drop("ClusterName"),
    "key twice": swap("KillWait=60", "KillWait=60\nKillWait=30"),
    "node of a partition that is not there": swap(
        "Nodes=s1-compute-[0001-0128] Default=YES", "Nodes=s1-compute-[0001-0129] Default=YES"
    ),
    "GPU count": swap("Gres=gpu:h100:8", "Gres=gpu:h100:4"),
    "cores": swap("CoresPerSocket=32", "CoresPerSocket=64"),
    "controller": swap("SlurmctldHost=s1-scheduler-0001(", "SlurmctldHost=s1-schedular-0001("),
    "QOS": swap("DenyQos=interactive", "DenyQos=interaktive"),
    "account": swap("AllowAccounts=operations", "AllowAccounts=operators"),
    "port": swap("SlurmctldPort=6817", "SlurmctldPort=6871"),
    "address": swap("NodeAddr=10.0.1.[0-127]", "NodeAddr=10.0.1.[1-128]"),
    "addresses too few": swap("NodeAddr=10.0.1.[0-127]", "NodeAddr=10.0.1.[0-126]"),
    "time": swap("MaxTime=1-00:00:00", "MaxTime=1d"),
    "window": swap("bf_window=1440", "bf_window=60"),
    "script": swap("scripts/prolog.sh", "scripts/prologue.sh"),
    "no GPUs tracked": swap("AccountingStorageTRES=gres/gpu,gres/gpu:h100", "AccountingStorageTRES=gres/mps"),
    "parameter of another release": swap("KillWait=60", "NamespaceType=namespace/linux"),
}
GRES = {
    "device count": swap("[0-7]", "[0-6]"),
    "type": swap("Type=h100", "Type=a100"),
    "unknown key": swap("Type=", "Typ="),
    "node": swap("s1-spare-[0001-0005]", "s1-spare-[0001-0006]"),
    "line missing": drop(r"NodeName=s1-spare"),
    "broken list": swap("s1-spare-[0001-0005]", "s1-spare-[0001-0005"),
}
CGROUP = {
    "devices open": swap("ConstrainDevices=yes", "ConstrainDevices=no"),
    "unknown key": swap("ConstrainCores", "ConstrainCore"),
    "bad boolean": swap("ConstrainRAMSpace=yes", "ConstrainRAMSpace=please"),
    "bad number": swap("AllowedSwapSpace=0", "AllowedSwapSpace=0%"),
    "missing key": drop("ConstrainDevices"),
    "of another release": swap("ConstrainCores=yes", "ConstrainCores=yes\nCgroupSlice=x"),
}
TOPOLOGY = {
    "node twice": swap("Nodes=s1-compute-[0033-0064]", "Nodes=s1-compute-[0032-0064]"),
    "node missing": swap("Nodes=s1-compute-[0033-0064]", "Nodes=s1-compute-[0034-0064]"),
    "unknown child": swap("s1-su[001-005]", "s1-su[001-006]"),
    "two roots": swap("s1-su[001-005]", "s1-su[001-004]"),
    "unknown key": swap("Switches=", "Switch="),
    "switch twice": swap("SwitchName=s1-su002", "SwitchName=s1-su001"),
    "foreign node": swap("Nodes=s1-spare-[0001-0005]", "Nodes=s1-spare-[0001-0006]"),
}
YAML = {
    "node twice": swap("s1-compute-[0033-0064]", "s1-compute-[0032-0064]"),
    "unknown key": swap("cluster_default", "default"),
    "no default": swap("cluster_default: true", "cluster_default: false"),
    "no YAML": swap("- topology", "- topology: ["),
    "block size": swap("    - 64", "    - 63"),
    "unknown child": swap("s1-su[001-005]", "s1-su[001-009]"),
    "name twice": swap("topology: units", "topology: fabric"),
}
DATABASE = {
    "password": swap("StorageUser=slurm", "StorageUser=slurm\nStoragePass=hunter2"),
    "unknown key": swap("StorageLoc", "StorageLocation"),
    "host": swap("DbdHost=s1-scheduler-0003", "DbdHost=s1-scheduler-0009"),
    "port": swap("DbdPort=6819", "DbdPort=6818"),
    "bad time": swap("PurgeJobAfter=24month", "PurgeJobAfter=2y"),
    "missing key": drop("StorageType"),
    "no password at all": drop("Include"),
}
ACCOUNTS = {
    "quota": swap("GrpTRES=gres/gpu=512 MaxTRES", "GrpTRES=gres/gpu=521 MaxTRES"),
    "limit": swap("GrpTRES=gres/gpu=1024", "GrpTRES=gres/gpu=1025"),
    "share": swap("fairshare=2", "fairshare=3"),
    "unit": swap("GrpTRES=gres/gpu=256", "GrpTRES=gpu=256"),
    "parent": swap("parent=root", "parent=rot"),
    "QOS": swap("QOS=research-own,borrow", "QOS=research-own,borow"),
    "preempted": swap("Preempt=operations,borrow", "Preempt=operations,borow"),
    "unknown key": swap("GraceTime=120", "Grace=120"),
    "user missing": swap("users research alice,bob", "users research alice"),
    "cluster": swap("readonly CLUSTER=llm-70b", "readonly CLUSTER=llm-70"),
    "account missing": drop("account students"),
}
SCRIPT = {
    "asks the controller": sub(r"^exit 0$", "scontrol ping\nexit 0"),
    "asks for jobs": sub(r"^exit 0$", "squeue\nexit 0"),
    "no shebang": swap("#!/bin/bash\n", ""),
    "drains by itself": sub(r"^exit 0$", "x=$(sinfo)\nexit 0"),
    "no exit code": lambda text: re.sub(r"^exit 0$", "", text, flags=re.MULTILINE),
}
HEALTH = {
    "GPUs": swap("EXPECT_GPUS=8", "EXPECT_GPUS=4"),
    "threads": swap("EXPECT_CPUS=128", "EXPECT_CPUS=64"),
    "memory": sub(r"EXPECT_MEMORY_MIB=\d+", "EXPECT_MEMORY_MIB=2TB"),
    "group": swap("s1-compute-*)", "s1-computer-*)"),
    "key": swap("EXPECT_GPUS", "EXPECTED_GPUS"),
}
XID = {
    "action": swap(",drain,", ",drian,"),
    "code": swap("\n79,", "\nXID79,"),
    "twice": swap("\n79,", "\n48,"),
    "column missing": sub(r"^79,.*$", "79,drain"),
    "header": swap("xid,mnemonic", "code,mnemonic"),
}
LUA = {
    "quota": swap("own = 512", "own = 1512"),
    "limit": swap("most = 512", "most = 64"),
    "account": swap('["research"]', '["reserach"]'),
    "partition": swap('["spare"] = true', '["spares"] = true'),
    "GPUs of a node": swap("NODE_GPUS = 8", "NODE_GPUS = 4"),
    "function": swap("function slurm_job_modify(", "function slurm_job_modifies("),
}
JOB = {
    "account": swap("--account=research", "--account=reserach"),
    "QOS": swap("--qos=borrow", "--qos=lend"),
    "partition": swap("--partition=train", "--partition=gpu"),
    "nodes": swap("--nodes=128", "--nodes=129"),
    "GPUs": swap("--gpus-per-node=8", "--gpus-per-node=16"),
    "time": swap("--time=1-00:00:00", "--time=30-00:00:00"),
    "signal": swap("B:USR1@120", "B:USR1@999999"),
    "missing": drop("#SBATCH --time"),
}
PLUGINS = {
    "word": swap("required /", "requires /"),
    "relative": swap("required /usr", "required usr"),
    "path missing": sub(r"^required.*$", "required"),
    "empty word": sub(r"^required ", ""),
    "typo": swap("required", "requird"),
}
CONTAINER = {
    "unknown key": swap("BasePath", "Base"),
    "bad boolean": swap("AutoBasePath=true", "AutoBasePath=maybe"),
    "missing key": drop("BasePath"),
    "no pair": swap("Dirs=", "Dirs "),
    "twice": swap("Dirs=", "BasePath=/x\nDirs="),
}
NAMESPACE = {
    "unknown key": swap("base_path", "basepath"),
    "unknown section": swap("defaults:", "default:"),
    "key missing": drop(r"\s+dirs"),
    "no mapping": lambda _: "- a\n",
    "no YAML": lambda _: "a: [\n",
}
TABLE = {
    ("22.05", "slurm.conf"): CONF,
    ("22.05", "gres.conf"): GRES,
    ("25.05", "cgroup.conf"): CGROUP,
    ("22.05", "topology.conf"): TOPOLOGY,
    ("25.05", "topology.yaml"): YAML,
    ("25.05", "slurmdbd.conf"): DATABASE,
    ("25.05", "accounts.sh"): ACCOUNTS,
    ("25.05", "scripts/prolog.sh"): SCRIPT,
    ("25.05", "scripts/epilog.sh"): SCRIPT,
    ("25.05", "health.conf"): HEALTH,
    ("25.05", "xid_actions.csv"): XID,
    ("25.05", "job_submit.lua"): LUA,
    ("25.05", "batch/pretrain.sbatch"): JOB,
    ("25.05", "plugstack.conf"): PLUGINS,
    ("25.05", "job_container.conf"): CONTAINER,
    ("25.11", "namespace.yaml"): NAMESPACE,
}


@pytest.mark.parametrize(
    ("release", "name", "fault"),
    [(release, name, fault) for (release, name), faults in TABLE.items() for fault in faults],
)
def test_a_planted_fault_is_caught_without_any_tool(release, name, fault, worked, render_of, tmp_path):
    bundle = render_of(worked, "slurm", slurm=release)
    failed = planted(bundle, f"slurm/main/{name}", TABLE[release, name][fault], tmp_path / "b", live=False)
    assert failed, f"{fault} in {name} was not caught"


def test_at_least_five_faults_of_each_kind_of_file():
    assert min(len(faults) for faults in TABLE.values()) >= 5
