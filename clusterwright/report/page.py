"""The report as one HTML file: no network, no scripts, every number opens its explanation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from clusterwright.report import drawings
from clusterwright.report.explanation import Explanation
from clusterwright.report.model import Grid, Picture, ReportModel
from clusterwright.report.theme import FONT, colour_css

__all__ = ["NARROW_PX", "WIDE_PX", "html", "page_of", "renamed", "svg_of"]

WIDE_PX, NARROW_PX = 860, 342
"""Each picture is drawn for a desk and for a telephone; the page shows the one that fits."""

_GROUPS = {
    "training": "Training",
    "compute": "Compute",
    "accelerator": "Compute",
    "server": "Compute",
    "fabric": "Network",
    "storage": "Storage",
    "reliability": "Failures",
    "management": "Management",
    "scheduling": "Management",
    "facility": "Facility",
    "sites": "Sites",
    "cost": "Cost",
}


def html(model: ReportModel) -> str:
    """The whole page.

    Args:
        model: what the report says.
    """
    anchors = _anchors(model.figures)
    return page_of("report.html.j2", model=model, anchors=anchors, groups=_grouped(model.figures))


def page_of(template: str, **said: Any) -> str:
    """A page from one of the room's templates, in the one style."""
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(colour_css() + _style()),  # noqa: S704 - our own style sheet
            font=Markup(FONT),  # noqa: S704 - a constant
            **said,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("clusterwright.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["grid"] = lambda part: isinstance(part, Grid)
    environment.filters["draw"] = _draw
    environment.filters["origin"] = origin_words
    return environment


def _style() -> str:
    loader = _environment().loader
    assert loader is not None  # noqa: S101 - set above
    return loader.get_source(_environment(), "report.css")[0]


def _anchors(figures: Mapping[str, Any]) -> dict[str, str]:
    """An identifier for each path, safe in HTML and CSS, unique in the page."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for path in figures:
        slug = base = "f-" + re.sub(r"[^A-Za-z0-9_]+", "-", path).strip("-")
        again = 1
        while slug in taken:
            again += 1
            slug = f"{base}-{again}"
        taken.add(slug)
        made[path] = slug
    return made


def _grouped(figures: Mapping[str, Explanation]) -> dict[str, list[Explanation]]:
    """The figures by layer, for the index at the end."""
    made: dict[str, list[Explanation]] = {}
    for path, one in figures.items():
        room = re.split(r"[.\[]", path, maxsplit=1)[0]
        made.setdefault(_GROUPS.get(room, "Other"), []).append(one)
    return made


def origin_words(one: Explanation) -> str:
    """Where a figure comes from, in a few words."""
    words = {
        "law": "computed",
        "spec": "asked for",
        "default": "default",
        "catalog": "catalogue",
        "choice": "chosen",
        "assumption": "assumed",
    }
    said = words[one.origin.kind]
    if one.origin.kind == "law":
        return f"{said}: {one.origin.law}"
    detail = one.origin.place.removeprefix("catalogue: ")
    return f"{said}: {detail}" if detail else said


# --- pictures ---------------------------------------------------------------------------------------------

_DRAWERS: Mapping[str, Callable[[Mapping[str, Any], int], str]] = {
    "elevation": drawings.elevation,
    "fabric": drawings.fabric,
    "floor": drawings.floor,
    "memory": drawings.memory,
    "sankey": drawings.sankey,
}


def svg_of(picture: Picture, width: int) -> str:
    """Draw a picture at a width, with its words for those who cannot see it."""
    draw = _DRAWERS.get(picture.kind)
    if draw is None:
        from clusterwright.report import charts

        draw = {
            "pareto": charts.pareto,
            "roofline": charts.roofline,
            "tornado": charts.tornado,
            "waterfall": charts.waterfall,
        }[picture.kind]
    said = escape(picture.alt, quote=True)
    return draw(picture.data, width).replace("<svg ", f'<svg role="img" aria-label="{said}" ', 1)


_IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)([\w-]+)')


def renamed(svg: str, key: str) -> str:
    """A drawing whose identifiers are its own in a page: the key, and a number in their order."""
    names: dict[str, str] = {}
    for found in _IDENTIFIER.finditer(svg):
        names.setdefault(found[2], f"{key}-{len(names)}")
    return _IDENTIFIER.sub(lambda found: f"{found[1]}{names[found[2]]}", svg)


def _draw(picture: Picture, key: str) -> Markup:
    """Both drawings of a picture; identifiers inside are made unique in the page."""
    made = []
    for name, width in (("desk", WIDE_PX), ("phone", NARROW_PX)):
        drawn = renamed(svg_of(picture, width), f"{key}-{name}")
        made.append(f'<div class="{name}">{drawn}</div>')
    return Markup("".join(made))  # noqa: S704 - drawn by us, every text in it is escaped
