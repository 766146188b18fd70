"""The syntax of Slurm's files: lines of ``Key=Value`` pairs, comments, continued lines, host lists.

Whoever reads or writes a configuration of Slurm does it through here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Line", "duration", "minutes", "parse"]

_PAIR = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*=\s*(\"[^\"]*\"|\S+)")


class Line(NamedTuple):
    """One line of a file.

    Attributes:
        number: of its first line in the file, from 1.
        pairs: key and value each, in order; quotes taken off.
        rest: what is left when no more pairs can be read; empty for a good line.
    """

    number: int
    pairs: tuple[tuple[str, str], ...]
    rest: str

    @property
    def key(self) -> str:
        """The first key; empty for a line without a pair."""
        return self.pairs[0][0] if self.pairs else ""

    @property
    def value(self) -> str:
        """The value of the first key."""
        return self.pairs[0][1] if self.pairs else ""

    def get(self, key: str, otherwise: str = "") -> str:
        """The value of a key; Slurm does not mind its case."""
        return next((v for k, v in self.pairs if k.lower() == key.lower()), otherwise)


def parse(text: str) -> list[Line]:
    """Lines that say something; a ``\\`` at the end of one continues it.

    Args:
        text: of slurm.conf, gres.conf, cgroup.conf, topology.conf or slurmdbd.conf.
    """
    made: list[Line] = []
    for number, logical in _logical(text):
        said = re.sub(r"(?<!\\)#.*", "", logical).strip()
        if not said:
            continue
        include = re.fullmatch(r"(?i)include\s+(\S+)", said)
        if include:
            made.append(Line(number, (("Include", include.group(1)),), ""))
            continue
        pairs, at = [], 0
        while found := _PAIR.match(said, at):
            pairs.append((found.group(1), found.group(2).strip('"')))
            at = found.end()
        made.append(Line(number, tuple(pairs), said[at:].strip()))
    return made


def _logical(text: str) -> Iterator[tuple[int, str]]:
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            held += line[:-1]
            continue
        yield start, held + line
        held, start = "", 0
    if held:
        yield start, held


def duration(minutes: int) -> str:
    """Minutes as Slurm writes a time limit: ``2-00:00:00``; 0 is UNLIMITED."""
    if minutes <= 0:
        return "UNLIMITED"
    days, rest = divmod(minutes, 1440)
    return f"{days}-{rest // 60:02d}:{rest % 60:02d}:00"


_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


def minutes(text: str) -> int:
    """Minutes of a time limit: ``90``, ``8:30`` (minutes), ``1:00:00``, ``2-12``, ``2-00:00:00``; UNLIMITED is 0.

    Raises:
        ValueError: it is none.
    """
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return 0
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no time limit")
    days, *parts = (int(part) if part else None for part in found.groups())
    given = [part for part in parts if part is not None]
    if days is not None:
        hour, minute, second = [*given, 0, 0][:3]
    elif len(given) == 3:
        hour, minute, second = given
    else:
        hour, (minute, second) = 0, [*given, 0][:2]
    return (days or 0) * 1440 + hour * 60 + minute + (second > 0)
