"""The table of metrics: name, query, unit, target, direction and meaning of everything that is watched.

Plain data that knows nothing of files, so that dashboards, rules, tests, live status and the simulator read one table.
Queries are PromQL; ``@name@`` stands for a figure of the design (see ``figures.py``). A query that differs by what is
deployed is a mapping from a trait of the cluster to the query: ``slurm`` or ``kubernetes``, ``nvidia`` or ``amd``,
``rdma`` or ``ethernet`` (counters of the nodes' ports), ``lustre``, ``gpfs``, ``nfs`` or ``posix`` (parallel file system).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["METRICS", "Direction", "Level", "Metric", "filled", "metric", "placeholders"]

Level = Literal["node", "cluster"]
Direction = Literal["higher", "lower", "band", "none"]


@dataclass(frozen=True)
class Metric:
    """One thing that is watched.

    Attributes:
        name: short, unique.
        record: the series that a recording rule writes, ``level:what:how``.
        query: PromQL, or trait -> PromQL; the first trait that the cluster has counts.
        unit: of the value: ``1`` (a share or a plain number), ``s``, ``W``, ``bytes/s``, ``1/h``, ``USD/h``, ``kg/h`` ...
        labels: of the recorded series.
        level: ``node`` is evaluated by every shard of Prometheus on its own nodes, ``cluster`` once for the site.
        direction: which way is better; ``band`` between ``low`` and ``high``.
        low, high: the target, in ``unit``; None without one.
        source: where the target comes from.
        meaning: in words, limits of the measurement included.
        add: labels that the rule adds; several metrics may then write one series name.
    """

    name: str
    record: str
    query: str | Mapping[str, str]
    unit: str
    labels: tuple[str, ...]
    meaning: str
    level: Level = "cluster"
    direction: Direction = "none"
    low: float | None = None
    high: float | None = None
    source: str = ""
    add: Mapping[str, str] | None = None

    def text(self, traits: Collection[str]) -> str:
        """The query for a cluster with these traits; empty where it cannot be measured there."""
        if isinstance(self.query, str):
            return self.query
        return next((query for trait, query in self.query.items() if trait in traits), "")


_PLACE = re.compile(r"@([a-z0-9_]+)@")


def placeholders(query: str) -> set[str]:
    """Names of the figures that a query stands on."""
    return set(_PLACE.findall(query))


def filled(query: str, figures: Mapping[str, float]) -> str:
    """The query with the design's figures.

    Raises:
        KeyError: a figure is missing.
    """
    return _PLACE.sub(lambda found: number(figures[found.group(1)]), query)


def number(value: float) -> str:
    """A number as PromQL reads it, at most six digits long where that loses nothing that matters."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


_NODE = ("node", "rack", "group")
_BY = "by (node, rack, group)"
_ALLOCATED = "node:gpus_allocated:count"
_ON = "* on (node) group_left ()"
_GPU = 'resource=~"(nvidia|amd)_com_gpu"'
_PENDING = "(sum(cluster:jobs_pending:count) > bool 0)"
PRODUCT = "targets of utilisation and scaling that the product is held to"

