"""What the dashboards show: panels of each, with queries over the tables of metrics and of exporters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from clusterwright.traces import metric

__all__ = ["BOARDS", "Board", "Panel", "Variable"]

Kind = Literal["stat", "timeseries", "table", "row"]
Query = str | Mapping[str, str]
RATE = "[$__rate_interval]"


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        queries: PromQL (or trait -> PromQL) -> legend.
        unit: of Grafana: ``percentunit``, ``watt`` ...
        width, height: on a grid of 24 columns.
        low, high: target, drawn as thresholds.
    """

    title: str
    kind: Kind
    queries: tuple[tuple[Query, str], ...]
    unit: str = "short"
    width: int = 12
    height: int = 8
    note: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Variable:
    """A choice on top of a dashboard: values of a label."""

    name: str
    query: Mapping[str, str]


@dataclass(frozen=True)
class Board:
    """A dashboard."""

    uid: str
    title: str
    panels: tuple[Panel, ...]
    variables: tuple[Variable, ...] = ()


_UNITS = {
    "1": "short",
    "s": "s",
    "W": "watt",
    "bytes/s": "Bps",
    "1/h": "short",
    "USD/h": "currencyUSD",
    "kg/h": "masskg",
}


def _of(name: str, title: str, legend: str = "", kind: Kind = "timeseries", width: int = 12, height: int = 8) -> Panel:
    """A panel of one metric of the table: its unit, target and meaning come from there."""
    one = metric(name)
    unit = "percentunit" if one.record.endswith((":ratio", ":score")) else _UNITS[one.unit]
    return Panel(title, kind, ((one.record, legend or title),), unit, width, height, one.meaning, one.low, one.high)


def _stat(name: str, title: str) -> Panel:
    return _of(name, title, kind="stat", width=4, height=4)


def _lines(title: str, unit: str, *queries: tuple[Query, str], note: str = "", width: int = 12) -> Panel:
    return Panel(title, "timeseries", queries, unit, width, 8, note)


def _row(title: str) -> Panel:
    return Panel(title, "row", (), width=24, height=1)


_CLUSTER = Board(
    "cw-cluster",
    "Cluster",
    (
        _stat("gpu_utilisation", "GPU utilisation"),
        _stat("node_utilisation", "Node utilisation"),
        _stat("cluster_utilisation", "Cluster utilisation"),
        _stat("scaling_efficiency", "Scaling efficiency"),
        _stat("failure_rate", "Failure rate"),
        Panel(
            "Bottleneck",
            "stat",
            (("topk(1, cluster:bottleneck:score)", "{{resource}}"),),
            "percentunit",
            4,
            4,
            "the resource under the most pressure; GPUs and scheduling count only while jobs wait",
        ),
        _lines(
            "Utilisation",
            "percentunit",
            ("cluster:gpu_utilisation:ratio", "GPUs that jobs hold"),
            ("cluster:node_utilisation:ratio", "nodes"),
            ("cluster:utilisation:ratio", "cluster"),
            note="GPU utilisation is how busy allocated GPUs are; cluster utilisation is how many are allocated",
        ),
        _lines("Bottlenecks", "percentunit", ("cluster:bottleneck:score", "{{resource}}")),
        _lines(
            "GPUs that do nothing",
            "percentunit",
            ("cluster:wasted:ratio", "wasted: held without a process"),
            ("cluster:stranded:ratio", "stranded: on nodes that are down or drained"),
            ("cluster:fragmentation:ratio", "fragmentation of what is free"),
        ),
        _of("throughput", "Throughput", "jobs an hour"),
        _of("mfu", "Model FLOPs utilisation (estimate)", "MFU"),
        _of("node_failures", "Node failures a day", "nodes"),
        _lines("Power at the meter", "watt", ("site:power:watts", "drawn"), ("vector(@power_limit_w@)", "limit")),
        _lines("Alerts that fire", "short", ('count by (severity) (ALERTS{alertstate="firing"})', "{{severity}}")),
    ),
)

_JOB_NODES = {
    "slurm": '* on (node) group_left () max by (node) (slurm_node_job{job_id="$job"})',
    "kubernetes": '* on (node) group_left () max by (node) (kube_pod_info{created_by_name="$job"})',
}


