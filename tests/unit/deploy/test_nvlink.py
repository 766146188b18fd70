"""GB200 NVL72 under Kubernetes: compute domains, the channels that pods claim, the driver, and who runs IMEX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, verify
from clusterwright.deploy.targets.kubernetes import nvlink
from tests.unit.deploy.conftest import _designed, planted

Render = Callable[..., Bundle]


@pytest.fixture(scope="module")
def bundle(catalog: Catalog, render_of: Render) -> Bundle:
    return render_of(_designed(catalog, "gb200-nvl72", "scheduler.kind=kubernetes"), "kubernetes", "ansible")


@pytest.fixture(scope="module")
def root(bundle: Bundle) -> str:
    return next(path.rpartition("/helm/")[0] for path in bundle.files if path.endswith("helm/kueue.yaml"))


def objects(bundle: Bundle, path: str) -> list[Any]:
    return [one for one in yaml.safe_load_all(bundle.files[path].text) if one]


def test_every_file_is_accepted(bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "bundle")
    assert [check for check in verify(tmp_path / "bundle", live=False) if not check.ok] == []


def test_each_run_has_a_domain_and_every_pod_claims_one_channel_of_it(bundle: Bundle, root: str) -> None:
    """As the driver's documentation has it: the controller makes a claim template, pods and containers name it."""
    made = {one["kind"]: one for one in objects(bundle, f"{root}/training/pretrain.yaml")}
    domain, job = made["ComputeDomain"], made["JobSet"]
    assert domain["apiVersion"] == "resource.nvidia.com/v1beta1"
    assert domain["metadata"]["namespace"] == job["metadata"]["namespace"]
    pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert pod["resourceClaims"] == [{"name": "imex-channel", "resourceClaimTemplateName": template}]
    resources = pod["containers"][0]["resources"]
    assert resources["claims"] == [{"name": "imex-channel"}]
    assert resources["limits"]["nvidia.com/gpu"] == "4"


def test_the_driver_manages_domains_and_leaves_gpus_to_the_device_plugin(bundle: Bundle, root: str) -> None:
    values = objects(bundle, f"{root}/helm/{nvlink.CHART}.yaml")[0]
    assert values["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
    assert "nvidia.com/gpu" in {entry["key"] for entry in values["kubeletPlugin"]["tolerations"]}
    named = [one["metadata"]["name"] for one in objects(bundle, f"{root}/base/namespaces.yaml")]
    assert nvlink.CHART in named


def test_kueue_admits_jobs_with_claims_that_are_no_quota(bundle: Bundle, root: str) -> None:
    """Kueue 0.18 and later keep a workload waiting whose claims have no quota, unless these gates are off."""
    gates = objects(bundle, f"{root}/helm/kueue.yaml")[0]["controllerManager"]["featureGates"]
    assert gates == [{"name": name, "enabled": False} for name in nvlink.GATES]


def test_tenants_may_make_domains_and_see_claims(bundle: Bundle, root: str) -> None:
    roles = {one["metadata"]["name"]: one for one in objects(bundle, f"{root}/base/roles.yaml")}
    granted = {
        (resource, verb)
        for rule in roles["tenant-operator"]["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {("computedomains", "create"), ("computedomains", "delete"), ("resourceclaims", "get")} <= granted
    assert ("resourceclaims", "create") not in granted


def test_imex_on_the_hosts_is_masked_under_kubernetes_only(bundle: Bundle) -> None:
    """NVIDIA's prerequisites of compute domains: the service of the hosts is disabled and masked."""
    tasks = yaml.safe_load(bundle.files["ansible/roles/gpu_nvidia/tasks/main.yml"].text)
    units = [(task["ansible.builtin.systemd_service"], task.get("when", "")) for task in tasks if _unit(task)]
    imex = {unit["state"]: (unit, when) for unit, when in units if unit["name"] == "nvidia-imex"}
    assert imex["stopped"][0]["masked"] is True
    assert "scheduler == 'kubernetes'" in imex["stopped"][1]
    assert "scheduler != 'kubernetes'" in imex["started"][1]


def _unit(task: dict[str, Any]) -> bool:
    return "ansible.builtin.systemd_service" in task


def test_servers_of_one_nvlink_domain_each_have_none_of_it(company: Cluster, render_of: Render) -> None:
    made = render_of(company, "kubernetes")
    assert not [path for path, file in made.files.items() if "ComputeDomain" in file.text or nvlink.CHART in path]
    assert not [path for path, file in made.files.items() if path.endswith("kueue.yaml") and "DRA" in file.text]


JOB, DRIVER = "training/pretrain.yaml", f"helm/{nvlink.CHART}.yaml"
POD = "            resourceClaims:\n            - name: "
TEMPLATE = "      name: {}\n    allocationMode"
FAULTS = [
    (JOB, "kind: ComputeDomain", "kind: ComputeDomains", "is no kind that this bundle writes"),
    (JOB, "resource.nvidia.com/v1beta1", "resource.nvidia.com/v1", "is no kind that this bundle writes"),
    (JOB, "numNodes: 0", "numNodes: none", "not of type integer"),
    (JOB, "allocationMode: Single", "allocationMode: One", "not one of All, Single"),
    (JOB, TEMPLATE.format("pretrain"), TEMPLATE.format("other"), "claim template 'other'"),
    (JOB, "TemplateName: pretrain", "TemplateName: train", "the ComputeDomain 'train', which is not there"),
    (JOB, f"{POD}imex-channel", f"{POD}x", "is not both"),
    (DRIVER, "computeDomains:", "computeDomain:", "the chart has no value resources.computeDomain"),
    (DRIVER, "nvidiaDriverRoot: /", "nvidiaDriverroot: /", "did you mean 'nvidiaDriverRoot'"),
    (DRIVER, "enabled: true", "enabled: 'yes'", "its default is of type bool"),
]


@pytest.mark.parametrize(("path", "old", "new", "said"), FAULTS)
def test_a_planted_fault_is_caught_without_any_tool(
    path: str, old: str, new: str, said: str, bundle: Bundle, root: str, tmp_path: Path
) -> None:
    failed = planted(bundle, f"{root}/{path}", lambda text: text.replace(old, new, 1), tmp_path / "b", live=False)
    assert any(said in check.message for check in failed), [check.message for check in failed]
