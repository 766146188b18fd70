"""The table of tenants: who may use how many GPUs."""

from __future__ import annotations

from clusterwright.cluster import Cluster, Provenance
from clusterwright.spec import Spec, Tenant

__all__ = ["fill_tenants", "split"]

EVERYBODY = "everybody"
"""The tenant of a cluster that names none."""


def split(gpus: int, tenants: list[Tenant]) -> list[int]:
    """Quotas in GPUs: what is asked for, and the rest of the cluster by shares, largest remainder first.

    Args:
        gpus: of the cluster.
        tenants: in the order of the spec.
    """
    left = max(gpus - sum(t.quota or 0 for t in tenants), 0)
    shares = [0.0 if t.quota is not None else t.share for t in tenants]
    exact = [left * share / sum(shares) if share else 0.0 for share in shares]
    whole = [int(part) for part in exact]
    if any(shares):
        order = sorted(range(len(exact)), key=lambda i: (whole[i] - exact[i], i))
        for i in order[: left - sum(whole)]:
            whole[i] += 1
    return [t.quota if t.quota is not None else part for t, part in zip(tenants, whole, strict=True)]


def fill_tenants(cluster: Cluster, spec: Spec) -> None:
    """One row a tenant of the spec; one for everybody where it names none."""
    table, gpus = cluster.tables["tenants"], int(cluster.value("compute.gpus"))
    tenants = spec.tenants or [Tenant(name=EVERYBODY)]
    for tenant, quota in zip(tenants, split(gpus, tenants), strict=True):
        table.add(
            name=tenant.name,
            share=tenant.share,
            quota_gpus=quota,
            limit_gpus=min(tenant.limit or gpus, gpus),
            priority=tenant.priority,
            users=" ".join(tenant.users),
        )
    asked = Provenance("spec", place=str(spec.place("tenants")))
    for column in table.columns:
        table.explain(column, asked if spec.tenants else Provenance("choice", note="no tenant is named"))
    by_share = "what is asked for; the rest of the cluster by shares, largest remainder first"
    table.explain("quota_gpus", Provenance("choice", note=by_share))
