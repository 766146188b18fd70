"""Versions of the grammar: older specs are lifted, step by step, to the one that is read.

A migration takes the plain data of one version and returns that of the next. None is needed yet, since there is one
version; the chain is what a change of the grammar adds a link to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["MIGRATIONS", "VERSION", "Migration", "migrate", "supported"]

Migration = Callable[[dict[str, Any]], dict[str, Any]]

VERSION = 1
"""The version that this program writes and reads."""

MIGRATIONS: Mapping[int, Migration] = {}
"""From a version to the next one."""


def supported(chain: Mapping[int, Migration] = MIGRATIONS, current: int = VERSION) -> list[int]:
    """The versions that can be read: the current one and those from which a chain leads to it."""
    found = [current]
    while found[0] - 1 in chain:
        found.insert(0, found[0] - 1)
    return found


def migrate(
    tree: dict[str, Any], chain: Mapping[int, Migration] = MIGRATIONS, current: int = VERSION
) -> dict[str, Any]:
    """The tree in the current version.

    Args:
        tree: a spec whose ``version`` is one of :func:`supported`; it is not changed.
        chain: migrations by the version they start from.
        current: the version wanted.

    Raises:
        KeyError: when no chain leads from its version to the current one.
    """
    while tree["version"] != current:
        version = tree["version"]
        tree = {**chain[version](dict(tree)), "version": version + 1}
    return tree
