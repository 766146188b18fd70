"""What the cost room has to say."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "COST-PRICE-UNCHECKED",
        "warning",
        "An important price is an estimate",
        "The price of the servers or accelerators is an estimate or from memory. It is most of the purchase.",
    ),
    Code(
        "COST-PRICE-STALE",
        "info",
        "Prices are old",
        "Prices that this design stands on are older than half a year, counted from the newest price of the catalogue.",
    ),
    Code(
        "COST-NO-RENTAL",
        "info",
        "Nobody is known to rent this part out",
        "The catalogue has no rental offer for the accelerator, so that renting cannot be weighed.",
    ),
    Code(
        "COST-BREAK-EVEN",
        "info",
        "When buying pays",
        "Owning costs less than renting after this time of full use; for the runs of the spec alone renting may be "
        "far cheaper.",
    ),
    Code(
        "COST-SERVER-ESTIMATED",
        "warning",
        "The server's price is estimated",
        "The catalogue has no price for the server; 1.35 times the price of its accelerators is used.",
    ),
)
"""Every code of this room."""
