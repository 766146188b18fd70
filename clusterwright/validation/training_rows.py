"""Rows of published training runs: read from any CSV with the columns that are known, whatever else it holds."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.source import Place, Problem, read_bytes
from clusterwright.validation.codes import FINDINGS

__all__ = ["Published", "read_published"]


@dataclass(frozen=True)
class Published:
    """One row.

    Attributes:
        line: in the file.
        cells: the texts by column, stripped, the empty ones left out.
    """

    line: int
    cells: Mapping[str, str]

    def text(self, column: str, default: str = "") -> str:
        """A cell, or ``default`` where it is empty or missing."""
        return self.cells.get(column, default)

    def number(self, column: str) -> float | None:
        """A positive number, or None where there is none."""
        found = re.fullmatch(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?", self.text(column).replace(",", "").replace("_", ""))
        try:
            value = float(found.group(0)) if found else math.nan
        except ValueError:
            return None
        return value if math.isfinite(value) and value > 0 else None

    @property
    def id(self) -> str:
        """The row's name, else its line."""
        return self.text("id") or f"line {self.line}"

    @property
    def family(self) -> str:
        """The report that a row belongs to."""
        return self.text("family") or "unnamed"

    @property
    def kind(self) -> str:
        """``dense``, ``moe`` or ``hybrid``."""
        said = self.text("kind").lower()
        return said or ("moe" if (self.number("num_experts") or 0) > 1 else "dense")

    @property
    def step_s(self) -> float | None:
        """Measured step time."""
        return self.number("measured_step_s")

    @property
    def counted(self) -> bool:
        """Whether the row counts in the headline: something is measured, nothing that decides it is left out."""
        return self.step_s is not None and not self.text("why_not_in_target")


def read_published(path: Path) -> list[Published]:
    """All rows of a CSV file.

    Raises:
        InputError: the file cannot be read or has no header.
    """
    return list(_rows(path))


def _rows(path: Path) -> Iterator[Published]:
    hint = "give a CSV file with one published run a row; the reference of 'validate' lists the columns"
    data = read_bytes(path)
    if isinstance(data, Problem):
        raise InputError(FINDINGS["VALIDATION-DATA"].at(data.place, data.message, hint))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(FINDINGS["VALIDATION-DATA"].at(Place(str(path)), "is not UTF-8 text")) from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if "gpu" not in (reader.fieldnames or ()):
            raise InputError(FINDINGS["VALIDATION-DATA"].at(Place(str(path), 1, 1), "has no column gpu", hint))
        for row in reader:
            cells = {k.strip(): v.strip() for k, v in row.items() if k and isinstance(v, str) and v.strip()}
            if cells:
                yield Published(reader.line_num, cells)
    except csv.Error as error:
        place = Place(str(path), reader.line_num, 1)
        raise InputError(FINDINGS["VALIDATION-DATA"].at(place, f"is not CSV: {error}")) from None
