"""``clusterwright explain``: open a figure of a design down to its sources, a finding code, or a law."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from clusterwright.cli.streams import emit, output_options, wants_color
from clusterwright.errors import InputError

__all__ = ["SCHEMA", "command"]

SCHEMA = "clusterwright/explain/1"


@click.command()
@click.argument("run", metavar="RUN|CODE|LAW")
@click.argument("path", required=False, metavar="[PATH]")
@click.option(
    "--depth", type=click.IntRange(0, 20), default=2, show_default=True, help="Levels of inputs below the figure."
)
@output_options("table", "json", "yaml", "csv")
def command(run: str, path: str | None, depth: int, output: str) -> None:
    """Open a figure of a design down to its sources, or say what a finding code or a law means.

    RUN is a run folder or a cluster.json, PATH a figure as in the JSON of a design: facility.meter_power_w,
    'training[0].mfu', fabric.topology, a column such as racks.power_w, a cell such as 'racks[NAME].power_w'. A
    prefix (fabric) or a pattern ('*.power_w') lists what it names; a RUN without a PATH lists every figure. With one
    argument that is a code (FACILITY-RACK-TOO-DENSE) or a law (facility.meter_power), that is explained.
    """
    if path is None and not Path(run).exists():
        _word(run, output)
    else:
        _figures(Path(run), path, depth, output)


def _show(text: str) -> None:
    """Print text that carries colours; click takes them off where none are wanted."""
    click.echo(text, color=wants_color())


def _figures(run: Path, path: str | None, depth: int, output: str) -> None:
    from clusterwright.cluster import load
    from clusterwright.report import FINDINGS, explain, explanation_data, explanation_text, find, list_text, suggest

    cluster = load(run)
    found = find(cluster, path) if path else [*cluster.frame, *cluster.frame.texts]
    if not found:
        near = suggest(cluster, str(path))
        hint = f"did you mean {' or '.join(near)}?" if near else f"'clusterwright explain {run}' lists every figure"
        raise InputError(FINDINGS["REPORT-UNKNOWN-PATH"].at(str(run), f"has nothing called '{path}'", hint))
    single = len(found) == 1
    with cluster.in_its_currency():
        ones = [explain(cluster, one, depth if single else 0) for one in found]
    data = [explanation_data(one) for one in ones]

    def show() -> None:
        with cluster.in_its_currency():
            text = explanation_text(ones[0], color=True) if single else list_text(ones, color=True)
        _show(text)

    document = {"schema": SCHEMA, "name": cluster.name, "figures": data}
    rows = [{**{k: row.get(k) for k in ("path", "value", "low", "high", "unit")}, **_origin(row)} for row in data]
    emit(document, output, rows, show)


def _origin(row: dict[str, Any]) -> dict[str, str]:
    origin = row["origin"]
    return {key: str(origin.get(key, "")) for key in ("kind", "law", "place", "source", "status")}


def _word(word: str, output: str) -> None:
    """A finding code or a law, from whichever room documents it."""
    from clusterwright.cli.doors import all_findings, all_laws
    from clusterwright.report import code_text, law_text

    codes, laws = all_findings(), all_laws()
    if word.upper() in codes:
        room, code = codes[word.upper()]
        row = {"code": code.code, "room": room, "severity": code.severity, "title": code.title, "meaning": code.meaning}
        emit({"schema": SCHEMA, **row}, output, [row], lambda: _show(code_text(code, room, color=True)))
    elif word in laws:
        room, law = laws[word]
        row = {key: str(getattr(law, key)) for key in ("name", "formula", "unit", "source", "valid", "doc")}
        emit(
            {"schema": SCHEMA, "room": room, **row},
            output,
            [row],
            lambda: _show(law_text(law, room, color=True)),
        )
    else:
        raise InputError(_unknown(word, [*codes, *laws]))


def _unknown(word: str, known: list[str]) -> Any:
    from clusterwright.cluster import FINDINGS as CLUSTER
    from clusterwright.report import FINDINGS

    if "/" in word or word.endswith(".json"):
        return CLUSTER["CLUSTER-NOT-FOUND"].at(word, "does not exist", "make one with 'clusterwright design SPEC'")
    near = get_close_matches(word.upper(), known, n=3, cutoff=0.6) or get_close_matches(word, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "give a run folder and a path, a finding code, or a law"
    return FINDINGS["REPORT-UNKNOWN-CODE"].at("", f"'{word}' is no run folder, finding code or law", hint)
