"""What the target writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.mounts import PARALLEL
from clusterwright.deploy.targets.storage.tiering import client, lifecycle, quotas, tiers
from clusterwright.deploy.text import as_json, as_yaml, fill

__all__ = ["files"]


def files(inventory: Inventory) -> Iterator[File]:
    """Tiers, quotas, life cycles, the acceptance job."""
    document: dict[str, Any] = {
        "tiers": tiers(inventory),
        "quotas": [{"tenant": q.tenant, "project": q.project, "terabytes": q.terabytes} for q in quotas(inventory)],
    }
    yield File("storage/tiers.yaml", as_yaml(document, comment="Storage tiers and quotas; rendered by clusterwright"))
    if any(tier.kind == "object" for tier in inventory.tiers):
        yield File("storage/object-lifecycle.json", as_json(lifecycle(inventory)))
    parallel = next((tier for tier in inventory.tiers if tier.kind == "parallel"), None)
    if parallel is None:
        return
    script = fill(
        f"storage/quotas-{client(parallel)}.sh.j2", quotas=quotas(inventory), mount=PARALLEL, system=parallel.system
    )
    yield File("storage/quotas.sh", script, executable=True, after="storage/quotas.sh on an administration host")
    nodes = max(sum(group.count for group in inventory.groups if group.role == "compute"), 1)
    job = fill(
        "storage/acceptance.fio.j2",
        nodes=nodes,
        read=round(parallel.read_bytes_s / nodes / 1e6),
        write=round(parallel.write_bytes_s / nodes / 1e6),
    )
    yield File("storage/acceptance.fio", job)
