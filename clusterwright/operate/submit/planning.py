"""From a job to what is submitted: tenant, nodes, plan, checkpoint interval, script; or why it cannot run."""

from __future__ import annotations

import getpass
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.deploy import Ask, Inventory, SlurmSite, Tenant, Workload, expand
from clusterwright.design import Estimated
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.site import Site
from clusterwright.operate.submit.laws import Worked, least_that_fit, legal_gpus, whole_nodes, work_out
from clusterwright.spec import Job, did_you_mean

__all__ = ["Planned", "plan_job"]

_MEGATRON = "pretrain_gpt.py"
_TITAN = ("-m", "torchtitan.train")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+=@:,-]*")


@dataclass(frozen=True)
class Planned:
    """A job that was planned.

    Attributes:
        here: the site, with quotas and shapes of nodes.
        tenant: that it runs for.
        workload: with plan and figures.
        ask: what the batch script is told beside.
        findings: what is worth knowing; those with severity ``error`` are why it cannot run.
    """

    job: Job
    inventory: Inventory
    here: SlurmSite
    tenant: Tenant
    workload: Workload
    ask: Ask
    findings: list[Finding] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        """Whether it cannot run."""
        return any(finding.severity == "error" for finding in self.findings)


def plan_job(job: Job, site: Site, cluster: Cluster, catalog: Catalog, folder: Path) -> Planned:
    """Plan a job.

    Args:
        job: as it was read.
        site: on which it is to run.
        cluster: the design of the site; figures of the job are put below ``job`` in its frame.
        catalog: for the laws.
        folder: in which it is started when it says none.

    Raises:
        InputError: a tenant, path or plan that cannot be.
    """
    inventory = expand(cluster, catalog)
    here = _here(inventory, site)
    tenant, wrong = _tenant(job, here)
    paths, more = _paths(job, site, tenant, folder)
    wrong += more
    if wrong or tenant is None:
        raise InputError(wrong)
    per_node, gpus = here.node_gpus, job.gpus.most
    nodes = whole_nodes(gpus, per_node)
    found = [*_shape(job, here), *_capacity(job, here, tenant)]
    refused = any(one.severity == "error" for one in found)
    if refused:  # the laws need a shape that exists
        empty = Workload(job.name, job.name, "", gpus, nodes, {}, {}, {"time_to_train_s": job.time_limit_s or 0.0})
        return Planned(job, inventory, here, tenant, empty, Ask(), found)
    worked, run = work_out(job, cluster, catalog, nodes)
    model = job.train.model if job.train is not None else ""
    workload = Workload(job.name, job.name, model, gpus, nodes, worked.plan, worked.launch, worked.figures)
    found += _memory(job, cluster, catalog, run, worked, here, tenant)
    found += _shrinking(job, run, worked, per_node)
    found += _time(job, here, worked)
    command, torchrun = _command(job, worked, paths[0])
    ask = Ask(
        command=command,
        torchrun=torchrun,
        processes=job.processes or 0,
        checkpoints=paths[0],
        folder=paths[1],
        environment=job.environment,
        least_nodes=whole_nodes(job.gpus.least, per_node) if job.gpus.least < gpus else 0,
        limit_s=job.time_limit_s,
        retries=job.retries,
    )
    return Planned(job, inventory, here, tenant, workload, ask, found)


def _here(inventory: Inventory, site: Site) -> SlurmSite:
    """The site of the design that this Slurm runs: the only one, or that whose cluster slurm.conf names."""
    heres = [SlurmSite(inventory, one) for one in inventory.sites]
    text = site.slurm_conf.read_text("utf-8", "replace") if site.slurm_conf and site.slurm_conf.is_file() else ""
    named = re.search(r"^ClusterName=(\S+)", text, re.MULTILINE)
    return next((one for one in heres if named and one.cluster == named[1]), heres[0])


def _tenant(job: Job, here: SlurmSite) -> tuple[Tenant | None, list[Finding]]:
    names = [tenant.title for tenant in here.tenants]
    if job.tenant is not None:
        for tenant in here.tenants:
            if job.tenant in (tenant.name, tenant.title):
                return tenant, []
        hint = f"{did_you_mean(job.tenant, names)} tenants: {', '.join(names)}".strip()
        said = f"'{job.tenant}' is no tenant of {here.cluster}"
        return None, [FINDINGS["SUBMIT-TENANT"].at(job.place("tenant"), said, hint)]
    mine = [tenant for tenant in here.tenants if getpass.getuser() in tenant.users]
    able = mine or here.tenants
    if len(able) == 1:
        return able[0], []
    said = "who is it for? the cluster has several tenants"
    hint = f"add 'tenant: {names[0]}'; tenants: {', '.join(names)}"
    return None, [FINDINGS["SUBMIT-TENANT"].at(job.place("tenant"), said, hint)]


def _paths(job: Job, site: Site, tenant: Tenant | None, folder: Path) -> tuple[tuple[str, str], list[Finding]]:
    """Folder of checkpoints and folder of the start."""
    wrong = []
    kept = job.checkpoint.path or ""
    if not kept and site.shared is not None:
        kept = str(site.shared / (tenant.name if tenant else "") / job.name)
    if not kept:
        said = "the site names no folder that all nodes share"
        wrong.append(FINDINGS["SUBMIT-PATH"].at(job.place("checkpoint"), said, "checkpoint: {path: /shared/me/run-7}"))
    for key, path in (("checkpoint.path", kept), ("folder", job.folder or str(folder))):
        if path and not _PLAIN_PATH.fullmatch(path):
            said = "the path holds characters that a batch script would have to quote, such as blanks"
            wrong.append(FINDINGS["SUBMIT-PATH"].at(job.place(key), said, "use letters, digits and . _ - + = @ : ,"))
    return (kept, job.folder or str(folder)), wrong


