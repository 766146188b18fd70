"""One schema of a history of jobs: a table of columns, whatever wrote the history.

A row is one *attempt* to run a job. A job that was requeued has several rows with the same ``job_id``; a task of an
array and a part of a heterogeneous job are jobs of their own. Live accounting, imported histories and the simulator
all make this table, and :mod:`~clusterwright.traces.measures` reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLUMNS", "ENDED", "INTERRUPTED", "SECOND_US", "STATES", "UNKNOWN", "Column", "JobTable", "Words"]

SECOND_US = 1_000_000
UNKNOWN = -1
"""Of an integer column."""

STATES = (
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REQUEUED",
    "RESIZING",
    "REVOKED",
)
"""States of Slurm as ``sacct`` prints them, by their number in the column ``state``."""
ENDED = (
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
)
"""States in which a job has ended; after PREEMPTED, NODE_FAIL and BOOT_FAIL it may be tried again."""
INTERRUPTED = ("NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REQUEUED")
"""States of an attempt that was ended from outside: what it did since its last checkpoint is lost."""

Kind = Literal["integer", "number", "words", "state"]
Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class Column(NamedTuple):
    """One column of the table."""

    name: str
    kind: Kind
    unit: str
    meaning: str


def _columns(text: str) -> tuple[Column, ...]:
    rows = (tuple(part.strip() for part in line.split("|")) for line in text.strip().splitlines())
    return tuple(Column(name, kind, unit, meaning) for name, kind, unit, meaning in rows)  # type: ignore[arg-type]


COLUMNS = _columns("""
    job_id | integer | 1 | number of the job; the same in every attempt
    array_job | integer | 1 | number of the array that it is a task of
    array_task | integer | 1 | its place in the array; unknown for tasks that have not been split off yet
    tasks | integer | 1 | jobs that the row stands for: 1, more for tasks of an array that wait together
    het_job | integer | 1 | number of the heterogeneous job that it is a part of
    name | words | text | free text of a user
    user | words | text | login name
    account | words | text | tenant
    qos | words | text | quality of service
    partition | words | text | partition or queue
    state | state | text | one of STATES
    reason | words | text | why it waits or why it ended, in the scheduler's word
    submit_us | integer | us | submitted
    eligible_us | integer | us | could have started: dependencies and begin time met
    start_us | integer | us | started
    end_us | integer | us | ended
    nodes | integer | 1 | nodes held, or asked for while it waits
    gpus | number | 1 | GPUs held, or asked for while it waits; parts of a GPU count as parts
    cpus | integer | 1 | processors held, or asked for while it waits
    memory_bytes | integer | byte | memory held, or asked for while it waits
    limit_us | integer | us | time limit; unknown also where there is none
    restarts | integer | 1 | attempts before this one
    exit_code | integer | 1 | of the batch script
    exit_signal | integer | 1 | that ended it, 0 for none
    node_list | words | text | nodes held, in Slurm's short form
    energy_j | number | J | of the nodes held, as measured
    utilisation | number | 1 | share of time in which its GPUs were busy, as measured
    lost_us | integer | us | run time whose work was lost because the attempt was interrupted
