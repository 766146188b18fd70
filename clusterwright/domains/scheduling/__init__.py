"""Scheduling: who starts the jobs, and the servers that manage, watch and guard the cluster."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.scheduling import servers
from clusterwright.domains.scheduling.choice import choose_scheduler, options
from clusterwright.domains.scheduling.components import fill_services
from clusterwright.domains.scheduling.findings import FINDINGS
from clusterwright.domains.scheduling.kueue import (
    KUEUE_API,
    PRIORITIES,
    PRIORITY_LABEL,
    Flavor,
    Policy,
    Queue,
    amount,
    parts,
    read_policy,
    write_policy,
)
from clusterwright.domains.scheduling.policy import OWN, Account, Backfill, Partition, Preemption, Qos, Weights
from clusterwright.domains.scheduling.policy import Policy as SlurmPolicy
from clusterwright.domains.scheduling.policy_text import account_lines, account_words, conf_lines
from clusterwright.domains.scheduling.policy_text import read_policy as read_slurm_policy
from clusterwright.domains.scheduling.sizing import size
from clusterwright.domains.scheduling.slurm_text import Line, duration, minutes, parse
from clusterwright.domains.scheduling.telling import fill_nodes, say
from clusterwright.domains.scheduling.tenants import fill_tenants
from clusterwright.spec import Spec
from clusterwright.traces import brackets, hosts

__all__ = [
    "FINDINGS",
    "KUEUE_API",
    "LAWS",
    "OWN",
    "PRIORITIES",
    "PRIORITY_LABEL",
    "Account",
    "Backfill",
    "Flavor",
    "Line",
    "Partition",
    "Policy",
    "Preemption",
    "Qos",
    "Queue",
    "SlurmPolicy",
    "Weights",
    "account_lines",
    "account_words",
    "amount",
    "apply",
    "brackets",
    "conf_lines",
    "duration",
    "hosts",
    "minutes",
    "parse",
    "parts",
    "read_policy",
    "read_slurm_policy",
    "size",
    "write_policy",
]

LAWS = laws(
    servers.role_servers,
    servers.series,
    servers.metrics_servers,
    servers.count,
    servers.each,
    servers.total,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Choose the scheduler; fill node groups, services and ``answers['scheduler_options']``; say why."""
    kind, sites = choose_scheduler(cluster, spec), len(spec.sites)
    weighed = options(cluster, catalog, kind, sites)
    cluster.answers["scheduler_options"] = weighed
    fill_nodes(cluster, spec, catalog)
    fill_services(cluster, kind, sites)
    fill_tenants(cluster, spec)
    say(cluster, spec, catalog, kind, weighed)
