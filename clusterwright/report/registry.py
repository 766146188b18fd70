"""Every law of every domain, collected from their doors."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from clusterwright import domains
from clusterwright.cluster import Law

__all__ = ["all_laws"]


@cache
def all_laws() -> Mapping[str, Law]:
    """Every law by name."""
    made: dict[str, Law] = {}
    for found in pkgutil.iter_modules(domains.__path__):
        if found.ispkg:
            made.update(getattr(importlib.import_module(f"clusterwright.domains.{found.name}"), "LAWS", {}))
    return made
