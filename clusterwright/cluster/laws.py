"""Laws: documented functions of arrays, each with formula, unit, source and valid range.

A domain writes a law as a plain function of NumPy arrays and decorates it with :func:`law`. The object stays
callable, so solver, enumeration, report and tests call the same function; :meth:`Frame.derive` calls it and
records where the number came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Law", "law", "laws"]


@dataclass(frozen=True, eq=False)
class Law:
    """One law of a domain.

    Attributes:
        name: ``domain.phenomenon``, unique, what ``explain`` shows.
        function: arrays in, array out (SI units; element by element over candidates).
        formula: as a person would write it.
        unit: SI unit of the result.
        source: where the formula comes from.
        valid: the range in which it holds.
        count: True when the result is a plain number of things, exact by construction.
        spread: half-width of the 80 % interval of the law itself, relative, measured on published results
            (0 for arithmetic that is exact).
        bounds: smallest and largest value that makes sense; the interval is clipped to it.
    """

    name: str
    function: Callable[..., Any]
    formula: str
    unit: str
    source: str
    valid: str = "any"
    count: bool = False
    spread: float = 0.0
    bounds: tuple[float, float] = (float("-inf"), float("inf"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The law itself."""
        return self.function(*args, **kwargs)

    @property
    def doc(self) -> str:
        """What the function says of itself; array shapes are left to the reader of the code."""
        return re.sub(r",? shape \(\w+,\)", "", (self.function.__doc__ or "").strip())


def law(
    name: str,
    *,
    formula: str,
    unit: str,
    source: str,
    valid: str = "any",
    count: bool = False,
    spread: float = 0.0,
    bounds: tuple[float, float] = (float("-inf"), float("inf")),
) -> Callable[[Callable[..., Any]], Law]:
    """Decorate a function of arrays as a :class:`Law`."""

    def decorate(function: Callable[..., Any]) -> Law:
        return Law(name, function, formula, unit, source, valid, count, spread, bounds)

    return decorate


def laws(*made: Law) -> Mapping[str, Law]:
    """The ``LAWS`` mapping at a domain's door.

    Raises:
        ValueError: when a name is used twice.
    """
    mapping = {one.name: one for one in made}
    if len(mapping) != len(made):
        raise ValueError("a law is listed twice")
    return mapping
