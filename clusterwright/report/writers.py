"""The report as Markdown for reviews and as JSON for programs, from the same object as the HTML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from clusterwright.report.model import REPORT_SCHEMA, Grid, Picture, ReportModel, Section
from clusterwright.report.telling import explanation_data

__all__ = ["as_json", "markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def _escape(text: object) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def markdown(model: ReportModel) -> str:
    """The report as GitHub-flavoured Markdown; pictures become their tables and a sentence."""
    lines = [f"# {_escape(model.name)}: {_escape(model.verdict.word)}", "", f"**{_escape(model.verdict.sentence)}**"]
    if model.verdict.detail:
        lines += ["", _escape(model.verdict.detail)]
    lines += ["", *(f"- {_escape(name)}: {_escape(text)}" for name, text in model.asked)]
    lines += ["", "| | | 80 % interval | |", "|---|---:|---|---|"]
    lines += [
        f"| {_escape(k.label)} | **{_escape(k.text)}** | {_escape(k.span)} | {_escape(k.note)} |" for k in model.key
    ]
    if model.risks:
        lines += ["", "## Main risks", ""]
        lines += [f"{i}. {_escape(r.message)}. → {_escape(r.hint)}" for i, r in enumerate(model.risks, 1)]
    for section in model.sections:
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {_escape(section.title)}"
    if section.missing:
        yield from ("", _escape(section.missing))
        return
    if section.lead:
        yield from ("", _escape(section.lead))
    if section.numbers:
        yield ""
    for one in section.numbers:
        between = f" ({_escape(one.span)})" if one.span else ""
        yield f"- {_escape(one.label)}: **{_escape(one.text)}**{between}"
    for part in section.parts:
        yield ""
        yield from _grid(part) if isinstance(part, Grid) else _picture(part)


def _picture(picture: Picture) -> Iterator[str]:
    yield f"*{_escape(picture.alt)}*"
    if picture.grid is not None:
        yield ""
        yield from _grid(picture.grid)


def _grid(grid: Grid) -> Iterator[str]:
    yield from (f"**{_escape(grid.caption)}**", "")
    yield "| " + " | ".join(_escape(column.title) for column in grid.columns) + " |"
    yield "|" + "|".join("---:" if column.numeric else "---" for column in grid.columns) + "|"
    for row in grid.rows:
        cells = (f"{_escape(c.text)} ({_escape(c.sub)})" if c.sub else _escape(c.text) for c in row)
        yield "| " + " | ".join(cells) + " |"
    if grid.note:
        yield from ("", _escape(grid.note))


def as_json(model: ReportModel) -> str:
    """The report as JSON: everything the page shows, as data; numbers with unit in their path."""
    document = {
        "schema": REPORT_SCHEMA,
        "head": dict(model.head),
        "verdict": asdict(model.verdict),
        "asked": [{"name": name, "text": text} for name, text in model.asked],
        "key": [asdict(one) for one in model.key],
        "risks": [asdict(one) for one in model.risks],
        "sections": [_section_data(section) for section in model.sections],
        "figures": {path: explanation_data(one) for path, one in model.figures.items()},
    }
    return json.dumps(_plain(document), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _section_data(section: Section) -> dict[str, Any]:
    return {
        "key": section.key,
        "title": section.title,
        "lead": section.lead,
        "missing": section.missing,
        "numbers": [asdict(one) for one in section.numbers],
        "pictures": [asdict(part) for part in section.parts if isinstance(part, Picture)],
        "tables": [asdict(part) for part in section.parts if isinstance(part, Grid)],
    }


def _plain(value: Any) -> Any:
    """Plain JSON data; what is not finite becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
