"""Faults planted in each kind of Kubernetes file: our own reading catches every one, without any tool."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.catalog import Catalog
from clusterwright.deploy import Bundle, verify
from clusterwright.deploy.judges import kubernetes as judges
from tests.unit.deploy.conftest import TENANTS, _designed

S = "kubernetes/virginia"
T = f"{S}/tenants/research"
DESIGNS = {
    "one": ("enterprise-1024-a100", TENANTS),
    "two": (
        "a100-64",
        "scheduler.kind=kubernetes",
        "compute.gpus=96",
        "sites=[{name: campus, region: uk, gpus: 64}, {name: oslo, region: norway, gpus: 32}]",
    ),
    "amd": ("mi300x-256", "scheduler.kind=kubernetes"),
}
FAULTS: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("one", f"{S}/base/namespaces.yaml"): [
        ("kind: Namespace", "kind: NameSpace"),
        ("apiVersion: v1\n", "apiVersion: core/v1\n"),
        ("name: kueue-system", "name: kueue"),
        ("labels:", "label:"),
        ("name: monitoring\n", "name: gpu-operator\n"),
        ("enforce: restricted", "enforce: true"),
    ],
    ("one", f"{S}/base/priorities.yaml"): [
        ("value: 1000", "value: low"),
        ("training-normal", "training-usual"),
        ("preemptionPolicy", "premptionPolicy"),
        ("globalDefault: true", "globalDefault: 'yes'"),
        ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"),
        ("value: 2000\n", ""),
    ],
    ("one", f"{S}/base/roles.yaml"): [
        ("verbs:", "verb:"),
        ("name: tenant-operator\n", "name: tenant-operators\n"),
        ("name: cluster-admin", "name: cluster-boss"),
        ("kind: ClusterRoleBinding", "kind: ClusterRolebinding"),
        ("roleRef:", "roleref:"),
        ("  name: oidc:platform-admins\n", ""),
    ],
    ("one", f"{S}/base/admission.yaml"): [
        ("policyName: tenant-priority", "policyName: tenant-priorities"),
        ("failurePolicy: Fail", "failurePolicy: Refuse"),
        ("validations:", "validation:"),
        ("operator: Exists", "operater: Exists"),
        ("patchType: ApplyConfiguration", "patchtype: ApplyConfiguration"),
        ("admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\n", "x/v1\nkind: MutatingAdmissionPolicy\n"),
    ],
    ("one", f"{S}/base/disruption.yaml"): [
        ("namespace: kube-system", "namespace: kube-systems"),
        ("minAvailable", "minAvailabel"),
        ("policy/v1", "policy/v1beta1"),
        ("selector:", "selectors:"),
        ("name: coredns\n  ", ""),
    ],
    ("one", f"{S}/storage/classes.yaml"): [
        ("name: local-nvme", "name: local-nvmes"),
        ("provisioner: csi.weka.io\n", ""),
        ("allowVolumeExpansion: true", "allowVolumeExpansion: 'true'"),
        ("secret-name: csi-weka-api", "secret-name: weka-api"),
        ("reclaimPolicy", "reclaimpolicy"),
        ("name: secrets-reader\n  namespace: storage", "name: reader\n  namespace: storage"),
        ("server: https://", "servers: https://"),
        (":8200", ":8201"),
    ],
    ("one", f"{S}/queues/policy.yaml"): [
        ("nominalQuota: 512", "nominalQuota: 513"),
        ("nominalQuota: 512", "nominalQuota: 512 GPUs"),
        ("borrowingLimit: 256", "borrowingLimit: 9999"),
        ("weight: '2'", "weight: '3'"),
        ("cohortName: enterprise-1024-a100", "cohortName: enterprise"),
        ("- name: a100", "- name: h100"),
        ("topologyName: enterprise-1024-a100", "topologyName: rails"),
        ("nodeLabel: topology.cluster.internal/rack", "nodeLabel: topology.cluster.internal/racks"),
        ("cluster.internal/role: compute", "cluster.internal/role: spare"),
        ("reclaimWithinCohort: Any", "reclaimWithinCohort: Always"),
        ("    withinClusterQueue", "    borrowWithinCohort: {policy: LowerPriority}\n    withinClusterQueue"),
        ("kubernetes.io/metadata.name: research", "kubernetes.io/metadata.name: reserch"),
        ("nominalQuota: 15872", "nominalquota: 15872"),
        ("value: 3000", "value: 300"),
        ("key: nvidia.com/gpu", "key: gpu"),
        ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1alpha1"),
    ],
    ("two", "kubernetes/campus/queues/fleet.yaml"): [
        ("- oslo\n", "- bergen\n"),
        ("name: other-sites\nspec:\n  controllerName", "name: others\nspec:\n  controllerName"),
        ("location: kubeconfig-oslo", "location: kubeconfig-bergen"),
        ("controllerName", "controller"),
        ("locationType: Secret", "locationType: ConfigMap"),
        ("- name: fleet-a100", "- name: fleet-h100"),
        ("    - name: other-sites", "    - name: no-such-check"),
    ],
    ("one", f"{T}/namespace.yaml"): [
        ("name: research", "name: researchers"),
        ("kind: Namespace", "kind: Space"),
        ("cluster.internal/priority: normal", "cluster.internal/priority: 2"),
        ("metadata:", "meta:"),
        ("labels:", "lables:"),
    ],
    ("one", f"{T}/queue.yaml"): [
        ("clusterQueue: research", "clusterQueue: reserch"),
        ("clusterQueue:", "clusterqueue:"),
        ("name: default", "name: gpus"),
        ("requests.nvidia.com/gpu: 1024", "requests.nvidia.com/gpu: 512"),
        ("requests.nvidia.com/gpu", "requests.nvidia.com/gpus"),
        ("pods: 4096", "pods: many"),
    ],
    ("one", f"{T}/access.yaml"): [
        ("name: tenant-viewer", "name: tenant-watcher"),
        ("kind: ClusterRole\n", "kind: Role\n"),
        ("roleRef:", "roleref:"),
        ("subjects:", "subject:"),
        ("kind: User\n  name: oidc:alice", "kind: User\n  nam: oidc:alice"),
        ("name: viewers", "name: operators"),
    ],
    ("one", f"{T}/secrets.yaml"): [
        ("name: vault\n  target", "name: safe\n  target"),
        ("kind: SecretStore\n    name", "kind: ClusterSecretStore\n    name"),
        ("name: secrets-reader\n---", "name: secrets-readers\n---"),
        ("secretKey: dockerconfigjson", "secretKey: config"),
        (r"'\{\{ .dockerconfigjson \}\}'", "hunter2"),
        ("remoteRef:", "remoteref:"),
        (":8200", ":8201"),
        ("    name: registry-credentials\n    creation", "    name: registry\n    creation"),
        ("version: v2", "version: v3"),
        ("apiVersion: external-secrets.io/v1\nkind: ExternalSecret", "apiVersion: v1\nkind: Secret"),
    ],
    ("one", f"{T}/volumes.yaml"): [
        ("storageClassName: parallel", "storageClassName: paralel"),
        ("storage: 275671Gi", "storage: 275671 GB"),
        ("accessModes:", "accessMode:"),
        ("volumeName: research-object", "volumeName: object"),
        ("name: parallel", "name: data"),
        ("namespace: research\n    name: object", "namespace: students\n    name: objects"),
        ("- ReadWriteMany", "- 7"),
    ],
    ("one", f"{S}/components/tenant/network-policies.yaml"): [
        ("kubernetes.io/metadata.name: kube-system", "kubernetes.io/metadata.name: kube-sytem"),
        ("port: 53", "port: 54"),
        ("port: 443", "port: 444"),
        ("podSelector: {}", "podselector: {}"),
        ("policyTypes:\n  - Egress\n  egress", "policyTypes:\n  - Ingress\n  egress"),
        ("name: dns", "name: default-deny"),
        ("cidr: 10.0.12.0/22", "cidr: [10.0.12.0/22]"),
    ],
    ("one", f"{S}/components/tenant/defaults.yaml"): [
        ("name: training", "name: trainer"),
        ("name: registry-credentials", "name: registry"),
        ("memory: 28Gi", "memory: 28 GB"),
        ("defaultRequest:", "defaultRequests:"),
        ("kind: LimitRange", "kind: LimitsRange"),
        ("type: Container\n", "typ: Container\n"),
    ],
    ("one", f"{S}/monitoring/access.yaml"): [
        ("namespace: monitoring", "namespace: monitor"),
        ("kind: ServiceAccount\n  name: prometheus\n", "kind: ServiceAccount\n  name: prom\n"),
        ("  name: prometheus\nrules", "  name: scraper\nrules"),
        ("verbs:", "verb:"),
        ("nonResourceURLs", "nonResourceUrls"),
    ],
    ("one", f"{S}/monitoring/monitors.yaml"): [
        ("- kueue-system", "- kueue"),
        ("endpoints:", "endpoint:"),
        ("interval: 30s", "interval: half a minute"),
        ("scheme: https", "scheme: tls"),
        ("selector:", "selectors:"),
        ("namespace: monitoring", "namespace: monitors"),
    ],
    ("one", f"{S}/fabric/nic-policy.yaml"): [
        ('"resourceName"', '"name"'),
        ('"configList": \\[', '"configList": {'),
        ("repository: registry.cluster.internal/", "repository: nvcr.io/"),
        ("image: k8s-rdma", "imag: k8s-rdma"),
        ("rdmaSharedDevicePlugin", "rdmaSharedPlugin"),
        ("kind: NicClusterPolicy", "kind: NICClusterPolicy"),
    ],
    ("one", f"{S}/helm/gpu-operator.yaml"): [
        ("dcgmExporter:", "dcgmexporter:"),
        ("strategy: single", "strategy: singel"),
        ("version: 580.159.03", "version: latest"),
        ("value: :9400", "value: :9401"),
        ("repository: registry.cluster.internal/nvcr.io/nvidia/k8s", "repository: nvcr.io/nvidia/k8s"),
        ("DCGM_FI_DEV_GPU_TEMP, gauge,", "DCGM_FI_DEV_GPU_TEMP; gauge;"),
        ("DCGM_FI_DEV_SM_CLOCK, gauge", "DCGM_FI_DEV_SM_CLOCK, guage"),
        ("upgradeCRD: true", "upgradeCRD: 'yes'"),
    ],
    ("one", f"{S}/helm/kueue.yaml"): [
        ("bindAddress: :8443", "bindAddress: :8444"),
        ("fairSharing:", "fairShare:"),
        ("config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1"),
        ("timeout: 16m0s", "timeout: 16 minutes"),
        ("replicas: 2", "replica: 2"),
        ("- jobset.x-k8s.io/jobset", "- jobset"),
        ("repository: registry.cluster.internal/", "repository: docker.io/"),
    ],
    ("one", f"{S}/helm/jobset.yaml"): [
        ("controller:", "manager:"),
        ("replicas: 2", "replicas: [2]"),
        ("repository: registry.cluster.internal/", "repository: docker.io/"),
        ("enable: true", "enabled: true"),
        ("memory: 545Mi", "memory: 545 MB"),
    ],
    ("one", f"{S}/helm/external-secrets.yaml"): [
        ("installCRDs", "installCrds"),
        ("replicaCount: 2", "replicas: 2"),
        ("leaderElect: true", "leaderElect: 'on'"),
        ("repository: registry.cluster.internal/", "repository: ghcr.io/"),
        ("webhook:", "webhooks:"),
    ],
    ("one", f"{S}/helm/network-operator.yaml"): [
        ("upgradeCRDs: true", "upgradeCRDs: 1"),
        ("sriovNetworkOperator", "sriovOperator"),
        ("repository: registry.cluster.internal/", "repository: nvcr.io/"),
        ("nfd:", "NFD:"),
        ("deployNodeFeatureRules", "nodeFeatureRules"),
    ],
    ("amd", "kubernetes/main/helm/amd-gpu-operator.yaml"): [
        ("port: 9400", "port: 9401"),
        ("deviceConfig:", "deviceconfig:"),
        ("enableDevicePlugin: true", "enableDevicePlugin: maybe"),
        ("metricsExporter:", "metrics:"),
        ("serviceType: ClusterIP", "serviceType: Cluster"),
        ("enableNodeLabeller", "enableNodeLabeler"),
    ],
    ("one", f"{S}/nodes/nodes.csv"): [
        ("s1-compute-0007,s1-compute,s1-compute,s1-p01-r02", "s1-compute-0007,s1-compute,s1-compute,s1-p01-r03"),
        ("s1-compute-0128,.*\n", ""),
        ("(s1-compute-0001,.*),8\n", r"\1,4\n"),
        ("s1-compute-0002,s1-compute,", "s1-compute-0002,compute,"),
        ("s1-compute-0003,s1-compute,s1-compute", "s1-compute-0003,s1-spare,s1-spare"),
        ("s1-su001", "s1-su009"),
        ("node,class", "name,class"),
        ("s1-compute-0004,", "s1-compute-0005,"),
        ("s1-compute-0005,", "s1_compute_0005,"),
    ],
    ("one", f"{S}/nodes/classes.yaml"): [
        ("cluster.internal/accelerator: a100", "cluster.internal/accelerator: h100"),
        ("effect: NoSchedule", "effect: Never"),
        ("rack: topology.cluster.internal/rack", "rack: topology.cluster.internal/racks"),
        ("s1-compute:", "s1-computes:"),
        ("topology.kubernetes.io/zone: virginia", "topology.kubernetes.io/zone: 'north virginia'"),
        ("taints:", "taint:"),
    ],
    ("one", f"{S}/kubeadm/cluster.yaml"): [
        ("podSubnet: 10.1.0.0/16", "podSubnet: 10.2.0.0/16"),
        ("serviceSubnet: 10.0.48.0/20", "serviceSubnet: 10.0.48.0"),
        ("kubernetesVersion: v1.36.4", "kubernetesVersion: v1.35.8"),
        ("kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3"),
        ("internal:6443", "internal:6444"),
        ("cgroupDriver: systemd", "cgroupDriver: system"),
        ("controlPlaneEndpoint", "controlPlaneEndPoint"),
        ("maxPods: 110", "maxPods: -1"),
        ("shutdownGracePeriod: 90s", "shutdownGracePeriod: 90 s"),
        ("port: 10250", "port: 10255"),
        ("kind: InitConfiguration", "kind: InitConfig"),
    ],
    ("one", f"{S}/kubeadm/join-s1-compute.yaml"): [
        ("accelerator=a100", "accelerator=h100"),
        ("key: nvidia.com/gpu", "key: amd.com/gpu"),
        ("nodeRegistration:", "nodeRegistrations:"),
        ("kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1"),
        ("discovery:", "discover:"),
        ("- name: node-labels", "- node-labels"),
    ],
    ("one", f"{S}/kubeadm/authentication.yaml"): [
        ("apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"),
        ("jwt:", "jwts:"),
        ("kind: AuthenticationConfiguration", "kind: Authentication"),
        ("issuer:", "issuers:"),
        ("url: https", "url: http"),
        ("claim: preferred_username", "claims: preferred_username"),
    ],
    ("one", f"{S}/kubeadm/audit-policy.yaml"): [
        ("level: Metadata", "level: Meta"),
        ("audit.k8s.io/v1", "audit.k8s.io/v1beta1"),
        ("rules:", "rule:"),
        ("kind: Policy", "kind: AuditPolicy"),
        ("- RequestReceived", "- Received"),
    ],
    ("one", "kubernetes/argocd/project.yaml"): [
        ("name: enterprise-1024-a100", "name: enterprise"),
        ("- https://charts.external-secrets.io\n", ""),
        ("sourceRepos:", "repos:"),
        ("namespace: kueue-system", "namespace: kueue"),
        ("kind: AppProject", "kind: Project"),
        ("warn: true", "warn: 'yes'"),
    ],
    ("one", "kubernetes/argocd/virginia.yaml"): [
        ("path: kubernetes/virginia/queues", "path: kubernetes/virginia/queue"),
        ("helm/kueue.yaml", "helm/queues.yaml"),
        ("targetRevision: 0.19.2", "targetRevision: 0.18.0"),
        ("project: enterprise-1024-a100", "project: default"),
        ("ref: bundle", "ref: files"),
        ("sync-wave: '-40'", "sync-wave: first"),
        ("selfHeal: true", "selfheal: true"),
        ("namespace: gpu-operator", "namespace: gpu"),
        ("releaseName", "release"),
        ("repoURL: https://git.cluster.internal", "repoURL: https://git.example.org"),
    ],
    ("one", "kubernetes/argocd/root.yaml"): [
        ("path: kubernetes/argocd", "path: kubernetes/argo"),
        ("project: enterprise-1024-a100", "project: enterprise"),
        ("targetRevision", "revision"),
        ("kind: Application", "kind: App"),
        ("prune: false", "prune: 'no'"),
    ],
    ("one", "kubernetes/argocd/settings.yaml"): [
        ("kind: ConfigMap", "kind: ConfigMaps"),
        ("data:", "datas:"),
        ("name: argocd-cm", "names: argocd-cm"),
        ("apiVersion: v1", "apiVersion: v2"),
        ("argoproj.io_Application: [|]", "argoproj.io_Application: {}\n  x: |"),
    ],
    ("one", f"{S}/training/foundation.yaml"): [
        ("parallelism: 128", "parallelism: 127"),
        ("nvidia.com/gpu: '8'", "nvidia.com/gpu: '4'"),
        ("tp=4,pp=4,dp=64", "tp=4,pp=4,dp=32"),
        ("--nnodes=128", "--nnodes=64"),
        ("--master-addr=foundation-workers-0-0", "--master-addr=foundation-worker-0-0"),
        ("queue-name: default", "queue-name: gpus"),
        ("claimName: parallel", "claimName: scratch"),
        ("serviceAccountName: training", "serviceAccountName: trainer"),
        ("priorityClassName: training-normal", "priorityClassName: normal"),
        ("memory: 1824Gi", "memory: 1824 GiB"),
        ("cpu: '248'", "cpu: '480'"),
        ("image: registry.cluster.internal/", "image: docker.io/"),
        (":core-v0.14.0", ":latest"),
        ("minAvailable: 128", "minAvailable: 64"),
        ("topology.cluster.internal/block", "topology.cluster.internal/blocks"),
        ("restartStrategy: BlockingRecreate", "restartStrategy: Block"),
        ("name: NODE_RANK", "name: RANK"),
        ("- name: cache\n                mountPath", "- name: caches\n                mountPath"),
        ("key: nvidia.com/gpu", "key: gpu"),
        ("namespace: research", "namespace: reserch"),
        ("maxRestarts: 15", "maxRestarts: often"),
    ],
    ("one", f"{S}/kustomization.yaml"): [
        ("- queues\n", "- queue\n"),
        ("- base\n", ""),
        ("resources:", "resource:"),
        ("kind: Kustomization", "kind: Kustomize"),
        ("v1beta1", "v1beta2"),
    ],
    ("one", f"{T}/kustomization.yaml"): [
        ("- access.yaml\n", ""),
        ("- queue.yaml", "- queues.yaml"),
        ("namespace: research", "namespace: reserch"),
        ("../../components/tenant", "../../components/tenants"),
        ("resources:", "ressources:"),
    ],
}
CASES = [(design, path, *fault) for (design, path), faults in FAULTS.items() for fault in faults]


@pytest.fixture(scope="session")
def bundles(
    catalog: Catalog, render_of: Callable[..., Bundle], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    made = {}
    for name, (example, *sets) in DESIGNS.items():
        made[name] = tmp_path_factory.mktemp(name) / "bundle"
        render_of(_designed(catalog, example, *sets), "kubernetes").write(made[name])
    return made


def failed(root: Path, live: bool = False) -> list[str]:
    """What the gate says is wrong, its look at the manifest left out: a fault must be seen, not only that it is new."""
    return [
        f"{check.file}: {check.message}"
        for check in verify(root, live=live)
        if not check.ok and check.judge != "clusterwright manifest"
    ]


@pytest.mark.parametrize(("design", "path", "old", "new"), CASES)
def test_a_planted_fault_is_caught(bundles: dict[str, Path], design: str, path: str, old: str, new: str) -> None:
    file = bundles[design] / path
    before = file.read_text("utf-8")
    after = (
        re.sub(old, new, before, count=1) if "\\" in old or ".*" in old or "[" in old else before.replace(old, new, 1)
    )
    assert after != before, "the fault changes nothing"
    try:
        file.write_text(after, "utf-8")
        assert failed(bundles[design])
    finally:
        file.write_text(before, "utf-8")


def test_the_gate_is_quiet_without_a_fault(bundles: dict[str, Path]) -> None:
    assert [failed(root) for root in bundles.values()] == [[], [], []]


def test_every_kind_of_file_has_five_faults() -> None:
    counted = Counter({key: len(faults) for key, faults in FAULTS.items()})
    assert min(counted.values()) >= 5
    assert len(CASES) >= 5 * len(FAULTS)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{S}/queues/policy.yaml", "a: [1"),
        (f"{S}/queues/policy.yaml", "[]"),
        (f"{S}/nodes/classes.yaml", "7"),
        (f"{S}/nodes/nodes.csv", ""),
        (f"{S}/kubeadm/cluster.yaml", "--- 1\n--- [x]\n"),
        (f"{S}/helm/kueue.yaml", "controllerManager: 1"),
        (f"{T}/secrets.yaml", "kind: 1\nmetadata: []\nspec: no\n"),
        (f"{S}/training/foundation.yaml", "kind: JobSet\nspec: {replicatedJobs: [1]}\n"),
        ("kubernetes/argocd/virginia.yaml", "- 1\n- 2\n"),
        (f"{S}/kustomization.yaml", "resources: 7\n"),
        (f"{S}/kustomization.yaml", "resources: [., ../virginia]\n"),
    ],
)
def test_garbage_is_a_finding_and_not_a_crash(bundles: dict[str, Path], path: str, text: str) -> None:
    file = bundles["one"] / path
    before = file.read_text("utf-8")
    try:
        file.write_text(text, "utf-8")
        assert failed(bundles["one"])
    finally:
        file.write_text(before, "utf-8")


LIVE = [
    ("kubernetes-validate", f"{S}/base/roles.yaml", "verbs:", "verb:"),
    ("kubernetes-validate", f"{T}/volumes.yaml", "accessModes:", "accessMode:"),
    ("kubectl kustomize", f"{T}/kustomization.yaml", "- queue.yaml", "- queues.yaml"),
    ("kubectl kustomize", f"{T}/queue.yaml", "clusterQueue: research", "clusterQueue: research\n  clusterQueue: x"),
    ("jsonschema", f"{S}/queues/policy.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Always"),
    (
        "jsonschema",
        f"{S}/queues/policy.yaml",
        "kubernetes.io/hostname\n",
        "example.org/host\n  - nodeLabel: example.org/host\n",
    ),
]


@pytest.mark.parametrize(("judge", "path", "old", "new"), LIVE)
def test_the_real_judges_refuse_what_they_should(
    bundles: dict[str, Path], judge: str, path: str, old: str, new: str
) -> None:
    pytest.importorskip("jsonschema", reason="pip install jsonschema common-expression-language")
    if judge == "kubernetes-validate" and judges.VALIDATE.path is None:
        pytest.skip(judges.VALIDATE.install)
    if judge == "kubectl kustomize" and judges.kubectl() is None:
        pytest.skip(judges.KUBECTL.install)
    file = bundles["one"] / path
    before = file.read_text("utf-8")
    try:
        file.write_text(before.replace(old, new, 1), "utf-8")
        assert judge in {check.judge for check in verify(bundles["one"]) if not check.ok}
    finally:
        file.write_text(before, "utf-8")
