"""What the exporters of a node would say: fake GPUs, as busy as the jobs on them, broken where a fault says so.

Names, types and labels are those of the table that rules and dashboards are written from; a metric that is not modelled
here stays at nought.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.deploy import monitoring_table as table
from clusterwright.lab.faults import Fault

__all__ = ["EXPORTERS", "Hardware", "NodeState"]

EXPORTERS = {
    "dcgm-exporter": "dcgm-exporter",
    "node-exporter": "node_exporter",
    "bmc-exporter": "ipmi_exporter",
    "fabric-exporter": "infiniband_exporter",
    "storage-exporter": "lustre_exporter",
}
"""Job of Prometheus -> exporter in the table of metrics."""
_XID_WINDOW_S = 300.0
_IDLE_W, _BUSY_W = 0.11, 0.85
"""Power of a GPU against its limit, idle and at work."""
_MEMORY_MIB = 81_559.0
_HOST_W = 1_500.0


@dataclass
class NodeState:
    """One node at one moment.

    Attributes:
        gpus: that it has.
        allocated: GPUs that jobs hold.
        running: whether a process of a job runs there.
        faults: that it has.
        counters: name -> value since the lab began.
    """

    gpus: int
    allocated: int = 0
    running: bool = False
    faults: Sequence[Fault] = ()
    counters: dict[str, float] = field(default_factory=dict)

    def has(self, kind: str) -> bool:
        """Whether it has a fault of a kind."""
        return any(one.kind == kind for one in self.faults)

    @property
    def silent(self) -> bool:
        """Whether its exporters do not answer."""
        return self.has("node-dead") or self.has("node-hung") or self.has("rack-power")

    @property
    def lost(self) -> Collection[int]:
        """GPUs that are gone."""
        return {one.gpu for one in self.faults if one.kind == "gpu-lost"}

    @property
    def pace(self) -> float:
        """How much of its work it does."""
        stalled = self.has("link-down") or self.silent
        return 0.0 if stalled else min([1.0, *(one.factor for one in self.faults if one.kind == "node-slow")])


class Hardware:
    """All nodes of a lab.

    Attributes:
        nodes: by name.
        gpu_power_w: of one GPU at its limit.
        nics: ports of the fabric on a node.
        shared: bytes available, and all bytes, of the shared file system.
    """

    def __init__(self, gpus: Mapping[str, int], gpu_power_w: float, nics: int) -> None:
        self.nodes = {name: NodeState(count) for name, count in gpus.items()}
        self.gpu_power_w, self.nics = gpu_power_w, nics
        self.shared = (1, 1)
        self.begun = self.at = time.time()

    def advance(self, now: float) -> None:
        """Counters go on by what happened since the last call."""
        passed = max(now - self.at, 0.0)
        self.at = now
        for node in self.nodes.values():
            work = node.pace if node.running else 0.0
            for name, rate in (
                ("energy_mj", sum(self._power(node, gpu) for gpu in range(node.gpus)) / node.gpus * 1e3),
                ("port_bytes", 5e9 * work),
                ("thermal_ns", 1e9 * 0.5 * node.has("node-slow")),
            ):
                node.counters[name] = node.counters.get(name, 0.0) + rate * passed

    def _busy(self, node: NodeState, gpu: int) -> float:
        return 0.92 * node.pace if node.running and gpu < node.allocated and gpu not in node.lost else 0.0

    def _power(self, node: NodeState, gpu: int) -> float:
        return self.gpu_power_w * (_IDLE_W + (_BUSY_W - _IDLE_W) * self._busy(node, gpu))

    def page(self, job: str, name: str) -> str:
        """What an exporter says; empty when it does not answer."""
        node = self.nodes.get(name)
        if node is not None and node.silent:
            return ""
        rows = [row for row in table("exporters.csv") if row["exporter"] == EXPORTERS.get(job, "")]
        return "".join(f"{line}\n" for row in rows for line in self._lines(row, name, node))

    def _lines(self, row: Mapping[str, str], name: str, node: NodeState | None) -> Iterator[str]:
        metric, keys = row["metric"], row["labels"].split()
        if "gpu" in keys:
            yield from self._gpu_lines(metric, keys, name, node)
            return
        for labels in self._labels(metric, keys):
            value = self._value(metric, node, labels)
            inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
            yield f"{metric}{{{inside}}} {value:.10g}" if inside else f"{metric} {value:.10g}"

    def _gpu_lines(self, metric: str, keys: Sequence[str], name: str, node: NodeState | None) -> Iterator[str]:
        if node is None:
            return
        for gpu in range(node.gpus):
            if gpu in node.lost:
                continue
            where = f'gpu="{gpu}",UUID="GPU-{name}-{gpu}",device="nvidia{gpu}",modelName="fake",Hostname="{name}"'
            if metric == "DCGM_EXP_XID_ERRORS_COUNT":
                for xid, count in self._xids(node, gpu).items():
                    yield f'{metric}{{{where},xid="{xid}",window_size_in_ms="300000"}} {count}'
            elif set(keys) <= {"gpu", "UUID", "device", "modelName", "Hostname", "pci_bus_id"}:
                yield f"{metric}{{{where}}} {self._gpu(metric, node, gpu):.10g}"

    def _xids(self, node: NodeState, gpu: int) -> Mapping[int, int]:
        """Codes of the last window: it falls back by itself, as the real counter does."""
        found: dict[int, int] = {}
        for one in node.faults:
            if one.kind == "xid" and one.gpu == gpu and self.at - one.begun_s < _XID_WINDOW_S:
                found[one.xid] = found.get(one.xid, 0) + 1
        return found

    def _gpu(self, metric: str, node: NodeState, gpu: int) -> float:
        busy = self._busy(node, gpu)
        held = node.running and gpu < node.allocated
        slow = min([1.0, *(one.factor for one in node.faults if one.kind == "node-slow")])
        values = {
            "DCGM_FI_DEV_GPU_UTIL": 100 * busy,
            "DCGM_FI_DEV_MEM_COPY_UTIL": 60 * busy,
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE": busy,
            "DCGM_FI_PROF_SM_ACTIVE": 0.8 * busy,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.45 * busy,
            "DCGM_FI_PROF_DRAM_ACTIVE": 0.5 * busy,
            "DCGM_FI_DEV_POWER_USAGE": self._power(node, gpu),
            "DCGM_FI_DEV_GPU_TEMP": 32 + 38 * busy,
            "DCGM_FI_DEV_MEMORY_TEMP": 40 + 40 * busy,
            "DCGM_FI_DEV_SM_CLOCK": 1980 * slow,
            "DCGM_FI_DEV_MEM_CLOCK": 2619,
            "DCGM_FI_DEV_FB_USED": 0.9 * _MEMORY_MIB if held else 4,
            "DCGM_FI_DEV_FB_FREE": 0.1 * _MEMORY_MIB if held else _MEMORY_MIB - 4,
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": node.counters.get("energy_mj", 0.0),
            "DCGM_FI_DEV_THERMAL_VIOLATION": node.counters.get("thermal_ns", 0.0),
        }
        return values.get(metric, 0.0)

    def _labels(self, metric: str, keys: Sequence[str]) -> Iterator[dict[str, str]]:
        if "fstype" in keys:
            for kind, point in (("ext4", "/"), ("xfs", "/scratch"), ("lustre", "/shared")):
                yield {"device": point, "fstype": kind, "mountpoint": point}
        elif metric.startswith("node_infiniband"):
            yield from ({"device": f"mlx5_{i}", "port": "1"} for i in range(self.nics))
        elif metric.startswith("infiniband"):
            made = {"guid": "0x1", "switch": "lab", "port": "1", "lid": "1"}
            yield {key: made[key] for key in keys}
        else:
            fixed = {
                "collector": "dcmi",
                "component": "ost",
                "target": "ost0",
                "id": "1",
                "name": "Fan1",
                "type": "Fan",
            }
            yield {key: fixed.get(key, "0") for key in keys}

    def _value(self, metric: str, node: NodeState | None, labels: Mapping[str, str]) -> float:
        free, size = self.shared
        if metric.startswith("lustre_"):
            return {"lustre_available_kilobytes": free / 1024, "lustre_capacity_kilobytes": size / 1024}.get(
                metric, 0.0
            )
        if node is None:
            return 0.0
        down = node.has("link-down") and labels.get("device") == "mlx5_0"
        shared = labels.get("mountpoint") == "/shared"
        values = {
            "node_boot_time_seconds": self.begun,
            "node_load1": 90.0 if node.running else 0.1,
            "node_memory_MemTotal_bytes": 2.2e12,
            "node_memory_MemAvailable_bytes": 1.1e12 if node.running else 2.1e12,
            "node_filesystem_size_bytes": float(size) if shared else 1e12,
            "node_filesystem_avail_bytes": float(free) if shared else 9e11,
            "node_network_up": 1.0,
            "node_infiniband_state_id": 1.0 if down else 4.0,
            "node_infiniband_link_downed_total": float(down),
            "node_infiniband_port_data_transmitted_bytes_total": node.counters.get("port_bytes", 0.0),
            "node_infiniband_port_data_received_bytes_total": node.counters.get("port_bytes", 0.0),
            "ipmi_dcmi_power_consumption_watts": _HOST_W + sum(self._power(node, gpu) for gpu in range(node.gpus)),
            "ipmi_up": 1.0,
            "ipmi_temperature_celsius": 28.0,
        }
        return values.get(metric, 0.0)
