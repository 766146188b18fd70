"""Packages and their sources by operating system, vendor of the accelerators, fabric and scheduler."""

from __future__ import annotations

from typing import Any

from clusterwright.deploy.inventory import Group, Inventory
from clusterwright.deploy.targets.ansible.versions import SYSTEMS, System, releases

__all__ = ["base", "exporter", "fabric_kind", "gpu", "nvlink_domain", "repositories", "scheduler"]

Values = dict[str, Any]
_GRACE = ("gb", "gh", "vr")
"""Accelerators that sit beside an Arm processor of NVIDIA."""


def fabric_kind(inventory: Inventory) -> str:
    """infiniband, roce, efa or slingshot."""
    kind = inventory.text("fabric.technology").split("-")[0]
    return "roce" if kind == "ethernet" else kind


def exporter(inventory: Inventory) -> bool:
    """Whether hosts run DCGM and its exporter themselves; under Kubernetes the GPU operator brings them."""
    vendors = {group.gpu_vendor for group in inventory.groups if group.gpus}
    return "NVIDIA" in vendors and inventory.scheduler != "kubernetes"


def nvlink_domain(group: Group) -> str:
    """How far NVLink reaches: ``rack`` (NVL72), ``node`` (NVSwitch in the server) or ``none``."""
    if group.gpu_vendor != "NVIDIA":
        return "none"
    if "nvl72" in group.accelerator or "nvl36" in group.accelerator:
        return "rack"
    return "node" if group.gpus > 1 and "sxm" in group.accelerator else "none"


def _arm(group: Group | None) -> bool:
    return group is not None and group.accelerator.startswith(_GRACE)


def repositories(inventory: Inventory, gpus: Group | None) -> Values:
    """Package sources; an isolated site replaces the URLs by its mirror."""
    system, found = SYSTEMS[inventory.settings.os], releases(inventory)
    arm = _arm(gpus)
    cuda = f"https://developer.download.nvidia.com/compute/cuda/repos/{system.cuda}/{'sbsa' if arm else 'x86_64'}"
    key = {"debian": "8793F200.pub"}.get(system.distribution, system.of("3bf863cc.pub", "D42D0685.pub"))
    made: Values = {}
    if "doca" in found:
        cpu = "arm64-sbsa" if arm else "x86_64"
        doca = f"https://linux.mellanox.com/public/repo/doca/{found['doca']}/{system.doca}/{cpu}"
        made["doca"] = {"url": f"{doca}/", "key": f"{doca}/GPG-KEY-Mellanox.pub"}
    if gpus is not None and gpus.gpu_vendor == "NVIDIA":
        made["cuda"] = {"url": f"{cuda}/", "key": f"{cuda}/{key}"}
    if gpus is not None and gpus.gpu_vendor == "AMD":
        made |= _amd(system, found)
    if inventory.scheduler == "kubernetes":
        base = f"https://pkgs.k8s.io/core:/stable:/v{found['kubernetes']}/{system.of('deb', 'rpm')}/"
        made["kubernetes"] = {"url": base, "key": f"{base}{system.of('Release.key', 'repodata/repomd.xml.key')}"}
    elif inventory.scheduler == "slurm":
        # Slurm, Enroot and Pyxis as the cluster builds them: Pyxis must be compiled against this release of Slurm.
        own = f"https://{inventory.settings.registry}/packages/slurm-{found['slurm']}/{system.cuda}/"
        made["site"] = {"url": own, "key": f"{own}key.asc"}
    return made


def _amd(system: System, found: dict[str, str]) -> Values:
    root = "https://repo.radeon.com"
    key = f"{root}/rocm/rocm.gpg.key"
    rocm = system.of(f"{root}/rocm/apt/{found['rocm']}", f"{root}/rocm/el9/{found['rocm']}/main")
    driver = system.of(f"{root}/amdgpu/{found['amdgpu']}/ubuntu", f"{root}/amdgpu/{found['amdgpu']}/el/9.6/main/x86_64")
    return {
        name: {"url": url, "suite": system.codename, "key": key} for name, url in (("rocm", rocm), ("amdgpu", driver))
    }


def base(system: System) -> Values:
    """Names that differ between the families of operating systems."""
    return {
        "base_packages": [
            "chrony",
            "curl",
            "ethtool",
            "hwloc",
            "ipmitool",
            "jq",
            "lldpd",
            "numactl",
            "nvme-cli",
            "pciutils",
            "rsyslog",
            "rsyslog-gnutls",
            system.of("linux-tools-generic" if system.distribution == "ubuntu" else "linux-cpupower", "kernel-tools"),
        ],
        "chrony_conf": system.of("/etc/chrony/chrony.conf", "/etc/chrony.conf"),
        "chrony_service": system.of("chrony", "chronyd"),
        "sshd_service": system.of("ssh", "sshd"),
        "grub_command": system.of("update-grub", "grub2-mkconfig -o /boot/grub2/grub.cfg"),
        "sssd_packages": ["sssd", *(["libpam-sss", "libnss-sss", "sssd-tools"] if system.deb else ["sssd-tools"])],
        "hardening_packages": [
            "nftables",
            system.of("auditd", "audit"),
            system.of("unattended-upgrades", "dnf-automatic"),
        ],
        "nftables_conf": system.of("/etc/nftables.conf", "/etc/sysconfig/nftables.conf"),
        "ca_bundle": system.of(
            "/usr/local/share/ca-certificates/cluster.crt", "/etc/pki/ca-trust/source/anchors/cluster.crt"
        ),
        "ca_refresh": system.of("update-ca-certificates", "update-ca-trust"),
        "node_exporter_package": system.of("prometheus-node-exporter", "golang-github-prometheus-node-exporter"),
        "node_exporter_service": "prometheus-node-exporter",
        "node_exporter_defaults": system.of(
            "/etc/default/prometheus-node-exporter", "/etc/sysconfig/prometheus-node-exporter"
        ),
        "monitoring_packages": ["prometheus", "prometheus-alertmanager"]
        if system.deb
        else ["golang-github-prometheus", "golang-github-prometheus-alertmanager"],
    }


