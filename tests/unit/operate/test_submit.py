"""From a job to a batch script: what the planner decides and refuses, and what the script does when it is run."""

from __future__ import annotations

import math
import os
import re
import subprocess
from pathlib import Path

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import dumps, load
from clusterwright.deploy.targets.slurm.jobs import batch_script
from clusterwright.deploy.targets.slurm.versions import Dialect
from clusterwright.design import design
from clusterwright.errors import InputError
from clusterwright.operate import Site
from clusterwright.operate.submit import Planned, plan_job
from clusterwright.spec import read_job, read_spec

SPEC = """\
version: 1
name: small
workloads:
  - name: tune
    train: {model: llama-3-8b, tokens: 5e9, global_batch: 512 sequences}
compute: {accelerators: [h100-sxm-80gb], gpus: 64}
scheduler: {kind: slurm}
sites: [{name: main, region: us-east, rack_power: 50 kW}]
tenants:
  - {name: research, share: 2, quota: 40}
  - {name: students, share: 1, quota: 24, limit: 32, priority: low}
"""
RUN = "version: 1\nname: run\ncommand: [train.py]\ngpus: 16\ntime_limit: 1 h\ntenant: research\n"
TRAIN = """\
version: 1
name: run
train: {model: llama-3-8b, tokens: 1e9, global_batch: 512 sequences}
gpus: 32
tenant: research
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The design as a file: each plan gets a cluster of its own."""
    catalog = load_catalog()
    path = tmp_path_factory.mktemp("design") / "cluster.json"
    path.write_text(dumps(design(read_spec(SPEC, catalog=catalog), catalog)), "utf-8")
    return path


@pytest.fixture
def plan(saved, tmp_path):
    def planned(text: str, *sets: str) -> Planned:
        site = Site(tmp_path / "site.yaml", "small", tmp_path / "state", shared=Path("/shared"))
        return plan_job(read_job(text, overrides=sets), site, load(saved), load_catalog(), Path("/shared/me"))

    return planned


def script_of(planned: Planned, release: str = "22.05") -> str:
    return str(batch_script(planned.here, planned.workload, planned.tenant, planned.ask, Dialect(release)))


def codes(planned: Planned) -> list[str]:
    return [one.code for one in planned.findings]


def test_a_gang_takes_whole_nodes_of_its_tenants_account(plan):
    script = script_of(plan(RUN))
    for line in ("--nodes=2", "--gpus-per-node=8", "--exclusive", "--account=research", "--qos=research-own",
                 "--requeue", "--open-mode=append", "--time=0-01:00:00", "--chdir=/shared/me",
                 "--output=/shared/research/run/%x-%j.out", "--switches=1@01:00:00"):  # fmt: skip
        assert f"#SBATCH {line}\n" in script
    assert "--comment" not in script, "a plain number of GPUs may not shrink"


def test_a_job_that_may_shrink_says_so_in_nodes_in_its_comment(plan):
    assert "#SBATCH --comment=clusterwright:min=2,max=4\n" in script_of(plan(RUN, "gpus={min: 16, max: 32}"))


def test_a_newer_slurm_is_spoken_to_in_its_own_words(plan):
    assert "#SBATCH --requeue=expedite\n" in script_of(plan(RUN), "25.11")


def test_the_interval_between_checkpoints_is_dalys_by_the_failure_model(plan):
    figures = plan(TRAIN).workload.figures
    write, mean = figures["checkpoint_write_s"], figures["mtti_s"]
    by_hand = math.sqrt(2 * write * mean) * (1 + math.sqrt(write / (2 * mean)) / 3 + write / (2 * mean) / 9) - write
    assert figures["checkpoint_interval_s"] == pytest.approx(by_hand, rel=1e-9)  # Daly 2006, equation 37
    # 4 nodes; 3.79 interruptions per 1,000 node-days of the design's own rate
    half = plan(TRAIN, "gpus=16").workload.figures
    assert half["mtti_s"] == pytest.approx(2 * mean), "half the nodes, half the failures"


def test_an_interval_and_a_measured_write_time_of_the_job_are_taken(plan):
    assert plan(RUN, "checkpoint.interval=90 s").workload.figures["checkpoint_interval_s"] == 90
    slow, fast = (plan(RUN, f"checkpoint.write={s} s").workload.figures["checkpoint_interval_s"] for s in (40, 10))
    assert slow == pytest.approx(2 * fast, rel=0.02), "Young: with the root of the write time"