_GPUS = (
    Metric(
        "gpus",
        "node:gpus:count",
        {"nvidia": f"count {_BY} (DCGM_FI_DEV_FB_USED)", "amd": f"count {_BY} (gpu_used_vram)"},
        "1",
        _NODE,
        "GPUs of a node that report",
        "node",
    ),
    Metric(
        "gpu_activity",
        "node:gpu_utilisation:ratio",
        {"nvidia": f"avg {_BY} (DCGM_FI_DEV_GPU_UTIL) / 100", "amd": f"avg {_BY} (gpu_gfx_activity) / 100"},
        "1",
        _NODE,
        "share of time in which any kernel runs on a node's GPUs; says nothing of how full they are",
        "node",
    ),
    Metric(
        "gpu_sm_active",
        "node:gpu_sm_active:ratio",
        {"nvidia": f"avg {_BY} (DCGM_FI_PROF_SM_ACTIVE)"},
        "1",
        _NODE,
        "share of multiprocessors with work; off in dcgm-exporter's own list",
        "node",
    ),
    Metric(
        "gpu_tensor_active",
        "node:gpu_tensor_active:ratio",
        {"nvidia": f"avg {_BY} (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)"},
        "1",
        _NODE,
        "share of cycles in which tensor cores work, the nearest that counters come to model FLOPs utilisation",
        "node",
    ),
    Metric(
        "gpu_memory",
        "node:gpu_memory_used:ratio",
        {
            "nvidia": f"sum {_BY} (DCGM_FI_DEV_FB_USED) / sum {_BY} (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)",
            "amd": f"sum {_BY} (gpu_used_vram) / sum {_BY} (gpu_total_vram)",
        },
        "1",
        _NODE,
        "share of GPU memory in use",
        "node",
    ),
    Metric(
        "gpu_power",
        "node:gpu_power:watts",
        {"nvidia": f"sum {_BY} (DCGM_FI_DEV_POWER_USAGE)", "amd": f"sum {_BY} (gpu_package_power)"},
        "W",
        _NODE,
        "power of a node's GPUs",
        "node",
    ),
    Metric(
        "gpus_without_process",
        "node:gpus_without_process:count",
        {
            "nvidia": f"sum {_BY} (DCGM_FI_DEV_FB_USED < bool @idle_memory_mib@)",
            "amd": f"sum {_BY} (gpu_used_vram < bool @idle_memory_mib@)",
        },
        "1",
        _NODE,
        "GPUs with so little memory in use that no process can hold a context on them",
        "node",
    ),
    Metric(
        "gpu_power_throttled",
        "node:gpu_power_throttled:ratio",
        {"nvidia": f"avg {_BY} (rate(DCGM_FI_DEV_POWER_VIOLATION[5m])) / 1e9"},
        "1",
        _NODE,
        "share of time in which a node's GPUs are held back by their power limit",
        "node",
    ),
)

_HOSTS = (
    Metric(
        "link_utilisation",
        "node:link_utilisation:ratio",
        {
            "rdma": f"max {_BY} (rate(node_infiniband_port_data_transmitted_bytes_total[5m])) / @link_bytes_s@",
            "ethernet": f"max {_BY} (rate(node_network_transmit_bytes_total[5m])) / @link_bytes_s@",
        },
        "1",
        _NODE,
        "load of a node's busiest port against the bandwidth of a link in the design",
        "node",
    ),
    Metric(
        "node_power",
        "node:power:watts",
        f"max {_BY} (ipmi_dcmi_power_consumption_watts)",
        "W",
        _NODE,
        "power of a server as its management controller measures it",
        "node",
    ),
)

_ALLOCATION = (
    Metric(
        "gpus_allocated",
        _ALLOCATED,
        {
            "slurm": "max by (node) (slurm_node_gpus_allocated)",
            "kubernetes": "sum by (node) (kube_pod_container_resource_requests{%s} * on (namespace, pod) group_left () "
            'max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"} == 1)) '
            "or 0 * max by (node) (kube_node_status_allocatable{%s})" % (_GPU, _GPU),
        },
        "1",
        ("node",),
        "GPUs of a node that the scheduler has given to jobs",
    ),
    Metric(
        "schedulable",
        "node:schedulable:bool",
        {
            "slurm": 'max by (node) (slurm_node_info{is_unavailable="false", state_is_drain="false"})',
            "kubernetes": 'max by (node) (kube_node_status_condition{condition="Ready", status="true"} == 1) '
            "unless on (node) (kube_node_spec_unschedulable == 1)",
        },
        "1",
        ("node",),
        "1 for nodes that may start jobs; no series for those that are down or drained",
    ),
    Metric(
        "gpus_free",
        "node:gpus_free:count",
        f"clamp_min((node:gpus:count - on (node) group_left () {_ALLOCATED}) {_ON} node:schedulable:bool, 0)",
        "1",
        _NODE,
        "GPUs that a job could get now",
    ),
    Metric(
        "gpus_wasted",
        "node:gpus_wasted:count",
        f"clamp_min(node:gpus_without_process:count - node:gpus:count + on (node) group_left () {_ALLOCATED}, 0)",
        "1",
        _NODE,
        "GPUs that a job holds without a process on them: those without a process beyond the free ones of the node",
    ),
    Metric(
        "tenant_gpus",
        "tenant:gpus_allocated:count",
        {
            "slurm": "sum by (tenant) (slurm_account_gpus_allocated)",
            "kubernetes": 'sum by (tenant) (kueue_cluster_queue_resource_usage{resource=~"(nvidia|amd).com/gpu"})',
        },
        "1",
        ("tenant",),
        "GPUs that a tenant holds",
    ),
    Metric(
        "jobs_pending",
        "cluster:jobs_pending:count",
        {"slurm": "sum(slurm_queue_pending)", "kubernetes": "sum(kueue_pending_workloads)"},
        "1",
        (),
        "jobs that wait",
        direction="lower",
    ),
)

