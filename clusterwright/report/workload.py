"""Sections about the runs: step time, memory, failures, bottleneck, key metrics against targets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.report.choices import TICK, rows_of
from clusterwright.report.model import Cell, Column, Grid, Number, Picture, Section, cell, figure, value_of
from clusterwright.report.words import number, own_label, span

__all__ = ["faults", "metrics", "step_time"]

STEP_PARTS = (
    "matmul_s",
    "attention_s",
    "memory_bound_s",
    "tp_s",
    "cp_s",
    "ep_s",
    "pp_bubble_s",
    "pp_s",
    "dp_s",
    "optimizer_s",
    "offload_s",
    "other_s",
)
_USEFUL = frozenset({"matmul_s", "attention_s", "memory_bound_s"})


def run_count(cluster: Cluster) -> int:
    """How many training runs the design holds."""
    return sum(1 for path in cluster.frame if path.startswith("training[") and path.endswith("].step_time_s"))


def run_name(cluster: Cluster, j: int) -> str:
    """The name of run ``j`` as the spec gives it."""
    names = cluster.tables["workloads"]["name"]
    return str(names[j]) if j < len(names) else f"run {j + 1}"


def numbers(cluster: Cluster, paths: Sequence[str]) -> list[Number]:
    """The figures of these paths that the design has."""
    return [found for found in (figure(cluster, path) for path in paths) if found is not None]


def step_time(cluster: Cluster) -> Section:
    """Where the time of a step goes, and what fills the memory of a GPU, for each run."""
    count = run_count(cluster)
    if not count:
        return Section("training", "The training run", missing="The design holds no training run.")
    parts: list[Grid | Picture] = [_plan(cluster, count)]
    for j in range(min(count, 4)):
        parts += [
            one
            for one in (_waterfall(cluster, j, count), _memory(cluster, j, count), _roofline(cluster, j, count))
            if one is not None
        ]
    lead = " ".join(_bottlenecks(cluster, count))
    names = ("mfu", "tflops_per_gpu", "tokens_per_s", "compute_time_s", "time_to_train_s", "checkpoint_bytes")
    return Section("training", "The training run", lead, numbers(cluster, [f"training[0].{n}" for n in names]), parts)


def _bottlenecks(cluster: Cluster, count: int) -> Iterator[str]:
    """A sentence on what holds each run up; the design says it once, or for each run by its path."""
    found = cluster.answers.get("bottleneck")
    if not isinstance(found, Mapping):
        return
    if "name" in found:
        yield _bottleneck(found, "")
        return
    for j in range(count):
        of_run = found.get(f"training[{j}]")
        if isinstance(of_run, Mapping):
            yield _bottleneck(of_run, f" of {run_name(cluster, j)}" if count > 1 else "")


def _bottleneck(found: Mapping[str, Any], of_run: str) -> str:
    shares = found.get("shares") or {}
    said = ", ".join(f"{name} {float(share):.0%}" for name, share in shares.items() if share)
    why = str(found.get("why", "")).rstrip(".")
    why = f" {why[:1].upper()}{why[1:]}." if why else ""
    return f"The bottleneck{of_run} is {found.get('name', 'unknown')}.{why}" + (f" Shares: {said}." if said else "")


def _plan(cluster: Cluster, count: int) -> Grid:
    names = ("gpus", "tp", "pp", "dp", "cp", "ep", "interleave", "micro_batch", "micro_batches")
    columns = [Column("Run"), Column("Model"), *(Column(_PLAN[n], True) for n in names), Column("Step", True)]
    models = cluster.tables["workloads"]["model"]
    rows = [
        [
            Cell(run_name(cluster, j)),
            Cell(str(models[j]) if j < len(models) else ""),
            *(cell(cluster, f"training[{j}].{name}") for name in names),
            cell(cluster, f"training[{j}].step_time_s"),
        ]
        for j in range(count)
    ]
    return Grid("Parallelism plan", columns, rows)


_PLAN = {
    "gpus": "GPUs",
    "tp": "Tensor",
    "pp": "Pipeline",
    "dp": "Data",
    "cp": "Context",
    "ep": "Expert",
    "interleave": "Chunks",
    "micro_batch": "Micro-batch",
    "micro_batches": "Micro-batches",
}


def bar(found: Number, *, name: str = "", useful: bool = False) -> dict[str, Any]:
    """A bar of a chart from a figure."""
    return {
        "label": name or found.label,
        "path": found.path,
        "value": found.value,
        "low": found.value if found.low is None else found.low,
        "high": found.value if found.high is None else found.high,
        "useful": useful,
    }


def parts_grid(caption: str, path: str, bars: Sequence[Mapping[str, Any]], whole: float) -> Grid:
    """The bars of a chart as a table with their share of the whole."""
    rows = [
        [
            Cell(b["label"]),
            Cell(number(path, b["value"]), b["path"], sub=span(path, b["low"], b["high"])),
            Cell(f"{b['value'] / whole:.1%}" if whole else ""),
        ]
        for b in bars
    ]
    return Grid(caption, [Column("Part"), Column("Value", True), Column("Share", True)], rows)


def _waterfall(cluster: Cluster, j: int, count: int) -> Picture | None:
    found = [(name, figure(cluster, f"training[{j}].step.{name}")) for name in STEP_PARTS]
    bars = [bar(one, useful=name in _USEFUL) for name, one in found if one is not None and one.value > 0]
    if not bars:
        return None
    whole = value_of(cluster, f"training[{j}].step_time_s", sum(b["value"] for b in bars))
    busy = sum(b["value"] for b in bars if b["useful"])
    of_run = f" of {run_name(cluster, j)}" if count > 1 else ""
    alt = f"A step{of_run} takes {number('x_s', whole)}; {busy / whole:.0%} of it is computing. " + _largest(
        bars, "x_s"
    )
    grid = parts_grid(f"Time of one step{of_run}", "x_s", bars, whole)
    data = {"path": "x_s", "bars": bars, "total": whole, "total_label": "Step"}
    note = "Exposed seconds: what communication hides behind computing is not counted. Darker: the GPU computes."
    return Picture("waterfall", f"Time of one step{of_run}", alt, data, note, grid)


def _largest(bars: Sequence[Mapping[str, Any]], path: str) -> str:
    top = sorted(bars, key=lambda b: -b["value"])[:2]
    return "Largest: " + ", ".join(f"{b['label']} {number(path, b['value'])}" for b in top) + "."


def _memory(cluster: Cluster, j: int, count: int) -> Picture | None:
    path = f"training[{j}].memory_bytes"
    used, room = figure(cluster, path), value_of(cluster, "accelerator.memory_bytes")
    if used is None or not room > 0:
        return None
    bars = list(_memory_parts(cluster, path)) or [bar(used)]
    of_run = f" in {run_name(cluster, j)}" if count > 1 else ""
    alt = f"Memory of one GPU{of_run}: {used.text} of {number('x_bytes', room)} used ({used.value / room:.0%})."
    data = {"path": "x_bytes", "bars": bars, "capacity": room, "used": used.value, "low": used.low, "high": used.high}
    grid = parts_grid(f"Memory of one GPU{of_run}", "x_bytes", bars, room)
    return Picture("memory", f"Memory of one GPU{of_run}", alt, data, grid=grid)


def _roofline(cluster: Cluster, j: int, count: int) -> Picture | None:
    found = cluster.answers.get("roofline")
    data = found.get(f"training[{j}]") if isinstance(found, Mapping) else None
    if not isinstance(data, Mapping) or not data.get("points"):
        return None
    of_run = f" of {run_name(cluster, j)}" if count > 1 else ""
    points = data["points"]
    bound = sum(1 for p in points if p["flop_per_byte"] * data["bandwidth_bytes_s"] < data["achievable_flops"])
    ridge = f"{data['ridge_flop_per_byte']:,.0f} FLOP per byte"
    alt = f"Roofline{of_run}: {len(points)} kernels, {bound} of them bound by memory; the roof bends at {ridge}."
    columns = [Column("Kernel"), Column("FLOP per byte", True), Column("Reached", True), Column("Of the peak", True)]
    rows = [
        [
            Cell(str(p["name"])),
            Cell(f"{p['flop_per_byte']:,.0f}"),
            Cell(number("x_flops", p["flops"])),
            Cell(f"{p['flops'] / data['peak_flops']:.0%}"),
        ]
        for p in points
    ]
    note = "Blue: what memory and arithmetic allow in practice; dashed: the peak of the data sheet; orange: kernels."
    return Picture("roofline", f"Roofline of the kernels{of_run}", alt, data, note, Grid("Kernels", columns, rows))


def _memory_parts(cluster: Cluster, path: str) -> Iterator[dict[str, Any]]:
    """The inputs of the memory figure's law, when they are bytes that add up to it."""
    inputs = cluster.frame.figure(path).provenance.inputs
    paths = [p for p in inputs.values() if isinstance(p, str) and p.endswith("_bytes") and p in cluster.frame]
    total = sum(cluster.value(p) for p in paths)
    if len(paths) > 1 and math.isclose(total, cluster.value(path), rel_tol=0.01):
        for found in numbers(cluster, paths):
            yield bar(found, name=own_label(found.path))


