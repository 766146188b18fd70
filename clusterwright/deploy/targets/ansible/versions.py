"""Releases that are installed, and how packages of them are named on each operating system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.text import load_yaml

__all__ = ["SYSTEMS", "System", "releases"]


@dataclass(frozen=True)
class System:
    """An operating system of :data:`clusterwright.spec.deploy.OPERATING_SYSTEMS`.

    Attributes:
        distribution: as Ansible says it, in lower case.
        version: least release.
        deb: whether packages are of Debian's form.
        codename: of Debian and Ubuntu.
        cuda: its name in NVIDIA's repository. ``doca`` in that of DOCA-Host.
    """

    distribution: str
    version: str
    deb: bool
    codename: str
    cuda: str
    doca: str

    def pin(self, name: str, release: str) -> str:
        """A package of a release, as the package manager writes it."""
        return f"{name}={release}*" if self.deb else f"{name}-{release}*"

    def of(self, deb: str, rpm: str) -> str:
        """What is named differently in both families."""
        return deb if self.deb else rpm


SYSTEMS: Mapping[str, System] = {
    "ubuntu-22.04": System("ubuntu", "22.04", True, "jammy", "ubuntu2204", "ubuntu22.04"),
    "ubuntu-24.04": System("ubuntu", "24.04", True, "noble", "ubuntu2404", "ubuntu24.04"),
    "debian-12": System("debian", "12", True, "bookworm", "debian12", "debian12.1"),
    "rocky-9": System("rocky", "9", False, "", "rhel9", "rhel9"),
}


@cache
def _table() -> Mapping[str, str]:
    text = files("clusterwright.deploy.targets.ansible").joinpath("data", "versions.yaml").read_text("utf-8")
    return {name: entry["version"] for name, entry in load_yaml(text).items()}


def releases(inventory: Inventory) -> dict[str, str]:
    """Component -> release, of those that the design has; the scheduler's from the design."""
    vendors = {group.gpu_vendor for group in inventory.groups if group.gpus}
    fabric = inventory.text("fabric.technology")
    wanted = {
        "NVIDIA": (
            "nvidia_driver",
            "nvidia_branch",
            "cuda_toolkit",
            "nvidia_container_toolkit",
            "dcgm",
            "dcgm_exporter",
        ),
        "AMD": ("rocm", "amdgpu"),
    }
    names = [name for vendor, some in wanted.items() if vendor in vendors for name in some]
    names += ["enroot"] if inventory.scheduler == "slurm" else []
    names += (
        ["efa_installer", "efa_installer_sha256"]
        if fabric.startswith("efa")
        else ["doca"]
        if fabric.startswith(("infiniband", "ethernet"))
        else []
    )
    table = _table()
    made = {name: table[name] for name in names}
    made[inventory.scheduler] = getattr(inventory.settings, inventory.scheduler, "")
    return made