def _shape(job: Job, here: SlurmSite) -> Iterator[Finding]:
    """Several nodes are taken whole: a job goes at the pace of its slowest node."""
    each = here.node_gpus
    for gpus in sorted({job.gpus.least, job.gpus.most}):
        if (gpus > each and gpus % each) or (gpus < each and job.gpus.least != job.gpus.most):
            below = gpus // each * each or each
            said = f"{gpus:,} GPUs are no whole number of nodes of {each}"
            yield FINDINGS["SUBMIT-SHAPE"].at(job.place("gpus"), said, f"ask for {below:,} or {below + each:,}")


def _capacity(job: Job, here: SlurmSite, tenant: Tenant) -> Iterator[Finding]:
    gpus, each = job.gpus.most, here.node_gpus
    if gpus > here.gpus:
        said = f"{gpus:,} GPUs are more than the {here.gpus:,} of {here.cluster}; spares are kept for repairs"
        yield FINDINGS["SUBMIT-CAPACITY"].at(job.place("gpus"), said, f"ask for {here.gpus:,} at most")
    elif gpus > tenant.limit_gpus:
        others = [one for one in here.tenants if one.limit_gpus >= gpus]
        fewer = tenant.limit_gpus // each * each if tenant.limit_gpus >= each else tenant.limit_gpus
        hint = f"ask for {fewer:,} at most" + (f", or run it for {others[0].title}" if others else "")
        said = f"'{tenant.title}' may hold {tenant.limit_gpus:,} GPUs, the job asks for {gpus:,}"
        yield FINDINGS["SUBMIT-QUOTA"].at(job.place("gpus"), said, hint)
    elif gpus > tenant.quota_gpus:
        said = f"'{tenant.title}' owns {tenant.quota_gpus:,} GPUs: {gpus:,} are borrowed, and can be taken back"
        hint = "it is told, writes a checkpoint and goes on later; its owners' jobs come first"
        yield FINDINGS["SUBMIT-BORROWS"].at(job.place("gpus"), said, hint)


def _memory(
    job: Job,
    cluster: Cluster,
    catalog: Catalog,
    run: Estimated | None,
    worked: Worked,
    here: SlurmSite,
    tenant: Tenant,
) -> Iterator[Finding]:
    if worked.fits or run is None:
        return
    most = min(here.gpus, tenant.limit_gpus)
    more = least_that_fit(job, cluster, catalog, job.gpus.most, most, here.node_gpus)
    hint = f"it fits on {more:,} GPUs" if more else f"no plan fits on up to {most:,} GPUs: a smaller model, or fp8"
    memory = cluster.value("accelerator.memory_bytes") / 1e9
    said = f"no plan of {run.train.model} fits {job.gpus.most:,} GPUs of {memory:.0f} GB"
    yield FINDINGS["SUBMIT-MEMORY"].at(job.place("train"), said, hint)


def _shrinking(job: Job, run: Estimated | None, worked: Worked, per_node: int) -> Iterator[Finding]:
    """With every number of nodes in the range the plan must hold, at the same global batch."""
    if run is None or not worked.plan or job.gpus.least == job.gpus.most:
        return
    sizes = range(job.gpus.least, job.gpus.most + 1, per_node)
    wrong = [gpus for gpus in sizes if not legal_gpus(run, gpus)]
    if wrong and job.command is None:
        plan = ", ".join(f"{axis} {run.plan[axis]}" for axis in ("tp", "pp", "cp", "micro_batch"))
        said = f"with {', '.join(map(str, wrong))} GPUs the plan ({plan}) does not divide the global batch"
        split = run.plan["tp"] * run.plan["pp"] * run.plan["cp"]
        unit = math.lcm(*(max(gpus // split, 1) * run.plan["micro_batch"] for gpus in sizes))
        batch = math.ceil(run.plan["batch_sequences"] / unit) * unit
        hint = f"take 'global_batch: {batch} sequences', or gpus: {job.gpus.most}"
        yield FINDINGS["SUBMIT-SHRINK"].at(job.place("gpus"), said, hint)


def _time(job: Job, here: SlurmSite, worked: Worked) -> Iterator[Finding]:
    longest = here.max_time_min * 60
    wanted = worked.figures["time_to_train_s"] if job.time_limit_s is None else job.time_limit_s
    if wanted > longest:
        said = f"{wanted / 3600:.3g} h are more than one attempt of {longest / 3600:.3g} h"
        hint = "it writes a checkpoint, is requeued and goes on, as often as needed"
        yield FINDINGS["SUBMIT-LIMIT"].at(job.place("time_limit"), said, hint)


def _command(job: Job, worked: Worked, kept: str) -> tuple[tuple[str, ...], bool]:
    """Program and arguments, and whether torchrun starts it."""
    if job.command is not None:
        return job.command, job.command[0].endswith(".py") or job.command[0] == "-m"
    titan = "titan" in ((job.train.framework if job.train else None) or "").lower()
    flags = worked.launch.get("torchtitan" if titan else "megatron", {}).get("arguments", {})
    words = [word for name, value in flags.items() for word in ((name,) if value is True else (name, *value.split()))]
    figures = worked.figures
    steps = str(max(1, round(figures["checkpoint_interval_s"] / (figures["step_time_s"] or 1.0))))
    if titan:
        kept_words = ("--checkpoint.enable", "--checkpoint.folder", kept, "--checkpoint.interval", steps)
        return (*_TITAN, *words, *kept_words), True
    return (_MEGATRON, *words, "--save", kept, "--load", kept, "--save-interval", steps), True
