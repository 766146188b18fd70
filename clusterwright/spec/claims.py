"""Claims: what a proposal says about the cluster, in the words of the design's own figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from clusterwright import units
from clusterwright.spec.context import Context, context_of
from clusterwright.spec.forms import DIGITS, Form, did_you_mean, finite, problem, shown, unit_problem
from clusterwright.spec.section import Section
from clusterwright.spec.words import Text

__all__ = ["CLAIM_ROOMS", "Claim", "Dimensioned", "dimension_of"]

CLAIM_ROOMS = (
    "compute",
    "training",
    "fabric",
    "storage",
    "facility",
    "reliability",
    "cost",
    "sites",
    "management",
    "scheduling",
    "accelerator",
    "server",
)
"""First words of the figures of a design."""

_SHARES = ("mfu", "ettr", "efficiency", "fraction", "availability", "utilisation", "share", "margin", "overhead")
_PATH = re.compile(r"[a-z_]+(\[\d{1,4}\])?(\.[a-z_0-9]+(\[\d{1,4}\])?)+")


@dataclass(frozen=True)
class Dimensioned:
    """How the text of a claim is read: as a quantity of ``dimension``, then divided by ``scale``.

    Attributes:
        dimension: a key of :data:`clusterwright.units.DIMENSIONS`; ``count`` for a plain number.
        scale: SI value of one unit of the figure (``1e12`` for a figure in TFLOP/s).
        words: unit words that may follow a plain number.
        example: how it is written.
    """

    dimension: str
    scale: float
    words: tuple[str, ...]
    example: str


def _plain(example: str, *words: str) -> Dimensioned:
    return Dimensioned("count", 1.0, words, example)


_BY_UNIT = {
    "byte": Dimensioned("bytes", 1.0, (), "1 TB"),
    "byte/s": Dimensioned("bandwidth", 1.0, (), "400 Gb/s"),
    "FLOP/s": Dimensioned("flops", 1.0, (), "989 TFLOPS"),
    "TFLOP/s": Dimensioned("flops", 1e12, (), "400 TFLOPS"),
    "W": Dimensioned("power", 1.0, (), "6-10 MW"),
    "J": Dimensioned("energy", 1.0, (), "500 MWh"),
    "Wh": Dimensioned("energy", 3600.0, (), "500 MWh"),
    "s": Dimensioned("time", 1.0, (), "<= 14 d"),
    "USD": Dimensioned("money", 1.0, (), "40-55M USD"),
    "USD/GPU-h": Dimensioned("gpu_hour_price", 1 / units.HOUR_S, (), "2.5 USD/h"),
    "USD/year": Dimensioned("gpu_hour_price", 1 / units.YEAR_S, (), "3M USD/year"),
    "USD/s": Dimensioned("gpu_hour_price", 1.0, (), "2.5 USD/h"),
    "USD/kWh": Dimensioned("energy_price", 1 / units.JOULE_PER_KWH, (), "$0.08/kWh"),
    "USD/kW/month": Dimensioned("power_rent", 1e-3 / units.MONTH_S, (), "184 USD/kW/month"),
    "g/kWh": Dimensioned("carbon", 1e-3 / units.JOULE_PER_KWH, (), "369 g/kWh"),
    "m2": Dimensioned("area", 1.0, (), "500 m2"),
    "m": Dimensioned("length", 1.0, (), "30 m"),
    "kg": Dimensioned("mass", 1.0, (), "1360 kg"),
    "1/s": Dimensioned("rate", 1.0, (), "6.5 per 1000 node-days"),
    "token/s": _plain("800000", "tokens/s", "token/s"),
    "m3": _plain("12000", "m3", "m³"),
    "FLOP": _plain("4.2e23", "FLOP"),
    "USD/ZFLOP": _plain("12000", "USD/ZFLOP"),
    "year": _plain("4", "years", "year"),
    "week": _plain("30", "weeks", "week"),
}


def dimension_of(path: str) -> Dimensioned:
    """How the value of a claim about ``path`` is written, from the ending of its last word.

    An amount of a year or of a run (``energy_j_per_year``, ``carbon_kg_run``) is written as the amount (``12 GWh``).
    """
    unit = units.unit_of(path)
    if unit in _BY_UNIT:
        return _BY_UNIT[unit]
    if (amount := unit.removesuffix("/year")) in _BY_UNIT:
        how = _BY_UNIT[amount]
        return replace(how, words=(*how.words, "/year", "per year", "a year"))
    if unit != "1":
        return _plain(f"12 {unit}", unit)
    last = path.rsplit(".", 1)[-1]
    if any(word in last for word in _SHARES):
        return Dimensioned("fraction", 1.0, (), ">= 80 %")
    noun = re.sub(r"\[\d+\]", "", last).replace("_", " ")
    return _plain("16-32", noun, noun.rsplit(" ", 1)[-1])


@dataclass(frozen=True)
class ClaimPath(Form):
    """The path of a figure of the design."""

    example: str = "facility.meter_power_w"

    def read(self, value: object, context: Context) -> str:
        """The path."""
        hint = f"write the path of a figure, such as {self.example}"
        if not isinstance(value, str):
            raise problem("SPEC-TYPE", f"a path is text, not {shown(value)}", hint)
        first = re.split(r"[.\[]", value, maxsplit=1)[0]
        if first not in CLAIM_ROOMS:
            close = did_you_mean(first, CLAIM_ROOMS)
            more = f"a path starts with one of {', '.join(CLAIM_ROOMS)}"
            raise problem("SPEC-UNKNOWN-WORD", f"{shown(value)} is no figure of a design", f"{close} {more}".strip())
        if len(value) > 120 or not _PATH.fullmatch(value):
            raise problem("SPEC-TYPE", f"{shown(value)} is not a path", hint)
        if first in ("training", "sites") and not value.startswith(f"{first}["):
            raise problem("SPEC-TYPE", f"{shown(value)} does not say which", f"write {first}[0]{value[len(first) :]}")
        return value

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of words and indices."""
        return {"type": "string", "pattern": f"^{_PATH.pattern}$", "examples": [self.example]}

    @property
    def words(self) -> str:
        """An example."""
        return f"path of a figure of the design, such as `{self.example}`"


