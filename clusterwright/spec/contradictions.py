"""Values that cannot both be meant, whatever is built.

Only what no design could satisfy counts: a rack limit below the power of one node is no contradiction, since the
design answers it with other parts or with 'infeasible'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from clusterwright.catalog import ModelArchitecture, Part
from clusterwright.findings import Finding
from clusterwright.spec.claims import Claim
from clusterwright.spec.codes import FINDINGS
from clusterwright.spec.context import Context
from clusterwright.spec.document import Spec
from clusterwright.spec.training import Plan, Train
from clusterwright.units import human_as

__all__ = ["contradictions"]


class _Clash(NamedTuple):
    path: str
    message: str
    hint: str
    code: str = "SPEC-CONTRADICTION"


def contradictions(spec: Spec, context: Context) -> list[Finding]:
    """Everything in a spec that contradicts itself, in the order of the document's sections."""
    clashes = [
        *_names(spec),
        *_workloads(spec),
        *_compute(spec, context),
        *_storage(spec, context),
        *_sites(spec),
        *_tenants(spec),
        *_limits(spec),
        *_claims(spec),
    ]
    return [FINDINGS[c.code].at(spec.place(c.path), c.message, c.hint) for c in clashes]


def _twice(words: Sequence[str], path: str, noun: str) -> Iterator[_Clash]:
    seen: set[str] = set()
    for i, word in enumerate(words):
        if word in seen:
            said = f"the {noun} '{word}' is there twice"
            yield _Clash(path.format(i), said, "keep one, or rename it", "SPEC-DUPLICATE")
        seen.add(word)


def _names(spec: Spec) -> Iterator[_Clash]:
    yield from _twice([w.name for w in spec.workloads], "workloads[{}].name", "workload")
    yield from _twice([s.name for s in spec.sites], "sites[{}].name", "site")
    yield from _twice([t.name for t in spec.tenants], "tenants[{}].name", "tenant")
    yield from _twice(spec.compute.accelerators or [], "compute.accelerators[{}]", "accelerator")
    yield from _twice(spec.finance.procurement, "finance.procurement[{}]", "procurement")


def _tenants(spec: Spec) -> Iterator[_Clash]:
    """A limit below the quota, quotas above the cluster."""
    for j, tenant in enumerate(spec.tenants):
        if tenant.quota is not None and tenant.limit is not None and tenant.quota > tenant.limit:
            said = f"the quota of {tenant.quota:,} GPUs is above the limit of {tenant.limit:,}"
            yield _Clash(f"tenants[{j}].quota", said, "lower the quota, or raise the limit")
    gpus, quotas = spec.compute.gpus, sum(tenant.quota or 0 for tenant in spec.tenants)
    if gpus is not None and quotas > gpus:
        said = f"the quotas sum to {quotas:,} GPUs, the cluster has {gpus:,}"
        yield _Clash("tenants", said, "lower the quotas; what is idle can be borrowed up to 'limit'")


# --- workloads ---


def _workloads(spec: Spec) -> Iterator[_Clash]:
    most, of = _most_gpus(spec)
    for j, workload in enumerate(spec.workloads):
        if workload.train is not None:
            at = f"workloads[{j}].train"
            yield from _batch(workload.train, at)
            yield from _plan(workload.train, at, spec)
            gpus = workload.train.gpus
            if gpus is not None and most is not None and gpus > most:
                hint = "lower one or raise the other; a training run does not span sites"
                yield _Clash(f"{at}.gpus", f"{gpus:,} accelerators for '{workload.name}', but {of} {most:,}", hint)


def _most_gpus(spec: Spec) -> tuple[int | None, str]:
    """The most accelerators that one run can have, as far as the spec says, and who says so."""
    at_sites = [site.gpus for site in spec.sites if site.gpus is not None]
    if len(at_sites) == len(spec.sites):
        return max(at_sites), "the largest site has"
    return spec.compute.gpus, "the cluster has"


def _batch(train: Train, at: str) -> Iterator[_Clash]:
    batch, asked = train.global_batch_sequences, train.asked_batch
    if asked is not None and asked.unit == "tokens" and batch < 1:
        said = f"a global batch of {asked.amount:,.0f} tokens is less than one sequence of {train.sequence:,}"
        yield _Clash(f"{at}.global_batch", said, "raise the batch or shorten the sequence")
    elif train.tokens < batch * train.sequence:
        said = f"{train.tokens:,.0f} tokens are less than one global batch of {batch * train.sequence:,.0f}"
        yield _Clash(f"{at}.tokens", said, "raise the tokens or lower the global batch")


