"""Where a lab is: one folder under /run/clusterwright, readable by root alone, that holds all that it has."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from clusterwright.errors import InputError, WorldError
from clusterwright.lab.codes import FINDINGS

__all__ = ["MARK", "NODE", "Lab", "find", "find_any", "labs", "place_of"]

MARK = "CLUSTERWRIGHT_LAB"
"""Environment variable that every process of a lab has, tasks of jobs included: the folder of the lab."""
NODE = "CLUSTERWRIGHT_NODE"
"""Environment variable of the processes of one node."""


def labs() -> Path:
    """The folder of all labs; ``CLUSTERWRIGHT_LABS`` names another one."""
    return Path(os.environ.get("CLUSTERWRIGHT_LABS", "/run/clusterwright"))


def place_of(name: str) -> Path:
    """The folder of a lab."""
    return labs() / name


@dataclass(frozen=True)
class Lab:
    """A lab on this machine.

    Attributes:
        root: its folder.
    """

    root: Path

    @property
    def name(self) -> str:
        """Of the lab, which is that of the cluster."""
        return self.root.name

    @property
    def conf(self) -> Path:
        """slurm.conf."""
        return self.root / "slurm" / "slurm.conf"

    @property
    def site(self) -> Path:
        """How the lab is reached, for the verbs that operate a cluster."""
        return self.root / "site.yaml"

    @property
    def shared(self) -> Path:
        """The file system that all nodes share."""
        return self.root / "shared"

    @property
    def faults(self) -> Path:
        """What is broken now."""
        return self.root / "faults.json"

    @property
    def bundle(self) -> Path:
        """The rendered files that it was started from."""
        return self.root / "bundle"

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """What was noted when it was started: ports, nodes, clock."""
        return dict(json.loads((self.root / "lab.json").read_text("utf-8")))

    @property
    def tenants(self) -> list[str]:
        """Accounts of the cluster's tenants."""
        held = json.loads((self.bundle / "inventory.json").read_text("utf-8"))
        return list(held.get("tenants", {}))

    @property
    def environment(self) -> dict[str, str]:
        """For clients of this Slurm."""
        return {"SLURM_CONF": str(self.conf), MARK: str(self.root)}

    def log(self, name: str) -> Path:
        """Of a daemon."""
        return self.root / "log" / f"{name}.log"

    def said(self, name: str, most: int = 400) -> str:
        """Last words of a daemon."""
        try:
            text = self.log(name).read_text("utf-8", "replace")
        except OSError:
            return "it says nothing"
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        fatal = [line for line in lines if "fatal" in line.lower()]
        return " ".join((fatal or lines)[-2:])[-most:] or "it says nothing"


def find(name: str | None = None) -> Lab:
    """The lab of that name, or the only one that is up.

    Raises:
        WorldError: none is up.
        InputError: several are, and none is named.
    """
    here = labs()
    up = sorted(path.parent for path in here.glob("*/lab.json")) if here.is_dir() else []
    if name is not None:
        up = [path for path in up if path.name == name]
    if not up:
        said = "no lab is up" if name is None else f"no lab '{name}' is up"
        raise WorldError(FINDINGS["LAB-NOT-UP"].at("", said, "clusterwright lab up DESIGN"))
    if len(up) > 1:
        names = ", ".join(path.name for path in up)
        raise InputError(FINDINGS["LAB-WHICH"].at("", f"several labs are up: {names}", "say which one with --name"))
    return Lab(up[0])


def find_any(name: str | None = None) -> Lab:
    """As :func:`find`, but what a crash left of a lab counts, too."""
    here = labs()
    if name is not None and (here / name).is_dir() and "/" not in name and name not in ("", ".", ".."):
        return Lab(here / name)
    found = sorted(path for path in here.iterdir() if path.is_dir()) if name is None and here.is_dir() else []
    return Lab(found[0]) if len(found) == 1 else find(name)
