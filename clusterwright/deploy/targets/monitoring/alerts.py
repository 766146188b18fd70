"""The table of alerts: those of the whole site here, those of nodes beside."""

from __future__ import annotations

from clusterwright.deploy.targets.monitoring.alert import Alert
from clusterwright.deploy.targets.monitoring.alerts_nodes import GPU_ALERTS, HOST_ALERTS
from clusterwright.traces import PRODUCT, metric, number

__all__ = ["ALERTS"]

_SWITCH = "* on (guid) group_left (switch) infiniband_switch_info"
"""Switches by name, not by their identifiers."""
_FABRIC = (
    Alert(
        "FabricLinkDown",
        "critical",
        "fabric",
        {
            "infiniband": "(sum by (guid, port) (increase(infiniband_switch_port_link_downed_total[10m])) > 0 "
            f"unless on (guid, port) (rate(infiniband_switch_port_transmit_data_bytes_total[5m]) > 0)) {_SWITCH}",
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
        f"cluster:node_utilisation:ratio < {number(metric('node_utilisation').low or 0)} "
        "and sum(cluster:jobs_pending:count) > 0",
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
        'max by (job, instance) (up{job!~"(node|dcgm|amd|bmc|switch)-exporter"}) == 0',
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
    *GPU_ALERTS,
    *HOST_ALERTS,
    *_FABRIC,
    *_STORAGE,
    *_TARGETS,
    *_SUPPLY,
    *_MONITORING,
)
"""Every alert, in the order of its file."""
