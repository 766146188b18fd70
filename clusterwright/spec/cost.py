"""What may be asked of cost: the objective, how things are had, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clusterwright.spec.context import Context
from clusterwright.spec.forms import Bounds, Form, Number, did_you_mean, finite, problem, shown
from clusterwright.spec.section import OneOrMore, Section
from clusterwright.spec.words import Word

__all__ = ["OBJECTIVES", "PROCUREMENTS", "Finance", "Weights"]

OBJECTIVES = ("cost", "time", "energy", "carbon")
"""What a design can be made small in."""
PROCUREMENTS = ("buy", "rent", "reserved", "colocate")
"""How a cluster can be had: bought for an own hall, rented on demand, rented by reservation, bought and colocated."""


@dataclass(frozen=True)
class Weights(Form):
    """One word, or weights over the words; in Python weights that sum to one."""

    noun: str
    choices: tuple[str, ...]
    unit: str = "1"

    @property
    def example(self) -> str:  # type: ignore[override]  # read-only here, a constant in the base
        """The first word."""
        return self.choices[0]

    def read(self, value: object, context: Context) -> dict[str, float]:
        """Weights in the order written, those of zero left out."""
        weighed = f"{{{self.choices[0]}: 0.7, {self.choices[-1]}: 0.3}}"
        hint = f"one of {', '.join(self.choices)}, or weights such as {weighed}"
        if isinstance(value, str):
            return {Word(self.noun, self.choices).read(value, context): 1.0}
        if not isinstance(value, Mapping) or not value:
            raise problem("SPEC-TYPE", f"the {self.noun} is a word or weights, not {shown(value)}", hint)
        bounds = Bounds(0.0, 1e6, lambda x: f"{x:g}", hint)
        weights: dict[str, float] = {}
        for word, weight in value.items():
            if word not in self.choices:
                close = did_you_mean(str(word), self.choices)
                raise problem("SPEC-UNKNOWN-KEY", f"{shown(word)} is not an {self.noun}", close or hint, at=(word,))
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise problem("SPEC-TYPE", f"a weight is a number, not {shown(weight)}", hint, at=(word,))
            written = finite(weight, hint)  # first: whole numbers can be too long for a float
            weights[word] = bounds.check(float(weight), written)
        total = sum(weights.values())
        if total <= 0:
            raise problem("SPEC-RANGE", f"the weights of the {self.noun} sum to zero", hint)
        return {word: weight / total for word, weight in weights.items() if weight}

    def schema(self, context: Context) -> dict[str, Any]:
        """A word, or numbers by word."""
        numbers = {word: {"type": "number", "minimum": 0} for word in self.choices}
        weights = {"type": "object", "properties": numbers, "additionalProperties": False, "minProperties": 1}
        return {"anyOf": [{"enum": list(self.choices)}, weights]}

    @property
    def words(self) -> str:
        """The words."""
        return ", ".join(f"`{choice}`" for choice in self.choices) + ", or weights over them"


_Procurement = Annotated[str, Word("procurement", PROCUREMENTS)]


class Finance(Section):
    """How the cluster is had and for how long."""

    procurement: Annotated[list[_Procurement], OneOrMore] = Field(
        default_factory=list,
        description="Ways to have it that are weighed; `auto` weighs buying, renting and colocating.",
    )
    years: Annotated[float, Number(0.1, 50.0, "4", "year")] = Field(
        4.0, description="Operating years that costs are summed over."
    )
    staff: Annotated[float | None, Number(0.0, 1e5, "6", "full-time person")] = Field(
        None, description="People who run it; `auto` follows the size."
    )
