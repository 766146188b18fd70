"""Start a judge: with a time limit, in a folder of its own, without the caller's environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clusterwright.deploy.codes import FINDINGS
from clusterwright.findings import Finding

__all__ = ["Judged", "Program", "missing", "older", "run"]

_SECONDS = 120.0
_PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Judged(NamedTuple):
    """What a program said: exit code (124 after the time limit), both streams together."""

    code: int
    text: str


@dataclass(frozen=True)
class Program:
    """A judge.

    Attributes:
        name: of the executable.
        install: the command that installs it.
        asking: arguments that make it say its version.
    """

    name: str
    install: str
    asking: tuple[str, ...] = ("--version",)

    @property
    def path(self) -> str | None:
        """Where it is; beside this Python first, so that packages of the environment are found."""
        return _find(self.name)

    @property
    def version(self) -> str:
        """The first number with a dot that it says of itself."""
        return _version(self.name, self.asking)


@cache
def _find(name: str) -> str | None:
    import sys

    return shutil.which(name, path=f"{Path(sys.executable).parent}:{_PLACES}:{os.environ.get('PATH', '')}")


@cache
def _version(name: str, asking: tuple[str, ...]) -> str:
    path = _find(name)
    if path is None:
        return ""
    found = re.search(r"\d+\.\d+[\w.-]*", run([path, *asking], seconds=20).text)
    return found.group(0) if found else ""


def run(
    words: Sequence[str],
    folder: Path | None = None,
    seconds: float = _SECONDS,
    extra: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> Judged:
    """Run a program to its end.

    Args:
        words: the program and its arguments; no shell.
        folder: to run in.
        seconds: after which it is killed.
        extra: environment variables beside PATH, HOME and LANG.
        stdin: what it reads.
    """
    import sys

    home = str(folder or "/tmp")  # noqa: S108  # a home that exists everywhere; nothing is written there
    environment = {"PATH": f"{Path(sys.executable).parent}:{_PLACES}", "HOME": home, "LANG": "C.UTF-8", **(extra or {})}
    try:
        done = subprocess.run(
            list(words),
            cwd=folder,
            env=environment,
            input=stdin or "",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Judged(124, f"no answer within {seconds:g} s")
    except OSError as error:
        return Judged(126, f"cannot be started: {error.strerror or error}")
    return Judged(done.returncode, done.stdout)


def older(version: str, release: str) -> bool:
    """Whether a version such as 22.05.8 is of an older release than 25.11; False when one of them is not known."""
    mine, other = (tuple(map(int, re.findall(r"\d+", text)[:2])) for text in (version, release))
    return bool(mine and other) and mine < other


def missing(program: Program, judges: str) -> Finding:
    """The finding that a judge is not installed: what it would judge, and how it is had."""
    said = f"{program.name} is not installed; {judges} is checked by our own reading only"
    return FINDINGS["DEPLOY-JUDGE-MISSING"].at(program.name, said, program.install)
