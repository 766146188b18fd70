"""Findings: what is worth saying, each with a documented code, a place and a hint.

A room documents its own codes in a ``FINDINGS`` mapping at its door (code -> :class:`Code`) and creates
findings with :func:`Code.at`. ``clusterwright explain CODE`` and the reference page read the same mappings.
A code is its room's name and a few words: ``SPEC-UNKNOWN-KEY``, ``FACILITY-RACK-TOO-DENSE``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clusterwright.source import Place

__all__ = ["SEVERITIES", "Code", "Finding", "Severity", "codes"]

Severity = Literal["error", "warning", "risk", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "risk", "info")
"""From worst to mildest. ``risk`` is a warning about the world, with a mitigation as its hint."""


@dataclass(frozen=True)
class Finding:
    """One thing worth saying.

    Attributes:
        code: documented by ``clusterwright explain CODE``.
        severity: one of :data:`SEVERITIES`.
        message: one sentence, with the numbers that matter, without a full stop.
        place: where in a file, or the path of the design's figure (``facility.rack_power_w``).
        hint: what to do about it.
    """

    code: str
    severity: Severity
    message: str
    place: Place | str = ""
    hint: str = ""

    def line(self) -> str:
        """``file:line:column CODE message`` and the hint on a line of its own."""
        where = f"{self.place} " if str(self.place) else ""
        return f"{where}{self.code} {self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "code": self.code,
            "severity": self.severity,
            "place": str(self.place),
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True)
class Code:
    """The documentation of one finding code, and the only way to make a finding of it."""

    code: str
    severity: Severity
    title: str
    meaning: str

    def at(self, place: Place | str, message: str, hint: str = "") -> Finding:
        """A finding of this code."""
        return Finding(self.code, self.severity, message, place, hint)


def codes(*documented: Code) -> Mapping[str, Code]:
    """The ``FINDINGS`` mapping of a room.

    Raises:
        ValueError: when a code is given twice.
    """
    mapping = {c.code: c for c in documented}
    if len(mapping) != len(documented):
        raise ValueError("a finding code is documented twice")
    return mapping
