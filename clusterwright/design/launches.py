"""The launch flags of every run of a design, for the files that start it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.design.candidates import Candidate
from clusterwright.design.estimate import Estimated
from clusterwright.design.launch import launch
from clusterwright.spec import Spec

__all__ = ["flags_of", "launches"]

WRITTEN_FOR = ("megatron", "torchtitan")
"""Frameworks that batch scripts are written for, the usual one first."""


def launches(cluster: Cluster, winner: Candidate, spec: Spec, catalog: Catalog) -> list[dict[str, Any]]:
    """Framework -> project, arguments and notes, for each workload; empty where no plan fits."""
    found: list[dict[str, Any]] = []
    for index in range(len(spec.workloads)):
        run = Estimated({}, (), spec, winner, catalog, cluster, index=index)
        if not run.fits or not run.plans:
            found.append({})
            continue
        found.append(flags_of(run))
    return found


def flags_of(run: Estimated) -> dict[str, Any]:
    """Framework -> project, arguments and notes of a run whose plan fits."""
    flags = {name: launch(run, name) for name in WRITTEN_FOR}
    return {
        name: {"project": one.project, "arguments": _texts(one.arguments), "notes": one.notes}
        for name, one in flags.items()
    }


def _texts(arguments: Mapping[str, Any]) -> dict[str, str | bool]:
    """Values as they are typed, true where a flag takes none; several values are separated by blanks."""
    made: dict[str, str | bool] = {}
    for name, value in arguments.items():
        if value is None or value is True:
            made[name] = True
        elif isinstance(value, list | tuple):
            made[name] = " ".join(str(one) for one in value)
        elif isinstance(value, str | int | float):
            made[name] = str(value)
    return made
