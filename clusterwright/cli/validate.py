"""``clusterwright validate``: hold the laws against published truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options
from clusterwright.errors import EXIT_NO, EXIT_OK

if TYPE_CHECKING:
    from clusterwright.validation import FabricReport, TrainingReport

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


@command.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV file, one published run a row; the published runs in the package when left out.",
)
@click.option(
    "--calibration", type=click.Path(path_type=Path), metavar="FILE", help="Constants of 'calibrate --out', not ours."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also write the outcome into this folder: training.html (tables, scatter plot, intervals), training.json.",
)
@click.option("--in-sample", is_flag=True, help="Predict rows that the constants were fitted to by these constants.")
@output_options("table", "json", "yaml", "csv")
def training(data: Path | None, calibration: Path | None, out: Path | None, in_sample: bool, output: str) -> None:
    """Published training runs against the step-time law: every row predicted, with interval and error.

    Columns read: gpu, gpu_count, model (needed); layers, hidden, ffn_hidden, heads, kv_heads, head_dim, vocab,
    gated_mlp, num_experts, top_k (empty: the catalogue's); seq_len, global_batch_seqs, tp, pp, cp, ep, vpp,
    micro_batch, recompute, sequence_parallel, zero_stage (empty: the framework's default, which widens the interval);
    precision, framework, release, routing, interconnect; measured_step_s, measured_memory_gib, outcome (ran, or oom
    where the memory ran out); family, kind, why_not_in_target. A row that the constants were fitted to is predicted by
    those fitted without its family. Headline figures are means over families of the rows without why_not_in_target.
    """
    from clusterwright.cli.streams import open_catalog
    from clusterwright.domains.training import CALIBRATION, read_calibration
    from clusterwright.validation import PUBLISHED, validate_training

    constants = read_calibration(calibration) if calibration else CALIBRATION
    report = validate_training(data or PUBLISHED, open_catalog(), constants, out_of_sample=not in_sample)
    document = report.to_dict()
    if out is not None:
        _write(document, out)
    emit(document, output, _run_rows(report), lambda: _show_training(document))


def _write(document: dict[str, Any], folder: Path) -> None:
    from clusterwright.cluster import write_run
    from clusterwright.report import accuracy_html

    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    write_run(folder, {"training.html": accuracy_html(document).encode(), "training.json": text.encode()})
    click.echo(f"written: {folder / 'training.html'}", err=True)


def _run_rows(report: TrainingReport) -> list[dict[str, Any]]:
    """One line a run: predicted, measured, error."""
    rows: list[dict[str, Any]] = []
    for one in report.predicted:
        row = one.case.row
        rows.append(
            {
                "line": row.line,
                "id": row.id,
                "family": row.family,
                "predicted_s": f"{one.value_s:.4g}",
                "low_s": f"{one.low_s:.4g}",
                "high_s": f"{one.high_s:.4g}",
                "measured_s": row.step_s,
                "error": None if one.error is None else f"{one.error:+.1%}",
                "why": row.text("why_not_in_target"),
            }
        )
    rows += [{"line": r.line, "id": r.id, "family": r.family, "why": f"refused: {why}"} for r, why in report.refused]
    names = ("line", "id", "family", "predicted_s", "low_s", "high_s", "measured_s", "error", "why")
    return [{name: row.get(name) for name in names} for row in sorted(rows, key=lambda row: row["line"])]


_SCORES = ("mape", "median", "p90", "bias", "coverage80")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _score_row(name: str, figures: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    """One line of errors, with the mean errors of the rules of thumb on the same rows."""
    from clusterwright.report import RULES

    scores = {k: _percent(figures.get(k)) for k in _SCORES}
    beside = {RULES[n]: _percent((rule or {}).get("mape")) for n, rule in rules.items()}
    return {"": name, "rows": figures.get("counted", figures.get("rows")), **scores, **beside}


def _show_training(document: dict[str, Any]) -> None:
    from clusterwright.cli.streams import print_table

    rules = document["baselines"]
    rows = [_score_row("all families alike", document, rules)]
    for name, figures in document["by_kind"].items():
        rows.append(_score_row(f"kind {name}", figures, {n: rule["by_kind"].get(name) for n, rule in rules.items()}))
    rows += [_score_row(f"family {name}", f, f["baselines"]) for name, f in document["by_family"].items()]
    rows += [_score_row(f"gpu {name}", figures, dict.fromkeys(rules)) for name, figures in document["by_gpu"].items()]
    rows.append(_score_row("the other rows", document["others"], dict.fromkeys(rules)))
    print_table([row for row in rows if row["rows"]])
    if document["counted"]:
        _show_wins(document)
    _show_planner(document["planner"])
    _show_counts(document)
    if document["refused"]:
        print_table([{k: p[k] for k in ("line", "id", "refused")} for p in document["predictions"] if "refused" in p])


def _show_wins(document: dict[str, Any]) -> None:
    """In how many families each has the least error, and how many runs intervals of several widths hold."""
    from clusterwright.report import RULES

    won = (f"{RULES.get(name, 'this law')} in {count} families" for name, count in document["families_won"].items())
    click.echo("\nleast mean error: " + ", ".join(won))
    held = (f"{i['nominal']:.0%} holds {i['coverage']:.1%}" for i in document["interval"] if i["coverage"] is not None)
    click.echo("inside intervals: " + ", ".join(held))


def _show_planner(planner: dict[str, Any]) -> None:
    from clusterwright.cli.streams import print_table
    from clusterwright.report import plan_words

    if not planner["groups"]:
        click.echo("planner: no group of three measured plans of the same run")
        return
    click.echo("\nthe plan ranked first against the best measured one, in groups that differ in nothing but the plan")
    print_table(
        [
            {
                "group": f"{g['family']}: {g['model']}, {g['gpu_count']:g} {g['gpu']}",
                "plans": g["plans"],
                "chosen": plan_words(g["chosen"]["plan"]),
                "best measured": plan_words(g["best"]["plan"]),
                "regret": _percent(g["regret"]),
                "limit": f"{g['limit']:.0%}",
                "Spearman": "" if g["spearman"] is None else f"{g['spearman']:.2f}",
            }
            for g in planner["by_group"]
        ]
    )
    order = "" if planner["spearman"] is None else f", Spearman {planner['spearman']:.2f}"
    click.echo(
        f"planner: {planner['within_limit']} of {planner['groups']} groups within the limit, "
        f"mean regret {planner['regret']:.1%}{order}"
    )


def _show_counts(document: dict[str, Any]) -> None:
    memory = document["memory"]
    said = "" if memory["mape"] is None else f", mean error {memory['mape']:.1%}"
    click.echo(
        f"\n{document['rows']} rows: {document['run']} compared, {document['refused']} refused, "
        f"{document['no_target']} without a measured step; memory: {memory['rows']} rows{said}, "
        f"{memory['false_misfits']} runs called impossible"
    )
    short = memory["out_of_memory"]
    if short["rows"]:
        click.echo(
            f"{short['rows']} runs ran out of memory: {short['false_fits']} of them are said to fit, "
            f"{short['called_impossible']} are called impossible"
        )
    if document["fitted"]:
        click.echo(f"{document['fitted']} rows were predicted by constants fitted to them: this is no test of the law")


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
