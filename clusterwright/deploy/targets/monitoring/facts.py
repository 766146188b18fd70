"""What the files of monitoring say, read back from them: addresses of nodes, ports of services."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.bundle import Fact, Folder
from clusterwright.deploy.text import load_yaml

__all__ = ["PORTS_OF", "THROUGH", "facts", "targets_of"]

PORTS_OF = {"amd-exporter": "dcgm-exporter", "kueue": "kueue-metrics"}
"""Jobs whose port has another name in the table of ports."""
THROUGH = {"bmc-exporter", "switch-exporter"}
"""Jobs whose targets are asked through an exporter."""
_ADDRESSED = {"dcgm-exporter", "amd-exporter", "node-exporter"}
_LISTEN = re.compile(r"--web\.listen-address=\S*:(\d+)|^DCGM_EXPORTER_LISTEN=\S*:(\d+)$|^PORT = (\d+)$", re.MULTILINE)
_QUOTA = re.compile(r'^clusterwright_tenant_quota_gpus\{tenant="([^"]*)"\} (\d+)$', re.MULTILINE)
_LISTENERS = {
    "*/prometheus/*.default": "prometheus",
    "*/alertmanager/*.default": "alertmanager",
    "*/dcgm-exporter/*.env": "dcgm-exporter",
    "*/slurm-exporter/*.py": "slurm-exporter",
    "*/cost-exporter/*.prom": "cost-exporter",
}


def facts(folder: Folder) -> Iterator[Fact]:
    """Facts of every site."""
    for path in folder.glob("monitoring/*/prometheus/targets/*.json"):
        yield from _targets(folder, path)
    for pattern, service in _LISTENERS.items():
        for path in folder.glob(f"monitoring/{pattern}"):
            for found in _LISTEN.finditer(folder.read(path)):
                yield Fact("service.port", service, int(next(filter(None, found.groups()))), path)
    for path in folder.glob("monitoring/*/prometheus/*.yml"):
        yield from _asked(folder, path)
    for path in folder.glob("monitoring/*/cost-exporter/*.prom"):
        for tenant, quota in _QUOTA.findall(folder.read(path)):
            yield Fact("tenant.quota", tenant, int(quota), path)


def _targets(folder: Folder, path: str) -> Iterator[Fact]:
    job = path.rpartition("/")[2].removesuffix(".json")
    ports: set[str] = set()
    for target, labels in targets_of(folder.read(path)):
        address, _, port = target.rpartition(":")
        if job in THROUGH:
            continue
        ports.add(port)
        if job in _ADDRESSED:
            yield Fact("node.address", labels.get("node", ""), address, path)
            yield Fact("node.rack", labels.get("node", ""), labels.get("rack", ""), path)
            yield Fact("node.group", labels.get("node", ""), labels.get("group", ""), path)
    for port in sorted(ports):
        yield Fact("service.port", PORTS_OF.get(job, job), int(port) if port.isdigit() else port, path)


def targets_of(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Targets of a file of targets with their labels; nothing where it is no such file (a check says so)."""
    try:
        groups = json.loads(text)
    except (ValueError, RecursionError):
        return
    for group in groups if isinstance(groups, list) else []:
        if isinstance(group, dict) and isinstance(group.get("labels"), dict) and isinstance(group.get("targets"), list):
            for target in group["targets"]:
                yield str(target), {str(key): str(value) for key, value in group["labels"].items()}


def _asked(folder: Folder, path: str) -> Iterator[Fact]:
    """Exporters that are asked about other machines."""
    for job in _items(_yaml(folder, path), "scrape_configs"):
        for rule in _items(job, "relabel_configs"):
            if rule.get("target_label") == "__address__":
                port = str(rule.get("replacement", "")).rpartition(":")[2]
                name = "bmc-exporter" if job.get("job_name") == "bmc-exporter" else "fabric-exporter"
                if port.isdigit():
                    yield Fact("service.port", name, int(port), path)


def _yaml(folder: Folder, path: str) -> Any:
    try:
        return load_yaml(folder.read(path))
    except Exception:  # any damage: a check says what
        return None


def _items(data: Any, key: str) -> list[dict[str, Any]]:
    found = data.get(key) if isinstance(data, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
