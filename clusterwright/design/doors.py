"""The order of the domains' doors: one visible list. Each reads what those before it wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Frame
from clusterwright.design.candidates import Candidate
from clusterwright.design.inputs import fill
from clusterwright.domains import compute, cost, fabric, facility, reliability, scheduling, storage, training
from clusterwright.spec import Spec

__all__ = ["APPLY", "SIZE", "assemble", "weigh"]

SIZE: tuple[Callable[[Frame, Spec, Catalog], None], ...] = (
    compute.size,  # GPUs to nodes, nodes to sites
    reliability.size_spares,  # spares decide how many nodes the fabric must reach
    scheduling.size,  # management, login, scheduler, observability and security nodes, by the count of compute nodes
    fabric.size,  # switches and cables; the collectives run on them
    training.size,  # plan, memory, step time; gives the checkpoint's size
    storage.size,  # tiers and how fast a checkpoint is written
    reliability.size,  # interruptions, checkpoint interval, wall clock
    facility.size,  # racks, power, cooling, floor, energy, carbon
    cost.size,  # what all of it costs
)
APPLY: tuple[Callable[[Cluster, Spec, Catalog], None], ...] = (
    compute.apply,
    reliability.apply,
    fabric.apply,
    training.apply,
    storage.apply,
    scheduling.apply,
    facility.apply,
    cost.apply,
)


def weigh(candidates: Sequence[Candidate], spec: Spec, catalog: Catalog, frame: Frame | None = None) -> Frame:
    """Run all laws over the candidates at once.

    Args:
        candidates: one a row.
        spec: what is asked.
        catalog: what can be had.
        frame: a frame prepared with :meth:`Frame.vary`; a plain one without intervals by default.
    """
    frame = frame or Frame(len(candidates), intervals=False)
    fill(frame, candidates, spec, catalog)
    for size in SIZE:
        size(frame, spec, catalog)
    return frame


def assemble(candidate: Candidate, spec: Spec, catalog: Catalog) -> Cluster:
    """One candidate worked out in full: figures with intervals, tables, findings of the domains."""
    cluster = Cluster(frame=weigh([candidate], spec, catalog, Frame(1, intervals=True)))
    for apply in APPLY:
        apply(cluster, spec, catalog)
    return cluster
