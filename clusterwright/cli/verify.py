"""``clusterwright verify``: a bundle is judged by the tools that will read it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, print_table, say, wants_color
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.deploy import Check

__all__ = ["command"]


@click.command()
@click.argument("bundle", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--no-tools", is_flag=True, help="Start no program: only our own reading and published schemas.")
@click.option("--all", "every", is_flag=True, help="Show every check, not only a line a file.")
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
    who = f"{check.judge} {check.version}".strip()
    return FINDINGS[code].at(str(bundle / check.file), f"{who}: {check.message}")


def _show(found: dict[str, Any], checks: Sequence[Check], every: bool) -> None:
    shown = checks if every else list(_one_a_file(checks))
    rows = [
        {
            "file": check.file,
            "level": check.level,
            "judge": f"{check.judge} {check.version}".strip(),
            "": "ok" if check.ok else "FAILED",
            "said": check.message if every or not check.ok else "",
        }
        for check in shown
    ]
    print_table(rows)
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
    click.echo(f"\n{verdict}: {len(checks):,} checks, {found['failed']} failed; files: {said}", color=wants_color())


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
