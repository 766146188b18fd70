"""How figures are said: labels for paths, a value with its interval, short names for parts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from clusterwright.units import CODED, HOUR_S, human, human_as, unit_of

__all__ = ["LABELS", "RULES", "in_unit", "label", "number", "own_label", "plan_words", "short", "si", "span"]

LABELS = {
    "compute.gpus": "GPUs",
    "compute.nodes": "Compute nodes",
    "compute.spare_nodes": "Spare nodes",
    "compute.nodes_per_rack": "Nodes in a rack",
    "compute.accelerator": "Accelerator",
    "compute.server": "Server",
    "cost.capex_usd": "Purchase",
    "cost.opex_usd_per_year": "Running cost",
    "cost.tco_usd": "Cost of ownership",
    "cost.buy_tco_usd": "Cost of ownership, bought",
    "cost.rent_usd": "Renting for the run",
    "cost.rent_tco_usd": "Renting for all years",
    "cost.reserved_tco_usd": "Reserving for all years",
    "cost.colocate_tco_usd": "Cost of ownership, colocated",
    "cost.colocate_capex_usd": "Purchase, colocated",
    "cost.usd_per_gpu_h": "Cost of a GPU-hour",
    "cost.usd_per_zflop": "Cost of 10²¹ useful FLOP",
    "cost.procurement": "Procurement",
    "fabric.technology": "Link technology",
    "fabric.topology": "Topology",
    "fabric.oversubscription": "Oversubscription",
    "fabric.leaf_switches": "Leaf switches",
    "fabric.spine_switches": "Spine switches",
    "fabric.core_switches": "Core switches",
    "fabric.node_leaf_cables": "Node-leaf cables",
    "fabric.leaf_spine_cables": "Leaf-spine cables",
    "fabric.spine_core_cables": "Spine-core cables",
    "fabric.bisection_bandwidth_bytes_s": "Bisection bandwidth",
    "facility.it_power_w": "IT power",
    "facility.meter_power_w": "Power at the meter",
    "facility.average_power_w": "Average power",
    "facility.pue": "PUE",
    "facility.racks": "Racks",
    "facility.compute_racks": "Compute racks",
    "facility.rack_power_w": "Densest rack",
    "facility.rack_weight_kg": "Heaviest rack",
    "facility.floor_m2": "Floor",
    "facility.run_energy_j": "Energy of the run",
    "facility.energy_j_per_year": "Energy in a year",
    "facility.carbon_kg_run": "Carbon of the run",
    "facility.carbon_kg_per_year": "Carbon in a year",
    "facility.embodied_kg": "Carbon of manufacture",
    "facility.water_m3_per_year": "Water in a year",
    "facility.compute_power_w": "Compute",
    "facility.network_power_w": "Network",
    "facility.storage_power_w": "Storage",
    "facility.management_power_w": "Management",
    "reliability.failure_rate_per_s": "Failure rate",
    "reliability.mtti_s": "Mean time between interruptions",
    "reliability.expected_interruptions": "Interruptions expected",
    "reliability.checkpoint_interval_s": "Checkpoint every",
    "reliability.ettr": "Useful share of the time (ETTR)",
    "reliability.availability": "Availability",
    "reliability.job_availability": "Availability of the job's nodes",
    "reliability.node_availability": "Availability of a node",
    "storage.checkpoint_bytes": "Checkpoint",
    "storage.checkpoint_write_s": "Writing a checkpoint",
    "storage.restart_read_s": "Reading at restart",
    "scheduling.scheduler": "Scheduler",
}
_LAST = {
    "time_to_train_s": "Time to train",
    "finish_s": "Finished after",
    "compute_time_s": "Pure compute",
    "step_time_s": "Step time",
    "mfu": "MFU",
    "tflops_per_gpu": "Sustained per GPU",
    "cluster_tflops": "Sustained by the cluster",
    "tokens_per_s": "Tokens per second",
    "scaling_efficiency": "Scaling efficiency",
    "memory_bytes": "Memory used per GPU",
    "memory_fraction": "Share of the memory used",
    "expected_interruptions": "Interruptions expected",
    "ettr": "Useful share of the time (ETTR)",
    "mtti_s": "Mean time between interruptions",
    "checkpoint_bytes": "Checkpoint",
    "weights_bytes": "Weights",
    "matmul_s": "Matrix multiplication",
    "attention_s": "Attention",
    "memory_bound_s": "Memory-bound kernels",
    "tp_s": "Tensor parallel",
    "pp_bubble_s": "Pipeline bubble",
    "pp_s": "Pipeline transfers",
    "cp_s": "Context parallel",
    "ep_s": "Expert parallel",
    "dp_s": "Data parallel",
    "optimizer_s": "Optimizer",
    "offload_s": "Offloading",
    "other_s": "Other",
    "committed_usd": "Committed",
}
_UNITS = re.compile(r"_(?:bytes_s|bytes|usd_per_\w+|usd|flops|per_s|w|s|kg|m2|m3|j)$")


def label(path: str) -> str:
    """What a figure is called in a report: ``facility.it_power_w`` is ``IT power``."""
    if path in LABELS:
        return LABELS[path]
    last = path.rsplit(".", 1)[-1]
    if last in _LAST:
        return _LAST[last]
    parent = path.rsplit(".", 2)[-2] if "." in path else ""
    return _said(f"{_parent_words(parent)} {_UNITS.sub('', last)}") or path


def own_label(path: str) -> str:
    """What a figure is called among its siblings: ``training[0].memory.state_bytes`` is ``State``."""
    last = path.rsplit(".", 1)[-1]
    if path in LABELS or last in _LAST:
        return label(path)
    return _said(_UNITS.sub("", last)) or path


def _said(name: str) -> str:
    words = " ".join(_NAMES.get(word, word) for word in name.replace("_", " ").split())
    return words[:1].upper() + words[1:]


_NAMES = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "kw": "kW",
    "mw": "MW",
    "nvme": "NVMe",
    "pue": "PUE",
    "rdma": "RDMA",
    "usd": "USD",
}


def _parent_words(parent: str) -> str:
    """What stands before a figure's own name, so that two prices can be told apart: ``server price``."""
    name, _, index = parent.partition("[")
    if index:
        name = "run" if name == "training" else name.removesuffix("s")
        return f"{name} {int(index.rstrip(']')) + 1}" if index.rstrip("]").isdigit() else name
    return name.replace("_", " ")


