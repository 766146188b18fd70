"""WHAT HAPPENED: histories of jobs in one schema, and the metrics over them.

The table of metrics and targets stands here once: dashboards and rules are rendered from it, live status is held
against it, and a simulation returns it. This room opens no socket and starts no program.
"""

from clusterwright.traces.metric import Direction, Level, Metric, filled, number, placeholders
from clusterwright.traces.metrics import METRICS, PRODUCT, metric

__all__ = [
    "METRICS",
    "PRODUCT",
    "Direction",
    "Level",
    "Metric",
    "filled",
    "metric",
    "number",
    "placeholders",
]
