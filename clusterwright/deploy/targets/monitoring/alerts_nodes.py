"""Alerts of nodes and racks; every shard of Prometheus evaluates them for its own."""

from __future__ import annotations

from clusterwright.deploy.targets.monitoring.alert import Alert
from clusterwright.deploy.targets.monitoring.figures import table

__all__ = ["GPU_ALERTS", "HOST_ALERTS", "xids"]


def xids(severity: str) -> str:
    """XID codes of a severity, as a regular expression."""
    return "|".join(row["xid"] for row in table("xid.csv") if row["severity"] == severity)


def _xid(severity: str) -> dict[str, str]:
    seen = f'max_over_time(DCGM_EXP_XID_ERRORS_COUNT{{xid=~"{xids(severity)}"}}[5m])'
    return {"nvidia": f"max by (node, rack, group, gpu, UUID, xid) ({seen}) > 0"}


_GPU = "by (node, rack, group, gpu, UUID)"
_WHERE = "{{ $labels.node }} GPU {{ $labels.gpu }}"
_XID_SOURCE = "NVIDIA's XID catalogue, data/xid.csv; counted in a window, since the gauge of the last XID sticks"
_DCGM = "limit of DCGM's own health check"

GPU_ALERTS = (
    Alert(
        "GpuFatalXid",
        "critical",
        "hardware",
        _xid("critical"),
        "0s",
        f"{_WHERE}: fatal XID {{{{ $labels.xid }}}}",
        _XID_SOURCE,
        "Drain the node, let the job restart from its checkpoint on a spare, reset the GPU; reboot if the reset fails.",
        "node",
    ),
    Alert(
        "GpuXidToInvestigate",
        "warning",
        "hardware",
        _xid("warning"),
        "0s",
        f"{_WHERE}: XID {{{{ $labels.xid }}}}, drain if it repeats",
        _XID_SOURCE,
        "Look the code up; drain when it comes again within a day or when its details say fatal.",
        "node",
    ),
    Alert(
        "GpuJobXid",
        "info",
        "platform",
        _xid("info"),
        "0s",
        f"{_WHERE}: XID {{{{ $labels.xid }}}}, most often the job's own fault",
        _XID_SOURCE,
        "Nothing at the node. The same code all over a job is the job; on one node under several jobs, the node.",
        "node",
    ),
    Alert(
        "GpuUncorrectableMemoryErrors",
        "critical",
        "hardware",
        {
            "nvidia": f"sum {_GPU} (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[10m])) > 0",
            "amd": "sum by (node, rack, group, gpu) (delta(gpu_ecc_uncorrect_total[10m])) > 0",
        },
        "0s",
        "{{ $labels.node }}: uncorrectable memory errors on a GPU",
        "one is too many: data of the job is lost",
        "Drain the node, reset the GPU so that the row is remapped; replace it when the remap fails.",
        "node",
    ),
    Alert(
        "GpuRowRemapFailed",
        "critical",
        "hardware",
        {"nvidia": f"max {_GPU} (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0"},
        "0s",
        f"{_WHERE}: a memory row cannot be remapped",
        "NVIDIA's row remapping: a failed remap is the criterion for replacement",
        "Drain the node and replace the GPU.",
        "node",
    ),
    Alert(
        "GpuRowsRemapped",
        "warning",
        "hardware",
        {"nvidia": f"sum {_GPU} (increase(DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS[1d])) > 0"},
        "0s",
        f"{_WHERE}: a memory row was remapped",
        "NVIDIA's row remapping: it takes effect at the next reset",
        "Let the job end, then reset the GPU.",
        "node",
    ),
    Alert(
        "GpuNvlinkErrors",
        "warning",
        "hardware",
        {
            "nvidia": f"sum {_GPU} (increase(DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL[1h])) >= 1 "
            f"or sum {_GPU} (rate(DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL[5m])) > 100"
        },
        "0s",
        f"{_WHERE}: NVLink recovers or sees checksum errors",
        f"{_DCGM}: one recovery, or 100 checksum errors a second",
        "Run the NVLink part of the diagnostics; reseat or replace the baseboard when it fails.",
        "node",
    ),
    Alert(
        "GpuPcieReplays",
        "warning",
        "hardware",
        {"nvidia": f"sum {_GPU} (rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER[5m])) * 60 > 8"},
        "5m",
        f"{_WHERE}: {{{{ $value }}}} PCIe replays a minute",
        f"{_DCGM}: 8 a minute",
        "Compare host-to-device bandwidth with its neighbours; reseat the riser or the card.",
        "node",
    ),
    Alert(
        "GpuThermalThrottling",
        "warning",
        "facility",
        {"nvidia": f"max {_GPU} (rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m])) / 1e9 > 0.05"},
        "10m",
        f"{_WHERE} is held back by heat",
        "one slow GPU slows its whole job: a twentieth of the time is what stragglers cost otherwise",
        "Look at inlet temperature, pump and fans of the rack; several nodes of a rack point to cooling.",
        "node",
    ),
    Alert(
        "GpuPowerThrottling",
        "info",
        "facility",
        {"nvidia": "node:gpu_power_throttled:ratio > 0.5"},
        "30m",
        "{{ $labels.node }}: GPUs are held back by their power limit",
        "half of the time; short spells are normal under full load",
        "Check that the power limit is the card's default and both feeds carry load.",
        "node",
    ),
    Alert(
        "GpuMissing",
        "critical",
        "hardware",
        {"nvidia": "@gpus_of_groups@", "amd": "@gpus_of_groups@"},
        "5m",
        "{{ $labels.node }} shows {{ $value }} GPUs, fewer than it has",
        "GPUs of a node in the design",
        "Drain the node; look for XID 79 (fallen off the bus), then reboot.",
        "node",
    ),
)

