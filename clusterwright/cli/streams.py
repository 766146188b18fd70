"""What goes where: data to stdout in the form that was asked for, findings to stderr.

Verbs share these options and printers, so that ``--set``, ``--overlay`` and ``-o`` mean the same everywhere.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clusterwright.cli import VERBOSITY
from clusterwright.findings import Finding

if TYPE_CHECKING:
    from clusterwright.catalog import Catalog
    from clusterwright.spec import Spec

__all__ = [
    "FORMS",
    "emit",
    "open_catalog",
    "open_spec",
    "output_options",
    "overlay_option",
    "print_table",
    "say",
    "set_option",
    "wants_color",
]

FORMS = ("table", "json", "yaml", "csv")
"""What ``-o`` takes."""
_COLORS = {"error": "red", "warning": "yellow", "risk": "magenta", "info": "cyan"}

_Command = TypeVar("_Command", bound=Callable[..., Any])


# --- options ---


def output_options(*forms: str) -> Callable[[_Command], _Command]:
    """Add ``-o FORM`` (the first of ``forms`` is the default) and ``--json``; the command gets ``output``.

    Args:
        forms: some of :data:`FORMS`; all when left out.
    """
    choices = forms or FORMS

    def set_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            ctx.params["output"] = "json"

    def set_output(ctx: click.Context, _: click.Parameter, value: str) -> str:
        return str(ctx.params.get("output") or value)

    def decorate(command: _Command) -> _Command:
        as_json = click.option(
            "--json", is_flag=True, expose_value=False, is_eager=True, callback=set_json, help="The same as -o json."
        )
        output = click.option(
            "-o",
            "--output",
            type=click.Choice(choices),
            default=choices[0],
            show_default=True,
            callback=set_output,
            help="Form of the data on stdout.",
        )
        return output(as_json(command))

    return decorate


def set_option(command: _Command) -> _Command:
    """Add ``--set path=value`` (repeatable); the command gets ``sets``."""
    return click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="PATH=VALUE",
        help="Lay a value over the spec, such as limits.power='8 MW'; repeatable.",
    )(command)


def overlay_option(command: _Command) -> _Command:
    """Add ``--overlay FILE`` (repeatable); the command gets ``overlays``."""
    return click.option(
        "--overlay",
        "overlays",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Lay your own parts and prices over the catalogue; repeatable.",
    )(command)


def open_catalog(overlays: Sequence[Path] = ()) -> Catalog:
    """The catalogue with the overlays of the command line."""
    from clusterwright.catalog import load_catalog

    return load_catalog(overlays)


def open_spec(path: str | Path, sets: Sequence[str] = (), catalog: Catalog | None = None) -> Spec:
    """The spec of the command line; raises everything that is wrong with it at once."""
    from clusterwright.spec import load_spec

    return load_spec(path, sets, catalog)


# --- findings to stderr ---


def wants_color() -> bool | None:
    """Colour as ``--color`` says, else none with ``NO_COLOR`` or ``TERM=dumb``, else None: as the terminal is."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def say(findings: Iterable[Finding]) -> None:
    """Print findings to stderr: ``file:line:column CODE message`` and the hint on a line of its own.

    With ``-q`` only errors are said.
    """
    context = click.get_current_context(silent=True)
    quiet = context is not None and context.meta.get(VERBOSITY, 0) < 0
    for finding in findings:
        if quiet and finding.severity != "error":
            continue
        where = f"{_printable(str(finding.place))} " if str(finding.place) else ""
        code = click.style(finding.code, fg=_COLORS[finding.severity], bold=True)
        click.echo(f"{where}{code} {_printable(finding.message)}", err=True, color=wants_color())
        if finding.hint:
            hint = f"  {click.style('hint:', dim=True)} {_printable(finding.hint)}"
            click.echo(hint, err=True, color=wants_color())


def _printable(text: str) -> str:
    """The text without what a terminal would obey; the name of a file may hold anything."""
    return "".join(c if c.isprintable() else "?" for c in text)


# --- data to stdout ---


def emit(
    document: Mapping[str, Any],
    output: str,
    rows: Sequence[Mapping[str, Any]] = (),
    show: Callable[[], None] | None = None,
) -> None:
    """Print a result to stdout.

    Args:
        document: the whole result, with a ``schema``; printed as JSON or YAML.
        output: one of :data:`FORMS`.
        rows: the rows of the result; printed as CSV, and as a table when there is no ``show``.
        show: prints the result for people.
    """
    if output == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
    elif output == "yaml":
        import yaml

        plain = json.loads(json.dumps(document, allow_nan=False))
        click.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), nl=False)
    elif output == "csv":
        click.echo(_csv(rows), nl=False)
    elif show is not None:
        show()
    else:
        print_table(rows)


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    stream = io.StringIO()
    if rows:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return stream.getvalue()


def print_table(rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """Print rows as a table; on a terminal in its width, in a pipe as wide as the text is."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    color = wants_color()
    console = Console(
        force_terminal=color, no_color=True if color is False else None, width=None if sys.stdout.isatty() else 10_000
    )
    table = Table(title=title or None, box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in rows[0] if rows else ():
        number = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row.values()))
    console.print(table)
