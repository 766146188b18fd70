"""The files of one site as they lie on disk, read back without the inventory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from clusterwright.deploy.bundle import Fact, Folder
from clusterwright.deploy.text import load_yaml
from clusterwright.domains.scheduling import OWN, Line, account_words, hosts, parse
from clusterwright.domains.scheduling import SlurmPolicy as Policy
from clusterwright.domains.scheduling import read_slurm_policy as read_policy

__all__ = ["Leaf", "Read", "facts", "sites"]

_FALLBACK = "22.05"


@dataclass(frozen=True)
class Leaf:
    """A group of nodes of the topology."""

    topology: str
    name: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """The files of a site. What cannot be read is empty here; the checks say so."""

    folder: Folder
    site: str

    def path(self, name: str) -> str:
        """Of a file in the bundle."""
        return f"slurm/{self.site}/{name}"

    def has(self, name: str) -> bool:
        """Whether the site has that file."""
        return self.folder.has(self.path(name))

    def text(self, name: str) -> str:
        """Of a file."""
        return self.folder.read(self.path(name))

    @property
    def release(self) -> str:
        """That the files are written for."""
        return str(self.folder.versions.get("slurm", _FALLBACK))

    @cached_property
    def lines(self) -> list[Line]:
        """Of slurm.conf."""
        return parse(self.text("slurm.conf"))

    def setting(self, key: str) -> str:
        """A value of slurm.conf; empty without."""
        return next((line.value for line in self.lines if line.key.lower() == key.lower()), "")

    def settings(self, key: str) -> list[str]:
        """Values of a key of slurm.conf that may stand more than once."""
        return [line.value for line in self.lines if line.key.lower() == key.lower()]

    def of(self, key: str) -> list[Line]:
        """Lines of slurm.conf that begin with a key."""
        return [line for line in self.lines if line.key.lower() == key.lower()]

    @cached_property
    def nodes(self) -> dict[str, Line]:
        """Node -> its line in slurm.conf."""
        return {name: line for line in self.of("NodeName") for name in _hosts(line.value)}

    @cached_property
    def gpus(self) -> dict[str, int]:
        """Node -> GPUs that slurm.conf says."""
        return {name: gres_count(line.get("Gres")) for name, line in self.nodes.items()}

    @cached_property
    def gres(self) -> dict[str, tuple[str, int]]:
        """Node -> type and number of GPUs that gres.conf says."""
        made: dict[str, tuple[str, int]] = {}
        for line in parse(self.text("gres.conf")):
            devices = len(_hosts(line.get("File"))) if line.get("File") else int(line.get("Count", "0") or 0)
            for name in _hosts(line.get("NodeName")):
                before = made.get(name, ("", 0))[1]
                made[name] = (line.get("Type"), before + devices)
        return made

    @cached_property
    def documents(self) -> list[dict[str, Any]]:
        """Topologies of topology.yaml; empty when it cannot be read."""
        try:
            found = load_yaml(self.text("topology.yaml"))
        except yaml.YAMLError:
            return []
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Groups of nodes in the topology files, of each topology."""
        made = [
            Leaf("topology.conf", line.value, tuple(_hosts(line.get("Nodes"))))
            for line in parse(self.text("topology.conf"))
            if line.get("Nodes")
        ]
        for one in self.documents:
            found = [(s.get("switch"), s.get("nodes")) for s in _items(one, "tree", "switches")]
            found += [(b.get("block"), b.get("nodes")) for b in _items(one, "block", "blocks")]
            made += [
                Leaf(str(one.get("topology")), str(name), tuple(_hosts(str(nodes)))) for name, nodes in found if nodes
            ]
        return made

    @property
    def scale(self) -> int:
        """Whole shares of a weight of 1."""
        found = re.search(r"^readonly SHARES_PER_WEIGHT=(\d+)$", self.text("accounts.sh"), re.MULTILINE)
        return int(found.group(1)) if found else 1

    @cached_property
    def calls(self) -> list[tuple[int, str, str, dict[str, str]]]:
        """Calls of accounts.sh."""
        try:
            return account_words(self.text("accounts.sh"))
        except ValueError:
            return []

    def policy(self) -> Policy:
        """The policy that slurm.conf and accounts.sh describe.

        Raises:
            ValueError, KeyError, TypeError: a value is missing or cannot be read.
        """
        return read_policy(self.text("slurm.conf"), self.text("accounts.sh"), self.scale)


