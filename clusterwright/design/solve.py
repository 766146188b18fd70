"""The main job: one spec in, one complete, explained cluster out."""

from __future__ import annotations

import hashlib
from difflib import get_close_matches
from typing import Any

import numpy as np

from clusterwright import __version__
from clusterwright.catalog import Catalog, Part
from clusterwright.cluster import SCHEMA_NAME, Cluster
from clusterwright.design.audit import audit
from clusterwright.design.candidates import (
    RENTED,
    Candidate,
    enumerate_candidates,
    feasible_fabrics,
    lacking,
    provided,
    servers_for,
)
from clusterwright.design.choose import considered_rows, pareto_points
from clusterwright.design.codes import FINDINGS
from clusterwright.design.doors import assemble
from clusterwright.design.launches import launches
from clusterwright.design.limits import constraint_rows, limits_of
from clusterwright.design.relax import relaxations
from clusterwright.design.risks import risks
from clusterwright.design.sensitivity import sensitivities
from clusterwright.design.weighing import Weighing, weigh_all
from clusterwright.domains import all_laws
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.spec import Spec
from clusterwright.units import human, money_in

__all__ = ["design"]


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
    with money_in(spec.currency, catalog.currency(spec.currency).value):
        return _design(spec, catalog)


def _design(spec: Spec, catalog: Catalog) -> Cluster:
    candidates = enumerate_candidates(spec, catalog)
    if not any(not c.lifts for c in candidates):
        raise InputError(_nothing(spec, catalog))
    weighing = _weigh(candidates, spec, catalog)
    spec, winner = weighing.spec, candidates[weighing.winner]
    cluster = assemble(winner, spec, catalog)
    cluster.head = _head(spec, weighing) | {"currency_usd": catalog.currency(spec.currency).value}
    cluster.answers |= {
        "requested": _requested(spec),
        "constraints": constraint_rows(limits_of(spec, cluster.frame), cluster),
        "considered": considered_rows(weighing),
        "pareto": pareto_points(weighing),
        "relaxations": [] if weighing.found else relaxations(weighing, catalog),
        "sensitivity": sensitivities(cluster, winner, spec, catalog, all_laws()),
        "audit": {"claims": audit(cluster, spec)},
        "deploy": spec.deploy.model_dump(),
        "launch": launches(cluster, winner, spec, catalog),
    }
    _say(cluster, weighing, catalog)
    return cluster


def _weigh(candidates: list[Candidate], spec: Spec, catalog: Catalog) -> Weighing:
    """All candidates weighed; with offloading where the spec leaves it open and nothing that was asked fits without."""
    plain = weigh_all(candidates, spec.without_offload(), catalog)
    fits = [plain.frame[f"training[{j}].fits"] > 0 for j in range(len(spec.workloads))]
    if spec.offloads_freely and not (np.all(fits, axis=0) & plain.asked).any():
        return weigh_all(candidates, spec, catalog)
    return plain