_USE = (
    Metric(
        "gpu_utilisation",
        "cluster:gpu_utilisation:ratio",
        f"sum(node:gpu_utilisation:ratio {_ON} {_ALLOCATED}) / (sum({_ALLOCATED}) > 0)",
        "1",
        (),
        "how busy the GPUs are that jobs hold, weighted by GPUs; idle nodes do not count here but in cluster utilisation",
        direction="band",
        low=0.7,
        high=0.9,
        source=PRODUCT,
    ),
    Metric(
        "node_utilisation",
        "cluster:node_utilisation:ratio",
        f"sum({_ALLOCATED} > bool 0) / count({_ALLOCATED})",
        "1",
        (),
        "share of nodes, spares and drained ones included, on which a job holds at least one GPU",
        direction="higher",
        low=0.8,
        source=PRODUCT,
    ),
    Metric(
        "cluster_utilisation",
        "cluster:utilisation:ratio",
        f"sum({_ALLOCATED}) / @gpus@",
        "1",
        (),
        "share of the design's GPUs that jobs hold, busy or not",
        direction="higher",
    ),
    Metric(
        "wasted",
        "cluster:wasted:ratio",
        f"sum(node:gpus_wasted:count) / (sum({_ALLOCATED}) > 0)",
        "1",
        (),
        "share of allocated GPUs without a running process",
        direction="lower",
    ),
    Metric(
        "stranded",
        "cluster:stranded:ratio",
        f"clamp_min(sum(node:gpus:count) - sum(node:gpus_free:count) - sum({_ALLOCATED}), 0) / sum(node:gpus:count)",
        "1",
        (),
        "share of reporting GPUs that no job holds and none can get, because their nodes are down or drained",
        direction="lower",
    ),
    Metric(
        "fragmentation",
        "cluster:fragmentation:ratio",
        "1 - (sum(node:gpus_free:count == node:gpus:count) or vector(0)) / (sum(node:gpus_free:count) > 0)",
        "1",
        (),
        "share of free GPUs that stand on partly used nodes, so that jobs of whole nodes cannot have them",
        direction="lower",
    ),
    Metric(
        "mfu",
        "cluster:mfu:ratio",
        {"nvidia": f"sum(node:gpu_tensor_active:ratio {_ON} {_ALLOCATED}) / (sum({_ALLOCATED}) > 0)"},
        "1",
        (),
        "tensor-core activity of allocated GPUs: an estimate of model FLOPs utilisation without the job's own counters; "
        "recomputation counts as work, lower clocks do not show",
        direction="higher",
    ),
    Metric(
        "scaling_efficiency",
        "cluster:scaling_efficiency:ratio",
        {"training": "cluster:mfu:ratio / @reference_mfu@"},
        "1",
        (),
        "estimated MFU against what the design predicts for the same run on few GPUs; holds while the planned run runs",
        direction="higher",
        low=0.8,
        source=PRODUCT,
    ),
)

