"""A validation of the training law as pictures and as one HTML page, from the document of ``validate training``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from clusterwright.report.charts import coverage, scatter
from clusterwright.report.page import NARROW_PX, WIDE_PX, page_of, renamed
from clusterwright.report.theme import PAPER
from clusterwright.report.words import RULES, plan_words

__all__ = ["accuracy_html", "accuracy_images"]

_SCORES = {
    "mape": "mean error",
    "median": "median",
    "p90": "90th percentile",
    "bias": "bias",
    "coverage80": "in 80 % interval",
}


def accuracy_html(document: Mapping[str, Any]) -> str:
    """The page: tables, scatter plot, calibration of the intervals; no network, no scripts.

    Args:
        document: of a validation run, as ``to_dict`` gives it.
    """
    tables = [_errors(document), _planner(document["planner"]), _memory(document["memory"])]
    pictures = [
        (title, said, Markup(_both(draw, data, said)))  # noqa: S704 - drawn by us, every text in it is escaped
        for title, said, draw, data in _pictures(document)
    ]
    won = document["families_won"]
    return page_of(
        "accuracy.html.j2",
        document=document,
        tables=[{**table, "numeric": _numeric(table["rows"])} for table in tables if table["rows"]],
        pictures=pictures,
        won=", ".join(f"{RULES.get(name, 'this law')} in {count}" for name, count in won.items()),
    )


def accuracy_images(document: Mapping[str, Any]) -> dict[str, str]:
    """The pictures as SVG files on white, by their name; coordinates in tenths of a pixel keep them small."""
    names = ("training-scatter.svg", "training-intervals.svg")
    found = {}
    for name, (_, said, draw, data) in zip(names, _pictures(document), strict=True):
        drawn = _labelled(renamed(draw(data, 720), "c"), said)
        head, _, rest = drawn.partition(">")
        paper = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        rest = re.sub(r' (aria-[a-z]+|role)="[^"]*"', "", rest)
        found[name] = re.sub(r"\d+\.\d{2,}", lambda n: f"{float(n[0]):.1f}", f"{head}>{paper}{rest}") + "\n"
    return found


def _pictures(document: Mapping[str, Any]) -> list[tuple[str, str, Any, dict[str, Any]]]:
    """Title, words for those who cannot see it, drawing and data of each picture."""
    runs = [p for p in document["predictions"] if p.get("counted")]
    points = [
        {"x_s": p["measured_step_s"], "y_s": p["step_time_s"]["value"], "group": p["family"]}
        for p in sorted(runs, key=lambda p: (p["family"], p["line"]))
    ]
    near = sum(abs(p["error"]) <= 0.2 for p in runs)
    inside = [one for one in document["interval"] if one["coverage"] is not None]
    said = "; ".join(f"{100 * i['nominal']:.0f} % hold {100 * i['coverage']:.0f} %" for i in inside)
    return [
        (
            "Predicted against measured step time",
            f"{len(runs)} runs, {near} of them within 20 % of the line of equal values (the grey band).",
            scatter,
            {"points": points},
        ),
        ("Calibration of the intervals", f"Intervals of {said} of the runs.", coverage, {"points": inside}),
    ]


def _labelled(svg: str, said: str) -> str:
    """A drawing with its words for those who cannot see it."""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(said, quote=True)}" ', 1)


def _both(draw: Any, data: Mapping[str, Any], said: str) -> str:
    """A picture for a desk and for a telephone."""
    made = []
    for name, width in (("desk", WIDE_PX), ("phone", NARROW_PX)):
        drawn = _labelled(renamed(draw(data, width), f"{draw.__name__}-{name}"), said)
        made.append(f'<div class="{name}">{drawn}</div>')
    return "".join(made)


def _numeric(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Whether a column holds numbers only."""
    return [all(re.fullmatch(r"(-?[\d.]+( %)?)?", cell) for cell in column) for column in zip(*rows, strict=True)]


def _percent(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{100 * value:.{digits}f} %"


def _errors(document: Mapping[str, Any]) -> dict[str, Any]:
    rules = document["baselines"]

    def line(name: str, figures: Mapping[str, Any], beside: Sequence[Mapping[str, Any] | None]) -> list[str]:
        scores = [_percent(figures.get(k)) for k in _SCORES]
        return [name, str(figures["counted"]), *scores, *(_percent((b or {}).get("mape")) for b in beside)]

    rows = [line("all families alike", document, list(rules.values()))]
    for kind, figures in document["by_kind"].items():
        rows.append(line(kind, figures, [rule["by_kind"].get(kind) for rule in rules.values()]))
    for family, figures in document["by_family"].items():
        rows.append(line(family, figures, list(figures["baselines"].values())))
    columns = ["", "runs", *_SCORES.values(), *(RULES[name] for name in rules)]
    return {
        "caption": "Error by kind and by family; last, the mean error of rules of thumb on the same runs",
        "columns": columns,
        "rows": [r for r in rows if r[1] != "0"],
    }


def _planner(planner: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        [
            f"{g['family']}: {g['model']} on {g['gpu_count']:g} {g['gpu']}",
            str(g["plans"]),
            plan_words(g["chosen"]["plan"]),
            plan_words(g["best"]["plan"]),
            _percent(g["regret"], 1),
            _percent(g["limit"]),
            "" if g["spearman"] is None else f"{g['spearman']:.2f}",
        ]
        for g in planner["by_group"]
    ]
    columns = ["group", "plans", "ranked first", "best measured", "regret", "limit", "Spearman"]
    return {"caption": "The plan ranked first against the best measured plan", "columns": columns, "rows": rows}


def _memory(memory: Mapping[str, Any]) -> dict[str, Any]:
    short = memory["out_of_memory"]
    rows = [
        ["runs with a measured memory", str(memory["rows"])],
        ["mean error on them", _percent(memory["mape"], 1)],
        ["runs that happened", str(memory["happened"])],
        ["of them called impossible", str(memory["false_misfits"])],
        ["runs that ran out of memory", str(short["rows"])],
        ["of them said to fit", str(short["false_fits"])],
    ]
    return {"caption": "Memory", "columns": ["", ""], "rows": rows}
