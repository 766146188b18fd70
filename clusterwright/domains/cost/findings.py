"""What the cost room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "COST-PRICE-MISSING",
        "warning",
        "A price is estimated because the catalogue has none",
        "The catalogue has no price for the server, the switch or a storage system of this design. It is estimated by "
        "class (price of a TFLOP/s, of a Gb/s, of a terabyte) with a wide interval, so that nothing costs zero.",
    ),
    Code(
        "COST-PRICE-UNCHECKED",
        "warning",
        "An important price is from memory or an estimate",
        "A line of at least a tenth of the purchase stands on a price that nobody read in a source.",
    ),
    Code(
        "COST-PRICE-STALE",
        "info",
        "Prices are old",
        "Purchase prices that this design stands on are older than half a year, counted from the newest price of the "
        "catalogue.",
    ),
    Code(
        "COST-NO-RENTAL",
        "info",
        "Nobody is known to rent this part out",
        "The catalogue has no rental offer for the accelerator: renting cannot be weighed, and every figure of renting "
        "means nothing (`cost.rentable` is 0).",
    ),
    Code(
        "COST-BREAK-EVEN",
        "info",
        "When buying pays",
        "Owning costs less than renting after this time of full use, or above this share of the operating years; for "
        "the runs of the spec alone renting may be far cheaper.",
    ),
    Code(
        "COST-RENT-CHEAPER",
        "risk",
        "The runs of the spec do not fill the cluster",
        "What the spec asks to be run takes less of the operating years than owning needs to pay: without other work "
        "on the cluster, renting for these runs is cheaper.",
    ),
    Code(
        "COST-LICENCES",
        "info",
        "Licences that are not counted",
        "Open schedulers, libraries and monitoring cost nothing. Enterprise software with support is a choice of the "
        "owner and is left out of every total; this is what it would add at list price.",
    ),
)
"""Every code of this room."""
