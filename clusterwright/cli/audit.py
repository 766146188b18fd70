"""``clusterwright audit``: judge the claims about a cluster against the laws and against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clusterwright.cli.codes import FINDINGS
from clusterwright.cli.streams import (
    emit,
    open_catalog,
    open_spec,
    output_options,
    overlay_option,
    set_option,
    wants_color,
)
from clusterwright.errors import EXIT_NO, InputError

__all__ = ["SCHEMA", "command"]

SCHEMA = "clusterwright/audit/1"


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@output_options("table", "json", "yaml", "csv")
@set_option
@overlay_option
@click.pass_context
def command(
    ctx: click.Context, spec_path: Path, output: str, sets: tuple[str, ...], overlays: tuple[Path, ...]
) -> None:
    """Judge claims about a cluster: holds, does not hold, contradicts another claim.

    The spec describes the cluster that a proposal is about; its 'claims' hold what the proposal says. Each claim is
    held against the laws and against the other claims, with the arithmetic. A claim names a figure by its path;
    'clusterwright explain RUN' lists them. Nothing is written. Ends with exit code 1 when a claim is refused.
    """
    from clusterwright.design import design

    catalog = open_catalog(overlays)
    spec = open_spec(spec_path, sets, catalog)
    if not spec.claims:
        hint = "add 'claims: [{path: facility.meter_power_w, value: 6-10 MW, who: proposal}]'"
        raise InputError(FINDINGS["CLI-NO-CLAIMS"].at(spec.place("claims"), "the spec has no claims to judge", hint))
    cluster = design(spec, catalog)
    claims: list[dict[str, Any]] = cluster.answers["audit"]["claims"]
    refused = [c for c in claims if c["verdict"] == "does-not-hold"]
    document = {
        "schema": SCHEMA,
        "name": spec.name,
        "verdict": cluster.verdict,
        "audit": {"claims": claims},
        "findings": [f.to_dict() for f in cluster.findings if f.code.startswith("AUDIT-")],
    }

    def show() -> None:
        from clusterwright.report import audit_table

        with cluster.in_its_currency():
            click.echo(audit_table(cluster, color=True), color=wants_color())

    rows = [{k: _flat(v) for k, v in c.items()} for c in claims]
    emit(document, output, rows, show)
    if refused:
        ctx.exit(EXIT_NO)


def _flat(value: Any) -> Any:
    """A value as one CSV cell."""
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" for k, v in value.items())
    return " ".join(value) if isinstance(value, list) else value
