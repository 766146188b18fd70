"""Charts as SVG: waterfalls, the Pareto front, tornados, a law against measurements. Altair writes the grammar,
vl-convert draws it.

Channels are written out (``alt.X2("end:Q")``): to find the class of a bare text Altair takes some 20 ms each time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from clusterwright.report.theme import BLUE, GREEN, GREY, INK, MUTED, ORANGE, SERIES, SKY, chart_config
from clusterwright.report.words import label, number, own_label, short
from clusterwright.units import DAY_S, HOUR_S, YEAR_S

__all__ = ["axis_unit", "coverage", "pareto", "roofline", "scatter", "tornado", "waterfall"]

NARROW = 500
"""Below this width a chart is for a telephone: shorter labels, fewer ticks."""


def axis_unit(path: str, top: float) -> tuple[float, str]:
    """The unit of an axis that reaches ``top``: what to divide by, and its name."""
    if path.endswith("_usd"):
        steps = [(1e9, "billion USD"), (1e6, "million USD"), (1e3, "thousand USD"), (1.0, "USD")]
    elif path.endswith("_s"):
        steps = [
            (2 * YEAR_S, "years"),
            (2 * DAY_S, "days"),
            (2 * HOUR_S, "hours"),
            (120.0, "min"),
            (1.0, "s"),
            (1e-3, "ms"),
        ]
        factor, name = next((step for step in steps if top >= step[0]), (1e-3, "ms"))
        return (factor / 2 if name not in ("s", "ms") else factor), name
    elif path.endswith("_w"):
        steps = [(1e9, "GW"), (1e6, "MW"), (1e3, "kW"), (1.0, "W")]
    elif path.endswith("_bytes"):
        steps = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1.0, "B")]
    else:
        return 1.0, ""
    return next((step for step in steps if top >= step[0]), steps[-1])


def waterfall(data: Mapping[str, Any], width: int) -> str:
    """Bars that start where the one above ends, and the total; whiskers are 80 % intervals.

    Args:
        data: path, bars (label, value, low, high, useful), total, total_label.
        width: of the picture, pixels.
    """
    path, bars = data["path"], data["bars"]
    factor, unit = axis_unit(path, max(data["total"], 1e-12))
    rows, at = [], 0.0
    for one in bars:
        colour = GREEN if one["value"] < 0 else BLUE if one.get("useful") else SKY
        rows.append(_step(one, at, factor, path, colour))
        at += one["value"]
    whole = {"label": data["total_label"], "value": data["total"], "low": data["total"], "high": data["total"]}
    rows.append(_step(whole, 0.0, factor, path, ORANGE))
    narrow = width < NARROW
    y = _names(rows, 165 if narrow else 220)
    end = max(max(row["end"], row["top"]) for row in rows)
    x = alt.X("start:Q", title=unit, scale=alt.Scale(domain=[0, end * (1.42 if narrow else 1.14)], nice=False))
    x = x.axis(tickCount=3 if narrow else 6)
    base = _chart(rows)
    drawn = base.mark_bar(height={"band": 0.7}, cornerRadius=1).encode(
        y=y, x=x, x2=alt.X2("end:Q"), color=alt.Color("colour:N", scale=None)
    )
    whiskers = base.mark_rule(color=INK, strokeWidth=1.2).encode(y=y, x=alt.X("bottom:Q"), x2=alt.X2("top:Q"))
    said = base.mark_text(align="left", dx=6).encode(y=y, x=alt.X("mark:Q"), text=alt.Text("text:N"))
    return _svg(alt.layer(drawn, whiskers, said), width, 25 * len(rows))


def _step(one: Mapping[str, Any], at: float, factor: float, path: str, colour: str) -> dict[str, Any]:
    ends = [at + one["value"], at + one["low"], at + one["high"]]
    return {
        "label": one["label"],
        "start": at / factor,
        "end": ends[0] / factor,
        "bottom": ends[1] / factor,
        "top": ends[2] / factor,
        "mark": max(at, *ends) / factor,
        "text": number(path, one["value"]),
        "colour": colour,
    }


def _names(rows: Sequence[Mapping[str, Any]], limit: int) -> alt.Y:
    return alt.Y("label:N", sort=[row["label"] for row in rows], title=None).axis(
        labelLimit=limit, labelColor=INK, grid=False
    )


def tornado(data: Mapping[str, Any], width: int) -> str:
    """Swings around the base, the widest on top. Blue where the input is at its low end, orange at its high end."""
    path, narrow = data["path"], width < NARROW
    bars = data["bars"][: 7 if narrow else 10]
    top = max((max(abs(b["low"]), abs(b["high"])) for b in bars), default=1.0)
    factor, unit = axis_unit(path, top)
    names = _distinct([b["input"] for b in bars], 15 if narrow else 42, narrow)
    rows = []
    for name, one in zip(names, bars, strict=True):
        for end, colour in (("low", BLUE), ("high", ORANGE)):
            moved = one[end] / factor
            left = one[end] < one["base"] or (one[end] == one["base"] and end == "low")
            rows.append(
                {
                    "label": name,
                    "base": one["base"] / factor,
                    "to": moved,
                    "colour": colour,
                    "text": "" if one[end] == one["base"] else number(path, one[end]),
                    "left": left,
                }
            )
    ends = [row["to"] for row in rows] + [row["base"] for row in rows]
    room = (max(ends) - min(ends)) * (1.35 if narrow else 0.2)
    y = _names(rows, 170 if narrow else 280)
    x = alt.X(
        "base:Q", title=unit, scale=alt.Scale(domain=[min(ends) - room, max(ends) + room], nice=False, zero=False)
    )
    x = x.axis(tickCount=3 if narrow else 6)
    base = _chart(rows)
    drawn = base.mark_bar(height={"band": 0.62}).encode(
        y=y, x=x, x2=alt.X2("to:Q"), color=alt.Color("colour:N", scale=None)
    )
    middle = base.mark_rule(color=INK, strokeWidth=1).encode(x=alt.X("base:Q"))
    before = _said(rows, "right", -5, y, left=True)
    after = _said(rows, "left", 5, y, left=False)
    return _svg(alt.layer(drawn, middle, before, after), width, 26 * len(bars))


def _said(rows: Sequence[Mapping[str, Any]], align: Any, shift: int, y: alt.Y, *, left: bool) -> Any:
    mine = [row for row in rows if row["left"] == left] or [
        {"label": rows[0]["label"], "to": rows[0]["to"], "text": ""}
    ]
    said = _chart(mine).mark_text(align=align, dx=shift, color=MUTED)
    return said.encode(y=y, x=alt.X("to:Q"), text=alt.Text("text:N"))


def _distinct(paths: Sequence[str], most: int, brief: bool) -> list[str]:
    """Labels of paths, short where room is short; where two would be equal, the paths themselves."""
    names = [short(own_label(path) if brief and "." in path else label(path), most) for path in paths]
    return [name if names.count(name) == 1 else path for name, path in zip(names, paths, strict=True)]


def pareto(data: Mapping[str, Any], width: int) -> str:
    """Time against cost on logarithmic axes: the front joined, dominated options grey, the chosen one marked."""
    points = _near(data["points"])
    x_unit, y_unit = (axis_unit(p, _middle([q[k] for q in points])) for p, k in (("x_s", "x"), ("x_usd", "y")))
    rows = [
        {"x": p["x"] / x_unit[0], "y": p["y"] / y_unit[0], "kind": _kind(p), "name": p.get("name", "")} for p in points
    ]
    x = _log("x", f"time to train, {x_unit[1]}", rows, 4 if width < NARROW else 8)
    y = _log("y", f"cost of ownership, {y_unit[1]}", rows, 6)
    best = [
        {"x": p["x"] / x_unit[0], "y": p["y"] / y_unit[0]}
        for p in points
        if not p.get("dominated") and p.get("feasible", True)
    ]
    line = _chart(best).mark_line(color=BLUE, interpolate="step-after", strokeWidth=1.2)
    layers: list[Any] = [line.encode(x=x, y=y, order=alt.Order("x:Q"))] if len(best) > 1 else []
    for kind, colour, size in (("dominated", GREY, 22), ("front", BLUE, 46), ("chosen", ORANGE, 130)):
        mine = [row for row in rows if row["kind"] == kind]
        if not mine:
            continue
        chart = _chart(mine)
        if kind == "chosen":
            layers.append(chart.mark_point(filled=True, size=size, color=colour, shape="diamond").encode(x=x, y=y))
            side: Any = (
                "right" if mine[0]["x"] > math.sqrt(max(r["x"] for r in rows) * min(r["x"] for r in rows)) else "left"
            )
            shift = -10 if side == "right" else 10
            word = chart.mark_text(align=side, dx=shift, dy=-9, fontWeight="bold", color=INK)
            layers.append(word.encode(x=x, y=y, text=alt.TextValue("chosen")))
        else:
            layers.append(chart.mark_circle(size=size, color=colour, opacity=1).encode(x=x, y=y))
    return _svg(alt.layer(*layers), width, 300)


def _kind(point: Mapping[str, Any]) -> str:
    if point.get("chosen"):
        return "chosen"
    return "dominated" if point.get("dominated") or not point.get("feasible", True) else "front"


def _near(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The points within a factor of two and a half around those that matter; far ones would press these together."""
    usable = [p for p in points if p["x"] > 0 and p["y"] > 0]
    telling = [p for p in usable if p.get("chosen") or not p.get("dominated")] or usable
    bounds = {k: (min(p[k] for p in telling) / 2.5, max(p[k] for p in telling) * 2.5) for k in ("x", "y")}
    return [p for p in usable if all(bounds[k][0] <= p[k] <= bounds[k][1] for k in ("x", "y"))]


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 1.0


