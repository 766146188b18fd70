"""Sections about the choice: options considered, Pareto front, limits, ways out, sensitivities, plans, parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.report.model import Cell, Column, Grid, Picture, Section
from clusterwright.report.words import label, number, short, span

__all__ = ["choices", "limits", "options", "sensitivity"]

TICK = "✓"


def rows_of(cluster: Cluster, key: str) -> list[Mapping[str, Any]]:
    """The rows of an answer; empty when the design has none."""
    found = cluster.answers.get(key)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def options(cluster: Cluster) -> Section:
    """The options considered, the winner ticked, and why the others lost; the Pareto front."""
    rows = rows_of(cluster, "considered")
    if not rows:
        return Section("options", "Options considered", missing="The design holds no table of options.")
    weighed = cluster.head.get("options_weighed")
    lead = f"{weighed:,} options were weighed; the {len(rows)} here stand for every axis of choice." if weighed else ""
    grid = Grid(
        "Options considered, the chosen one ticked",
        [
            Column(""),
            Column("GPUs"),
            Column("Time", True),
            Column("Cost", True),
            Column("Power", True),
            Column("Carbon", True),
            Column("Server"),
            Column("How"),
            Column("Why"),
        ],
        [_option(row) for row in rows],
        "Cost is cost of ownership over the operating years; power is at the meter; carbon is that of the run. "
        "Differences are against the choice.",
    )
    front = _pareto(cluster)
    return Section("options", "Options considered", lead, parts=[grid, *([front] if front else [])])


def _option(row: Mapping[str, Any]) -> list[Cell]:
    good = row.get("verdict") == "feasible"
    mark = Cell(TICK, state="good") if row.get("chosen") else Cell("≈" if row.get("closest") else "", state="warn")
    gpus = f"{row['gpus']:,} × {row.get('accelerator', '')}" if row.get("gpus") else str(row.get("name", ""))
    dense = f"{row['nodes_per_rack']:g} a rack" if row.get("nodes_per_rack") else ""
    outside, why = reason(row)
    return [
        mark,
        Cell(gpus, state="tight" if good else "tight dim", sub=str(row.get("fabric", ""))),
        Cell(number("x_s", row.get("time_to_train_s"))),
        Cell(number("x_usd", row.get("tco_usd"))),
        Cell(number("x_w", row.get("meter_power_w"))),
        Cell(_tonnes(row.get("carbon_kg"))),
        Cell(str(row.get("server", "")), state="tight" if good else "tight dim", sub=dense),
        Cell(str(row.get("procurement", "")), state="" if good else "dim"),
        Cell(why, state="" if good else "bad", sub=outside),
    ]


def reason(row: Mapping[str, Any]) -> tuple[str, str]:
    """Why an option won or lost, in two parts: which pin of the spec it would lift, and the rest."""
    why = str(row.get("why", "")).replace(" against the choice", "")
    first, found, rest = why.partition("; ")
    if not (found and first.startswith("not asked for")):
        return "", why
    return first.replace("not asked for: needs ", "outside the spec: frees ").removesuffix(" to be free"), rest


def _tonnes(kg: float | None) -> str:
    return "unknown" if kg is None else f"{kg / 1000:,.0f} t" if kg >= 1e4 else f"{kg / 1000:,.3g} t"


def _pareto(cluster: Cluster) -> Picture | None:
    found = cluster.answers.get("pareto")
    points = [p for p in (found or {}).get("points", []) if p.get("x") is not None and p.get("y") is not None]
    if not points:
        return None
    front = [p for p in points if not p.get("dominated")]
    chosen = next((p for p in points if p.get("chosen")), None)
    alt = f"Time to train against cost of ownership for {len(points)} options; {len(front)} are on the Pareto front."
    if chosen is not None:
        alt += f" The chosen one takes {number('x_s', chosen['x'])} and costs {number('x_usd', chosen['y'])}."
    note = (
        "Grey: dominated or infeasible. The chosen option may lie off the front where a pin of the spec holds it there."
    )
    return Picture("pareto", "Time against cost", alt, {"points": points}, note)


def limits(cluster: Cluster) -> Section:
    """Limits against the design, tightest first, and the ways out of an infeasible spec."""
    rows = rows_of(cluster, "constraints")
    if not rows:
        return Section("limits", "Limits", missing="The spec sets no limit.")
    grid = Grid(
        "Limits, tightest first",
        [Column(""), Column("Limit"), Column("Allowed", True), Column("Design", True), Column("Margin", True)],
        [_limit(row, cluster) for row in sorted(rows, key=is_condition)],
        "≈ holds at the best estimate but not over the whole 80 % interval.",
    )
    ways = rows_of(cluster, "relaxations")
    parts = [grid]
    if ways:
        parts.append(
            Grid(
                "What would make it feasible, fewest changes first",
                [Column("Change"), Column("Cost", True), Column("Extra", True), Column("Time", True)],
                [
                    [
                        Cell(str(way.get("text", ""))),
                        Cell(number("x_usd", way.get("cost_usd"))),
                        Cell(_signed(way.get("extra_usd"))),
                        Cell(number("x_s", way.get("time_to_train_s"))),
                    ]
                    for way in ways
                ],
            )
        )
    return Section("limits", "Limits", parts=parts)


def _signed(usd: float | None) -> str:
    return "" if usd is None else ("+" if usd > 0 else "") + number("x_usd", usd)


def is_condition(row: Mapping[str, Any]) -> bool:
    """True for what only holds or does not, such as that the plan fits the memory."""
    return row.get("limit") in (1, 1.0) and not row.get("at_most", True)


def _limit(row: Mapping[str, Any], cluster: Cluster) -> list[Cell]:
    path = str(row.get("path", ""))
    holds, throughout = bool(row.get("holds")), bool(row.get("holds_throughout", row.get("holds")))
    mark = Cell(TICK, state="good") if throughout else Cell("≈", state="warn") if holds else Cell("✗", state="bad")
    if is_condition(row):
        yes = Cell("yes" if holds else "no", state="" if holds else "bad")
        return [mark, Cell(str(row.get("name", path))), Cell("yes"), yes, Cell("")]
    sign = "≤ " if row.get("at_most", True) else "≥ "
    margin = row.get("margin")
    return [
        mark,
        Cell(str(row.get("name", path)), sub="binding" if row.get("binding") else ""),
        Cell(sign + number(path, row.get("limit"))),
        Cell(
            number(path, row.get("value")),
            path if path in cluster.frame else "",
            sub=span(path, row.get("low"), row.get("high")),
        ),
        Cell("" if margin is None else f"{float(margin):+.0%}", state="" if holds else "bad"),
    ]


def sensitivity(cluster: Cluster) -> Section:
    """What the verdict hangs on: one tornado a target."""
    rows = rows_of(cluster, "sensitivity")
    if not rows:
        return Section("sensitivity", "What the result hangs on", missing="No input of this design has an interval.")
    targets = dict.fromkeys(str(row.get("target", "")) for row in rows)
    pictures = [_tornado(target, [r for r in rows if r.get("target") == target]) for target in targets]
    lead = "Each uncertain input is moved alone to both ends of its interval, and the whole design is worked out again."
    return Section("sensitivity", "What the result hangs on", lead, parts=pictures)


def _tornado(target: str, rows: Sequence[Mapping[str, Any]]) -> Picture:
    path = "x_s" if target.endswith("finish_s") else target
    words = str(rows[0].get("target_words") or label(target))
    bars: list[dict[str, Any]] = [
        {
            "input": str(row.get("input", "")),
            "range": str(row.get("range") or _range_words(row)),
            "base": row.get("base"),
            "low": row.get("low"),
            "high": row.get("high"),
        }
        for row in rows
        if None not in (row.get("base"), row.get("low"), row.get("high"))
    ]
    bars.sort(key=lambda b: -abs(b["high"] - b["low"]))
    bars = [b for b in bars if number(path, b["low"]) != number(path, b["high"])] or bars[:1]
    widest = bars[0]["input"] if bars else "nothing"
    alt = f"Swing of {words} for each uncertain input; {widest} moves it most."
    note = "Blue: the input at the low end of its interval; orange: at the high end."
    grid = Grid(
        f"{words[:1].upper()}{words[1:]}: effect of each input",
        [Column("Input"), Column("Range"), Column("At the low end", True), Column("At the high end", True)],
        [
            [
                Cell(b["input"], b["input"]),
                Cell(b["range"]),
                Cell(number(path, b["low"])),
                Cell(number(path, b["high"])),
            ]
            for b in bars
        ],
    )
    return Picture("tornado", words[:1].upper() + words[1:], alt, {"path": path, "bars": bars[:10]}, note, grid)


def _range_words(row: Mapping[str, Any]) -> str:
    return f"{row.get('low_text', '')} to {row.get('high_text', '')}".strip(" to")


_PARTS = (
    ("fabric_options", "Network topologies weighed"),
    ("scheduler_options", "Schedulers weighed"),
    ("storage_options", "Storage weighed"),
)


def choices(cluster: Cluster) -> Section:
    """The choices in words, each with its reason, and the options of topology, scheduler, storage and plan."""
    chosen = Grid(
        "Choices",
        [Column("What"), Column("Choice"), Column("Why")],
        [
            [Cell(label(path)), Cell(text, path), Cell(origin.note or origin.source or origin.place or origin.law)]
            for path, (text, origin) in cluster.frame.texts.items()
        ],
    )
    parts = [chosen] if chosen.rows else []
    for key, caption in _PARTS:
        rows = rows_of(cluster, key)
        if rows:
            priced = any("cost_usd" in row or "price_usd" in row for row in rows)
            columns = [Column(""), Column("Option"), *([Column("Price", True)] if priced else []), Column("Why")]
            parts.append(Grid(caption, columns, [_weighed(row, priced) for row in rows]))
    for j, plans in enumerate(cluster.answers.get("plans") or []):
        found = [plan for plan in plans if isinstance(plan, Mapping)]
        if found:
            parts.append(_plans(found, j, len(cluster.answers["plans"])))
    if not parts:
        return Section("choices", "Choices in words", missing="The design holds no choices in words.")
    return Section("choices", "Choices in words", parts=parts)


def _weighed(row: Mapping[str, Any], priced: bool) -> list[Cell]:
    name, title = str(row.get("name", "")), str(row.get("title", ""))
    price = row.get("cost_usd", row.get("price_usd"))
    lost = row.get("verdict") == "impossible"
    return [
        Cell(TICK if row.get("chosen") else "", state="good"),
        Cell(title or name, sub=name if title else ""),
        *([Cell("" if lost else number("x_usd", price))] if priced else []),
        Cell(str(row.get("why", "")), state="bad" if lost else ""),
    ]


def _plans(plans: Sequence[Mapping[str, Any]], j: int, runs: int) -> Grid:
    keys = [key for key in ("tp", "pp", "dp", "cp", "ep", "micro_batch") if any(key in plan for plan in plans)]
    recompute = any("recompute" in plan for plan in plans)
    columns = [Column(""), *(Column(key.upper().replace("_", " "), True) for key in keys)]
    columns += [Column("Recompute")] if recompute else []
    columns += [Column("Step", True), Column("Memory", True), Column("Why")]
    fastest = min(
        range(len(plans)), key=lambda i: (not plans[i].get("fits", True), plans[i].get("step_time_s") or 1e99)
    )
    rows = []
    for i, plan in enumerate(plans[:12]):
        ticked = plan.get("chosen", i == fastest and plan.get("fits", True))
        row = [Cell(TICK if ticked else "", state="good"), *(Cell(f"{plan.get(key, 1):g}") for key in keys)]
        row += [Cell(short(str(plan.get("recompute", "")), 12))] if recompute else []
        row += [
            Cell(number("x_s", plan.get("step_time_s"))),
            Cell(number("x_bytes", plan.get("memory_bytes")), state="" if plan.get("fits", True) else "bad"),
            Cell(str(plan.get("why", ""))),
        ]
        rows.append(row)
    which = f" of run {j + 1}" if runs > 1 else ""
    return Grid(f"Parallelism plans{which} weighed", columns, rows)
