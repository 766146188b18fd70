"""The first screen: the answer, what was asked, the numbers that decide, and the main risks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.findings import SEVERITIES, Finding
from clusterwright.report.model import Number, Risk, Verdict, figure
from clusterwright.report.words import label, number, span

__all__ = ["asked", "key_numbers", "main_risks", "runs", "verdict"]


def verdict(cluster: Cluster) -> Verdict:
    """The answer: feasible or not, by which margin, and what binds or would have to give."""
    good = cluster.verdict == "feasible"
    rows = [row for row in cluster.answers.get("constraints") or [] if isinstance(row, Mapping)]
    if not good:
        broken = [row for row in rows if not row.get("holds", True)]
        told = "; ".join(f"{row['name']}: {row.get('text') or _against(row)}" for row in broken[:2])
        out = cluster.answers.get("relaxations") or []
        way = f"Way out with the fewest changes: {out[0]['text']}." if out else "No single change of the spec helps."
        told = f"{told[:1].upper()}{told[1:]}" or "No option holds every limit"
        return Verdict(cluster.verdict or "no verdict", False, told, way)
    row = _telling(rows)
    if row is None:
        return Verdict("feasible", True, "No limit was set, so none is broken.")
    return Verdict("feasible", True, _margin(row), _others(rows, row))


def _telling(rows: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The limit worth telling first: a deadline, else the tightest that is a quantity."""
    measured = [row for row in rows if row.get("limit") not in (0, 1, 1.0, None)]
    deadlines = [row for row in measured if str(row.get("path", "")).endswith(("finish_s", "time_to_train_s"))]
    asked_for = [row for row in deadlines if "deadline" in str(row.get("key", "deadline"))]
    return next(iter([*asked_for, *measured]), None)


def _against(row: Mapping[str, Any]) -> str:
    path = _path(row)
    return f"{number(path, row.get('value'))} against {number(path, row.get('limit'))}"


def _path(row: Mapping[str, Any]) -> str:
    return str(row.get("path", ""))


def _margin(row: Mapping[str, Any]) -> str:
    path = _path(row)
    between = span(path, row.get("low"), row.get("high"))
    within = f" ({between})" if between else ""
    side = "at most" if row.get("at_most", True) else "at least"
    said = f"{number(path, row.get('value'))}{within}, {side} {number(path, row.get('limit'))} allowed"
    name = str(row.get("name", path))
    return f"{name[:1].upper()}{name[1:]}: {said}. {float(row.get('margin') or 0):.0%} to spare"


def _others(rows: list[Mapping[str, Any]], told: Mapping[str, Any]) -> str:
    risky = [str(row["name"]) for row in rows if not row.get("holds_throughout", True)]
    said = "Every other limit holds too." if len(rows) > 1 else ""
    if risky:
        said += f" The pessimistic end of the 80 % interval breaks {', '.join(risky[:3])}."
    elif told is not None:
        said += " Every limit holds over the whole 80 % interval."
    return said.strip()


def runs(cluster: Cluster) -> list[Mapping[str, Any]]:
    """The training runs asked for, as the design echoes them."""
    requested = cluster.answers.get("requested")
    found = requested.get("runs") if isinstance(requested, Mapping) else None
    return [run for run in found or [] if isinstance(run, Mapping)]


def asked(cluster: Cluster) -> list[tuple[str, str]]:
    """What was asked, in a few words each."""
    requested = cluster.answers.get("requested")
    if not isinstance(requested, Mapping):
        return []
    made = [(str(run.get("name", "run")), _run_words(run)) for run in runs(cluster)]
    objective = requested.get("objective")
    if isinstance(objective, Mapping) and objective:
        weights = [name if len(objective) == 1 else f"{float(w):.0%} {name}" for name, w in objective.items()]
        made.append(("objective", " and ".join(weights)))
    if requested.get("gpus") or requested.get("accelerators"):
        parts = ", ".join(requested.get("accelerators") or ["any"])
        made.append(("accelerators", f"{requested['gpus']:,} × {parts}" if requested.get("gpus") else parts))
    sites = [f"{s.get('name')} ({s.get('region')})" for s in requested.get("sites") or []]
    if sites:
        made.append(("sites" if len(sites) > 1 else "site", ", ".join(sites)))
    if requested.get("years"):
        made.append(("operating years", f"{requested['years']:g}"))
    return made


