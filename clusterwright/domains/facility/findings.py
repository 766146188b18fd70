"""What the facility room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "FACILITY-AIR-IMPOSSIBLE",
        "error",
        "The site cools with air, and the rack cannot be cooled with air",
        "The servers need liquid, or a rack gives off more heat than air carries away. Published ends of air cooling "
        "lie between 30 and 50 kW a rack; above that rear doors or direct liquid take over.",
    ),
    Code(
        "FACILITY-RACK-TOO-DENSE",
        "error",
        "A rack is denser than its cooling or its limit allows",
        "The power of a full compute rack exceeds what the site's cooling carries away, or what the site or the "
        "spec allows for one rack. Fewer nodes in a rack, or another cooling, mends it.",
    ),
    Code(
        "FACILITY-RACK-TOO-TALL",
        "error",
        "The nodes of a rack are taller than the rack",
        "The height of the nodes asked for in one rack exceeds the height units of the tallest rack that is counted "
        "with. Fewer nodes in a rack, or a flatter server, mends it.",
    ),
    Code(
        "FACILITY-POWER-SHORT",
        "error",
        "The site has less power than the design draws",
        "The largest power at the meter, cooling included, exceeds what the site or the spec allows.",
    ),
    Code(
        "FACILITY-FLOOR",
        "error",
        "The racks need more floor than there is",
        "Racks with their share of aisles need more area than the site or the spec allows. More nodes in a rack, "
        "where cooling allows it, need less floor.",
    ),
    Code(
        "FACILITY-WEIGHT",
        "error",
        "A rack is heavier than the floor carries",
        "The heaviest rack with its content exceeds the weight that the site or the spec allows for one rack.",
    ),
    Code(
        "FACILITY-RACKS",
        "error",
        "There are more racks than the limit allows",
        "Compute, spare, network, storage and management racks together exceed the number of racks allowed.",
    ),
    Code(
        "FACILITY-AIR-MARGINAL",
        "warning",
        "The racks are at the end of what air serves",
        "The density lies above the usual limit of air cooling and below the densest published air-cooled racks. It "
        "has been built, with contained aisles and much air; have the hall's airflow confirmed.",
    ),
    Code(
        "FACILITY-COOLING-FORCED",
        "info",
        "The density forces the kind of cooling",
        "The spec leaves the cooling open. The power of a full rack decides: air up to about 40 kW, rear-door heat "
        "exchangers up to about 70 kW, cold plates or direct liquid above. Servers made for liquid need it always.",
    ),
    Code(
        "FACILITY-POWER-PHASED",
        "risk",
        "The power of a site comes in phases",
        "A site of this size is not energised at once: substations and generators come one after another, with lead "
        "times of a year and more. The compute that is delivered early waits for power.",
    ),
    Code(
        "FACILITY-NO-REDUNDANCY",
        "risk",
        "Power and cooling have no spare module",
        "The spec asks for redundancy N. One failed or serviced UPS, generator or cooling unit takes capacity away, "
        "and a job that spans the cluster stops.",
    ),
)
"""Every code of this room."""