def faults(cluster: Cluster) -> Section:
    """Failures expected, checkpoints, spares, and what absorbs which failure."""
    names = ("expected_interruptions", "mtti_s", "checkpoint_interval_s", "ettr", "job_availability", "availability")
    found = numbers(cluster, [f"reliability.{name}" for name in names])
    parts: list[Grid | Picture] = []
    failures = list(cluster.tables["failures"].rows())
    if failures:
        parts.append(_failures(failures))
    redundancy = rows_of(cluster, "redundancy")
    if redundancy:
        columns = [Column("Component"), Column("Scheme"), Column("What a failure does")]
        rows = [[Cell(str(row.get(k, ""))) for k in ("component", "scheme", "consequence")] for row in redundancy]
        parts.append(Grid("Redundancy", columns, rows))
    if not found and not parts:
        return Section("faults", "Failures and redundancy", missing="The design holds no failure model.")
    return Section("faults", "Failures and redundancy", numbers=found, parts=parts)


def _failures(rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = [
        Column("Component"),
        Column("In use", True),
        Column("Mean time to failure", True),
        Column("A year", True),
        Column("Repair", True),
        Column("Stops"),
        Column("Absorbed by"),
        Column("Source"),
    ]
    made = [
        [
            Cell(row["component"]),
            Cell(f"{row['population']:,.0f}"),
            Cell(number("x_s", row["mttf_s"])),
            Cell(f"{row['expected_per_year']:,.3g}"),
            Cell(number("x_s", row["repair_s"])),
            Cell(row["blast_radius"]),
            Cell(row["redundancy"]),
            Cell(row["source"], state="dim"),
        ]
        for row in rows
    ]
    return Grid("Failures expected, by component", columns, made)


def metrics(cluster: Cluster) -> Section:
    """Key metrics against the targets people hold a cluster to."""
    rows = [row for row in _metric_rows(cluster) if row is not None]
    columns = [Column(""), Column("Metric"), Column("Design", True), Column("Target", True), Column("How")]
    note = "Queue time and utilisation by users are results of a simulation or of operation, not of a design."
    if not rows:
        return Section("metrics", "Key metrics", missing="The design holds no training run to measure.")
    return Section("metrics", "Key metrics", parts=[Grid("Key metrics against targets", columns, rows, note)])


def _metric_rows(cluster: Cluster) -> Iterator[list[Cell] | None]:
    yield _metric(cluster, "training[0].scaling_efficiency", "Scaling efficiency", 0.80, "")
    step = value_of(cluster, "training[0].step_time_s")
    busy = sum(value_of(cluster, f"training[0].step.{name}", 0.0) for name in _USEFUL)
    ettr = value_of(cluster, "training[0].ettr")
    if step > 0 and busy > 0:
        how = f"computing {number('x_s', busy)} of a {number('x_s', step)} step"
        yield _ratio("GPU utilisation", busy / step, 0.70, how)
    nodes, spares = value_of(cluster, "compute.nodes"), value_of(cluster, "compute.spare_nodes", 0.0)
    if nodes > 0:
        how = f"{nodes:,.0f} of {nodes + spares:,.0f} nodes work, the rest are spares"
        yield _ratio("Node utilisation", nodes / (nodes + spares), 0.80, how)
    if ettr == ettr:  # noqa: PLR0124 - false for NaN, which means unknown
        yield _metric(
            cluster, "training[0].ettr", "Useful share of the run", 0.90, "failures and checkpoints taken off"
        )
        yield _ratio("Wasted by failures", 1 - ettr, 0.10, "1 − useful share of the run", at_most=True)
    stops = value_of(cluster, "training[0].expected_interruptions")
    if nodes > 0 and stops >= 0:
        how = f"{stops:,.3g} interruptions over {nodes:,.0f} nodes"
        yield _ratio("Nodes failing during the run", stops / nodes, 0.05, how, at_most=True)


def _metric(cluster: Cluster, path: str, name: str, target: float, how: str) -> list[Cell] | None:
    found = figure(cluster, path, name=name)
    if found is None:
        return None
    good = found.value >= target
    certain = good and (found.low is None or found.low >= target)
    mark = Cell(TICK, state="good") if certain else Cell("≈", state="warn") if good else Cell("✗", state="bad")
    return [mark, Cell(name), Cell(found.text, path, sub=found.span), Cell(f"≥ {target:.0%}"), Cell(how, state="dim")]


def _ratio(name: str, value: float, target: float, how: str, *, at_most: bool = False) -> list[Cell]:
    good = value <= target if at_most else value >= target
    mark = Cell(TICK, state="good") if good else Cell("✗", state="bad")
    sign = "≤" if at_most else "≥"
    return [mark, Cell(name), Cell(f"{value:.1%}"), Cell(f"{sign} {target:.0%}"), Cell(how, state="dim")]
