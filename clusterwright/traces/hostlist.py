"""Host lists in the short form that Slurm and its tools write: ``n[01-03],m``."""

from __future__ import annotations

import re
from itertools import product

__all__ = ["brackets", "hosts"]

_MOST_HOSTS = 1_000_000


def brackets(text: str) -> list[str]:
    """Parts between commas that are not inside brackets.

    Raises:
        ValueError: brackets do not match.
    """
    parts, depth, held = [], 0, ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise ValueError(f"brackets of {text[:60]!r} do not match")
        if character == "," and not depth:
            parts.append(held)
            held = ""
        else:
            held += character
    if depth:
        raise ValueError(f"brackets of {text[:60]!r} do not match")
    return [part for part in [*parts, held] if part]


def hosts(text: str) -> list[str]:
    """The names of a host list: ``n[01-03],m`` is n01, n02, n03 and m.

    Raises:
        ValueError: it is none, or names more than a million.
    """
    made: list[str] = []
    for part in brackets(text):
        pieces = re.split(r"(\[[^\]]*\])", part)
        choices = [_numbers(p[1:-1]) if p.startswith("[") else [p] for p in pieces if p]
        made += ("".join(chosen) for chosen in product(*choices))
        if len(made) > _MOST_HOSTS:
            raise ValueError(f"{text[:60]!r} names more than {_MOST_HOSTS:,} hosts")
    return made


def _numbers(text: str) -> list[str]:
    made: list[str] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"[{text[:60]}] is no range")
        if not dash:
            made.append(first)
            continue
        if int(last) < int(first) or int(last) - int(first) > _MOST_HOSTS:
            raise ValueError(f"[{text[:60]}] is no range")
        made += (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
    return made
