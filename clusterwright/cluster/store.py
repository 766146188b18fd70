"""The cluster object as a file: ``cluster.json``, and what differs between two of them.

The file holds the head, the figures with interval and provenance, the choices in words, the tables, the findings
and the answers. It carries no clock time and no machine name, so that equal inputs give equal bytes. JSON has no
NaN and no infinity: an unknown number is ``null``, an unlimited one ``"inf"``.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from clusterwright.cluster.cluster import Cluster
from clusterwright.cluster.frame import Estimate, Frame
from clusterwright.cluster.provenance import Kind, Provenance
from clusterwright.cluster.tables import SCHEMA, Table
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import SEVERITIES, Code, Finding, codes
from clusterwright.source import Place

__all__ = ["FILE_NAME", "FILE_SCHEMA", "FINDINGS", "Change", "diff", "dumps", "load", "plain", "save"]

FILE_NAME = "cluster.json"
FILE_SCHEMA = "clusterwright/cluster/1"
MAX_BYTES = 256 * 1024 * 1024
"""Largest file read. A cluster of 555,000 GPUs has about 1 MB, for groups stay groups."""

FINDINGS = codes(
    Code(
        "CLUSTER-NOT-FOUND",
        "error",
        "No design there",
        "The path is neither a cluster.json nor a run folder that holds one. 'clusterwright design SPEC' makes a run "
        "folder, by default under runs/.",
    ),
    Code(
        "CLUSTER-NOT-READABLE",
        "error",
        "The file cannot be read as a cluster",
        "The file is not JSON in UTF-8, is too large, or may not be read. It may have been cut off or edited by hand; "
        "design again from the spec.",
    ),
    Code(
        "CLUSTER-SCHEMA",
        "error",
        "The file has another schema",
        "The file is JSON, but its 'schema' is not one that this version reads. The --json output of a verb is not a "
        "cluster; the run folder holds cluster.json.",
    ),
    Code(
        "CLUSTER-DAMAGED",
        "error",
        "A part of the cluster is missing or malformed",
        "The file has the right schema, but a section, a column or a value is not what it must be.",
    ),
    Code(
        "CLUSTER-NOT-WRITABLE",
        "error",
        "The cluster cannot be written",
        "The output folder does not exist, may not be written, or the disk is full. Nothing half-written is left.",
    ),
)
"""The codes of the cluster room."""


# --- writing ----------------------------------------------------------------------------------------------


def dumps(cluster: Cluster) -> str:
    """The text of ``cluster.json``. Equal clusters give equal text."""
    frame = cluster.frame
    document = {
        "schema": FILE_SCHEMA,
        "head": plain(cluster.head),
        "totals": {path: _figure_out(frame, path) for path in frame},
        "texts": {path: text for path, (text, _) in frame.texts.items()},
        "provenance": {
            **{path: frame.figure(path).provenance.to_dict() for path in frame},
            **{path: origin.to_dict() for path, (_, origin) in frame.texts.items()},
        },
        "tables": {name: _table_out(table) for name, table in cluster.tables.items()},
        "findings": [_finding_out(finding) for finding in cluster.findings],
        "answers": plain(cluster.answers),
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def save(cluster: Cluster, folder: Path) -> Path:
    """Write ``cluster.json`` into ``folder``, whole or not at all.

    Returns:
        The path of the file.

    Raises:
        WorldError: the folder is missing or may not be written, or the disk is full.
    """
    target = Path(folder) / FILE_NAME
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(dumps(cluster))
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        message = f"cannot be written: {error.strerror or error}"
        finding = FINDINGS["CLUSTER-NOT-WRITABLE"].at(str(target), message, "choose another folder with --out")
        raise WorldError(finding) from None
    return target


def _figure_out(frame: Frame, path: str) -> dict[str, Any]:
    figure, estimate = frame.figure(path), frame.estimate(path)
    made: dict[str, Any] = {"value": _number_out(estimate.value)}
    if not figure.certain:
        made |= {"low": _number_out(estimate.low), "high": _number_out(estimate.high)}
    if figure.count:
        made["count"] = True
    return made


def _number_out(value: float) -> float | int | str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def _cell_out(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return _number_out(value) if isinstance(value, float) else value


def _table_out(table: Table) -> dict[str, Any]:
    made: dict[str, Any] = {"columns": {n: [_cell_out(v) for v in values] for n, values in table.columns.items()}}
    if table.provenance:
        made["provenance"] = {name: origin.to_dict() for name, origin in table.provenance.items()}
    return made


def _finding_out(finding: Finding) -> dict[str, Any]:
    made = finding.to_dict()
    if isinstance(finding.place, Place):
        made["place"] = {"file": finding.place.file, "line": finding.place.line, "column": finding.place.column}
    return made


def plain(value: Any) -> Any:
    """Answers and head as JSON: arrays and tuples become lists, what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# --- reading ----------------------------------------------------------------------------------------------


