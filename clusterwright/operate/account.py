"""Who pays what: the cost of the cluster, shared among the teams that used it, to the cent.

Every line of the bill is divided by GPU-hours (or, for energy, by measured energy) into what the teams held or used,
what was idle and what served the operation itself. The last two are shown, and spread over the teams by a rule that
is stated. Amounts are whole cents, divided by largest remainder, so that rows and columns both sum to the bill.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.operate.account_codes import FINDINGS
from clusterwright.operate.account_costs import Costs
from clusterwright.operate.account_split import split
from clusterwright.operate.slurm import plain_text
from clusterwright.traces import SECOND_US, JobTable, held_us
from clusterwright.units import HOUR_S, JOULE_PER_KWH

__all__ = ["BASES", "IDLE", "IDLE_RULES", "OVERHEAD", "Bill", "Part", "Team", "account"]

Basis = Literal["allocation", "use"]
IdleRule = Literal["quota", "held", "apart"]
BASES: tuple[Basis, ...] = ("allocation", "use")
IDLE_RULES: Mapping[str, str] = {
    "quota": "idle capacity is paid by the teams whose own GPUs were not used, in proportion to how many of them",
    "held": "idle capacity is paid by all teams in proportion to what they are charged for",
    "apart": "idle capacity is charged to nobody and stands in a row of its own",
}
"""How the cost of idle capacity is spread."""
IDLE, OVERHEAD = "(idle)", "(overhead)"
OPERATION = ("root", "operations")
"""Accounts whose jobs serve the operation: health checks, acceptance tests."""
_HOUR_US = HOUR_S * SECOND_US
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """What a team is charged on one line of the bill, in cents: for what it held, and for idle and overhead."""

    direct: int
    idle: int
    overhead: int

    @property
    def cents(self) -> int:
        """All of it."""
        return self.direct + self.idle + self.overhead


@dataclass(frozen=True)
class Team:
    """A team's row; :data:`IDLE` and :data:`OVERHEAD` are rows, too, where nobody is charged for them.

    Attributes:
        name: account.
        jobs: different ones that touch the period.
        gpu_hours: held. used_gpu_hours: of them busy, None where nothing is measured.
        parts: by line of the bill.
        subsidy_cents: taken off, and paid by the site.
        energy_j: at the meter, carbon_g: of it, both with the team's part of idle and overhead.
    """

    name: str
    jobs: int
    gpu_hours: float
    used_gpu_hours: float | None
    parts: Mapping[str, Part]
    subsidy_cents: int
    energy_j: float
    carbon_g: int

    @property
    def direct_cents(self) -> int:
        """For what it held or used."""
        return sum(part.direct for part in self.parts.values())

    @property
    def idle_cents(self) -> int:
        """For idle capacity."""
        return sum(part.idle for part in self.parts.values())

    @property
    def overhead_cents(self) -> int:
        """For the operation's own jobs."""
        return sum(part.overhead for part in self.parts.values())

    @property
    def cost_cents(self) -> int:
        """Before subsidies; over all rows this is what the cluster costs."""
        return sum(part.cents for part in self.parts.values())

    @property
    def charged_cents(self) -> int:
        """What the team pays."""
        return self.cost_cents - self.subsidy_cents


@dataclass(frozen=True)
class Bill:
    """The account of a period.

    Attributes:
        costs: what was shared.
        basis: ``allocation`` (GPU-hours held) or ``use`` (as measured).
        idle_rule: key into :data:`IDLE_RULES`.
        teams: by name, the rows that nobody pays last.
        idle_cents, overhead_cents: before they were spread.
        idle_share: of the GPU-hours of the cluster.
        findings: what the bill stands on that is not certain.
    """

    costs: Costs
    basis: Basis
    idle_rule: IdleRule
    teams: tuple[Team, ...]
    idle_cents: int
    overhead_cents: int
    idle_share: float
    findings: tuple[Finding, ...] = field(default=())

    @property
    def cents(self) -> int:
        """All rows; equals ``costs.cents``."""
        return sum(team.cost_cents for team in self.teams)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; amounts in the currency, to the cent."""
        costs = self.costs
        return {
            "schema": "clusterwright/account/1",
            "cluster": costs.cluster,
            "begin_s": costs.begin_us / SECOND_US,
            "end_s": costs.end_us / SECOND_US,
            "basis": self.basis,
            "idle_rule": self.idle_rule,
            "currency": costs.currency,
            "cost": costs.cents / 100,
            "cost_per_gpu_hour": round(costs.gpu_hour, 6),
            "gpu_hours": costs.gpu_hours,
            "idle_share": self.idle_share,
            "idle_cost": self.idle_cents / 100,
            "overhead_cost": self.overhead_cents / 100,
            "energy_kwh": costs.energy_j / JOULE_PER_KWH,
            "carbon_kg": round(costs.carbon_g) / 1000,
            "lines": [{"line": one.name, "layer": one.layer, "cost": one.cents / 100} for one in costs.lines],
            "teams": list(self.rows()),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row a team."""
        for team in self.teams:
            yield {
                "team": plain_text(team.name, 200),
                "jobs": team.jobs,
                "gpu_hours": round(team.gpu_hours, 3),
                "used_gpu_hours": None if team.used_gpu_hours is None else round(team.used_gpu_hours, 3),
                "direct_cost": team.direct_cents / 100,
                "idle_cost": team.idle_cents / 100,
                "overhead_cost": team.overhead_cents / 100,
                "cost": team.cost_cents / 100,
                "subsidy": team.subsidy_cents / 100,
                "charged": team.charged_cents / 100,
                "energy_kwh": round(team.energy_j / JOULE_PER_KWH, 3),
                "carbon_kg": team.carbon_g / 1000,
            }


