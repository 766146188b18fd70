"""What verbs print for people: plain text, tables that fit the terminal, colours only where they are asked for."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.cluster import Cluster, diff
from clusterwright.report.choices import is_condition, reason, rows_of
from clusterwright.report.headline import asked, key_numbers, main_risks, verdict
from clusterwright.report.words import label, number, span

__all__ = ["Ink", "audit_table", "compare_table", "design_summary", "text_table"]

WIDTH = 130
"""Columns of text where nobody says how wide the terminal is."""
TICK, CROSS, ALMOST = "✓", "✗", "≈"
_ANSI = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "warn": "33", "link": "36"}
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Ink:
    """Colours for a terminal, or none."""

    color: bool = False

    def __call__(self, style: str, text: str) -> str:
        """``text`` in a style (bold, dim, good, bad, warn, link); plain where there is no colour or no style."""
        return f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if self.color and style and text else text


def clean(text: object) -> str:
    """Text without control characters, which could move a terminal's cursor."""
    return _CONTROL.sub("", str(text).replace("\n", " "))


def visible(text: str) -> int:
    """Length of a text without its colour codes."""
    return len(_ESCAPES.sub("", text))


def text_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    styles: Sequence[Mapping[int, str]] = (),
    width: int = WIDTH,
    ink: Ink | None = None,
    indent: int = 2,
) -> str:
    """Columns aligned; the last column is wrapped into what is left of the width.

    Args:
        titles: of the columns.
        rows: cells as plain text.
        right: columns set flush right.
        styles: for each row, column -> style.
        width: of the whole table, characters.
        ink: colours.
        indent: blanks at the left.
    """
    ink = ink or Ink()
    rows = [[clean(cell) for cell in row] for row in rows]
    last = len(titles) - 1
    sizes = [max([len(titles[k]), *(len(row[k]) for row in rows)]) for k in range(last)]
    room = max(24, width - indent - sum(sizes) - 2 * last)
    lines = [_line(titles, sizes, right, [dict.fromkeys(range(len(titles)), "dim")], ink, indent)]
    for i, row in enumerate(rows):
        said = textwrap.wrap(row[last], room) or [""]
        style = styles[i] if i < len(styles) else {}
        lines.append(_line([*row[:last], said[0]], sizes, right, [style], ink, indent))
        blank = " " * (indent + sum(sizes) + 2 * last)
        lines += [blank + ink(style.get(last, ""), more) for more in said[1:]]
    return "\n".join(line.rstrip() for line in lines)


def _line(
    cells: Sequence[str],
    sizes: Sequence[int],
    right: Sequence[int],
    styles: Sequence[Mapping[int, str]],
    ink: Ink,
    indent: int,
) -> str:
    made = []
    for k, cell in enumerate(cells):
        size = sizes[k] if k < len(sizes) else 0
        padded = cell.rjust(size) if k in right else cell.ljust(size)
        made.append(ink(styles[0].get(k, ""), padded))
    return " " * indent + "  ".join(made)


def _wrapped(text: str, indent: int, width: int, hang: int = 0) -> str:
    blank = " " * indent
    return textwrap.fill(clean(text), width, initial_indent=blank, subsequent_indent=blank + " " * hang)


# --- design -----------------------------------------------------------------------------------------------


