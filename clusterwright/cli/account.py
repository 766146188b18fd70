"""``clusterwright account``: who pays what."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, print_table, say

if TYPE_CHECKING:
    from clusterwright.cluster import Cluster
    from clusterwright.operate import Bill, JobReport
    from clusterwright.traces import History

__all__ = ["command"]

_YEAR_US = 31_557_600_000_000


def _pairs(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """``NAME=NUMBER`` options; a number may be a share in percent."""
    made = {}
    for value in values:
        name, equals, text = value.partition("=")
        try:
            number = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = -1.0
        if not equals or not 0 <= number < 1e9 or (param.name == "subsidies" and number > 1):
            raise click.BadParameter(f"'{value[:40]}' is not NAME=NUMBER", param=param)
        made[name] = number
    return made


@click.command()
@click.option("--site", "site_file", type=click.Path(path_type=Path), metavar="FILE", help="site.yaml of the cluster.")
@click.option(
    "--jobs", type=click.Path(path_type=Path), metavar="FILE", help="A history instead: sacct -P, or our CSV."
)
@click.option("--design", type=click.Path(path_type=Path), metavar="RUN", help="Run folder whose costs are shared.")
@click.option("--from", "begin", default="", metavar="TIME", help="2026-11, 2026-11-01 or -7d; this month by default.")
@click.option("--to", "end", default="", metavar="TIME", help="End, itself not in the period; now by default.")
@click.option(
    "--basis", type=click.Choice(["allocation", "use"]), default="allocation", show_default=True,
    help="GPU-hours held, or energy and GPU utilisation as measured.",
)  # fmt: skip
@click.option(
    "--idle", type=click.Choice(["quota", "held", "apart"]), default="quota", show_default=True,
    help="Who pays for idle GPUs: whose quota was not used, everybody by what they hold, or nobody.",
)  # fmt: skip
@click.option("--overhead", multiple=True, metavar="NAME", help="Account of the operation itself; repeatable.")
@click.option(
    "--subsidy", "subsidies", multiple=True, callback=_pairs, metavar="TEAM=SHARE", help="Share that the site pays."
)
@click.option(
    "--price", "prices", multiple=True, callback=_pairs, metavar="TEAM=PRICE", help="Internal price of a GPU-hour."
)
@click.option("--job", default="", metavar="ID", help="Account for one job: goodput, lost work, cost, energy, carbon.")
@click.option("--checkpoint", type=click.FloatRange(min=0), metavar="SECONDS", help="Interval of its checkpoints.")
@output_options("table", "json", "csv", "focus")
def command(
    site_file: Path | None,
    jobs: Path | None,
    design: Path | None,
    begin: str,
    end: str,
    basis: str,
    idle: str,
    overhead: tuple[str, ...],
    subsidies: dict[str, float],
    prices: dict[str, float],
    job: str,
    checkpoint: float | None,
    output: str,
) -> None:
    """Share what the cluster costs in a period among its teams, to the cent.

    The jobs come from the site's Slurm, or with --jobs from a file; the costs from the design. '-o focus' writes the
    columns of FOCUS 1.2 for FinOps tools. With --job one job is accounted for instead.
    """
    from clusterwright.operate import account, costs_of, focus_rows, job_report

    if jobs is not None and site_file is not None:
        raise click.UsageError("--site asks a cluster for its jobs, --jobs reads them from a file: say one of them")
    if job and output == "focus":
        raise click.UsageError("-o focus is the bill of a period; --job accounts for one job")
    cluster, history, first, last = _read(site_file, jobs, design, (begin, end), job)
    say(history.findings)
    if job:
        costs = costs_of(cluster, last - _YEAR_US, last)
        every = -1 if checkpoint is None else round(checkpoint * 1e6)
        report = job_report(history.jobs, job, costs, every)
        emit(report.to_dict(), output, list(report.attempts), lambda: _show_job(report))
        return
    bill = account(
        history.jobs,
        costs_of(cluster, first, last),
        basis="use" if basis == "use" else "allocation",
        idle_rule="held" if idle == "held" else "apart" if idle == "apart" else "quota",
        overhead=overhead or ("root", "operations"),
        subsidies=subsidies,
        prices=prices,
    )
    say(bill.findings)
    rows = list(focus_rows(bill)) if output == "focus" else list(bill.rows())
    emit(bill.to_dict(), "csv" if output == "focus" else output, rows, lambda: _show(bill))


def _read(
    site_file: Path | None, jobs: Path | None, design: Path | None, asked: tuple[str, str], job: str
) -> tuple[Cluster, History, int, int]:
    """The design, the history and the period."""
    from clusterwright.cluster import load
    from clusterwright.errors import InputError
    from clusterwright.operate import FINDINGS, find_site, measured, period
    from clusterwright.operate import history as ask
    from clusterwright.traces import history_file

    site = find_site(site_file) if jobs is None else None
    place = design or (site.design if site else None)
    if place is None:
        lacks = "the costs of the cluster are not known"
        raise InputError(FINDINGS["ACCOUNT-NO-DESIGN"].at("--design", lacks, "--design RUN, made by 'design'"))
    cluster = load(place)
    now = round(time.time() * 1e6)
    if site is not None:
        first, last = (0, now) if job else period(*asked)
        found = ask(site, first, last, job)
        table, said = measured(site, found.jobs, last)
        return cluster, replace(found, jobs=table, findings=(*found.findings, *said)), first, last
    held = history_file(jobs or Path())
    table = held.jobs
    if any(asked) or not len(table):
        first, last = period(*asked)
    else:
        starts = table.start_us[table.start_us >= 0]
        first = int((starts if len(starts) else table.submit_us).min())
        last = int(max(table.end_us.max(), table.start_us.max(), table.submit_us.max(), first + 1))
    return cluster, held, first, last


def _show(bill: Bill) -> None:
    from clusterwright.operate import IDLE_RULES

    costs, code = bill.costs, bill.costs.currency
    rows = []
    for row in bill.rows():
        shown: dict[str, Any] = {"team": _plain(row["team"] or "(no account)"), "jobs": row["jobs"]}
        shown["GPU-hours"] = f"{row['gpu_hours']:,.1f}"
        if row["used_gpu_hours"] is not None:
            shown["busy"] = f"{row['used_gpu_hours']:,.1f}"
        names = {"direct_cost": "direct", "idle_cost": "idle", "overhead_cost": "overhead", "cost": f"cost {code}"}
        shown |= {name: f"{row[key]:,.2f}" for key, name in names.items()}
        if any(team.subsidy_cents for team in bill.teams):
            shown |= {"subsidy": f"{row['subsidy']:,.2f}", "charged": f"{row['charged']:,.2f}"}
        rows.append(shown | {"kWh": f"{row['energy_kwh']:,.1f}", "kg CO2": f"{row['carbon_kg']:,.1f}"})
    print_table(rows)
    day = "%Y-%m-%d %H:%M"
    first, last = (time.strftime(day, time.gmtime(us // 1_000_000)) for us in (costs.begin_us, costs.end_us))
    click.echo(f"\n{costs.cluster}, {first} to {last} UTC: {code} {bill.cents / 100:,.2f}, all rows together")
    click.echo(
        f"{code} {costs.gpu_hour:,.4f} a GPU-hour of {costs.gpu_hours:,.1f}; {bill.idle_share:.1%} were idle "
        f"({code} {bill.idle_cents / 100:,.2f}); {IDLE_RULES[bill.idle_rule]}"
    )


def _show_job(report: JobReport) -> None:
    who = f"job {report.job} of {report.user}, {report.account}: {report.state}, {report.gpus:g} GPUs"
    click.echo(f"{_plain(report.name)}  {_plain(who)}\n")
    attempts = [
        {
            "attempt": one["attempt"],
            "state": one["state"],
            "run": f"{one['run_s']:,.0f} s",
            "lost": f"{one['lost_s']:,.0f} s",
            "nodes": _plain(one["nodes"]),
        }
        for one in report.attempts
    ]
    print_table(attempts)
    goodput = "nothing has run" if report.goodput != report.goodput else f"{report.goodput:.1%}"
    use = "not measured" if report.utilisation != report.utilisation else f"{report.utilisation:.1%}"
    counted = "" if report.lost_known or not report.lost_s else ", reckoned: nobody counted it"
    energy = report.energy_j / 3.6e6
    for name, text in {
        "goodput": f"{goodput} (run time kept / run time and waits)",
        "waited": f"{report.wait_s:,.0f} s",
        "ran": f"{report.run_s:,.0f} s, of it lost {report.lost_s:,.0f} s{counted}",
        "GPU utilisation": use,
        "cost": f"{report.currency} {report.cost:,.2f} for {report.gpu_hours:,.2f} GPU-hours, idle GPUs not in it",
        "energy": f"{energy:,.2f} kWh, {'measured' if report.energy_measured else 'as the design expects it'}",
        "carbon": f"{report.carbon_g / 1000:,.2f} kg CO2",
    }.items():
        click.echo(f"  {name:<16}{text}")


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
