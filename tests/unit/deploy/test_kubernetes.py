"""What the Kubernetes files say, against the design, hand calculations and the real judges."""

from __future__ import annotations

import copy
import csv
import difflib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, verify
from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.judges import kubernetes as judges
from clusterwright.deploy.targets.kubernetes.facts import facts
from clusterwright.domains.scheduling import read_policy
from clusterwright.errors import InputError
from clusterwright.spec import KUBERNETES_VERSIONS
from tests.unit.deploy.conftest import TENANTS, _designed

SITES = "sites=[{name: campus, region: uk, gpus: 64}, {name: Oslo_2, region: norway, gpus: 32}]"
TWO = (
    "tenants=[{name: research, share: 2, quota: 50, users: [alice]}, "
    "{name: prod, priority: high, quota: 29, limit: 64}]"
)
Render = Callable[..., Bundle]


@pytest.fixture(scope="session")
def shared(catalog: Catalog) -> Cluster:
    """1,024 A100 on InfiniBand under Kubernetes, with three tenants."""
    return _designed(catalog, "enterprise-1024-a100", TENANTS)


@pytest.fixture(scope="session")
def fleet(catalog: Catalog) -> Cluster:
    """96 A100 at two sites; 79 of them are owned by two tenants."""
    return _designed(catalog, "a100-64", "scheduler.kind=kubernetes", "compute.gpus=96", SITES, TWO)


@pytest.fixture(scope="session")
def roce(catalog: Catalog) -> Cluster:
    """256 MI300X on RoCE."""
    return _designed(catalog, "mi300x-256", "scheduler.kind=kubernetes")


def objects(bundle: Bundle, path: str) -> list[Any]:
    return [one for one in yaml.safe_load_all(bundle.files[path].text) if one]


def one(bundle: Bundle, path: str, kind: str, name: str = "") -> Any:
    return next(o for o in objects(bundle, path) if o["kind"] == kind and (not name or o["metadata"]["name"] == name))


def every(bundle: Bundle, part: str) -> Iterator[Any]:
    for path in sorted(bundle.files):
        if path.startswith("kubernetes/") and part in path and path.endswith(".yaml"):
            yield from objects(bundle, path)


# --- quotas ---


def test_quotas_limits_and_weights_are_the_tenants(shared: Cluster, render_of: Render) -> None:
    policy = read_policy(objects(render_of(shared, "kubernetes"), "kubernetes/virginia/queues/policy.yaml"))
    said = {q.name: (q.quota["a100"], q.limit["a100"], q.weight, q.priority) for q in policy.queues}
    assert said == {
        "research": (512, 1024, 2.0, "normal"),
        "prod-serving": (256, 512, 1.0, "high"),
        "students": (256, 1024, 1.0, "low"),
    }
    # 256 threads less 4 for the system and 4 for add-ons, over 8 GPUs; 2 TB are 1,862 GiB, less 16 and 18
    assert [(f.name, f.gpus, f.cpu, f.memory_gib) for f in policy.flavors] == [("a100", 1024, 31, 228)]


def test_quotas_of_all_sites_are_those_of_the_tenants_and_no_gpu_is_promised_twice(
    fleet: Cluster, render_of: Render
) -> None:
    bundle = render_of(fleet, "kubernetes")
    by_site = {s: read_policy(objects(bundle, f"kubernetes/{s}/queues/policy.yaml")) for s in ("campus", "oslo-2")}
    totals = {
        name: sum(q.quota["a100"] for p in by_site.values() for q in p.queues if q.name == name)
        for name in ("research", "prod")
    }
    assert totals == {"research": 50, "prod": 29}
    for site, gpus in (("campus", 64), ("oslo-2", 32)):
        policy = by_site[site]
        assert sum(q.quota["a100"] for q in policy.queues) + policy.shared["a100"] == gpus
    assert sum(policy.shared["a100"] for policy in by_site.values()) == 96 - 79


