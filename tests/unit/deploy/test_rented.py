"""A cluster rented at AWS: Terraform, Ansible, jobs and runbook all speak of EFA, and nothing of InfiniBand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, verify
from tests.unit.deploy.conftest import RENTED, TENANTS, _designed


@pytest.fixture(scope="module", params=["slurm", "kubernetes"])
def bundle(request: pytest.FixtureRequest, catalog: Catalog, render_of: Callable[..., Bundle]) -> Bundle:
    return render_of(_designed(catalog, "llm-70b", TENANTS, *RENTED, f"scheduler.kind={request.param}"))


def test_every_file_is_accepted_and_the_parts_agree(bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "bundle")
    assert [check for check in verify(tmp_path / "bundle", live=False) if not check.ok] == []


def test_nothing_speaks_of_infiniband_rails_or_a_subnet_manager(bundle: Bundle) -> None:
    roles = {path.split("/")[2] for path in bundle.files if path.startswith("ansible/roles/")}
    assert "rdma_efa" in roles
    assert "rdma" not in roles
    everything = "\n".join(
        file.text for path, file in bundle.files.items() if path != "inventory.json" and "xid" not in path
    ).lower()
    assert not [
        word for word in ("opensm", "rail-1", "infiniband-ndr", "ib_write_bw", "rail-setup.sh") if word in everything
    ]


def test_jobs_take_efa_or_fail(bundle: Bundle) -> None:
    """FI_PROVIDER and the plug-in's name: aws-ofi-nccl registers itself with NCCL as 'AWS Libfabric'."""
    jobs = [file.text for path, file in bundle.files.items() if path.endswith("pretrain.sbatch") or "/jobs/" in path]
    jobs = jobs or [file.text for file in bundle.files.values() if "kind: JobSet" in file.text]
    assert jobs
    assert all("FI_PROVIDER" in text and "AWS Libfabric" in text for text in jobs)


def test_terraform_and_ansible_count_the_same_adapters(bundle: Bundle) -> None:
    made = json.loads(bundle.files["terraform/main/terraform.tfvars.json"].text)["groups"]["s1-compute"]
    variables = "\n".join(file.text for path, file in bundle.files.items() if "group_vars" in path)
    assert made["efa_interfaces"] == 32
    assert "nics: 32" in variables


def test_the_runbook_starts_instances_and_cables_nothing(bundle: Bundle) -> None:
    text = bundle.files["runbook/01-provisioning.md"].text
    assert "terraform/SITE" in text
    assert "NetBox" not in text
    marks = {mark["test"] for mark in json.loads(bundle.files["runbook/pass-marks.json"].text)["marks"]}
    assert "rdma-latency" in marks
    assert "rdma-write" not in marks


def test_a_bought_cluster_keeps_its_rails(worked: Cluster, render_of: Callable[..., Bundle]) -> None:
    bought = render_of(worked, "ansible", "slurm")
    assert any(path.startswith("ansible/roles/rdma/") for path in bought.files)
    assert not any("FI_PROVIDER" in file.text for file in bought.files.values())
