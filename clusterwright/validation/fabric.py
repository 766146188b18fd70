"""Published fabric designs against the fat tree law: every count of every row.

A row is one published reference design: what it joins (nodes, network cards, radix ...) and the counts it prints. The
law is given the former and must reach the latter. What cannot be judged is refused with a reason; a row whose own
numbers do not agree with each other is flagged with the arithmetic, and counts neither for nor against the law.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains import fabric
from clusterwright.errors import InputError
from clusterwright.source import Place, Problem, read_bytes
from clusterwright.validation.codes import FINDINGS

__all__ = ["COUNTS", "GIVEN", "SCHEMA", "FabricReport", "Row", "read_rows", "validate_fabric"]

SCHEMA = "clusterwright/validate-fabric/1"

GIVEN: Mapping[str, float | None] = {
    "nodes": None,
    "nics_per_node": None,
    "radix": None,
    "ports_per_nic": 1.0,
    "extra_endpoints": 0.0,
    "tiers": 0.0,
    "planes": 1.0,
    "links_per_cable": 1.0,
    "oversubscription": 1.0,
}
"""What a row gives, and the value where the cell is empty or the column missing; None where it must be given.
``tiers`` 0 means that the law chooses."""
COUNTS = (
    "leaf_switches",
    "spine_switches",
    "core_switches",
    "node_leaf_cables",
    "leaf_spine_cables",
    "spine_core_cables",
)
"""What a row prints; an empty cell is not judged."""
_MAY_BE_ZERO = ("extra_endpoints",)
_MOST = {"radix": 1e5, "tiers": 3.0, "oversubscription": 1e3}
"""Largest values that are read; 1e9 for all others."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One published design, read.

    Attributes:
        id: of the row; its line when it has none.
        name: as published.
        line: in the file.
        given: by the keys of :data:`GIVEN`.
        printed: the counts that are printed.
        gpus: as printed; None where not.
        source: where it was published.
    """

    id: str
    name: str
    line: int
    given: Mapping[str, float]
    printed: Mapping[str, float]
    gpus: float | None = None
    source: str = ""

    @property
    def head(self) -> dict[str, Any]:
        """What names the row in an answer."""
        return {"id": self.id, "name": self.name, "line": self.line}


@dataclass
class FabricReport:
    """The outcome: every row is in exactly one of ``exact``, ``differing``, ``refused``, ``flagged``."""

    rows: int = 0
    exact: list[dict[str, Any]] = field(default_factory=list)
    differing: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    flagged: list[dict[str, Any]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether no row differs."""
        return not self.differing

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``exact`` is a count there."""
        return {
            "schema": SCHEMA,
            "rows": self.rows,
            "exact": len(self.exact),
            "differing": self.differing,
            "refused": self.refused,
            "flagged": self.flagged,
        }


def validate_fabric(path: Path) -> FabricReport:
    """Run every row of a CSV file through the fat tree law.

    Raises:
        InputError: the file cannot be read.
    """
    report, rows = FabricReport(), []
    for row in read_rows(path):
        report.rows += 1
        if not isinstance(row, Row):
            report.refused.append(row)
        elif reason := _impossible(row):
            report.refused.append({**row.head, "reason": reason})
        else:
            rows.append(row)
    if rows:
        computed, refusals = _by_the_law(rows)
        for i, row in enumerate(rows):
            if refusals[i]:
                report.refused.append({**row.head, "reason": refusals[i]})
            else:
                _judge(report, row, {key: float(values[i]) for key, values in computed.items()})
    report.refused.sort(key=lambda one: one["line"])
    return report


# --- reading ---


def read_rows(path: Path) -> Iterator[Row | dict[str, Any]]:
    """The rows of a file: each a :class:`Row`, or what names it with the ``reason`` why it is refused.

    Raises:
        InputError: the file cannot be read at all.
    """
    data = read_bytes(path)
    if isinstance(data, Problem):
        hint = "give a CSV file with one published design a row"
        raise InputError(FINDINGS["VALIDATION-DATA"].at(data.place, data.message, hint))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(FINDINGS["VALIDATION-DATA"].at(Place(str(path)), "is not UTF-8 text")) from None
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="")
    try:
        header = [str(name).strip() for name in reader.fieldnames or ()]
        if not set(header) & {*GIVEN, *COUNTS}:
            hint = "the first line names the columns: id,name,nodes,nics_per_node,radix,..."
            raise InputError(FINDINGS["VALIDATION-DATA"].at(Place(str(path), 1, 1), "has no known column", hint))
        reader.fieldnames = header
        for cells in reader:
            yield _read(cells, reader.line_num)
    except csv.Error as error:
        place = Place(str(path), reader.line_num, 1)
        raise InputError(FINDINGS["VALIDATION-DATA"].at(place, f"is not CSV: {error}")) from None


def _read(cells: Mapping[str, Any], line: int) -> Row | dict[str, Any]:
    label = str(cells.get("id") or f"line {line}").strip()
    name = str(cells.get("name") or "").strip()
    head: dict[str, Any] = {"id": label, "name": name, "line": line}
    if "" in cells:
        return {**head, "reason": "the row has more cells than the header has columns"}
    try:
        given = {key: _given(cells, key) for key in GIVEN}
        printed = {key: value for key in COUNTS if (value := _number(cells, key, least=0.0)) is not None}
        gpus = _number(cells, "gpus", least=1.0)
    except ValueError as error:
        return {**head, "reason": str(error)}
    if not printed:
        return {**head, "reason": f"the row prints none of {', '.join(COUNTS)}: there is nothing to compare with"}
    return Row(label, name, line, given=given, printed=printed, gpus=gpus, source=str(cells.get("source") or ""))


def _given(cells: Mapping[str, Any], key: str) -> float:
    value = _number(cells, key, least=0.0 if key in _MAY_BE_ZERO else 1.0)
    if value is not None:
        return value
    silent = GIVEN[key]
    if silent is None:
        raise ValueError(f"'{key}' is missing")
    return silent


def _number(cells: Mapping[str, Any], key: str, least: float) -> float | None:
    """A number of things, or None where the cell is empty or the column missing."""
    text = str(cells.get(key) or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{key} '{text[:40]}' is not a number") from None
    whole = key == "oversubscription" or value == math.floor(value) if math.isfinite(value) else False
    most = _MOST.get(key, 1e9)
    if not whole or not least <= value <= most:
        kind = "number" if key == "oversubscription" else "whole number"
        raise ValueError(f"{key} '{text[:40]}' is not a {kind} from {least:g} to {most:g}")
    return value


# --- the law ---


def _by_the_law(rows: list[Row]) -> tuple[dict[str, Floats], list[str]]:
    """All counts of all rows, arrays of shape (rows,), and for each row why it cannot be built, or nothing."""
    has = {key: np.array([row.given[key] for row in rows]) for key in GIVEN}
    counts = fabric.fat_tree(
        nodes=has["nodes"],
        nics=has["nics_per_node"],
        ports_per_nic=has["ports_per_nic"],
        extra_endpoints=has["extra_endpoints"],
        radix=has["radix"],
        planes=has["planes"],
        links_per_cable=has["links_per_cable"],
        oversubscription=has["oversubscription"],
        tiers_wanted=has["tiers"],
    )
    return {key: counts[key] for key in (*COUNTS, "tiers", "up_ports")}, [
        _refusal(row, counts, i) for i, row in enumerate(rows)
    ]


def _impossible(row: Row) -> str:
    """Why no law can be asked about a row, or nothing."""
    links = row.given["nics_per_node"] * row.given["ports_per_nic"]
    if links % row.given["planes"]:
        return f"{links:g} links of a node cannot be shared evenly by {row.given['planes']:g} planes"
    if row.given["radix"] < 2:
        return "a switch with one port joins nothing"
    return ""


def _refusal(row: Row, counts: Mapping[str, Floats], i: int) -> str:
    """Why the law cannot build a row as asked, or nothing."""
    if not counts["fits"][i]:
        wanted = row.given["tiers"]
        allowed = f"{wanted:g} tier{'s' if wanted != 1 else ''}" if wanted else "three tiers"
        return f"{row.given['nodes']:g} nodes do not fit {allowed} of switches with {row.given['radix']:g} ports"
    return ""


# --- judging ---


def _judge(report: FabricReport, row: Row, computed: Mapping[str, float]) -> None:
    differences = [
        {"column": key, "published": _plain(printed), "computed": _plain(computed[key])}
        for key, printed in row.printed.items()
        if printed != computed[key]
    ]
    contradictions = list(_contradictions(row, computed))
    if contradictions:
        report.flagged.append({**row.head, "contradictions": contradictions, "differences": differences})
    elif differences:
        report.differing.append({**row.head, "differences": differences, "source": row.source})
    else:
        report.exact.append({**row.head, **{key: _plain(computed[key]) for key in (*COUNTS, "tiers")}})


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _contradictions(row: Row, computed: Mapping[str, float]) -> Iterator[str]:
    """Arithmetic within the row's own numbers that does not come out; each a sentence."""
    given, printed = row.given, row.printed
    if row.gpus is not None and row.gpus % given["nodes"]:
        yield f"{row.gpus:g} GPUs are no whole number for each of {given['nodes']:g} nodes"
    ends = (given["nodes"] * given["nics_per_node"] + given["extra_endpoints"]) * given["ports_per_nic"]
    per = given["links_per_cable"]
    cables = printed.get("node_leaf_cables")
    if cables is not None and cables != math.ceil(ends / per):
        more = f" + {given['extra_endpoints']:g} more" if given["extra_endpoints"] else ""
        yield (
            f"{given['nodes']:g} nodes x {given['nics_per_node']:g} NICs{more} make {math.ceil(ends / per):g} "
            f"node-leaf cables, {cables:g} are printed"
        )
    yield from _contradicting_trunks(row, computed)
    yield from _ports_short(row, ends)