class _DamagedError(Exception):
    """A part of the document is not what it must be: (where, what)."""


def load(path: Path) -> Cluster:
    """Read a cluster from a run folder or a ``cluster.json``.

    Raises:
        InputError: not there, not readable, another schema, or damaged; the finding names the part.
    """
    file = Path(path) / FILE_NAME if Path(path).is_dir() else Path(path)
    document = _read(file, Path(path))
    found = document.get("schema") if isinstance(document, dict) else None
    if found != FILE_SCHEMA:
        said = f"has the schema '{found}'" if isinstance(found, str) else "has no 'schema'"
        raise _wrong("CLUSTER-SCHEMA", file, f"{said}; this version reads '{FILE_SCHEMA}'", "name the run folder")
    try:
        return _cluster_in(document)
    except _DamagedError as error:
        where, what = error.args
        raise _wrong("CLUSTER-DAMAGED", file, f"{where}: {what}", "design again from the spec") from None


def _wrong(code: str, file: Path, message: str, hint: str) -> InputError:
    return InputError(FINDINGS[code].at(str(file), message, hint))


def _read(file: Path, asked: Path) -> Any:
    hint = "make one with 'clusterwright design SPEC'"
    try:
        if file.stat().st_size > MAX_BYTES:
            raise _wrong("CLUSTER-NOT-READABLE", file, f"is larger than {MAX_BYTES:,} bytes", hint)
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        inside = f"holds no {FILE_NAME}" if asked.is_dir() else "does not exist"
        raise _wrong("CLUSTER-NOT-FOUND", asked, inside, hint) from None
    except UnicodeDecodeError:
        raise _wrong("CLUSTER-NOT-READABLE", file, "is not UTF-8 text", hint) from None
    except (OSError, ValueError) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise _wrong("CLUSTER-NOT-READABLE", file, said, hint) from None
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _wrong("CLUSTER-NOT-READABLE", file, f"is not JSON: {error.msg} at {place}", hint) from None
    except (ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _wrong("CLUSTER-NOT-READABLE", file, f"is not JSON: {said}", hint) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _cluster_in(document: dict[str, Any]) -> Cluster:
    for key, kind in _SECTIONS.items():
        _need(isinstance(document.get(key), kind), key, "is missing or has the wrong type")
    frame = Frame(1)
    for path, item in document["totals"].items():
        _figure_in(frame, path, item, document["provenance"])
    for path, text in document["texts"].items():
        _need(isinstance(text, str), f"texts.{path}", "is not text")
        frame.choose(path, text, _provenance_in(document["provenance"].get(path), f"provenance.{path}"))
    tables = {name: Table.empty(name) for name in SCHEMA}
    for name, item in document["tables"].items():
        tables[name] = _table_in(name, item)
    findings = [_finding_in(item, f"findings[{i}]") for i, item in enumerate(document["findings"])]
    for key, answer in document["answers"].items():
        _need(_is_answer(key, answer), f"answers.{key}", "is not what this version writes there")
    return Cluster(document["head"], frame, tables, findings, document["answers"])


_MAPPINGS = ("roofline", "bottleneck", "requested", "pareto", "audit")
_ROWS = (
    *("constraints", "considered", "relaxations", "sensitivity", "redundancy"),
    *("recovery_options", "fabric_options", "storage_options", "scheduler_options"),
)


def _is_answer(key: str, answer: Any) -> bool:
    """Whether an answer has the form that its readers rely on: a mapping, rows, or rows for each workload."""
    if key in _MAPPINGS:
        return isinstance(answer, dict)
    if key == "plans":
        return isinstance(answer, list) and all(_is_answer("considered", several) for several in answer)
    return key not in _ROWS or (isinstance(answer, list) and all(isinstance(row, dict) for row in answer))


_SECTIONS: Mapping[str, type] = {
    "head": dict,
    "totals": dict,
    "texts": dict,
    "provenance": dict,
    "tables": dict,
    "findings": list,
    "answers": dict,
}


def _need(condition: bool, where: str, what: str) -> None:
    if not condition:
        raise _DamagedError(where, what)


def _figure_in(frame: Frame, path: str, item: Any, provenance: dict[str, Any]) -> None:
    where = f"totals.{path}"
    _need(isinstance(item, dict) and "value" in item, where, "is not a figure")
    value = _number_in(item["value"], f"{where}.value")
    low, high = (_number_in(item[k], f"{where}.{k}") if k in item else None for k in ("low", "high"))
    origin = _provenance_in(provenance.get(path), f"provenance.{path}")
    frame.give(path, value, origin, low=low, high=high, count=item.get("count") is True)


def _number_in(value: Any, where: str) -> float:
    if value is None:
        return math.nan
    if value in ("inf", "-inf"):
        return float(value)
    _need(isinstance(value, int | float) and not isinstance(value, bool), where, "is not a number")
    return float(value)


def _provenance_in(item: Any, where: str) -> Provenance:
    _need(isinstance(item, dict) and item.get("kind") in get_args(Kind), where, "is missing or of an unknown kind")
    unknown = sorted(item.keys() - Provenance.__dataclass_fields__.keys())
    _need(not unknown, where, f"has unknown keys: {', '.join(unknown)}")
    _need(isinstance(item.get("inputs", {}), dict), f"{where}.inputs", "is not a mapping")
    _need(all(isinstance(v, str) for k, v in item.items() if k != "inputs"), where, "holds something that is not text")
    return Provenance(**item)


def _table_in(name: str, item: Any) -> Table:
    where = f"tables.{name}"
    _need(name in SCHEMA, where, "is not a table of this version")
    _need(isinstance(item, dict) and isinstance(item.get("columns"), dict), where, "has no columns")
    columns = item["columns"]
    odd = sorted(columns.keys() ^ SCHEMA[name].keys())
    _need(not odd, where, f"columns do not match: {', '.join(odd)}")
    _need(all(isinstance(v, list) for v in columns.values()), where, "has a column that is not a list")
    _need(len({len(v) for v in columns.values()}) <= 1, where, "has columns of unequal length")
    made = Table(name)
    for column, about in SCHEMA[name].items():
        place = f"{where}.{column}"
        made.columns[column] = [_cell_in(value, about.unit, f"{place}[{i}]") for i, value in enumerate(columns[column])]
    for column, origin in (item.get("provenance") or {}).items():
        made.provenance[column] = _provenance_in(origin, f"{where}.provenance.{column}")
    return made


def _cell_in(value: Any, unit: str, where: str) -> Any:
    if unit == "text":
        _need(isinstance(value, str), where, "is not text")
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _number_in(value, where)


def _finding_in(item: Any, where: str) -> Finding:
    _need(isinstance(item, dict) and item.get("severity") in SEVERITIES, where, "is not a finding")
    texts = [item.get(key, "") for key in ("code", "message", "hint")]
    _need(all(isinstance(text, str) for text in texts), where, "holds something that is not text")
    place = item.get("place", "")
    if isinstance(place, dict):
        place = Place(str(place.get("file", "")), int(place.get("line", 0)), int(place.get("column", 0)))
    return Finding(texts[0], item["severity"], texts[1], place if isinstance(place, Place) else str(place), texts[2])


# --- comparing --------------------------------------------------------------------------------------------

_KEYS = {"money": ("line", "procurement"), "failures": ("component",)}
"""Columns that name a row, where it is not ``name``."""


@dataclass(frozen=True)
class Change:
    """One difference between two clusters.

    Attributes:
        kind: ``total``, ``text``, ``row`` (a row appears or goes) or ``cell``.
        path: the figure, or ``table[row name].column``.
        before: value in the first cluster; None when it is not there.
        after: value in the second cluster; None when it is not there.
        relative: after / before - 1 for numbers, None where that has no meaning.
        distinct: for figures, True when the two intervals do not overlap.
    """

    kind: Literal["total", "text", "row", "cell"]
    path: str
    before: Any
    after: Any
    relative: float | None = None
    distinct: bool = True


def diff(before: Cluster, after: Cluster, tolerance: float = 1e-9) -> list[Change]:
    """What differs between two clusters: figures by path, choices in words, table rows by name.

    Args:
        before: the first cluster.
        after: the second.
        tolerance: relative difference of numbers up to which they count as equal.

    Returns:
        The changes in the order of the first cluster's figures, texts and tables; what only the second has follows.
    """
    return [
        *_total_changes(before.frame, after.frame, tolerance),
        *_text_changes(before.frame, after.frame),
        *(c for name in before.tables for c in _table_changes(name, before, after, tolerance)),
    ]


def _total_changes(before: Frame, after: Frame, tolerance: float) -> Iterator[Change]:
    olds, news = ({path: frame.estimate(path) for path in frame} for frame in (before, after))
    for path in dict.fromkeys([*olds, *news]):
        old, new = olds.get(path), news.get(path)
        if old is None or new is None:
            yield Change("total", path, old and old.value, new and new.value)
        elif not _equal(old.value, new.value, tolerance):
            apart = _apart(old, new)
            yield Change("total", path, old.value, new.value, _relative(old.value, new.value), apart)


def _apart(old: Estimate, new: Estimate) -> bool:
    return old.high < new.low or new.high < old.low


def _text_changes(before: Frame, after: Frame) -> Iterator[Change]:
    for path in dict.fromkeys([*before.texts, *after.texts]):
        old, new = (frame.texts[path][0] if path in frame.texts else None for frame in (before, after))
        if old != new:
            yield Change("text", path, old, new)


def _table_changes(name: str, before: Cluster, after: Cluster, tolerance: float) -> Iterator[Change]:
    old_rows, new_rows = _by_name(before.tables[name]), _by_name(after.tables.get(name, Table.empty(name)))
    for key in dict.fromkeys([*old_rows, *new_rows]):
        old, new = old_rows.get(key), new_rows.get(key)
        if old is None or new is None:
            yield Change("row", f"{name}[{key}]", old, new)
            continue
        for column, value in old.items():
            if not _equal(value, new.get(column), tolerance):
                relative = _relative(value, new.get(column))
                yield Change("cell", f"{name}[{key}].{column}", value, new.get(column), relative)


def _by_name(table: Table) -> dict[str, dict[str, Any]]:
    """The rows by their name; a name that repeats counts on: ``a``, ``a#2``."""
    named: dict[str, dict[str, Any]] = {}
    for row in table.rows():
        base = " ".join(str(row[k]) for k in _KEYS.get(table.name, ("name",)))
        key, again = base, 1
        while key in named:
            again += 1
            key = f"{base}#{again}"
        named[key] = row
    return named


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(old: Any, new: Any, tolerance: float) -> bool:
    if _is_number(old) and _is_number(new):
        if math.isnan(old) or math.isnan(new):
            return math.isnan(old) and math.isnan(new)
        return bool(old == new) or math.isclose(old, new, rel_tol=tolerance)
    return bool(old == new)


def _relative(old: Any, new: Any) -> float | None:
    if _is_number(old) and _is_number(new) and old and math.isfinite(old) and math.isfinite(new):
        return float(new) / float(old) - 1.0
    return None
