"""A design in a notebook: its summary as HTML, its tables as data frames, its pictures one by one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster, load
from clusterwright.design import design as design_cluster
from clusterwright.report.build import report
from clusterwright.report.explanation import explain
from clusterwright.report.model import Picture
from clusterwright.report.page import WIDE_PX, html, svg_of
from clusterwright.report.tables import design_summary
from clusterwright.report.telling import explanation_text
from clusterwright.spec import load_spec

__all__ = ["Plots", "Result", "design", "open_run", "plot", "repr_html", "to_pandas"]


def design(spec: str | Path, overrides: Sequence[str] = (), overlays: Sequence[Path] = ()) -> Result:
    """Design the cluster that a spec asks for; nothing is written.

    Args:
        spec: path of the spec.
        overrides: ``path=value`` laid over it, as ``--set`` does.
        overlays: files laid over the catalogue.

    Raises:
        InputError: everything that is wrong with the spec, at once.
    """
    catalog = load_catalog(overlays)
    return Result(design_cluster(load_spec(spec, overrides, catalog), catalog))


def open_run(run: str | Path) -> Result:
    """Open a run folder or a ``cluster.json``.

    Raises:
        InputError: there is no design, or it is damaged.
    """
    return Result(load(Path(run)))


class Result:
    """A design: figures, tables, explanations and pictures of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __repr__(self) -> str:
        return f"<design {self.cluster.name}: {self.cluster.verdict}>"

    def __str__(self) -> str:
        with self.cluster.in_its_currency():
            return design_summary(self.cluster)

    def _repr_html_(self) -> str:
        with self.cluster.in_its_currency():
            return repr_html(self.cluster)

    @property
    def verdict(self) -> str:
        """``feasible`` or ``infeasible``."""
        return self.cluster.verdict

    @property
    def plot(self) -> Plots:
        """Pictures: ``result.plot.sankey()`` gives an SVG."""
        return Plots(self.cluster)

    def value(self, path: str) -> float:
        """One figure, SI.

        Raises:
            KeyError: no such figure.
        """
        return self.cluster.value(path)

    def explain(self, path: str, depth: int = 2) -> str:
        """A figure down to its sources, as text."""
        with self.cluster.in_its_currency():
            return explanation_text(explain(self.cluster, path, depth))

    def to_pandas(self, table: str = "totals") -> Any:
        """A table of the design, or all its figures, as a pandas data frame."""
        return to_pandas(self.cluster, table)


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
