"""RESULTS TO EYES: tables for a terminal, one-file HTML, Markdown, JSON, and the explanation of every number.

``report`` builds what is said, once; ``html``, ``markdown`` and ``as_json`` write it. ``explain`` opens a figure,
``explanation_text`` and ``explanation_data`` write that. ``design_summary``, ``audit_table`` and ``compare_table`` are
what the verbs print; ``plot``, ``repr_html`` and ``to_pandas`` serve notebooks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from clusterwright.report.codes import FINDINGS

if TYPE_CHECKING:
    from clusterwright.report.accuracy import accuracy_html, accuracy_images
    from clusterwright.report.build import report
    from clusterwright.report.estimate import estimate_text, waterfall
    from clusterwright.report.explanation import explain, find, suggest
    from clusterwright.report.notebook import Plots, Result, design, open_run, plot, repr_html, to_pandas
    from clusterwright.report.page import html
    from clusterwright.report.tables import audit_table, compare_table, design_summary
    from clusterwright.report.telling import code_text, explanation_data, explanation_text, law_text, list_text
    from clusterwright.report.words import RULES, plan_words
    from clusterwright.report.writers import as_json, markdown

__all__ = [
    "FINDINGS",
    "RULES",
    "Plots",
    "Result",
    "accuracy_html",
    "accuracy_images",
    "as_json",
    "audit_table",
    "code_text",
    "compare_table",
    "design",
    "design_summary",
    "estimate_text",
    "explain",
    "explanation_data",
    "explanation_text",
    "find",
    "html",
    "law_text",
    "list_text",
    "markdown",
    "open_run",
    "plan_words",
    "plot",
    "report",
    "repr_html",
    "suggest",
    "to_pandas",
    "waterfall",
]

_HOMES = {
    "accuracy": ("accuracy_html", "accuracy_images"),
    "build": ("report",),
    "estimate": ("estimate_text", "waterfall"),
    "explanation": ("explain", "find", "suggest"),
    "notebook": ("Plots", "Result", "design", "open_run", "plot", "repr_html", "to_pandas"),
    "page": ("html",),
    "tables": ("audit_table", "compare_table", "design_summary"),
    "telling": ("code_text", "explanation_data", "explanation_text", "law_text", "list_text"),
    "words": ("RULES", "plan_words"),
    "writers": ("as_json", "markdown"),
}
"""Where each name lives; loaded when it is asked for, so that printing a table loads no templates."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