def _run_words(run: Mapping[str, Any]) -> str:
    said = [str(run.get("model", ""))]
    if run.get("parameters"):
        said.append(f"{run['parameters'] / 1e9:.3g}B parameters")
    if run.get("tokens"):
        tokens = float(run["tokens"])
        said.append(f"{tokens / 1e12:.3g}T tokens" if tokens >= 1e12 else f"{tokens / 1e9:.3g}B tokens")
    if run.get("precision"):
        said.append(str(run["precision"]))
    if run.get("deadline_s"):
        said.append(f"within {number('deadline_s', run['deadline_s'])}")
    return ", ".join(part for part in said if part)


def key_numbers(cluster: Cluster) -> list[Number]:
    """Time, cost, power and GPUs, each with its interval and one line that places it."""
    return [one for one in (_time(cluster), _cost(cluster), _power(cluster), _gpus(cluster)) if one is not None]


def _join(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _said(cluster: Cluster, path: str, words: str) -> str:
    found = figure(cluster, path)
    return words.format(found.text) if found is not None else ""


def _time(cluster: Cluster) -> Number | None:
    count = sum(1 for path in cluster.frame if path.startswith("training[") and path.endswith("].time_to_train_s"))
    path = f"training[{count - 1}].finish_s" if count > 1 else "training[0].time_to_train_s"
    deadline = next((run.get("deadline_s") for run in reversed(runs(cluster)) if run.get("deadline_s")), None)
    within = f"of {number('deadline_s', deadline)} allowed" if deadline else ""
    name = "Time until the last run is done" if count > 1 else "Time to train"
    return figure(cluster, path, name=name, note=_join(within, _said(cluster, "training[0].mfu", "MFU {}")))


def _cost(cluster: Cluster) -> Number | None:
    how = cluster.frame.text("cost.procurement", "buy")
    if how in ("rent", "reserved"):
        note = _said(cluster, "cost.tco_usd", "{} over the operating years")
        return figure(cluster, "cost.rent_usd", name="Cost of the run, rented", note=note)
    purchase = figure(cluster, "cost.colocate_capex_usd" if how == "colocate" else "cost.capex_usd")
    between = f" ({purchase.span})" if purchase is not None and purchase.span else ""
    requested = cluster.answers.get("requested")
    years = requested.get("years") if isinstance(requested, Mapping) else None
    name = f"Cost over {years:g} years" if years else "Cost of ownership"
    note = f"purchase {purchase.text}{between}" if purchase else ""
    rent = figure(cluster, "cost.rent_usd")
    if rent is not None and rent.value and note:
        note += f"; renting for the runs alone {rent.text}"
    return figure(cluster, "cost.tco_usd", name=name, note=note)


def _power(cluster: Cluster) -> Number | None:
    parts = [_said(cluster, "facility.it_power_w", "IT {}"), _said(cluster, "facility.pue", "PUE {}")]
    return figure(cluster, "facility.meter_power_w", name="Power at the meter", note=_join(*parts))


def _gpus(cluster: Cluster) -> Number | None:
    accelerator = cluster.frame.text("compute.accelerator", "")
    nodes = _said(cluster, "compute.nodes", "{} nodes")
    spares = _said(cluster, "compute.spare_nodes", " + {} spare")
    return figure(
        cluster,
        "compute.gpus",
        name=f"GPUs: {accelerator}" if accelerator else "GPUs",
        note=_join(f"{nodes}{spares}", _said(cluster, "facility.racks", "{} racks")),
    )


def main_risks(cluster: Cluster, most: int = 3) -> list[Risk]:
    """The worst findings: errors, then risks (those to a limit first), then warnings.

    What the verdict tells already (which limits are broken) is not repeated.
    """
    order = {"error": 0, "risk": 1, "warning": 2, "info": 3}
    rows = [row for row in cluster.answers.get("constraints") or [] if isinstance(row, Mapping)]
    close = {str(row.get("path")) for row in rows if not row.get("holds_throughout", True)}
    broken = {str(row.get("path")) for row in rows if not row.get("holds", True)}
    found = sorted(cluster.findings, key=lambda f: (order[f.severity], str(f.place) not in close))
    told = [f for f in found if f.code == "DESIGN-INFEASIBLE" or (f.severity == "error" and str(f.place) in broken)]
    return [_risk(one, cluster) for one in found if one.severity != "info" and one not in told][:most]


def all_findings(cluster: Cluster) -> Iterator[Risk]:
    """Every finding, worst first."""
    for one in sorted(cluster.findings, key=lambda f: SEVERITIES.index(f.severity)):
        yield _risk(one, cluster)


def _risk(finding: Finding, cluster: Cluster) -> Risk:
    place = str(finding.place)
    known = place in cluster.frame
    said = finding.message.rstrip(".")
    message = said[:1].upper() + said[1:]
    return Risk(
        finding.code, finding.severity, message, finding.hint, place if known else "", label(place) if known else ""
    )
