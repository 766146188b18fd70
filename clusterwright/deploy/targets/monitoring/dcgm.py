"""The field list of dcgm-exporter and how it is started."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.dcgm import table
from clusterwright.deploy.targets.monitoring.alerts import ALERTS
from clusterwright.deploy.targets.monitoring.figures import XID_WINDOW_S, Place
from clusterwright.deploy.targets.monitoring.queries import names
from clusterwright.traces import METRICS, filled, placeholders

__all__ = ["PANEL_FIELDS", "counters", "environment", "fields"]

PANEL_FIELDS = (
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_MEMORY_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    "DCGM_FI_PROF_PCIE_RX_BYTES",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
)
"""Fields that only dashboards and people look at."""


def fields() -> list[str]:
    """Fields that rules and dashboards need, in the order of NVIDIA's list."""
    queries = [one.text({"nvidia"}) for one in METRICS] + [one.text({"nvidia", "training"}) for one in ALERTS]
    wanted = set(PANEL_FIELDS)
    for query in filter(None, queries):
        read = filled(query, dict.fromkeys(placeholders(query), 1.0))
        wanted |= {series for series in names(read).series if series.startswith("DCGM_")}
    return [row["field"] for row in table() if row["field"] in wanted]


def counters(place: Place) -> str:
    """The CSV that dcgm-exporter reads: field, Prometheus type, help."""
    return "\n".join(_counters(place)) + "\n"


def _counters(place: Place) -> Iterator[str]:
    wanted = fields()
    gpus = sum(host.gpus for host in place.inventory.compute(place.site))
    rows = {row["field"]: row for row in table()}
    added = [name for name in wanted if rows[name]["default"] == "no"]
    yield f"# Fields of dcgm-exporter for {place.site.name}; rendered by clusterwright, do not edit"
    yield f"# {len(wanted)} fields on {gpus} GPUs: {len(wanted) * gpus} series; each more field adds {gpus}."
    yield f"# {len(added)} of them are off in NVIDIA's own list, such as SM activity, ECC totals and the counted XIDs."
    yield "# Left out: fields of type label, which repeat a driver version on every series, and counters of links."
    for name in wanted:
        row = rows[name]
        yield f"{name}, {row['type']}, {row['help'].replace(',', ';')}"


def environment(place: Place) -> list[tuple[str, str]]:
    """Environment of dcgm-exporter."""
    return [
        ("DCGM_EXPORTER_COLLECTORS", "/etc/dcgm-exporter/counters.csv"),
        ("DCGM_EXPORTER_LISTEN", f":{place.inventory.ports['dcgm-exporter']}"),
        ("DCGM_EXPORTER_INTERVAL", "30000"),
        ("DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", str(XID_WINDOW_S * 1000)),
        ("DCGM_EXPORTER_KUBERNETES", "false"),
    ]
