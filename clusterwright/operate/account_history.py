"""The history of a cluster that runs, asked from its Slurm; and periods as people write them."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding
from clusterwright.operate.account_codes import FINDINGS
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Slurm
from clusterwright.traces import ENVIRONMENT, SECOND_US, History, JobTable, NodeSamples, read_sacct, with_use, words

__all__ = ["history", "measured", "moment", "period"]

_SECONDS = 300.0
"""A month of a large cluster takes slurmdbd minutes."""


def history(site: Site, begin_us: int, end_us: int, job: str = "") -> History:
    """Every attempt that touches the period, waiting ones included; or every attempt of one job, whenever it was.

    The separator is made anew each time, so that no user can put it into a job's name.

    Args:
        site: whose Slurm is asked.
        begin_us, end_us: the period; not asked for with a job.
        job: its number, or ``ARRAY_TASK``.

    Raises:
        WorldError: ``sacct`` is missing, or slurmdbd does not answer.
    """
    slurm = Slurm(site.slurm_conf, extra={**ENVIRONMENT, "TZ": "UTC"})
    asked = words(f"@{secrets.token_hex(12)}@")
    which = ["-j", job, "-S", _local(0)] if job else ["-S", _local(begin_us), "-E", _local(end_us)]
    said = slurm.run("sacct", *asked, *which, seconds=_SECONDS)
    return read_sacct(said.split("\n"), f"sacct of {site.name}")


_STEP_S = 30.0
_MOST_SAMPLES = 3_000
"""Of a series in one answer: a month in steps of 15 minutes, 75 MB for a thousand nodes; Prometheus gives 11,000."""


def measured(site: Site, jobs: JobTable, until_us: int) -> tuple[JobTable, list[Finding]]:
    """The jobs with utilisation and energy as Prometheus kept them of their nodes.

    Args:
        site: whose Prometheus is asked; without one the jobs are returned as they are.
        jobs: of :func:`history`.
        until_us: end of jobs that run.
    """
    ran = jobs.start_us[jobs.start_us >= 0]
    if site.prometheus is None or not len(ran):
        return jobs, []
    begin_s, end_s = int(ran.min()) / SECOND_US, until_us / SECOND_US
    step_s = max((end_s - begin_s) / _MOST_SAMPLES, min(_STEP_S, max((end_s - begin_s) / 200, 1.0)))
    server = Prometheus(site.prometheus, site.token_file, seconds=60.0)
    try:
        busy, power, gpus = (
            _samples(server, name, begin_s, end_s, step_s)
            for name in ("node:gpu_utilisation:ratio", "node:power:watts", "node:gpus:count")
        )
    except WorldError as error:
        return jobs, [FINDINGS["ACCOUNT-NO-SAMPLES"].at(site.prometheus, error.findings[0].message)]
    if not busy.values:
        said = "has no series node:gpu_utilisation:ratio of the time of these jobs"
        return jobs, [FINDINGS["ACCOUNT-NO-SAMPLES"].at(site.prometheus, said, "are the rendered rules loaded?")]
    each = max((int(np.nanmax(values)) for values in gpus.values.values()), default=1)
    return with_use(jobs, until_us, each, busy, power), []


def _samples(server: Prometheus, text: str, begin_s: float, end_s: float, step_s: float) -> NodeSamples:
    """A series of every node on one grid of times."""
    count = int((end_s - begin_s) / step_s) + 1
    made: dict[str, NDArray[np.float64]] = {}
    for labels, values in server.series(text, begin_s, end_s, step_s):
        row = made.setdefault(labels.get("node", ""), np.full(count, np.nan))
        at = np.rint((np.array([float(pair[0]) for pair in values]) - begin_s) / step_s).astype(np.int64)
        inside = (at >= 0) & (at < count)
        row[at[inside]] = np.array([float(pair[1]) for pair in values])[inside]
    return NodeSamples(np.rint((begin_s + np.arange(count) * step_s) * SECOND_US).astype(np.int64), made)


def _local(us: int) -> str:
    return datetime.fromtimestamp(us / SECOND_US, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def period(begin: str, end: str, now: datetime | None = None) -> tuple[int, int]:
    """Begin and end in microseconds of what a person wrote; the current month until now when both are empty.

    Args:
        begin, end: ``2026-11`` (a month, its end when it is the end), ``2026-11-01``, ``2026-11-01T08:00``, or
            ``-7d``, ``-12h`` before now; UTC.
        now: of the clock.

    Raises:
        InputError: one of them is none of these, or the end is not after the begin.
    """
    clock = now or datetime.now(UTC)
    first = clock.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    start = moment(begin, clock) if begin else first
    if end:
        stop = moment(end, clock)
    else:
        stop = _next_month(start) if re.fullmatch(r"\d{4}-\d{2}", begin) else clock
    if stop <= start:
        said = f"{stop:%Y-%m-%d %H:%M} is not after {start:%Y-%m-%d %H:%M}"
        raise InputError(FINDINGS["ACCOUNT-PERIOD"].at("--to", said, "--from 2026-11-01 --to 2026-12-01"))
    return round(start.timestamp() * SECOND_US), round(stop.timestamp() * SECOND_US)


def moment(text: str, now: datetime) -> datetime:
    """A moment as a person wrote it, in UTC."""
    if text == "now":
        return now
    back = re.fullmatch(r"-(\d{1,6})([mhd])", text)
    if back:
        unit = {"m": "minutes", "h": "hours", "d": "days"}[back[2]]
        return now - timedelta(**{unit: int(back[1])})
    written = f"{text}-01" if re.fullmatch(r"\d{4}-\d{2}", text) else text
    try:
        made = datetime.fromisoformat(written)
    except ValueError:
        said = f"'{text[:40]}' is no date or time"
        raise InputError(FINDINGS["ACCOUNT-PERIOD"].at("--from, --to", said, "2026-11-01, 2026-11 or -7d")) from None
    return made.replace(tzinfo=UTC) if made.tzinfo is None else made.astimezone(UTC)


def _next_month(start: datetime) -> datetime:
    return (start.replace(day=1) + timedelta(days=32)).replace(day=1)
