"""``clusterwright report``: a design as one HTML file, as Markdown, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.files import write_text

if TYPE_CHECKING:
    from clusterwright.cluster import Cluster

__all__ = ["command"]

ENDINGS = {"html": "html", "htm": "html", "md": "md", "json": "json"}


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="File to write; '-' for stdout; report.html in the run folder when left out.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md", "json"]),
    help="Form of the report; by the ending of --out, else html.",
)
def command(run: Path, out: Path | None, form: str | None) -> None:
    """Write a design as one HTML file without network access, as Markdown for reviews, or as JSON.

    RUN is a run folder or a cluster.json. The file holds the verdict, the risks, the options considered, where time,
    money and power go, racks, network, limits, audit, bill of materials, and every number with its explanation.
    """
    from clusterwright.cluster import add_file, load, read_manifest

    cluster = load(run)
    form = form or ENDINGS.get(out.suffix.lstrip(".").lower() if out else "", "html")
    with cluster.in_its_currency():
        text = _written(cluster, form)
    if out is not None and str(out) == "-":
        click.echo(text, nl=False)
        return
    folder = run if run.is_dir() else run.parent
    target = out or folder / f"report.{form}"
    if out is None and read_manifest(folder):
        add_file(folder, target.name, text.encode())
    else:
        write_text(target, text)
    click.echo(str(target))


def _written(cluster: Cluster, form: str) -> str:
    from clusterwright.report import as_json, html, markdown, report

    writers = {"html": html, "md": markdown, "json": as_json}
    return writers[form](report(cluster))
