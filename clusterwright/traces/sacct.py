"""Reader of Slurm's accounting as ``sacct -P -D`` prints it, of every release since 22.05.

The job's name is free text of a user and may hold pipes, line breaks and whole lines that look like other jobs. So the
columns are found by the names in the header; free text stands last (:data:`FIELDS`), where a separator in it shifts
nothing; and who calls ``sacct`` gives a separator that no user can know (:func:`words`), so that no name can make a
line that fits. A line that does not fit is set aside with a finding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.traces.checking import checked
from clusterwright.traces.codes import FINDINGS
from clusterwright.traces.jobs import SECOND_US, STATES, UNKNOWN, JobTable

__all__ = ["ENVIRONMENT", "FIELDS", "History", "read_sacct", "sacct_file", "words"]

FIELDS = (
    *("JobIDRaw", "JobID", "User", "Account", "QOS", "Partition", "State", "Submit", "Eligible", "Start", "End"),
    *(
        "NNodes",
        "ReqTRES",
        "AllocTRES",
        "TimelimitRaw",
        "ExitCode",
        "ConsumedEnergyRaw",
        "Reason",
        "NodeList",
        "JobName",
    ),
)
"""What to ask ``sacct`` for: fields that every release since 22.05 has, free text last."""
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0", "LC_ALL": "C.UTF-8"}
"""For ``sacct``: times as seconds since 1970, lists of array tasks in full."""
_NEEDED = ("JobIDRaw", "State", "Submit", "Start", "End")
_FREE_TEXT = ("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "WCKey", "Container")
_CHUNK = 100_000
_MOST_NAMED = 20
"""Lines set aside that get a finding of their own; further ones are counted in one."""
_NO_ENERGY = 1e18
"""Slurm's marks for *no value* lie above; a million GPUs need a year for a tenth of it in joules."""


def words(separator: str) -> list[str]:
    """Options of ``sacct`` for this reader; ``separator`` must be something that nobody could guess."""
    return ["-P", "-D", "-X", "-a", "--noconvert", f"--delimiter={separator}", "-o", ",".join(FIELDS)]


@dataclass(frozen=True)
class History:
    """What came of a text.

    Attributes:
        jobs: a row an attempt.
        findings: what was set aside or left out, and why.
        lines: read, the header not counted.
        set_aside: lines, and rows that cannot be true.
        steps: lines of job steps.
    """

    jobs: JobTable
    findings: tuple[Finding, ...] = ()
    lines: int = 0
    set_aside: int = 0
    steps: int = 0


def sacct_file(path: Path) -> History:
    """The history in a file.

    Raises:
        InputError: it is not there, or has no header of sacct.
    """
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            return read_sacct(stream, str(path))
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise InputError(FINDINGS["TRACE-NOT-READABLE"].at(str(path), said, _how())) from None


def read_sacct(lines: Iterable[str], place: str = "sacct") -> History:
    """The history in lines of ``sacct -P``, the header first.

    Args:
        lines: ended by a line feed or not; a text stream opened with ``newline="\\n"``, else line breaks that Python
            adds would cut names.
        place: of the findings.

    Raises:
        InputError: there is no header, or it lacks a column that is needed.
    """
    source = (line.removesuffix("\n").removesuffix("\r") for line in lines)
    header = next(source, "")
    reading = _Reading(_layout(header, place), place)
    tables = []
    while chunk := list(islice(source, _CHUNK)):
        tables.append(reading.table(chunk))
    jobs, strange = checked(JobTable.join(tables).attempts(), place)
    aside = reading.aside + sum(map(len, tables)) - len(jobs)
    return History(jobs, (*reading.findings(), *strange), reading.lines, aside, reading.steps)


# --- the header ---


class _Layout(NamedTuple):
    """Columns by name, the separator, whether lines end with one, and whether the last column is free text."""

    at: dict[str, int]
    separator: str
    closed: bool
    free_last: bool


def _how() -> str:
    environment = " ".join(f"{key}={value}" for key, value in ENVIRONMENT.items() if key.startswith("SLURM"))
    return f"{environment} sacct -P -D -X -a --noconvert -S BEGIN -E END -o {','.join(FIELDS)}"


def _layout(header: str, place: str) -> _Layout:
    separator = "|"
    if header.startswith(FIELDS[0]) and FIELDS[1] in header[len(FIELDS[0]) :]:
        separator = header[len(FIELDS[0]) : header.index(FIELDS[1], len(FIELDS[0]))] or "|"
    closed = header.endswith(separator)
    names = header.removesuffix(separator).split(separator)
    at = {name: i for i, name in enumerate(names)}
    missing = [name for name in _NEEDED if name not in at]
    if len(missing) == len(_NEEDED):
        raise InputError(FINDINGS["TRACE-NOT-READABLE"].at(place, "has no header of sacct", _how()))
    if len(at) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(FINDINGS["TRACE-COLUMN"].at(place, f"a column stands twice: {', '.join(twice)}", _how()))
    if "AllocTRES" not in at and "ReqTRES" not in at:
        missing.append("AllocTRES")
    if missing:
        raise InputError([FINDINGS["TRACE-COLUMN"].at(place, f"column {name} is missing", _how()) for name in missing])
    return _Layout(at, separator, closed, names[-1] in _FREE_TEXT)