def _items(one: dict[str, Any], kind: str, key: str) -> list[dict[str, Any]]:
    held = one.get(kind)
    found = held.get(key) if isinstance(held, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _hosts(text: str) -> list[str]:
    try:
        return hosts(text)
    except ValueError:
        return []


def gres_count(text: str) -> int:
    """GPUs of ``gpu:h100:8``; 0 when it says none."""
    found = re.fullmatch(r"gpu(?::[\w-]+)?:(\d+)", text)
    return int(found.group(1)) if found else 0


def sites(folder: Folder) -> list[Read]:
    """Every site of which the bundle has files of Slurm."""
    names = {path.split("/")[1] for path in folder.paths if path.startswith("slurm/") and path.count("/") >= 2}
    return [Read(folder, name) for name in sorted(names)]


def facts(folder: Folder) -> Iterator[Fact]:
    """What the files say that others say, too. Quotas and limits are summed over sites."""
    read = sites(folder)
    if not read:
        return
    conf, gres, accounts = (read[0].path(name) for name in ("slurm.conf", "gres.conf", "accounts.sh"))
    held = folder.inventory
    for one in read:
        addresses = _addresses(one)
        for name, gpus in one.gpus.items():
            yield Fact("node.gpus", name, gpus, conf)
            yield Fact("node.address", name, addresses.get(name, ""), conf)
        for name, (_, gpus) in one.gres.items():
            yield Fact("node.gpus", name, gpus, gres)
        yield from _units(one, {str(unit) for unit in held.get("units", {})}, read[0])
        for service, key in (
            ("slurmctld", "SlurmctldPort"),
            ("slurmd", "SlurmdPort"),
            ("slurmdbd", "AccountingStoragePort"),
        ):
            yield Fact("service.port", service, _number(one.setting(key)), one.path("slurm.conf"))
        database = {line.key: line.value for line in parse(one.text("slurmdbd.conf"))}
        for service, key in (("slurmdbd", "DbdPort"), ("mariadb", "StoragePort")):
            yield Fact("service.port", service, _number(database.get(key, "")), one.path("slurmdbd.conf"))
    yield from _tenants(read, accounts)


def _number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _addresses(read: Read) -> dict[str, str]:
    made: dict[str, str] = {}
    for line in read.of("NodeName"):
        made |= dict(zip(_hosts(line.value), _hosts(line.get("NodeAddr")), strict=False))
    return made


def _units(one: Read, known: set[str], first: Read) -> Iterator[Fact]:
    for leaf in one.leaves:
        name = "topology.yaml" if one.documents else "topology.conf"
        if leaf.topology in ("nvlink", "units") or (leaf.name not in known and "-nvl" in leaf.name):
            continue
        for node in leaf.nodes:
            yield Fact("node.unit", node, leaf.name, first.path(name))


def _tenants(read: list[Read], file: str) -> Iterator[Fact]:
    sums: dict[tuple[str, str], int] = {}
    for one in read:
        for _, kind, name, keys in one.calls:
            gpus = re.fullmatch(r"gres/gpu=(-?\d+)", keys.get("GrpTRES", ""))
            number = int(gpus.group(1)) if gpus else 0
            if kind == "qos" and name.endswith(OWN):
                at = ("tenant.quota", name.removesuffix(OWN))
            elif kind == "account" and number >= 0:
                at = ("tenant.limit", name)
                yield Fact("tenant.share", name, _share(keys.get("fairshare", ""), one.scale), file)
            else:
                continue
            sums[at] = sums.get(at, 0) + number
    for (kind, name), number in sums.items():
        yield Fact(kind, name, number, file)


def _share(text: str, scale: int) -> float | str:
    return int(text) / scale if text.isdigit() else text
