"""``clusterwright drift``: what runs against what was rendered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.streams import emit, output_options, print_table, say
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.operate import Drift

__all__ = ["command"]


@click.command()
@click.option(
    "--site",
    "site_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="site.yaml of a running cluster; the only lab that is up when left out.",
)
@output_options("table", "json", "yaml", "csv")
@click.pass_context
def command(ctx: click.Context, site_path: Path | None, output: str) -> None:
    """Say where the running cluster differs from the bundle that it was rendered from.

    Compares files on disk, nodes, partitions, scheduler, QOS and accounts, rules and targets of Prometheus. Each
    difference names who is right and the command that mends it. Reads only. Ends with exit code 1 when there is one.
    """
    from clusterwright.operate import drift_of, find_site

    found = drift_of(find_site(site_path))
    rows = [one.to_dict() for one in found.differences]
    emit(found.to_dict(), output, rows, lambda: _show(found))
    say(found.findings)
    ctx.exit(EXIT_NO if found.differences else 0)


def _show(found: Drift) -> None:
    if found.differences:
        print_table(
            [
                {
                    "part": one.part,
                    "name": one.name,
                    "what": one.key,
                    "rendered": one.rendered,
                    "running": one.running,
                    "wins": one.wins,
                }
                for one in found.differences
            ]
        )
        click.echo()
        for mend in dict.fromkeys(one.mend for one in found.differences):
            click.echo(f"mend: {mend}")
        click.echo()
    compared = ", ".join(
        f"{count:,} {part}s" if part != "qos" else f"{count} QOS" for part, count in found.compared.items()
    )
    verdict = f"{len(found.differences)} differences" if found.differences else "as rendered"
    click.echo(f"{found.name}: {verdict}; compared {compared}")
