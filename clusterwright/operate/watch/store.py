"""What the watcher remembers: evidence, actions, nodes. SQLite in the folder ``state`` of the site.

An action is written down before it is done, and again after; so a watcher that was killed at any moment finds what it
had meant to do, looks at the cluster, and knows what came of it.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.errors import InputError, WorldError
from clusterwright.operate.codes import FINDINGS

__all__ = ["Action", "Kept", "Store", "leading"]

_TABLES = """
create table if not exists meta (key text primary key, value text not null);
create table if not exists evidence (
    id text primary key, kind text not null, node text not null, text text not null, source text not null,
    began_s real not null, seen_s real not null, handled integer not null default 0);
create table if not exists actions (
    id integer primary key autoincrement, kind text not null, target text not null, state text not null,
    evidence text not null, detail text not null, at_s real not null, ended_s real not null default 0,
    who text not null, said text not null default '');
create table if not exists nodes (
    name text primary key, phase text not null, since_s real not null, action integer not null default 0,
    spare text not null default '', fault text not null default '', checked_s real not null default 0);
create table if not exists jobs (key text primary key, nodes integer not null, since_s real not null);
"""
STATES = ("intended", "done", "failed", "abandoned", "undone")


@dataclass(frozen=True)
class Action:
    """One change that the watcher makes or made.

    Attributes:
        id: its number, which stands in the reason of a drain.
        kind: ``drain``, ``down``, ``requeue``, ``start-soon``, ``migrate``, ``spare-in``, ``spare-out``, ``return``,
            ``retire``, ``shrink``, ``grow``, ``tell``.
        target: node or job.
        state: ``intended``, ``done``, ``failed``, ``abandoned`` (the world had changed), ``undone``.
        evidence: fingerprints of what it is done for.
        detail: what is needed to see whether it is done, and to undo it.
        at_s, ended_s: seconds since the epoch.
        who: ``watcher``, or the user who asked for it.
        said: what came of it, in words.
    """

    id: int
    kind: str
    target: str
    state: str
    evidence: tuple[str, ...]
    detail: Mapping[str, Any]
    at_s: float
    ended_s: float
    who: str
    said: str


@dataclass(frozen=True)
class Kept:
    """What is kept of a node that is not simply in service.

    Attributes:
        phase: ``ok``, ``leaving`` (drained or down, jobs may still be on it), ``out`` (empty, waits for a good check),
            ``retired``.
        since_s: of the phase; a node that is ``ok`` came back then, and nothing older counts against it.
        action: that took it away.
        spare: that stands in for it; empty without.
        fault: kind of the evidence.
        checked_s: when it was checked last.
    """

    name: str
    phase: str
    since_s: float
    action: int = 0
    spare: str = ""
    fault: str = ""
    checked_s: float = 0.0


@dataclass
class Store:
    """The memory of one site.

    Raises (by :meth:`open`):
        WorldError: the folder cannot be written.
    """

    folder: Path
    base: sqlite3.Connection
    who: str = field(default_factory=getpass.getuser)

    @classmethod
    def open(cls, folder: Path, who: str = "watcher") -> Store:
        """Open it, and make it when it is not there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            base = sqlite3.connect(folder / "watch.sqlite", timeout=10, isolation_level=None)
            base.execute("pragma journal_mode=wal")
            base.execute("pragma synchronous=full")
            base.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise _failed(folder, error) from None
        return cls(folder, base, who)

    def close(self) -> None:
        """Close it."""
        self.base.close()

    def _run(self, text: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self.base.execute(text, values)
        except sqlite3.Error as error:
            raise _failed(self.folder, error) from None

    # --- facts ---

    def meta(self, key: str, default: str = "") -> str:
        """A word that is kept."""
        found = self._run("select value from meta where key = ?", (key,)).fetchone()
        return str(found[0]) if found else default

    def set_meta(self, key: str, value: str) -> None:
        """Keep a word."""
        self._run("insert into meta values (?, ?) on conflict (key) do update set value = excluded.value", (key, value))

    def note(self, key: str, kind: str, node: str, text: str, source: str, began_s: float, seen_s: float) -> bool:
        """Keep evidence; whether it is new."""
        values = (key, kind, node, text, source, began_s, seen_s)
        found = self._run(
            "insert or ignore into evidence (id, kind, node, text, source, began_s, seen_s) values (?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        return found.rowcount > 0

    def handled(self, key: str) -> bool:
        """Whether something was done for it, or decided to be none of ours."""
        found = self._run("select handled from evidence where id = ?", (key,)).fetchone()
        return bool(found and found[0])

    def handle(self, *keys: str) -> None:
        """Nothing more is done for these."""
        for key in keys:
            self._run("update evidence set handled = 1 where id = ?", (key,))

    def evidence(self, most: int = 100) -> list[dict[str, Any]]:
        """The newest first."""
        rows = self._run("select id, kind, node, text, source, began_s, seen_s, handled from evidence order by seen_s desc "
                         "limit ?", (most,)).fetchall()  # fmt: skip
        keys = ("id", "kind", "node", "text", "source", "began_s", "seen_s", "handled")
        return [dict(zip(keys, row, strict=True)) for row in rows]

    def count(self, kind: str, node: str, since_s: float) -> int:
        """How often something was seen on a node."""
        found = self._run(
            "select count(*) from evidence where kind = ? and node = ? and seen_s >= ?", (kind, node, since_s)
        )
        return int(found.fetchone()[0])

    # --- nodes and jobs ---

    def nodes(self) -> dict[str, Kept]:
        """Every node that something is kept of."""
        rows = self._run("select name, phase, since_s, action, spare, fault, checked_s from nodes").fetchall()
        return {row[0]: Kept(*row) for row in rows}

    def keep(self, node: Kept) -> None:
        """Keep a node."""
        self._run(
            "insert or replace into nodes (name, phase, since_s, action, spare, fault, checked_s) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            (node.name, node.phase, node.since_s, node.action, node.spare, node.fault, node.checked_s),
        )  # fmt: skip

    def jobs(self) -> dict[str, tuple[int, float]]:
        """Job that was shrunk -> nodes that it had, and since when."""
        return {row[0]: (row[1], row[2]) for row in self._run("select key, nodes, since_s from jobs").fetchall()}

    def keep_job(self, key: str, nodes: int) -> None:
        """A job was shrunk; it had so many nodes."""
        self._run("insert or ignore into jobs values (?, ?, ?)", (key, nodes, time.time()))

    def forget_job(self, key: str) -> None:
        """A job has its nodes back, or is over."""
        self._run("delete from jobs where key = ?", (key,))

    # --- actions ---

    def intend(self, kind: str, target: str, evidence: tuple[str, ...], detail: Mapping[str, Any]) -> Action:
        """Write down what is about to be done."""
        now = time.time()
        found = self._run(
            "insert into actions (kind, target, state, evidence, detail, at_s, who) values (?, ?, 'intended', ?, ?, ?, ?)",
            (kind, target, json.dumps(evidence), json.dumps(dict(detail)), now, self.who),
        )
        made = Action(int(found.lastrowid or 0), kind, target, "intended", evidence, detail, now, 0.0, self.who, "")
        self._audit(made)
        return made

    def end(self, action: Action, state: str, said: str = "") -> None:
        """Write down what came of it."""
        now = time.time()
        self._run("update actions set state = ?, ended_s = ?, said = ? where id = ?", (state, now, said, action.id))
        self._audit(Action(action.id, action.kind, action.target, state, action.evidence, action.detail, action.at_s, now,
                           self.who, said))  # fmt: skip

    def actions(self, state: str | None = None, since_s: float = 0.0, most: int = 1000) -> list[Action]:
        """The newest first."""
        text = "select id, kind, target, state, evidence, detail, at_s, ended_s, who, said from actions where at_s >= ?"
        values: tuple[Any, ...] = (since_s,)
        if state is not None:
            text, values = f"{text} and state = ?", (*values, state)
        rows = self._run(f"{text} order by id desc limit ?", (*values, most)).fetchall()
        return [Action(*row[:4], tuple(json.loads(row[4])), json.loads(row[5]), *row[6:]) for row in rows]

    def action(self, key: int) -> Action:
        """One of them.

        Raises:
            InputError: there is none of that number.
        """
        found = [one for one in self.actions() if one.id == key]
        if not found:
            raise InputError(FINDINGS["OPERATE-ACTION"].at(str(key), "no action has that number", "operate log"))
        return found[0]

    def _audit(self, action: Action) -> None:
        """One line of JSON for each state of each action, appended; nobody rewrites it."""
        row = {"at_s": round(time.time(), 3), "pid": os.getpid(), "id": action.id, "kind": action.kind,
               "target": action.target, "state": action.state, "who": self.who, "evidence": list(action.evidence),
               "said": action.said}  # fmt: skip
        try:
            with (self.folder / "audit.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
        except OSError as error:
            raise _failed(self.folder, error) from None


def _failed(folder: Path, error: Exception) -> WorldError:
    said = f"cannot be written: {getattr(error, 'strerror', None) or error}"
    hint = "without its memory the watcher does nothing: make room, then it goes on"
    return WorldError(FINDINGS["OPERATE-STATE"].at(str(folder), said, hint))


@contextmanager
def leading(folder: Path) -> Iterator[None]:
    """Be the only watcher of a site.

    Raises:
        WorldError: another one leads; it is named.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "leader.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            said = f"another watcher leads: {lock.read(200).strip() or 'unknown'}"
            raise WorldError(FINDINGS["OPERATE-LEADER"].at(str(folder), said, "one at a time; end it first")) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} since {time.strftime('%Y-%m-%dT%H:%M:%S')}")
        lock.flush()
        yield
