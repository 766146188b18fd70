"""The platform's own objects: namespaces, priorities, roles, admission, disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.targets.kubernetes import nvlink
from clusterwright.deploy.targets.kubernetes.room import SYSTEM, Object, Room, kustomization, obj, written
from clusterwright.domains.scheduling import PRIORITIES, PRIORITY_LABEL

__all__ = ["PREFIX", "files"]

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
PREFIX = "training-"
"""Before the names of pod priority classes, so that they are not mistaken for those of workloads."""
_READ = ["get", "list", "watch"]
_WRITE = ["create", "update", "patch", "delete", "deletecollection"]


def files(room: Room) -> Iterator[File]:
    """``base/``."""
    root = f"{room.root}/base"
    parts = {
        "namespaces.yaml": (_namespaces(room), "Namespaces of the platform and how strict their pods are"),
        "priorities.yaml": (_priorities(), "Priority of pods; Kueue decides who runs, the scheduler evicts nobody"),
        "roles.yaml": (_roles(room), "What viewers, operators and admins of a tenant may do; who runs the platform"),
        "admission.yaml": (_admission(room), "What the API server refuses or fills in for tenants"),
        "disruption.yaml": (_budgets(), "How many of the platform's own pods an upgrade may take away at once"),
    }
    for name, (objects, note) in parts.items():
        yield written(f"{root}/{name}", objects, note, f"kubectl apply -k {root}")
    yield kustomization(root, parts)


def _namespaces(room: Room) -> list[Object]:
    security, made = "pod-security.kubernetes.io", []
    for name, strict in SYSTEM.items():
        if name == "network-operator" and room.transport not in ("infiniband", "roce"):
            continue
        if name == nvlink.CHART and not nvlink.rack_scale(room):
            continue
        labels = {
            f"{security}/enforce": strict,
            f"{security}/enforce-version": f"v{room.inventory.settings.kubernetes}",
        }
        made.append(obj("v1", "Namespace", name, labels=labels))
    return made


def _priorities() -> list[Object]:
    """Never preempting: a pod that the scheduler evicts behind Kueue's back would break a gang."""
    made = []
    for name, value in PRIORITIES.items():
        body = {"value": value, "preemptionPolicy": "Never", "globalDefault": name == "normal"}
        said = f"pods of workloads of class {name}; Kueue preempts whole workloads instead"
        made.append(obj("scheduling.k8s.io/v1", "PriorityClass", f"{PREFIX}{name}", **body, description=said))
    return made


# --- roles ---


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _roles(room: Room) -> list[Object]:
    core = ["pods", "pods/log", "services", "configmaps", "events", "persistentvolumeclaims", "serviceaccounts"]
    limits = ["resourcequotas", "limitranges"]
    queues = ["localqueues", "workloads"]
    see = [
        _rule([""], [*core, *limits], _READ),
        _rule(["batch"], ["jobs", "cronjobs"], _READ),
        _rule(["apps"], ["deployments", "statefulsets", "replicasets"], _READ),
        _rule(["jobset.x-k8s.io"], ["jobsets"], _READ),
        _rule(["kueue.x-k8s.io"], queues, _READ),
        _rule(["networking.k8s.io"], ["networkpolicies"], _READ),
    ]
    run = [
        _rule([""], ["pods", "services", "configmaps", "persistentvolumeclaims"], _WRITE),
        _rule([""], ["pods/exec", "pods/portforward", "pods/attach"], ["create", "get"]),
        _rule(["batch"], ["jobs", "cronjobs"], _WRITE),
        _rule(["apps"], ["deployments", "statefulsets"], _WRITE),
        _rule(["jobset.x-k8s.io"], ["jobsets"], _WRITE),
        _rule(["kueue.x-k8s.io"], ["workloads"], ["patch", "update"]),
    ]
    if nvlink.rack_scale(room):
        see, run = [*see, *nvlink.rules(_READ)], [*run, nvlink.rules(_WRITE)[0]]
    lead = [
        _rule([""], ["serviceaccounts"], _WRITE),
        _rule(["external-secrets.io"], ["externalsecrets"], [*_READ, *_WRITE]),
        _rule([_RBAC], ["rolebindings"], [*_READ, *_WRITE]),
        {**_rule([_RBAC], ["clusterroles"], ["bind"]), "resourceNames": ["tenant-viewer", "tenant-operator"]},
    ]
    made = [
        obj(f"{_RBAC}/v1", "ClusterRole", "tenant-viewer", rules=see),
        obj(f"{_RBAC}/v1", "ClusterRole", "tenant-operator", rules=[*see, *run]),
        obj(f"{_RBAC}/v1", "ClusterRole", "tenant-admin", rules=[*see, *run, *lead]),
    ]
    for name, role in (("platform-admins", "cluster-admin"), ("platform-viewers", "view")):
        ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
        group = {"kind": "Group", "name": f"oidc:{name}", "apiGroup": _RBAC}
        made.append(obj(f"{_RBAC}/v1", "ClusterRoleBinding", name, subjects=[group], roleRef=ref))
    return made


