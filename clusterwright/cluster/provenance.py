"""Where a number comes from: a law with inputs, a spec field, a fact, a choice, an assumption, a running cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Kind", "Provenance", "assumed", "chosen", "from_spec"]

Kind = Literal["law", "spec", "default", "catalog", "choice", "assumption", "observed"]


@dataclass(frozen=True)
class Provenance:
    """The origin of one figure.

    Attributes:
        kind: ``law`` (computed), ``spec`` (asked for), ``default`` (the spec is silent), ``catalog`` (a fact),
            ``choice`` (the best of the options considered), ``assumption`` (said openly, with its reason),
            ``observed`` (read from a running cluster; ``place`` is the file and line of what it said).
        law: name of the law, for kind ``law``.
        inputs: argument name -> path of the figure (or list of paths) it was computed from.
        place: spec file and line, or ``catalogue: kind/part field``.
        source: title of the source, with its url and date where known.
        status: checked, memory, derived, estimate - how well the fact is known.
        note: why, in a sentence.
    """

    kind: Kind
    law: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    place: str = ""
    source: str = ""
    status: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without what is empty."""
        return {k: v for k, v in vars(self).items() if v}


def from_spec(place: str, note: str = "") -> Provenance:
    """A value that the spec asks for, at ``file:line:column``."""
    return Provenance("spec", place=place, note=note)


def chosen(note: str) -> Provenance:
    """A value that the choice settled."""
    return Provenance("choice", note=note)


def assumed(note: str, source: str = "") -> Provenance:
    """A value assumed, with the reason."""
    return Provenance("assumption", note=note, source=source)
