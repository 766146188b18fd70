"""The targets storage and security: values, acceptance, planted faults, hostile names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, verify
from clusterwright.deploy.judges.fio import FIO
from clusterwright.deploy.judges.shell import SHELLCHECK
from tests.unit.deploy.conftest import planted


@pytest.fixture(scope="module")
def bundle(worked: Cluster, render_of: Callable[..., Bundle]) -> Bundle:
    return render_of(worked, "storage", "security")


def test_quotas_share_four_fifths_of_the_parallel_tier_by_weight(bundle: Bundle) -> None:
    """600 TB, 20 % stays free: 480 TB by shares 2 : 1 : 1."""
    document = yaml.safe_load(bundle.files["storage/tiers.yaml"].text)
    assert {quota["tenant"]: quota["terabytes"] for quota in document["quotas"]} == {
        "research": 240.0,
        "prod-serving": 120.0,
        "students": 120.0,
    }
    assert "set_quota research 1001 240000" in bundle.files["storage/quotas.sh"].text


def test_checkpoints_of_a_run_expire_a_month_after_its_end(bundle: Bundle, worked: Cluster) -> None:
    rules = json.loads(bundle.files["storage/object-lifecycle.json"].text)["Rules"]
    days = int(worked.value("training[0].time_to_train_s") / 86400) + 31
    assert next(rule for rule in rules if "pretrain" in rule["ID"])["Expiration"] == {"Days": days}
    assert days == 43


def test_the_acceptance_job_gives_a_node_its_share_of_the_designed_rate(bundle: Bundle) -> None:
    """180 GB/s of reads over 128 nodes is 1,406 MB/s each."""
    assert "1406 MB/s of reads" in bundle.files["storage/acceptance.fio"].text


def test_no_role_but_break_glass_holds_data_and_keys(bundle: Bundle) -> None:
    rows = list(csv.DictReader(io.StringIO(bundle.files["security/access-matrix.csv"].text)))
    data = {row["role"] for row in rows if row["resource"] == "data of the tenant" and row["right"] != "none"}
    keys = {row["role"] for row in rows if row["resource"] == "keys and secrets" and row["right"] != "none"}
    assert data & keys == {"break-glass"}


def test_a_kubernetes_cluster_opens_no_port_of_slurm(company: Cluster, render_of: Callable[..., Bundle]) -> None:
    flows = render_of(company, "security").files["security/flows.csv"].text
    assert "slurm" not in flows
    assert ",kubernetes-api,6443," in flows


@pytest.mark.parametrize("design", ["worked", "company", "rack_scale"])
def test_every_file_is_accepted(
    design: str, request: pytest.FixtureRequest, render_of: Callable[..., Bundle], tmp_path: Path
) -> None:
    render_of(request.getfixturevalue(design), "storage", "security").write(tmp_path / "bundle")
    assert [c for c in verify(tmp_path / "bundle") if not c.ok or c.level == "none"] == []


MATRIX, FLOWS, ENCRYPTION = (f"security/{name}.csv" for name in ("access-matrix", "flows", "encryption"))
ROLES, POLICY = "security/roles-and-secrets.yaml", "security/vault/scheduler.hcl"
TIERS, QUOTAS, LIFE, JOB = (
    f"storage/{n}" for n in ("tiers.yaml", "quotas.sh", "object-lifecycle.json", "acceptance.fio")
)
FAULTS = [
    ("tiers: a unit in a number", TIERS, "capacity_tb: 600.0", "capacity_tb: 600 TB"),
    ("tiers: a missing key", TIERS, "  mount: /shared\n", ""),
    ("tiers: a misspelt key", TIERS, "read_gb_s: 180.0", "read_gbs: 180.0"),
    ("tiers: an unknown kind", TIERS, "kind: parallel", "kind: lustre"),
    ("tiers: quotas above the tier", TIERS, "terabytes: 240.0", "terabytes: 640.0"),
    ("tiers: a tenant that there is not", TIERS, "tenant: students", "tenant: pupils"),
    ("tiers: no YAML", TIERS, "tiers:\n", "tiers: [\n"),
    ("quotas: another size", QUOTAS, "1001 240000", "1001 24000"),
    ("quotas: another project", QUOTAS, "students 1003", "students 1002"),
    ("quotas: a tenant left out", QUOTAS, "set_quota students 1003 120000\n", ""),
    ("quotas: a unit", QUOTAS, "1001 240000", "1001 240TB"),
    ("quotas: a misspelt function", QUOTAS, "set_quota research", "setquota research"),
    ("life cycle: no JSON", LIFE, '"Rules": [', '"Rules": [,'),
    ("life cycle: days in words", LIFE, '"Days": 90', '"Days": "90 d"'),
    ("life cycle: a rule twice", LIFE, '"raw-data-to-colder-class"', '"abort-broken-uploads"'),
    ("life cycle: a misspelt action", LIFE, '"Expiration": {\n', '"Expire": {\n'),
    ("life cycle: a status", LIFE, '"Enabled"', '"On"'),
    ("job: an unknown option", JOB, "iodepth=16", "io_depth=16"),
    ("job: a bad size", JOB, "bs=4m", "bs=4 megabytes"),
    ("job: a missing value", JOB, "directory=/shared/acceptance", "directory="),
    ("job: words for a number", JOB, "numjobs=8", "numjobs=eight"),
    ("job: no section", JOB, "[", "("),
    ("matrix: an unknown role", MATRIX, ",operator,", ",operators,"),
    ("matrix: an unknown right", MATRIX, ",write\n", ",rw\n"),
    ("matrix: keys for who holds data", MATRIX, ",user,keys and secrets,none", ",user,keys and secrets,read"),
    ("matrix: a missing line", MATRIX, "research,viewer,jobs of the tenant,read\n", ""),
    ("matrix: a tenant that there is not", MATRIX, "research,viewer,data", "nobody,viewer,data"),
    ("flows: another port", FLOWS, ",slurmctld,6817,", ",slurmctld,6871,"),
    ("flows: an unknown end", FLOWS, "login,scheduler,slurmdbd", "logins,scheduler,slurmdbd"),
    ("flows: past the bastion", FLOWS, "people,bastion", "people,login"),
    ("flows: a port in words", FLOWS, ",ssh,22,", ",ssh,ssh,"),
    ("flows: a protocol", FLOWS, ",udp,", ",icmp4,"),
    ("encryption: no reason", ENCRYPTION, "none: isolated by partition keys or VLANs", "none by VLANs"),
    ("encryption: an unknown state", ENCRYPTION, ",rest,", ",resting,"),
    ("encryption: a column left out", ENCRYPTION, "what,state,method,key_holder", "what,state,method"),
    ("encryption: no method", ENCRYPTION, "self-encrypting drives,", ","),
    ("encryption: no column of that name", ENCRYPTION, "key_holder", "keyholder"),
    ("roles: a path outside the store", ROLES, "path: kv/", "path: /etc/"),
    ("roles: never rotated", ROLES, "rotation_days: 365", "rotation_days: 0"),
    ("roles: an unknown reader", ROLES, "  - login\n", "  - logins\n"),
    ("roles: a person that there is not", ROLES, "  - alice\n", "  - mallory\n"),
    ("roles: a role left out", ROLES, "- name: viewer\n", "- name: guest\n"),
    ("roles: a secret in clear", ROLES, "  why: web hooks", "  password: hunter2hunter2\n  why: web hooks"),
    ("policy: more than reading", POLICY, '["read"]', '["read", "update"]'),
    ("policy: another role's secret", POLICY, "/slurmdbd", "/grafana"),
    ("policy: a missing path", POLICY, 'path "kv/data/llm-70b/jwt" {\n  capabilities = ["read"]\n}\n', ""),
    ("policy: a wildcard", POLICY, "/jwt", "/*"),
    ("policy: a misspelt mount", POLICY, "kv/data/llm-70b/jwt", "kv/llm-70b/jwt"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "path", "old", "new"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_caught(fault: str, path: str, old: str, new: str, bundle: Bundle, tmp_path: Path) -> None:
    failed = planted(bundle, path, lambda text: text.replace(old, new, 1), tmp_path / "bundle", live=False)
    assert failed, fault


@pytest.mark.skipif(FIO.path is None, reason=f"fio is not installed: {FIO.install}")
def test_fio_itself_refuses_a_bad_job(bundle: Bundle, tmp_path: Path) -> None:
    failed = planted(bundle, JOB, lambda text: text.replace("rw=read\n", "rw=reads\n"), tmp_path / "b", live=True)
    assert {check.judge for check in failed} == {"fio"}


@pytest.mark.skipif(SHELLCHECK.path is None, reason=f"ShellCheck is not installed: {SHELLCHECK.install}")
def test_shellcheck_itself_refuses_a_variable_that_nobody_uses(bundle: Bundle, tmp_path: Path) -> None:
    def edit(text: str) -> str:
        return text.replace("set_quota() {\n", 'set_quota() {\n  local gigabyte="$3"\n')

    failed = planted(bundle, QUOTAS, edit, tmp_path / "b", live=True)
    assert {check.judge for check in failed} == {"shellcheck"}