def account(
    jobs: JobTable,
    costs: Costs,
    *,
    basis: Basis = "allocation",
    idle_rule: IdleRule = "quota",
    overhead: Sequence[str] = OPERATION,
    subsidies: Mapping[str, float] | None = None,
    prices: Mapping[str, float] | None = None,
) -> Bill:
    """Share the cost of a period among the teams.

    Args:
        jobs: the history; jobs that run over an edge of the period count with their part in it.
        costs: what is shared.
        basis: what a team is charged for directly.
        idle_rule: key into :data:`IDLE_RULES`.
        overhead: accounts whose jobs serve the operation; their cost is spread over the teams like their direct cost.
        subsidies: team -> share of its cost that the site pays, 0 to 1.
        prices: team -> internal price of a GPU-hour held, in the currency; the difference to the cost is the subsidy,
            negative where the price is above the cost.

    Raises:
        InputError: use is asked for and nothing was measured, or a subsidy names nobody.
    """
    found: list[Finding] = []
    held = _Held.of(jobs, costs, overhead, basis, found)
    pays = _spread(held, idle_rule)
    parts: dict[str, dict[str, Part]] = {name: {} for name in held.names}
    idle_cents = overhead_cents = 0
    for line in costs.lines:
        keys = held.energy if line.layer == "energy" and held.energy is not None else held.key
        idle, extra, shares = _shared(line.cents, keys, held, pays, idle_rule)
        idle_cents, overhead_cents = idle_cents + idle, overhead_cents + extra
        for name, part in shares.items():
            parts[name][line.name] = part
    teams = _teams(held, parts, costs, _subsidies(held, parts, subsidies or {}, prices or {}), pays, idle_rule)
    return Bill(costs, basis, idle_rule, teams, idle_cents, overhead_cents, held.idle_share, tuple(found))


@dataclass(frozen=True)
class _Held:
    """GPU-hours by team; the last two rows are idle capacity and the operation's jobs."""

    names: tuple[str, ...]
    jobs: tuple[int, ...]
    hours: Reals
    used: Reals | None
    key: Reals
    energy: Reals | None
    quota_hours: Reals
    idle_share: float

    @classmethod
    def of(cls, jobs: JobTable, costs: Costs, overhead: Sequence[str], basis: Basis, found: list[Finding]) -> _Held:
        own = held_us(jobs, costs.begin_us, costs.end_us)
        inside = own > 0
        jobs, hours = jobs.take(inside), (own * jobs.gpus / _HOUR_US)[inside]
        accounts = jobs.account.tolist()
        seen = set(accounts)
        names = (*sorted((seen | costs.quotas.keys()) - set(overhead)), IDLE, OVERHEAD)
        place = {name: i for i, name in enumerate(names)}
        team = np.array([place.get(name, len(names) - 1) for name in accounts], dtype=np.int64)

        def by_team(values: Reals) -> Reals:
            return np.bincount(team, weights=values, minlength=len(names)).astype(np.float64)

        used = _used(jobs, hours, basis, costs, found)
        joules = _joules(jobs, own[inside], hours, costs)
        sums = by_team(hours)
        busy = None if used is None else by_team(used)
        key = busy if basis == "use" and busy is not None else sums
        idle = max(costs.gpu_hours - float(key.sum()), 0.0)
        if sums.sum() > costs.gpu_hours * (1 + 1e-9):
            said = f"{sums.sum():,.1f} GPU-hours held, {costs.gpu_hours:,.1f} are there"
            found.append(FINDINGS["ACCOUNT-MORE-THAN-THERE"].at("jobs", said))
        key = key.copy()
        key[-2] = idle
        energy = None
        if joules is not None:
            energy = by_team(joules)
            energy[-2] = max(costs.energy_j - float(energy.sum()), 0.0)
        hours_each = (costs.end_us - costs.begin_us) / _HOUR_US
        quota = np.array([costs.quotas.get(name, 0) * hours_each for name in names])
        for name in names[:-2]:
            if name not in costs.quotas:
                hint = "name it among the tenants of the spec, or say --overhead"
                found.append(FINDINGS["ACCOUNT-NO-QUOTA"].at(plain_text(name) or "(no account)", "has no quota", hint))
        counts = [len(np.unique(jobs.job_id[team == i])) for i in range(len(names))]
        return cls(names, tuple(counts), sums, busy, key, energy, quota, idle / costs.gpu_hours)


