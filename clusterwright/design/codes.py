"""The finding codes of the design room."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "DESIGN-INFEASIBLE",
        "error",
        "No option holds every limit",
        "None of the options that the spec allows holds all limits. The finding names the binding limit; the "
        "relaxations say what would have to give, fewest changes first, each with its cost.",
    ),
    Code(
        "DESIGN-LIMIT-BROKEN",
        "error",
        "A limit is broken",
        "The design nearest to the spec breaks this limit at the best estimate.",
    ),
    Code(
        "DESIGN-LIMIT-CLOSE",
        "risk",
        "A limit holds, but not over the whole interval",
        "The best estimate holds the limit, the pessimistic end of its 80 % interval does not.",
    ),
    Code(
        "DESIGN-SUPPLY",
        "risk",
        "Lead time",
        "The part with the longest published lead time decides when the cluster can start.",
    ),
    Code(
        "DESIGN-LOCK-IN",
        "risk",
        "Dependence on one vendor",
        "The design stands on one accelerator and one link technology; the finding says which others would do.",
    ),
    Code(
        "DESIGN-PRICE-RANGE",
        "risk",
        "Prices differ between sources",
        "The published prices of the parts differ by more than 10 % from the value used.",
    ),
    Code(
        "DESIGN-POWER-UNCONFIRMED",
        "risk",
        "No contracted power is named",
        "The cluster draws more than a megawatt and neither sites[].power nor limits.power says what is available.",
    ),
    Code(
        "DESIGN-NO-OPTION",
        "error",
        "Nothing to choose from",
        "The catalogue has no server that can be bought or rented for the accelerators, precision and fabric asked.",
    ),
    Code(
        "DESIGN-BETTER-OUTSIDE",
        "info",
        "A cheaper option lies outside the spec",
        "Freeing a pin of the spec (accelerator, GPU count, rack density) would meet every limit at lower cost.",
    ),
    Code(
        "AUDIT-CLAIM-REFUSED",
        "warning",
        "A claim does not hold",
        "The claimed range and the computed interval do not meet. The finding gives the arithmetic.",
    ),
    Code(
        "AUDIT-UNKNOWN-PATH",
        "warning",
        "A claim about a figure that no law computes",
        "The path of the claim is not a figure of the design; the finding lists near ones.",
    ),
    Code(
        "ESTIMATE-MISSING",
        "error",
        "An option without which there is nothing to estimate",
        "An estimate needs a model, an accelerator and how many of them; everything else has a default or is searched.",
    ),
    Code(
        "ESTIMATE-PLAN-INCONSISTENT",
        "error",
        "The degrees of the plan cannot all be meant",
        "Tensor x pipeline x context x data parallelism is not the number of GPUs or does not divide it, the heads do "
        "not divide by the tensor parallelism, the experts by the expert parallelism, there are more pipeline stages "
        "than layers, or the batch does not divide into whole micro-batches. The hint gives the nearest valid plans.",
    ),
    Code(
        "ESTIMATE-SERVER-ASSUMED",
        "warning",
        "No server of the catalogue carries this accelerator",
        "Eight accelerators with a network card each are taken, the cards as fast as the fabric. An overlay can add "
        "the server that is meant.",
    ),
    Code(
        "ESTIMATE-SERVER-DIFFERS",
        "error",
        "The server carries another accelerator",
        "'--set compute.server=NAME' names a server that does not carry the accelerator of '--gpu'.",
    ),
    Code(
        "ESTIMATE-NO-PEAK",
        "error",
        "The accelerator does not compute at this precision",
        "The catalogue has no published peak of the accelerator at the precision asked for; the hint lists those "
        "that it has.",
    ),
    Code(
        "ESTIMATE-WHAT-IF",
        "error",
        "A what-if that cannot be understood",
        "A what-if is KNOB=VALUE, or several with commas between. A knob is an option of the estimate (micro_batch=2, "
        "gpus=2048, gpu=h200-sxm-141gb) or a figure of the machine times a factor "
        "(accelerator.memory_bandwidth_bytes_s=1.5x).",
    ),
    Code(
        "ESTIMATE-MEASURED",
        "error",
        "A measurement that cannot be understood",
        "The measured step time is a time (4.9s), a share of the peak (38 % MFU) or a rate (1.2M tokens/s).",
    ),
)
"""Every code of this room."""
