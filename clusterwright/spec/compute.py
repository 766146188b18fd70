"""What may be asked of compute: accelerators, servers, counts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterwright.spec.forms import Count
from clusterwright.spec.section import OneOrMore, Section
from clusterwright.spec.words import Part

__all__ = ["MOST_GPUS", "Compute"]

MOST_GPUS = 100_000_000
"""More accelerators than that are a slip of the exponent."""

_Accelerator = Annotated[str, Part("accelerators", "accelerator", "h100-sxm-80gb")]


class Compute(Section):
    """Accelerators and servers."""

    accelerators: Annotated[list[_Accelerator] | None, OneOrMore] = Field(
        None, min_length=1, description="Accelerators that may be used; `auto` weighs all that fit."
    )
    gpus: Annotated[int | None, Count(MOST_GPUS, "1024")] = Field(
        None, description="Accelerators in all, spares left out; `auto` lets the design find the count."
    )
    server: Annotated[str | None, Part("servers", "server", "dgx-h100")] = Field(
        None, description="The server; `auto` weighs all that carry the accelerators."
    )
    nodes_per_rack: Annotated[int | None, Count(200, "4")] = Field(None, description="Compute nodes in a rack.")