_QUEUE = (
    Metric(
        "throughput",
        "cluster:throughput:jobs_per_hour",
        {
            "slurm": 'sum(rate(slurm_jobs_ended_total{state="COMPLETED"}[1h])) * 3600',
            "kubernetes": "sum(rate(kueue_admitted_workloads_total[1h])) * 3600",
        },
        "1/h",
        (),
        "jobs that ended well in an hour (Slurm), or that were admitted (Kubernetes)",
        direction="higher",
    ),
    Metric(
        "queue_time",
        "tenant:queue_time:seconds_p95",
        {
            "slurm": "histogram_quantile(0.95, sum by (tenant, le) (rate(slurm_job_wait_seconds_bucket[6h])))",
            "kubernetes": "histogram_quantile(0.95, sum by (tenant, le) "
            "(rate(kueue_admission_wait_time_seconds_bucket[6h])))",
        },
        "s",
        ("tenant",),
        "95 % of a tenant's jobs that started in the last six hours waited at most so long",
        direction="lower",
    ),
    Metric(
        "queue_time_by_size",
        "size:queue_time:seconds_p95",
        {"slurm": "histogram_quantile(0.95, sum by (size, le) (rate(slurm_job_wait_seconds_bucket[6h])))"},
        "s",
        ("size",),
        "the same by size of the job; Kueue does not count by size",
        direction="lower",
    ),
    Metric(
        "failure_rate",
        "cluster:failure_rate:ratio",
        {
            "slurm": "(sum(increase(slurm_jobs_ended_total"
            '{state=~"NODE_FAIL|BOOT_FAIL|FAILED|OUT_OF_MEMORY|DEADLINE"}[1d])) or vector(0)) '
            "/ (sum(increase(slurm_jobs_ended_total[1d])) > 0)",
            "kubernetes": "(count(kube_job_status_failed > 0) or vector(0)) / count(kube_job_status_failed)",
        },
        "1",
        (),
        "share of jobs of the last day that failed, for whatever reason",
        direction="lower",
        high=0.05,
        source=PRODUCT,
    ),
    Metric(
        "node_failures",
        "cluster:node_failures:per_day",
        {
            "slurm": "sum(increase(slurm_node_fails_total[1d]))",
            "kubernetes": 'sum(resets(kube_node_status_condition{condition="Ready", status="true"}[1d]))',
        },
        "1",
        (),
        "nodes that went down or were drained within a day",
        direction="lower",
    ),
)

_SPACE = '1 - max(node_filesystem_avail_bytes{fstype=~"%s"}) / max(node_filesystem_size_bytes{fstype=~"%s"})'
_SUPPLY = (
    Metric(
        "network_utilisation",
        "cluster:network_utilisation:ratio",
        "quantile(0.95, node:link_utilisation:ratio)",
        "1",
        (),
        "load of the busiest port that 95 % of the nodes stay below",
    ),
    Metric(
        "storage_read",
        "storage:read:bytes_per_second",
        {
            "lustre": 'sum(rate(lustre_read_bytes_total{component="ost"}[5m]))',
            "gpfs": "sum(rate(gpfs_perf_read_bytes_total[5m]))",
            "nfs": "sum(rate(node_mountstats_nfs_total_read_bytes_total[5m]))",
        },
        "bytes/s",
        (),
        "read rate of the parallel file system",
    ),
    Metric(
        "storage_write",
        "storage:write:bytes_per_second",
        {
            "lustre": 'sum(rate(lustre_write_bytes_total{component="ost"}[5m]))',
            "gpfs": "sum(rate(gpfs_perf_write_bytes_total[5m]))",
            "nfs": "sum(rate(node_mountstats_nfs_total_write_bytes_total[5m]))",
        },
        "bytes/s",
        (),
        "write rate of the parallel file system",
    ),
    Metric(
        "storage_load",
        "storage:bandwidth:ratio",
        dict.fromkeys(
            ("lustre", "gpfs", "nfs"),
            "max(storage:read:bytes_per_second / @storage_read_bytes_s@ "
            "or storage:write:bytes_per_second / @storage_write_bytes_s@)",
        ),
        "1",
        (),
        "reads or writes against what the design's file system can, whichever is nearer",
    ),
    Metric(
        "storage_used",
        "storage:used:ratio",
        {
            "lustre": '1 - sum(lustre_available_kilobytes{component="ost"}) '
            '/ sum(lustre_capacity_kilobytes{component="ost"})',
            "gpfs": _SPACE % ("gpfs", "gpfs"),
            "nfs": _SPACE % ("nfs4?", "nfs4?"),
            "posix": _SPACE % ("wekafs|fuse.*", "wekafs|fuse.*"),
        },
        "1",
        (),
        "share of the parallel file system that is full",
        direction="lower",
    ),
    Metric(
        "rack_power",
        "rack:power:watts",
        "sum by (rack) (node:power:watts)",
        "W",
        ("rack",),
        "power of a rack's servers",
    ),
    Metric(
        "site_power",
        "site:power:watts",
        "(sum(node:power:watts) + @network_and_storage_w@) * @pue@",
        "W",
        (),
        "power at the meter: servers as measured, switches and storage as designed, times the design's PUE",
    ),
    Metric(
        "site_power_share",
        "site:power:ratio",
        "site:power:watts / @power_limit_w@",
        "1",
        (),
        "power against the site's limit; against what the design needs at most where no limit is given",
        direction="lower",
        high=1.0,
        source="limits of the design",
    ),
    Metric(
        "power_throttled",
        "cluster:power_throttled:ratio",
        {"nvidia": "avg(node:gpu_power_throttled:ratio)"},
        "1",
        (),
        "share of time in which GPUs are held back by their power limit",
        direction="lower",
    ),
)