# --- the lines ---


@dataclass
class _Reading:
    """State over the chunks of one text."""

    layout: _Layout
    place: str
    lines: int = 0
    steps: int = 0
    aside: int = 0
    local: bool = False
    said: list[Finding] = field(default_factory=list)

    def table(self, chunk: Sequence[str]) -> JobTable:
        """The jobs of some lines."""
        rows, numbers, energy = [], [], []
        last = ""
        for number, row in self._split(chunk):
            job, dot, _ = row[self.layout.at["JobIDRaw"]].partition(".")
            if not dot:
                rows.append(row)
                numbers.append(number)
                energy.append(math.nan)
                last = job
                continue
            self.steps += 1
            if job == last and (spent := _energy(self._of(row, "ConsumedEnergyRaw"))) > 0:
                energy[-1] = np.fmax(energy[-1], spent)
        self.lines += len(chunk)
        return self._made(rows, numbers, np.array(energy))

    def _of(self, row: Sequence[str], name: str) -> str:
        at = self.layout.at.get(name)
        return "" if at is None else row[at]

    def _split(self, chunk: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        layout, wanted = self.layout, len(self.layout.at)
        most = wanted - 1 if layout.free_last else -1
        for number, line in enumerate(chunk, self.lines + 2):
            row = (line.removesuffix(layout.separator) if layout.closed else line).split(layout.separator, most)
            if len(row) == wanted:
                yield number, row
            elif line:
                said = f"{len(row)} fields instead of {wanted}: a line break in a name, or a line cut off"
                self._aside(number, said)

    def _aside(self, number: int, said: str) -> None:
        self.aside += 1
        if self.aside <= _MOST_NAMED:
            self.said.append(FINDINGS["TRACE-LINE"].at(f"{self.place}:{number}", said))

    def _made(self, rows: list[list[str]], numbers: list[int], energy: Any) -> JobTable:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.layout.at)
        good = np.ones(len(rows), dtype=np.bool_)

        def read(name: str, convert: Callable[[str], Any]) -> list[Any]:
            """Each different text of a column is converted once; rows whose text cannot be are set aside."""
            at = self.layout.at.get(name)
            texts: Sequence[str] = columns[at] if at is not None else [""] * len(rows)
            made: dict[str, Any] = {}
            for text in set(texts):
                try:
                    made[text] = convert(text)
                except (ValueError, OverflowError):
                    made[text] = None
            found = [made[text] for text in texts]
            if None in made.values():
                for i, value in enumerate(found):
                    if value is None and good[i]:
                        good[i] = False
                        self._aside(numbers[i], f"{name} cannot be {_shown(texts[i])}")
                blank = convert("0" if name == "JobIDRaw" else "")
                found = [blank if value is None else value for value in found]
            return found

        return self._columns(read, energy).take(good)

    def _columns(self, read: Callable[[str, Callable[[str], Any]], list[Any]], energy: Any) -> JobTable:
        ids, exits = read("JobID", _job), read("ExitCode", _exit)
        asked, held = read("ReqTRES", _tres), read("AllocTRES", _tres)
        tres = [have if have.given else want for have, want in zip(held, asked, strict=True)]
        spent = np.array(read("ConsumedEnergyRaw", _energy), dtype=np.float64)
        nodes = read("NNodes", _count)
        start, planned = np.array(read("Start", self._time), dtype=np.int64), self._planned(read)
        eligible = np.array(read("Eligible", self._time), dtype=np.int64)
        derived = np.where((eligible < 0) & (start >= 0) & (planned >= 0), start - planned, eligible)
        return JobTable.of(
            read("JobIDRaw", _number),
            **{name: [getattr(one, name) for one in ids] for name in ("array_job", "array_task", "tasks", "het_job")},
            name=read("JobName", str),
            user=read("User", str),
            account=read("Account", str),
            qos=read("QOS", str),
            partition=read("Partition", str),
            state=np.array(read("State", _state), dtype=np.int8),
            reason=read("Reason", _word),
            submit_us=read("Submit", self._time),
            eligible_us=derived,
            start_us=start,
            end_us=read("End", self._time),
            nodes=[one if one else amount.nodes for one, amount in zip(nodes, tres, strict=True)],
            gpus=[one.gpus for one in tres],
            cpus=[one.cpus for one in tres],
            memory_bytes=[one.memory_bytes for one in tres],
            limit_us=read("TimelimitRaw", _limit),
            restarts=read("Restarts", _count),
            exit_code=[one[0] for one in exits],
            exit_signal=[one[1] for one in exits],
            node_list=read("NodeList", _word),
            energy_j=np.where(np.isfinite(spent), spent, energy),
        )

    def _planned(self, read: Callable[[str, Callable[[str], Any]], list[Any]]) -> Any:
        name = "Planned" if "Planned" in self.layout.at else "Reserved"
        return np.array(read(name, _elapsed), dtype=np.int64)

    def _time(self, text: str) -> int:
        if text.isascii() and text.isdigit():
            return _number(text) * SECOND_US
        if text in ("", "Unknown", "None", "N/A"):
            return UNKNOWN
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            self.local = True
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp()) * SECOND_US

    def findings(self) -> Iterator[Finding]:
        """What was said on the way, and the counts."""
        yield from self.said
        if self.aside > _MOST_NAMED:
            said = f"{self.aside:,} of {self.lines:,} lines do not fit, of which {_MOST_NAMED} are named"
            yield FINDINGS["TRACE-LINE"].at(self.place, said, _how())
        if self.steps:
            yield FINDINGS["TRACE-STEPS"].at(self.place, f"{self.steps:,} lines of steps are left out", "sacct -X")
        if self.local:
            yield FINDINGS["TRACE-LOCAL-TIME"].at(self.place, "times have no zone and count as UTC", _how())


