"""The rendered monitoring on this machine: Prometheus, Alertmanager, the exporter of Slurm, and one for all nodes.

Rules, routes and queries are those of the bundle. What is changed: addresses; receivers, which become a file of the
lab; and every interval and waiting time, which shrink by one factor: minutes at a site are seconds here.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from clusterwright.deploy import Program
from clusterwright.deploy import SlurmFiles as Read
from clusterwright.lab.place import Lab
from clusterwright.lab.processes import start, wait_for

__all__ = ["PROGRAMS", "configure_monitoring", "start_exporter", "start_monitoring"]

PROMETHEUS = Program("prometheus", "apt install prometheus")
ALERTMANAGER = Program("prometheus-alertmanager", "apt install prometheus-alertmanager")
PROGRAMS = (PROMETHEUS, ALERTMANAGER)
_RENDERED_S = 30.0
"""Interval that the rendered files scrape and evaluate at."""
_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def start_monitoring(lab: Lab, read: Read, every_s: float, ports: Mapping[str, int]) -> None:
    """Start all of it; Prometheus answers when this returns.

    Args:
        lab: that is being started.
        read: the site's files of Slurm.
        every_s: interval of scraping and of rules.
        ports: of ``prometheus``, ``alertmanager``, ``exporter``, ``slurm-exporter``.

    Raises:
        WorldError: a program does not start.
    """
    folder = lab.root / "monitoring"
    (folder / "rules").mkdir(parents=True)
    token = lab.root / "token"
    token.touch(0o600)
    token.write_text(secrets.token_urlsafe(32), "utf-8")
    start_exporter(lab, read, every_s, ports)
    configure_monitoring(lab, read, every_s, ports)
    start(lab, "slurm-exporter", [sys.executable, str(folder / "slurm_exporter.py")])
    words = [
        *(
            "prometheus-alertmanager",
            f"--config.file={folder}/alertmanager.yml",
            f"--storage.path={folder}/alertmanager",
        ),
        *("--cluster.listen-address=", f"--web.listen-address=127.0.0.1:{ports['alertmanager']}", "--log.level=warn"),
    ]
    start(lab, "alertmanager", words)
    words = [
        *("prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"),
        *(f"--web.listen-address=127.0.0.1:{ports['prometheus']}", "--log.level=warn"),
    ]
    started = start(lab, "prometheus", words)
    wait_for(lab, "prometheus", started, lambda: _answers(ports["prometheus"]), 30)


def configure_monitoring(lab: Lab, read: Read, every_s: float, ports: Mapping[str, int]) -> bool:
    """Write the files of Prometheus, Alertmanager and Slurm's exporter; whether any differs from what was there."""
    folder, base = lab.root / "monitoring", lab.bundle / "monitoring" / read.site
    wanted = {
        "prometheus.yml": _yaml(_prometheus(lab, read, base, every_s, ports)),
        "alertmanager.yml": _yaml(_alertmanager(lab, base, every_s, ports)),
        "slurm_exporter.py": _slurm_exporter(base, every_s, ports),
    }
    for path in sorted((base / "prometheus" / "rules").glob("*.yml")):
        wanted[f"rules/{path.name}"] = _yaml(_rules(yaml.safe_load(path.read_text("utf-8")), every_s))
    changed = False
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed = True
    return changed


def _yaml(data: Any) -> str:
    return str(yaml.safe_dump(data, sort_keys=False))


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


# --- exporters ---


def start_exporter(lab: Lab, read: Read, every_s: float, ports: Mapping[str, int]) -> None:
    """The exporters of all nodes."""
    group = next(g for g in read.folder.inventory["groups"] if g["gpus"])
    wanted = {
        "port": ports["exporter"],
        "every_s": min(every_s, 2.0),
        "gpus": dict(read.gpus),
        "gpu_power_w": float(group.get("gpu_power_w") or 700.0),
        "nics": int(group.get("nics") or 8),
    }
    (lab.root / "exporter.json").write_text(json.dumps(wanted), "utf-8")
    here = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    start(lab, "exporter", [sys.executable, "-m", "clusterwright.lab.exporter", str(lab.root)], here)


