"""What may be asked of the fabric: link technology, topology, oversubscription."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clusterwright.spec.context import Context
from clusterwright.spec.forms import Bounds, Form, as_text, problem, shown
from clusterwright.spec.section import Section
from clusterwright.spec.words import Part, Word

__all__ = ["TOPOLOGIES", "Fabric", "Ratio"]

TOPOLOGIES = ("rail-optimised", "fat-tree")
"""Topologies that can be designed."""
LATER = ("dragonfly", "full-mesh", "torus")
"""Topologies that have a name here and no design yet."""


@dataclass(frozen=True)
class Ratio(Form):
    """An oversubscription ``down:up`` of bandwidths; in Python down divided by up."""

    example: str = "1:1"
    most: float = 64.0
    unit: str = "1"

    def read(self, value: object, context: Context) -> float:
        """The quotient."""
        hint = "write '1:1' (non-blocking) or '2:1' (half as much going up)"
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise problem("SPEC-UNIT", f"{shown(value)} is not a ratio", hint)
        text = as_text(value, "a ratio", hint)
        match = re.fullmatch(r"\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*:\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*", text, re.ASCII)
        if match is None:
            raise problem("SPEC-TYPE", f"{shown(text)} is not a ratio", hint)
        down, up = float(match[1]), float(match[2])
        if down <= 0 or up <= 0:
            raise problem("SPEC-RANGE", f"{shown(text)} has a side that is not above zero", hint)
        return Bounds(1.0, self.most, lambda x: f"{x:g}:1", hint).check(down / up, value)

    def show(self, value: object) -> str:
        """The quotient as a ratio to one."""
        return f"{super().show(value)}:1"

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of two numbers."""
        number = r"\d{1,6}(\.\d{1,6})?"
        return {"type": "string", "pattern": rf"^\s*{number}\s*:\s*{number}\s*$", "examples": ["1:1", "2:1"]}

    @property
    def words(self) -> str:
        """The form."""
        return f"ratio from `1:1` to `{self.most:g}:1`"


class Fabric(Section):
    """The network between the servers."""

    technology: Annotated[str | None, Part("fabrics", "fabric", "infiniband-ndr")] = Field(
        None, description="Link technology; `auto` weighs those that fit the server's network cards."
    )
    topology: Annotated[str | None, Word("topology", TOPOLOGIES, LATER)] = Field(
        None, description="How leaf, spine and core switches are joined."
    )
    oversubscription: Annotated[float, Ratio()] = Field(
        1.0, description="Bandwidth towards the nodes over bandwidth towards the spines, at each leaf."
    )