def _contradicting_trunks(row: Row, computed: Mapping[str, float]) -> Iterator[str]:
    """The trunks of the printed switches, where these agree with the law and only the cables do not."""
    half = math.floor(row.given["radix"] / 2)
    for switches, cables, ports in (
        ("leaf_switches", "leaf_spine_cables", computed["up_ports"]),
        ("spine_switches", "spine_core_cables", half),
    ):
        there, said = row.printed.get(switches), row.printed.get(cables)
        if there is None or said is None or there != computed[switches] or not computed[cables]:
            continue
        made = math.ceil(there * ports / row.given["links_per_cable"])
        if said != made:
            kind = switches.partition("_")[0]
            yield f"{there:g} {kind} switches x {ports:g} ports upwards make {made:g} cables, {said:g} are printed"


def _ports_short(row: Row, ends: float) -> Iterator[str]:
    """More links than the printed switches have ports."""
    printed, per, radix = row.printed, row.given["links_per_cable"], row.given["radix"]
    up, core = (printed.get(key) for key in ("leaf_spine_cables", "spine_core_cables"))
    for key, links in (
        ("leaf_switches", [ends, up and up * per]),
        ("spine_switches", [up and up * per, core and core * per]),
        ("core_switches", [core and core * per]),
    ):
        there, needed = printed.get(key), sum(n for n in links if n)
        if there and there * radix < needed:
            yield f"{there:g} {key.replace('_', ' ')} have {there * radix:g} ports for {needed:g} links"
