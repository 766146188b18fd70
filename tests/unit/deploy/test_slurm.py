"""Slurm: what is written for a design, by release, and what real Slurm says of it."""

import re
import subprocess

import pytest
import yaml

from clusterwright.deploy import VERSIONS, render, verify
from clusterwright.deploy.judges.programs import Program
from clusterwright.deploy.judges.slurm import MARIADBD, SLURMCTLD, SLURMDBD
from clusterwright.deploy.targets.slurm.site import share_of
from clusterwright.deploy.targets.slurm.strict import wrong_lines
from clusterwright.deploy.targets.slurm.versions import Dialect, parameters, values
from clusterwright.domains.scheduling import duration, hosts, minutes, parse
from clusterwright.domains.scheduling.policy_text import read_policy
from clusterwright.errors import InputError

RELEASES = VERSIONS["slurm"]


def text(bundle, name, site="main"):
    return bundle.files[f"slurm/{site}/{name}"].text


def setting(bundle, key, name="slurm.conf"):
    return next((line.value for line in parse(text(bundle, name)) if line.key == key), "")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("design", ["worked", "rack_scale"])
def test_every_release_accepts_its_files_by_our_own_reading(design, release, render_of, request, tmp_path):
    bundle = render_of(request.getfixturevalue(design), "slurm", slurm=release)
    bundle.write(tmp_path / "b")
    checks = verify(tmp_path / "b", live=False)
    assert [check for check in checks if not check.ok or check.level == "none"] == []


def test_nodes_are_what_the_design_says(worked, render_of):
    lines = [line for line in parse(text(render_of(worked, "slurm"), "slurm.conf")) if line.key == "NodeName"]
    assert [len(hosts(line.value)) for line in lines] == [128, 5]
    first = lines[0]
    # hgx-h100: 2 sockets x 32 cores x 2 threads, 2 TB of memory, of which 97 % are written: 2e12 * 0.97 / 2**20
    assert [first.get(k) for k in ("Sockets", "CoresPerSocket", "ThreadsPerCore", "CPUs")] == ["2", "32", "2", "128"]
    assert (first.get("RealMemory"), first.get("Gres")) == ("1850128", "gpu:h100:8")
    assert hosts(first.get("NodeAddr"))[0] == "10.0.1.0" and len(hosts(first.get("NodeAddr"))) == 128


def test_quotas_limits_and_shares_become_qos_and_accounts(worked, render_of):
    bundle = render_of(worked, "slurm")
    policy = read_policy(text(bundle, "slurm.conf"), text(bundle, "accounts.sh"))
    accounts = {one.name: (one.share, one.gpus, one.users) for one in policy.accounts}
    assert accounts["research"] == (2.0, 1024, ("alice", "bob"))
    assert accounts["prod-serving"] == (1.0, 512, ("carol",))
    qos = {one.name: one for one in policy.qos}
    assert [qos[f"{name}-own"].gpus for name in ("research", "prod-serving", "students")] == [512, 256, 256]
    assert "research-own" in qos["prod-serving-own"].preempts and "prod-serving-own" not in qos["research-own"].preempts
    assert all("borrow" in one.preempts for one in policy.qos if one.name.endswith("-own"))


@pytest.mark.parametrize("release", ["22.05", "25.11"])
def test_the_policy_written_and_read_back_is_the_same(release, worked, render_of):
    from clusterwright.deploy.targets.slurm.policy import policy_of, shares
    from clusterwright.deploy.targets.slurm.site import Here

    bundle = render_of(worked, "slurm", slurm=release)
    here = Here(bundle.inventory, bundle.inventory.sites[0])
    assert read_policy(text(bundle, "slurm.conf"), text(bundle, "accounts.sh"), shares(here)) == policy_of(here)


def test_the_longest_job_loses_at_most_a_hundredth_to_its_restart(worked, render_of):
    # restart 462.8 s + checkpoint 15.9 s = 479 s; a hundredth of 86,400 s is 864 s: one day is enough
    policy = read_policy(text(b := render_of(worked, "slurm"), "slurm.conf"), text(b, "accounts.sh"))
    assert policy.partition("train").max_time_min == 1440
    assert policy.backfill.window_min >= 1440


def test_differences_between_releases():
    assert Dialect("22.05").lines("slurm.conf/topology")[0][:2] == ("RoutePlugin", "route/topology")
    assert Dialect("23.11").words("TopologyParam") == "RouteTree"
    assert Dialect("24.11").timeouts(120, 60) == [("PrologEpilogTimeout", 120)]
    assert Dialect("25.05").timeouts(120, 60) == [("PrologTimeout", 120), ("EpilogTimeout", 60)]
    assert not Dialect("22.05").block_fits([18, 18])
    assert Dialect("23.11").block_fits([18, 18]) and not Dialect("23.11").block_fits([18, 10])
    assert not Dialect("24.11").block_fits([18, 10]) and Dialect("25.05").block_fits([18, 10])


