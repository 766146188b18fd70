"""Overlays: a user's own prices, parts and sources, laid over the shipped catalogue.

::

    date: 2026-11-30
    title: Offer 4711
    accelerators:
      h100-sxm-80gb:
        purchase_price: 24000 USD

Every value without a source of its own gets the file as its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.catalog.codes import BAD_FORM, FILE, NO_DATE, UNKNOWN_KIND, YAML
from clusterwright.catalog.facts import TIERS, Source
from clusterwright.catalog.kinds import COMMON_KEYS, KINDS, Kind
from clusterwright.catalog.parts import first_day
from clusterwright.catalog.suggest import close_names
from clusterwright.findings import Finding
from clusterwright.source import Document, Place, read_yaml

__all__ = ["Overlay", "merge", "read_overlay"]

_FILE_PROBLEMS = ("missing", "folder", "unreadable", "too-large", "binary", "empty", "not-utf8")


@dataclass
class Overlay:
    """One overlay file, read.

    Attributes:
        path: of the file.
        sources: its own sources by key, the file itself among them.
        parts: kind -> name -> raw part; every value a mapping that names its source.
        findings: what is wrong so far.
    """

    path: Path
    document: Document
    sources: dict[str, Source] = field(default_factory=dict)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def place(self, path: tuple[str, ...]) -> Place:
        """The place of a key in the file, or of what is nearest around it."""
        found = self.document.key_places.get(path)
        return found or (self.place(path[:-1]) if path else Place(self.document.file, 1, 1))

    def value_place(self, path: tuple[str, ...]) -> Place:
        """The place of a value; a value written plainly stands where its ``v`` would."""
        return self.document.place(path)


def read_overlay(path: Path) -> Overlay:
    """Read one overlay; what is wrong stands in its ``findings``."""
    document = read_yaml(path)
    overlay = Overlay(path, document)
    for problem in document.problems:
        code = FILE if problem.kind in _FILE_PROBLEMS else YAML
        overlay.findings.append(code.at(problem.place, problem.message, problem.hint))
    if overlay.findings:
        return overlay
    if not isinstance(document.value, dict):
        hint = "name kinds at the top: accelerators, servers, ..."
        overlay.findings.append(BAD_FORM.at(document.place(()), "an overlay is a mapping", hint))
        return overlay
    _read_sources(overlay, document.value)
    for key, parts in document.value.items():
        if key not in ("date", "title", "sources"):
            _read_kind(overlay, key, parts)
    return overlay


def _read_sources(overlay: Overlay, value: Mapping[str, Any]) -> None:
    date = str(value.get("date") or "")
    if date and first_day(date) is None:
        place = overlay.value_place(("date",))
        overlay.findings.append(BAD_FORM.at(place, f"'{date}' is not a date", "write it like 2026-11-30"))
    title = str(value.get("title") or f"own file {overlay.path.name}")
    own = _own_key(overlay)
    overlay.sources[own] = Source(own, title, "", "own", date)
    sources = value.get("sources") or {}
    if not isinstance(sources, dict):
        place = overlay.place(("sources",))
        overlay.findings.append(BAD_FORM.at(place, "'sources' is not a mapping", "name each source"))
        return
    for key, entry in sources.items():
        _read_source(overlay, key, entry, date)


def _read_source(overlay: Overlay, key: str, entry: Any, date: str) -> None:
    place = overlay.place(("sources", key))
    if not isinstance(entry, dict) or not entry.get("title"):
        hint = "write {title: ..., url: ..., tier: primary, date: 2026-11-30}"
        overlay.findings.append(BAD_FORM.at(place, f"the source '{key}' lacks a title", hint))
        return
    tier, when = str(entry.get("tier") or "own"), str(entry.get("date") or date)
    if tier not in TIERS:
        overlay.findings.append(BAD_FORM.at(place, f"'{tier}' is not a tier", f"one of {', '.join(TIERS)}"))
    if first_day(when) is None:
        overlay.findings.append(NO_DATE.at(place, f"the source '{key}' has no date", "add 'date: 2026-11-30' to it"))
    overlay.sources[key] = Source(key, str(entry["title"]), str(entry.get("url") or ""), tier, when)


def _read_kind(overlay: Overlay, key: str, parts: Any) -> None:
    kind = KINDS.get(key)
    if kind is None:
        close = close_names(key, KINDS)
        hint = f"did you mean '{close[0]}'?" if close else f"one of {', '.join(KINDS)}"
        overlay.findings.append(UNKNOWN_KIND.at(overlay.place((key,)), f"no kind of part '{key}'", hint))
        return
    if not isinstance(parts, dict):
        said = f"'{key}' is not a mapping of parts"
        overlay.findings.append(BAD_FORM.at(overlay.place((key,)), said, "indent the names of parts below it"))
        return
    overlay.parts[key] = {name: _own(overlay, kind, name, raw) for name, raw in parts.items()}


def _own(overlay: Overlay, kind: Kind, name: str, raw: Any) -> Any:
    """A raw part whose values all name a source."""
    if kind.name == "planning":
        return _sourced(overlay, raw, (kind.name, name))
    if not isinstance(raw, dict):
        return raw
    nested = {f.path.partition(".")[0] for f in kind.fields if "." in f.path or f.form == "group"}
    part: dict[str, Any] = {}
    for key, value in raw.items():
        path = (kind.name, name, key)
        if key in COMMON_KEYS or (key in nested and not isinstance(value, dict)):
            part[key] = value
        elif key in nested:
            part[key] = {sub: _sourced(overlay, entry, (*path, sub)) for sub, entry in value.items()}
        else:
            part[key] = _sourced(overlay, value, path, raw)
    return part


def _sourced(overlay: Overlay, value: Any, path: tuple[str, ...], part: Mapping[str, Any] | None = None) -> Any:
    entry = dict(value) if isinstance(value, dict) else {"v": value}
    inherited = part or {}
    if "source" not in entry:
        entry["source"] = inherited.get("source") or _own_key(overlay)
    source = overlay.sources.get(str(entry["source"]))
    dated = entry.get("date") or inherited.get("date") or source is None or source.date
    if not dated:
        hint = "add 'date: 2026-11-30' at the top of the file"
        overlay.findings.append(NO_DATE.at(overlay.place(path), f"'{path[-1]}' has no date", hint))
    return entry


def _own_key(overlay: Overlay) -> str:
    return f"file:{overlay.path.name}"


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A raw part with the values of an overlay: fields replaced, groups and aliases joined."""
    merged = dict(base)
    for key, value in over.items():
        old = base.get(key)
        if key == "aliases":
            added = value if isinstance(value, list) else []
            merged[key] = [*(old or ()), *(a for a in added if a not in (old or ()))]
        elif isinstance(value, dict) and "v" not in value and "low" not in value and isinstance(old, dict):
            merged[key] = {**old, **value}
        else:
            merged[key] = value
    return merged
