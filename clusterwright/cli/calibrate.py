"""``clusterwright calibrate``: fit the step-time law to published runs, or to a site's own."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, overlay_option

if TYPE_CHECKING:
    from clusterwright.domains.training import Calibration
    from clusterwright.validation import SiteReport

__all__ = ["command"]


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV file of your own runs (columns as 'validate training'); the published runs when left out.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the calibration as JSON.")
@overlay_option
@output_options("table", "json", "yaml", "csv")
def command(data: Path | None, out: Path | None, overlays: tuple[Path, ...], output: str) -> None:
    """Fit the step-time law to runs and show what changed.

    Without --data the constants that clusterwright ships with are derived anew from the published runs in the package
    and cross-validated by family. With --data your runs move the shipped constants and give your framework a factor;
    both are held near the shipped ones, so that a few runs move little.
    """
    from clusterwright.cli.streams import open_catalog
    from clusterwright.validation import calibrate_published, calibrate_site

    catalog = open_catalog(overlays)
    if data is None:
        found = calibrate_published(catalog, date=datetime.date.today().isoformat())  # a local date
        _write(found, out)
        emit(found.to_dict(), output, _constants(found), lambda: _show_published(found))
        return
    report = calibrate_site(catalog, data)
    _write(report.calibration, out)
    emit(report.to_dict(), output, list(report.changes), lambda: _show_site(report))


def _write(found: Calibration, out: Path | None) -> None:
    if out is not None:
        out.write_text(json.dumps(found.to_dict(), indent=1) + "\n", encoding="utf-8")
        click.echo(f"written: {out}", err=True)


def _constants(found: Calibration) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from clusterwright.domains.training import PHYSICS, PRIOR

    shipped, expected = asdict(PHYSICS), asdict(PRIOR)
    return [
        {"constant": k, "expected": f"{expected[k]:.4g}", "shipped": f"{shipped[k]:.4g}", "fitted": f"{v:.4g}"}
        for k, v in asdict(found.physics).items()
    ]


def _show_published(found: Calibration) -> None:
    from clusterwright.cli.streams import print_table

    print_table(_constants(found))
    print_table([{"framework": k, "factor": f"{v:.3f}"} for k, v in found.factors.items()])
    for name in ("left_out", "in_sample"):
        said = {k: f"{v['mape']:.1%} mean error, bias {v['bias']:+.1%}" for k, v in found.facts[name].items()}
        click.echo(f"{name.replace('_', ' ')}: " + "; ".join(f"{k} {text}" for k, text in said.items()))
    click.echo(f"{found.facts['rows']} runs of {len(found.facts['families'])} families")


def _show_site(report: SiteReport) -> None:
    from clusterwright.cli.streams import print_table

    print_table([{k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in report.changes])
    for name, figures in (("before", report.before), ("after", report.after), ("each left out", report.left_out)):
        if figures is not None:
            click.echo(f"{name}: {figures['mape']:.1%} mean error, bias {figures['bias']:+.1%}")
    click.echo(f"{report.used} of {report.rows} runs used, {len(report.refused)} refused")
