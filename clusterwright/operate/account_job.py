"""The end of a job: what it got, what it lost, what it cost."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterwright.errors import InputError
from clusterwright.operate.account_codes import FINDINGS
from clusterwright.operate.account_costs import Costs
from clusterwright.operate.slurm import plain_text
from clusterwright.traces import INTERRUPTED, SECOND_US, STATES, JobTable, kept_us, per_job
from clusterwright.units import HOUR_S, JOULE_PER_KWH

__all__ = ["JobReport", "job_report"]


@dataclass(frozen=True)
class JobReport:
    """One job, all its attempts together.

    Attributes:
        attempts: a row each: state, start, end, nodes, run and lost time.
        wait_s: until the first start, and between attempts, the scheduler's hold after a requeue included.
        run_s: of all attempts; lost_s: of it, work that was lost; lost_known: whether somebody counted it.
        goodput: effective training time ratio: (run - lost) / (run + waits); NaN while nothing has run.
        gpu_hours: held.
        utilisation: of its GPUs, NaN where it is not measured.
        cost: share of the cluster's cost for the GPU-hours held, idle capacity not in it; in ``currency``.
        energy_j: at the meter. energy_measured: else it is the design's mean power of its GPUs.
        carbon_g: of that energy.
    """

    job: str
    name: str
    user: str
    account: str
    state: str
    gpus: float
    attempts: Sequence[dict[str, Any]]
    wait_s: float
    run_s: float
    lost_s: float
    lost_known: bool
    goodput: float
    gpu_hours: float
    utilisation: float
    cost: float
    currency: str
    energy_j: float
    energy_measured: bool
    carbon_g: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": "clusterwright/job-account/1",
            "job": self.job,
            "name": self.name,
            "user": self.user,
            "team": self.account,
            "state": self.state,
            "gpus": self.gpus,
            "wait_s": self.wait_s,
            "run_s": self.run_s,
            "lost_s": self.lost_s,
            "lost_known": self.lost_known,
            "goodput": None if math.isnan(self.goodput) else self.goodput,
            "gpu_hours": self.gpu_hours,
            "gpu_utilisation": None if math.isnan(self.utilisation) else self.utilisation,
            "cost": round(self.cost, 2),
            "currency": self.currency,
            "energy_kwh": self.energy_j / JOULE_PER_KWH,
            "energy_measured": self.energy_measured,
            "carbon_kg": self.carbon_g / 1000,
            "attempts": list(self.attempts),
        }


def job_report(jobs: JobTable, job: str, costs: Costs, checkpoint_us: int = -1) -> JobReport:
    """The report of one job.

    Args:
        jobs: a history that holds all its attempts.
        job: its number, or ``ARRAY_TASK``.
        costs: of the cluster, for a period that holds the job; its price of a GPU-hour counts.
        checkpoint_us: interval of checkpoints, for attempts whose lost work nobody counted.

    Raises:
        InputError: the history does not have it.
    """
    rows = jobs.take(_rows(jobs, job)).attempts()
    if not len(rows):
        said = f"the history has no job {plain_text(job, 40)}"
        raise InputError(FINDINGS["ACCOUNT-NO-JOB"].at("--job", said, "say --from with a time before it was submitted"))
    until = costs.end_us
    whole = per_job(rows, until, checkpoint_us)
    run, kept = int(whole.run_us[0]), int(whole.kept_us[0])
    end = int(whole.end_us[0]) if whole.end_us[0] >= 0 else until
    waited = max(end - int(whole.ready_us[0]) - run, 0) if whole.ready_us[0] >= 0 else 0
    held_us = rows.run_us(until)
    gpu_us = held_us * rows.gpus
    cut = rows.are(*INTERRUPTED) & (rows.start_us >= 0)
    measured = bool(np.isfinite(rows.energy_j[held_us > 0]).all()) and run > 0
    mean_w = costs.energy_j / max((costs.end_us - costs.begin_us) / SECOND_US, 1e-9) / costs.gpus
    energy = float(np.nansum(rows.energy_j)) * costs.pue if measured else float(gpu_us.sum()) / SECOND_US * mean_w
    known = np.isfinite(rows.utilisation) & (gpu_us > 0)
    hours = float(gpu_us.sum()) / SECOND_US / HOUR_S
    return JobReport(
        job=job,
        name=plain_text(rows.name.tolist()[-1]),
        user=plain_text(rows.user.tolist()[-1]),
        account=plain_text(rows.account.tolist()[-1]),
        state=STATES[rows.state[-1]],
        gpus=float(rows.gpus[-1]),
        attempts=_attempts(rows, kept_us(rows, until, checkpoint_us), until),
        wait_s=waited / SECOND_US,
        run_s=run / SECOND_US,
        lost_s=(run - kept) / SECOND_US,
        lost_known=bool((rows.lost_us[cut] >= 0).all()),
        goodput=kept / (run + waited) if run else math.nan,
        gpu_hours=hours,
        utilisation=float(np.average(rows.utilisation[known], weights=gpu_us[known])) if known.any() else math.nan,
        cost=hours * costs.gpu_hour,
        currency=costs.currency,
        energy_j=energy,
        energy_measured=measured,
        carbon_g=energy / JOULE_PER_KWH * costs.carbon_g_per_kwh,
    )


def _rows(jobs: JobTable, job: str) -> Any:
    found = re.fullmatch(r"(\d{1,18})(?:_(\d{1,9}))?", job)
    if found is None:
        return np.zeros(len(jobs), dtype=np.bool_)
    if found[2] is None:
        return jobs.job_id == int(found[1])
    return (jobs.array_job == int(found[1])) & (jobs.array_task == int(found[2]))


def _attempts(rows: JobTable, kept: Any, until: int) -> list[dict[str, Any]]:
    run = rows.run_us(until)
    return [
        {
            "attempt": i + 1,
            "state": STATES[rows.state[i]],
            "start_s": rows.start_us[i] / SECOND_US if rows.start_us[i] >= 0 else None,
            "end_s": rows.end_us[i] / SECOND_US if rows.end_us[i] >= 0 else None,
            "nodes": rows.node_list.words[rows.node_list.codes[i]],
            "run_s": run[i] / SECOND_US,
            "lost_s": (run[i] - kept[i]) / SECOND_US,
        }
        for i in range(len(rows))
    ]