def _head(spec: Spec, weighing: Weighing) -> dict[str, Any]:
    return {
        "schema": SCHEMA_NAME,
        "name": spec.name,
        "version": __version__,
        "verdict": "feasible" if weighing.found else "infeasible",
        "spec_sha256": hashlib.sha256(spec.text.encode()).hexdigest(),
        "spec_file": spec.file,
        "currency": spec.currency,
        "options_weighed": len(weighing.candidates),
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


def _say(cluster: Cluster, weighing: Weighing, catalog: Catalog) -> None:
    """The findings of the choice itself: broken limits, better options outside the spec, risks, refused claims."""
    rows = cluster.answers["constraints"]
    if not weighing.found:
        worst, out = rows[0], cluster.answers["relaxations"]
        cheapest = _ways_out(out)
        message = f"no option holds every limit; binding: {worst['name']}, {worst['text']}"
        cluster.say(FINDINGS["DESIGN-INFEASIBLE"].at(worst["place"] or worst["path"], message, cheapest))
        for row in rows:
            if not row["holds"]:
                cluster.say(FINDINGS["DESIGN-LIMIT-BROKEN"].at(row["path"], f"{row['name']}: {row['text']}"))
    _say_outside(cluster, weighing)
    cluster.say(*risks(cluster, weighing.spec, catalog, rows))
    _say_audit(cluster)


def _ways_out(out: list[dict[str, Any]]) -> str:
    """The way out with the fewest changes, and the cheapest where that is another one."""
    if not out:
        return "no relaxation of what was weighed helps"
    said, least = f"way out with the fewest changes: {out[0]['text']}", min(out, key=lambda row: row["cost_usd"])
    return said if least is out[0] else f"{said}; the cheapest: {least['text']}"


def _say_outside(cluster: Cluster, weighing: Weighing) -> None:
    """A feasible option outside the spec that costs at least 5 % less than the choice."""
    outside = ~weighing.asked & weighing.feasible
    if not weighing.found or not outside.any() or weighing.spec.objective.get("cost", 0.0) < 0.5:
        return
    best = int(np.argmin(np.where(outside, weighing.cost, np.inf)))
    base, option = float(weighing.cost[weighing.winner]), weighing.candidates[best]
    saving = base - float(weighing.cost[best])
    if saving > 0.05 * base:
        cluster.say(
            FINDINGS["DESIGN-BETTER-OUTSIDE"].at(
                "cost.tco_usd",
                f"{option.name} would hold every limit and cost {human('x_usd', saving)} less over the operating "
                f"years ({saving / base:.0%})",
                f"free {' and '.join(option.lifts)} to let it be chosen",
            )
        )


def _say_audit(cluster: Cluster) -> None:
    for claim in cluster.answers["audit"]["claims"]:
        if claim["computed"] is None:
            near = get_close_matches(claim["path"], list(cluster.frame), n=3, cutoff=0.6)
            hint = f"did you mean {', '.join(near)}?" if near else "list the figures with 'clusterwright explain RUN'"
            cluster.say(FINDINGS["AUDIT-UNKNOWN-PATH"].at(claim["path"], "no law computes this figure", hint))
        elif claim["verdict"] == "does-not-hold":
            message = f"claimed {claim['text']}, which does not hold. {claim['arithmetic'].rstrip('.')}"
            cluster.say(FINDINGS["AUDIT-CLAIM-REFUSED"].at(claim["path"], message))


def _nothing(spec: Spec, catalog: Catalog) -> Finding:
    """Why there is nothing to weigh: the fabric, the data of the named server, or the precision."""
    fabric, server = spec.fabric.technology, spec.compute.server
    asked = server or ", ".join(spec.compute.accelerators or ["any accelerator"])
    precision = ", ".join(sorted({w.train.precision for w in spec.workloads if w.train is not None}))
    hint = "see 'clusterwright catalog list server', add one with --overlay FILE, or ask for another precision"
    if server is not None and provided(catalog.get("server", server)) and servers_for(spec, catalog):
        return _not_at_provider(spec, catalog, catalog.get("server", server))
    if fabric is not None and servers_for(spec, catalog):
        said = f"switches of {fabric} are not sold, so that no network can be built of it"
        return FINDINGS["DESIGN-NO-OPTION"].at(spec.place("fabric.technology"), said, "name another, or leave it auto")
    if server is not None:
        named = [catalog.get("server", server)]
    else:
        named = [s for s in catalog.parts("server") if s.text("accelerator") in (spec.compute.accelerators or [])]
    missing = [(s.name, lacking(s)) for s in named]
    if missing and all(keys for _, keys in missing):
        name, keys = min(missing, key=lambda one: len(one[1]))
        said = f"the catalogue does not know {', '.join(keys)} of {name}, without which no cluster can be designed"
        hint = "add them with --overlay FILE, or name another server or accelerator"
    else:
        said = f"the catalogue has no complete server to buy with {asked} that computes in {precision}"
    return FINDINGS["DESIGN-NO-OPTION"].at(spec.place("compute"), said, hint)


def _not_at_provider(spec: Spec, catalog: Catalog, server: Part) -> Finding:
    """Why a provider's instance cannot be had as asked: it is only rented, and its network comes with it."""
    asked, title = spec.finance.procurement, server.text("provider").upper()
    if asked and not set(asked) & set(RENTED):
        said = f"{server.name} is an instance of {title}, which can only be rented, not {' or '.join(asked)}"
        hint = "write finance.procurement: [rent], or name a server that is sold"
        return FINDINGS["DESIGN-NO-OPTION"].at(spec.place("finance.procurement"), said, hint)
    free = spec.model_copy(update={"fabric": spec.fabric.model_copy(update={"technology": None})})
    theirs = " or ".join(feasible_fabrics(free, catalog, server)) or "its own network"
    said = f"{title} joins {server.name} by {theirs}; {spec.fabric.technology} cannot be had there"
    hint = f"leave fabric.technology out or write {theirs}, or rent a server that has {spec.fabric.technology}"
    return FINDINGS["DESIGN-NO-OPTION"].at(spec.place("fabric.technology"), said, hint)
