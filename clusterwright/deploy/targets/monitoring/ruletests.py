"""Tests of the rules, as promtool runs them: made-up series and what must come of them, worked out here by hand.

Every site gets its own, with its GPUs a node, its limits and its exporters. Values are rounded to three places in the
queries, since promtool compares floating-point numbers exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from clusterwright.deploy.targets.monitoring.figures import Place
from clusterwright.deploy.targets.monitoring.rules import alerts, metrics

__all__ = ["tests"]

Samples = list[dict[str, Any]]
_LAST = 150
"""Minutes that the series go on."""


def tests(place: Place) -> dict[str, Any]:
    """Test files of a site by name."""
    return {
        "node": _file(["node-records", "node-alerts"], [*_gpu_faults(place), *_lost_servers(place)]),
        "site": _file(
            ["node-records", "site-records", "site-alerts"],
            [_use(place), *_queue(place), _power(place), *_fabric(place), _money(place)],
        ),
    }


def _file(rules: list[str], groups: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "rule_files": [f"../rules/{name}.yml" for name in rules],
        "evaluation_interval": "1m",
        "tests": [group for group in groups if group["promql_expr_test"]],
    }


def _group(name: str, series: Mapping[str, str], *expected: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [one for one in expected if one],
    }


def _flat(value: float) -> str:
    return f"{value:.12g}x{_LAST}"


def _steps(step: float) -> str:
    return f"0+{step:g}x{_LAST}"


def _value(place: Place, name: str, at: str, value: float, **labels: str) -> dict[str, Any]:
    """A metric of the table must have a value; nothing where the site has no such metric."""
    one = next((found for found in metrics(place) if found.name == name), None)
    if one is None:
        return {}
    wanted = "{" + ", ".join(f'{key}="{text}"' for key, text in (labels | dict(one.add or {})).items()) + "}"
    query = f"round(sum({one.record}{wanted}), 0.001)"
    return {
        "expr": query,
        "eval_time": at,
        "exp_samples": [{"labels": "{}", "value": math.floor(value * 1000 + 0.5) / 1000}],
    }


def _fires(place: Place, name: str, at: str, count: int) -> dict[str, Any]:
    """So many alerts of a name must fire; nothing where the site has no such alert."""
    if name not in {one.name for one, _ in alerts(place)}:
        return {}
    samples: Samples = [{"labels": "{}", "value": count}] if count else []
    query = f'count(ALERTS{{alertname="{name}", alertstate="firing"}})'
    return {"expr": query, "eval_time": at, "exp_samples": samples}


def _node(place: Place, number: int, **more: str) -> str:
    group = next(iter(place.gpu_groups), "compute")
    labels = {"node": f"n{number}", "rack": "r1", "group": group, **more}
    return "{" + ", ".join(f'{key}="{text}"' for key, text in labels.items()) + "}"


def _gpu(place: Place, number: int, gpu: int, **more: str) -> str:
    which = "serial_number" if "amd" in place.traits else "UUID"
    return _node(place, number, gpu=str(gpu), **{which: f"GPU-{number}-{gpu}"}, **more)


# --- faults ---


def _gpu_faults(place: Place) -> list[dict[str, Any]]:
    if "nvidia" not in place.traits:
        return []
    count, last = "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_DEV_XID_ERRORS"
    seen = f"_x4 1x4 0x{_LAST}"
    return [
        _group(
            "a fatal XID fires while it is in the window, and clears after it",
            {f"{count}{_gpu(place, 1, 3, xid='79')}": seen},
            _fires(place, "GpuFatalXid", "6m", 1),
            _fires(place, "GpuXidToInvestigate", "6m", 0),
            _fires(place, "GpuFatalXid", "20m", 0),
        ),
        _group(
            "a burst of XID 45 when a job ends drains nothing",
            {f"{count}{_gpu(place, 1, gpu, xid='45')}": seen for gpu in range(4)},
            _fires(place, "GpuFatalXid", "6m", 0),
            _fires(place, "GpuXidToInvestigate", "6m", 0),
            _fires(place, "GpuJobXid", "6m", 0),
        ),
        _group(
            "the gauge of the last XID, which sticks, fires nothing",
            {f"{last}{_gpu(place, 1, 3)}": _flat(79)},
            _fires(place, "GpuFatalXid", "30m", 0),
        ),
        _group(
            "NVLink 5 errors and Xid 94 are for a person, a fault of the program is for the record",
            {f"{count}{_gpu(place, 1, gpu, xid=xid)}": seen for gpu, xid in enumerate(("149", "94", "13"))},
            _fires(place, "GpuXidToInvestigate", "6m", 2),
            _fires(place, "GpuJobXid", "6m", 1),
            _fires(place, "GpuFatalXid", "6m", 0),
        ),
        _group(
            "memory errors, failed remaps, PCIe replays and heat",
            {
                f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{_gpu(place, 1, 0)}": f"0x9 1x{_LAST}",
                f"DCGM_FI_DEV_ROW_REMAP_FAILURE{_gpu(place, 1, 1)}": f"0x9 1x{_LAST}",
                f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{_gpu(place, 1, 2)}": _steps(9),
                f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{_gpu(place, 1, 3)}": _steps(7),
                f"DCGM_FI_DEV_THERMAL_VIOLATION{_gpu(place, 1, 2)}": _steps(6e9),
                f"DCGM_FI_DEV_THERMAL_VIOLATION{_gpu(place, 1, 3)}": _steps(6e8),
            },
            _fires(place, "GpuUncorrectableMemoryErrors", "5m", 0),
            _fires(place, "GpuUncorrectableMemoryErrors", "12m", 1),
            _fires(place, "GpuRowRemapFailed", "12m", 1),
            _fires(place, "GpuPcieReplays", "20m", 1),
            _fires(place, "GpuThermalThrottling", "30m", 1),
        ),
    ]


def _lost_servers(place: Place) -> list[dict[str, Any]]:
    def up(number: int, job: str, values: str) -> dict[str, str]:
        return {f"up{_node(place, number, job=job)}": values}

    lost = f"1x9 0x{_LAST}"
    gpus = {
        f"{'DCGM_FI_DEV_FB_USED' if 'nvidia' in place.traits else 'gpu_used_vram'}{_gpu(place, 1, gpu)}": _flat(100)
        for gpu in range(max(place.gpu_groups.values(), default=1) - 1)
    }
    return [
        _group(
            "one server is gone: its alert, not the rack's",
            up(1, "node-exporter", lost) | up(2, "node-exporter", _flat(1)),
            _fires(place, "NodeDown", "10m", 0),
            _fires(place, "NodeDown", "20m", 1),
            _fires(place, "RackDown", "20m", 0),
        ),
        _group(
            "every server of a rack is gone: the rack's alert, which silences theirs",
            up(1, "node-exporter", lost) | up(2, "node-exporter", lost),
            _fires(place, "NodeDown", "20m", 2),
            _fires(place, "RackDown", "20m", 1),
        ),
        _group(
            "a GPU has fallen off the bus: one fewer than the design has",
            gpus,
            _fires(place, "GpuMissing", "20m", 1 if gpus else 0),
        ),
    ]


# --- use ---


def _allocation(place: Place, held: Mapping[int, int], drained: int) -> dict[str, str]:
    """Nodes with so many GPUs held, and one that is drained, as the site's scheduler says it."""
    made: dict[str, str] = {}
    resource = 'resource="amd_com_gpu"' if "amd" in place.traits else 'resource="nvidia_com_gpu"'
    for number, gpus in held.items():
        node = f'node="n{number}"'
        if "slurm" in place.traits:
            made[f"slurm_node_gpus_allocated{{{node}}}"] = _flat(gpus)
            state = (
                f'is_unavailable="{str(number == drained).lower()}", state_is_drain="{str(number == drained).lower()}"'
            )
            made[f"slurm_node_info{{{node}, {state}}}"] = _flat(1)
            continue
        pod = f'namespace="t", pod="p{number}"'
        if gpus:
            made[f"kube_pod_container_resource_requests{{{node}, {pod}, {resource}}}"] = _flat(gpus)
            made[f'kube_pod_status_phase{{{pod}, phase="Running"}}'] = _flat(1)
        made[f"kube_node_status_allocatable{{{node}, {resource}}}"] = _flat(8)
        made[f'kube_node_status_condition{{{node}, condition="Ready", status="true"}}'] = _flat(1)
        made[f"kube_node_spec_unschedulable{{{node}}}"] = _flat(number == drained)
    return made