def test_a_training_run_gets_the_plan_of_the_laws_and_the_flags_of_megatron(plan):
    planned = plan(TRAIN)
    script = script_of(planned)
    degrees = planned.workload.plan
    assert degrees["tp"] * degrees["pp"] * degrees["cp"] * degrees["dp"] == 32
    assert f"export TP={degrees['tp']} PP={degrees['pp']} " in script
    assert "    pretrain_gpt.py\n" in script
    assert f"    --tensor-model-parallel-size\n    {degrees['tp']}\n" in script
    for flag in ("--save", "--load"):
        assert f"    {flag}\n    /shared/research/run\n" in script


def test_a_job_beyond_its_own_quota_borrows_and_is_told(plan):
    planned = plan(RUN, "gpus=48")
    assert codes(planned) == ["SUBMIT-BORROWS"]
    assert "#SBATCH --qos=borrow\n" in script_of(planned)


@pytest.mark.parametrize(
    ("sets", "code", "hint"),
    [
        (["gpus=72"], "SUBMIT-CAPACITY", "64"),
        (["gpus=48", "tenant=students"], "SUBMIT-QUOTA", "ask for 32 at most, or run it for research"),
        (["gpus=12"], "SUBMIT-SHAPE", "8 or 16"),
    ],
)
def test_what_cannot_run_is_refused_with_the_cheapest_way_out(plan, sets, code, hint):
    planned = plan(RUN, *sets)
    assert planned.refused
    assert code in codes(planned)
    assert hint in next(one.hint for one in planned.findings if one.code == code)


def test_a_model_that_does_not_fit_is_refused_with_the_gpus_on_which_it_does(plan):
    planned = plan(TRAIN, "train.model=llama-3-70b", "gpus=8", "train.plan={offload: none}")
    assert codes(planned)[0] == "SUBMIT-MEMORY"
    found = re.search(r"it fits on (\d+) GPUs", planned.findings[0].hint)
    assert found
    enough = plan(TRAIN, "train.model=llama-3-70b", f"gpus={found[1]}", "train.plan={offload: none}")
    assert "SUBMIT-MEMORY" not in codes(enough)


def test_a_range_in_which_the_batch_does_not_divide_is_refused(plan):
    planned = plan(TRAIN, "gpus={min: 16, max: 32}")  # 3 nodes: 24 GPUs do not divide 512 sequences
    assert codes(planned) == ["SUBMIT-SHRINK"]
    assert "24 GPUs" in planned.findings[0].message
    assert "'global_batch: 576 sequences'" in planned.findings[0].hint  # 6 x lcm(8, 12, 16 ranks, 2 sequences each)
    assert not plan(TRAIN, "gpus={min: 16, max: 32}", "train.global_batch=576 sequences").refused


def test_an_unknown_tenant_and_an_unusable_path_are_said_together(plan):
    with pytest.raises(InputError) as caught:
        plan(RUN, "tenant=reserch", "checkpoint.path=/shared/my run")
    found = {one.code: one.hint for one in caught.value.findings}
    assert set(found) == {"SUBMIT-TENANT", "SUBMIT-PATH"}
    assert "did you mean 'research'?" in found["SUBMIT-TENANT"]


def test_a_job_without_a_tenant_is_asked_for_one_where_there_are_several(plan):
    with pytest.raises(InputError) as caught:
        plan(RUN.replace("tenant: research\n", ""))
    assert [one.code for one in caught.value.findings] == ["SUBMIT-TENANT"]


# --- the script, run with programs that stand for Slurm's ---

HOSTILE = ["$(touch pwned)", "a'b", '"; touch pwned; "', "`touch pwned`", "a b", "-x", "$HOME", "\\", "é"]


