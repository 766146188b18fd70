"""Cost: purchase, rent and colocation side by side, over the operating years."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.cost import ownership, prices, purchase, running
from clusterwright.domains.cost.findings import FINDINGS
from clusterwright.domains.cost.lines import fill_money
from clusterwright.domains.cost.sizing import CAPEX, OPEX, PROCUREMENTS, size
from clusterwright.domains.cost.telling import say
from clusterwright.spec import Spec

__all__ = ["CAPEX", "FINDINGS", "LAWS", "OPEX", "PROCUREMENTS", "apply", "size"]

LAWS = laws(
    prices.accelerator_price,
    prices.accelerator_alone,
    prices.server_price,
    prices.switch_price,
    prices.block_price,
    prices.priced,
    purchase.goods,
    purchase.summed,
    purchase.share,
    purchase.racks_bought,
    purchase.rear_doors,
    purchase.cooling,
    purchase.installation,
    purchase.building,
    running.energy,
    running.colocation,
    running.annuity,
    running.capital,
    running.facility_staff,
    running.platform_staff,
    running.people,
    running.gpu_rent,
    running.storage_rent,
    running.cloud_storage,
    running.egress,
    ownership.residual,
    ownership.tco,
    ownership.rented_tco,
    ownership.by_procurement,
    ownership.owned,
    ownership.rent,
    ownership.rented_usd_per_zflop,
    ownership.utilisation,
    ownership.break_even,
    ownership.break_even_utilisation,
    ownership.usd_per_gpu_h,
    ownership.used_usd_per_gpu_h,
    ownership.usd_per_zflop,
    ownership.rentable,
    ownership.procurable,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the table of cost lines and say what is worth knowing about them."""
    fill_money(cluster, spec, catalog)
    say(cluster, catalog)
