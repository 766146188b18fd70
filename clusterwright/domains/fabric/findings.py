"""What the fabric room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "FABRIC-TOO-LARGE",
        "error",
        "Three tiers of these switches cannot join all nodes",
        "A three-tier fat tree of switches with r ports joins at most r^3/4 links a plane without oversubscription. "
        "Take switches with more ports, several sites, or faster links with fewer of them.",
    ),
    Code(
        "FABRIC-SPARES-BEYOND",
        "info",
        "What it costs to keep the spares beyond the requested nodes",
        "Spares inside the requested nodes cost no switches, but the job then runs on fewer nodes. Spares beyond them "
        "need leaf ports, and a leaf more may bring spines in steps, because the links of a leaf spread evenly over "
        "a divisor of its uplinks. The finding gives the arithmetic of both, and of widened leaves.",
    ),
    Code(
        "FABRIC-SPARES-WIDEN",
        "info",
        "Leaves give up uplinks to take the spares",
        "With the spares the network would need a further tier or pod. The spec does not pin the oversubscription, so "
        "each leaf takes them on some of its uplink ports; working nodes keep at least 10/11 of the full rate. Write "
        "fabric.oversubscription to forbid it.",
    ),
    Code(
        "FABRIC-NOT-NEEDED",
        "info",
        "One server or rack-scale system needs no compute network",
        "All GPUs are in one scale-up domain and exchange data over it. Storage and management networks remain.",
    ),
    Code(
        "FABRIC-PROVIDED",
        "info",
        "The compute network is the provider's",
        "The servers are instances that a provider rents out, and the network between them comes with them. Its links "
        "set the speed of collectives; its switches, cables and routing are nobody's to order or to configure.",
    ),
    Code(
        "FABRIC-OVERSUBSCRIBED",
        "warning",
        "Leaves have fewer uplinks than down ports",
        "Traffic that stays under a leaf is not slowed; what crosses spines (all-to-all of experts, data-parallel "
        "rings of jobs spread over leaves) gets the share given by the ratio when all nodes send at once.",
    ),
    Code(
        "FABRIC-CABLE-REACH",
        "warning",
        "The longest run is beyond the reach of the cable chosen",
        "By the geometry of the hall the longest cable is longer than the medium allows. Place leaves nearer to their "
        "nodes, or take the next longer medium of the technology.",
    ),
    Code(
        "FABRIC-SINGLE-SWITCH",
        "risk",
        "One switch carries the whole compute network",
        "When it fails the whole cluster waits. A spare switch on the shelf shortens the outage.",
    ),
)