@pytest.fixture
def bash(tmp_path):
    """Run a script; what srun was given, what scontrol was told, and the exit code."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    programs = {
        "srun": 'if [[ " $* " == *" --overlap "* ]]; then exit "${PROBE:-0}"; fi\n'
        'printf "%s\\n" "$@" > "$TMP_OUT/srun"; echo "E=$E" >> "$TMP_OUT/srun"; exit "${CODE:-0}"',
        "scontrol": 'echo "$*" >> "$TMP_OUT/scontrol"; [[ $2 == hostnames ]] && echo n1 && exit 0\n'
        '[[ $(wc -l < "$TMP_OUT/scontrol") -gt ${DOWN:-0} ]]',
        "sinfo": 'echo -n "$BAD"',
        "sleep": "exit 0",
    }
    for name, text in programs.items():
        (bin_ / name).write_text(f"#!/bin/bash\n{text}\n", "utf-8")
        (bin_ / name).chmod(0o755)

    def run(script: str, **environment: str) -> tuple[int, str, str]:
        surroundings = {
            "PATH": f"{bin_}:/usr/bin:/bin",
            "TMP_OUT": str(tmp_path),
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_JOB_NODELIST": "n[1-2]",
            "HOME": "/root",
        }
        (tmp_path / "scontrol").write_text("", "utf-8")
        done = subprocess.run(
            ["/bin/bash", "-s"], input=script, text=True, env=surroundings | environment, cwd=tmp_path, check=False,
            capture_output=True, timeout=60,
        )  # fmt: skip
        return done.returncode, (tmp_path / "srun").read_text("utf-8"), (tmp_path / "scontrol").read_text("utf-8")

    return run


@pytest.fixture
def own(plan, tmp_path):
    """A script whose checkpoints lie in the folder of the test."""

    def made(*sets: str) -> str:
        return script_of(plan(RUN, f"checkpoint.path={tmp_path}/kept", *sets))

    return made


def test_hostile_arguments_and_variables_reach_the_program_as_they_are(plan, bash, tmp_path):
    import json

    job = json.dumps(
        {"version": 1, "name": "run", "command": ["prog", *HOSTILE], "gpus": 16, "time_limit": "1 h",
         "tenant": "research", "checkpoint": {"path": str(tmp_path / "kept")}, "environment": {"E": "$(touch pwned)'"}}
    )  # fmt: skip
    code, given, _ = bash(script_of(plan(job)))
    assert code == 0
    assert given.splitlines()[-len(HOSTILE) - 2 :] == ["prog", *HOSTILE, "E=$(touch pwned)'"]
    assert not (tmp_path / "pwned").exists()


def test_torchrun_is_told_of_as_many_nodes_as_the_job_has_now(own, bash):
    _, given, _ = bash(own(), SLURM_JOB_NUM_NODES="1")
    assert {"--nodes=1", "--ntasks=1", "--nnodes=1", "--nproc-per-node=8", "train.py"} <= set(given.splitlines())


def test_a_failure_on_sound_nodes_is_the_jobs_own_and_is_counted(own, bash):
    script = own("retries=2")
    told = [bash(script, CODE="9") for _ in range(3)]
    assert [("requeue 7" in said, code) for code, _, said in told] == [(True, 9), (True, 9), (False, 9)]


@pytest.mark.parametrize("sign", [{"BAD": "n2"}, {"PROBE": "1"}])
def test_a_failure_with_a_lost_node_is_the_clusters_and_never_counted(own, bash, sign):
    script = own("retries=0")
    for _ in range(3):
        code, _, said = bash(script, CODE="9", **sign)
        assert (code, "requeue 7" in said) == (9, True)


def test_a_controller_that_is_down_is_asked_again_until_the_job_is_requeued(own, bash):
    code, _, said = bash(own(), CODE="9", PROBE="1", DOWN="6")
    assert (code, said.count("requeue 7")) == (9, 5), "hostnames, node, and four refusals come before"


def test_success_is_not_requeued(own, bash):
    code, _, said = bash(own())
    assert (code, "requeue" in said) == (0, False)


def test_the_script_is_clean_by_shellcheck(plan):
    import shutil

    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: make tools")
    for planned in (plan(RUN, "gpus={min: 16, max: 32}"), plan(TRAIN)):
        done = subprocess.run(
            ["shellcheck", "-s", "bash", "-"], input=script_of(planned), text=True, capture_output=True, check=False,
            env=os.environ | {"LANG": "C.UTF-8"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


def test_on_kubernetes_the_same_job_is_a_gang_with_the_same_retries(tmp_path):
    from clusterwright.deploy.targets.kubernetes.training import submitted
    from clusterwright.deploy.text import load_yamls

    catalog = load_catalog()
    cluster = design(read_spec(SPEC.replace("kind: slurm", "kind: kubernetes"), catalog=catalog), catalog)
    site = Site(tmp_path / "site.yaml", "small", tmp_path / "state", shared=Path("/workspace"))
    job = read_job(RUN.replace("[train.py]", "[train.py, '$(NODE_RANK)']") + "retries: 5\n")
    planned = plan_job(job, site, cluster, catalog, Path("/"))
    text = submitted(planned.inventory, planned.here.site.name, planned.workload, planned.tenant, planned.ask)
    jobset = load_yamls(text)[0]
    assert (jobset["kind"], jobset["metadata"]["namespace"]) == ("JobSet", "research")
    assert jobset["spec"]["failurePolicy"]["maxRestarts"] == 5
    inner = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (inner["parallelism"], inner["activeDeadlineSeconds"]) == (2, 3600)
    box = inner["template"]["spec"]["containers"][0]
    assert box["args"][-2:] == ["train.py", "$$(NODE_RANK)"], "a word of the job is no variable of the kubelet"
    assert {"name": "CHECKPOINTS", "value": "/workspace/research/run"} in box["env"]
