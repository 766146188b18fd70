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
    from clusterwright.operate import Site

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
    site = _running(plan)
    if not yes and not _asked(plan):
        click.echo("nothing was changed", err=True)
        ctx.exit(EXIT_NO)
    said = apply_plan(plan, site.take if site else ())
    document = {
        "schema": SCHEMA,
        "deployed": plan.deployed,
        "changes": {kind: sum(c.kind == kind for c in plan.changes) for kind in ("add", "change", "remove")},
        "actions": [{"run": action, "files": files} for action, files in plan.actions.items()],
        "taken": said.splitlines(),
    }
    emit(document, output, (), lambda: _show(plan, said))


def _asked(plan: Plan) -> bool:
    for line in plan.summary:
        click.echo(line, err=True)
    click.echo(f"{len(plan.changes)} files of {plan.deployed} will change", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; look at the plan, then say --yes")
    return click.confirm("Apply?", err=True)


def _running(plan: Plan) -> Site | None:
    """The cluster that is to take the files over; it must answer before anything is changed."""
    if not plan.site:
        return None
    from clusterwright.operate import Slurm, deployed_of, read_site

    site = read_site(Path(plan.site))
    deployed_of(site, plan.deployed)
    Slurm(site.slurm_conf).must_be_up()
    return site


def _show(plan: Plan, said: str) -> None:
    click.echo(f"{plan.deployed}: {len(plan.changes)} files changed")
    if said:
        click.echo(said)
        return
    for action, files in plan.actions.items():
        click.echo(f"  then: {action}  ({len(files)} files)")