HOST_ALERTS = (
    Alert(
        "NodeDown",
        "warning",
        "hardware",
        'max by (node, rack, group) (up{job="node-exporter"}) == 0',
        "3m",
        "{{ $labels.node }} does not answer",
        "six scrapes missed; a single node is what spares are for",
        "Look at the console over the BMC. The job restarts on a spare by itself.",
        "node",
    ),
    Alert(
        "RackDown",
        "critical",
        "facility",
        'count by (rack) (up{job="node-exporter"} == 0) == count by (rack) (up{job="node-exporter"}) > 1',
        "2m",
        "every server of rack {{ $labels.rack }} is gone",
        "all servers of a rack; power, cooling or its management switch. It silences the alerts of the servers in it",
        "Look at the rack's power feeds and its management switch.",
        "node",
    ),
    Alert(
        "GpuExporterDown",
        "warning",
        "platform",
        {
            "nvidia": 'max by (node, rack, group) (up{job="dcgm-exporter"}) == 0',
            "amd": 'max by (node, rack, group) (up{job="amd-exporter"}) == 0',
        },
        "5m",
        "{{ $labels.node }} gives no GPU metrics",
        "ten scrapes missed: its GPUs are not watched",
        "Restart the exporter; when it hangs, the driver often does, too.",
        "node",
    ),
    Alert(
        "NodeMemoryErrors",
        "critical",
        "hardware",
        "sum by (node, rack, group) (increase(node_edac_uncorrectable_errors_total[1h])) > 0",
        "0s",
        "{{ $labels.node }}: uncorrectable errors in main memory",
        "one is too many",
        "Drain the node and replace the memory module that the event log names.",
        "node",
    ),
    Alert(
        "NodeLinkDown",
        "critical",
        "fabric",
        {"rdma": "max by (node, rack, group, device, port) (node_infiniband_state_id) != 4"},
        "5m",
        "{{ $labels.node }} port {{ $labels.device }} is not active",
        "4 is ACTIVE; one rail down slows every job on the node. Disable ports that are not cabled",
        "Compare both ends with the port map; clean or replace the transceiver.",
        "node",
    ),
    Alert(
        "NodeLinkFlapping",
        "warning",
        "fabric",
        {"rdma": "sum by (node, rack, group, device) (increase(node_infiniband_link_downed_total[1h])) >= 2"},
        "0s",
        "{{ $labels.node }} port {{ $labels.device }} went down {{ $value }} times within an hour",
        "once may be a restart of its peer, twice is a flap",
        "Clean or replace the transceiver; drain the node if it goes on.",
        "node",
    ),
    Alert(
        "NodeDiskFull",
        "warning",
        "platform",
        'min by (node, rack, group, mountpoint) (node_filesystem_avail_bytes{fstype=~"ext4|xfs"} '
        '/ node_filesystem_size_bytes{fstype=~"ext4|xfs"}) < 0.1',
        "15m",
        "{{ $labels.node }}: {{ $labels.mountpoint }} is nearly full",
        "a tenth left, as file systems slow down below it",
        "Clear old job folders; the epilog should have.",
        "node",
    ),
    Alert(
        "NodeHardwareSensor",
        "warning",
        "hardware",
        "max by (node, rack, group, name, type) (ipmi_sensor_state) == 2",
        "5m",
        "{{ $labels.node }}: sensor {{ $labels.name }} is critical",
        "the maker's own limits in the management controller",
        "Replace the fan, supply or module that the sensor names.",
        "node",
    ),
    Alert(
        "RackPowerHigh",
        "critical",
        "facility",
        "sum by (rack) (node:power:watts) > @rack_power_w@",
        "5m",
        "rack {{ $labels.rack }} draws {{ $value }} W",
        "power of a rack that the site allows, or that the design needs at most",
        "Cap the GPUs of the rack before a breaker does; look for a failed feed.",
        "node",
    ),
)
