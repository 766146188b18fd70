"""``clusterwright lab``: the rendered cluster as a real Slurm on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, open_catalog, output_options, overlay_option, print_table, say, set_option
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.lab import Fault, Lab

__all__ = ["command"]

SCHEMA = "clusterwright/lab/1"
_name = click.option("--name", metavar="NAME", help="Which lab; the only one that is up when left out.")


@click.group()
def command() -> None:
    """Run the rendered cluster as a real Slurm on this machine, without a GPU.

    'lab up' starts slurmctld, slurmdbd with MariaDB, a slurmd for each node with fake GPUs, exporters, Prometheus and
    Alertmanager from the files that 'render' writes. Everything listens on 127.0.0.1. Needs root and the programs of
    'make tools'. 'lab down' leaves nothing behind.
    """


@command.command()
@click.argument("design", metavar="DESIGN", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Of the lab; the design's name when left out.")
@click.option("--at", "site", metavar="SITE", help="Which site of a design that has several.")
@click.option("--clock", "rate", type=click.FloatRange(1, 100), default=1.0, help="Seconds of Slurm in a true second.")
@click.option("--no-monitoring", is_flag=True, help="Slurm alone, without exporters, Prometheus and Alertmanager.")
@click.option("--keep", is_flag=True, help="Leave a lab that does not start as it is, to look at its logs.")
@output_options("table", "json", "yaml")
@set_option
@overlay_option
def up(
    design: Path,
    name: str | None,
    site: str | None,
    rate: float,
    no_monitoring: bool,
    keep: bool,
    output: str,
    sets: tuple[str, ...],
    overlays: tuple[Path, ...],
) -> None:
    """Start a lab of DESIGN: a run folder, a cluster.json, or a spec, which is designed first."""
    from clusterwright.cli.designs import designed
    from clusterwright.lab import up as start

    catalog = open_catalog(overlays)
    cluster = designed(design, sets, catalog)
    started = start(
        cluster,
        catalog,
        name=name,
        site=site,
        rate=rate,
        watched=not no_monitoring,
        keep=keep,
        said=_progress,
    )
    _progress("")
    say(started.findings)
    document = {
        **_document(started.lab),
        "ready_s": round(started.ready_s, 2),
        "steps_s": {key: round(value, 2) for key, value in started.steps.items()},
    }
    emit(document, output, (), lambda: _show(document))


@command.command()
@_name
@output_options("table", "json", "yaml")
def status(name: str | None, output: str) -> None:
    """Say what a lab is made of, what runs and what is broken."""
    from clusterwright.lab import find

    document = _document(find(name))
    emit(document, output, (), lambda: _show(document))


@command.command()
@_name
@output_options("table", "json", "yaml")
def down(name: str | None, output: str) -> None:
    """End a lab: no process, mount, port or file of it stays. Works after a crash, too."""
    from clusterwright.lab import down as end
    from clusterwright.lab import find_any

    lab = find_any(name)
    ended = end(lab)
    emit({"schema": SCHEMA, "name": lab.name, "ended_processes": ended}, output, (), lambda: _ended(lab.name, ended))


@command.command()
@click.argument("kind", metavar="KIND")
@click.argument("places", metavar="[NODE|RACK]...", nargs=-1)
@click.option("--gpu", type=int, default=0, help="Number of the GPU, for xid and gpu-lost.")
@click.option("--xid", type=int, default=79, help="Code, for xid; 79 when left out.")
@click.option("--factor", type=float, default=0.3, help="Part of the time that a slow node works.")
@_name
@output_options("table", "json", "yaml", "csv")
def inject(
    kind: str, places: tuple[str, ...], gpu: int, xid: int, factor: float, name: str | None, output: str
) -> None:
    """Break something: xid, gpu-lost, node-dead, node-hung, link-down, node-slow, fs-full, rack-power.

    The fault shows in the metrics and does to processes what the real one does; 'lab mend' repairs it.
    """
    from clusterwright.lab import find
    from clusterwright.lab import inject as hurt

    _faults(hurt(find(name), kind, places, gpu=gpu, xid=xid, factor=factor), output)


@command.command()
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@_name
@output_options("table", "json", "yaml", "csv")
def mend(nodes: tuple[str, ...], name: str | None, output: str) -> None:
    """Repair nodes, or all and the shared file system when none is named. A dead node boots again.

    What Slurm holds of the node is left alone: whoever drained it gives it back.
    """
    from clusterwright.lab import find
    from clusterwright.lab import mend as repair

    _faults(repair(find(name), nodes), output)


@command.command("record")
@click.argument("workload", metavar="[WORKLOAD.csv]", required=False, type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(1, 100_000), default=200, help="How many jobs are made up without a file.")
@click.option("--seed", type=int, default=1, help="Of the made-up workload.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder; records/NAME when left out.")
@click.option(
    "--most", "most_s", type=click.FloatRange(1), default=7200.0, help="True seconds; then jobs are cancelled."
)
@_name
@output_options("table", "json", "yaml")
def record_(
    workload: Path | None, jobs: int, seed: int, out: Path | None, most_s: float, name: str | None, output: str
) -> None:
    """Run a workload in a lab and keep the history: sacct, workload, policy, nodes.

    WORKLOAD.csv has the columns submit_s, duration_s, nodes, account, and any of gpus_per_node, qos, limit_s, name,
    tasks. A lab with a faster clock ('lab up --clock 20') takes a twentieth of the time.
    """
    from clusterwright.lab import find, read_workload, record, synthetic

    lab = find(name)
    accounts = sorted(lab.tenants)
    size = sum(not one["spare"] for one in lab.about["nodes"].values())
    asked = read_workload(workload) if workload else synthetic(accounts, size, jobs, seed)
    folder = out or Path("records") / lab.name
    about = record(lab, asked, folder, most_s, _progress)
    _progress("")
    shown = {key: value for key, value in about.items() if key != "nodes"}
    emit(shown, output, (), lambda: click.echo(f"{folder}: {about['attempts']} attempts of {about['jobs']} jobs in "
                                               f"{about['true_s']:g} s, {len(about['refused'])} refused"))  # fmt: skip


@command.command("take")
@_name
@output_options("table", "json", "yaml")
def take_(name: str | None, output: str) -> None:
    """Take over what the bundle of a lab says now, without ending its jobs; 'apply' calls it."""
    from clusterwright.lab import find, take

    done = take(find(name))
    emit({"schema": SCHEMA, "done": done}, output, (), lambda: click.echo("\n".join(done) or "nothing to do"))


@command.command("check")
@click.argument("node", metavar="NODE")
@_name
@click.pass_context
def check_(ctx: click.Context, node: str, name: str | None) -> None:
    """Say what the health check of a node would say; exit code 1 when it is not fit."""
    from clusterwright.lab import check, find

    found = check(find(name), node)
    for line in found:
        click.echo(line)
    ctx.exit(EXIT_NO if found else 0)


def _faults(faults: list[Fault], output: str) -> None:
    from dataclasses import asdict

    rows = [asdict(one) for one in faults]
    emit({"schema": SCHEMA, "faults": rows}, output, rows, lambda: print_table(rows) if rows else click.echo("none"))


def _ended(name: str, processes: int) -> None:
    click.echo(f"{name}: {processes} processes ended, nothing is left")


def _progress(what: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{what and f'starting: {what}'}", err=True, nl=False)


def _document(lab: Lab) -> dict[str, Any]:
    from clusterwright.lab import state_of

    return {"schema": SCHEMA, **state_of(lab)}


def _show(document: dict[str, Any]) -> None:
    ready = f", ready in {document['ready_s']:.1f} s" if "ready_s" in document else ""
    click.echo(
        f"{document['name']}: {document['nodes']} nodes, {document['gpus']} GPUs{ready}; Slurm {document['slurm']}"
    )
    print_table([{"nodes": count, "state": state} for state, count in document["states"].items()])
    print_table([{"daemon": key, "processes": value} for key, value in document["daemons"].items()])
    if document["faults"]:
        print_table(document["faults"])
    click.echo(f"export SLURM_CONF={document['slurm_conf']}", err=True)
