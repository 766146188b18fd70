"""Designs that verbs are given: made already, or made now from a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.streams import open_spec

if TYPE_CHECKING:
    from clusterwright.catalog import Catalog
    from clusterwright.cluster import Cluster

__all__ = ["designed"]


def designed(path: Path, sets: tuple[str, ...], catalog: Catalog) -> Cluster:
    """The design of a run folder, or of a spec that is designed now.

    Raises:
        UsageError: ``--set`` with a design that is made already.
    """
    from clusterwright.cluster import load

    if path.is_dir() or path.suffix == ".json":
        if sets:
            raise click.UsageError("--set changes a spec; DESIGN is a design that is made already")
        return load(path)
    from clusterwright.design import design

    return design(open_spec(path, sets, catalog), catalog)
