"""Our own file of a history: CSV with the columns of the schema, which holds any text that a job's name may be."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.traces.checking import checked
from clusterwright.traces.codes import FINDINGS
from clusterwright.traces.jobs import COLUMNS, STATES, Column, JobTable, Words
from clusterwright.traces.sacct import History, sacct_file

__all__ = ["csv_file", "csv_lines", "history_file", "read_csv"]

_CHUNK = 100_000
_BY_NAME = {column.name: column for column in COLUMNS}
_MOST_NAMED = 20


def csv_lines(table: JobTable) -> Iterator[str]:
    """The lines of the file, each with its line feed. Unknown is -1 or empty; equal tables give equal text."""
    yield ",".join(column.name for column in COLUMNS) + "\n"
    out = _Line()
    writer = csv.writer(out, lineterminator="\r\n")  # so that both are quoted inside a text
    for start in range(0, len(table), _CHUNK):
        part = table.take(np.arange(start, min(start + _CHUNK, len(table))))
        for row in zip(*(_texts(part, column) for column in COLUMNS), strict=True):
            writer.writerow(row)
            yield out.text.removesuffix("\r\n") + "\n"


class _Line:
    """What :func:`csv.writer` writes to."""

    text = ""

    def write(self, text: str) -> None:
        """Keep a line."""
        self.text = text


def _texts(table: JobTable, column: Column) -> Sequence[Any]:
    held = getattr(table, column.name)
    if isinstance(held, Words):
        return held.tolist()
    if column.kind == "state":
        return [STATES[code] for code in held]
    if column.kind == "number":
        return ["" if math.isnan(value) else repr(value) for value in held.tolist()]
    return list(held.tolist())


def csv_file(path: Path) -> History:
    """The history in a file.

    Raises:
        InputError: it is not there, or its header is not that of a history.
    """
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            return read_csv(stream, str(path))
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise InputError(FINDINGS["TRACE-NOT-READABLE"].at(str(path), said)) from None


def history_file(path: Path) -> History:
    """The history in a file of :func:`csv_lines` or of ``sacct -P``, whichever its first line says.

    Raises:
        InputError: it is not there, or is neither.
    """
    try:
        with path.open("rb") as stream:
            first = stream.readline(100_000).decode("utf-8", "replace")
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise InputError(FINDINGS["TRACE-NOT-READABLE"].at(str(path), said)) from None
    return csv_file(path) if "job_id" in first.strip().split(",") else sacct_file(path)


def read_csv(lines: Iterable[str], place: str = "csv") -> History:
    """The history in lines of :func:`csv_lines`; columns may be in any order, and all but ``job_id`` may be absent.

    Raises:
        InputError: the header has no ``job_id``, or a column that the schema does not have.
    """
    reader = csv.reader(lines)
    header = next(reader, [])
    names = ", ".join(column.name for column in COLUMNS)
    if "job_id" not in header:
        raise InputError(FINDINGS["TRACE-NOT-READABLE"].at(place, "has no column job_id", f"columns: {names}"))
    strange = [name for name in header if name not in _BY_NAME or header.count(name) > 1]
    if strange:
        said = "is no column of a history, or stands twice"
        wrong = [f"column '{name[:40]}' {said}" for name in dict.fromkeys(strange)]
        raise InputError([FINDINGS["TRACE-COLUMN"].at(place, one, f"columns: {names}") for one in wrong])
    tables, found, count = list[JobTable](), list[Finding](), 0
    while rows := list(islice(_numbered(reader), _CHUNK)):
        count += len(rows)
        good = []
        for number, row in rows:
            said_ = _wrong(header, row)
            if said_:
                found.append(FINDINGS["TRACE-LINE"].at(f"{place}:{number}", said_))
            else:
                good.append(row)
        tables.append(_table(header, good))
    joined = JobTable.join(tables)
    jobs, odd = checked(joined, place)
    more = found[_MOST_NAMED:]
    if more:
        told = f"{len(found):,} of {count:,} lines do not fit, of which {_MOST_NAMED} are named"
        found = [*found[:_MOST_NAMED], FINDINGS["TRACE-LINE"].at(place, told)]
    return History(jobs, (*found, *odd), count, count - len(jobs), 0)


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = [str(error)]
        if row:
            yield reader.line_num, row


def _wrong(header: Sequence[str], row: Sequence[str]) -> str:
    if len(row) != len(header):
        return f"{len(row)} fields instead of {len(header)}"
    for name, text in zip(header, row, strict=True):
        try:
            _value(_BY_NAME[name], text)
        except (ValueError, OverflowError):
            return f"{name} cannot be '{''.join(c if c.isprintable() else '?' for c in text[:40])}'"
    return ""


def _value(column: Column, text: str) -> Any:
    if column.kind == "integer":
        value = int(text or "-1")
        if not -(2**63) <= value < 2**63:
            raise OverflowError(text)
        return value
    if column.kind == "number":
        return float(text or "nan")
    return STATES.index(text) if column.kind == "state" else text


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> JobTable:
    made: dict[str, Any] = {}
    for i, name in enumerate(header):
        column = _BY_NAME[name]
        values = [_value(column, row[i]) for row in rows]
        made[name] = np.array(values, dtype=np.int8) if column.kind == "state" else values
    return JobTable.of(made.pop("job_id"), **made)
