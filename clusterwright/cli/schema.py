"""``clusterwright schema``: the JSON Schema of a spec, for editors."""

from __future__ import annotations

from pathlib import Path

import click

from clusterwright.cli.streams import emit, open_catalog, output_options, overlay_option

__all__ = ["command"]


@click.command()
@output_options("json", "yaml")
@overlay_option
def command(output: str, overlays: tuple[Path, ...]) -> None:
    """Print the JSON Schema (draft 2020-12) of a spec, so that an editor completes and underlines it.

    Save it beside the specs and say so on their first line:

    \b
    clusterwright schema > spec.schema.json
    # yaml-language-server: $schema=spec.schema.json
    """
    from clusterwright.spec import schema

    emit(schema(open_catalog(overlays)), output)