# --- admission ---


def _admission(room: Room) -> list[Object]:
    """Two rules for tenants, and from 1.36 on the priority of a tenant as the default of its jobs."""
    registry = room.inventory.settings.registry
    ranks = ", ".join(f"'{name}': {value}" for name, value in PRIORITIES.items())
    own = f"namespaceObject.metadata.labels['{room.domain}/priority']"
    asked = f"object.metadata.labels['{PRIORITY_LABEL}']"
    named = f"has(object.metadata.labels) && '{PRIORITY_LABEL}' in object.metadata.labels"
    allowed = f"{named} && {asked} in variables.ranks && variables.ranks[{asked}] <= variables.ranks[{own}]"
    images = " && ".join(
        f"(!has(object.spec.{kind}) || object.spec.{kind}.all(c, c.image.startsWith('{registry}/')))"
        for kind in ("containers", "initContainers", "ephemeralContainers")
    )
    made = _policy(
        room,
        "tenant-priority",
        _JOBS,
        [{"expression": allowed, "message": f"label {PRIORITY_LABEL} must be the tenant's class or a lower one"}],
        variables=[{"name": "ranks", "expression": f"{{{ranks}}}"}],
    )
    made += _policy(
        room,
        "tenant-images",
        [_matched("", "v1", ["pods"])],
        [{"expression": images, "message": f"images come from {registry}"}],
    )
    if room.release.mutating_policy:
        made += _defaulted(room, own)
    return made


def _matched(group: str, version: str, resources: list[str]) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
    }


_JOBS = [_matched("jobset.x-k8s.io", "v1alpha2", ["jobsets"])]


def _policy(room: Room, name: str, rules: list[Object], checks: list[Object], **more: object) -> list[Object]:
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        **more,
        "validations": checks,
    }
    tenants = {"matchExpressions": [{"key": f"{room.domain}/tenant", "operator": "Exists"}]}
    bound = {
        "policyName": name,
        "validationActions": ["Deny", "Audit"],
        "matchResources": {"namespaceSelector": tenants},
    }
    api = f"{_ADMISSION}/v1"
    return [
        obj(api, "ValidatingAdmissionPolicy", name, spec=spec),
        obj(api, "ValidatingAdmissionPolicyBinding", name, spec=bound),
    ]


def _defaulted(room: Room, own: str) -> list[Object]:
    name, api = "tenant-priority", room.release.mutating_policy
    change = f"Object{{metadata: Object.metadata{{labels: {{'{PRIORITY_LABEL}': {own}}}}}}}"
    absent = f"!(has(object.metadata.labels) && '{PRIORITY_LABEL}' in object.metadata.labels)"
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [{**_JOBS[0], "operations": ["CREATE"]}]},
        "matchConditions": [{"name": "no-class-named", "expression": absent}],
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}],
    }
    tenants = {"matchExpressions": [{"key": f"{room.domain}/tenant", "operator": "Exists"}]}
    bound = {"policyName": name, "matchResources": {"namespaceSelector": tenants}}
    return [
        obj(api, "MutatingAdmissionPolicy", name, spec=spec),
        obj(api, "MutatingAdmissionPolicyBinding", name, spec=bound),
    ]


# --- disruption ---


def _budgets() -> list[Object]:
    """Of pods that no chart of ours guards; the charts of Kueue, JobSet and External Secrets bring their own."""
    selector = {"matchLabels": {"k8s-app": "kube-dns"}}
    spec = {"minAvailable": 1, "selector": selector}
    return [obj("policy/v1", "PodDisruptionBudget", "coredns", "kube-system", spec=spec)]
