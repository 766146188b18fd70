"""What the watcher remembers: SQLite in the state folder, and an audit log that is only added to.

Write-ahead: an action is a row before anything is done, with a key that no second row can have. Whatever is told to
the audit log is written to the database in the same transaction as the change, and copied from there to
``audit.jsonl``; a crash in between is made up for at the next start, so that each line is there once.
"""

from __future__ import annotations

import getpass
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.errors import WorldError
from clusterwright.operate.codes import FINDINGS

__all__ = ["Action", "Condition", "Store", "whoami"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS conditions (
    source TEXT, node TEXT, kind TEXT, detail TEXT, began_s REAL, seen_s REAL, count INTEGER, open INTEGER,
    fate TEXT DEFAULT '', PRIMARY KEY (source, node, kind, detail, began_s));
CREATE TABLE IF NOT EXISTS actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL,
    cause TEXT NOT NULL, evidence TEXT NOT NULL, params TEXT NOT NULL, state TEXT NOT NULL, phase TEXT NOT NULL,
    note TEXT NOT NULL, by TEXT NOT NULL, made_s REAL NOT NULL, changed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL);
"""
_COLUMNS = "id, key, kind, target, cause, evidence, params, state, phase, note, by, made_s, changed_s"


def whoami() -> str:
    """Who runs this program."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


