"""Drawings as SVG: rack elevation, floor, fabric, power Sankey, memory of a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.report.machine import link_rate
from clusterwright.report.svg import Canvas, text_width
from clusterwright.report.theme import BLUE, GREEN, GREY, INK, LINE, ORANGE, PANEL, PAPER, PURPLE, RED, SERIES
from clusterwright.report.words import number

__all__ = ["elevation", "fabric", "floor", "memory", "sankey"]

KINDS = {"compute": BLUE, "network": ORANGE, "storage": GREEN, "management": PURPLE}
RACK_UNITS = 42


def _plural(count: float, one: str) -> str:
    return f"{count:,.0f} {one}" + ("" if count == 1 else "s")


# --- racks ------------------------------------------------------------------------------------------------

UNIT_PX = 8.0
RACK_PX = 128.0


def elevation(data: Mapping[str, Any], width: int) -> str:
    """One rack of each kind from the front, filled from below, its figures underneath."""
    racks = data["racks"]
    canvas = Canvas(width)
    across = max(1, min(len(racks), int(width // (RACK_PX + 40))))
    step = width / across
    units = max(RACK_UNITS, max((math.ceil(rack["units"]) for rack in racks), default=0))
    for i, rack in enumerate(racks):
        x = (i % across) * step + (step - RACK_PX) / 2
        y = (i // across) * (units * UNIT_PX + 96) + 26
        _rack(canvas, rack, x, y, units)
    return canvas.render()


def _rack(canvas: Canvas, rack: Mapping[str, Any], x: float, y: float, units: int) -> None:
    colour = KINDS.get(rack["kind"], GREY)
    middle = x + RACK_PX / 2
    bottom = y + units * UNIT_PX
    canvas.text(middle, y - 9, f"{rack['count']:,.0f} × {rack['kind']}", size=13, anchor="middle", bold=True)
    canvas.rect(x - 5, y - 3, RACK_PX + 10, units * UNIT_PX + 6, fill=PANEL, stroke=GREY, radius=3)
    for unit in range(0, units, 6):
        canvas.line(x, bottom - unit * UNIT_PX, x + RACK_PX, bottom - unit * UNIT_PX)
    at = bottom
    for i, box in enumerate(rack["boxes"]):
        height = box["units"] * UNIT_PX
        at -= height
        fill = colour if box["label"] not in ("other", "switches, cabling") else GREY
        canvas.rect(
            x + 1,
            at + 0.75,
            RACK_PX - 2,
            height - 1.5,
            fill=fill,
            radius=1.5,
            title=f"{box['label']}, {box['units']:g} U",
        )
        if height >= 13 and (i < 12 or height > 20):
            ink = INK if fill == GREY else PAPER
            canvas.text(
                middle, at + height / 2 + 4, box["label"], size=10.5, anchor="middle", colour=ink, most=RACK_PX - 12
            )
    said = [
        f"{number('x_w', rack['power_w'])} · {number('x_kg', rack['weight_kg'])}",
        f"{rack['units']:.0f} of {units} U · {rack['cooling']}",
    ]
    for k, words in enumerate(said):
        canvas.muted(middle, bottom + 20 + 16 * k, words, anchor="middle", most=RACK_PX + 36)


FLOOR_SQUARES = 420


def floor(data: Mapping[str, Any], width: int) -> str:
    """The floor from above: rows of racks in pairs around aisles, one square a rack or a group of racks."""
    canvas = Canvas(width)
    total = sum(sum(site["kinds"].values()) for site in data["sites"])
    each = max(1, math.ceil(total / FLOOR_SQUARES))
    size, gap = (17.0, 3.0) if width >= 500 else (12.0, 2.5)
    across = int((width - 8) // (size + gap))
    y = 4.0
    for site in data["sites"]:
        if len(data["sites"]) > 1:
            canvas.text(0, y + 11, f"{site['site']}: {_plural(sum(site['kinds'].values()), 'rack')}", bold=True)
            y += 20
        y = _floor_site(canvas, site["kinds"], each, y, (size, gap, across)) + 14
    _legend(canvas, {kind: KINDS.get(kind, GREY) for site in data["sites"] for kind in site["kinds"]}, y, each)
    return canvas.render()


def _floor_site(
    canvas: Canvas, kinds: Mapping[str, float], each: int, y: float, grid: tuple[float, float, int]
) -> float:
    size, gap, across = grid
    squares = [kind for kind, count in kinds.items() for _ in range(math.ceil(count / each))]
    rows = math.ceil(len(squares) / across)
    for i, kind in enumerate(squares):
        row = i // across
        top = y + row * (size + gap) + (row // 2) * size * 0.7
        canvas.rect((i % across) * (size + gap), top, size, size, fill=KINDS.get(kind, GREY), radius=2, title=kind)
    return y + rows * (size + gap) + (max(0, rows - 1) // 2) * size * 0.7


def _legend(canvas: Canvas, entries: Mapping[str, str], y: float, each: int) -> None:
    x = 0.0
    for name, colour in entries.items():
        wide = text_width(name, 12) + 34
        if x and x + wide > canvas.width:
            x, y = 0.0, y + 20
        canvas.rect(x, y, 12, 12, fill=colour, radius=2)
        canvas.text(x + 18, y + 10.5, name)
        x += wide
    canvas.muted(0, y + 32, f"one square is {_plural(each, 'rack')}; aisles not to scale")


# --- fabric -----------------------------------------------------------------------------------------------

TIER_COLOURS = {"nodes": BLUE, "leaf": GREEN, "spine": ORANGE, "core": PURPLE}
BAND_PX = 30.0
BETWEEN_PX = 92.0


def fabric(data: Mapping[str, Any], width: int) -> str:
    """Tiers from the core down to the nodes, as many boxes as fit, bundles between them with their cables."""
    canvas = Canvas(width)
    tiers = list(reversed(data["tiers"]))
    y = 0.0
    places: dict[str, list[float]] = {}
    tops: dict[str, float] = {}
    plans = [(tier, _boxes(tier["count"], width)) for tier in tiers]
    for tier, shown in plans:
        tops[tier["tier"]] = y + 24
        places[tier["tier"]] = _centres(shown, width)
        y += 24 + BAND_PX + BETWEEN_PX
    for bundle in data["bundles"]:
        _bundle(canvas, bundle, places, tops)
    for tier, shown in plans:
        _band(canvas, tier, shown, tops[tier["tier"]], width)
    return canvas.render()


def _boxes(count: float, width: float) -> int:
    most = 12 if width >= 500 else 6
    return int(min(count, most))


def _centres(shown: int, width: float) -> list[float]:
    return [width * (i + 0.5) / shown for i in range(shown)]


def _band(canvas: Canvas, tier: Mapping[str, Any], shown: int, top: float, width: float) -> None:
    colour = TIER_COLOURS.get(tier["tier"], GREY)
    spare = f" (+{tier['spare']:,.0f})" if tier["spare"] else ""
    working = tier["count"] - tier["spare"]
    said = f"{working:,.0f}{spare} {tier['label']}"
    canvas.titled(0, top - 8, said, tier["detail"])
    step = width / shown
    box = min(step * 0.78, 64.0)
    for i, centre in enumerate(_centres(shown, width)):
        if shown < tier["count"] and i == shown - 1:
            for dot in (-8, 0, 8):
                canvas.rect(centre + dot - 1.5, top + BAND_PX / 2 - 1.5, 3, 3, fill=colour, radius=1.5)
        else:
            canvas.rect(centre - box / 2, top, box, BAND_PX, fill=colour, radius=3, title=tier["label"])


def _bundle(
    canvas: Canvas, bundle: Mapping[str, Any], places: Mapping[str, Sequence[float]], tops: Mapping[str, float]
) -> None:
    low, high = bundle["source"], bundle["target"]
    if low not in places or high not in places:
        return
    y1, y2 = tops[low] - 22, tops[high] + BAND_PX
    for a in places[low]:
        for b in places[high]:
            canvas.line(a, y1, b, y2, stroke=LINE, width=0.7)
    spare = f" (+{bundle['spare']:,.0f})" if bundle["spare"] else ""
    said = f"{bundle['count'] - bundle['spare']:,.0f}{spare} cables × {link_rate(bundle['bandwidth_bytes_s'])}"
    wide = text_width(said, 12.5) + 26
    middle, x = (y1 + y2) / 2, canvas.width / 2
    canvas.rect(x - wide / 2, middle - 13, wide, 26, fill=PAPER, stroke=GREY, radius=13)
    canvas.text(x, middle + 4.5, said, size=12.5, anchor="middle")


# --- power ------------------------------------------------------------------------------------------------

FLOW_COLOURS = {**KINDS, "overhead": RED}
SANKEY_PX = 250.0


def sankey(data: Mapping[str, Any], width: int) -> str:
    """Power from the meter to what draws it; the height of a band is its watts."""
    canvas = Canvas(width)
    narrow = width < 500
    scale = SANKEY_PX / data["meter"]
    ends = [{"key": "overhead", "label": "cooling, losses", "value": data["overhead"]}, *reversed(data["flows"])]
    ends = [end for end in ends if end["value"] > 0]
    ends.sort(key=lambda end: (end["key"] != "overhead", end["value"]))
    tops = _spread([end["value"] * scale for end in ends], 38.0)
    left, right = 14.0, width - (128.0 if narrow else 190.0)
    total = tops[-1] + ends[-1]["value"] * scale
    start = 26 + (total - SANKEY_PX) / 2
    at = start
    for end, top in zip(ends, tops, strict=True):
        height = end["value"] * scale
        _band_between(canvas, (left, at), (right, 26 + top), height, FLOW_COLOURS.get(end["key"], GREY))
        canvas.rect(right, 26 + top, 8, max(1.5, height), fill=FLOW_COLOURS.get(end["key"], GREY))
        middle = 26 + top + height / 2
        canvas.text(
            right + 14, middle - 1, f"{number('x_w', end['value'])} · {end['value'] / data['meter']:.1%}", bold=True
        )
        canvas.muted(right + 14, middle + 14, end["label"], most=width - right - 14)
        at += height
    canvas.rect(left - 8, start, 8, SANKEY_PX, fill=INK)
    said = f"{number('x_w', data['meter'])} at the meter"
    canvas.text(left - 8, 12 if narrow else start - 10, said, size=13, bold=True)
    return canvas.render()


def _spread(heights: Sequence[float], least: float) -> list[float]:
    """Tops of bands stacked with a gap, each taking at least ``least`` pixels for its label."""
    tops, at = [], 0.0
    for height in heights:
        room = max(height + 10, least)
        tops.append(at + (room - height) / 2)
        at += room
    return tops


def _band_between(canvas: Canvas, a: tuple[float, float], b: tuple[float, float], height: float, colour: str) -> None:
    (x1, y1), (x2, y2) = a, b
    bend = (x1 + x2) / 2
    low1, low2 = y1 + height, y2 + height
    upper = f"M{x1:.1f} {y1:.1f}C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    lower = f"L{x2:.1f} {low2:.1f}C{bend:.1f} {low2:.1f} {bend:.1f} {low1:.1f} {x1:.1f} {low1:.1f}Z"
    canvas.path(upper + lower, fill=colour, opacity=0.42, bottom=max(y1, y2) + height)


# --- memory -----------------------------------------------------------------------------------------------


def memory(data: Mapping[str, Any], width: int) -> str:
    """What fills the memory of one GPU, against its capacity."""
    canvas = Canvas(width)
    scale = (width - 2) / max(data["capacity"], data["used"])
    room = number("x_bytes", data["capacity"])
    canvas.text(
        0,
        13,
        f"{number('x_bytes', data['used'])} of {room} ({data['used'] / data['capacity']:.0%})",
        size=13,
        bold=True,
    )
    canvas.rect(1, 24, data["capacity"] * scale, 34, fill=PANEL, stroke=GREY, radius=2)
    at = 1.0
    for i, part in enumerate(data["bars"]):
        canvas.rect(at, 24, part["value"] * scale, 34, fill=SERIES[i % len(SERIES)], title=part["label"])
        at += part["value"] * scale
    if data.get("low") is not None and data.get("high") is not None:
        low, high = (min(width - 1.0, 1 + data[k] * scale) for k in ("low", "high"))
        canvas.line(low, 41, high, 41, stroke=INK, width=1.5)
        for x in (low, high):
            canvas.line(x, 36, x, 46, stroke=INK, width=1.5)
    y = 80.0
    x = 0.0
    for i, part in enumerate(data["bars"]):
        said = f"{part['label']} {number('x_bytes', part['value'])}"
        wide = text_width(said, 12) + 38
        if x and x + wide > width:
            x, y = 0.0, y + 20
        canvas.rect(x, y - 10, 12, 12, fill=SERIES[i % len(SERIES)], radius=2)
        canvas.text(x + 18, y, said)
        x += wide
    return canvas.render()
