"""THE LAWS: one room a domain, each a door with ``LAWS``, ``FINDINGS``, ``size`` and ``apply``.

Domains do not import each other, except that training stands on compute and fabric. They speak through the figures
of the cluster; the order of their doors stands in ``design``. :func:`all_laws` collects the laws from the doors.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.cluster import Law

__all__ = ["all_laws"]


@cache
def all_laws() -> Mapping[str, Law]:
    """Every law of every domain by name. Imports every door.

    Raises:
        ValueError: when two domains have a law of one name.
    """
    made: dict[str, Law] = {}
    for found in pkgutil.iter_modules(__path__):
        for name, law in importlib.import_module(f"{__name__}.{found.name}").LAWS.items():
            if name in made:
                raise ValueError(f"the law {name} is listed twice")
            made[name] = law
    return made
