"""WHAT HAPPENED: histories of jobs in one schema, and the metrics over them.

The table of metrics and targets stands here once: dashboards and rules are rendered from it, live status is held
against it, and a simulation returns it. This room opens no socket and starts no program.
"""

from clusterwright.traces.capacity import Capacity, Samples
from clusterwright.traces.checking import checked
from clusterwright.traces.codes import FINDINGS
from clusterwright.traces.hostlist import brackets, hosts
from clusterwright.traces.jobs import COLUMNS, ENDED, INTERRUPTED, SECOND_US, STATES, UNKNOWN, Column, JobTable, Words
from clusterwright.traces.measures import HISTORY, Measure, Measures, definition, judged, measure
from clusterwright.traces.metric import Direction, Level, Metric, filled, number, placeholders
from clusterwright.traces.metrics import METRICS, PRODUCT, metric
from clusterwright.traces.occupancy import held_us
from clusterwright.traces.sacct import ENVIRONMENT, FIELDS, History, read_sacct, sacct_file, words
from clusterwright.traces.table_csv import csv_file, csv_lines, history_file, read_csv
from clusterwright.traces.use import NodeSamples, with_use
from clusterwright.traces.work import PerJob, kept_us, per_job

__all__ = [
    "COLUMNS",
    "ENDED",
    "ENVIRONMENT",
    "FIELDS",
    "FINDINGS",
    "HISTORY",
    "INTERRUPTED",
    "METRICS",
    "PRODUCT",
    "SECOND_US",
    "STATES",
    "UNKNOWN",
    "Capacity",
    "Column",
    "Direction",
    "History",
    "JobTable",
    "Level",
    "Measure",
    "Measures",
    "Metric",
    "NodeSamples",
    "PerJob",
    "Samples",
    "Words",
    "brackets",
    "checked",
    "csv_file",
    "csv_lines",
    "definition",
    "filled",
    "held_us",
    "history_file",
    "hosts",
    "judged",
    "kept_us",
    "measure",
    "metric",
    "number",
    "per_job",
    "placeholders",
    "read_csv",
    "read_sacct",
    "sacct_file",
    "with_use",
    "words",
]