def _job(record: str) -> dict[str, str]:
    return {trait: f"{record} {join}" for trait, join in _JOB_NODES.items()}


_JOB = Board(
    "cw-job",
    "Job",
    (
        Panel(
            "Job",
            "table",
            (
                (
                    {
                        "slurm": 'slurm_job_info{job_id="$job"}',
                        "kubernetes": 'count by (namespace, created_by_name) (kube_pod_info{created_by_name="$job"})',
                    },
                    "",
                ),
            ),
            "short",
            24,
            4,
        ),
        _lines("GPU utilisation by node", "percentunit", (_job("node:gpu_utilisation:ratio"), "{{node}}")),
        _lines("Tensor-core activity by node", "percentunit", (_job("node:gpu_tensor_active:ratio"), "{{node}}")),
        _lines("GPU memory by node", "percentunit", (_job("node:gpu_memory_used:ratio"), "{{node}}")),
        _lines("GPUs without a process by node", "short", (_job("node:gpus_without_process:count"), "{{node}}")),
        _lines("GPU power by node", "watt", (_job("node:gpu_power:watts"), "{{node}}")),
        _lines("Network load by node", "percentunit", (_job("node:link_utilisation:ratio"), "{{node}}")),
        _lines(
            "Slowest node against the mean",
            "percentunit",
            (
                {
                    trait: f"min(node:gpu_utilisation:ratio {join}) / avg(node:gpu_utilisation:ratio {join})"
                    for trait, join in _JOB_NODES.items()
                },
                "slowest / mean",
            ),
            note="one slow node slows the whole job",
        ),
        _lines("Power throttling by node", "percentunit", (_job("node:gpu_power_throttled:ratio"), "{{node}}")),
    ),
    (
        Variable(
            "job",
            {
                "slurm": "label_values(slurm_node_job, job_id)",
                "kubernetes": 'label_values(kube_pod_info{created_by_kind="Job"}, created_by_name)',
            },
        ),
    ),
)

_HERE = '{node=~"$node"}'


def _gpu(nvidia: str, amd: str = "", around: str = "%s") -> dict[str, str]:
    made = {"nvidia": around % f"{nvidia}{_HERE}"}
    if amd:
        made["amd"] = around % f"{amd}{_HERE}"
    return made


def _increase(nvidia: str) -> dict[str, str]:
    return {"nvidia": f"increase({nvidia}{_HERE}[1h])"}


