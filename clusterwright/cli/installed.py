"""What this installation asks for, from the metadata of the installed distribution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata

__all__ = ["requirements", "version_of"]


def requirements() -> Iterator[tuple[str, str]]:
    """Name and least version of each package that clusterwright needs; nothing when run from an unpacked source."""
    try:
        lines = metadata.requires("clusterwright") or []
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        wanted = re.match(r"([\w.-]+)\s*(?:>=([\d.]+))?", line.partition(";")[0])
        if wanted is not None and "extra ==" not in line:
            yield wanted[1], wanted[2] or "0"


def version_of(name: str) -> str | None:
    """The version of an installed package, None when it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
