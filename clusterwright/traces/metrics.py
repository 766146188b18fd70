"""The table of metrics: everything that is watched.

Plain data that knows nothing of files, so that dashboards, rules, tests, live status and the simulator read one table.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.traces.metric import Metric
from clusterwright.traces.metrics_nodes import ALLOCATED, ALLOCATION, EACH, GPUS, HOSTS

__all__ = ["METRICS", "PRODUCT", "metric"]

_PENDING = "(sum(cluster:jobs_pending:count) > bool 0)"
PRODUCT = "targets of utilisation and scaling that the product is held to"

_USE = (
    Metric(
        "gpu_utilisation",
        "cluster:gpu_utilisation:ratio",
        f"sum(node:gpu_utilisation:ratio {EACH} {ALLOCATED}) / (sum({ALLOCATED}) > 0)",
        "1",
        (),
        "how busy the GPUs are that jobs hold, weighted by GPUs; idle nodes count in cluster utilisation, not here",
        direction="band",
        low=0.7,
        high=0.9,
        source=PRODUCT,
    ),
    Metric(
        "node_utilisation",
        "cluster:node_utilisation:ratio",
        f"sum({ALLOCATED} > bool 0) / count({ALLOCATED})",
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
        f"sum({ALLOCATED}) / @gpus@",
        "1",
        (),
        "share of the design's GPUs that jobs hold, busy or not",
        direction="higher",
    ),
    Metric(
        "wasted",
        "cluster:wasted:ratio",
        f"sum(node:gpus_wasted:count) / (sum({ALLOCATED}) > 0)",
        "1",
        (),
        "share of allocated GPUs without a running process",
        direction="lower",
    ),
    Metric(
        "stranded",
        "cluster:stranded:ratio",
        f"clamp_min(sum(node:gpus:count) - sum(node:gpus_free:count) - sum({ALLOCATED}), 0) / sum(node:gpus:count)",
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
        {"nvidia": f"sum(node:gpu_tensor_active:ratio {EACH} {ALLOCATED}) / (sum({ALLOCATED}) > 0)"},
        "1",
        (),
        "tensor-core activity of allocated GPUs: an estimate of model FLOPs utilisation without the job's counters; "
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
    *GPUS,
    *HOSTS,
    *ALLOCATION,
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
