"""Which scheduler, and why: what the workloads need against what each scheduler brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, chosen, from_spec
from clusterwright.spec import Spec

__all__ = ["NEEDS", "OFFERS", "Offer", "choose_scheduler", "known_nodes", "options"]

NEEDS = {
    "gang": "all processes of a job start together",
    "fair share": "what was used lowers the priority",
    "topology": "jobs are placed near each other in the fabric",
    "accounting": "who used what, kept in a database",
    "services": "long-running services beside the jobs",
    "autoscaling": "replicas follow the load",
}
"""What workloads can need of a scheduler."""
_TRAINING = ("gang", "fair share", "topology", "accounting")
"""What synchronous training on a shared cluster needs."""


@dataclass(frozen=True)
class Offer:
    """A scheduler: what it brings itself, what it brings with parts beside it, what is said for and against it."""

    name: str
    own: frozenset[str]
    beside: frozenset[str]
    best_for: str
    against: str


OFFERS = (
    Offer(
        "slurm",
        frozenset({"gang", "fair share", "topology", "accounting"}),
        frozenset(),
        "gang scheduling, fair share, backfill and topology-aware placement come built in",
        "services and autoscaling are foreign to it",
    ),
    Offer(
        "kubernetes",
        frozenset({"services", "autoscaling"}),
        frozenset({"gang", "fair share", "topology", "accounting"}),
        "containers, services and autoscaling; gangs, quotas and topology come with Kueue and JobSet beside it",
        "more parts to run for the same training job",
    ),
    Offer(
        "ray",
        frozenset({"gang", "services", "autoscaling"}),
        frozenset(),
        "distributed Python, tuning and serving in one program",
        "no fair share and no accounting: it needs Slurm or Kubernetes below it",
    ),
)
"""The schedulers weighed."""
_WEIGHT_BESIDE = 0.5
"""A need that is met by a part beside the scheduler counts half."""


def choose_scheduler(cluster: Cluster, spec: Spec) -> str:
    """The scheduler of the spec, else the one that meets most of what training needs by itself."""
    asked = spec.scheduler.kind
    if asked is not None:
        cluster.frame.choose("scheduling.scheduler", asked, from_spec(str(spec.place("scheduler.kind"))))
        return asked
    best = max(OFFERS, key=_score)
    why = f"synchronous training needs {', '.join(_TRAINING)}; {best.name}: {best.best_for}"
    cluster.frame.choose("scheduling.scheduler", best.name, chosen(why))
    return best.name


def _score(offer: Offer) -> float:
    own, beside = offer.own & set(_TRAINING), offer.beside & set(_TRAINING)
    return len(own) + _WEIGHT_BESIDE * len(beside)


def known_nodes(catalog: Catalog, kind: str) -> float:
    """Nodes that one controller of a scheduler is known to run."""
    return catalog.planning(f"{kind}_known_nodes").value


def options(cluster: Cluster, catalog: Catalog, kind: str, sites: int) -> list[dict[str, Any]]:
    """The schedulers weighed, the chosen one ticked, with what each meets and lacks."""
    nodes = max(cluster.value(f"sites[{i}].nodes") for i in range(sites))
    rows = []
    for offer in OFFERS:
        missing = [need for need in _TRAINING if need not in offer.own | offer.beside]
        most = known_nodes(catalog, offer.name)
        said = [offer.best_for]
        said += [f"lacks {', '.join(missing)}"] if missing else []
        said += [offer.against] if offer.name != kind else []
        said += [f"known to run {most:,.0f} nodes, {nodes:,.0f} at a site here"] if nodes > most else []
        rows.append(
            {
                "name": offer.name,
                "chosen": offer.name == kind,
                "meets": [need for need in _TRAINING if need in offer.own],
                "beside": [need for need in _TRAINING if need in offer.beside],
                "lacks": missing,
                "known_nodes": int(most),
                "why": "; ".join(said),
            }
        )
    return rows
