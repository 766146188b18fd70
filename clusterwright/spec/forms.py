"""How single values are written: each form reads what a person wrote and describes itself.

A form stands in the annotation of a field (``Annotated[float | None, Quantity("power")]``). Pydantic calls it to
validate, the JSON Schema and the reference page ask it what it accepts, so the three cannot disagree.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError, core_schema

from clusterwright import units
from clusterwright.spec.context import Context, context_of

__all__ = [
    "DIGITS",
    "SCALE",
    "Bounds",
    "Count",
    "Form",
    "Number",
    "Quantity",
    "Wrong",
    "as_text",
    "did_you_mean",
    "finite",
    "printable",
    "problem",
    "problems",
    "quantity_pattern",
    "read_quantity",
    "shown",
    "unit_problem",
]

DIGITS = r"(\d[\d_,]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
SCALE = r"(k|K|M|B|bn|T|million|billion)"
_TYPES = {bool: "true or false", dict: "a mapping", list: "a list", type(None): "nothing", str: "text"}


class Wrong(NamedTuple):
    """One thing that is wrong; ``at`` is its place below the field that is being read."""

    code: str
    message: str
    hint: str = ""
    at: tuple[str | int, ...] = ()


def problem(code: str, message: str, hint: str = "", at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """An error that becomes a finding; the arguments are those of :class:`Wrong`."""
    return problems([Wrong(code, message, hint, at)])


def problems(wrongs: Sequence[Wrong]) -> PydanticCustomError:
    """An error that becomes several findings."""
    return PydanticCustomError(wrongs[0].code, "{message}", {"message": wrongs[0].message, "wrongs": tuple(wrongs)})


def shown(value: object) -> str:
    """A value as it is quoted in a message: short, and nothing in it that a terminal would obey."""
    if type(value) in _TYPES and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else _TYPES[type(value)]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) and abs(value) >= 10**18:
        text = f"a number of {len(text)} digits"
    text = printable(text[:80])
    return f"'{text if len(text) <= 60 else text[:57] + '...'}'"


def printable(text: str) -> str:
    """The text without anything that a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def did_you_mean(word: str, among: Sequence[str], cutoff: float = 0.6) -> str:
    """``did you mean 'x'?`` when one of the words is close, else nothing."""
    folded = {candidate.lower(): candidate for candidate in reversed(among)}
    close = get_close_matches(word[:64].lower(), list(folded), n=1, cutoff=cutoff)
    return f"did you mean '{folded[close[0]]}'?" if close else ""


def as_text(value: object, what: str, hint: str) -> str:
    """The value when it is text, else an error of type."""
    if isinstance(value, str):
        return value
    raise problem("SPEC-TYPE", f"{what} is text, not {shown(value)}", hint)