def _plan(train: Train, at: str, spec: Spec) -> Iterator[_Clash]:
    """Degrees that do not fit the accelerators, or the model."""
    plan = train.plan
    if plan is None:
        return
    given = {name: getattr(plan, name) for name in ("tp", "pp", "cp", "dp") if getattr(plan, name) is not None}
    product, words = prod(given.values()), " x ".join(given)
    gpus = train.gpus if train.gpus is not None else (spec.compute.gpus if len(spec.sites) == 1 else None)
    if gpus is not None and product > gpus:
        yield _Clash(f"{at}.plan", f"{words} = {product:,} is more than the {gpus:,} accelerators", "lower a degree")
    elif gpus is not None and len(given) == 4 and product != gpus:
        hint = "leave one degree out, or set the count to the product"
        yield _Clash(f"{at}.plan", f"{words} = {product:,} is not the {gpus:,} accelerators", hint)
    model = train.architecture
    if plan.ep is not None and plan.ep > max(model.experts, 1):
        said = f"ep = {plan.ep} for {model.name}, which has {model.experts or 'no'} experts"
        yield _Clash(f"{at}.plan.ep", said, "leave ep out, or at most one expert group for each expert")
    if plan.pp is not None and plan.pp > model.layers:
        said = f"pp = {plan.pp} for {model.name}, which has {model.layers} layers"
        yield _Clash(f"{at}.plan.pp", said, "at most one stage for each layer")
    if plan.tp is not None and model.heads % plan.tp:
        said = f"tp = {plan.tp} does not divide the {model.heads} heads of {model.name}"
        yield _Clash(f"{at}.plan.tp", said, f"{_nearest_divisors(plan.tp, model.heads)} divide them")
    yield from _choices(plan, model, at)


def _nearest_divisors(number: int, of: int) -> str:
    """The divisors of a number on both sides of another one."""
    divisors = [d for d in range(1, of + 1) if of % d == 0]
    below, above = [d for d in divisors if d < number][-1:], [d for d in divisors if d > number][:1]
    return " and ".join(map(str, below + above))


def _choices(plan: Plan, model: ModelArchitecture, at: str) -> Iterator[_Clash]:
    """Chunks, schedule and sharing that contradict each other."""
    pp, chunks = plan.pp, plan.interleave
    if chunks is not None and chunks > 1:
        if plan.schedule == "1f1b":
            hint = "leave one of them out; 'schedule: interleaved' has chunks"
            yield _Clash(f"{at}.plan.interleave", f"interleave = {chunks} with schedule 1f1b, which has one", hint)
        if pp == 1:
            said = f"interleave = {chunks} without a pipeline (pp = 1)"
            yield _Clash(f"{at}.plan.interleave", said, "at least two stages interleave")
        elif chunks * (pp or 2) > model.layers:
            said = f"interleave = {chunks} on {pp or 'at least 2'} stages is more chunks than the {model.layers} layers"
            yield _Clash(f"{at}.plan.interleave", said, "at most one chunk for each layer")
    if chunks == 1 and plan.schedule == "interleaved":
        yield _Clash(f"{at}.plan.interleave", "interleave = 1 with schedule interleaved", "leave one of them out")
    if pp == 1 and plan.schedule in ("interleaved", "zero-bubble"):
        said = f"schedule {plan.schedule} without a pipeline (pp = 1)"
        yield _Clash(f"{at}.plan.schedule", said, "leave pp or the schedule out")
    if plan.shard_group is not None and plan.sharding != "hsdp":
        said = f"shard_group = {plan.shard_group} with sharding {plan.sharding}"
        yield _Clash(f"{at}.plan.shard_group", said, "groups are those of 'sharding: hsdp'")
    if plan.shard_group == 1:
        yield _Clash(f"{at}.plan.shard_group", "a group of one rank shares nothing out", "write 'sharding: zero-0'")


# --- compute ---


