"""Names of Ansible groups: letters, digits and ``_``, since groups are variables, too."""

from __future__ import annotations

import re

__all__ = ["ROOT", "RUN", "group_name", "service_group"]

ROOT = "ansible"
"""Folder of the target."""
RUN = "ansible-playbook site.yml"
"""What makes a change take effect."""


def group_name(prefix: str, name: str) -> str:
    """``rack``, ``s1-p01-r01`` -> ``rack_s1_p01_r01``; without a prefix the name alone."""
    made = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return f"{prefix}_{made}" if prefix else made


def service_group(component: str) -> str:
    """``slurmdbd and MariaDB`` -> ``service_slurmdbd_and_mariadb``."""
    return group_name("service", component)
