"""``clusterwright status``: a running cluster against its targets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, print_table, say, wants_color
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.operate import Status
    from clusterwright.traces import Measure

__all__ = ["command"]


@click.command()
@click.option("--site", "site_file", type=click.Path(path_type=Path), metavar="FILE", help="site.yaml of the cluster.")
@click.option("--from", "begin", default="-1d", metavar="TIME", help="Figures from accounting begin here; a day ago.")
@click.option("--strict", is_flag=True, help="End with exit code 1 when a target is missed.")
@click.option("--all", "every", is_flag=True, help="Show also figures of single teams, sizes and racks.")
@output_options("table", "json", "yaml", "csv")
@click.pass_context
def command(ctx: click.Context, site_file: Path | None, begin: str, strict: bool, every: bool, output: str) -> None:
    """Hold a running cluster against its targets: utilisation, queue, failures, nodes, jobs and alerts.

    Prometheus gives what is measured now, Slurm's accounting what happened since --from. Where one of them does not
    answer, that is said, and the others' figures are shown; exit code 3 only when nobody answers.
    """
    from clusterwright.operate import FINDINGS, find_site, period
    from clusterwright.operate import status as ask

    site = find_site(site_file)
    first, last = period(begin, "now")
    found = ask(site, first, last)
    rows = [_row(one) for one in found.measures.values]
    emit(found.to_dict(), output, rows, lambda: _show(found, every))
    say(found.findings)
    missed = found.measures.missed
    say(FINDINGS["STATUS-MISSED"].at(one.name, f"is {_value(one)}, target {_target(one)}") for one in missed)
    if strict and missed:
        ctx.exit(EXIT_NO)


def _row(one: Measure) -> dict[str, Any]:
    return {
        "metric": one.name,
        "of": " ".join(f"{name}={text}" for name, text in one.labels.items()),
        "value": one.value,
        "unit": one.metric.unit,
        "target": _target(one),
        "verdict": one.verdict,
        "source": one.source,
        "note": one.why,
    }


def _value(one: Measure) -> str:
    unit, value = one.metric.unit, one.value
    if value is None:
        return "unknown"
    if unit == "1":
        share = one.name.endswith(("utilisation", "rate", "efficiency", "_share", "_used", "_load", "_throttled"))
        return f"{value:.1%}" if share or one.name in _SHARES else _number(value)
    return f"{_number(value)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


_SHARES = {"wasted", "stranded", "fragmentation", "mfu", "goodput", "work_kept"}


def _target(one: Measure) -> str:
    low, high = one.metric.low, one.metric.high
    form = "{:.0%}" if one.metric.unit == "1" else "{:g} " + one.metric.unit
    if low is not None and high is not None:
        return f"{form.format(low)} to {form.format(high)}"
    if low is not None:
        return f"at least {form.format(low)}"
    return f"at most {form.format(high)}" if high is not None else ""


def _show(found: Status, every: bool) -> None:
    colors = {"met": "green", "missed": "red", "unknown": "yellow"}
    rows = [
        {
            "metric": row["metric"].replace("_", " "),
            "of": row["of"],
            "value": _value(one),
            "target": row["target"],
            "": one.verdict if one.verdict != "no target" else "",
            "from": one.source,
            "note": one.why,
        }
        for one, row in ((one, _row(one)) for one in found.measures.values)
        if every or not set(one.labels) - {"quantile"}
    ]
    at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(found.at_s))
    click.echo(f"{found.name}, {at}\n")
    print_table(rows)
    said = {name: sum(one.verdict == name for one in found.measures.values) for name in colors}
    words = ", ".join(click.style(f"{count} {name}", fg=colors[name]) for name, count in said.items() if count)
    click.echo(f"\ntargets: {words or 'none'}; bottleneck: {found.measures.bottleneck}", color=wants_color())
    click.echo(f"nodes: {_counts(found.nodes)}")
    if found.out:
        print_table([{**one, "since_s": _ago(one["since_s"], found.at_s)} for one in found.out])
    if found.jobs:
        print_table(list(found.jobs))
    if found.reasons:
        click.echo(f"jobs wait for: {_counts(found.reasons)}")
    click.echo(f"alerts: {len(found.alerts) if 'prometheus' not in found.blind else 'not known'}")
    for alert in found.alerts:
        labels = " ".join(f"{name}={text}" for name, text in sorted(alert.labels.items()))
        click.echo("  " + _plain(f"{alert.name} {labels}: {alert.summary}"))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "not known"


def _ago(then_s: float, now_s: float) -> str:
    return f"{max(now_s - then_s, 0) / 60:,.0f} min ago" if then_s else ""


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
