"""What Prometheus scrapes: jobs, their targets in files, how they are shared out, and the server's configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.deploy.inventory import Host, Switch
from clusterwright.deploy.targets.monitoring.figures import Place
from clusterwright.deploy.targets.monitoring.rules import federated

__all__ = ["JOBS", "Job", "jobs", "prometheus", "service_flags", "targets_text"]

Group = tuple[str, Mapping[str, str]]
"""A target and its labels."""
RETENTION_DAYS = 90
_DISK_SHARE = 0.8
_EXPORTERS = ("Slurm exporter", "kube-state-metrics")
"""Components whose host also runs the exporters of storage and cost, which watch nothing on their own host."""
_MANY_CONTROLLERS = 1000


@dataclass(frozen=True)
class Job:
    """A scrape job.

    Attributes:
        name: of the job and of its file of targets.
        port: key of the table of ports.
        interval_s: between scrapes; none is above two minutes, so that a missed scrape does not end a series (5 min).
        shared: the nodes are shared out over the pairs by rack; otherwise only the first pair scrapes it.
        targets: hosts, switches or controllers.
        needs: a trait without which there is no such job.
        rest: keys of the scrape configuration that only this job has.
    """

    name: str
    port: str
    interval_s: int
    targets: Callable[[Place], Iterable[Group]]
    shared: bool = False
    needs: str = ""
    rest: Mapping[str, Any] | None = None


def _address(place: Place, host: Host, port: str, network: str = "management") -> str:
    return f"{place.inventory.address(host, network)}:{place.inventory.ports[port]}"


def _labels(host: Host) -> dict[str, str]:
    return {"node": host.name, "rack": host.rack, "group": host.group}


def _computing(port: str) -> Callable[[Place], Iterable[Group]]:
    return lambda place: (
        (_address(place, host, port), _labels(host)) for host in place.inventory.compute(place.site) if host.gpus
    )


def _every(port: str) -> Callable[[Place], Iterable[Group]]:
    return lambda place: ((_address(place, host, port), _labels(host)) for host in place.inventory.at(place.site))


def _running(port: str, *components: str) -> Callable[[Place], Iterable[Group]]:
    def made(place: Place) -> Iterable[Group]:
        hosts = next((found for one in components if (found := place.hosts(one))), [])
        return ((_address(place, host, port), _labels(host)) for host in hosts)

    return made


def _controllers(place: Place) -> Iterable[Group]:
    return ((place.inventory.address(host, "bmc"), _labels(host)) for host in place.inventory.at(place.site))


def _switches(place: Place) -> Iterable[Group]:
    block = place.site.networks["switches"]
    here = (one for one in place.inventory.switches if one.site == place.site.name)
    return ((block.address(one.number), _switch(one)) for one in here if one.network == "compute")


def _switch(one: Switch) -> dict[str, str]:
    return {"switch": one.name, "tier": one.tier, "rack": one.rack}


def _drop(*labels: str) -> dict[str, str]:
    return {"action": "labeldrop", "regex": "|".join(labels)}


def _rename(old: str, new: str) -> list[dict[str, Any]]:
    return [{"source_labels": [old], "regex": "(.+)", "target_label": new}, _drop(old)]


_GPU_DROPS = {
    # Which job a GPU works for comes from a join with the scheduler's exporter: as labels here it would start every
    # series of a node anew with each job.
    "metric_relabel_configs": [
        _drop("Hostname", "modelName", "pci_bus_id", "device", "pod", "namespace", "container", "hpc_job", "DCGM_FI_.*")
    ]
}
_AMD_DROPS = {
    "metric_relabel_configs": [
        *_rename("gpu_id", "gpu"),
        _drop("hostname", "card_.*", "driver_version", "pod", "namespace", "container", "job_.*", "cluster_name"),
    ]
}
_KUEUE = {
    "scheme": "https",
    "authorization": {"credentials_file": "secrets/kueue-metrics.token"},
    "tls_config": {"ca_file": "secrets/kueue-metrics-ca.crt"},
    "metric_relabel_configs": _rename("cluster_queue", "tenant"),
}
_SLURM = {"metric_relabel_configs": [*_rename("node_name", "node"), *_rename("account", "tenant")]}

JOBS: tuple[Job, ...] = (
    Job("dcgm-exporter", "dcgm-exporter", 30, _computing("dcgm-exporter"), True, "nvidia", _GPU_DROPS),
    Job("amd-exporter", "dcgm-exporter", 30, _computing("dcgm-exporter"), True, "amd", _AMD_DROPS),
    Job("node-exporter", "node-exporter", 30, _every("node-exporter"), True),
    Job("bmc-exporter", "bmc-exporter", 60, _controllers, True),
    Job("slurm-exporter", "slurm-exporter", 30, _running("slurm-exporter", "Slurm exporter"), False, "slurm", _SLURM),
    Job(
        "kube-state-metrics",
        "kube-state-metrics",
        30,
        _running("kube-state-metrics", "kube-state-metrics"),
        False,
        "kubernetes",
    ),
    Job("kueue", "kueue-metrics", 30, _running("kueue-metrics", "Kueue"), False, "kubernetes", _KUEUE),
    Job("fabric-exporter", "fabric-exporter", 60, _running("fabric-exporter", "fabric exporter"), False, "infiniband"),
    Job("switch-exporter", "fabric-exporter", 60, _switches, False, "snmp"),
    Job("storage-exporter", "storage-exporter", 60, _running("storage-exporter", *_EXPORTERS), False, "parallel"),
    Job("cost-exporter", "cost-exporter", 60, _running("cost-exporter", *_EXPORTERS)),
    Job("prometheus", "prometheus", 30, _running("prometheus", "Prometheus")),
    Job("alertmanager", "alertmanager", 30, _running("alertmanager", "Alertmanager")),
)
"""Every scrape job, the largest first."""


def jobs(place: Place) -> list[Job]:
    """Jobs that a site has."""
    return [job for job in JOBS if not job.needs or job.needs in place.traits]


def targets_text(groups: Iterable[Group]) -> str:
    """Targets as file_sd reads them (JSON), a line each, so that one more node is one more line."""
    lines = (json.dumps({"targets": [target], "labels": dict(labels)}) for target, labels in groups)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def prometheus(place: Place, number: int) -> dict[str, Any]:
    """Configuration of one server.

    Args:
        place: the site.
        number: of the server among the site's.
    """
    shard = min(number // 2, place.pairs - 1)
    first = shard == 0
    levels = ("node", "site") if first else ("node",)
    return {
        "global": {
            "scrape_interval": "30s",
            "scrape_timeout": "25s",
            "evaluation_interval": "30s",
            "external_labels": {
                "cluster": place.inventory.name,
                "site": place.site.name,
                "shard": str(shard),
                "replica": str(number),
            },
        },
        "rule_files": [f"rules/{level}-{kind}.yml" for level in levels for kind in ("records", "alerts")],
        "alerting": {
            # Both servers of a pair send the same alert; without their own labels Alertmanager takes it for one.
            "alert_relabel_configs": [_drop("replica", "shard")],
            "alertmanagers": [{"file_sd_configs": [{"files": ["targets/alertmanager.json"]}]}],
        },
        "scrape_configs": [
            *(_scrape(place, job, shard) for job in jobs(place) if job.shared or first),
            *([_federate(place, number)] if first and place.pairs > 1 else []),
        ],
        "remote_write": [
            {
                # Months of history for accounting and planning, out of recorded series only: raw ones stay here.
                "name": "long-term",
                "url": f"https://metrics.{place.inventory.settings.domain}/api/v1/write",
                "authorization": {"credentials_file": "secrets/remote-write.token"},
                "write_relabel_configs": [
                    {
                        "source_labels": ["__name__"],
                        "regex": "(cluster|tenant|size|site|rack|node|storage):.+|ALERTS",
                        "action": "keep",
                    }
                ],
            }
        ],
    }


def _scrape(place: Place, job: Job, shard: int) -> dict[str, Any]:
    interval = job.interval_s
    if job.name == "bmc-exporter" and len(place.inventory.hosts) > _MANY_CONTROLLERS:
        interval = 120  # one exporter asks every controller, and a controller takes a second
    made: dict[str, Any] = {
        "job_name": job.name,
        "scrape_interval": f"{interval}s",
        "scrape_timeout": f"{interval - 5}s",
        "file_sd_configs": [{"files": [f"targets/{job.name}.json"]}],
    }
    relabel: list[dict[str, Any]] = []
    if job.shared and place.pairs > 1:
        relabel += [
            # By rack, so that what concerns a node or a rack is seen by one pair.
            {"source_labels": ["rack"], "modulus": place.pairs, "target_label": "__tmp_shard", "action": "hashmod"},
            {"source_labels": ["__tmp_shard"], "regex": str(shard), "action": "keep"},
        ]
    if job.name == "bmc-exporter":
        made |= {"metrics_path": "/ipmi", "params": {"module": ["default"]}}
        relabel += _through(place, "BMC and PDU exporter", job.port)
    elif job.name == "switch-exporter":
        made |= {"metrics_path": "/snmp", "params": {"module": ["if_mib"], "auth": ["clusterwright"]}}
        relabel += _through(place, "fabric exporter", job.port)
    relabel.append(
        {"source_labels": ["switch" if job.name == "switch-exporter" else "node"], "target_label": "instance"}
    )
    if not job.shared and job.name != "switch-exporter":
        # These speak of other machines: the labels of the host that they run on would hide their own.
        relabel.append(_drop("node", "rack", "group"))
    return {**made, "relabel_configs": relabel, **(job.rest or {})}


def _through(place: Place, component: str, port: str) -> list[dict[str, Any]]:
    """Ask an exporter about the target, in place of the target."""
    hosts = place.hosts(component)
    asked = _address(place, hosts[0], port) if hosts else f"127.0.0.1:{place.inventory.ports[port]}"
    return [
        {"source_labels": ["__address__"], "target_label": "__param_target"},
        {"target_label": "__address__", "replacement": asked},
    ]


def _federate(place: Place, number: int) -> dict[str, Any]:
    """What the other pairs recorded of their nodes; their own labels go, so that the series look like the first's."""
    others = [name for i, name in enumerate(place.servers) if i % 2 == number % 2 and 0 < i // 2 < place.pairs]
    hosts = {host.name: host for host in place.inventory.hosts if host.name in set(others)}
    return {
        "job_name": "federate",
        "scrape_interval": "30s",
        "honor_labels": True,
        "metrics_path": "/federate",
        "params": {"match[]": [f'{{__name__=~"{"|".join(federated(place))}"}}']},
        "static_configs": [{"targets": [_address(place, hosts[name], "prometheus") for name in others]}],
        "metric_relabel_configs": [_drop("cluster", "site", "shard", "replica", "job", "instance")],
    }


def service_flags(place: Place, host: Host) -> Sequence[str]:
    """Flags of a server: what Prometheus takes on its command line only."""
    disk = place.inventory.group(host.group).nvme_bytes
    listen = _address(place, host, "prometheus")
    made = [
        f"--config.file=/etc/prometheus/{host.name}.yml",
        f"--web.listen-address={listen}",
        f"--web.external-url=http://{host.name}.{place.site.domain}:{place.inventory.ports['prometheus']}/",
        "--storage.tsdb.path=/var/lib/prometheus/metrics2",
        f"--storage.tsdb.retention.time={RETENTION_DAYS}d",
    ]
    if disk:
        made.append(f"--storage.tsdb.retention.size={int(disk * _DISK_SHARE / 2**30)}GB")
    return made
