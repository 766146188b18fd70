"""What the rooms say of themselves at their doors: finding codes and laws, collected.

Used by ``explain``, by the generated reference and by the tests that hold both against the code. Importing every
door is slow (NumPy, pydantic), so call these only when the answer is wanted.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import clusterwright
from clusterwright.cluster import Law
from clusterwright.findings import Code

__all__ = ["all_findings", "all_laws", "doors"]


def doors() -> Iterator[tuple[str, ModuleType]]:
    """Every room with its door, in the order of their names; a domain's room is ``domains.<name>``."""
    for found in pkgutil.iter_modules(clusterwright.__path__):
        if not found.ispkg:
            continue
        door = importlib.import_module(f"clusterwright.{found.name}")
        yield found.name, door
        if found.name == "domains":
            for below in pkgutil.iter_modules(door.__path__):
                yield f"domains.{below.name}", importlib.import_module(f"clusterwright.domains.{below.name}")


def all_findings() -> Mapping[str, tuple[str, Code]]:
    """Every documented finding code: code -> room and documentation.

    Raises:
        ValueError: when two rooms document one code.
    """
    from clusterwright.cli.codes import FINDINGS

    found: dict[str, tuple[str, Code]] = {code: ("cli", documented) for code, documented in FINDINGS.items()}
    for code, entry in _collect("FINDINGS"):
        if code in found:
            raise ValueError(f"the code {code} is documented by {found[code][0]} and by {entry[0]}")
        found[code] = entry
    return found


def all_laws() -> Mapping[str, tuple[str, Law]]:
    """Every law: name -> room and law.

    Raises:
        ValueError: when two rooms have a law of one name.
    """
    found: dict[str, tuple[str, Law]] = {}
    for name, entry in _collect("LAWS"):
        if name in found:
            raise ValueError(f"the law {name} is listed by {found[name][0]} and by {entry[0]}")
        found[name] = entry
    return found


def _collect(attribute: str) -> Iterator[tuple[str, tuple[str, Any]]]:
    for room, door in doors():
        for key, value in getattr(door, attribute, {}).items():
            yield key, (room, value)
