"""``clusterwright validate``: hold the laws against published truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options
from clusterwright.errors import EXIT_NO, EXIT_OK

if TYPE_CHECKING:
    from clusterwright.validation import FabricReport

__all__ = ["command"]


@click.group()
def command() -> None:
    """Hold the laws against published truth.

    Each command reads a CSV file of published designs or measurements, runs every row through the laws that a design
    uses, and says which rows come out. Exit code 1 when one differs.
    """


@command.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV file, one published design a row.",
)
@output_options("table", "json", "yaml", "csv")
@click.pass_context
def fabric(ctx: click.Context, data: Path, output: str) -> None:
    """Published fabrics against the fat tree law: switches and cables.

    Columns read: nodes, nics_per_node, radix (needed); ports_per_nic, extra_endpoints, tiers (empty: the law chooses),
    planes, links_per_cable, oversubscription, gpus; and the counts printed: leaf_switches, spine_switches,
    core_switches, node_leaf_cables, leaf_spine_cables, spine_core_cables. A row is exact, differing, refused (it
    cannot be judged) or flagged (it contradicts itself).
    """
    from clusterwright.validation import validate_fabric

    report = validate_fabric(data)
    emit(report.to_dict(), output, _rows(report), lambda: _show(report))
    ctx.exit(EXIT_OK if report.holds else EXIT_NO)


def _rows(report: FabricReport) -> list[dict[str, Any]]:
    """One line a row of the file: how it came out and why."""
    rows: list[dict[str, Any]] = []
    for outcome, ones in (
        ("exact", report.exact),
        ("differing", report.differing),
        ("refused", report.refused),
        ("flagged", report.flagged),
    ):
        rows += [{"line": one["line"], "id": one["id"], "outcome": outcome, "why": _why(one)} for one in ones]
    return sorted(rows, key=lambda row: row["line"])


def _why(one: dict[str, Any]) -> str:
    said = [one["reason"]] if "reason" in one else list(one.get("contradictions", ()))
    if not said:
        said = [
            f"{d['column']} {d['published']:,} printed, {d['computed']:,} computed" for d in one.get("differences", ())
        ]
    return "; ".join(said)


def _show(report: FabricReport) -> None:
    from clusterwright.cli.streams import print_table

    print_table(_rows(report))
    click.echo(
        f"\n{report.rows} rows: {len(report.exact)} exact, {len(report.differing)} differing, "
        f"{len(report.refused)} refused, {len(report.flagged)} flagged"
    )
