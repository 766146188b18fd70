"""``clusterwright apply``: a saved plan is carried out, after asking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.streams import emit, output_options
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.deploy import Plan

__all__ = ["command"]

SCHEMA = "clusterwright/apply/1"


@click.command()
@click.argument("plan_path", metavar="PLAN", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@output_options("table", "json", "yaml")
@click.pass_context
def command(ctx: click.Context, plan_path: Path, yes: bool, output: str) -> None:
    """Carry out a plan that 'plan --out' saved: what is deployed becomes the bundle, whole or not at all.

    The plan is checked again first: when the bundle or what is deployed has changed since, nothing is done. Asks
    before it writes, unless --yes.
    """
    from clusterwright.deploy import apply_plan, read_plan, recheck

    plan = read_plan(plan_path)
    recheck(plan)
    if not yes and not _asked(plan):
        click.echo("nothing was changed", err=True)
        ctx.exit(EXIT_NO)
    apply_plan(plan)
    document = {
        "schema": SCHEMA,
        "deployed": plan.deployed,
        "changes": {kind: sum(c.kind == kind for c in plan.changes) for kind in ("add", "change", "remove")},
        "actions": [{"run": action, "files": files} for action, files in plan.actions.items()],
    }
    emit(document, output, (), lambda: _show(plan))


def _asked(plan: Plan) -> bool:
    for line in plan.summary:
        click.echo(line, err=True)
    click.echo(f"{len(plan.changes)} files of {plan.deployed} will change", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; look at the plan, then say --yes")
    return click.confirm("Apply?", err=True)


def _show(plan: Plan) -> None:
    click.echo(f"{plan.deployed}: {len(plan.changes)} files changed")
    for action, files in plan.actions.items():
        click.echo(f"  then: {action}  ({len(files)} files)")