""")
"""The schema. Unknown is -1 in integer columns, NaN in numbers, the empty text in words. Times are microseconds since
1970 in UTC."""
_KINDS = {column.name: column.kind for column in COLUMNS}
_FILL: Mapping[str, int] = {"tasks": 1, "restarts": 0, "exit_code": 0, "exit_signal": 0, "nodes": 0, "cpus": 0}


@dataclass(frozen=True, eq=False)
class Words:
    """A column of text: each different word once, and a number for each row.

    Attributes:
        codes: shape (rows,).
        words: by number.
    """

    codes: NDArray[np.int32]
    words: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str]) -> Words:
        """Of one text a row."""
        index: dict[str, int] = {}
        codes = np.fromiter((index.setdefault(value, len(index)) for value in values), dtype=np.int32)
        return cls(codes, tuple(index))

    @classmethod
    def same(cls, word: str, count: int) -> Words:
        """The same text in every row."""
        return cls(np.zeros(count, dtype=np.int32), (word,))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[Any]) -> Words:
        """Some rows, by mask or by number."""
        return Words(self.codes[rows], self.words)

    def tolist(self) -> list[str]:
        """One text a row."""
        return [self.words[code] for code in self.codes]

    def are(self, *wanted: str) -> NDArray[np.bool_]:
        """Which rows have one of the words."""
        return np.array([word in wanted for word in self.words] or [False])[self.codes]

    def sorted(self) -> tuple[Ints, tuple[str, ...]]:
        """Numbers by the order of the words that occur, and these words: for groups in a steady order."""
        used = np.unique(self.codes)
        names = sorted({self.words[code] for code in used})
        place = {name: i for i, name in enumerate(names)}
        table = np.array([place.get(word, 0) for word in self.words] or [0], dtype=np.int64)
        return table[self.codes], tuple(names)


@dataclass(frozen=True, eq=False)
class JobTable:
    """A history: a column each, all of one length; see :data:`COLUMNS`."""

    job_id: Ints
    array_job: Ints
    array_task: Ints
    tasks: Ints
    het_job: Ints
    name: Words
    user: Words
    account: Words
    qos: Words
    partition: Words
    state: NDArray[np.int8]
    reason: Words
    submit_us: Ints
    eligible_us: Ints
    start_us: Ints
    end_us: Ints
    nodes: Ints
    gpus: Reals
    cpus: Ints
    memory_bytes: Ints
    limit_us: Ints
    restarts: Ints
    exit_code: Ints
    exit_signal: Ints
    node_list: Words
    energy_j: Reals
    utilisation: Reals
    lost_us: Ints

    @classmethod
    def of(cls, job_id: Sequence[int] | Ints, **columns: Any) -> JobTable:
        """A table of the columns that are known; the others are unknown.

        Args:
            job_id: numbers of the jobs, shape (rows,).
            columns: by name: arrays or sequences; text columns sequences of text or :class:`Words`, ``state`` words of
                :data:`STATES` or their numbers.

        Raises:
            ValueError: a column has another length, or a name or state is not known.
        """
        ids = np.asarray(job_id, dtype=np.int64)
        made: dict[str, Any] = {"job_id": ids}
        if strange := sorted(columns.keys() - _KINDS.keys()):
            raise ValueError(f"no such column: {', '.join(strange)}")
        for column in COLUMNS[1:]:
            made[column.name] = _column(column, columns.get(column.name), len(ids))
            if len(made[column.name]) != len(ids):
                raise ValueError(f"{column.name} has {len(made[column.name])} rows, job_id has {len(ids)}")
        return cls(**made)

    @classmethod
    def empty(cls) -> JobTable:
        """No rows."""
        return cls.of([])

    @classmethod
    def join(cls, parts: Sequence[JobTable]) -> JobTable:
        """Several tables below each other."""
        if not parts:
            return cls.empty()
        made: dict[str, Any] = {}
        for field in fields(cls):
            columns = [getattr(part, field.name) for part in parts]
            made[field.name] = _joined(columns) if _KINDS[field.name] == "words" else np.concatenate(columns)
        return cls(**made)

    def __len__(self) -> int:
        return len(self.job_id)

    def take(self, rows: NDArray[Any]) -> JobTable:
        """Some rows, by mask or by number."""
        made: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            made[field.name] = column.take(rows) if isinstance(column, Words) else column[rows]
        return JobTable(**made)

    def with_columns(self, **columns: Any) -> JobTable:
        """The same table with some columns replaced."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return JobTable.of(**{**own, **columns})

    def are(self, *states: str) -> NDArray[np.bool_]:
        """Which rows are in one of the states."""
        wanted = [STATES.index(state) for state in states]
        return np.isin(self.state, wanted)

    def run_us(self, until_us: int) -> Ints:
        """Time that each row held its nodes; a running job has run until ``until_us``. Shape (rows,)."""
        return np.where(self.start_us >= 0, np.maximum(self.ends_us(until_us) - self.start_us, 0), 0)

    def ends_us(self, until_us: int) -> Ints:
        """End of each row; ``until_us`` for those that have none yet."""
        return np.where(self.end_us >= 0, self.end_us, until_us)

    def ready_us(self) -> Ints:
        """When a row began to wait: when it was submitted and could have started."""
        return np.maximum(self.eligible_us, self.submit_us)

    def wait_us(self) -> Ints:
        """Wait of each row until its start, 0 where the clock went backwards; -1 where it has not started."""
        known = (self.start_us >= 0) & (self.ready_us() >= 0)
        return np.where(known, np.maximum(self.start_us - self.ready_us(), 0), UNKNOWN)

    def attempts(self) -> JobTable:
        """The rows by job and time, with ``restarts`` counted from them where the history has several rows of a job."""
        order = np.lexsort((self.start_us & 0x7FFF_FFFF_FFFF_FFFF, self.submit_us, self.job_id))
        table = self.take(order)
        first = np.flatnonzero(np.diff(table.job_id, prepend=np.int64(-2)))
        begins = np.repeat(first, np.diff(first, append=len(table)))
        counted = np.arange(len(table)) - begins
        return table.with_columns(restarts=np.maximum(table.restarts, counted))


def _column(column: Column, given: Any, count: int) -> Any:
    if column.kind == "words":
        if given is None:
            return Words.same("", count)
        return given if isinstance(given, Words) else Words.of(given)
    if column.kind == "state":
        return _states(given, count)
    if column.kind == "number":
        fill = 0.0 if column.name == "gpus" else np.nan
        return np.full(count, fill) if given is None else np.asarray(given, dtype=np.float64)
    if given is None:
        return np.full(count, _FILL.get(column.name, UNKNOWN), dtype=np.int64)
    return np.asarray(given, dtype=np.int64)


def _states(given: Any, count: int) -> NDArray[np.int8]:
    if given is None:
        return np.full(count, STATES.index("COMPLETED"), dtype=np.int8)
    values = np.asarray(given)
    if values.dtype.kind in "iu":
        if len(values) and not (values.min() >= 0 and values.max() < len(STATES)):
            raise ValueError("a number of a state is out of range")
        return values.astype(np.int8)
    return np.array([STATES.index(str(value)) for value in values.tolist()], dtype=np.int8)


def _joined(columns: Sequence[Words]) -> Words:
    index: dict[str, int] = {}
    codes = []
    for column in columns:
        place = np.array([index.setdefault(word, len(index)) for word in column.words] or [0], dtype=np.int32)
        codes.append(place[column.codes])
    return Words(np.concatenate(codes), tuple(index))
