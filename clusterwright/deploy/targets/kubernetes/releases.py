"""What differs between releases of Kubernetes, and the versions of what runs on it: the one place that knows.

Objects are written by API versions that every supported release serves; what a release adds or lacks is a field of
:class:`Release`. Sources: the schemas of each release (package kubernetes-validate 1.37) and the projects' own charts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["CHARTS", "DRIVERS", "FRAMEWORK_IMAGE", "RELEASES", "Chart", "Release"]


@dataclass(frozen=True)
class Release:
    """A minor release.

    Attributes:
        patch: that kubeadm installs.
        kubeadm: API version of its configuration.
        mutating_policy: API version of MutatingAdmissionPolicy, empty where it is not served by default; it was added
            as v1 in 1.36, so older releases ask for the priority label instead of setting it.
        dra: API version of ResourceClaim and DeviceClass, stable since 1.34; GPUs are still counted by the device
            plugin in every release, because quotas of Kueue and ResourceQuota name ``nvidia.com/gpu``.
        served: group versions, beside those of every release, that objects of a bundle may have.
        gone: group versions that an earlier release served and this one does not.
    """

    patch: str
    kubeadm: str = "kubeadm.k8s.io/v1beta4"
    mutating_policy: str = ""
    dra: str = "resource.k8s.io/v1"
    served: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


_MUTATING = "admissionregistration.k8s.io/v1"
RELEASES: Mapping[str, Release] = {
    "1.34": Release("v1.34.11"),
    "1.35": Release("v1.35.8", served=("storagemigration.k8s.io/v1beta1",)),
    "1.36": Release("v1.36.4", mutating_policy=_MUTATING, served=("storagemigration.k8s.io/v1beta1",)),
    "1.37": Release(
        "v1.37.0",
        mutating_policy=_MUTATING,
        served=("storagemigration.k8s.io/v1beta1", "scheduling.k8s.io/v1beta1", "certificates.k8s.io/v1"),
        gone=("networking.k8s.io/v1beta1",),
    ),
}
"""Minor release -> what is particular to it; patches are those of the kind 0.33 node images."""


class Chart(NamedTuple):
    """A Helm chart: where from, which version, into which namespace, in which sync wave of Argo CD."""

    repository: str
    name: str
    version: str
    namespace: str
    wave: int


CHARTS: Mapping[str, Chart] = {
    "external-secrets": Chart(
        "https://charts.external-secrets.io", "external-secrets", "2.9.0", "external-secrets", -30
    ),
    "gpu-operator": Chart("https://helm.ngc.nvidia.com/nvidia", "gpu-operator", "v26.7.0", "gpu-operator", -20),
    "network-operator": Chart(
        "https://helm.ngc.nvidia.com/nvidia", "network-operator", "26.4.1", "network-operator", -20
    ),
    "amd-gpu-operator": Chart(
        "https://rocm.github.io/gpu-operator", "gpu-operator-charts", "v1.5.1", "gpu-operator", -20
    ),
    "dra-driver-nvidia-gpu": Chart(
        "registry.k8s.io/dra-driver-nvidia/charts", "dra-driver-nvidia-gpu", "0.4.0", "dra-driver-nvidia-gpu", -15
    ),
    "jobset": Chart("registry.k8s.io/jobset/charts", "jobset", "0.12.0", "jobset-system", -20),
    "kueue": Chart("registry.k8s.io/kueue/charts", "kueue", "0.19.2", "kueue-system", -10),
}
"""Charts by the name of their values file."""

DRIVERS: Mapping[str, str] = {"NVIDIA": "580.159.03", "AMD": "30.10.1"}
"""GPU driver of each vendor: a branch of long support, not the chart's newest. The playbooks install it on the hosts,
where it is one with the fabric manager and the kernel; the operators leave it alone and would install the same."""

FRAMEWORK_IMAGE = "training/megatron-lm:core-v0.14.0"
"""Image of the training framework below the registry of the cluster."""
