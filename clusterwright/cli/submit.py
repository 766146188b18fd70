"""``clusterwright submit``: a job, planned by the laws and handed to the cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, open_catalog, output_options, overlay_option, say, set_option
from clusterwright.errors import EXIT_INTERRUPTED, EXIT_NO, InputError

if TYPE_CHECKING:
    from clusterwright.operate import Planned, Site, Slurm

__all__ = ["command"]

SCHEMA = "clusterwright/submit/1"


@click.command()
@click.argument("job", metavar="JOB", type=click.Path(path_type=Path))
@click.option("--site", "site_file", metavar="FILE", type=click.Path(path_type=Path), help="site.yaml of the cluster.")
@click.option("--dry-run", is_flag=True, help="Print the plan and what would be submitted; change nothing.")
@click.option("--wait", is_flag=True, help="Follow the job to its end; Ctrl-C leaves it running.")
@output_options("table", "json", "yaml")
@set_option
@overlay_option
@click.pass_context
def command(
    ctx: click.Context,
    job: Path,
    site_file: Path | None,
    dry_run: bool,
    wait: bool,
    output: str,
    sets: tuple[str, ...],
    overlays: tuple[Path, ...],
) -> None:
    """Submit JOB, a YAML file that says what is to run, on how many GPUs, and for whom.

    The parallelism plan, the nodes and the interval between checkpoints come from the laws that the cluster was
    designed with. After a failure of the cluster the job goes on from its checkpoint, as often as needed; after one of
    its own, 'retries' times. Exit code 1 when it cannot run, or with --wait when it did not complete.
    """
    from clusterwright.cluster import load
    from clusterwright.operate import FINDINGS, Slurm, find_site, plan_job, script_of, send
    from clusterwright.spec import load_job

    catalog = open_catalog(overlays)
    asked = load_job(job, sets, catalog)
    site = find_site(site_file)
    if site.design is None:
        said = "names no design, by whose laws a job is planned"
        hint = "design: /path/of/the/run/folder"
        raise InputError(FINDINGS["OPERATE-SITE"].at(f"{site.path}: design", said, hint))
    planned = plan_job(asked, site, load(site.design), catalog, Path.cwd())
    say(planned.findings)
    document = _document(planned, site)
    if planned.refused:
        emit(document, output, (), lambda: click.echo(f"{asked.name}: cannot run as asked"))
        ctx.exit(EXIT_NO)
    slurm = Slurm(site.slurm_conf)
    if planned.inventory.scheduler == "slurm":
        document["script"] = script_of(planned, slurm)
    else:
        document["jobset"] = _jobset(planned)
        if not dry_run:
            hint = f"clusterwright submit {job} --dry-run | kubectl apply -f -"
            said = "the cluster runs Kubernetes: its JobSet is printed by --dry-run"
            raise InputError(FINDINGS["SUBMIT-KUBERNETES"].at(str(site.path), said, hint))
    if dry_run:
        emit(document, output, (), lambda: _show_dry(document))
        return
    document["log"] = f"{planned.ask.checkpoints}/{asked.name}-%j.out"
    document["job"] = send(planned, document["script"], slurm)
    document["log"] = document["log"].replace("%j", document["job"])
    if not wait:
        emit(document, output, (), lambda: _show(document))
        return
    click.echo(f"{asked.name} is job {document['job']}", err=True)
    document["states"] = _followed(slurm, document["job"], document["log"])
    emit(document, output, (), lambda: _show(document))
    if document["states"][-1]["state"] != "COMPLETED":
        state = document["states"][-1]["state"]
        say([FINDINGS["SUBMIT-ENDED"].at(f"job {document['job']}", f"it ended as {state}", f"read {document['log']}")])
        ctx.exit(EXIT_NO)


def _document(planned: Planned, site: Site) -> dict[str, Any]:
    workload, ask = planned.workload, planned.ask
    figures = ("step_time_s", "time_to_train_s", "checkpoint_interval_s", "checkpoint_write_s", "mtti_s", "ettr")
    return {
        "schema": SCHEMA,
        "site": site.name,
        "name": planned.job.name,
        "tenant": planned.tenant.title,
        "gpus": workload.gpus,
        "nodes": workload.nodes,
        "least_nodes": ask.least_nodes or workload.nodes,
        "plan": dict(workload.plan),
        **{name: workload.figures[name] for name in figures if workload.figures.get(name)},
        "retries": ask.retries,
        "checkpoints": ask.checkpoints,
        "findings": [{"code": one.code, "severity": one.severity, "message": one.message} for one in planned.findings],
    }


def _jobset(planned: Planned) -> str:
    from clusterwright.deploy import jobset

    site = planned.here.site.name
    return jobset(planned.inventory, site, planned.workload, planned.tenant, planned.ask)


def _followed(slurm: Slurm, key: str, log: str) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from clusterwright.operate import follow

    seen = []
    try:
        for now in follow(slurm, key):
            seen.append(asdict(now))
            why = f" ({now.why})" if now.why.strip("()") not in ("", "None") else ""
            again = f", restart {now.restarts}" if now.restarts else ""
            click.echo(f"{now.state.lower()}{why} on {now.nodes} nodes{again}", err=True)
    except KeyboardInterrupt:
        click.echo(f"\njob {key} goes on; its output is {log}; end it with: scancel {key}", err=True)
        sys.exit(EXIT_INTERRUPTED)
    return seen


def _show_dry(document: dict[str, Any]) -> None:
    click.echo(document.get("script") or document["jobset"], nl=False)
    for line in _lines(document):
        click.echo(f"# {line}", err=True)


def _show(document: dict[str, Any]) -> None:
    click.echo(document["job"])
    for line in _lines(document):
        click.echo(line, err=True)


def _lines(document: dict[str, Any]) -> list[str]:
    from clusterwright.units import human

    plan = " x ".join(f"{axis} {document['plan'][axis]}" for axis in ("tp", "pp", "cp", "dp") if document["plan"])
    least = document["least_nodes"]
    shrinks = f", may go on with {least}" if least < document["nodes"] else ""
    made = [f"{document['name']} for {document['tenant']}: {document['gpus']} GPUs, {document['nodes']} nodes{shrinks}"]
    if plan:
        step = human("x_s", document["step_time_s"])
        made.append(f"plan {plan}: {step} a step, {human('x_s', document['time_to_train_s'])} in all")
    every, mtti = (human("x_s", document[name]) for name in ("checkpoint_interval_s", "mtti_s"))
    made.append(f"a checkpoint each {every} into {document['checkpoints']}; an interruption each {mtti} is expected")
    return made
