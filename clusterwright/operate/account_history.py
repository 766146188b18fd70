"""The history of a cluster that runs, asked from its Slurm; and periods as people write them."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta

from clusterwright.errors import InputError
from clusterwright.operate.account_codes import FINDINGS
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Slurm
from clusterwright.traces import ENVIRONMENT, SECOND_US, History, read_sacct, words

__all__ = ["history", "moment", "period"]

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
