"""What can go wrong, and the exit code that each kind carries.

::

    ClusterwrightError
    |-- InputError      2    what a person wrote is wrong; carries every finding, each with its place
    |-- WorldError      3    a host, a tool, a file system or a credential failed
    `-- InternalError   70   our bug

Two outcomes are no errors: the answer "no" (exit 1, a verdict) and an interrupted run (exit 130).
"""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.findings import Finding

__all__ = [
    "EXIT_BUG",
    "EXIT_INPUT",
    "EXIT_INTERRUPTED",
    "EXIT_NO",
    "EXIT_OK",
    "EXIT_WORLD",
    "ClusterwrightError",
    "InputError",
    "InternalError",
    "WorldError",
]

EXIT_OK = 0
EXIT_NO = 1
EXIT_INPUT = 2
EXIT_WORLD = 3
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


class ClusterwrightError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        findings: what is said to the person, in order.
        exit_code: of the process when it is not caught.
    """

    exit_code = EXIT_BUG

    def __init__(self, findings: Sequence[Finding] | Finding) -> None:
        self.findings: tuple[Finding, ...] = (findings,) if isinstance(findings, Finding) else tuple(findings)
        super().__init__("\n".join(f.line() for f in self.findings))


class InputError(ClusterwrightError):
    """What a person wrote is wrong. All findings at once."""

    exit_code = EXIT_INPUT


class WorldError(ClusterwrightError):
    """The outside world failed: a tool is absent, a disk is full, a folder cannot be written."""

    exit_code = EXIT_WORLD


class InternalError(ClusterwrightError):
    """A bug of ours."""

    exit_code = EXIT_BUG
