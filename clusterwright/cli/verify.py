"""``clusterwright verify``: a bundle is judged by the tools that will read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, say, wants_color
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.deploy import Check

__all__ = ["command"]


@click.command()
@click.argument("bundle", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--no-tools", is_flag=True, help="Start no program: only our own reading and published schemas.")
@click.option("--all", "every", is_flag=True, help="List every check, not only groups of files and what failed.")
@output_options("table", "json", "yaml", "csv")
@click.pass_context
def command(ctx: click.Context, bundle: Path, no_tools: bool, every: bool, output: str) -> None:
    """Judge every file of a bundle by the real program that will read it, where it is installed.

    Says what was judged by which tool and version, what was held against a published schema, what only we read, and
    what nobody looked at. Ends with exit code 1 when a check failed.
    """
    from clusterwright.deploy import absent, aged, document, verify

    checks = verify(bundle, live=not no_tools)
    found = document(bundle, checks)
    emit(found, output, found["checks"], lambda: _show(found, checks, every))
    failed = [check for check in checks if not check.ok]
    say(_finding(bundle, check) for check in failed)
    say(aged(checks))
    if not no_tools:
        say(absent(found["targets"]))
    if failed:
        ctx.exit(EXIT_NO)


def _finding(bundle: Path, check: Check) -> Any:
    from clusterwright.deploy import FINDINGS

    code = "DEPLOY-FILE-CHANGED" if check.judge.endswith("manifest") else "DEPLOY-JUDGE-FAILED"
    code = "DEPLOY-DISAGREE" if check.judge.endswith("cross-check") else code
    return FINDINGS[code].at(str(bundle / check.file), f"{_who(check)}: {check.message}")


def _show(found: dict[str, Any], checks: Sequence[Check], every: bool) -> None:
    width = get_terminal_size((80, 24)).columns
    if every:
        for check in checks:
            click.echo(_paragraph(check, width), color=wants_color())
    else:
        best = _one_a_file(checks)
        for line in _grouped(check for check in best if check.ok):
            click.echo(fill(line, width, subsequent_indent="    ", **_WHOLE))
        for check in (check for check in best if not check.ok):
            click.echo("\n" + _paragraph(check, width), color=wants_color())
    files = found["files"]
    said = ", ".join(
        f"{files[level]} {words}"
        for level, words in (
            ("tool", "judged by the tool that reads them"),
            ("schema", "held against a published schema"),
            ("own", "read by us only"),
            ("none", "looked at by nobody"),
        )
        if files[level]
    )
    verdict = click.style("accepted", fg="green") if found["ok"] else click.style("refused", fg="red", bold=True)
    told = fill(f"{len(checks):,} checks, {found['failed']} failed; files: {said}", width)
    click.echo(f"\n{verdict}\n{told}", color=wants_color())


_WHOLE: Any = {"break_long_words": False, "break_on_hyphens": False}
"""A path stays whole, so that it can be copied."""


def _grouped(checks: Iterable[Check]) -> list[str]:
    """One line for the accepted files of a target that the same judge judged as well."""
    keys = [(check.file.partition("/")[0], _who(check), check.level) for check in checks]
    return [
        ", ".join(filter(None, (f"{target}: {count} file{'s' if count > 1 else ''}", who, level, "ok")))
        for (target, who, level), count in sorted(Counter(keys).items())
    ]


def _who(check: Check) -> str:
    return f"{check.judge} {check.version}".strip()


def _paragraph(check: Check, width: int) -> str:
    """A check in full: the file, then who judged it and what was said, in the width."""
    head = click.style("ok", fg="green") if check.ok else click.style("FAILED", fg="red", bold=True)
    said = f"{', '.join(filter(None, (_who(check), check.level)))}: {check.message}"
    return f"{head} {check.file}\n" + fill(said, width, initial_indent="    ", subsequent_indent="    ", **_WHOLE)


def _one_a_file(checks: Sequence[Check]) -> list[Check]:
    """The failed checks of a file, else its best one."""
    from clusterwright.deploy import LEVELS

    best: dict[str, Check] = {}
    failed = []
    for check in checks:
        if not check.ok:
            failed.append(check)
        other = best.get(check.file)
        if other is None or LEVELS.index(check.level) < LEVELS.index(other.level):
            best[check.file] = check
    broken = {check.file for check in failed}
    return sorted([*failed, *(check for file, check in best.items() if file not in broken)])