@dataclass(frozen=True)
class ClaimText(Form):
    """The value of a claim as written; what it means depends on the path."""

    example: str = "6-10 MW"
    unit: str = "of the path"

    def read(self, value: object, context: Context) -> object:
        """The number or text itself."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            hint = f"write a quantity or a range, such as '{self.example}'"
            raise problem("SPEC-TYPE", f"a claim's value is a quantity, not {shown(value)}", hint)
        return finite(value, f"write it like '{self.example}'")

    def schema(self, context: Context) -> dict[str, Any]:
        """A number, or text that has a number in it."""
        text = {"type": "string", "pattern": DIGITS}
        return {"anyOf": [{"type": "number", "minimum": 0}, text], "examples": ["6-10 MW", "<= 14 d", ">= 80 %", 16]}

    @property
    def words(self) -> str:
        """The forms."""
        return "a quantity, a range (`6-10 MW`), or an end (`<= 14 d`, `>= 80 %`), in the unit that the path ends in"


def read_claim(path: str, written: object, context: Context) -> tuple[float, float]:
    """The claimed range in the unit that the name of ``path`` ends in; an open end is 0 or infinite (1 for shares)."""
    how = dimension_of(path)
    value = written
    if isinstance(written, str):
        value = written.strip()
        for word in sorted(how.words, key=len, reverse=True):
            value = str(value).removesuffix(word).strip()
    parse = partial(units.parse_range, dimension=how.dimension, currencies=context.rates_for(how.dimension))
    try:
        low, high = parse(value)
    except units.UnitError as error:
        code = unit_problem(error, value, how.dimension, parse).type
        hint = f"a claim about {path} is written like '{how.example}'"
        raise problem(code, error.message, hint, at=("value",)) from None
    if how.dimension == "fraction":
        high = min(high, 1.0)
    scale: Callable[[float], float] = lambda x: x if math.isinf(x) else x / how.scale  # noqa: E731  # two uses, one line
    return scale(low), scale(high)


class Claim(Section):
    """One statement of a proposal, judged by the verb `audit`."""

    path: Annotated[str, ClaimPath()] = Field(description="The figure that the claim is about.")
    written: Annotated[object, ClaimText()] = Field(alias="value", description="What is claimed.")
    who: Annotated[str, Text("the vendor's proposal")] = Field("", description="Who claims it.")

    _range: tuple[float, float] = PrivateAttr((0.0, math.inf))

    @model_validator(mode="after")
    def _understand(self, info: ValidationInfo) -> Claim:
        self._range = read_claim(self.path, self.written, context_of(info.context))
        return self

    @property
    def low(self) -> float:
        """Lower end, in the unit that the name of the path ends in."""
        return self._range[0]

    @property
    def high(self) -> float:
        """Upper end; infinite for an open range."""
        return self._range[1]

    @property
    def text(self) -> str:
        """The value as it was written."""
        return str(self.written)
