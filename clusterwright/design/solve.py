"""The main job: one spec in, one complete, explained cluster out."""

from __future__ import annotations

import hashlib
from difflib import get_close_matches
from typing import Any

import numpy as np

from clusterwright import __version__
from clusterwright.catalog import Catalog
from clusterwright.cluster import SCHEMA_NAME, Cluster, Law
from clusterwright.design.audit import audit
from clusterwright.design.candidates import Candidate, enumerate_candidates
from clusterwright.design.choose import considered_rows, finish, pareto_points, pick
from clusterwright.design.codes import FINDINGS
from clusterwright.design.doors import assemble, weigh
from clusterwright.design.limits import constraint_rows, holds, limits_of
from clusterwright.design.relax import relaxations
from clusterwright.design.risks import risks
from clusterwright.design.sensitivity import sensitivities
from clusterwright.domains import compute, cost, fabric, facility, reliability, scheduling, storage, training
from clusterwright.errors import InputError
from clusterwright.search import dominated
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["all_laws", "design"]


def all_laws() -> dict[str, Law]:
    """Every law of every domain by name."""
    made: dict[str, Law] = {}
    for room in (compute, cost, fabric, facility, reliability, scheduling, storage, training):
        made.update(room.LAWS)
    return made


def design(spec: Spec, catalog: Catalog) -> Cluster:
    """Design the cluster that ``spec`` asks for.

    Args:
        spec: a validated spec.
        catalog: what can be had.

    Returns:
        The cluster, ``verdict`` feasible or infeasible, with options considered, limits, relaxations, sensitivities
        and the audit of the spec's claims in ``answers``.

    Raises:
        InputError: the catalogue has nothing that could be weighed.
    """
    candidates = enumerate_candidates(spec, catalog)
    if not any(not c.lifts for c in candidates):
        raise InputError(_nothing(spec))
    frame = weigh(candidates, spec, catalog)
    limits = limits_of(spec, frame)
    feasible = holds(limits, frame)
    winner = pick(candidates, frame, limits, feasible, spec)
    cluster = assemble(candidates[winner], spec, catalog)
    cluster.head = _head(spec, catalog, bool(feasible[winner]), len(candidates))
    rows = constraint_rows(limits_of(spec, cluster.frame), cluster)
    objectives = np.column_stack([finish(frame, spec), frame["cost.tco_usd"]])
    beaten = dominated(np.where(feasible[:, None], objectives, np.inf)) | ~feasible
    cluster.answers |= {
        "requested": _requested(spec),
        "constraints": rows,
        "considered": considered_rows(candidates, frame, limits, feasible, winner, spec),
        "pareto": pareto_points(candidates, frame, feasible, winner, spec, beaten),
        "relaxations": [] if feasible[winner] else relaxations(candidates, frame, limits, feasible, winner, spec),
        "sensitivity": sensitivities(cluster, candidates[winner], spec, catalog, all_laws()),
        "audit": {"claims": audit(cluster, spec)},
    }
    _say(cluster, spec, candidates, frame, feasible, winner)
    return cluster


def _head(spec: Spec, catalog: Catalog, feasible: bool, weighed: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA_NAME,
        "name": spec.name,
        "version": __version__,
        "verdict": "feasible" if feasible else "infeasible",
        "spec_sha256": hashlib.sha256(spec.text.encode()).hexdigest(),
        "spec_file": spec.file,
        "catalogue_date": catalog.date,
        "currency": spec.currency,
        "options_weighed": weighed,
    }


def _requested(spec: Spec) -> dict[str, Any]:
    """What was asked, in a few words, for the first screen of the report."""
    runs = []
    for workload in spec.workloads:
        train = workload.train
        if train is not None:
            runs.append(
                {
                    "name": workload.name,
                    "model": train.architecture.name,
                    "parameters": train.architecture.parameters,
                    "tokens": train.tokens,
                    "sequence": train.sequence,
                    "global_batch_sequences": train.global_batch_sequences,
                    "precision": train.precision,
                    "deadline_s": train.deadline_s,
                }
            )
    return {
        "runs": runs,
        "objective": dict(spec.objective),
        "gpus": spec.compute.gpus,
        "accelerators": spec.compute.accelerators,
        "years": spec.finance.years,
        "sites": [{"name": s.name, "region": s.region} for s in spec.sites],
    }


def _say(
    cluster: Cluster, spec: Spec, candidates: list[Candidate], frame: Any, feasible: Any, winner: int
) -> None:
    """The findings of the choice itself: broken limits, better options outside the spec, risks, refused claims."""
    rows = cluster.answers["constraints"]
    if not feasible[winner]:
        worst = rows[0]
        out = cluster.answers["relaxations"]
        cheapest = f"cheapest way out: {out[0]['text']}" if out else "no relaxation of a single limit helps"
        cluster.say(
            FINDINGS["DESIGN-INFEASIBLE"].at(
                worst["place"] or worst["path"],
                f"no option holds every limit; binding: {worst['name']}, {worst['text']}",
                cheapest,
            )
        )
        for row in rows:
            if not row["holds"]:
                cluster.say(FINDINGS["DESIGN-LIMIT-BROKEN"].at(row["path"], f"{row['name']}: {row['text']}"))
    _say_outside(cluster, candidates, frame, feasible, winner)
    cluster.say(*risks(cluster, spec, rows))
    _say_audit(cluster)


def _say_outside(cluster: Cluster, candidates: list[Candidate], frame: Any, feasible: Any, winner: int) -> None:
    cost_usd = frame["cost.tco_usd"]
    outside = np.array([bool(c.lifts) for c in candidates]) & feasible
    if not feasible[winner] or not outside.any():
        return
    best = int(np.argmin(np.where(outside, cost_usd, np.inf)))
    saving = float(cost_usd[winner] - cost_usd[best])
    if saving > 0.05 * float(cost_usd[winner]):
        cluster.say(
            FINDINGS["DESIGN-BETTER-OUTSIDE"].at(
                "cost.tco_usd",
                f"{candidates[best].name} would hold every limit and cost {human('x_usd', saving)} less over the "
                f"operating years ({saving / float(cost_usd[winner]):.0%})",
                f"free {' and '.join(candidates[best].lifts)} to let it be chosen",
            )
        )


def _say_audit(cluster: Cluster) -> None:
    for claim in cluster.answers["audit"]["claims"]:
        if claim["computed"] is None:
            near = get_close_matches(claim["path"], list(cluster.frame), n=3, cutoff=0.6)
            hint = f"did you mean {', '.join(near)}?" if near else "list the figures with 'clusterwright explain RUN'"
            cluster.say(FINDINGS["AUDIT-UNKNOWN-PATH"].at(claim["path"], "no law computes this figure", hint))
        elif claim["verdict"] == "does-not-hold" or claim["contradicts"]:
            cluster.say(
                FINDINGS["AUDIT-CLAIM-REFUSED"].at(claim["path"], f"claimed {claim['text']}: {claim['verdict']}; "
                + claim["arithmetic"].rstrip("."))
            )


def _nothing(spec: Spec) -> Any:
    asked = ", ".join(spec.compute.accelerators or ["any accelerator"])
    precision = ", ".join(sorted({w.train.precision for w in spec.workloads if w.train is not None}))
    return FINDINGS["DESIGN-NO-OPTION"].at(
        spec.place("compute"),
        f"the catalogue has no server to buy with {asked} that computes in {precision} over the fabric asked for",
        "see 'clusterwright catalog list server', add one with --catalog FILE, or ask for another precision or fabric",
    )
