"""Checking a part against the table of its kind: shipped files in the tests, overlays when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.catalog.architecture import DimensionsError, from_dimensions
from clusterwright.catalog.codes import BAD_FORM, BAD_VALUE, MISSING, UNKNOWN_FIELD
from clusterwright.catalog.facts import Context, make_fact, make_text
from clusterwright.catalog.kinds import COMMON_KEYS, Field, Kind, suffix_of
from clusterwright.catalog.parts import lookup, part_context
from clusterwright.catalog.suggest import close_names
from clusterwright.findings import Finding
from clusterwright.source import Place
from clusterwright.units import UnitError

__all__ = ["ENTRY_KEYS", "OFFERS", "check_part", "dimensions"]

ENTRY_KEYS = ("v", "low", "high", "source", "status", "date", "note", "also", "title")
"""What a value written as a mapping may hold."""
OFFERS = ("on-demand", "reserved", "block", "spot", "index")
"""Kinds of rental offers."""

Where = Callable[[tuple[str, ...]], Place]


@dataclass(frozen=True)
class _Scope:
    """The part that is being checked."""

    kind: Kind
    name: str
    context: Context
    where: Where


def check_part(kind: Kind, name: str, raw: Any, context: Context, where: Where, *, new: bool = True) -> list[Finding]:
    """Everything wrong with one part.

    Args:
        kind: its table.
        name: its name; of a planning value the ending gives the dimension.
        raw: as read from the file, a planning value wrapped as ``{"value": ...}``.
        context: sources, currencies and defaults.
        where: gives the place of a path inside the part.
        new: whether required fields must be there.
    """
    if not isinstance(raw, dict):
        return [BAD_FORM.at(where(()), f"'{name}' is not a mapping of fields", "indent its fields below it")]
    scope = _Scope(kind, name, part_context(raw, context), where)
    findings = [*_unknown(scope, raw), *_check_common(scope, raw)]
    for field in kind.fields:
        value = lookup(raw, field)
        if value is not None:
            findings += _check_field(scope, field, value)
        elif field.required and new:
            said = f"{kind.singular} '{name}' lacks '{field.path}'"
            findings.append(MISSING.at(where(()), said, f"{field.doc}; add '{field.path}: ...'"))
    if kind.name == "models" and new and not findings:
        findings += _check_dimensions(scope, raw)
    return findings


def _unknown(scope: _Scope, raw: Mapping[str, Any]) -> Iterator[Finding]:
    """Keys that the kind does not have."""
    kind, where = scope.kind, scope.where
    inner: dict[str, list[str]] = {}
    for field in kind.fields:
        outer, _, rest = field.path.partition(".")
        inner.setdefault(outer, []).extend([rest] if rest else [])
    for key, value in raw.items():
        if key in COMMON_KEYS:
            continue
        if key not in inner:
            yield _no_field(kind, key, [*inner, *COMMON_KEYS], where((key,)))
        elif inner[key] and not isinstance(value, dict):
            hint = f"indent below it one of {', '.join(inner[key])}"
            yield BAD_FORM.at(where((key,)), f"'{key}' is not a mapping", hint)
        elif inner[key]:
            for sub in value:
                if sub not in inner[key]:
                    yield _no_field(kind, f"{key}.{sub}", [f"{key}.{s}" for s in inner[key]], where((key, sub)))


def _no_field(kind: Kind, key: str, known: list[str], place: Place) -> Finding:
    close = close_names(key, known)
    hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"
    return UNKNOWN_FIELD.at(
        place, f"{'an' if kind.singular[0] in 'aeiou' else 'a'} {kind.singular} has no field '{key}'", hint
    )


def _check_common(scope: _Scope, raw: Mapping[str, Any]) -> Iterator[Finding]:
    aliases = raw.get("aliases") or []
    if not isinstance(aliases, list) or any(isinstance(a, dict | list) for a in aliases):
        yield BAD_FORM.at(scope.where(("aliases",)), "'aliases' is not a list of names", "write [one, two]")
    for key in ("title", "source", "status", "note"):
        if isinstance(raw.get(key), dict | list):
            yield BAD_FORM.at(scope.where((key,)), f"'{key}' is not a text", "write it plainly")


def _check_field(scope: _Scope, field: Field, value: Any) -> list[Finding]:
    path = tuple(field.path.split("."))
    if field.form != "group":
        return _check_entry(scope, field, value, path)
    if not isinstance(value, dict):
        return [BAD_FORM.at(scope.where(path), f"'{field.path}' is not a mapping", "name each of its values")]
    findings = []
    for key, entry in value.items():
        findings += _check_entry(scope, field, entry, (*path, key))
        if field.path == "rental":
            findings += _check_offer(key, entry, scope.where((*path, key)))
    return findings


def _check_offer(name: str, entry: Any, place: Place) -> list[Finding]:
    if not isinstance(entry, dict) or not entry.get("provider"):
        hint = "write {v: 2.35 USD/h, provider: who, kind: on-demand}"
        return [BAD_FORM.at(place, f"the offer '{name}' lacks 'provider'", hint)]
    if entry.get("kind", "on-demand") not in OFFERS:
        return [BAD_FORM.at(place, f"'{entry['kind']}' is not a kind of offer", f"one of {', '.join(OFFERS)}")]
    return []


def _check_entry(scope: _Scope, field: Field, entry: Any, path: tuple[str, ...]) -> list[Finding]:
    if isinstance(entry, dict):
        allowed = [*ENTRY_KEYS, *(("provider", "kind") if field.path == "rental" else ())]
        wrong = [key for key in entry if key not in allowed]
        if wrong:
            return [_no_field(scope.kind, f"{field.path}.{k}", allowed, scope.where((*path, k))) for k in wrong]
    try:
        if field.form in ("text", "part"):
            fact = make_text(entry, scope.context)
            if field.choices and fact.text not in field.choices:
                raise UnitError(f"'{fact.text}' is not allowed here", f"one of {', '.join(field.choices)}")
        else:
            suffix = suffix_of(scope.name) if scope.kind.name == "planning" else field.suffix
            make_fact(entry, suffix, scope.context, price=field.price)
    except UnitError as error:
        return [BAD_VALUE.at(scope.where((*path, "v")), f"{field.path}: {error.message}", error.hint)]
    return []


def _check_dimensions(scope: _Scope, raw: Mapping[str, Any]) -> list[Finding]:
    try:
        from_dimensions(dimensions(raw), scope.name)
    except DimensionsError as error:
        return [BAD_VALUE.at(scope.where((key,)), f"{key} {said}", hint) for key, said, hint in error.errors]
    return []


def dimensions(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The dimensions in the raw form of a model: values without sources."""
    return {k: v["v"] if isinstance(v, dict) else v for k, v in raw.items() if k not in COMMON_KEYS}