def _log(name: str, title: str, rows: Sequence[Mapping[str, Any]], ticks: int) -> Any:
    values = [row[name] for row in rows]
    domain = [min(values) * 0.92, max(values) * 1.08]
    scale = alt.Scale(type="log", domain=domain, nice=False)
    axis = alt.Axis(tickCount=ticks, format="~g", values=_ticks(domain[0], domain[1], ticks))
    return (alt.X if name == "x" else alt.Y)(f"{name}:Q", title=title, scale=scale, axis=axis)


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Round values between the ends, denser when a decade alone would leave the axis bare."""
    for steps in (
        (1,),
        (1, 3),
        (1, 2, 5),
        (1, 1.5, 2, 3, 5, 7),
        (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    ):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(found) >= 4:
            return found[:: math.ceil(len(found) / most)] if len(found) > most else found
    return found


def roofline(data: Mapping[str, Any], width: int) -> str:
    """Kernels under the roof: what the memory and what the arithmetic of a GPU allow, on logarithmic axes."""
    ridge, peak = data["ridge_flop_per_byte"], data["achievable_flops"]
    points = [{"x": p["flop_per_byte"], "y": p["flops"] / 1e12, "name": p["name"]} for p in data["points"]]
    start = min([ridge / 6, *(p["x"] * 0.8 for p in points)])
    end = max([ridge * 6, *(p["x"] * 1.4 for p in points)])
    slope = data["bandwidth_bytes_s"]
    bend = peak / slope
    roof = [{"x": x, "y": min(peak, x * slope) / 1e12} for x in (start, bend, end)]
    top = [{"x": x, "y": data["peak_flops"] / 1e12} for x in (bend, end)]
    x = _log("x", "FLOP per byte of memory traffic", [*roof, *points], 4 if width < NARROW else 8)
    y = _log("y", "TFLOP/s", [*roof, *points, *top], 6)
    layers: list[Any] = [
        _chart(roof).mark_line(color=BLUE, strokeWidth=2).encode(x=x, y=y, order=alt.Order("x:Q")),
        _chart(top).mark_line(color=GREY, strokeDash=[5, 4]).encode(x=x, y=y, order=alt.Order("x:Q")),
        _chart(points).mark_circle(color=ORANGE, size=60, opacity=1).encode(x=x, y=y),
    ]
    return _svg(alt.layer(*layers), width, 230)


BAND = 0.20
"""Half-width of the band around the line of equal values, relative."""
_SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")


def scatter(data: Mapping[str, Any], width: int) -> str:
    """Predicted against measured step time on logarithmic axes, a colour and shape a group, with a band of 20 %.

    Args:
        data: points (x_s measured, y_s predicted, group).
        width: of the picture, pixels.
    """
    points, narrow = data["points"], width < NARROW
    values = [p[k] for p in points for k in ("x_s", "y_s")] or [1.0]
    low, high = min(values) / 1.25, max(values) * 1.25
    ends = [{"x": v, "y": v, "low": v * (1 - BAND), "high": v * (1 + BAND)} for v in (low, high)]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    marks = alt.Axis(format="~g", values=_ticks(low, high, 4 if narrow else 8))
    x = alt.X("x:Q", title="measured step time, s", scale=scale, axis=marks)
    y = alt.Y("y:Q", title="predicted step time, s", scale=scale, axis=marks)
    groups = sorted({p["group"] for p in points})
    looks = [(SERIES[i % len(SERIES)], _SHAPES[(i // len(SERIES) + i) % len(_SHAPES)]) for i in range(len(groups))]
    legend = alt.Legend(
        orient="bottom" if narrow else "right", columns=2 if narrow else 1, title=None, labelColor=MUTED
    )
    rows = [{"x": p["x_s"], "y": p["y_s"], "group": p["group"]} for p in points]
    line = _chart(ends)
    layers = [
        line.mark_area(color=GREY, opacity=0.35, clip=True).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        line.mark_line(color=MUTED, strokeWidth=1).encode(x=x, y=y),
        _chart(rows)
        .mark_point(filled=True, size=34, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.Color("group:N", scale=alt.Scale(domain=groups, range=[c for c, _ in looks]), legend=legend),
            shape=alt.Shape("group:N", scale=alt.Scale(domain=groups, range=[s for _, s in looks]), legend=legend),
        ),
    ]
    return _svg(alt.layer(*layers), width, 320 if narrow else 480)


def coverage(data: Mapping[str, Any], width: int) -> str:
    """Share of the measurements inside intervals against the share that the intervals claim.

    Args:
        data: points (nominal, coverage), fractions.
        width: of the picture, pixels.
    """
    rows = [{"x": 100 * p["nominal"], "y": 100 * p["coverage"]} for p in data["points"]]
    span = [min([45.0, *(r["y"] - 5 for r in rows)]), 100.0]
    ticks = alt.Axis(values=list(range(10, 101, 10)))
    x = alt.X("x:Q", title="width of the interval, %", scale=alt.Scale(domain=span, nice=False), axis=ticks)
    y = alt.Y("y:Q", title="runs inside, %", scale=alt.Scale(domain=span, nice=False), axis=ticks)
    layers = [
        _chart([{"x": v, "y": v} for v in span]).mark_line(color=MUTED, strokeWidth=1).encode(x=x, y=y),
        _chart(rows).mark_line(color=BLUE, strokeWidth=1.5).encode(x=x, y=y),
        _chart(rows).mark_circle(color=BLUE, size=60, opacity=1).encode(x=x, y=y),
        _chart([{**r, "text": f"{r['y']:.0f}"} for r in rows])
        .mark_text(align="left", dx=8, dy=8)
        .encode(x=x, y=y, text="text:N"),
    ]
    return _svg(alt.layer(*layers), width, 300)


def _chart(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    data: Any = alt.Data
    return alt.Chart(data(values=list(rows)))


def _svg(chart: alt.LayerChart | alt.FacetChart, width: int, height: int) -> str:
    import vl_convert

    spec = chart.to_dict(validate=False)
    spec |= {"width": width, "height": height, "padding": 4, "config": chart_config()}
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return str(vl_convert.vegalite_to_svg(spec))
