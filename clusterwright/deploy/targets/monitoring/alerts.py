"""The table of alerts: when, how bad, for whom, why at that value, and what to do first.

As in ``metrics.py`` queries are PromQL by traits, with ``@figure@`` from the design.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.deploy.targets.monitoring.metrics import PRODUCT, Level, metric, number

__all__ = ["ALERTS", "SEVERITIES", "TEAMS", "Alert", "xids"]

SEVERITIES = ("critical", "warning", "info")
"""``critical`` wakes somebody, ``warning`` is for the working day, ``info`` for the record."""
TEAMS = ("hardware", "fabric", "storage", "platform", "facility", "finance")
Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True)
class Alert:
    """One alert.

    Attributes:
        name: CamelCase, unique; the anchor of its entry in ``alerts.md``.
        query: PromQL, or trait -> PromQL.
        wait: how long the query must hold.
        summary: one line, with the labels of the series.
        source: where the threshold comes from.
        action: what to do first.
        level: ``node`` is evaluated by every shard, ``cluster`` once for the site.
        needs: a trait without which it makes no sense.
    """

    name: str
    severity: Severity
    team: str
    query: str | Mapping[str, str]
    wait: str
    summary: str
    source: str
    action: str
    level: Level = "cluster"
    needs: str = ""

    def text(self, traits: Collection[str]) -> str:
        """The query for a cluster with these traits; empty where it does not apply."""
        if self.needs and self.needs not in traits:
            return ""
        if isinstance(self.query, str):
            return self.query
        return next((query for trait, query in self.query.items() if trait in traits), "")


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

_GPUS = (
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
        "Nothing at the node. The same code on several nodes of one job is the job; on one node of several jobs, the node.",
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

_HOSTS = (
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

_SWITCH = "* on (guid) group_left (switch) infiniband_switch_info"
"""Switches by name, not by their identifiers."""
_FABRIC = (
    Alert(
        "FabricLinkDown",
        "critical",
        "fabric",
        {
            "infiniband": "(sum by (guid, port) (increase(infiniband_switch_port_link_downed_total[10m])) > 0 unless on (guid, port) "
            f"(rate(infiniband_switch_port_transmit_data_bytes_total[5m]) > 0)) {_SWITCH}",
            "snmp": "max by (switch, tier, rack, ifName) (ifOperStatus) != 1 "
            "and max by (switch, tier, rack, ifName) (ifAdminStatus) == 1",
        },
        "2m",
        "a fabric link is down: {{ $labels.switch }} port {{ $labels.port }}{{ $labels.ifName }}",
        "a link that went down and carries nothing since, or is enabled and not up",
        "Compare both ends with the port map; clean or replace the transceiver.",
    ),
    Alert(
        "FabricLinkFlapping",
        "warning",
        "fabric",
        {
            "infiniband": "(sum by (guid, port) (increase(infiniband_switch_port_link_downed_total[1h])) >= 2) "
            + _SWITCH,
            "snmp": "sum by (switch, tier, rack, ifName) (changes(ifOperStatus[1h])) >= 4",
        },
        "0s",
        "a fabric link flaps: {{ $labels.switch }} port {{ $labels.port }}{{ $labels.ifName }}",
        "each flap makes the routing settle anew and may stop every collective; two within an hour are no accident",
        "Take the link out of service until its transceiver or cable is replaced.",
    ),
    Alert(
        "FabricLinkErrors",
        "warning",
        "fabric",
        {
            "infiniband": "(sum by (guid, port) (increase(infiniband_switch_port_symbol_error_total[1h])) "
            f"> @symbol_errors_per_hour@) {_SWITCH}",
            "snmp": "sum by (switch, tier, rack, ifName) (increase(ifInErrors[1h])) > @symbol_errors_per_hour@",
        },
        "0s",
        "{{ $value }} errors an hour on {{ $labels.switch }} port {{ $labels.port }}{{ $labels.ifName }}",
        "bit error rate of 1e-12, the most that the InfiniBand specification allows, at the design's link bandwidth",
        "Clean the connector, then replace the transceiver, then the cable.",
    ),
    Alert(
        "FabricCongested",
        "warning",
        "fabric",
        {
            "infiniband": "(sum by (guid, port) (rate(infiniband_switch_port_transmit_discards_total[5m])) > 0) "
            + _SWITCH,
            "snmp": "sum by (switch, tier, rack, ifName) (rate(ifOutDiscards[5m])) > 0",
        },
        "10m",
        "packets are dropped at {{ $labels.switch }} port {{ $labels.port }}{{ $labels.ifName }}",
        "the fabric is meant to be lossless: steady drops are congestion or a wrong flow-control setting",
        "Look for a hot spine link (routing) or a missing priority flow control on the way.",
    ),
    Alert(
        "NetworkSaturated",
        "info",
        "fabric",
        "cluster:network_utilisation:ratio > 0.9",
        "1h",
        "the nodes' ports are {{ $value }} full",
        "nine tenths of the link bandwidth of the design",
        "The network holds the jobs back; see the bottleneck panel before buying GPUs.",
    ),
)

_STORAGE = (
    Alert(
        "StorageFillingUp",
        "warning",
        "storage",
        "storage:used:ratio > 0.85",
        "30m",
        "the parallel file system is {{ $value }} full",
        "the design fills such systems to 80 %; beyond it they slow down",
        "Expire old checkpoints, move cold data to the object store.",
        needs="parallel",
    ),
    Alert(
        "StorageFull",
        "critical",
        "storage",
        "storage:used:ratio > 0.95",
        "5m",
        "the parallel file system is {{ $value }} full; checkpoints will fail",
        "a twentieth left: about to stop every job",
        "Delete expired checkpoints now; stop jobs that write most.",
        needs="parallel",
    ),
    Alert(
        "StorageSaturated",
        "warning",
        "storage",
        dict.fromkeys(("lustre", "gpfs", "nfs"), "storage:bandwidth:ratio > 0.9"),
        "30m",
        "the parallel file system is at {{ $value }} of its bandwidth",
        "nine tenths of the design's read or write rate; short peaks are checkpoints",
        "Find the job that reads or writes most; stage its data on local NVMe.",
    ),
)

_TARGETS = (
    Alert(
        "GpuUtilisationLow",
        "info",
        "platform",
        f"cluster:gpu_utilisation:ratio < {number(metric('gpu_utilisation').low or 0)}",
        "6h",
        "allocated GPUs are busy {{ $value }} of the time",
        PRODUCT,
        "See the job dashboard for the jobs that idle; input pipeline and checkpoints are the usual reasons.",
    ),
    Alert(
        "NodeUtilisationLow",
        "info",
        "platform",
        f"cluster:node_utilisation:ratio < {number(metric('node_utilisation').low or 0)} and sum(cluster:jobs_pending:count) > 0",
        "6h",
        "{{ $value }} of the nodes are used while jobs wait",
        PRODUCT,
        "Quotas, fragmentation or drained nodes keep jobs waiting; see the queue dashboard.",
    ),
    Alert(
        "ScalingEfficiencyLow",
        "warning",
        "platform",
        {
            "nvidia": "cluster:scaling_efficiency:ratio < "
            f"{number(metric('scaling_efficiency').low or 0)} and cluster:utilisation:ratio > 0.9"
        },
        "2h",
        "scaling efficiency is {{ $value }}",
        PRODUCT,
        "Run the pairwise bandwidth test between the job's nodes; look for a slow GPU or link.",
        needs="training",
    ),
    Alert(
        "TrainingBelowPlan",
        "warning",
        "platform",
        {"nvidia": "cluster:mfu:ratio < @mfu_low@ and cluster:utilisation:ratio > 0.9"},
        "1h",
        "estimated MFU is {{ $value }}, below what the design predicts at least",
        "lower end of the predicted MFU of the longest planned run; estimated from tensor-core activity",
        "Compare the launch flags with the plan; then as for low scaling efficiency.",
        needs="training",
    ),
    Alert(
        "FailureRateHigh",
        "warning",
        "platform",
        f"cluster:failure_rate:ratio > {number(metric('failure_rate').high or 0)}",
        "1h",
        "{{ $value }} of the jobs of the last day failed",
        PRODUCT,
        "Split by state and tenant: NODE_FAIL is ours, FAILED is most often the job's.",
    ),
    Alert(
        "NodesFailMoreThanExpected",
        "warning",
        "hardware",
        "cluster:node_failures:per_day > @node_failures_per_day@",
        "1h",
        "{{ $value }} nodes failed within a day",
        "upper end of the design's expected failure rate times nodes, and three standard deviations of chance",
        "Look for a common cause: rack, firmware, driver, one job.",
    ),
    Alert(
        "SparesExhausted",
        "critical",
        "hardware",
        "count(node:gpus_allocated:count) - count(node:schedulable:bool) > @spares@",
        "15m",
        "{{ $value }} nodes are down or drained, more than there are spares",
        "spare nodes of the design: beyond them the planned job does not fit",
        "Bring repaired nodes back; shrink the planned job or ask for a swap.",
    ),
    Alert(
        "GpusWasted",
        "info",
        "platform",
        "node:gpus_wasted:count > 0",
        "1h",
        "{{ $value }} GPUs of {{ $labels.node }} are held by a job without a process on them",
        "an hour: no start-up takes so long",
        "Tell the job's owner; the queue dashboard names it.",
    ),
    Alert(
        "QueueStalled",
        "warning",
        "platform",
        {
            "slurm": "sum(cluster:jobs_pending:count) > 0 and sum(rate(slurm_job_wait_seconds_count[30m])) == 0 "
            "and sum(node:gpus_free:count) > 0.2 * sum(node:gpus:count)",
            "kubernetes": "sum(cluster:jobs_pending:count) > 0 and sum(rate(kueue_admitted_workloads_total[30m])) == 0 "
            "and sum(node:gpus_free:count) > 0.2 * sum(node:gpus:count)",
        },
        "30m",
        "{{ $value }} jobs wait, GPUs are free, and nothing starts",
        "a fifth of the GPUs free is more than the targets allow (node utilisation above 80 %)",
        "Look at the reasons of the first jobs in the queue: quota, fragmentation, a drained node, a reservation.",
    ),
)

_SUPPLY = (
    Alert(
        "SitePowerNearLimit",
        "warning",
        "facility",
        "site:power:ratio > 0.95",
        "10m",
        "the site draws {{ $value }} of its power limit",
        "a twentieth of margin to the power limit of the design",
        "Lower the power cap of preemptible jobs before the breaker decides.",
    ),
    Alert(
        "SitePowerOverLimit",
        "critical",
        "facility",
        "site:power:ratio > 1",
        "1m",
        "the site draws {{ $value }} times its power limit",
        "power limit of the design",
        "Cap GPU power at once, then drain what is preemptible.",
    ),
    Alert(
        "SitePowerAboveDesign",
        "info",
        "facility",
        "site:power:watts > @power_design_w@",
        "1h",
        "the site draws {{ $value }} W, more than the design needs at most",
        "upper end of the design's power at the meter",
        "Compare the racks with the design; the model or the meter is wrong.",
    ),
    Alert(
        "CostPerGpuHourHigh",
        "info",
        "finance",
        "cluster:cost:usd_per_allocated_gpu_hour > @gpu_hour_budget_usd@",
        "1d",
        "a used GPU-hour costs {{ $value }} USD",
        "upper end of the design's price of a used GPU-hour",
        "Utilisation is below what the price was worked out for; see wasted, stranded and fragmented GPUs.",
    ),
)

_MONITORING = (
    Alert(
        "TargetDown",
        "warning",
        "platform",
        'max by (job, instance) (up{job!~"node-exporter|dcgm-exporter|amd-exporter|bmc-exporter|switch-exporter"}) == 0',
        "5m",
        "{{ $labels.job }} at {{ $labels.instance }} does not answer",
        "ten scrapes missed: what it gives is not watched",
        "Restart the exporter or the service.",
    ),
    Alert(
        "BmcUnreachable",
        "info",
        "hardware",
        'max by (node, rack, group) (up{job="bmc-exporter"}) == 0',
        "30m",
        "{{ $labels.node }}: the management controller does not answer",
        "power and sensors of the node are not watched",
        "Reset the controller; it can be done with the node running.",
        "node",
    ),
    Alert(
        "PrometheusSeriesHigh",
        "warning",
        "platform",
        'max by (instance) (prometheus_tsdb_head_series{job="prometheus"}) > @held_series@',
        "1h",
        "{{ $labels.instance }} holds {{ $value }} series",
        "series that the design counts on one server; somebody added a label of high cardinality, or nodes",
        "Find the metric with the most series (/tsdb-status) and drop its label; or add a pair of servers.",
    ),
    Alert(
        "PrometheusRulesFail",
        "critical",
        "platform",
        "sum by (instance, rule_group) (increase(prometheus_rule_evaluation_failures_total[10m])) > 0",
        "10m",
        "{{ $labels.instance }}: rules of {{ $labels.rule_group }} cannot be evaluated; alerts may be missing",
        "none may fail",
        "The log of Prometheus names the rule; most often two series match where one is expected.",
    ),
    Alert(
        "PrometheusConfigBroken",
        "warning",
        "platform",
        "max by (instance) (prometheus_config_last_reload_successful) == 0",
        "10m",
        "{{ $labels.instance }} runs on its old configuration",
        "the last reload failed",
        "Run promtool check config there.",
    ),
    Alert(
        "RemoteWriteFails",
        "info",
        "platform",
        "sum by (instance) (rate(prometheus_remote_storage_samples_failed_total[15m])) > 0",
        "1h",
        "{{ $labels.instance }} cannot write to the long-term store",
        "an hour; Prometheus repeats what it can meanwhile",
        "Check the store and the credentials file.",
    ),
    Alert(
        "AlertmanagerFails",
        "critical",
        "platform",
        "sum by (instance, integration) (rate(alertmanager_notifications_failed_total[10m])) > 0",
        "10m",
        "{{ $labels.instance }} cannot notify by {{ $labels.integration }}",
        "none may fail: alerts do not reach people",
        "Check the receiver's credentials file and its address.",
    ),
)

ALERTS: tuple[Alert, ...] = (
    *_GPUS,
    *_HOSTS,
    *_FABRIC,
    *_STORAGE,
    *_TARGETS,
    *_SUPPLY,
    *_MONITORING,
)
"""Every alert, in the order of its file."""
