"""The inventory: every single thing that files name, worked out once from the cluster object.

Hosts, racks, switches, networks, tenants and services here are what every target writes, so that parts of a bundle
agree because they read the same lines. Nothing here is computed from figures again; it is the tables, expanded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clusterwright.cluster import Cluster
from clusterwright.deploy.addresses import Network
from clusterwright.deploy.ports import PORTS

__all__ = ["Group", "Host", "Inventory", "Rack", "Settings", "Site", "Switch", "Tenant", "Tier", "Unit", "Workload"]


@dataclass(frozen=True)
class Settings:
    """What the spec's section ``deploy`` says; see :class:`clusterwright.spec.Deploy`."""

    domain: str
    network: str
    os: str
    slurm: str
    kubernetes: str
    registry: str
    repository: str
    contact: str


@dataclass(frozen=True)
class Group:
    """Equal hosts of a site, a row of the table ``nodes``.

    Attributes:
        name: ``s1-compute``; hosts are ``s1-compute-0001`` and so on.
        provider: of a cloud instance (``aws``), empty where the server is nobody's instance.
        role: compute, spare, login, scheduler, management, security or observability.
        server: of the catalogue; ``title`` in words.
        accelerator: of the catalogue, empty without one; ``gpu_type`` the short name that Slurm uses (``h100``),
            ``gpu_vendor`` NVIDIA, AMD or Intel, ``gpu_memory_bytes`` of one.
        gpus: in one host.
        sockets: processors; ``cores`` and ``threads`` of the host in total.
        nics: of the compute network; ``nic_bytes_s`` of one. ``storage_nics`` ports for storage.
        first: number of the first host in the site's networks.
    """

    name: str
    site: str
    role: str
    server: str
    title: str
    provider: str
    accelerator: str
    gpu_type: str
    gpu_vendor: str
    gpu_memory_bytes: float
    gpus: int
    sockets: int
    cores: int
    threads: int
    memory_bytes: float
    nics: int
    nic_bytes_s: float
    storage_nics: int
    nvme_bytes: float
    power_w: float
    units: float
    count: int
    first: int


class Host(NamedTuple):
    """A single server. ``number`` is its place in every network of the site; ``unit`` the lowest height unit."""

    name: str
    group: str
    site: str
    role: str
    rack: str
    unit: int
    number: int
    gpus: int


class Rack(NamedTuple):
    """A single rack."""

    name: str
    site: str
    pod: int
    kind: str
    cooling: str
    power_w: float
    weight_kg: float


class Switch(NamedTuple):
    """A single switch. ``number`` is its place in the network ``switches`` of the site."""

    name: str
    group: str
    site: str
    network: str
    tier: str
    model: str
    ports: int
    port_bytes_s: float
    rack: str
    number: int


class Unit(NamedTuple):
    """A scalable unit: hosts below the same leaf switches of the compute network, in the order of their names."""

    name: str
    site: str
    hosts: tuple[str, ...]
    leaves: tuple[str, ...]


class Tenant(NamedTuple):
    """Who may use what. ``name`` is a label, ``title`` as the spec writes it."""

    name: str
    title: str
    share: float
    quota_gpus: int
    limit_gpus: int
    priority: str
    users: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """A planned training run, with the plan that the design chose.

    Attributes:
        name: a label.
        plan: tp, pp, dp, cp, ep, micro_batch.
        launch: framework -> ``{"text": ..., "arguments": {...}}`` of the chosen plan; empty where it is not known.
        figures: figures of ``training[j]`` by their last names: ``step_time_s``, ``time_to_train_s``,
            ``checkpoint_interval_s``, ``checkpoint_bytes``, ``mfu``, ``tokens_per_s`` ...
    """

    name: str
    title: str
    model: str
    gpus: int
    nodes: int
    plan: Mapping[str, int]
    launch: Mapping[str, Any]
    figures: Mapping[str, float]


class Tier(NamedTuple):
    """A storage tier, a row of the table ``storage``."""

    name: str
    kind: str
    system: str
    capacity_bytes: float
    read_bytes_s: float
    write_bytes_s: float


@dataclass(frozen=True)
class Site:
    """A site and what stands there.

    Attributes:
        name: a label; ``key`` its short name in host names (``s1``).
        domain: of its hosts: ``main.cluster.internal``.
        networks: by name: management, bmc, switches, storage, rail-1 ..., services, pods.
        services: component of the design -> names of the hosts that run it (empty for those on every compute node).
    """

    name: str
    key: str
    region: str
    domain: str
    pue: float
    energy_usd_per_kwh: float
    carbon_g_per_kwh: float
    networks: Mapping[str, Network]
    services: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Inventory:
    """Everything that files name, and the cluster that it was worked out from."""

    name: str
    settings: Settings
    scheduler: str
    sites: tuple[Site, ...]
    groups: tuple[Group, ...]
    hosts: tuple[Host, ...]
    racks: tuple[Rack, ...]
    switches: tuple[Switch, ...]
    units: tuple[Unit, ...]
    tenants: tuple[Tenant, ...]
    workloads: tuple[Workload, ...]
    tiers: tuple[Tier, ...]
    cluster: Cluster
    ports: Mapping[str, int] = field(default_factory=lambda: PORTS)

    def value(self, path: str) -> float:
        """A figure of the design, such as ``fabric.link_bandwidth_bytes_s``."""
        return self.cluster.value(path)

    def text(self, path: str) -> str:
        """A choice of the design, such as ``fabric.technology``."""
        return self.cluster.frame.text(path)

    def site(self, name: str) -> Site:
        """A site by its name."""
        return next(site for site in self.sites if site.name == name)

    def group(self, name: str) -> Group:
        """A group by its name."""
        return next(group for group in self.groups if group.name == name)

    def members(self, group: Group) -> Iterator[Host]:
        """The hosts of a group, in order."""
        return (host for host in self.hosts if host.group == group.name)

    def at(self, site: Site, *roles: str) -> Iterator[Host]:
        """The hosts of a site with one of the roles; of every role when none is named."""
        return (host for host in self.hosts if host.site == site.name and (not roles or host.role in roles))

    def compute(self, site: Site) -> list[Host]:
        """Hosts that run jobs, spares after the others."""
        return list(self.at(site, "compute", "spare"))

    def address(self, host: Host, network: str = "management") -> str:
        """The address of a host in a network of its site."""
        return self._networks[host.site][network].address(host.number)

    @property
    def _networks(self) -> Mapping[str, Mapping[str, Network]]:
        return {site.name: site.networks for site in self.sites}

    @property
    def provider(self) -> str:
        """Who rents the accelerator servers out (``aws``); empty where they are not a provider's instances."""
        return next((group.provider for group in self.groups if group.gpus), "")

    @property
    def gpus(self) -> int:
        """Accelerators that were asked for, spares left out."""
        return sum(host.gpus for host in self.hosts if host.role == "compute")