class Form(ABC):
    """One way to write a value.

    Attributes:
        unit: SI unit of the value in Python, for the reference page; empty when it has none.
        example: how a person writes it.
    """

    unit: str = ""
    example: str = ""

    @abstractmethod
    def read(self, value: object, context: Context) -> Any:
        """The value in Python; raises the error that :func:`problem` makes."""

    @abstractmethod
    def schema(self, context: Context) -> dict[str, Any]:
        """The JSON Schema of the written form."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What may be written, for the reference page."""

    def show(self, value: object) -> str:
        """A value in Python as a person writes it, for the defaults on the reference page."""
        return f"{value:g}" if isinstance(value, float) else str(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(
            lambda value, info: self.read(value, context_of(info.context))
        )


def finite(value: object, hint: str) -> object:
    """Refuse numbers that are not finite or too long for any further arithmetic."""
    if isinstance(value, float) and not math.isfinite(value):
        raise problem("SPEC-RANGE", f"{shown(value)} is not a finite number", hint)
    if isinstance(value, int) and abs(value) > 10**30:
        raise problem("SPEC-RANGE", f"{shown(value)} is beyond anything that can be built", hint)
    return value


@dataclass(frozen=True)
class Bounds:
    """What a number must lie between, both ends included.

    Attributes:
        least: smallest accepted value; above zero it also means that zero is nonsense.
        most: largest accepted value.
        show: how a bound is said.
        hint: how the value is written right.
    """

    least: float
    most: float
    show: Callable[[float], str]
    hint: str

    def check(self, value: float, written: object) -> float:
        """The value, when it is within."""
        if value < 0:
            said = "is negative"
        elif value == 0 and self.least > 0:
            said = "is zero"
        elif value < self.least:
            said = f"is less than {self.show(self.least)}"
        elif value > self.most:
            said = f"is more than {self.show(self.most)}, the most that is accepted"
        else:
            return value
        raise problem("SPEC-RANGE", f"{shown(written)} {said}", self.hint)


@dataclass(frozen=True)
class Quantity(Form):
    """A number with a unit of ``dimension``; in Python an SI float.

    Attributes:
        dimension: a key of :data:`clusterwright.units.DIMENSIONS`.
        example: how a person writes it.
        most: largest accepted value, in the SI unit.
        zero: whether zero means something.
    """

    dimension: str
    example: str = ""
    most: float = math.inf
    zero: bool = False

    @property
    def unit(self) -> str:  # type: ignore[override]  # read-only here, a constant in the base
        """SI unit of the value."""
        return units.DIMENSIONS[self.dimension].si

    def read(self, value: object, context: Context) -> float:
        """The quantity in its SI unit."""
        hint = f"write it like '{self.example}'"
        number = read_quantity(finite(value, hint), self.dimension, context, self.example)
        least = 0.0 if self.zero else math.ulp(0.0)
        return Bounds(least, self.most, lambda x: units.human_as(x, self.unit), hint).check(number, value)

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of a number and a unit."""
        pattern = quantity_pattern(self.dimension, sorted(context.rates))
        kind: dict[str, Any] = {"type": "string", "pattern": pattern, "examples": [self.example]}
        return kind if self.dimension != "fraction" else {"anyOf": [kind, {"type": "number", "minimum": 0}]}

    @property
    def words(self) -> str:
        """The dimension and an example."""
        return f"{self.dimension.replace('_', ' ')}, such as `{self.example}`"


def read_quantity(value: object, dimension: str, context: Context, example: str = "") -> float:
    """Parse a quantity; a unit that is missing or wrong is told apart from a magnitude that is absurd.

    Args:
        value: as written.
        dimension: a key of :data:`clusterwright.units.DIMENSIONS`.
        context: for exchange rates.
        example: how a person writes it; its unit is proposed where one is missing.
    """
    try:
        return units.parse(value, dimension, context.rates_for(dimension))
    except units.UnitError as error:
        hint = error.hint
        if isinstance(value, int | float) and not isinstance(value, bool):
            if dimension == "fraction" and 1 < value <= 100:
                hint = f"write '{value:g} %'"
            elif example and value >= 0:
                hint = f"add one, such as '{value:g} {re.sub(DIGITS, '', example, count=1).strip(' $')}'"
        told = units.UnitError(error.message, hint)
        parse = partial(units.parse, dimension=dimension, currencies=context.rates_for(dimension))
        raise unit_problem(told, value, dimension, parse) from None


def unit_problem(
    error: units.UnitError, value: object, dimension: str, parse: Callable[[str], object]
) -> PydanticCustomError:
    """The finding of a :class:`UnitError`: by type, by unit, or by range when the unit itself is right."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return problem("SPEC-TYPE", error.message, error.hint)
    if isinstance(value, str):
        try:
            parse(re.sub(r"(?<![\w.])[+-]?\d[\d_,.]*([eE][+-]?\d+)?", "1", value[:200]))
        except units.UnitError:
            return problem("SPEC-UNIT", error.message, error.hint)
        return problem("SPEC-RANGE", error.message, error.hint)
    return problem("SPEC-RANGE" if "" in units.DIMENSIONS[dimension].units else "SPEC-UNIT", error.message, error.hint)


def quantity_pattern(dimension: str, currencies: Sequence[str]) -> str:
    """A regular expression (ECMA flavour) of the texts that :func:`clusterwright.units.parse` understands."""
    names = sorted((u for u in units.DIMENSIONS[dimension].units if u), key=len, reverse=True)
    if not any("USD" in name for name in names):
        optional = "" if "" not in units.DIMENSIONS[dimension].units else "?"
        return rf"^\s*\+?{DIGITS}\s*({'|'.join(map(re.escape, names))}){optional}\s*$"
    codes = f"({'|'.join(currencies)})"
    after = "|".join(re.escape(name.replace("USD", "", 1)) for name in names)
    symbols = "".join(units.CURRENCY_SYMBOLS)
    code_form = rf"\+?{DIGITS}\s*({SCALE}\s+)?{codes}({after})"
    return rf"^\s*({code_form}|[{symbols}]\s*\+?{DIGITS}\s*{SCALE}?({after}))\s*$"


@dataclass(frozen=True)
class Number(Form):
    """A plain number between two bounds."""

    least: float
    most: float
    example: str
    unit: str = "1"

    def read(self, value: object, context: Context) -> float:
        """The number."""
        hint = f"write a number such as {self.example}"
        value = finite(value, hint)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise problem("SPEC-TYPE", f"expected a number, not {shown(value)}", hint)
        return Bounds(self.least, self.most, lambda x: f"{x:g}", hint).check(float(value), value)

    def schema(self, context: Context) -> dict[str, Any]:
        """A number with bounds."""
        return {"type": "number", "minimum": self.least, "maximum": self.most, "examples": [float(self.example)]}

    @property
    def words(self) -> str:
        """The bounds."""
        return f"number from {self.least:g} to {self.most:g}, such as `{self.example}`"


_WHOLE = re.compile(r"\s*\d{1,3}(,\d{3})+\s*|\s*\d[\d_]*\s*")


@dataclass(frozen=True)
class Count(Form):
    """A whole number of things; ``1024``, ``1e3`` and ``"1,024"`` are all understood."""

    most: int
    example: str
    least: int = 1
    unit: str = "1"

    def read(self, value: object, context: Context) -> int:
        """The number."""
        hint = f"write a whole number such as {self.example}"
        value = finite(value, hint)
        number: object = value
        if isinstance(value, str) and len(value) < 40 and value.isascii() and _WHOLE.fullmatch(value):
            number = int(value.replace(",", "").replace("_", ""))
        if isinstance(number, bool) or not isinstance(number, int | float) or not float(number).is_integer():
            raise problem("SPEC-TYPE", f"expected a whole number, not {shown(value)}", hint)
        return int(Bounds(self.least, self.most, lambda x: f"{x:,}", hint).check(number, value))

    def schema(self, context: Context) -> dict[str, Any]:
        """An integer with bounds, or its text with thousands separated."""
        whole = {"type": "integer", "minimum": self.least, "maximum": self.most, "examples": [int(self.example)]}
        return {"anyOf": [whole, {"type": "string", "pattern": r"^\s*(\d{1,3}(,\d{3})+|\d[\d_]*)\s*$"}]}

    @property
    def words(self) -> str:
        """The bounds."""
        return f"whole number from {self.least} to {self.most:,}, such as `{self.example}`"