# --- the fields ---


class _Job(NamedTuple):
    array_job: int = UNKNOWN
    array_task: int = UNKNOWN
    tasks: int = 1
    het_job: int = UNKNOWN


class _Amount(NamedTuple):
    given: bool = False
    nodes: int = 0
    gpus: float = 0.0
    cpus: int = 0
    memory_bytes: int = UNKNOWN


_JOB = re.compile(r"(\d+)(?:_(?:(\d+)|\[([\d,:%-]+)\]))?(?:\+(\d+))?")


def _job(text: str) -> _Job:
    if not text:
        return _Job()
    found = _JOB.fullmatch(text)
    if found is None:
        raise ValueError(text)
    base, task, waiting, part = found.groups()
    het = int(base) if part is not None else UNKNOWN
    if waiting is not None:
        return _Job(int(base), UNKNOWN, _tasks(waiting), het)
    return _Job(int(base), int(task), 1, het) if task is not None else _Job(het_job=het)


def _tasks(text: str) -> int:
    """How many tasks ``4-9%2`` or ``1,3,8-20:4`` are."""
    count = 0
    for span in text.partition("%")[0].split(","):
        first, dash, rest = span.partition("-")
        last, _, step = rest.partition(":")
        count += (int(last) - int(first)) // int(step or "1") + 1 if dash else len([int(first)])
    if count < 1:
        raise ValueError(text)
    return count


def _state(text: str) -> int:
    return STATES.index(text.split(" ", maxsplit=1)[0] if text else "COMPLETED")


def _exit(text: str) -> tuple[int, int]:
    code, _, signal = (text or "0:0").partition(":")
    return int(code), int(signal or "0")


def _count(text: str) -> int:
    return _number(text or "0")


def _number(text: str) -> int:
    """Digits and nothing else: ``int`` would take ``1_0``, too."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(text)
    return int(text)


def _word(text: str) -> str:
    return "" if text in ("None", "None assigned", "Unknown") else text


def _limit(text: str) -> int:
    return int(text) * 60 * SECOND_US if text.isdigit() else UNKNOWN


def _elapsed(text: str) -> int:
    """``1-02:03:04`` or ``02:03:04`` in microseconds."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    if found is None:
        return UNKNOWN
    days, hours, minutes, seconds = (int(part or "0") for part in found.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND_US


def _energy(text: str) -> float:
    joules = float(text or "0")
    return joules if 0 < joules < _NO_ENERGY else math.nan


_SCALE = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def _tres(text: str) -> _Amount:
    if not text:
        return _Amount()
    held = dict(one.partition("=")[::2] for one in text.split(","))
    kinds = [float(count) for name, count in held.items() if name.startswith("gres/gpu:")]
    memory = re.fullmatch(r"([\d.]+)([KMGTP]?)", held["mem"]) if "mem" in held else None
    if "mem" in held and memory is None:
        raise ValueError(text)
    return _Amount(
        True,
        int(held.get("node", "0")),
        float(held["gres/gpu"]) if "gres/gpu" in held else sum(kinds),
        int(held.get("cpu", "0")),
        round(float(memory[1]) * _SCALE[memory[2]]) if memory else UNKNOWN,
    )


def _shown(text: str) -> str:
    cut = text[:40] + ("..." if len(text) > 40 else "")
    return "'" + "".join(c if c.isprintable() else "?" for c in cut) + "'"
