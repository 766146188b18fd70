"""Names that may stand in any file: in a host name, an account, a namespace, a path, a shell word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["fits", "hostlist", "label", "spans"]

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def fits(name: str) -> bool:
    """Whether a name is a label of RFC 1123: lower-case letters, digits and '-', at most 63."""
    return _LABEL.fullmatch(name) is not None


def label(name: str) -> str:
    """The name as a label of RFC 1123.

    Raises:
        ValueError: it has other characters than letters, digits, '-', '_' and '.', or is too long.
    """
    made = re.sub(r"[._]+", "-", name).lower()
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name, re.ASCII) or not fits(made):
        raise ValueError(f"{name[:80]!r} is no name")
    return made


_NUMBERED = re.compile(r"(.*?)(\d+)")


def spans(names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Runs of numbered names: prefix, first and last number as text of equal width.

    A name without a number is a run of its own, with empty numbers.
    """
    made: list[tuple[str, str, str]] = []
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found is None:
            made.append((name, "", ""))
            continue
        prefix, digits = found.groups()
        last = made[-1] if made else ("", "", "")
        if last[0] == prefix and len(last[2]) == len(digits) and int(digits) == int(last[2]) + 1:
            made[-1] = (prefix, last[1], digits)
            continue
        made.append((prefix, digits, digits))
    return made


def hostlist(names: Sequence[str]) -> str:
    """The names as Slurm and pdsh write them: ``s1-compute-[0001-0128],s1-login-0001``."""
    grouped: dict[str, list[str]] = {}
    for prefix, first, last in spans(names):
        grouped.setdefault(prefix, []).append(first if first == last else f"{first}-{last}")
    said = []
    for prefix, numbers in grouped.items():
        if numbers == [""]:
            said.append(prefix)
        elif len(numbers) == 1 and "-" not in numbers[0]:
            said.append(prefix + numbers[0])
        else:
            said.append(f"{prefix}[{','.join(numbers)}]")
    return ",".join(said)
