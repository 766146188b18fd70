"""What may be asked of reliability: availability, spares, redundancy."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterwright.spec.compute import MOST_GPUS
from clusterwright.spec.context import Context
from clusterwright.spec.forms import Count, Quantity, problem, shown
from clusterwright.spec.section import Section
from clusterwright.spec.words import Word

__all__ = ["REDUNDANCIES", "Availability", "Reliability"]

REDUNDANCIES = ("N", "N+1", "2N")
"""How much of power and cooling is there twice."""


class Availability(Quantity):
    """A fraction of time below one: nothing is always there."""

    def read(self, value: object, context: Context) -> float:
        """The fraction."""
        fraction = super().read(value, context)
        if fraction >= 1.0:
            raise problem("SPEC-RANGE", f"an availability of {shown(value)} is out of reach", "write 99.9 %")
        return fraction


class Reliability(Section):
    """What must keep working."""

    availability: Annotated[float | None, Availability("fraction", "99.9 %")] = Field(
        None, description="Share of time in which the asked number of nodes is there, spares stepping in."
    )
    spares: Annotated[int | None, Count(MOST_GPUS, "4", least=0)] = Field(
        None, description="Spare compute nodes; `auto` follows the availability."
    )
    redundancy: Annotated[str, Word("redundancy", REDUNDANCIES)] = Field(
        "N+1", description="Redundancy of power and cooling."
    )
