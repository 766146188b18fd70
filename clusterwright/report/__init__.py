"""RESULTS TO EYES: tables for a terminal, one-file HTML, Markdown, JSON, and the explanation of every number.

``report`` builds what is said, once; ``html``, ``markdown`` and ``as_json`` write it. ``explain`` opens a figure.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from clusterwright.report.codes import FINDINGS

if TYPE_CHECKING:
    from clusterwright.report.build import report
    from clusterwright.report.explanation import explain
    from clusterwright.report.notebook import plot, repr_html, to_pandas
    from clusterwright.report.page import html
    from clusterwright.report.tables import audit_table, compare_table, design_summary
    from clusterwright.report.writers import as_json, markdown

__all__ = [
    "FINDINGS",
    "as_json",
    "audit_table",
    "compare_table",
    "design_summary",
    "explain",
    "html",
    "markdown",
    "plot",
    "report",
    "repr_html",
    "to_pandas",
]

_HOMES = {
    "as_json": "writers",
    "audit_table": "tables",
    "compare_table": "tables",
    "design_summary": "tables",
    "explain": "explanation",
    "html": "page",
    "markdown": "writers",
    "plot": "notebook",
    "report": "build",
    "repr_html": "notebook",
    "to_pandas": "notebook",
}
"""Where each name lives; loaded when it is asked for, so that printing a table loads no templates."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
