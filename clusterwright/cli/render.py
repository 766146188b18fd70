"""``clusterwright render``: a design becomes one bundle of real configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import (
    emit,
    open_catalog,
    output_options,
    overlay_option,
    print_table,
    set_option,
)

if TYPE_CHECKING:
    from clusterwright.deploy import Bundle

__all__ = ["command"]

SCHEMA = "clusterwright/render/1"


@click.command()
@click.argument("design", metavar="DESIGN", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the bundle; bundles/NAME when left out."
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Write only this target; repeatable. What the design needs when left out. Targets: slurm, kubernetes, "
    "monitoring, ansible, terraform, gitlab, fabric, storage, security, runbook.",
)
@click.option(
    "--release",
    "releases",
    multiple=True,
    metavar="NAME=VERSION",
    help="Write for this release of slurm or kubernetes, in place of what the spec says; repeatable.",
)
@output_options("table", "json", "yaml", "csv")
@set_option
@overlay_option
def command(
    design: Path,
    out: Path | None,
    targets: tuple[str, ...],
    releases: tuple[str, ...],
    output: str,
    sets: tuple[str, ...],
    overlays: tuple[Path, ...],
) -> None:
    """Write one bundle of real configuration, whose parts agree with each other.

    DESIGN is a run folder, a cluster.json, or a spec, which is designed first. A bundle that somebody edited is never
    overwritten. 'verify' judges the bundle by the tools that will read it; 'plan' and 'apply' bring it to a cluster.
    """
    from clusterwright.cli.designs import designed
    from clusterwright.deploy import render

    catalog = open_catalog(overlays)
    cluster = designed(design, sets, catalog)
    bundle = render(cluster, catalog, targets, _pairs(releases))
    folder = out or Path("bundles") / bundle.inventory.name
    bundle.write(folder)
    document = _document(bundle, folder)
    emit(document, output, document["targets"], lambda: _show(document))
    if output == "table":
        click.echo(f"\nWritten to {folder}. Next: clusterwright verify {folder}", err=True)


def _pairs(releases: tuple[str, ...]) -> dict[str, str]:
    wrong = [word for word in releases if "=" not in word]
    if wrong:
        raise click.UsageError(f"--release {wrong[0]}: write NAME=VERSION, such as slurm=25.05")
    return {name.strip(): version.strip() for name, _, version in (word.partition("=") for word in releases)}


def _document(bundle: Bundle, folder: Path) -> dict[str, Any]:
    about = bundle.about
    return {
        "schema": SCHEMA,
        "name": about["name"],
        "bundle": str(folder),
        "design_sha256": about["design_sha256"],
        "files": len(bundle.files),
        "size_bytes": sum(len(file.text.encode()) for file in bundle.files.values()),
        "targets": [
            {
                "target": name,
                "version": about["versions"].get(name, ""),
                "files": sum(path.startswith(f"{name}/") for path in bundle.files),
                "size_bytes": sum(len(f.text.encode()) for p, f in bundle.files.items() if p.startswith(f"{name}/")),
            }
            for name in bundle.targets
        ],
    }


def _show(document: dict[str, Any]) -> None:
    from clusterwright.deploy import TARGETS

    rows = [
        {
            "target": row["target"],
            "for": f"{TARGETS[row['target']].title}{', ' + row['version'] if row['version'] else ''}",
            "files": row["files"],
            "kB": round(row["size_bytes"] / 1000),
        }
        for row in document["targets"]
    ]
    print_table(rows)