def _used(jobs: JobTable, hours: Reals, basis: Basis, costs: Costs, found: list[Finding]) -> Reals | None:
    """Busy GPU-hours of each row, by utilisation where it is known, else by energy; None where nothing is known.

    By energy a GPU-hour is as busy as its power is of a GPU's part of the power of a busy server in the design.
    """
    spent_w = jobs.energy_j / np.maximum(jobs.run_us(costs.end_us) / SECOND_US * jobs.gpus, 1e-9)
    by_power = np.minimum(spent_w / costs.gpu_power_w, 1.0)
    share = np.where(np.isfinite(jobs.utilisation), jobs.utilisation, by_power)
    known = np.isfinite(share) & (jobs.gpus > 0)
    if not known.any():
        if basis == "use" and hours.sum() > 0:
            said = "neither energy nor utilisation of any job is known"
            raise InputError(FINDINGS["ACCOUNT-NOT-MEASURED"].at("jobs", said, "say --basis allocation"))
        return None
    weight = hours[known]
    mean = float(np.average(share[known], weights=weight)) if weight.sum() > 0 else 0.0
    if basis == "use" and (missing := float(hours[~known].sum())) > 0:
        said = f"{missing:,.1f} of {hours.sum():,.1f} GPU-hours are not measured and count with {mean:.0%}"
        found.append(FINDINGS["ACCOUNT-PARTLY-MEASURED"].at("jobs", said))
    return hours * np.where(known, share, mean)


def _joules(jobs: JobTable, inside_us: NDArray[np.int64], hours: Reals, costs: Costs) -> Reals | None:
    """Energy at the meter of each row's part in the period; None unless every row with GPUs was measured."""
    measured = np.isfinite(jobs.energy_j)
    if not len(jobs) or not measured[hours > 0].all() or not measured.any():
        return None
    run = np.maximum(jobs.run_us(costs.end_us), 1)
    return np.where(measured, jobs.energy_j, 0.0) * costs.pue * inside_us / run


def _spread(held: _Held, rule: IdleRule) -> Reals:
    """Weights by which the teams pay for idle capacity; by what they hold where no quota is unused."""
    unused = np.maximum(held.quota_hours[:-2] - held.key[:-2], 0.0)
    if rule == "quota" and unused.sum() > 0:
        return unused
    return held.key[:-2] if held.key[:-2].sum() > 0 else held.quota_hours[:-2]


def _shared(cents: int, keys: Reals, held: _Held, pays: Reals, rule: IdleRule) -> tuple[int, int, Mapping[str, Part]]:
    """One line of the bill: what was idle, what the operation took, and each row's part."""
    direct = split(cents, keys.tolist())
    idle, extra, own = direct[-2], direct[-1], direct[:-2]
    nobody = not len(own)
    apart = rule == "apart" or nobody
    idles = [0] * len(own) if apart else split(idle, pays.tolist())
    weights = keys[:-2].tolist()
    extras = [0] * len(own) if nobody else split(extra, weights)
    shares = {name: Part(own[i], idles[i], extras[i]) for i, name in enumerate(held.names[:-2])}
    shares[IDLE] = Part(0, idle if apart else 0, 0)
    shares[OVERHEAD] = Part(0, 0, extra if nobody else 0)
    return idle, extra, shares


def _subsidies(
    held: _Held, parts: Mapping[str, Mapping[str, Part]], subsidies: Mapping[str, float], prices: Mapping[str, float]
) -> Mapping[str, int]:
    strange = sorted((subsidies.keys() | prices.keys()) - set(held.names[:-2]))
    if strange:
        known = ", ".join(held.names[:-2]) or "none"
        raise InputError([FINDINGS["ACCOUNT-TEAM"].at(name, "is no team here", f"teams: {known}") for name in strange])
    made = {}
    for name, hours in zip(held.names, held.hours, strict=True):
        cost = sum(part.cents for part in parts[name].values())
        left = cost
        if name in prices:
            left = round(prices[name] * float(hours) * 100)
        made[name] = cost - left + round(left * subsidies.get(name, 0.0))
    return made


def _teams(
    held: _Held,
    parts: Mapping[str, Mapping[str, Part]],
    costs: Costs,
    taken_off: Mapping[str, int],
    pays: Reals,
    rule: IdleRule,
) -> tuple[Team, ...]:
    energy = held.energy if held.energy is not None else held.key
    grams = split(round(costs.carbon_g), energy.tolist())
    _, _, carbon = _shared(sum(grams), energy, held, pays, rule)
    made = []
    for i, name in enumerate(held.names):
        grams_here = carbon[name].cents
        share = grams_here / max(round(costs.carbon_g), 1)
        team = Team(
            name,
            held.jobs[i],
            float(held.hours[i]) if name != IDLE else 0.0,
            None if held.used is None else float(held.used[i]),
            parts[name],
            taken_off[name],
            costs.energy_j * share,
            grams_here,
        )
        made.append(team)
    return tuple(one for one in made if one.name not in (IDLE, OVERHEAD) or _says(one))


def _says(team: Team) -> bool:
    """Whether a row that is no team's has anything in it."""
    return bool(team.gpu_hours or team.carbon_g or any(part.cents for part in team.parts.values()))