def test_tables_of_parameters_follow_the_sources():
    # option tables of src/common/read_config.c and topology plug-ins, branch by branch
    assert "preemptparameters" not in parameters("22.05")["slurm.conf"]
    assert "preemptparameters" in parameters("23.11")["slurm.conf"]
    assert (
        "namespacetype" in parameters("25.11")["slurm.conf"]
        and "namespacetype" not in parameters("25.05")["slurm.conf"]
    )
    assert (
        "blocklevels" in parameters("23.11")["topology.conf"]
        and "blocksizes" not in parameters("23.11")["topology.conf"]
    )
    assert parameters("25.11")["slurm.conf"]["slurmdtimeout"] == ("SlurmdTimeout", "uint16")
    assert "topology/block" not in values("22.05")["topologyplugin"]


def test_topology_by_release(worked, rack_scale, render_of):
    tree = text(render_of(worked, "slurm", slurm="22.05"), "topology.conf")
    assert re.findall(r"^SwitchName=\S+ Nodes=(\S+)$", tree, re.M)[0] == "s1-compute-[0001-0032]"
    levels = text(render_of(rack_scale, "slurm", slurm="23.11"), "topology.conf")
    assert levels.count("BlockName=") == 9 and "BlockLevels=0-3" in levels
    assert "BlockSizes=18,36,72,144" in text(render_of(rack_scale, "slurm", slurm="24.11"), "topology.conf")
    both = yaml.safe_load(text(render_of(rack_scale, "slurm", slurm="25.05"), "topology.yaml"))
    assert [(one["topology"], one["cluster_default"]) for one in both] == [("nvlink", True), ("fabric", False)]
    assert {len(hosts(block["nodes"])) for block in both[0]["block"]["blocks"]} == {18}
    assert [one["cluster_default"] for one in yaml.safe_load(text(render_of(worked, "slurm"), "topology.yaml"))] == [
        True,
        False,
    ]


def test_no_password_and_no_controller_in_prolog(worked, render_of):
    bundle = render_of(worked, "slurm", slurm="25.05")
    assert "StoragePass=" not in re.sub("#.*", "", text(bundle, "slurmdbd.conf"))
    assert "Include /etc/slurm/secrets/" in text(bundle, "slurmdbd.conf")
    assert "StoragePassScript=" in text(render_of(worked, "slurm", slurm="25.11"), "slurmdbd.conf")
    for name in ("prolog", "epilog"):
        assert not re.search(r"\b(scontrol|squeue)\b", text(bundle, f"scripts/{name}.sh"))


def test_the_batch_script_carries_the_plan(worked, render_of):
    script = text(render_of(worked, "slurm", slurm="22.05"), "batch/pretrain.sbatch")
    for line in (
        "--nodes=128",
        "--gpus-per-node=8",
        "--time=1-00:00:00",
        "--signal=B:USR1@120",
        "--account=research",
        "--qos=borrow",
    ):
        assert f"#SBATCH {line}\n" in script
    assert "export TP=4 PP=4 CP=1 EP=1 MICRO_BATCH=" in script
    assert "export DP=$((SLURM_JOB_NUM_NODES * 8 / (TP * PP * CP)))" in script, "128 nodes of 8 / 16 = 64"
    assert "#SBATCH --requeue\n" in script
    assert "#SBATCH --requeue=expedite" in text(render_of(worked, "slurm", slurm="25.11"), "batch/pretrain.sbatch")


def test_equal_designs_give_equal_files_and_an_upgrade_is_a_small_change(worked, render_of):
    one, two = render_of(worked, "slurm", slurm="25.05"), render_of(worked, "slurm", slurm="25.05")
    assert one.files == two.files
    newer = render_of(worked, "slurm", slurm="24.11")
    old, new = text(one, "slurm.conf").splitlines(), text(newer, "slurm.conf").splitlines()
    assert 0 < len(set(old) ^ set(new)) < 12


def test_a_tenant_with_a_name_that_slurm_needs_is_refused(catalog):
    from clusterwright.design import design
    from clusterwright.spec import load_spec
    from tests.unit.deploy.conftest import EXAMPLES

    made = design(load_spec(EXAMPLES / "llm-70b.yaml", ("tenants=[{name: root}]",), catalog), catalog)
    with pytest.raises(InputError, match="root"):
        render(made, catalog, ["slurm"])


def test_shares_that_are_no_whole_numbers_are_written_as_such_and_agree(catalog, tmp_path):
    from clusterwright.design import design
    from clusterwright.spec import load_spec
    from tests.unit.deploy.conftest import EXAMPLES

    spec = "tenants=[{name: a, share: 1.5}, {name: b, share: 0.333333333}]"
    bundle = render(design(load_spec(EXAMPLES / "llm-70b.yaml", (spec,), catalog), catalog), catalog, ["slurm"])
    assert "account a parent=root fairshare=1500000 " in text(bundle, "accounts.sh")
    bundle.write(tmp_path / "b")
    assert [check for check in verify(tmp_path / "b", live=False) if not check.ok] == []


