"""Ports that services listen on: one table that every file reads."""

from __future__ import annotations

__all__ = ["LISTENERS", "PORTS"]

PORTS = {
    "ssh": 22,
    "slurmctld": 6817,
    "slurmd": 6818,
    "slurmdbd": 6819,
    "slurmrestd": 6820,
    "mariadb": 3306,
    "slurm-exporter": 8080,
    "kubernetes-api": 6443,
    "etcd": 2379,
    "kubelet": 10250,
    "kube-state-metrics": 8081,
    "kueue-metrics": 8443,
    "prometheus": 9090,
    "alertmanager": 9093,
    "grafana": 3000,
    "loki": 3100,
    "node-exporter": 9100,
    "dcgm-exporter": 9400,
    "fabric-exporter": 9315,
    "bmc-exporter": 9290,
    "storage-exporter": 9169,
    "cost-exporter": 9444,
    "ldap": 636,
    "vault": 8200,
    "registry": 443,
    "ntp": 123,
    "dns": 53,
}
"""Port of each listener, TCP but for dns and ntp; the projects' own defaults."""

LISTENERS = {
    "slurmctld": ("slurmctld",),
    "slurmdbd and MariaDB": ("slurmdbd", "mariadb"),
    "slurmrestd": ("slurmrestd",),
    "slurmd": ("slurmd",),
    "Slurm exporter": ("slurm-exporter",),
    "control plane (API server, etcd)": ("kubernetes-api", "etcd"),
    "kubelet and container runtime": ("kubelet",),
    "kube-state-metrics": ("kube-state-metrics",),
    "Kueue": ("kueue-metrics",),
    "Prometheus": ("prometheus",),
    "Alertmanager": ("alertmanager",),
    "Grafana": ("grafana",),
    "Loki or OpenSearch": ("loki",),
    "fabric exporter": ("fabric-exporter",),
    "BMC and PDU exporter": ("bmc-exporter",),
    "dcgm-exporter": ("dcgm-exporter",),
    "node exporter and log shipper": ("node-exporter",),
    "identity provider (LDAP, OIDC)": ("ldap",),
    "secrets store": ("vault",),
    "container registry and CI runner": ("registry",),
    "DNS, DHCP, NTP": ("dns", "ntp"),
}
"""Listeners of each component of the table ``services``."""
