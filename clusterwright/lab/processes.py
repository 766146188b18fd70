"""Processes of a lab: started with a mark in their environment, found and ended by it, whoever their parents are."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from clusterwright.errors import WorldError
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.place import MARK, NODE, Lab

__all__ = ["PLACES", "Process", "alive", "call", "end", "marked", "start", "wait_for"]

PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Process(NamedTuple):
    """A process of a lab.

    Attributes:
        pid: its number.
        node: whose it is; empty for what belongs to no node.
        command: its name.
        task: whether it belongs to a job's step.
    """

    pid: int
    node: str
    command: str
    task: bool


def _environment(path: Path) -> dict[str, str]:
    text = (path / "environ").read_bytes().decode("utf-8", "replace")
    return dict(one.split("=", 1) for one in text.split("\0") if "=" in one)


def marked(root: Path, node: str | None = None) -> list[Process]:
    """Every living process of a lab, or of one of its nodes; not this one and its parents."""
    own, found = _parents(), []
    for path in Path("/proc").iterdir():
        if not path.name.isdigit() or int(path.name) in own:
            continue
        with contextlib.suppress(OSError, ValueError):
            environment = _environment(path)
            if environment.get(MARK) != str(root):
                continue
            command, state = _stat(path)
            if state == "Z":
                continue
            whose = environment.get(NODE) or environment.get("SLURMD_NODENAME", "")
            if node is None or whose == node:
                task = "SLURM_JOB_ID" in environment and not command.startswith("slurm")
                found.append(Process(int(path.name), whose, command, task))
    return found


def _stat(path: Path) -> tuple[str, str]:
    text = (path / "stat").read_text("utf-8", "replace")
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()[0]


def _parents() -> set[int]:
    found, pid = set(), os.getpid()
    while pid > 1:
        found.add(pid)
        try:
            pid = int(_rest(pid)[1])
        except (OSError, ValueError, IndexError):
            break
    return found


def _rest(pid: int) -> Sequence[str]:
    return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def alive(pid: int) -> bool:
    """Whether a process runs, and is no zombie."""
    try:
        return _rest(pid)[0] != "Z"
    except OSError:
        return False


def start(
    lab: Lab, name: str, words: Sequence[str], extra: Mapping[str, str] | None = None, node: str = ""
) -> subprocess.Popen[bytes]:
    """Start a daemon that outlives this program; what it says goes to its log.

    Raises:
        WorldError: it cannot be started.
    """
    log = lab.log(name)
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": PLACES, "HOME": str(lab.root), "LANG": "C.UTF-8", **lab.environment, **(extra or {})}
    if node:
        environment[NODE] = node
    with log.open("ab") as stream:
        try:
            return subprocess.Popen(
                list(words),
                cwd=lab.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            said = f"{words[0]} cannot be started: {error.strerror or error}"
            raise WorldError(FINDINGS["LAB-START"].at(name, said, "clusterwright doctor")) from None


def wait_for(
    lab: Lab, name: str, started: subprocess.Popen[bytes] | None, ready: Callable[[], bool], seconds: float = 60.0
) -> None:
    """Wait until a daemon answers.

    Raises:
        WorldError: it ended, or does not answer in time.
    """
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if ready():
            return
        if started is not None and started.poll() is not None:
            break
        time.sleep(0.05)
    said = f"{name} does not start: {lab.said(name)}"
    raise WorldError(FINDINGS["LAB-START"].at(name, said, f"read {lab.log(name)} with 'lab up --keep'"))


def call(
    lab: Lab, words: Sequence[str], seconds: float = 60.0, stdin: str = "", extra: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a client of the lab to its end: exit code (124 after the limit), and what it said."""
    environment = {"PATH": PLACES, "HOME": str(lab.root), "LANG": "C.UTF-8", **lab.environment, **(extra or {})}
    try:
        done = subprocess.run(
            list(words), cwd=lab.root, env=environment, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=seconds, check=False, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, f"no answer within {seconds:g} s"
    except OSError as error:
        return 126, str(error.strerror or error)
    return done.returncode, done.stdout


def end(processes: Callable[[], Iterable[Process]], seconds: float = 8.0) -> list[Process]:
    """End processes: asked first, then killed, until none is left; returns those that stay."""
    _signal(processes(), signal.SIGCONT)
    _signal(processes(), signal.SIGTERM)
    limit = time.monotonic() + seconds
    for round_ in _rounds(limit):
        left = list(processes())
        if not left:
            return []
        if round_ > seconds / 3:
            _signal(left, signal.SIGKILL)
    return list(processes())


def _rounds(limit: float) -> Iterator[float]:
    begun = time.monotonic()
    while time.monotonic() < limit:
        yield time.monotonic() - begun
        time.sleep(0.1)


def _signal(processes: Iterable[Process], number: int) -> None:
    for one in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, number)