def _compute(spec: Spec, context: Context) -> Iterator[_Clash]:
    compute, catalog = spec.compute, context.catalog
    if compute.server is not None:
        server = catalog.get("servers", compute.server)
        carried = server.text("accelerator")
        if compute.accelerators is not None and carried not in compute.accelerators:
            said = f"{server.name} carries {carried}, which is not among the accelerators"
            yield _Clash("compute.server", said, f"add {carried}, or choose another server")
        yield from _whole_nodes(spec, [server])
    elif compute.accelerators is not None:
        named = [s for s in catalog.parts("servers") if s.text("accelerator") in compute.accelerators]
        if not named:
            said = f"no server of the catalogue carries {' or '.join(compute.accelerators)}"
            yield _Clash("compute.accelerators", said, "'clusterwright catalog list servers' shows what there is")
        yield from _whole_nodes(spec, named)


def _whole_nodes(spec: Spec, servers: Iterable[Part]) -> Iterator[_Clash]:
    """Counts of accelerators that no server that may be used divides."""
    sizes = sorted({int(server["gpus"]) for server in servers})
    if not sizes:
        return
    counts = [("compute.gpus", spec.compute.gpus), *((f"sites[{i}].gpus", s.gpus) for i, s in enumerate(spec.sites))]
    for path, gpus in counts:
        if gpus is None or any(gpus % size == 0 for size in sizes):
            continue
        size = sizes[-1] if gpus > sizes[-1] else sizes[0]
        carried = " or ".join(map(str, sizes))
        if gpus < size:
            said = f"{gpus} accelerators are less than one server, which carries {carried}"
            yield _Clash(path, said, f"write {size}")
        else:
            below = gpus - gpus % size
            said = f"{gpus:,} accelerators do not fill whole servers, which carry {carried}"
            yield _Clash(path, said, f"write {below:,} or {below + size:,}")


def _storage(spec: Spec, context: Context) -> Iterator[_Clash]:
    """A storage system named for a tier that it does not serve."""
    for key, tiers in (("parallel", ("parallel",)), ("object", ("object", "archive"))):
        name = getattr(spec.storage, key)
        if name is None:
            continue
        tier = context.catalog.get("storage", name).text("tier")
        if tier not in tiers:
            fitting = [p.name for p in context.catalog.parts("storage") if p.text("tier") in tiers]
            said = f"{name} is {tier} storage, not {' or '.join(tiers)} storage"
            yield _Clash(f"storage.{key}", said, f"one of {', '.join(fitting)}")


# --- sites and limits ---


def _sites(spec: Spec) -> Iterator[_Clash]:
    given = [site.gpus for site in spec.sites if site.gpus is not None]
    total, asked, everywhere = sum(given), spec.compute.gpus, len(given) == len(spec.sites)
    if given and asked is not None and (total > asked or (everywhere and total != asked)):
        hint = "make them equal, or leave one out"
        yield _Clash("compute.gpus", f"compute.gpus is {asked:,}, but the sites' gpus sum to {total:,}", hint)
    for i, site in enumerate(spec.sites):
        if site.rack_power_w is not None and site.power_w is not None and site.rack_power_w > site.power_w:
            rack, all_ = human_as(site.rack_power_w, "W"), human_as(site.power_w, "W")
            said = f"one rack of {site.name} may draw {rack}, the whole site only {all_}"
            yield _Clash(f"sites[{i}].rack_power", said, "check the units of both")


def _limits(spec: Spec) -> Iterator[_Clash]:
    limits = spec.limits
    if limits.rack_power_w is not None and limits.power_w is not None and limits.rack_power_w > limits.power_w:
        rack, all_ = human_as(limits.rack_power_w, "W"), human_as(limits.power_w, "W")
        said = f"one rack may draw {rack}, everything only {all_}"
        yield _Clash("limits.rack_power", said, "check the units of both")
    if limits.racks is not None and limits.racks < len(spec.sites):
        said = f"at most {limits.racks} racks for {len(spec.sites)} sites, each of which needs one"
        yield _Clash("limits.racks", said, "raise the limit, or have fewer sites")


def _claims(spec: Spec) -> Iterator[_Clash]:
    """Claims about a workload or a site that is not there."""
    for i, claim in enumerate(spec.claims):
        for room, things in (("training", len(spec.workloads)), ("sites", len(spec.sites))):
            index = _index(claim, room)
            if index is not None and index >= things:
                noun = "workloads" if room == "training" else "sites"
                said = f"{claim.path} speaks of number {index}, but there are {things} {noun}, counted from 0"
                yield _Clash(f"claims[{i}].path", said, f"write {room}[0]")


def _index(claim: Claim, room: str) -> int | None:
    if not claim.path.startswith(f"{room}["):
        return None
    return int(claim.path[len(room) + 1 :].partition("]")[0])
