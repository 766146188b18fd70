"""Tables of the cluster object: columns, not objects; a row is a thing or a group of equal things.

:data:`SCHEMA` is the one place that says which table has which column, in which unit, meaning what. The docs page
and the loader read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.cluster.provenance import Provenance

__all__ = ["SCHEMA", "Column", "Table"]


@dataclass(frozen=True)
class Column:
    """One column of a table: unit (``text``, ``count``, or an SI unit) and meaning."""

    name: str
    unit: str
    meaning: str


def _columns(text: str) -> dict[str, Column]:
    made: dict[str, Column] = {}
    for line in text.strip().splitlines():
        name, unit, meaning = (part.strip() for part in line.split("|"))
        made[name] = Column(name, unit, meaning)
    return made


SCHEMA: Mapping[str, Mapping[str, Column]] = {
    "sites": _columns("""
        name | text | as the spec names it
        region | text | catalogue region
        nodes | count | compute nodes, spares included
        power_limit_w | W | what the site may draw at the meter; inf without a limit
        pue | 1 | power usage effectiveness
        energy_usd_per_kwh | USD/kWh | energy price
        carbon_g_per_kwh | g/kWh | grid carbon intensity
        redundancy | text | N, N+1 or 2N
        cooling | text | air, rear-door, liquid or hybrid
    """),
    "racks": _columns("""
        name | text | name of the first rack of the group; the others count on
        site | text | site name
        pod | count | pod number of the first rack
        kind | text | compute, network, storage or management
        power_w | W | power of one rack
        cooling | text | air, rear-door, liquid or hybrid
        units | count | height units used in one rack
        weight_kg | kg | weight of one rack with its content
        floor_m2 | m2 | floor of one rack, aisles included
        nodes | count | nodes in one rack
        count | count | equal racks in the group
    """),
    "nodes": _columns("""
        name | text | name of the group
        site | text | site name
        role | text | compute, spare, login, management, storage, observability or security
        server | text | catalogue server
        accelerator | text | catalogue accelerator; empty without one
        gpus | count | GPUs in one node
        cpus | count | CPU sockets in one node
        memory_bytes | byte | host memory of one node
        nics | count | compute-network NICs of one node
        local_nvme_bytes | byte | local NVMe of one node
        power_w | W | power of one node
        units | count | height units of one node
        weight_kg | kg | weight of one node
        count | count | equal nodes in the group
    """),
    "switches": _columns("""
        name | text | name of the group
        site | text | site name
        network | text | compute, storage, management or scale-up
        tier | text | leaf, spine, core or access
        model | text | catalogue switch
        ports | count | ports of one switch at the link's rate
        port_bandwidth_bytes_s | byte/s | one direction
        power_w | W | power of one switch with its optics
        units | count | height units of one switch
        count | count | equal switches in the group
        spare_count | count | of these, how many only spare nodes and growth need
    """),
    "links": _columns("""
        name | text | name of the bundle
        site | text | site name
        network | text | compute, storage or management
        source | text | switch or node group at the lower end
        target | text | switch group at the upper end
        pattern | text | how single cables follow from the groups: rail, clos or spread
        bandwidth_bytes_s | byte/s | of one cable, one direction
        latency_s | s | of one cable with its ports
        length_m | m | mean length
        medium | text | catalogue cable
        power_w | W | both ends of one cable
        price_usd | USD | one cable with its optics
        count | count | cables in the bundle
        spare_count | count | of these, how many only spare nodes and growth need
    """),
    "storage": _columns("""
        name | text | name of the tier
        kind | text | nvme, parallel, object or block
        system | text | catalogue storage system
        capacity_bytes | byte | usable capacity
        read_bytes_s | byte/s | sustained read
        write_bytes_s | byte/s | sustained write
        iops | 1/s | random 4 kB operations; nan where unknown
        power_w | W | power of the tier
        units | count | height units of the tier
        systems | count | building blocks
        usd_per_year | USD/year | running cost where it is rented; else 0
        why | text | what sized it
    """),
    "workloads": _columns("""
        name | text | as the spec names it
        kind | text | train
        model | text | catalogue model
        gpus | count | GPUs the job runs on
        tp | count | tensor parallel
        pp | count | pipeline parallel
        dp | count | data parallel
        cp | count | context parallel
        ep | count | expert parallel
        micro_batch | count | sequences in a micro-batch
        step_time_s | s | time of one optimizer step
        memory_bytes | byte | per GPU
        tokens_per_s | token/s | of the job
    """),
    "services": _columns("""
        name | text | component
        layer | text | scheduler, observability, security, provisioning or storage
        nodes | count | nodes it runs on, shared where the note says so
        role | text | node role it runs on
        why | text | what it is for and what sized it
    """),
    "failures": _columns("""
        component | text | component class
        population | count | how many there are
        mttf_s | s | mean time to failure of one
        repair_s | s | mean time until it is back
        expected_per_year | 1/year | failures expected in the cluster
        blast_radius | text | what stops when it fails
        redundancy | text | what absorbs it
        source | text | where the rate comes from
    """),
    "money": _columns("""
        line | text | cost line
        layer | text | compute, network, storage, facility, energy, staff, licences, ...
        procurement | text | buy, rent or colocate
        capex_usd | USD | paid once
        opex_usd_per_year | USD/year | paid every year
        total_usd | USD | over the operating years
        low_usd | USD | low end of the total
        high_usd | USD | high end of the total
        quantity | text | how many of what at which price
        lead_time_weeks | week | delivery time where sourced; nan otherwise
        source | text | price source
    """),
    "tenants": _columns("""
        name | text | tenant
        share | 1 | weight in fair sharing
        quota_gpus | count | GPUs that are its own
        limit_gpus | count | GPUs at most, those of idle tenants counted
        priority | text | low, normal or high
        users | text | login names, separated by blanks
    """),
}


@dataclass
class Table:
    """Equal-length columns by name, and the provenance of each column."""

    name: str
    columns: dict[str, list[Any]] = field(default_factory=dict)
    provenance: dict[str, Provenance] = field(default_factory=dict)

    @classmethod
    def empty(cls, name: str) -> Table:
        """A table of the schema without rows."""
        return cls(name, {column: [] for column in SCHEMA[name]})

    def add(self, **row: Any) -> None:
        """Append one row; every column of the schema must be given.

        Raises:
            ValueError: a column is missing or unknown.
        """
        if row.keys() != self.columns.keys():
            odd = sorted(row.keys() ^ self.columns.keys())
            raise ValueError(f"table {self.name}: columns do not match: {', '.join(odd)}")
        for name, value in row.items():
            self.columns[name].append(value)

    def explain(self, column: str, provenance: Provenance) -> None:
        """Say where a column comes from."""
        if column not in self.columns:
            raise KeyError(f"table {self.name} has no column {column}")
        self.provenance[column] = provenance

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as mappings."""
        for i in range(len(self)):
            yield {name: values[i] for name, values in self.columns.items()}

    def where(self, **equal: Any) -> list[dict[str, Any]]:
        """The rows whose columns have the given values."""
        return [row for row in self.rows() if all(row[name] == value for name, value in equal.items())]

    def __getitem__(self, column: str) -> list[Any]:
        return self.columns[column]