_BOTTLENECK = "cluster:bottleneck:score"
_FREE = "(sum(node:gpus_free:count) / sum(node:gpus:count))"


def _bottleneck(what: str, query: str | Mapping[str, str], meaning: str) -> Metric:
    return Metric(f"bottleneck_{what}", _BOTTLENECK, query, "1", ("resource",), meaning, add={"resource": what})


_BOTTLENECKS = (
    _bottleneck("gpus", f"sum(cluster:utilisation:ratio) * {_PENDING}", "jobs wait and GPUs are taken"),
    _bottleneck("scheduling", f"{_FREE} * {_PENDING}", "jobs wait although GPUs are free"),
    _bottleneck("network", "sum(cluster:network_utilisation:ratio)", "ports of the nodes are full"),
    _bottleneck(
        "storage",
        dict.fromkeys(("lustre", "gpfs", "nfs"), "sum(storage:bandwidth:ratio)"),
        "the file system is at its rate",
    ),
    _bottleneck(
        "power",
        {"nvidia": "sum(cluster:power_throttled:ratio)", "amd": "sum(site:power:ratio)"},
        "GPUs are held back by power (NVIDIA), or the site is near its limit",
    ),
)

_MONEY = (
    Metric(
        "cost",
        "cluster:cost:usd_per_hour",
        "max(clusterwright_gpu_hour_usd) * @gpus@",
        "USD/h",
        (),
        "cost of the cluster: the design's price of a GPU-hour, all costs in it, for every GPU, used or not",
        direction="lower",
    ),
    Metric(
        "cost_allocated",
        "cluster:cost:usd_per_allocated_gpu_hour",
        "max(clusterwright_gpu_hour_usd) / (cluster:utilisation:ratio > 0)",
        "USD/h",
        (),
        "cost of a GPU-hour that a job holds",
        direction="lower",
    ),
    Metric(
        "cost_busy",
        "cluster:cost:usd_per_busy_gpu_hour",
        "max(clusterwright_gpu_hour_usd) / (cluster:utilisation:ratio * cluster:gpu_utilisation:ratio > 0)",
        "USD/h",
        (),
        "cost of a GPU-hour in which the GPU works",
        direction="lower",
    ),
    Metric(
        "tenant_cost",
        "tenant:cost:usd_per_hour",
        "tenant:gpus_allocated:count * scalar(max(clusterwright_gpu_hour_usd))",
        "USD/h",
        ("tenant",),
        "cost of what a tenant holds",
    ),
    Metric(
        "waste_cost",
        "cluster:waste_cost:usd_per_hour",
        "sum(node:gpus_wasted:count) * max(clusterwright_gpu_hour_usd)",
        "USD/h",
        (),
        "cost of GPUs that are held without a process",
        direction="lower",
    ),
    Metric(
        "carbon",
        "site:carbon:kg_per_hour",
        "site:power:watts / 1000 * scalar(max(clusterwright_carbon_grams_per_kwh)) / 1000",
        "kg/h",
        (),
        "carbon dioxide of the power drawn, at the region's mean intensity",
        direction="lower",
    ),
)

METRICS: tuple[Metric, ...] = (
    *_GPUS,
    *_HOSTS,
    *_ALLOCATION,
    *_USE,
    *_QUEUE,
    *_SUPPLY,
    *_BOTTLENECKS,
    *_MONEY,
)
"""Every metric; a query reads only series that exporters give or that stand above it in the table."""

_BY_NAME = {one.name: one for one in METRICS}


def metric(name: str) -> Metric:
    """A metric by its name."""
    return _BY_NAME[name]
