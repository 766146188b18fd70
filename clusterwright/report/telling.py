"""An explanation as text for a terminal, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.cluster import Law
from clusterwright.findings import Code
from clusterwright.report.explanation import Explanation, LawText
from clusterwright.report.tables import Ink, clean

__all__ = ["EXPLAIN_SCHEMA", "code_text", "explanation_data", "explanation_text", "law_text", "list_text"]

EXPLAIN_SCHEMA = "clusterwright/explain/1"
MOST_INPUTS = 12
"""Figures of one argument shown, such as the sites of a sum."""


def explanation_text(one: Explanation, *, color: bool = False) -> str:
    """An explanation as a tree.

    Args:
        one: what :func:`clusterwright.report.explanation.explain` found.
        color: with ANSI colours.
    """
    ink = Ink(color)
    lines = [
        f"{ink('bold', clean(one.path))}  {clean(one.label)}",
        f"  {ink('bold', clean(one.text))}{_interval(one, ink)}",
    ]
    lines += [f"  {line}" for line in _about(one, ink)]
    lines += _inputs(one, "  ", ink)
    lines += _weighed(one, ink)
    return "\n".join(lines)


def _interval(one: Explanation, ink: Ink) -> str:
    said = f"  {one.span} (80 % interval)" if one.span else ""
    if one.si and one.unit not in ("1", "text"):
        said += ink("dim", f"  = {one.si}")
    return said


def _about(one: Explanation, ink: Ink) -> Iterator[str]:
    """The lines below a figure: its law, or where it was given."""
    if one.law is not None:
        yield from _law_lines(one.law, ink)
    elif one.origin.kind == "law":
        yield f"by the law {one.origin.law}, which this version does not have"
    else:
        yield _given(one)
    for name, text in (("source", one.origin.source), ("status", one.origin.status), ("note", one.origin.note)):
        if text:
            style = "warn" if name == "status" and text in ("memory", "estimate") else ""
            yield f"{ink('dim', name)} {ink(style, clean(text))}"


def _law_lines(law: LawText, ink: Ink) -> Iterator[str]:
    yield f"{ink('dim', 'law')} {ink('link', law.name)}: {clean(law.formula)}"
    if law.doc:
        yield f"{ink('dim', 'says')} {clean(law.doc)}"
    yield f"{ink('dim', 'from')} {clean(law.source)}"
    yield f"{ink('dim', 'valid')} {clean(law.valid)}" + (f"; own error ± {law.spread:.0%} (80 %)" if law.spread else "")


def _given(one: Explanation) -> str:
    words = {
        "spec": "asked for in the spec",
        "default": "default, the spec is silent",
        "catalog": "catalogue fact",
        "choice": "chosen",
        "assumption": "assumed",
        "law": "",
    }
    place = one.origin.place.removeprefix("catalogue: ")
    return words[one.origin.kind] + (f": {clean(place)}" if place else "")


def _inputs(one: Explanation, blank: str, ink: Ink) -> list[str]:
    """The inputs as branches, each with its value, its origin, and its own inputs."""
    flat = [(argument, given) for argument, several in one.inputs.items() for given in several[:MOST_INPUTS]]
    lines = []
    for i, (argument, given) in enumerate(flat):
        final = i == len(flat) - 1
        lines.append(f"{blank}{'└─' if final else '├─'} {_branch(argument, given, ink)}")
        lines += _inputs(given, blank + ("   " if final else "│  "), ink)
    left = sum(max(0, len(several) - MOST_INPUTS) for several in one.inputs.values())
    if left:
        lines.append(f"{blank}   … and {left} more")
    return lines


def _branch(argument: str, given: Explanation, ink: Ink) -> str:
    between = f" ({given.span})" if given.span else ""
    origin = f"by {given.origin.law}" if given.origin.kind == "law" else _given(given)
    detail = "; ".join(part for part in (given.origin.source, given.origin.status, given.origin.note) if part)
    more = " …" if given.cut else ""
    said = f"{argument} = {clean(given.path)}  {ink('bold', clean(given.text))}{between}  "
    return said + ink("dim", clean(origin + (f" [{detail}]" if detail and given.origin.kind != "law" else "")) + more)


def _weighed(one: Explanation, ink: Ink) -> list[str]:
    if not one.options:
        return []
    lines = ["  options weighed:"]
    for option in one.options:
        mark = ink("good", "✓") if option.chosen else " "
        lines.append(f"  {mark} {clean(option.name)}" + (f": {ink('dim', clean(option.why))}" if option.why else ""))
    return lines


def list_text(ones: list[Explanation], *, color: bool = False) -> str:
    """Several figures, one a line: path, value, interval, origin."""
    ink = Ink(color)
    wide = max((len(one.path) for one in ones), default=0)
    values = max((len(one.text) for one in ones), default=0)
    lines = []
    for one in ones:
        origin = f"by {one.origin.law}" if one.origin.kind == "law" else _given(one)
        said = f"{clean(one.path).ljust(wide)}  {ink('bold', clean(one.text).rjust(min(values, 24)))}"
        lines.append(f"{said}  {one.span}{'  ' if one.span else ''}{ink('dim', clean(origin))}")
    return "\n".join(lines)


def code_text(code: Code, room: str, *, color: bool = False) -> str:
    """What a finding code means."""
    ink = Ink(color)
    return f"{ink('bold', code.code)}  {code.severity}, from {room}\n  {code.title}\n\n  {code.meaning}"


def law_text(law: Law, room: str, *, color: bool = False) -> str:
    """What a law says."""
    ink = Ink(color)
    lines = [f"{ink('bold', law.name)}  in {law.unit}, from {room}"]
    lines += [f"  {line}" for line in _law_lines(LawText.of(law), ink)]
    rest = law.doc.partition("\n\n")[2].strip()
    if rest:
        lines += ["", *(f"  {line}".rstrip() for line in rest.splitlines())]
    return "\n".join(lines)


def explanation_data(one: Explanation) -> dict[str, Any]:
    """The JSON form of an explanation, inputs nested."""
    made: dict[str, Any] = {"path": one.path, "kind": one.kind, "value": _finite(one.value), "unit": one.unit}
    if one.low is not None and one.high is not None:
        made |= {"low": _finite(one.low), "high": _finite(one.high)}
    made["origin"] = {key: value for key, value in one.origin.to_dict().items() if key != "inputs"}
    if one.law is not None:
        made["law"] = {
            "name": one.law.name,
            "formula": one.law.formula,
            "unit": one.law.unit,
            "source": one.law.source,
            "valid": one.law.valid,
            "spread": one.law.spread,
        }
    if one.inputs:
        made["inputs"] = {name: [explanation_data(given) for given in several] for name, several in one.inputs.items()}
    if one.options:
        made["options"] = [{"name": o.name, "chosen": o.chosen, "why": o.why} for o in one.options]
    return made


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
