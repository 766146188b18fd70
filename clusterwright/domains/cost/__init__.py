"""Cost: purchase, rent and colocation side by side, over the operating years."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.cost import money
from clusterwright.domains.cost.findings import FINDINGS
from clusterwright.domains.cost.sizing import CAPEX, OPEX, PROCUREMENTS, size
from clusterwright.domains.cost.telling import fill_money, say
from clusterwright.spec import Spec

__all__ = ["CAPEX", "FINDINGS", "LAWS", "OPEX", "PROCUREMENTS", "apply", "size"]

LAWS = laws(*(getattr(money, name) for name in money.__all__))


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the table of cost lines and say what is worth knowing about them."""
    fill_money(cluster, catalog)
    say(cluster, spec, catalog)
