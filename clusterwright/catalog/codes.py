"""The finding codes of the catalogue, and the error of a part that is not there."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.catalog.kinds import Kind
from clusterwright.errors import InputError
from clusterwright.findings import Code, codes
from clusterwright.source import Place

__all__ = [
    "BAD_FORM",
    "BAD_VALUE",
    "CLASH",
    "FILE",
    "FINDINGS",
    "MISSING",
    "NO_DATE",
    "UNKNOWN_FIELD",
    "UNKNOWN_KIND",
    "UNKNOWN_PART",
    "YAML",
    "PartNotFound",
]

FILE = Code(
    "CATALOG-FILE",
    "error",
    "an overlay cannot be read",
    "The file is missing, a folder, unreadable, empty, binary, too large, or not UTF-8 text.",
)
YAML = Code(
    "CATALOG-YAML",
    "error",
    "an overlay is not good YAML",
    "A tab in the indentation, a key given twice, broken syntax, a second document, nesting without end.",
)
BAD_FORM = Code(
    "CATALOG-BAD-FORM",
    "error",
    "something has the wrong form",
    "A mapping, list or text stands where another is wanted. An overlay is kind -> part -> field -> value.",
)
UNKNOWN_KIND = Code(
    "CATALOG-UNKNOWN-KIND",
    "error",
    "there is no such kind of part",
    "The top level of an overlay names kinds (accelerators, servers, ...), 'sources', 'date' and 'title'.",
)
UNKNOWN_PART = Code(
    "CATALOG-UNKNOWN-PART",
    "error",
    "the catalogue has no such part",
    "Neither a name nor an alias. 'clusterwright catalog list KIND' lists what there is; an overlay can add parts.",
)
UNKNOWN_FIELD = Code(
    "CATALOG-UNKNOWN-FIELD",
    "error",
    "a part of this kind has no such field",
    "The table of kinds in the documentation of the catalogue lists the fields and how they are written.",
)
BAD_VALUE = Code(
    "CATALOG-BAD-VALUE",
    "error",
    "a value cannot be understood",
    "No unit or the wrong one, not a number, negative, absurd, a range backwards, an unknown source or status.",
)
MISSING = Code(
    "CATALOG-MISSING-FIELD",
    "error",
    "a new part lacks a required field",
    "A part that the catalogue does not have yet needs every field that is marked required.",
)
NO_DATE = Code(
    "CATALOG-NO-DATE",
    "error",
    "values without a date",
    "Each value has a date, so that stale prices can be told. 'date: 2026-11-30' at the top serves for all.",
)
CLASH = Code(
    "CATALOG-CLASH",
    "error",
    "a name is taken",
    "An alias or a new name is already the name or alias of another part of the kind.",
)

FINDINGS = codes(FILE, YAML, BAD_FORM, UNKNOWN_KIND, UNKNOWN_PART, UNKNOWN_FIELD, BAD_VALUE, MISSING, NO_DATE, CLASH)
"""Every code of the catalogue."""


class PartNotFound(InputError):  # noqa: N818 - it reads better where it is caught
    """The catalogue has no such part.

    Attributes:
        kind: of the part.
        name: as asked.
        suggestions: names that are close.
    """

    def __init__(self, kind: Kind, name: str, suggestions: Sequence[str], place: Place | str = "") -> None:
        self.kind = kind.name
        self.name = name
        self.suggestions = tuple(suggestions)
        close = " or ".join(f"'{s}'" for s in suggestions)
        hint = f"did you mean {close}?" if suggestions else f"'clusterwright catalog list {kind.name}' lists all"
        super().__init__(UNKNOWN_PART.at(place, f"the catalogue has no {kind.singular} '{name}'", hint))