def test_a_workload_argument_that_a_shell_would_obey_is_refused(worked, render_of):
    worked.answers["launch"] = [{"x": {"text": "", "arguments": {"--a": "$(reboot)"}}}]
    try:
        with pytest.raises(InputError, match="cannot be written"):
            render_of(worked, "slurm")
    finally:
        del worked.answers["launch"]


def test_parts_of_a_number_lose_nothing():
    assert share_of(1000, [3, 3, 3]) == [334, 333, 333]
    assert share_of(5, [0, 10]) == [0, 5]


def test_host_lists_and_times_as_slurm_reads_them():
    # hostlist of slurm.conf(5); times of sbatch(1): minutes, minutes:seconds, h:m:s, d-h, d-h:m:s
    assert hosts("n[01-03,7],m") == ["n01", "n02", "n03", "n7", "m"]
    assert [minutes(t) for t in ("90", "8:30", "1:00:00", "2-12", "2-00:00:00", "UNLIMITED")] == [
        90,
        9,
        60,
        3600,
        2880,
        0,
    ]
    assert duration(2880) == "2-00:00:00"
    with pytest.raises(ValueError, match="brackets"):
        hosts("n[01-03")


def test_xid_policy_counts_what_would_drain_half_a_fleet(worked, render_of):
    bundle = render_of(worked, "slurm")
    actions = {line.split(",")[0]: line.split(",")[2] for line in text(bundle, "xid_actions.csv").splitlines()}
    assert (actions["79"], actions["45"], actions["94"], actions["154"]) == ("drain", "count", "after-job", "recovery")


def xid_checks(tmp_path, bundle, log):
    """Run the XID part of checks.sh on a made-up kernel log."""
    for name in ("xid_actions.csv", "xid_overrides.csv"):
        (tmp_path / name).write_text(text(bundle, name))
    script = text(bundle, "scripts/checks.sh")
    part = script[script.index("check_xid()") : script.index("check_system\n", script.index("check_xid()"))]
    values = f"CONF={tmp_path} MODE=fast HEALTH_XID_SINCE=x HEALTH_XID_REPEATS=3 bad=0"
    program = f"{values}\nkernel_log() {{ cat {tmp_path}/log; }}\n{part}\ncheck_xid; exit $bad"
    (tmp_path / "log").write_text(log)
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("line", "drains"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", True),
        ("NVRM: Xid (PCI:0000:3b:00): 45, pid=1, Ch 00000010", False),
        ("NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU Fault", False),
        ("NVRM: Xid (PCI:0000:3b:00): 145, RLW_REMAP Nonfatal XC0", False),
        ("NVRM: Xid (PCI:0000:3b:00): 145, RLW_REMAP Fatal XC0", True),
        ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (Reset) to 0x0 (None)", False),
        ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot)", True),
    ],
)
def test_the_xid_check_drains_for_what_breaks_a_gpu_only(line, drains, worked, render_of, tmp_path):
    code, said = xid_checks(tmp_path, render_of(worked, "slurm"), f"1.0 host kernel: {line}\n" * 2)
    assert (code == 1, said.count("xid: ")) == (drains, int(drains))


def needs(*programs: Program):
    absent = [p for p in programs if p.path is None]
    return pytest.mark.skipif(bool(absent), reason="; ".join(f"{p.name}: {p.install}" for p in absent))


@pytest.mark.slow
@needs(SLURMCTLD, SLURMDBD, MARIADBD)
@pytest.mark.parametrize(("design", "release"), [("worked", "22.05"), ("rack_scale", "25.11")])
def test_real_slurm_holds_what_is_written(design, release, render_of, request, tmp_path):
    render_of(request.getfixturevalue(design), "slurm", slurm=release).write(tmp_path / "b")
    checks = verify(tmp_path / "b")
    assert [check for check in checks if not check.ok] == []
    judged = {(check.file.removeprefix("slurm/main/"), check.judge) for check in checks if check.level == "tool"}
    assert {("slurm.conf", "slurmctld"), ("accounts.sh", "slurmdbd"), ("job_submit.lua", "slurmctld")} <= judged


@pytest.mark.parametrize(
    "line", ["Foo=1", "SlurmdTimeout=abc", "SlurmdTimeout=99999", "PriorityFlags=NONSENSE", "TCPTimeout"]
)
def test_a_line_that_the_release_does_not_know_is_named(line):
    assert any(line.split("=")[0] in said for said in wrong_lines("slurm.conf", line, "22.05") if "missing" not in said)


@pytest.mark.slow
@needs(SLURMCTLD, SLURMDBD, MARIADBD)
def test_real_slurm_refuses_a_switch_that_is_nowhere(worked, render_of, tmp_path):
    from tests.unit.deploy.conftest import planted

    bundle = render_of(worked, "slurm", slurm="22.05")
    failed = planted(
        bundle,
        "slurm/main/topology.conf",
        lambda found: found.replace("s1-su[001-005]", "s1-su[001-006]"),
        tmp_path / "b",
        live=True,
    )
    assert ("slurm/main/topology.conf", "slurmctld") in {(check.file, check.judge) for check in failed}
