"""``clusterwright compare``: designs side by side, and what differs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.streams import emit, open_catalog, open_spec, output_options, overlay_option, wants_color

if TYPE_CHECKING:
    from clusterwright.cluster import Cluster

__all__ = ["SCHEMA", "command"]

SCHEMA = "clusterwright/compare/1"


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...", type=click.Path(path_type=Path))
@click.option(
    "--threshold", default=0.001, show_default=True, metavar="SHARE", help="Leave out figures that differ by less."
)
@output_options("table", "json", "yaml", "csv")
@overlay_option
def command(runs: tuple[Path, ...], threshold: float, output: str, overlays: tuple[Path, ...]) -> None:
    """Lay designs side by side.

    Each RUN is a run folder, a cluster.json, or a spec, which is then designed without writing anything. The table
    shows the figures that decide; -o json and -o csv list every figure that differs between the first and each of
    the others. Overlays are laid over specs only, and over all of them: to see what one changes, compare run folders.
    """
    from clusterwright.cluster import diff, plain

    if len(runs) < 2:
        raise click.UsageError("compare takes at least two runs", click.get_current_context())
    clusters = [_open(path, overlays) for path in runs]
    changes = [
        plain({"run": str(path), **asdict(change)})
        for path, other in zip(runs[1:], clusters[1:], strict=True)
        for change in diff(clusters[0], other)
        if change.relative is None or abs(change.relative) >= threshold
    ]
    document = {
        "schema": SCHEMA,
        "runs": [{"run": str(p), "name": c.name, "verdict": c.verdict} for p, c in zip(runs, clusters, strict=True)],
        "changes": changes,
    }

    def show() -> None:
        from clusterwright.report import compare_table

        with clusters[0].in_its_currency():
            click.echo(compare_table(clusters, color=True), color=wants_color())

    emit(document, output, changes, show)


def _open(path: Path, overlays: tuple[Path, ...]) -> Cluster:
    """A design that is there, or the design of a spec."""
    from clusterwright.cluster import load
    from clusterwright.design import design

    if path.suffix in (".yaml", ".yml"):
        catalog = open_catalog(overlays)
        return design(open_spec(path, (), catalog), catalog)
    return load(path)
