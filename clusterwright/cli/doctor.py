"""``clusterwright doctor``: check this installation and what it can use."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from clusterwright import __version__
from clusterwright.cli.codes import FINDINGS
from clusterwright.cli.installed import requirements, version_of
from clusterwright.cli.streams import emit, output_options, say, wants_color
from clusterwright.errors import EXIT_OK, EXIT_WORLD
from clusterwright.findings import Finding

__all__ = ["Check", "command", "examine"]

SCHEMA = "clusterwright/doctor/1"
PYTHONS = ((3, 11), (3, 13))
"""Oldest and newest Python that is tested."""
STALE_DAYS = 180
"""Age from which a price counts as old."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what was looked at.
        state: what was found, in words.
        finding: what is wrong, None when all is well.
    """

    name: str
    state: str
    finding: Finding | None = None

    @property
    def failed(self) -> bool:
        """Whether clusterwright cannot do its work like this."""
        return self.finding is not None and self.finding.severity == "error"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "ok": not self.failed,
            "state": self.state,
            "finding": self.finding.to_dict() if self.finding else None,
        }


@click.command()
@output_options()
@click.pass_context
def command(ctx: click.Context, output: str) -> None:
    """Check this installation and what it can use.

    Looks at Python, the packages, the current folder, the terminal, the catalogue and optional programs. Ends with
    exit code 3 when something that is needed is missing.
    """
    checks = examine()
    failed = any(check.failed for check in checks)
    rows = [{"name": c.name, "ok": not c.failed, "state": c.state} for c in checks]
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "ok": not failed,
        "checks": [check.to_dict() for check in checks],
    }
    emit(document, output, rows, lambda: _print(checks))
    say(check.finding for check in checks if check.finding is not None)
    ctx.exit(EXIT_WORLD if failed else EXIT_OK)


def _print(checks: Sequence[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.echo(f"{_mark(check)} {check.name:<{width}}  {check.state}", color=wants_color())


def examine() -> list[Check]:
    """Look at everything, in the order in which one depends on the other."""
    return [_python(), *_packages(), _folder(Path.cwd()), _terminal(), *_catalogue(), _browser()]


def _mark(check: Check) -> str:
    if check.failed:
        return click.style("fail", fg="red")
    return click.style("ok  ", fg="green") if check.finding is None else click.style("note", fg="yellow")


def _python() -> Check:
    state = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        return Check("python", state)
    hint = "install Python 3.11, 3.12 or 3.13 and make a new environment with it"
    said = f"Python {platform.python_version()} is not one that clusterwright is tested with"
    return Check("python", state, FINDINGS["CLI-PYTHON-VERSION"].at("python", said, hint))


def _packages() -> Iterator[Check]:
    """Each package that the installed distribution asks for, against the version that is there."""
    wanted = list(requirements())
    if not wanted:
        yield Check("packages", "clusterwright runs from its source tree, what it needs is not checked")
    yield from (_package(name, least) for name, least in wanted)


def _package(name: str, least: str) -> Check:
    hint = f"python -m pip install '{name}>={least}'"
    there = version_of(name)
    if there is None:
        return Check(name, "not installed", FINDINGS["CLI-PACKAGE-VERSION"].at(name, "is not installed", hint))
    if _numbers(there) >= _numbers(least):
        return Check(name, there)
    said = f"version {there} is installed, {least} or newer is needed"
    return Check(name, there, FINDINGS["CLI-PACKAGE-VERSION"].at(name, said, hint))


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``2.0rc1`` is (2, 0)."""
    return tuple(int(n) for n in re.findall(r"\d+", re.split(r"[a-z+!-]", version)[0]))


def _folder(folder: Path) -> Check:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        said = f"cannot be written: {error.strerror or error}"
        hint = "change to another folder, or name one with --out"
        return Check("folder", str(folder), FINDINGS["CLI-FOLDER-READ-ONLY"].at(str(folder), said, hint))
    free = shutil.disk_usage(folder).free
    return Check("folder", f"{folder} can be written, {free / 1e9:.1f} GB are free")


def _terminal() -> Check:
    if not sys.stdout.isatty():
        return Check("terminal", "stdout is a file or a pipe: no colours, no progress bars")
    colours = "without colours (NO_COLOR)" if os.environ.get("NO_COLOR") else "with colours"
    return Check("terminal", f"{shutil.get_terminal_size().columns} columns, {sys.stdout.encoding}, {colours}")


def _catalogue() -> Iterator[Check]:
    """Whether the catalogue can be read, and how many of its prices are old."""
    from clusterwright.catalog import KINDS, load_catalog

    try:
        catalog = load_catalog()
        parts = sum(len(catalog.names(kind)) for kind in KINDS)
        stale = catalog.stale("price", today=datetime.now(UTC).date(), max_age_days=STALE_DAYS)
    except Exception as error:  # a damaged file can fail in any way, and that is the answer here
        said = f"{type(error).__name__}: {error}"
        broken = FINDINGS["CLI-CATALOGUE-BROKEN"].at("catalogue", said, "install clusterwright anew")
        yield Check("catalogue", "cannot be read", broken)
        return
    state = f"{parts} parts, models and planning values"
    if not stale:
        yield Check("catalogue", f"{state}; every price is younger than {STALE_DAYS} days")
        return
    said = f"{len(stale)} prices are older than {STALE_DAYS} days"
    hint = "'clusterwright catalog stale' lists them; --overlay FILE replaces them"
    yield Check("catalogue", f"{state}; {said}", FINDINGS["CLI-CATALOGUE-STALE"].at("catalogue", said, hint))


def _browser() -> Check:
    """A browser is optional: reports are opened by whatever a person has; the tests drive Chromium."""
    for name in BROWSERS:
        if path := shutil.which(name):
            try:
                said = subprocess.run(
                    [path, "--version"], capture_output=True, text=True, timeout=20, check=False
                ).stdout
            except (OSError, subprocess.TimeoutExpired):
                said = ""
            return Check("browser", said.strip() or path)
    hint = "any browser opens a report; to run the browser tests: apt install chromium"
    missing = FINDINGS["CLI-TOOL-MISSING"].at("browser", "no Chromium is installed; only the tests need it", hint)
    return Check("browser", "no Chromium", missing)
