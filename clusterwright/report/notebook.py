"""A design in a notebook: its summary as HTML, its tables as data frames, its pictures one by one."""

from __future__ import annotations

import importlib
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.report.build import report
from clusterwright.report.model import Picture
from clusterwright.report.page import WIDE_PX, html, svg_of

__all__ = ["Plots", "plot", "repr_html", "to_pandas"]


def repr_html(cluster: Cluster) -> str:
    """The report in a frame, so that its style stays its own."""
    from html import escape

    page = escape(html(report(cluster)), quote=True)
    return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0" title="Cluster design"></iframe>'


def to_pandas(cluster: Cluster, table: str = "totals") -> Any:
    """A table of the design, or all its figures (``totals``), as a pandas data frame.

    Raises:
        ModuleNotFoundError: pandas is not installed.
        KeyError: no such table.
    """
    pd: Any = importlib.import_module("pandas")  # optional, so neither a dependency nor known to type checkers
    if table != "totals":
        return pd.DataFrame(cluster.tables[table].columns)
    rows = [{"path": path, **cluster.total(path).to_dict()} for path in cluster.frame]
    return pd.DataFrame(rows).set_index("path")


def plot(cluster: Cluster, kind: str, width: int = WIDE_PX) -> str:
    """The first picture of a kind, one of :attr:`Plots.KINDS`, as SVG.

    Raises:
        KeyError: the design has nothing to draw for it.
    """
    for section in report(cluster).sections:
        for part in section.parts:
            if isinstance(part, Picture) and part.kind == kind:
                return svg_of(part, width)
    raise KeyError(f"nothing to draw for '{kind}'")


class Plots:
    """``Plots(cluster).sankey()``: every kind of :func:`plot` as a method."""

    KINDS = ("elevation", "fabric", "floor", "memory", "pareto", "roofline", "sankey", "tornado", "waterfall")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __dir__(self) -> list[str]:
        return list(self.KINDS)

    def __getattr__(self, kind: str) -> Any:
        if kind not in self.KINDS:
            raise AttributeError(f"no picture is called '{kind}'; there are {', '.join(self.KINDS)}")
        return lambda width=WIDE_PX: plot(self._cluster, kind, width)
