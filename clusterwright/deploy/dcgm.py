"""The fields of dcgm-exporter: the one table that the targets read."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

__all__ = ["listed", "table"]


@cache
def table() -> Sequence[Mapping[str, str]]:
    """Fields in the order of NVIDIA's list.

    Columns: field; Prometheus type; help; default (whether NVIDIA's own list has it on); operator (place in the list of
    the GPU operator, empty when it is not there); short (help in that list).
    """
    text = files("clusterwright.deploy").joinpath("data", "dcgm_fields.csv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def listed() -> str:
    """The list that the GPU operator gives to dcgm-exporter: field, type, help."""
    rows = sorted((row for row in table() if row["operator"]), key=lambda row: int(row["operator"]))
    head = "# DCGM field, type, help; what the rules and dashboards of this bundle read\n"
    return head + "".join(f"{row['field']}, {row['type']}, {row['short']}\n" for row in rows)
