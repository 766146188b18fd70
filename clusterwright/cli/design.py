"""``clusterwright design``: a spec goes in, a complete, explained cluster design comes out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from clusterwright.cli.streams import (
    emit,
    open_catalog,
    open_spec,
    output_options,
    overlay_option,
    say,
    set_option,
    wants_color,
)
from clusterwright.errors import EXIT_NO

__all__ = ["command"]


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Run folder to write; runs/NAME when left out."
)
@click.option(
    "--calibration", type=click.Path(path_type=Path), metavar="FILE", help="Constants of 'calibrate --out', not ours."
)
@click.option("--no-out", is_flag=True, help="Write no run folder.")
@output_options("table", "json", "yaml", "csv")
@set_option
@overlay_option
@click.pass_context
def command(
    ctx: click.Context,
    spec_path: Path,
    out: Path | None,
    calibration: Path | None,
    no_out: bool,
    output: str,
    sets: tuple[str, ...],
    overlays: tuple[Path, ...],
) -> None:
    """Turn a spec into a complete, explained cluster design.

    Weighs the options that the spec allows, works out the best one in every layer, and writes it to a run folder
    that 'explain', 'report' and 'compare' open. Ends with exit code 1 when nothing holds every limit; then the
    binding limit and the ways out are said, fewest changes first.
    """
    from clusterwright.cluster import dumps, write_run
    from clusterwright.design import design, design_document, dump_document

    catalog = open_catalog(overlays)
    if calibration is not None:
        sets = (*sets, f"calibration={json.dumps(str(calibration.resolve()))}")
    spec = open_spec(spec_path, sets, catalog)
    cluster = design(spec, catalog)
    document = design_document(cluster)
    folder = out or Path("runs") / spec.name
    if not no_out:
        files = {"cluster.json": dumps(cluster), "design.json": dump_document(document), "spec.yaml": spec.text}
        write_run(folder, {name: text.encode() for name, text in files.items()})

    def show() -> None:
        from clusterwright.report import design_summary

        with cluster.in_its_currency():
            click.echo(design_summary(cluster, color=True), color=wants_color())

    emit(document, output, document["considered"], show)
    if output == "table" and not no_out:
        click.echo(f"\nWritten to {folder}. Next: clusterwright report {folder}", err=True)
    if output != "table":
        say(f for f in cluster.worst_first() if f.severity in ("error", "warning"))
    if cluster.verdict != "feasible":
        ctx.exit(EXIT_NO)
