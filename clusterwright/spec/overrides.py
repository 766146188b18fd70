"""Values of the command line laid over a spec: ``--set path=value``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from clusterwright.findings import Finding
from clusterwright.source import Document, Place, read_yaml
from clusterwright.spec.codes import FINDINGS, PROBLEM_CODES
from clusterwright.spec.document import path_of
from clusterwright.spec.forms import printable, shown
from clusterwright.spec.section import is_auto

__all__ = ["override", "written_anew"]

_HINT = "write a path of the spec, '=' and a value, such as limits.power='8 MW' or sites[0].racks=20"


def override(document: Document, overrides: Sequence[str]) -> list[Finding]:
    """Lay each ``path=value`` over the tree of ``document``, later ones over earlier ones.

    A value is read as YAML, so ``compute.accelerators=[h100-sxm-80gb]`` is a list. An index one beyond the end of a
    list adds to it; text that is no YAML (``>= 80 %``) is taken as it stands. What was set is placed at ``--set PATH``.

    Returns:
        What is wrong with the overrides themselves; whether the values make sense is seen when the tree is read.
    """
    return [finding for text in overrides for finding in _lay_one(document, text)]


def written_anew(tree: dict[str, Any], overrides: Sequence[str]) -> str:
    """A tree with overrides in it as YAML that reads as the same spec; the overrides are named in comments."""
    named = "".join(f"# with --set {printable(text)}\n" for text in overrides)
    return named + yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.2 could take for something else."""


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    plain = text[:1].isalpha() and text.isascii()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def _lay_one(document: Document, text: str) -> list[Finding]:
    written, sign, value_text = text.partition("=")
    place = Place(f"--set {printable(written.strip())}")
    try:
        path = path_of(written.strip())
    except ValueError:
        path = ()
    if not sign or not path or isinstance(path[0], int):
        return [FINDINGS["SPEC-SET"].at(Place("--set"), f"{shown(text)} is not 'path=value'", _HINT)]
    read = read_yaml(Path(str(place)), value_text)
    plain = value_text.strip()
    if [p.kind for p in read.problems] == ["syntax"] and plain and not plain.startswith(("[", "{", '"', "'")):
        read = Document(str(place), plain, {(): place})
    if read.problems:
        return [FINDINGS[PROBLEM_CODES[p.kind]].at(place, p.message, p.hint or _HINT) for p in read.problems]
    if not _put(document.value, path, read.value):
        return [FINDINGS["SPEC-SET"].at(place, f"the spec has nothing at {written.strip()} to set", _HINT)]
    _replace_places(document, path, read, place)
    return []


def _put(tree: Any, path: tuple[str | int, ...], value: Any) -> bool:
    """Put ``value`` at ``path``, making the mappings and lists on the way; False when something else is there."""
    for i, part in enumerate(path):
        last = i == len(path) - 1
        if isinstance(tree, dict) and isinstance(part, str):
            if not last and is_auto(tree.get(part)):
                tree[part] = [] if isinstance(path[i + 1], int) else {}
        elif isinstance(tree, list) and isinstance(part, int) and part <= len(tree):
            if part == len(tree):
                tree.append(None)
            if not last and is_auto(tree[part]):
                tree[part] = [] if isinstance(path[i + 1], int) else {}
        else:
            return False
        if last:
            tree[part] = value
        else:
            tree = tree[part]
    return True


def _replace_places(document: Document, path: tuple[str | int, ...], read: Document, place: Place) -> None:
    """Forget the places of what was there; everything of the override stands at its ``--set``."""
    for places in (document.places, document.key_places):
        for old in [p for p in places if p[: len(path)] == path]:
            del places[old]
    for part in range(1, len(path) + 1):
        document.places.setdefault(path[:part], place)
        document.key_places.setdefault(path[:part], place)
    for inner in read.places:
        document.places[(*path, *inner)] = place
        document.key_places[(*path, *inner)] = place