def _use(place: Place) -> dict[str, Any]:
    """Four nodes: one works, one is held without a process, one is half held, one is free and drained."""
    each = max(place.gpu_groups.values(), default=0)
    half = each // 2
    memory, busy = ("gpu_used_vram", "gpu_gfx_activity") if "amd" in place.traits else _NVIDIA
    series: dict[str, str] = {}
    working = {1: each, 2: 0, 3: half, 4: 0}
    for number, count in working.items():
        for gpu in range(each):
            series[f"{memory}{_gpu(place, number, gpu)}"] = _flat(70000 if gpu < count else 4)
            series[f"{busy}{_gpu(place, number, gpu)}"] = _flat(90 if gpu < count else 0)
    series |= _allocation(place, {1: each, 2: each, 3: half, 4: 0}, drained=4)
    held = 2 * each + half
    free = each - half
    if not held:
        return _group("use", {})
    return _group(
        "four nodes: busy, held without a process, half held, drained",
        series,
        _value(place, "gpus_allocated", "10m", held),
        _value(place, "gpus_wasted", "10m", each, node="n2"),
        _value(place, "gpus_wasted", "10m", 0, node="n3"),
        _value(place, "gpu_utilisation", "10m", (0.9 * each + 0.9 * half / each * half) / held),
        _value(place, "node_utilisation", "10m", 3 / 4 if half else 2 / 4),
        _value(place, "cluster_utilisation", "10m", held / place.figures["gpus"]),
        _value(place, "wasted", "10m", each / held),
        _value(place, "stranded", "10m", (4 * each - free - held) / (4 * each)),
        _value(place, "fragmentation", "10m", 1 if half else 0),
        _fires(place, "GpusWasted", "30m", 0),
        _fires(place, "GpusWasted", "70m", 1),
        _fires(place, "SparesExhausted", "70m", 1 if place.figures["spares"] < 1 else 0),
    )