def gpu(inventory: Inventory, group: Group) -> Values:
    """Packages of accelerator nodes: what must have the same version is pinned to it."""
    system, found = SYSTEMS[inventory.settings.os], releases(inventory)
    made: Values = {"gpu_packages": [], "rdma_packages": [], "container_packages": []}
    if group.gpu_vendor == "NVIDIA":
        made |= _nvidia(inventory, group, system, found)
    elif group.gpu_vendor == "AMD":
        made["gpu_packages"] = ["amdgpu-dkms", "rocm", "rocm-smi-lib"]
    if "doca" in found:
        made["rdma_packages"] = [system.pin("doca-ofed", found["doca"])]
    if inventory.scheduler == "slurm":
        enroot = [system.pin(name, found["enroot"]) for name in ("enroot", "enroot+caps")]
        made["container_packages"] = [*made["container_packages"], *enroot, "nvslurm-plugin-pyxis"]
    if inventory.scheduler == "kubernetes":
        made["container_packages"] = [*made["container_packages"], "containerd" if system.deb else "containerd.io"]
    held = [*made["gpu_packages"], *made["rdma_packages"]]
    if not exporter(inventory):
        made.pop("dcgm_packages", None)
    made["held_packages"] = [name.split("=")[0] for name in held]
    return made


def _nvidia(inventory: Inventory, group: Group, system: System, found: dict[str, str]) -> Values:
    branch, release = found["nvidia_branch"], found["nvidia_driver"]
    reach = nvlink_domain(group)
    # The libraries of NVSwitch and the fabric manager refuse a driver of another patch release.
    switch = {
        "node": [f"nvidia-fabricmanager-{branch}", f"libnvidia-nscq-{branch}"],
        "rack": [f"nvidia-imex-{branch}"],
        "none": [],
    }[reach]
    drivers = (
        [f"nvidia-open-{branch}", *switch] if system.deb else ["nvidia-open", *(x.rsplit("-", 1)[0] for x in switch)]
    )
    cuda = found["cuda_toolkit"]
    dcgm = ("core", "proprietary", f"cuda{cuda.split('.')[0]}", f"proprietary-cuda{cuda.split('.')[0]}")
    return {
        "gpu_packages": [
            *(system.pin(name, release) for name in drivers),
            f"cuda-toolkit-{cuda.replace('.', '-')}",
        ],
        "container_packages": [system.pin("nvidia-container-toolkit", found["nvidia_container_toolkit"])],
        "dcgm_packages": [
            *(system.pin(f"datacenter-gpu-manager-4-{part}", f"{system.of('1:', '')}{found['dcgm']}") for part in dcgm),
            system.pin("datacenter-gpu-manager-exporter", found["dcgm_exporter"]),
        ],
    }


def _distribution_slurm(inventory: Inventory) -> bool:
    return inventory.settings.slurm == "22.05"


def scheduler(inventory: Inventory, role: str) -> list[str]:
    """Packages of the scheduler for hosts of a role."""
    system, found = SYSTEMS[inventory.settings.os], releases(inventory)
    if inventory.scheduler == "kubernetes":
        return [system.pin(name, found["kubernetes"]) for name in ("kubelet", "kubeadm", "kubectl")]
    if _distribution_slurm(inventory):
        parts = {"compute": ["slurmd", "libpam-slurm-adopt"], "scheduler": ["slurmctld", "slurmdbd", "slurmrestd"]}
        return ["munge", "slurm-client", *parts.get(role, [])]
    parts = (
        {
            "compute": ["slurm-smd-slurmd", "slurm-smd-libpam-slurm-adopt"],
            "scheduler": ["slurm-smd-slurmctld", "slurm-smd-slurmdbd", "slurm-smd-slurmrestd"],
        }
        if system.deb
        else {
            "compute": ["slurm-slurmd", "slurm-pam_slurm"],
            "scheduler": ["slurm-slurmctld", "slurm-slurmdbd", "slurm-slurmrestd"],
        }
    )
    names = [system.of("slurm-smd-client", "slurm"), *parts.get(role, [])]
    return ["munge", *(system.pin(name, found["slurm"]) for name in names)]
