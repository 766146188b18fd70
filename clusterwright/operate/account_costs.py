"""What the cluster costs in a period: the lines of the design's bill, by the way of procurement that was chosen.

Every line is charged evenly over the operating years, resale among them as a credit, so that the whole life of the
cluster sums to its total cost of ownership.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.cluster import Cluster
from clusterwright.domains.cost import PROCUREMENTS
from clusterwright.errors import InputError
from clusterwright.operate.account_codes import FINDINGS
from clusterwright.operate.account_split import split
from clusterwright.traces import SECOND_US
from clusterwright.units import HOUR_S, JOULE_PER_KWH, YEAR_S

__all__ = ["Costs", "Line", "costs_of"]


@dataclass(frozen=True)
class Line:
    """One line of the bill.

    Attributes:
        name: ``servers``, ``energy`` ...
        layer: compute, network, storage, facility, energy, staff ...
        cents: of the period; negative for a credit.
    """

    name: str
    layer: str
    cents: int


@dataclass(frozen=True)
class Costs:
    """What a cluster costs in a period, and what it is divided by.

    Attributes:
        cluster: name of it.
        currency: ISO 4217 code; amounts are hundredths of it.
        begin_us, end_us: of the period.
        lines: sum to ``cents``.
        gpus: that the cluster has for jobs, spares left out.
        energy_j: at the meter in the period, as the design expects it.
        carbon_g_per_kwh: of the grid, weighted over the sites.
        pue: power at the meter over power of the equipment.
        gpu_power_w: a GPU's part of the power of a busy server.
        quotas: tenant -> GPUs that are its own.
        region: of the first site.
    """

    cluster: str
    currency: str
    begin_us: int
    end_us: int
    lines: tuple[Line, ...]
    gpus: float
    energy_j: float
    carbon_g_per_kwh: float
    pue: float
    gpu_power_w: float
    quotas: Mapping[str, int]
    region: str

    @property
    def cents(self) -> int:
        """All lines."""
        return sum(line.cents for line in self.lines)

    @property
    def gpu_hours(self) -> float:
        """That the cluster has in the period."""
        return self.gpus * (self.end_us - self.begin_us) / SECOND_US / HOUR_S

    @property
    def gpu_hour(self) -> float:
        """Cost of one of them, in units of the currency."""
        return self.cents / 100 / self.gpu_hours

    @property
    def carbon_g(self) -> float:
        """Of the energy."""
        return self.energy_j / JOULE_PER_KWH * self.carbon_g_per_kwh


def costs_of(cluster: Cluster, begin_us: int, end_us: int) -> Costs:
    """The bill of a design for a period.

    Args:
        cluster: a design, or an observed cluster with a table ``money``.
        begin_us, end_us: of the period.

    Raises:
        InputError: the period is empty, or the cluster has no costs.
    """
    if end_us <= begin_us:
        raise InputError(FINDINGS["ACCOUNT-PERIOD"].at("--from", "the period ends before it begins", "--from A --to B"))
    frame = cluster.frame
    way = next((one for one in PROCUREMENTS if f"cost.{one}" in frame and cluster.value(f"cost.{one}") > 0), "")
    rows = cluster.tables["money"].where(procurement=way)
    if not rows:
        hint = "design it with a section 'finance'"
        raise InputError(FINDINGS["ACCOUNT-NO-COSTS"].at("money", "the cluster has no costs to share", hint))
    seconds = (end_us - begin_us) / SECOND_US
    unit = float(cluster.head.get("currency_usd", 1.0))
    share = seconds / (cluster.value("cost.years") * YEAR_S)
    exact = [row["total_usd"] * share / unit * 100 for row in rows]
    owed = split(round(sum(one for one in exact if one > 0)), [max(one, 0.0) for one in exact])
    credit = split(-round(-sum(one for one in exact if one < 0)), [max(-one, 0.0) for one in exact])
    lines = (Line(row["line"], row["layer"], owed[i] if exact[i] > 0 else credit[i]) for i, row in enumerate(rows))
    tenants = cluster.tables["tenants"].rows()
    return Costs(
        cluster.name,
        str(cluster.head.get("currency", "USD")),
        begin_us,
        end_us,
        tuple(line for line in lines if line.cents),
        cluster.value("compute.gpus"),
        cluster.value("facility.average_power_w") * seconds,
        cluster.value("facility.carbon_g_per_kwh"),
        cluster.value("facility.pue") if "facility.pue" in frame else 1.0,
        cluster.value("server.power_w") / cluster.value("server.gpus"),
        {str(row["name"]): int(row["quota_gpus"]) for row in tenants},
        str(next(iter(cluster.tables["sites"].rows()), {}).get("region", "")),
    )
