"""Metrics of nodes: their GPUs, ports and power, and what the scheduler has given away of them."""

from __future__ import annotations

from clusterwright.traces.metric import Metric

__all__ = ["ALLOCATED", "ALLOCATION", "EACH", "GPUS", "HOSTS", "NODE"]

NODE = ("node", "rack", "group")
_BY = "by (node, rack, group)"
ALLOCATED = "node:gpus_allocated:count"
EACH = "* on (node) group_left ()"
_GPU = 'resource=~"(nvidia|amd)_com_gpu"'

GPUS = (
    Metric(
        "gpus",
        "node:gpus:count",
        {"nvidia": f"count {_BY} (DCGM_FI_DEV_FB_USED)", "amd": f"count {_BY} (gpu_used_vram)"},
        "1",
        NODE,
        "GPUs of a node that report",
        "node",
    ),
    Metric(
        "gpu_activity",
        "node:gpu_utilisation:ratio",
        {"nvidia": f"avg {_BY} (DCGM_FI_DEV_GPU_UTIL) / 100", "amd": f"avg {_BY} (gpu_gfx_activity) / 100"},
        "1",
        NODE,
        "share of time in which any kernel runs on a node's GPUs; says nothing of how full they are",
        "node",
    ),
    Metric(
        "gpu_sm_active",
        "node:gpu_sm_active:ratio",
        {"nvidia": f"avg {_BY} (DCGM_FI_PROF_SM_ACTIVE)"},
        "1",
        NODE,
        "share of multiprocessors with work; off in dcgm-exporter's own list",
        "node",
    ),
    Metric(
        "gpu_tensor_active",
        "node:gpu_tensor_active:ratio",
        {"nvidia": f"avg {_BY} (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)"},
        "1",
        NODE,
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
        NODE,
        "share of GPU memory in use",
        "node",
    ),
    Metric(
        "gpu_power",
        "node:gpu_power:watts",
        {"nvidia": f"sum {_BY} (DCGM_FI_DEV_POWER_USAGE)", "amd": f"sum {_BY} (gpu_package_power)"},
        "W",
        NODE,
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
        NODE,
        "GPUs with so little memory in use that no process can hold a context on them",
        "node",
    ),
    Metric(
        "gpu_power_throttled",
        "node:gpu_power_throttled:ratio",
        {"nvidia": f"avg {_BY} (rate(DCGM_FI_DEV_POWER_VIOLATION[5m])) / 1e9"},
        "1",
        NODE,
        "share of time in which a node's GPUs are held back by their power limit",
        "node",
    ),
)

HOSTS = (
    Metric(
        "link_utilisation",
        "node:link_utilisation:ratio",
        {
            "rdma": f"max {_BY} (rate(node_infiniband_port_data_transmitted_bytes_total[5m])) / @link_bytes_s@",
            "ethernet": f"max {_BY} (rate(node_network_transmit_bytes_total[5m])) / @link_bytes_s@",
        },
        "1",
        NODE,
        "load of a node's busiest port against the bandwidth of a link in the design",
        "node",
    ),
    Metric(
        "node_power",
        "node:power:watts",
        f"max {_BY} (ipmi_dcmi_power_consumption_watts)",
        "W",
        NODE,
        "power of a server as its management controller measures it",
        "node",
    ),
)

ALLOCATION = (
    Metric(
        "gpus_allocated",
        ALLOCATED,
        {
            "slurm": "max by (node) (slurm_node_gpus_allocated)",
            "kubernetes": "sum by (node) (kube_pod_container_resource_requests{"
            + _GPU
            + "} * on (namespace, pod) group_left () "
            'max by (namespace, pod) (kube_pod_status_phase{phase="Running"} == 1)) '
            "or 0 * max by (node) (kube_node_status_allocatable{" + _GPU + "})",
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
        f"clamp_min((node:gpus:count - on (node) group_left () {ALLOCATED}) {EACH} node:schedulable:bool, 0)",
        "1",
        NODE,
        "GPUs that a job could get now",
    ),
    Metric(
        "gpus_wasted",
        "node:gpus_wasted:count",
        f"clamp_min(node:gpus_without_process:count - node:gpus:count + on (node) group_left () {ALLOCATED}, 0)",
        "1",
        NODE,
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