@dataclass
class Condition:
    """Something that a source says of a node, from when it began until it is gone.

    Attributes:
        source: ``slurm``, ``prometheus``, ``check`` or ``probe``.
        node: name; empty for what concerns the whole site.
        kind: of fault; detail: what exactly, such as ``xid 79 on GPU 3``.
        began_s, seen_s: first and last seen, seconds since the epoch.
        count: of events, for what is counted.
        open: whether it holds.
        fate: what became of it: empty, ``acted``, or ``noted: why``.
    """

    source: str
    node: str
    kind: str
    detail: str
    began_s: float
    seen_s: float
    count: int = 0
    open: bool = True
    fate: str = ""

    @property
    def fingerprint(self) -> str:
        """The same for the same thing, whoever looks and however often."""
        import hashlib

        text = "\0".join((self.source, self.node, self.kind, self.detail, f"{self.began_s:.3f}"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """As it is kept with an action."""
        return {"fingerprint": self.fingerprint, "source": self.source, "node": self.node, "kind": self.kind,
                "detail": self.detail, "began_s": self.began_s}  # fmt: skip


@dataclass
class Action:
    """One thing that the watcher means to do, does, or did.

    Attributes:
        id: number, 0 before it is written down.
        key: what it is about; no second action has it.
        kind: see :mod:`~clusterwright.operate.watch.actions`.
        target: node, job or partition.
        cause: kind of fault, or ``by hand``.
        evidence: what was known.
        params: what is needed to do it, and to take it back.
        state: ``intended``, ``done``, ``abandoned``, ``undone`` or ``overruled`` (by a person).
        phase: how far it is.
        note: in words.
        by: who.
        made_s, changed_s: seconds since the epoch.
    """

    key: str
    kind: str
    target: str
    cause: str
    evidence: Sequence[Mapping[str, Any]] = ()
    params: dict[str, Any] = field(default_factory=dict)
    state: str = "intended"
    phase: str = ""
    note: str = ""
    by: str = "watcher"
    made_s: float = 0.0
    changed_s: float = 0.0
    id: int = 0

    @property
    def mark(self) -> str:
        """How what it does is signed, in Slurm's reasons."""
        return f"clusterwright:{self.id}"

    def to_dict(self) -> dict[str, Any]:
        """As it is shown."""
        return {"id": self.id, "state": self.state, "kind": self.kind, "target": self.target, "cause": self.cause,
                "phase": self.phase, "note": self.note, "by": self.by, "made_s": self.made_s,
                "changed_s": self.changed_s, "evidence": list(self.evidence), "params": self.params}  # fmt: skip


class Store:
    """The state folder.

    Args:
        folder: made when it is not there.
        copy: only a copy in memory is changed: for a dry run.

    Raises:
        WorldError: it cannot be read or written.
    """

    def __init__(self, folder: Path, copy: bool = False) -> None:
        self.folder, self.copy = folder, copy
        self.path = folder / "operate.sqlite"
        try:
            if not copy:
                folder.mkdir(parents=True, exist_ok=True, mode=0o750)
            self.db = self._copied() if copy else self._connected()
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from None

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)
        self.path.chmod(0o640)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.executescript(_SCHEMA)
        return db

    def _copied(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        if self.path.is_file():
            with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10) as held:
                held.backup(db)
        db.executescript(_SCHEMA)
        return db

    def _failed(self, error: Exception) -> WorldError:
        said = getattr(error, "strerror", None) or str(error)
        return WorldError(FINDINGS["WATCH-STATE"].at(str(self.path), said, "df, and who may write there"))

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One transaction: whole or not at all, on the disk when it returns.

        Raises:
            WorldError: it cannot be written.
        """
        try:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
            except BaseException:
                self.db.execute("ROLLBACK")
                raise
            self.db.execute("COMMIT")
        except sqlite3.Error as error:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise self._failed(error) from None
        self.export()

    def rows(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows of a question.

        Raises:
            WorldError: it cannot be read.
        """
        try:
            return self.db.execute(text, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    # --- small things ---

    def meta(self, key: str, default: Any = None) -> Any:
        """A remembered value."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return json.loads(found[0][0]) if found else default

    def set_meta(self, key: str, value: Any) -> None:
        """Remember a value."""
        with self.change() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    # --- conditions ---

    def conditions(self, only_open: bool = True) -> list[Condition]:
        """What holds, or everything that is remembered."""
        where = "WHERE open = 1" if only_open else ""
        columns = "source, node, kind, detail, began_s, seen_s, count, open, fate"
        found = self.rows(f"SELECT {columns} FROM conditions {where} ORDER BY began_s, node")  # noqa: S608
        return [
            Condition(source, node, kind, detail, began_s, seen_s, count, bool(holds), fate)
            for source, node, kind, detail, began_s, seen_s, count, holds, fate in found
        ]

    def save_conditions(self, changed: Sequence[Condition]) -> None:
        """Write conditions down."""
        if not changed:
            return
        with self.change() as db:
            db.executemany(
                "INSERT OR REPLACE INTO conditions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(c.source, c.node, c.kind, c.detail, c.began_s, c.seen_s, c.count, int(c.open), c.fate)
                 for c in changed],
            )  # fmt: skip

    # --- actions ---

    def actions(self, where: str = "1", values: Sequence[Any] = ()) -> list[Action]:
        """Actions in the order in which they were made."""
        found = self.rows(f"SELECT {_COLUMNS} FROM actions WHERE {where} ORDER BY id", values)  # noqa: S608
        return [_action(row) for row in found]

    def action(self, number: int) -> Action | None:
        """An action by its number."""
        found = self.actions("id = ?", (number,))
        return found[0] if found else None

    def intend(self, actions: Sequence[Action], acted: Sequence[Condition] = ()) -> list[Action]:
        """Write down what is to be done, before it is done; those whose key is known are left out."""
        made, now = [], time.time()
        with self.change() as db:
            for one in actions:
                if db.execute("SELECT 1 FROM actions WHERE key = ?", (one.key,)).fetchone():
                    continue
                done = db.execute(
                    "INSERT INTO actions (key, kind, target, cause, evidence, params, state, phase, note, by,"
                    " made_s, changed_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (one.key, one.kind, one.target, one.cause, json.dumps(list(one.evidence)), json.dumps(one.params),
                     one.state, one.phase, one.note, one.by, now, now),
                )  # fmt: skip
                one.id, one.made_s, one.changed_s = int(done.lastrowid or 0), now, now
                made.append(one)
                self._tell(db, one.by, one.state, one)
            db.executemany(
                "UPDATE conditions SET fate = ? "
                "WHERE source = ? AND node = ? AND kind = ? AND detail = ? AND began_s = ?",
                [(c.fate, c.source, c.node, c.kind, c.detail, c.began_s) for c in acted],
            )
        return made

    def update(self, one: Action, by: str | None = None) -> None:
        """Write down how far an action is."""
        one.changed_s = time.time()
        with self.change() as db:
            db.execute(
                "UPDATE actions SET params = ?, state = ?, phase = ?, note = ?, changed_s = ? WHERE id = ?",
                (json.dumps(one.params), one.state, one.phase, one.note, one.changed_s, one.id),
            )
            self._tell(db, by or one.by, one.state, one)

    def forget(self, before_s: float) -> None:
        """Conditions that ended long ago go, and lines that the audit log has; actions stay."""
        with self.change() as db:
            db.execute("DELETE FROM conditions WHERE open = 0 AND seen_s < ?", (before_s,))
            last = db.execute("SELECT MAX(id) FROM events").fetchone()[0] or 0
            db.execute("DELETE FROM events WHERE id < ?", (last - 10_000,))

    # --- audit ---

    def tell(self, what: str, by: str = "watcher", **more: Any) -> None:
        """Add a line to the audit log that belongs to no action."""
        with self.change() as db:
            self._line(db, {"by": by, "what": what, **more})

    def _tell(self, db: sqlite3.Connection, by: str, what: str, one: Action) -> None:
        self._line(db, {"by": by, "what": what, "action": one.id, "kind": one.kind, "target": one.target,
                        "cause": one.cause, "phase": one.phase, "note": one.note,
                        "evidence": [e.get("fingerprint", "") for e in one.evidence]})  # fmt: skip

    def _line(self, db: sqlite3.Connection, told: Mapping[str, Any]) -> None:
        line = {"at_s": round(time.time(), 3), "pid": os.getpid(), **told}
        db.execute("INSERT INTO events (line) VALUES (?)", (json.dumps(line, ensure_ascii=True),))

    def export(self) -> None:
        """Copy to ``audit.jsonl`` what is not there yet; a full disk is no reason to stop, it is made up for later."""
        if self.copy:
            return
        path = self.folder / "audit.jsonl"
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            handle = os.open(path, flags, 0o640)
            try:
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
                last = _last_event(handle)
                found = self.rows("SELECT id, line FROM events WHERE id > ? ORDER BY id", (last,))
                text = "".join(f'{{"event": {number}, {line[1:]}\n' for number, line in found)
                if text:
                    os.write(handle, text.encode())
                    os.fsync(handle)
            finally:
                os.close(handle)
        except OSError:
            return


def _last_event(handle: int) -> int:
    """Number of the last whole line; a line that a crash or a full disk cut off is taken away."""
    size = os.lseek(handle, 0, os.SEEK_END)
    start = max(0, size - 65_536)
    tail = os.pread(handle, size - start, start)
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        os.ftruncate(handle, start + whole)
    lines = tail[:whole].splitlines()
    try:
        return int(json.loads(lines[-1])["event"]) if lines else 0
    except (ValueError, KeyError, TypeError):
        return 0


def _action(row: Sequence[Any]) -> Action:
    return Action(
        id=row[0], key=row[1], kind=row[2], target=row[3], cause=row[4], evidence=json.loads(row[5]),
        params=json.loads(row[6]), state=row[7], phase=row[8], note=row[9], by=row[10], made_s=row[11],
        changed_s=row[12],
    )  # fmt: skip
