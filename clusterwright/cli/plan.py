"""``clusterwright plan``: what deploying a bundle would change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.streams import emit, output_options, print_table, say, wants_color
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.deploy import Plan

__all__ = ["command"]


@click.command()
@click.argument("bundle", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--against",
    "deployed",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="What is deployed: a folder that 'apply' wrote; one that is not there means nothing is deployed yet.",
)
@click.option(
    "--site",
    "site_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="site.yaml of a running cluster, in place of a folder; the only lab that is up when both are left out.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Save the plan for 'apply'.")
@click.option("--diff", is_flag=True, help="Show the lines that change.")
@output_options("table", "json", "yaml", "csv")
@click.pass_context
def command(
    ctx: click.Context,
    bundle: Path,
    deployed: Path | None,
    site_path: Path | None,
    out: Path | None,
    diff: bool,
    output: str,
) -> None:
    """Show what deploying a bundle would add, change and remove, and what makes it take effect.

    Nothing is touched but the file of --out. Ends with exit code 1 when somebody changed what is deployed, or when
    the bundle does not pass our own reading; then no plan is saved.
    """
    from clusterwright.deploy import FINDINGS, drift, make_plan, verify
    from clusterwright.operate import deployed_of, find_site

    site = None
    if deployed is None:
        site = find_site(site_path)
        deployed = deployed_of(site)
    elif site_path is not None:
        raise click.UsageError("--against is a folder, --site a running cluster: say one of them")
    plan = make_plan(bundle, deployed, site.path if site else None)
    wrong = drift(deployed)
    for check in verify(bundle, live=False):
        if not check.ok:
            wrong.append(FINDINGS["DEPLOY-JUDGE-FAILED"].at(str(bundle / check.file), check.message))
    document = plan.to_dict() | {"actions": plan.actions}
    rows = [
        {"path": c.path, "kind": c.kind, "added": c.added, "removed": c.removed, "after": c.after} for c in plan.changes
    ]
    emit(document, output, rows, lambda: _show(plan, diff))
    say(wrong)
    if wrong:
        ctx.exit(EXIT_NO)
    if out is not None:
        from clusterwright.cli.files import write_text

        write_text(out, json.dumps(plan.to_dict(), indent=1, ensure_ascii=False) + "\n")
        click.echo(f"\nSaved to {out}. Next: clusterwright apply {out}", err=True)


def _show(plan: Plan, diff: bool) -> None:
    for line in plan.summary:
        click.echo(line)
    if not plan.changes:
        click.echo("nothing to change")
        return
    marks = {"add": ("+", "green"), "change": ("~", "yellow"), "remove": ("-", "red")}
    rows = [
        {"": marks[c.kind][0], "file": c.path, "lines": f"+{c.added} -{c.removed}", "then": c.after}
        for c in plan.changes
    ]
    print_table(rows)
    if diff:
        _show_lines(plan)
    added, changed, removed = (sum(c.kind == kind for c in plan.changes) for kind in marks)
    click.echo(f"\n{added} to add, {changed} to change, {removed} to remove, {plan.unchanged} unchanged")


def _show_lines(plan: Plan) -> None:
    for change in plan.changes:
        if change.diff:
            click.echo(f"\n{change.path}")
        for line in change.diff:
            color = {"+": "green", "-": "red"}.get(line[:1])
            click.echo(f"  {click.style(line, fg=color)}", color=wants_color())
