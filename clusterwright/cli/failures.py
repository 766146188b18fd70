"""What a failure says on stderr, and the exit code it ends with."""

from __future__ import annotations

import errno
import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from clusterwright import __version__
from clusterwright.cli.codes import FINDINGS
from clusterwright.cli.installed import requirements, version_of
from clusterwright.cli.streams import say
from clusterwright.errors import EXIT_BUG, EXIT_INPUT, EXIT_WORLD, ClusterwrightError, InternalError
from clusterwright.findings import Finding

__all__ = ["answer", "write_crash_file"]

_WORLD = frozenset(
    getattr(errno, name)
    for name in ("EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENAMETOOLONG")
    if hasattr(errno, name)
)
"""Errors of the file system that no check beforehand can rule out."""


def answer(error: Exception, words: Sequence[str]) -> int:
    """Say on stderr what went wrong and return the exit code.

    Args:
        error: what was raised.
        words: the command line, for the crash file.
    """
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return EXIT_INPUT
    if isinstance(error, click.ClickException):
        say([_usage_finding(error)])
        return EXIT_INPUT
    if isinstance(error, ClusterwrightError) and not isinstance(error, InternalError):
        say(error.findings)
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _WORLD:
        place = str(error.filename or "")
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "free some space, or write elsewhere" if full else "write elsewhere, or change who may write there"
        say([FINDINGS["CLI-WORLD"].at(place, error.strerror or str(error), hint)])
        return EXIT_WORLD
    path = write_crash_file(error, words)
    hint = f"please report it with the crash file {path}" if path else "please report it with the text above"
    if path is None:
        click.echo("".join(traceback.format_exception(error)), err=True)
    say([FINDINGS["CLI-BUG"].at("", f"{type(error).__name__}: {_first_line(error)}", hint)])
    return EXIT_BUG


def write_crash_file(error: BaseException, words: Sequence[str]) -> Path | None:
    """Write what is needed to understand a bug; the path, or None where no folder can be written.

    The current folder is tried first, then the one for temporary files.
    """
    versions = "\n".join(f"  {name} {version_of(name)}" for name, _ in requirements())
    text = (
        f"clusterwright {__version__}\ncommand line: {list(words)!r}\nPython {sys.version}\n"
        f"{platform.platform()}\n{versions}\n\n{''.join(traceback.format_exception(error))}"
    )
    name = f"clusterwright-crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir())):
        try:
            path = folder() / name
            path.write_text(text, encoding="utf-8")
        except OSError:
            continue
        return path
    return None


def _usage_finding(error: click.ClickException) -> Finding:
    """A usage error as a finding; click's own suggestion is its hint."""
    message, _, suggestion = error.format_message().partition(" Did you mean")
    message = " ".join(message.split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "clusterwright"
    hint = f"did you mean{suggestion}" if suggestion else f"'{command} --help' says what it takes"
    return FINDINGS["CLI-USAGE"].at(command, message, " ".join(hint.split()))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0].rstrip(".")