_NVIDIA = ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL")


def _queue(place: Place) -> list[dict[str, Any]]:
    if "slurm" not in place.traits:
        waits = 'kueue_admission_wait_time_seconds_bucket{tenant="a", le="%s"}'
        series = {waits % "60": _steps(0), waits % "300": _steps(1), waits % "+Inf": _steps(1)}
        return [_group("queue time", series, _value(place, "queue_time", "60m", 60 + 0.95 * 240, tenant="a"))]
    waits = 'slurm_job_wait_seconds_bucket{tenant="a", size="node", le="%s"}'
    ended = 'slurm_jobs_ended_total{tenant="a", state="%s"}'
    return [
        _group(
            "queue time: every job waits one to five minutes, so 95 % wait at most 60 + 0.95 x 240 s",
            {waits % "60": _steps(0), waits % "300": _steps(1), waits % "+Inf": _steps(1)},
            _value(place, "queue_time", "60m", 288, tenant="a"),
            _value(place, "queue_time_by_size", "60m", 288, size="node"),
        ),
        _group(
            "one job in ten is lost with its node",
            {ended % "COMPLETED": _steps(9), ended % "NODE_FAIL": _steps(1)},
            _value(place, "failure_rate", "60m", 0.1),
            _value(place, "throughput", "120m", 9 * 60),
            _fires(place, "FailureRateHigh", "30m", 0),
            _fires(place, "FailureRateHigh", "100m", 1),
        ),
    ]


# --- supply ---


def _power(place: Place) -> dict[str, Any]:
    """Servers draw what takes the site a fifth over its limit."""
    figures = place.figures
    watts = 1.2 * figures["power_limit_w"] / figures["pue"] - figures["network_and_storage_w"]
    return _group(
        "the site draws a fifth more than its limit",
        {f"ipmi_dcmi_power_consumption_watts{_node(place, 1)}": _flat(watts)},
        _value(place, "site_power_share", "10m", 1.2),
        _fires(place, "SitePowerOverLimit", "10m", 1),
        _fires(place, "SitePowerNearLimit", "20m", 1),
    )


def _fabric(place: Place) -> list[dict[str, Any]]:
    if "infiniband" not in place.traits:
        port = '{instance="sw1", switch="sw1", tier="leaf", rack="r9", ifName="swp1"}'
        series = {f"ifOperStatus{port}": f"1x9 2x{_LAST}", f"ifAdminStatus{port}": _flat(1)}
        return [_group("a port is enabled and down", series, _fires(place, "FabricLinkDown", "20m", 1))]
    port, named = '{guid="0x1", port="7"}', '{guid="0x1", switch="sw1", lid="3"}'
    errors = int(place.figures["symbol_errors_per_hour"] / 60)
    return [
        _group(
            "a link goes down and carries nothing since",
            {
                f"infiniband_switch_info{named}": _flat(1),
                f"infiniband_switch_port_link_downed_total{port}": f"0x9 1x{_LAST}",
                f"infiniband_switch_port_transmit_data_bytes_total{port}": f"0+9x9 81x{_LAST}",
            },
            _fires(place, "FabricLinkDown", "8m", 0),
            _fires(place, "FabricLinkDown", "18m", 1),
            _fires(place, "FabricLinkFlapping", "18m", 0),
        ),
        _group(
            "twice the bit errors that the specification allows",
            {
                f"infiniband_switch_info{named}": _flat(1),
                f"infiniband_switch_port_symbol_error_total{port}": _steps(2 * errors),
            },
            _fires(place, "FabricLinkErrors", "100m", 1),
        ),
    ]


def _money(place: Place) -> dict[str, Any]:
    price = place.figures["gpu_hour_usd"]
    return _group(
        "cost of the whole cluster",
        {"clusterwright_gpu_hour_usd": _flat(price)},
        _value(place, "cost", "10m", float(f"{price:.12g}") * place.figures["gpus"]),
    )