def test_the_first_site_manages_the_others_and_is_not_its_own_worker(fleet: Cluster, render_of: Render) -> None:
    bundle = render_of(fleet, "kubernetes")
    path = "kubernetes/campus/queues/fleet.yaml"
    assert one(bundle, path, "MultiKueueConfig")["spec"]["clusters"] == ["oslo-2"]
    queue = one(bundle, path, "ClusterQueue", "research-fleet")["spec"]
    assert queue["admissionChecksStrategy"]["admissionChecks"] == [{"name": "other-sites"}]
    assert queue["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "research"}
    own = read_policy(objects(bundle, "kubernetes/oslo-2/queues/policy.yaml"))
    theirs = sum(q.quota["a100"] for q in own.queues if q.name == "research")
    assert queue["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == theirs
    assert "kubernetes/oslo-2/queues/fleet.yaml" not in bundle.files


def test_spares_are_in_no_quota_and_tainted(shared: Cluster, render_of: Render) -> None:
    bundle = render_of(shared, "kubernetes")
    classes = objects(bundle, "kubernetes/virginia/nodes/classes.yaml")[0]["classes"]
    assert {"key": "cluster.internal/spare", "value": "true", "effect": "NoSchedule"} in classes["s1-spare"]["taints"]
    flavor = one(bundle, "kubernetes/virginia/queues/policy.yaml", "ResourceFlavor")["spec"]
    assert flavor["nodeLabels"]["cluster.internal/role"] == "compute"
    assert classes["s1-spare"]["labels"]["cluster.internal/role"] == "spare"


# --- nodes and control plane ---


def test_every_node_has_its_rack_and_its_scalable_unit(shared: Cluster, render_of: Render) -> None:
    bundle = render_of(shared, "kubernetes")
    rows = list(csv.DictReader(io.StringIO(bundle.files["kubernetes/virginia/nodes/nodes.csv"].text)))
    gpus = [row for row in rows if row["gpus"] == "8"]
    assert len(gpus) == 132  # 128 nodes and 4 spares
    assert len({row["rack"] for row in gpus}) == 33  # 4 nodes a rack
    units = {unit.name: set(unit.hosts) for unit in bundle.inventory.units}
    assert all(row["node"] in units[row["block"]] for row in gpus)


@pytest.mark.parametrize(
    ("release", "patch"), [("1.34", "v1.34.11"), ("1.35", "v1.35.8"), ("1.36", "v1.36.4"), ("1.37", "v1.37.0")]
)
def test_a_release_changes_few_lines(shared: Cluster, render_of: Render, release: str, patch: str) -> None:
    bundle = render_of(shared, "kubernetes", kubernetes=release)
    other = render_of(shared, "kubernetes", kubernetes="1.36")
    held = one(bundle, "kubernetes/virginia/kubeadm/cluster.yaml", "ClusterConfiguration")
    networks = bundle.inventory.sites[0].networks
    assert held["kubernetesVersion"] == patch
    assert held["networking"]["podSubnet"] == networks["pods"].block
    assert held["networking"]["serviceSubnet"] == networks["services"].block
    changed = {
        path for path in bundle.files if bundle.files[path] != other.files[path] and not path.endswith("inventory.json")
    }
    wanted = {"kubernetes/virginia/kubeadm/cluster.yaml", "kubernetes/virginia/base/namespaces.yaml"}
    wanted |= {f"kubernetes/virginia/tenants/{t.name}/namespace.yaml" for t in bundle.inventory.tenants}
    if release in ("1.34", "1.35"):
        wanted.add("kubernetes/virginia/base/admission.yaml")  # MutatingAdmissionPolicy v1 came with 1.36
    assert changed == (wanted if release != "1.36" else set())


def test_pods_of_every_node_fit_into_the_pod_network(rack_scale: Cluster, render_of: Render) -> None:
    bundle = render_of(rack_scale, "kubernetes")
    held = one(bundle, "kubernetes/main/kubeadm/cluster.yaml", "ClusterConfiguration")
    mask = next(a["value"] for a in held["controllerManager"]["extraArgs"] if a["name"] == "node-cidr-mask-size")
    whole = int(held["networking"]["podSubnet"].split("/")[1])
    assert 2 ** (int(mask) - whole) >= len(bundle.inventory.hosts)


# --- training ---


def test_a_gang_has_the_gpus_of_its_plan_and_saves_as_often_as_the_design_says(
    shared: Cluster, render_of: Render
) -> None:
    bundle = render_of(shared, "kubernetes")
    workload = bundle.inventory.workloads[0]
    gang = one(bundle, "kubernetes/virginia/training/foundation.yaml", "JobSet")
    job = gang["spec"]["replicatedJobs"][0]["template"]["spec"]
    container = job["template"]["spec"]["containers"][0]
    assert (job["parallelism"], job["completions"]) == (128, 128)
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    plan = workload.plan
    assert plan["tp"] * plan["pp"] * plan["dp"] * plan["cp"] == 128 * 8
    assert f"--tensor-model-parallel-size={plan['tp']}" in container["args"]
    steps = round(workload.figures["checkpoint_interval_s"] / workload.figures["step_time_s"])
    assert f"--save-interval={steps}" in container["args"]
    assert "--global-batch-size=1024" in container["args"]  # the spec: 1024 sequences
    # 3.61 interruptions expected: 3.61 + 4 sqrt(3.61) = 11.2, up to 12, and 3
    assert gang["spec"]["failurePolicy"]["maxRestarts"] == 15


def test_a_scale_up_domain_of_several_nodes_is_asked_for_whole(rack_scale: Cluster, render_of: Render) -> None:
    whole = copy.deepcopy(rack_scale)
    whole.tables["workloads"].columns["gpus"] = [576]  # every domain; the design's own plan leaves some idle
    bundle = render_of(whole, "kubernetes")
    gang = one(bundle, "kubernetes/main/training/pretrain.yaml", "JobSet")
    noted = gang["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]["annotations"]
    assert noted["kueue.x-k8s.io/podset-slice-size"] == "18"  # an NVL72 is 18 nodes of 4
    assert noted["kueue.x-k8s.io/podset-slice-required-topology"] == "topology.cluster.internal/rack"


def test_on_roce_pods_use_the_network_of_their_node(roce: Cluster, shared: Cluster, render_of: Render) -> None:
    amd, nvidia = render_of(roce, "kubernetes"), render_of(shared, "kubernetes")
    gang = one(amd, "kubernetes/main/training/pretrain.yaml", "JobSet")["spec"]["replicatedJobs"][0]
    pod = gang["template"]["spec"]["template"]["spec"]
    assert pod["hostNetwork"] is True
    assert pod["containers"][0]["resources"]["limits"]["amd.com/gpu"] == "8"
    levels = {
        bundle: one(bundle, path, "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for bundle, path in (
            (amd, "kubernetes/main/tenants/everybody/namespace.yaml"),
            (nvidia, "kubernetes/virginia/tenants/research/namespace.yaml"),
        )
    }
    assert (levels[amd], levels[nvidia]) == ("privileged", "baseline")
    assert "kubernetes/main/helm/amd-gpu-operator.yaml" in amd.files


# --- access, secrets, storage ---


def test_people_of_a_tenant_are_its_operators_and_nobody_elses(shared: Cluster, render_of: Render) -> None:
    bundle = render_of(shared, "kubernetes")
    binding = one(bundle, "kubernetes/virginia/tenants/research/access.yaml", "RoleBinding", "operators")
    assert [s["name"] for s in binding["subjects"]] == ["oidc:research-operators", "oidc:alice", "oidc:bob"]
    carol = [o["metadata"]["namespace"] for o in every(bundle, "access.yaml") if "oidc:carol" in str(o)]
    assert carol == ["prod-serving"]


def test_no_file_holds_a_secret(shared: Cluster, render_of: Render) -> None:
    bundle = render_of(shared, "kubernetes")
    assert not [o for o in every(bundle, "/") if o.get("kind") == "Secret"]
    made = {o["spec"]["target"]["name"] for o in every(bundle, "/research/") if o["kind"] == "ExternalSecret"}
    assert made == {"registry-credentials", "object-store"}


def test_volumes_of_the_tenants_fit_into_the_tier(shared: Cluster, render_of: Render) -> None:
    bundle = render_of(shared, "kubernetes")
    claims = [o["spec"] for o in every(bundle, "volumes.yaml") if o["kind"] == "PersistentVolumeClaim"]
    on_it = [claim for claim in claims if claim["storageClassName"] == "parallel"]
    asked = sum(int(claim["resources"]["requests"]["storage"].removesuffix("Gi")) for claim in on_it)
    tier = next(t for t in bundle.inventory.tiers if t.kind == "parallel")
    assert 0.999 < asked * 2**30 / tier.capacity_bytes <= 1.0


def test_tenants_may_ask_for_their_class_or_a_lower_one_and_images_come_from_the_registry(
    shared: Cluster, render_of: Render
) -> None:
    cel = pytest.importorskip("cel", reason="pip install common-expression-language")
    path = "kubernetes/virginia/base/admission.yaml"
    bundle = render_of(shared, "kubernetes")
    policy = one(bundle, path, "ValidatingAdmissionPolicy", "tenant-priority")["spec"]
    ranks = cel.evaluate(policy["variables"][0]["expression"], {})
    namespace = {"metadata": {"labels": {"cluster.internal/priority": "normal"}}}

    def allowed(labels: dict[str, str] | None) -> bool:
        thing = {"metadata": {} if labels is None else {"labels": labels}}
        held = {"object": thing, "namespaceObject": namespace, "variables": {"ranks": ranks}}
        return bool(cel.evaluate(policy["validations"][0]["expression"], held))

    key = "kueue.x-k8s.io/priority-class"
    assert [allowed({key: c}) for c in ("low", "normal", "high", "root")] == [True, True, False, False]
    assert not allowed({}) and not allowed(None)
    images = one(bundle, path, "ValidatingAdmissionPolicy", "tenant-images")["spec"]["validations"][0]["expression"]
    spec = {"containers": [{"image": "registry.cluster.internal/a:1"}]}
    assert cel.evaluate(images, {"object": {"spec": spec}})
    assert not cel.evaluate(images, {"object": {"spec": {**spec, "initContainers": [{"image": "docker.io/a:1"}]}}})


# --- the whole ---


def test_waves_put_definitions_before_their_use(shared: Cluster, render_of: Render) -> None:
    bundle = render_of(shared, "kubernetes")
    made = [o["metadata"] for o in objects(bundle, "kubernetes/argocd/virginia.yaml")]
    waves = {m["name"].removeprefix("virginia-"): int(m["annotations"]["argocd.argoproj.io/sync-wave"]) for m in made}
    for first, then in (
        ("base", "external-secrets"),
        ("external-secrets", "storage"),
        ("network-operator", "fabric"),
        ("jobset", "kueue"),
        ("kueue", "queues"),
        ("monitor-kinds", "monitoring"),
        ("queues", "tenants"),
        ("tenants", "training"),
    ):
        assert waves[first] < waves[then]


def test_64_more_nodes_change_quotas_node_lists_and_the_gang_and_nothing_else(
    catalog: Catalog, render_of: Render
) -> None:
    free = ("scheduler.kind=kubernetes", "sites=[{name: campus, region: uk}]", "limits={}")
    before, after = (
        render_of(_designed(catalog, "a100-64", *free, f"compute.gpus={gpus}"), "kubernetes") for gpus in (512, 1024)
    )
    lines = {
        path.removeprefix("kubernetes/campus/"): sum(
            line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
            for line in difflib.unified_diff(before.files[path].text.split("\n"), after.files[path].text.split("\n"))
        )
        for path in before.files
        if path.startswith("kubernetes/")
    }
    changed = {path: many for path, many in lines.items() if many}
    nodes = changed.pop("nodes/nodes.csv")
    assert nodes >= 64
    assert "queues/policy.yaml" in changed
    assert sum(changed.values()) < 100
    unchanged = ("base/roles.yaml", "helm/gpu-operator.yaml", "nodes/classes.yaml", "kubernetes/argocd/project.yaml")
    assert not set(unchanged) & set(changed)


def test_equal_designs_give_equal_bytes(shared: Cluster, render_of: Render) -> None:
    assert render_of(shared, "kubernetes").files == render_of(shared, "kubernetes").files


@pytest.mark.parametrize("release", KUBERNETES_VERSIONS)
def test_every_file_is_accepted_by_our_own_reading(
    shared: Cluster, render_of: Render, tmp_path: Path, release: str
) -> None:
    render_of(shared, "kubernetes", kubernetes=release).write(tmp_path / "b")
    checks = verify(tmp_path / "b", live=False)
    assert not [check for check in checks if not check.ok]
    assert {check.level for check in checks} == {"own", "schema"}


@pytest.mark.parametrize("name", ["fleet", "roce", "rack_scale"])
def test_other_designs_are_accepted_too(
    request: pytest.FixtureRequest, render_of: Render, tmp_path: Path, name: str
) -> None:
    render_of(request.getfixturevalue(name), "kubernetes").write(tmp_path / "b")
    assert not [check for check in verify(tmp_path / "b", live=False) if not check.ok]


def test_the_real_judges_accept_every_file(fleet: Cluster, render_of: Render, tmp_path: Path) -> None:
    absent = [program for program in judges.PROGRAMS if program.path is None]
    if absent and judges.kubectl() is None:
        pytest.skip("; ".join(program.install for program in absent))
    render_of(fleet, "kubernetes").write(tmp_path / "b")
    checks = verify(tmp_path / "b")
    assert not [check for check in checks if not check.ok]
    assert {"kubernetes-validate", "kubectl kustomize"} <= {check.judge for check in checks}


def test_facts_are_read_from_the_files(shared: Cluster, render_of: Render, tmp_path: Path) -> None:
    render_of(shared, "kubernetes").write(tmp_path / "b")
    said = {(f.kind, f.key): f.value for f in facts(Folder.open(tmp_path / "b"))}
    assert said["tenant.quota", "research"] == 512
    assert said["tenant.limit", "prod-serving"] == 512
    assert said["tenant.share", "research"] == 2.0
    assert said["node.gpus", "s1-spare-0004"] == 8
    ports = {key: value for (kind, key), value in said.items() if kind == "service.port"}
    assert ports == {
        "kubernetes-api": 6443,
        "kubelet": 10250,
        "kueue-metrics": 8443,
        "dcgm-exporter": 9400,
        "vault": 8200,
        "registry": 443,
        "dns": 53,
    }


# --- names that people give ---


@pytest.mark.parametrize("name", ["kube-system", "Kueue_System", "argocd", "monitoring"])
def test_a_tenant_with_the_name_of_a_platform_namespace_is_refused(
    catalog: Catalog, render_of: Render, name: str
) -> None:
    design = _designed(catalog, "a100-64", "scheduler.kind=kubernetes", f"tenants=[{{name: {name}}}]")
    with pytest.raises(InputError, match="name of a namespace"):
        render_of(design, "kubernetes")


def test_the_longest_names_stay_within_what_kubernetes_allows(
    catalog: Catalog, render_of: Render, tmp_path: Path
) -> None:
    long = "a" + "b-c" * 20 + "xy"
    design = _designed(
        catalog, "a100-64", "scheduler.kind=kubernetes", SITES, "compute.gpus=96", f"tenants=[{{name: {long}}}]"
    )
    bundle = render_of(design, "kubernetes")
    bundle.write(tmp_path / "b")
    assert not [check for check in verify(tmp_path / "b", live=False) if not check.ok]
    assert one(bundle, f"kubernetes/campus/tenants/{long}/namespace.yaml", "Namespace")["metadata"]["name"] == long


@pytest.mark.parametrize("name", ["no", "null", "0x1f", "1e3", "true", "123"])
def test_names_that_yaml_would_read_as_something_else_stay_texts(
    catalog: Catalog, render_of: Render, tmp_path: Path, name: str
) -> None:
    design = _designed(
        catalog, "a100-64", "scheduler.kind=kubernetes", f"tenants=[{{name: '{name}', users: ['{name}']}}]"
    )
    bundle = render_of(design, "kubernetes")
    assert one(bundle, "kubernetes/campus/queues/policy.yaml", "ClusterQueue")["metadata"]["name"] == name
    bundle.write(tmp_path / "b")
    assert not [check for check in verify(tmp_path / "b", live=False) if not check.ok]
