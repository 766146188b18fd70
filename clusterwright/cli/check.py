"""``clusterwright check``: everything that is wrong with a spec, at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.streams import emit, open_catalog, open_spec, output_options, overlay_option, say, set_option
from clusterwright.errors import EXIT_INPUT, InputError
from clusterwright.findings import Finding

if TYPE_CHECKING:
    from clusterwright.spec import Spec

__all__ = ["SCHEMA", "command"]

SCHEMA = "clusterwright/check/1"


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@output_options("table", "json", "yaml", "csv")
@set_option
@overlay_option
@click.pass_context
def command(
    ctx: click.Context, specs: tuple[str, ...], output: str, sets: tuple[str, ...], overlays: tuple[Path, ...]
) -> None:
    """Say everything that is wrong with a spec, each with its place and how to mend it.

    Reads the spec and the calibration that it names only; whether it can be met is what 'design' says. Ends with exit
    code 2 when anything is wrong.
    """
    catalog = open_catalog(overlays)
    found: dict[str, tuple[Finding, ...]] = {}
    for spec in specs:
        try:
            _read_calibration(open_spec(spec, sets, catalog))
            found[spec] = ()
        except InputError as error:
            found[spec] = error.findings
    findings = [finding.to_dict() for several in found.values() for finding in several]
    files = [{"file": file, "ok": not several, "findings": len(several)} for file, several in found.items()]
    document = {"schema": SCHEMA, "ok": not findings, "files": files, "findings": findings}

    def show() -> None:
        for file, several in found.items():
            say(several)
            if not several:
                click.echo(f"{file}: ok")

    emit(document, output, findings, show)
    if findings:
        ctx.exit(EXIT_INPUT)


def _read_calibration(spec: Spec) -> None:
    """Raise what is wrong with the calibration that a spec names; the laws are loaded only then."""
    if spec.calibration is not None:
        from clusterwright.domains.training import calibration_for

        calibration_for(spec)