def number(path: str, value: float | None) -> str:
    """A value as people read it; ``unknown`` when there is none."""
    if value is None:
        return "unknown"
    unit = unit_of(path)
    if path.rsplit(".", 1)[-1] in CODED:
        return human(path, value)
    if unit in ("kg", "kg/year") and abs(value) >= 1e4:
        return human_as(value / 1e3, unit.replace("kg", "t"))
    if unit in ("J", "J/year"):
        return human_as(value / HOUR_S, "Wh") + unit.removeprefix("J")
    if unit == "TFLOP/s":
        return human_as(value * 1e12, "FLOP/s")
    if unit == "token/s":
        digits, _, prefixed = human_as(value, unit).partition(" ")
        return f"{digits}{prefixed.removesuffix(unit)} tokens/s"
    if unit in _SQUARES:
        return human_as(value, _SQUARES[unit])
    if unit != "1":
        return human_as(value, unit)
    said = human(path, value)
    whole = math.isfinite(value) and float(value).is_integer() and not said.endswith("%")
    return f"{value:,.0f}" if whole else said


_SQUARES = {"m2": "m²", "m3": "m³", "m3/year": "m³/year"}


def span(path: str, low: float | None, high: float | None) -> str:
    """An interval, its unit said once where both ends have the same: ``1.55–1.91 MW``."""
    if low is None or high is None:
        return ""
    first, last = number(path, low), number(path, high)
    if first == last:
        return ""
    if low < 0:
        return f"{first} to {last}"
    for sign in (" ", "/", "%"):
        head, found, tail = first.partition(sign)
        if found and last.partition(sign)[1:] == (found, tail):
            return f"{head}–{last}"
    return f"{first}–{last}"


def si(path: str, value: float) -> str:
    """The bare SI value, six digits: ``1,736,960 W``."""
    unit = unit_of(path)
    said = f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.6g}"
    return said + ("" if unit == "1" else f" {unit}")


def short(text: str, most: int) -> str:
    """``text`` cut to ``most`` characters, with an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def in_unit(value: float, unit: str) -> str:
    """A value of a table's column, whose unit is known from the schema."""
    return human_as(value, {"count": "1", "text": "1"}.get(unit, unit))


RULES = {"constant_efficiency": "one efficiency", "six_nd_at_40_percent": "6ND at 40 %"}
"""The rules of thumb that the training law is held against, in words."""


def plan_words(plan: Mapping[str, float]) -> str:
    """A plan in one line; degrees of one are left out."""
    names = {"tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "dp": "dp", "interleave": "chunks"}
    said = [f"{word} {plan[name]:g}" for name, word in names.items() if plan[name] != 1]
    return " x ".join(said or ["one GPU"]) + f", micro-batch {plan['micro_batch']:g}"