_EACH = "{{node}} {{gpu}}"
_GPU = Board(
    "cw-gpu",
    "GPU",
    (
        _lines("Utilisation", "percent", (_gpu("DCGM_FI_DEV_GPU_UTIL", "gpu_gfx_activity"), _EACH)),
        _lines(
            "Activity",
            "percentunit",
            (_gpu("DCGM_FI_PROF_SM_ACTIVE"), "SM " + _EACH),
            (_gpu("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), "tensor " + _EACH),
            (_gpu("DCGM_FI_PROF_DRAM_ACTIVE"), "memory " + _EACH),
        ),
        _lines("Memory in use (MiB)", "decmbytes", (_gpu("DCGM_FI_DEV_FB_USED", "gpu_used_vram"), _EACH)),
        _lines("Power", "watt", (_gpu("DCGM_FI_DEV_POWER_USAGE", "gpu_package_power"), _EACH)),
        _lines(
            "Temperature",
            "celsius",
            (_gpu("DCGM_FI_DEV_GPU_TEMP", "gpu_junction_temperature"), _EACH),
            (_gpu("DCGM_FI_DEV_MEMORY_TEMP"), "memory " + _EACH),
        ),
        _lines("Clock", "short", (_gpu("DCGM_FI_DEV_SM_CLOCK"), _EACH), note="MHz"),
        _lines("NVLink", "short", (_gpu("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", around=f"rate(%s{RATE})"), _EACH)),
        _lines("PCIe", "Bps", (_gpu("DCGM_FI_PROF_PCIE_TX_BYTES", around=f"rate(%s{RATE})"), "out " + _EACH)),
        _row("Health"),
        _lines(
            "XID errors, by code",
            "short",
            ({"nvidia": f"sum by (node, gpu, xid) (DCGM_EXP_XID_ERRORS_COUNT{_HERE}) > 0"}, _EACH + " XID {{xid}}"),
            note="counted over five minutes; the gauge of the last XID keeps its value after recovery and is not used",
        ),
        _lines(
            "Memory errors within an hour",
            "short",
            (_increase("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"), "uncorrectable " + _EACH),
            (_increase("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"), "corrected " + _EACH),
            ({"amd": f"delta(gpu_ecc_uncorrect_total{_HERE}[1h])"}, "uncorrectable " + _EACH),
        ),
        _lines(
            "Remapped rows",
            "short",
            (_gpu("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"), "uncorrectable " + _EACH),
            (_gpu("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"), "correctable " + _EACH),
            (_gpu("DCGM_FI_DEV_ROW_REMAP_FAILURE"), "failed " + _EACH),
        ),
        _lines(
            "NVLink errors within an hour",
            "short",
            (_increase("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"), "checksum " + _EACH),
            (_increase("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"), "replay " + _EACH),
            (_increase("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"), "recovery " + _EACH),
        ),
        _lines(
            "PCIe replays within an hour",
            "short",
            (_increase("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"), _EACH),
            ({"amd": f"delta(pcie_replay_count{_HERE}[1h])"}, _EACH),
        ),
        _lines(
            "Share of time held back",
            "percentunit",
            (_gpu("DCGM_FI_DEV_POWER_VIOLATION", around=f"rate(%s{RATE}) / 1e9"), "power " + _EACH),
            (_gpu("DCGM_FI_DEV_THERMAL_VIOLATION", around=f"rate(%s{RATE}) / 1e9"), "heat " + _EACH),
        ),
    ),
    (
        Variable(
            "node", {"nvidia": "label_values(node:gpus:count, node)", "amd": "label_values(node:gpus:count, node)"}
        ),
    ),
)

_IB = "infiniband_switch_port"
_NAMED = "* on (guid) group_left (switch) infiniband_switch_info"
_PORT = "{{switch}} {{port}}{{ifName}}"


def _fabric(infiniband: str, snmp: str, window: str, around: str = "increase") -> dict[str, str]:
    return {
        "infiniband": f"topk(20, {around}({_IB}_{infiniband}{window}) {_NAMED}) > 0",
        "snmp": f"topk(20, {around}({snmp}{window})) > 0",
    }


_FABRIC = Board(
    "cw-fabric",
    "Fabric",
    (
        _of("network_utilisation", "Busiest ports of the nodes (95th percentile)", "load"),
        _lines("Busiest nodes", "percentunit", ("topk(20, node:link_utilisation:ratio)", "{{node}}")),
        _lines(
            "Traffic of switch ports, the 20 largest",
            "Bps",
            (
                {
                    "infiniband": f"topk(20, rate({_IB}_transmit_data_bytes_total{RATE}) {_NAMED})",
                    "snmp": f"topk(20, rate(ifHCOutOctets{RATE}))",
                },
                _PORT,
            ),
        ),
        _lines(
            "Links that went down within an hour",
            "short",
            (
                {
                    "infiniband": f"topk(20, increase({_IB}_link_downed_total[1h]) {_NAMED}) > 0",
                    "snmp": "topk(20, changes(ifOperStatus[1h])) > 0",
                },
                _PORT,
            ),
        ),
        _lines("Link errors within an hour", "short", (_fabric("symbol_error_total", "ifInErrors", "[1h]"), _PORT)),
        _lines(
            "Dropped packets a second",
            "short",
            (_fabric("transmit_discards_total", "ifOutDiscards", RATE, "rate"), _PORT),
        ),
        _lines(
            "Waiting to send",
            "short",
            ({"infiniband": f"topk(20, rate({_IB}_transmit_wait_total{RATE}) {_NAMED})"}, _PORT),
            note="ticks a second in which a port had data and no credit, congestion; ticks are the switch's own",
        ),
        _lines(
            "Node ports that are not active",
            "short",
            ({"rdma": "node_infiniband_state_id != 4"}, "{{node}} {{device}}"),
            note="4 is ACTIVE",
        ),
    ),
)

_STORAGE = Board(
    "cw-storage",
    "Storage",
    (
        _of("storage_used", "Parallel file system in use", "full"),
        _of("storage_load", "Load against the design's bandwidth", "load"),
        _lines(
            "Reads",
            "Bps",
            ("storage:read:bytes_per_second", "read"),
            ("vector(@storage_read_bytes_s@)", "design"),
        ),
        _lines(
            "Writes",
            "Bps",
            ("storage:write:bytes_per_second", "written"),
            ("vector(@storage_write_bytes_s@)", "design"),
            note="peaks are checkpoints",
        ),
        _lines(
            "Fullest local disks",
            "percentunit",
            (
                'topk(20, 1 - node_filesystem_avail_bytes{fstype=~"ext4|xfs"} '
                '/ node_filesystem_size_bytes{fstype=~"ext4|xfs"})',
                "{{node}} {{mountpoint}}",
            ),
        ),
    ),
)

_QUEUE = Board(
    "cw-queue",
    "Queue",
    (
        _of("queue_time", "Queue time by tenant (95th percentile)", "{{tenant}}"),
        _of("queue_time_by_size", "Queue time by size of the job (95th percentile)", "{{size}}"),
        _lines(
            "Jobs that wait",
            "short",
            (
                {
                    "slurm": "sum by (tenant, size) (slurm_queue_pending)",
                    "kubernetes": "sum by (tenant, status) (kueue_pending_workloads)",
                },
                "{{tenant}} {{size}}{{status}}",
            ),
        ),
        _of("tenant_gpus", "GPUs by tenant", "{{tenant}}"),
        _lines(
            "Tenants against their quotas",
            "percentunit",
            (
                "sum by (tenant) (tenant:gpus_allocated:count) / sum by (tenant) (clusterwright_tenant_quota_gpus > 0)",
                "{{tenant}}",
            ),
            note="above 100 % a tenant uses what others leave idle",
        ),
        _of("throughput", "Throughput", "jobs an hour"),
        _of("fragmentation", "Fragmentation of free GPUs", "fragmentation"),
        _of("failure_rate", "Failure rate", "failed"),
        Panel(
            "Nodes with GPUs that are held without a process",
            "table",
            (("node:gpus_wasted:count > 0", "{{node}}"),),
            "short",
            12,
            8,
            metric("gpus_wasted").meaning,
        ),
    ),
)

_COST = Board(
    "cw-cost",
    "Cost, power and carbon",
    (
        _stat("cost", "Cost an hour"),
        _stat("cost_allocated", "Cost of a held GPU-hour"),
        _stat("cost_busy", "Cost of a busy GPU-hour"),
        _stat("waste_cost", "Cost of waste an hour"),
        _stat("site_power", "Power"),
        _stat("carbon", "Carbon an hour"),
        _of("tenant_cost", "Cost an hour by tenant", "{{tenant}}"),
        _lines(
            "Cost of a GPU-hour",
            "currencyUSD",
            ("max(clusterwright_gpu_hour_usd)", "as designed"),
            ("cluster:cost:usd_per_allocated_gpu_hour", "held"),
            ("cluster:cost:usd_per_busy_gpu_hour", "busy"),
            note="the fewer GPUs are used, the more each used hour costs",
        ),
        _of("waste_cost", "Cost of GPUs that are held without a process, an hour", "waste"),
        _lines(
            "Power at the meter",
            "watt",
            ("site:power:watts", "drawn"),
            ("vector(@power_design_w@)", "design, at most"),
            ("vector(@power_limit_w@)", "limit"),
        ),
        _lines("Racks that draw most", "watt", ("topk(20, rack:power:watts)", "{{rack}}")),
        _of("carbon", "Carbon an hour", "carbon dioxide"),
    ),
)

BOARDS: tuple[Board, ...] = (_CLUSTER, _JOB, _GPU, _FABRIC, _STORAGE, _QUEUE, _COST)
"""Every dashboard."""


def query_for(query: Query, traits: Collection[str]) -> str:
    """The query of a panel for a cluster with these traits; empty where it does not apply."""
    if isinstance(query, str):
        return query
    return next((text for trait, text in query.items() if trait in traits), "")