def _slurm_exporter(base: Path, every_s: float, ports: Mapping[str, int]) -> str:
    """The rendered program, on a port of loopback."""
    text = (base / "slurm-exporter" / "slurm_exporter.py").read_text("utf-8")
    text = re.sub(r"^PORT = \d+$", f"PORT = {ports['slurm-exporter']}", text, flags=re.MULTILINE)
    text = re.sub(r"^EVERY_S = \d+$", f"EVERY_S = {every_s:g}", text, flags=re.MULTILINE)
    return text.replace('HTTPServer(("", PORT)', 'HTTPServer(("127.0.0.1", PORT)')


# --- Prometheus ---


def _prometheus(lab: Lab, read: Read, base: Path, every_s: float, ports: Mapping[str, int]) -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load(min((base / "prometheus").glob("*.yml")).read_text("utf-8"))
    interval = f"{round(every_s * 1000)}ms"
    held["global"] |= {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval}
    held.pop("remote_write", None)
    told = {"static_configs": [{"targets": [f"127.0.0.1:{ports['alertmanager']}"]}]}
    held["alerting"]["alertmanagers"] = [told]
    for job in held["scrape_configs"]:
        name = job["job_name"]
        targets = json.loads((base / "prometheus" / "targets" / f"{name}.json").read_text("utf-8"))
        job |= {"scrape_interval": interval, "scrape_timeout": interval}
        job.pop("file_sd_configs", None)
        job.pop("params", None)
        job.pop("metrics_path", None)
        job["relabel_configs"] = [
            rule
            for rule in job.get("relabel_configs", [])
            if rule.get("target_label") not in ("__address__", "__param_target")
        ]
        job["static_configs"] = list(_targets(name, targets, ports, set(read.nodes)))
        if name not in ("prometheus", "alertmanager", "slurm-exporter"):
            job["authorization"] = {"credentials_file": str(lab.root / "token")}
    return held


def _targets(name: str, targets: list[Any], ports: Mapping[str, int], nodes: set[str]) -> Iterator[dict[str, Any]]:
    port = ports.get(name, ports["exporter"])
    for one in targets:
        labels = dict(one["labels"])
        if name in ports:
            yield {"targets": [f"127.0.0.1:{port}"], "labels": labels}
            return
        where = labels.get("node", "site")
        if where in nodes or name in ("fabric-exporter", "storage-exporter", "cost-exporter"):
            labels["__metrics_path__"] = f"/{name}/{where}"
            yield {"targets": [f"127.0.0.1:{port}"], "labels": labels}


def _rules(held: dict[str, Any], every_s: float) -> dict[str, Any]:
    for group in held["groups"]:
        group["interval"] = f"{round(every_s * 1000)}ms"
        for rule in group["rules"]:
            for key in ("for", "keep_firing_for"):
                if key in rule:
                    rule[key] = _shorter(rule[key], every_s)
    return held


def _shorter(text: str, every_s: float) -> str:
    seconds = sum(int(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))
    return f"{round(seconds * every_s / _RENDERED_S * 1000)}ms"


def _alertmanager(lab: Lab, base: Path, every_s: float, ports: Mapping[str, int]) -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load((base / "alertmanager" / "alertmanager.yml").read_text("utf-8"))
    held["global"] = {"resolve_timeout": _shorter(str(held["global"]["resolve_timeout"]), every_s)}
    web = {"authorization": {"credentials_file": str(lab.root / "token")}}
    held["receivers"] = [
        {
            "name": one["name"],
            "webhook_configs": [
                {"url": f"http://127.0.0.1:{ports['exporter']}/alerts/{one['name']}", "http_config": web}
            ],
        }
        for one in held["receivers"]
    ]
    held.pop("templates", None)
    for route in _routes(held["route"]):
        for key in ("group_wait", "group_interval", "repeat_interval"):
            if key in route:
                route[key] = _shorter(route[key], every_s)
    return held


def _routes(route: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield route
    for one in route.get("routes", []):
        yield from _routes(one)
