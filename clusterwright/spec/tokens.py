"""Amounts of training data: tokens, and the global batch in tokens or sequences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from clusterwright.spec.context import Context
from clusterwright.spec.forms import DIGITS, SCALE, Bounds, Form, as_text, finite, problem, read_quantity, shown

__all__ = ["Batch", "BatchSize", "Tokens"]


@dataclass(frozen=True)
class Tokens(Form):
    """A number of tokens: ``1e12``, ``"1T"``, ``"15.6T tokens"``; in Python a float."""

    most: float
    example: str = "1e12"
    unit: str = "token"

    def read(self, value: object, context: Context) -> float:
        """The number of tokens."""
        hint = "write 1e12, or '1T tokens'"
        text = finite(value, hint)
        if isinstance(text, str):
            text = re.sub(r"\s*\btokens?\s*$", "", re.sub(r"(?<=[kMBT])tokens?\s*$", "", text[:200]))
            text = read_quantity(text, "count", context)
        if isinstance(text, bool) or not isinstance(text, int | float):
            raise problem("SPEC-TYPE", f"expected a number of tokens, not {shown(value)}", hint)
        number = float(text)
        return Bounds(1.0, self.most, lambda x: f"{x:g} tokens", hint).check(number, value)

    def schema(self, context: Context) -> dict[str, Any]:
        """A number, or its text with a magnitude."""
        text = {"type": "string", "pattern": rf"^\s*\+?{DIGITS}\s*{SCALE}?\s*(tokens?)?\s*$"}
        number = {"type": "number", "minimum": 1, "maximum": self.most}
        return {"anyOf": [number, text], "examples": [1e12, "15T tokens"]}

    @property
    def words(self) -> str:
        """Both ways."""
        return "number of tokens, such as `1e12` or `15T tokens`"


class Batch(NamedTuple):
    """A global batch as written: an amount of ``tokens`` or of ``sequences``."""

    amount: float
    unit: str

    def sequences(self, sequence: int) -> float:
        """The batch in sequences of ``sequence`` tokens."""
        return self.amount if self.unit == "sequences" else self.amount / sequence


@dataclass(frozen=True)
class BatchSize(Form):
    """A global batch: ``"4M tokens"`` (4,000,000) or ``"512 sequences"``."""

    example: str = "4M tokens"
    unit: str = "sequence"

    def read(self, value: object, context: Context) -> Batch:
        """Amount and unit."""
        hint = "write '4M tokens' or '512 sequences'"
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise problem("SPEC-UNIT", f"{shown(value)} has no unit: tokens or sequences?", hint)
        text = as_text(value, "the global batch", hint)
        match = re.fullmatch(r"\s*(.*?)\s*(tokens?|sequences?)\s*", text[:200])
        if match is None:
            raise problem("SPEC-UNIT", f"{shown(text)} is neither tokens nor sequences", hint)
        unit = "tokens" if match[2].startswith("token") else "sequences"
        amount = read_quantity(match[1], "count", context)
        most = 1e11 if unit == "tokens" else 1e8
        return Batch(Bounds(1.0, most, lambda x: f"{x:g} {unit}", hint).check(amount, value), unit)

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of a number and one of two units."""
        pattern = rf"^\s*\+?{DIGITS}\s*{SCALE}?\s*(tokens?|sequences?)\s*$"
        return {"type": "string", "pattern": pattern, "examples": ["4M tokens", "512 sequences"]}

    @property
    def words(self) -> str:
        """Both ways."""
        return "`4M tokens` (M is 1,000,000) or `512 sequences`"