def design_summary(cluster: Cluster, *, color: bool = False, width: int = WIDTH) -> str:
    """What ``design`` prints: verdict, key numbers, options with the chosen one ticked, risks, limits, ways out.

    Args:
        cluster: the design.
        color: with ANSI colours.
        width: of the text, characters.
    """
    ink = Ink(color)
    parts = [
        _verdict(cluster, ink, width),
        _key(cluster, ink, width),
        _layers(cluster, ink),
        _considered(cluster, ink, width),
        _constraints(cluster, ink, width),
        _ways_out(cluster, ink, width),
        _risks(cluster, ink, width),
        audit_table(cluster, color=color, width=width) if _claims(cluster) else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _verdict(cluster: Cluster, ink: Ink, width: int) -> str:
    found = verdict(cluster)
    lines = [f"{ink('bold', clean(cluster.name))}: {ink('good' if found.good else 'bad', found.word.upper())}"]
    said = [found.sentence.rstrip(".") + ".", found.detail]
    lines += [_wrapped(text, 2, width) for text in said if text]
    lines += [ink("dim", _wrapped(f"{name}: {text}", 2, width)) for name, text in asked(cluster)]
    return "\n".join(lines)


def _key(cluster: Cluster, ink: Ink, width: int) -> str:
    rows = [[one.label, one.text, one.span, one.note] for one in key_numbers(cluster)]
    if not rows:
        return ""
    styles = [{1: "bold", 3: "dim"} for _ in rows]
    return text_table(["", "", "80 % interval", ""], rows, right=(1,), styles=styles, width=width, ink=ink)


def _layers(cluster: Cluster, ink: Ink) -> str:
    """One line a layer: what is built."""

    def said(path: str) -> str:
        if path in cluster.frame.texts:
            return cluster.frame.text(path)
        return number(path, cluster.value(path)) if path in cluster.frame else "?"

    lines = []
    if "training[0].tp" in cluster.frame:
        plan = " ".join(f"{key} {said(f'training[0].{key}')}" for key in ("tp", "pp", "dp", "cp", "ep"))
        step = f"{said('training[0].step_time_s')} a step, MFU {said('training[0].mfu')}"
        lines.append(("plan", f"{plan}; {step}; checkpoint {said('training[0].checkpoint_bytes')}"))
    if "fabric.leaf_switches" in cluster.frame:
        tiers = " + ".join(f"{said(f'fabric.{t}_switches')} {t}" for t in ("leaf", "spine", "core"))
        cables = f"{said('fabric.node_leaf_cables')} node-leaf and {said('fabric.leaf_spine_cables')} leaf-spine cables"
        lines.append(("network", f"{said('fabric.technology')}: {tiers} switches, {cables}"))
    if "facility.racks" in cluster.frame:
        racks = f"{said('facility.racks')} racks ({said('facility.compute_racks')} compute)"
        lines.append(("facility", f"{racks}, densest {said('facility.rack_power_w')}; PUE {said('facility.pue')}"))
    if "reliability.expected_interruptions" in cluster.frame:
        often = f"{said('reliability.expected_interruptions')} interruptions expected"
        saved = f"checkpoint every {said('reliability.checkpoint_interval_s')}"
        lines.append(("faults", f"{often}, {saved}, useful share {said('reliability.ettr')}"))
    return "\n".join(f"  {ink('dim', name.ljust(9))} {clean(text)}" for name, text in lines)


def _considered(cluster: Cluster, ink: Ink, width: int, most: int = 14) -> str:
    rows = rows_of(cluster, "considered")
    if not rows:
        return ""
    shown = rows[:most]
    titles = ["", "GPUs", "server", "a rack", "link", "how", "time", "cost", "power", "why"]
    made = [
        [
            TICK if row.get("chosen") else ALMOST if row.get("closest") else "",
            f"{row.get('gpus') or 0:,} {row.get('accelerator', '')}",
            str(row.get("server", "")),
            f"{row.get('nodes_per_rack') or 0:g}",
            str(row.get("fabric", "")),
            str(row.get("procurement", "")),
            number("x_s", row.get("time_to_train_s")),
            number("x_usd", row.get("tco_usd")),
            number("x_w", row.get("meter_power_w")),
            "; ".join(part.replace("outside the spec: ", "") for part in reversed(reason(row)) if part),
        ]
        for row in shown
    ]
    styles: list[Mapping[int, str]] = []
    for row in shown:
        won, lost = bool(row.get("chosen")), row.get("verdict") != "feasible"
        styles.append(dict.fromkeys(range(1, 9), "bold") | {0: "good"} if won else {8: "bad" if lost else "dim"})
    weighed = cluster.head.get("options_weighed")
    head = "Options considered" + (f" ({weighed:,} weighed)" if weighed else "")
    table = text_table(titles, made, right=(3, 6, 7, 8), styles=styles, width=width, ink=ink)
    more = f"\n  … and {len(rows) - most} more in the report" if len(rows) > most else ""
    return f"{ink('bold', head)}\n{table}{more}"


def _constraints(cluster: Cluster, ink: Ink, width: int) -> str:
    rows = [row for row in rows_of(cluster, "constraints") if not is_condition(row) or not row.get("holds")]
    if not rows:
        return ""
    made, styles = [], []
    for row in rows:
        path = str(row.get("path", ""))
        holds, throughout = bool(row.get("holds")), bool(row.get("holds_throughout", row.get("holds")))
        mark = (TICK, "good") if throughout else (ALMOST, "warn") if holds else (CROSS, "bad")
        sign = "<=" if row.get("at_most", True) else ">="
        value = number(path, row.get("value"))
        between = span(path, row.get("low"), row.get("high"))
        margin = row.get("margin")
        said = "" if margin is None else f"{float(margin):+.0%}"
        made.append(
            [mark[0], str(row.get("name", path)), f"{sign} {number(path, row.get('limit'))}", value, between, said]
        )
        styles.append({0: mark[1], 4: "dim", 5: "" if holds else "bad"})
    titles = ["", "limit", "allowed", "design", "80 % interval", "margin"]
    table = text_table(titles, made, right=(2, 3), styles=styles, width=width, ink=ink)
    return f"{ink('bold', 'Limits')}\n{table}"


def _ways_out(cluster: Cluster, ink: Ink, width: int) -> str:
    ways = rows_of(cluster, "relaxations")
    if not ways:
        return ""
    made = [
        [number("x_usd", w.get("cost_usd")), number("x_s", w.get("time_to_train_s")), str(w.get("text", ""))]
        for w in ways
    ]
    table = text_table(["cost", "time", "change"], made, right=(0, 1), width=width, ink=ink)
    return f"{ink('bold', 'What would make it feasible, fewest changes first')}\n{table}"


def _risks(cluster: Cluster, ink: Ink, width: int) -> str:
    found = main_risks(cluster)
    if not found:
        return ""
    lines = [ink("bold", "Main risks")]
    for i, risk in enumerate(found, 1):
        lines.append(_wrapped(f"{i}. {risk.message}", 2, width, hang=3))
        if risk.hint:
            lines.append(ink("dim", _wrapped(f"-> {risk.hint}", 5, width, hang=3)))
    return "\n".join(lines)


# --- audit ------------------------------------------------------------------------------------------------

_VERDICTS = {"holds": (TICK, "good"), "does-not-hold": (CROSS, "bad"), "cannot-tell": (ALMOST, "warn")}


def _claims(cluster: Cluster) -> list[Mapping[str, Any]]:
    found = cluster.answers.get("audit")
    return list(found.get("claims", [])) if isinstance(found, Mapping) else []


def audit_table(cluster: Cluster, *, color: bool = False, width: int = WIDTH) -> str:
    """What ``audit`` prints: each claim with its verdict, what was computed, and the sums.

    Args:
        cluster: a design whose spec holds claims.
        color: with ANSI colours.
        width: of the text, characters.
    """
    ink = Ink(color)
    claims = _claims(cluster)
    if not claims:
        return "The spec holds no claims."
    counts = {word: sum(1 for c in claims if c.get("verdict") == word) for word in _VERDICTS}
    lines = [ink("bold", "Claims: ") + ", ".join(f"{n} {word.replace('-', ' ')}" for word, n in counts.items() if n)]
    for claim in claims:
        path, word = str(claim.get("path", "")), str(claim.get("verdict", ""))
        mark, style = _VERDICTS.get(word, ("?", ""))
        who = f" ({claim['who']})" if claim.get("who") else ""
        said = f"{mark} {word}".replace("-", " ").ljust(15)
        head = f"  {ink(style, said)}  "
        lines.append(f"{head}{ink('bold', clean(path))} {clean(claim.get('text', ''))}{clean(who)}")
        lines.append(ink("dim", _wrapped(str(claim.get("arithmetic", "")), 6, width)))
        told = str(claim.get("arithmetic", ""))
        against = [other for other in claim.get("contradicts") or [] if str(other) not in told]
        if against:
            lines.append(ink("bad", _wrapped(f"contradicts {', '.join(against)}", 6, width)))
    return "\n".join(lines)


# --- compare ----------------------------------------------------------------------------------------------

COMPARED = (
    "compute.accelerator",
    "compute.gpus",
    "compute.nodes",
    "compute.spare_nodes",
    "training[0].time_to_train_s",
    "training[0].mfu",
    "training[0].tokens_per_s",
    "fabric.technology",
    "fabric.topology",
    "fabric.leaf_switches",
    "fabric.spine_switches",
    "fabric.core_switches",
    "facility.racks",
    "facility.rack_power_w",
    "facility.it_power_w",
    "facility.meter_power_w",
    "facility.carbon_kg_run",
    "reliability.expected_interruptions",
    "reliability.ettr",
    "cost.procurement",
    "cost.capex_usd",
    "cost.rent_usd",
    "cost.tco_usd",
    "cost.usd_per_gpu_h",
)
"""The figures laid side by side; all others are told by their change."""
MOST_CHANGES = 12


def compare_table(clusters: Sequence[Cluster], *, color: bool = False, width: int = WIDTH) -> str:
    """What ``compare`` prints: the main figures side by side, each change against the first design.

    Args:
        clusters: two or more designs.
        color: with ANSI colours.
        width: of the text, characters.
    """
    ink = Ink(color)
    titles = ["", *(clean(cluster.name) or f"design {i + 1}" for i, cluster in enumerate(clusters))]
    rows = [["verdict", *(cluster.verdict for cluster in clusters)]]
    known = [path for path in COMPARED if any(path in cluster.frame for cluster in clusters)]
    rows += [[label(path), *(_compared(path, cluster, clusters[0]) for cluster in clusters)] for path in known]
    right = tuple(range(1, len(titles)))
    # An empty last column keeps the figures aligned: text_table wraps only the last one.
    table = text_table([*titles, ""], [[*row, ""] for row in rows], right=right, width=width, ink=ink)
    changes = _changes(clusters, ink, width) if len(clusters) == 2 else ""
    return table + (f"\n\n{changes}" if changes else "")


def _compared(path: str, cluster: Cluster, first: Cluster) -> str:
    if path in cluster.frame.texts:
        return cluster.frame.text(path)
    if path not in cluster.frame:
        return "-"
    value = cluster.value(path)
    said = number(path, value)
    if cluster is not first and path in set(first.frame) and first.value(path):
        change = value / first.value(path) - 1
        said += f" ({change:+.1%})" if abs(change) >= 0.0005 and math.isfinite(change) else " (=)"
    return said


def _changes(clusters: Sequence[Cluster], ink: Ink, width: int) -> str:
    """The largest changes beyond the figures already shown."""
    found = [
        change
        for change in diff(clusters[0], clusters[1], 1e-3)
        if change.kind == "total" and change.path not in COMPARED and change.relative is not None
    ]
    if not found:
        return ""
    found.sort(key=lambda change: -abs(change.relative or 0.0))
    rows = [
        [c.path, number(c.path, c.before), number(c.path, c.after), f"{c.relative or 0:+.1%}", _sure(c.distinct)]
        for c in found[:MOST_CHANGES]
    ]
    table = text_table(["figure", "before", "after", "change", ""], rows, right=(1, 2, 3), width=width, ink=ink)
    more = f"\n  … and {len(found) - MOST_CHANGES} more with -o json" if len(found) > MOST_CHANGES else ""
    return f"{ink('bold', 'Largest other changes')}\n{table}{more}"


def _sure(distinct: bool) -> str:
    return "" if distinct else "within the error"
