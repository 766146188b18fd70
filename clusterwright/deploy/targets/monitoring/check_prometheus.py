"""Our own reading of Prometheus's configuration, targets and flags."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.targets.monitoring.check_rules import DURATION
from clusterwright.deploy.targets.monitoring.facts import PORTS_OF, THROUGH, targets_of
from clusterwright.deploy.targets.monitoring.reading import Here, data, secrets, unknown

__all__ = ["flags", "server", "targets", "whole"]

_TOP = frozenset({"global", "rule_files", "alerting", "scrape_configs", "remote_write"})
_GLOBAL = frozenset({"scrape_interval", "scrape_timeout", "evaluation_interval", "external_labels"})
_SCRAPE_WORDS = (
    "job_name scrape_interval scrape_timeout file_sd_configs static_configs metrics_path params scheme "
    "honor_labels authorization tls_config relabel_configs metric_relabel_configs "
)
_SCRAPE = frozenset(_SCRAPE_WORDS.split())
_RELABEL = frozenset(["source_labels", "separator", "target_label", "regex", "modulus", "replacement", "action"])
_WRITE = frozenset(["name", "url", "authorization", "write_relabel_configs"])
_ACTIONS = frozenset(
    ["replace", "keep", "drop", "hashmod", "labelmap", "labeldrop", "labelkeep", "keepequal", "dropequal"]
)
_ELSEWHERE = frozenset({"slurm-exporter", "kube-state-metrics", "kueue", "fabric-exporter", "storage-exporter"})
"""Jobs whose series are about other machines than the one that the exporter runs on."""
_MOST_S = 120
"""A series ends five minutes after its last sample; two minutes between scrapes let one be missed."""


def server(here: Here, path: str) -> Iterator[str]:
    """Configuration of one server."""
    read = data(here, path)
    yield from unknown(read, _TOP, _TOP - {"remote_write"}, "the file")
    yield from unknown(read["global"], _GLOBAL, _GLOBAL, "global")
    yield from (f"global: {said}" for said in _paced(read["global"]))
    if _seconds(read["global"]["evaluation_interval"]) is None:
        yield f"evaluation_interval {read['global']['evaluation_interval']!r} is no duration"
    yield from (
        f"external_labels lacks {key}"
        for key in ("cluster", "site", "shard", "replica")
        if not read["global"]["external_labels"].get(key)
    )
    yield from secrets(read)
    for name in read["rule_files"]:
        if not here.folder.has(here.beside(path, str(name))):
            yield f"{name} is not in the bundle"
    names = Counter(str(job.get("job_name")) for job in read["scrape_configs"])
    yield from (f"job {name} is there {count} times" for name, count in names.items() if count > 1)
    for job in read["scrape_configs"]:
        yield from (f"job {job.get('job_name')}: {said}" for said in _job(here, path, job))
    for write in read.get("remote_write", []):
        yield from unknown(write, _WRITE, frozenset({"url", "authorization"}), "remote_write")
        yield from _relabelling(write.get("write_relabel_configs", []))
    yield from _relabelling(read["alerting"].get("alert_relabel_configs", []))
    found = [one for pair in read["alerting"]["alertmanagers"] for one in _files(pair)]
    if not found:
        yield "no Alertmanager is told"
    yield from (f"{name} is not in the bundle" for name in found if not here.folder.has(here.beside(path, name)))


def _files(job: Any) -> list[str]:
    return [str(name) for one in job.get("file_sd_configs", []) for name in one["files"]]


def _job(here: Here, path: str, job: Any) -> Iterator[str]:
    yield from unknown(job, _SCRAPE, frozenset({"job_name"}), "it")
    for name in _files(job):
        if not here.folder.has(here.beside(path, name)):
            yield f"{name} is not in the bundle"
    if not _files(job) and not job.get("static_configs"):
        yield "it has no targets"
    yield from _paced(job)
    dropped = [rule for rule in job.get("relabel_configs", []) if rule.get("action") == "labeldrop"]
    if job.get("job_name") in _ELSEWHERE and not any(re.fullmatch(str(rule["regex"]), "node") for rule in dropped):
        yield "the label node of its own host hides that of the nodes that it speaks of"
    for key in ("relabel_configs", "metric_relabel_configs"):
        yield from _relabelling(job.get(key, []))


def _paced(job: Any) -> Iterator[str]:
    interval, timeout = (_seconds(job.get(key, "25s")) for key in ("scrape_interval", "scrape_timeout"))
    if interval is None or timeout is None:
        yield "scrape_interval or scrape_timeout is no duration"
    elif not 0 < timeout <= interval <= _MOST_S:
        yield f"scrape_timeout {timeout:g} s <= scrape_interval {interval:g} s <= {_MOST_S} s does not hold"


_PART = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}


def _seconds(text: object) -> float | None:
    if not DURATION.fullmatch(str(text)):
        return None
    return sum(int(number) * _PART[unit] for number, unit in re.findall(r"(\d+)(ms|[smhdwy])", str(text)))


def _relabelling(rules: Any) -> Iterator[str]:
    for rule in rules:
        yield from unknown(rule, _RELABEL, frozenset(), "relabelling")
        if rule.get("action", "replace") not in _ACTIONS:
            yield f"relabelling has no action {rule['action']!r}"
        try:
            re.compile(str(rule.get("regex", "")))
        except re.error as error:
            yield f"regex {rule['regex']!r}: {error}"
        if rule.get("action", "replace") in ("replace", "hashmod") and not rule.get("target_label"):
            yield "relabelling lacks target_label"


_HOSTED = frozenset({"node", "rack", "group"})
_SWITCHED = frozenset({"switch", "tier", "rack"})


def targets(here: Here, path: str) -> Iterator[str]:
    """A file of targets."""
    read, job = data(here, path), path.rpartition("/")[2].removesuffix(".json")
    if not isinstance(read, list):
        yield "is no list of groups"
        return
    for group in read:
        yield from unknown(group, frozenset({"targets", "labels"}), frozenset({"targets", "labels"}), "a group")
    needed = _SWITCHED if job == "switch-exporter" else _HOSTED
    found = list(targets_of(here.read(path)))
    if not found:
        yield "has no target"
    for target, labels in found:
        host, _, port = target.partition(":")
        if not _address(host) or (job not in THROUGH) != bool(port) or not _port(port):
            yield f"{target!r} is no address of a target"
        if needed != labels.keys():
            yield f"{target} has the labels {', '.join(sorted(labels))} in place of {', '.join(sorted(needed))}"
    expected = str(here.folder.inventory.get("ports", {}).get(PORTS_OF.get(job, job), ""))
    others = {port for target, _ in found if (port := target.rpartition(":")[2]) != expected}
    if job not in THROUGH and others:
        yield f"ports {', '.join(sorted(others))} in place of {expected}"
    doubled = Counter(target for target, _ in found)
    yield from (f"{target} is there {count} times" for target, count in doubled.items() if count > 1)
    yield from _expected(here, job, {labels.get("node", labels.get("switch", "")) for _, labels in found})


def _address(text: str) -> bool:
    try:
        return ipaddress.IPv4Address(text).is_private
    except ValueError:
        return False


def _port(text: str) -> bool:
    return not text or (text.isdigit() and 0 < int(text) < 65536)


def _expected(here: Here, job: str, found: set[str]) -> Iterator[str]:
    """Every host of the site is watched by node exporter and through its controller; a service where it runs."""
    groups = {group["name"]: group for group in here.folder.inventory.get("groups", [])}
    hosts = {
        name
        for name, host in here.folder.inventory.get("hosts", {}).items()
        if groups[host["group"]]["site"] == here.site
    }
    if job in ("node-exporter", "bmc-exporter"):
        missing = hosts - found
        if missing:
            yield f"{len(missing)} hosts of the site are missing, {min(missing)} among them"
    if job != "switch-exporter":
        yield from (f"{name!r} is no host of the site" for name in sorted(found - hosts)[:3])


_FLAG = re.compile(r"--([a-z][a-z0-9.-]*)=(\S+)")
_FLAGS_WORDS = (
    "config.file web.listen-address web.external-url storage.tsdb.path storage.tsdb.retention.time "
    "storage.tsdb.retention.size storage.path cluster.listen-address cluster.peer "
)
_FLAGS = frozenset(_FLAGS_WORDS.split())


def flags(here: Here, path: str) -> Iterator[str]:
    """The command line of a server."""
    found = re.search(r'^ARGS="(.*)"$', here.read(path), re.MULTILINE)
    if found is None:
        yield 'has no line ARGS="..."'
        return
    given: dict[str, str] = {}
    for word in found.group(1).split(" "):
        flag = _FLAG.fullmatch(word)
        if flag is None:
            yield f"{word!r} is no flag"
        elif flag.group(1) not in _FLAGS:
            yield f"there is no flag --{flag.group(1)}"
        else:
            given[flag.group(1)] = flag.group(2)
    yield from (f"lacks --{name}" for name in ("config.file", "web.listen-address") if name not in given)
    for name, form in (("retention.time", r"\d+[dwy]"), ("retention.size", r"\d+(MB|GB|TB)")):
        value = given.get(f"storage.tsdb.{name}")
        if value is not None and not re.fullmatch(form, value):
            yield f"--storage.tsdb.{name}={value} has no such unit"
    host = path.rpartition("/")[2].removesuffix(".default")
    management = here.folder.inventory.get("hosts", {}).get(host, {}).get("management", "")
    if given.get("web.listen-address", "").partition(":")[0] != management:
        yield f"--web.listen-address is not the address of {host}"
    if "storage.tsdb.path" in given and given.get("config.file", "").rpartition("/")[2] != f"{host}.yml":
        yield f"--config.file is not the file of {host}"


def whole(here: Here) -> Iterator[tuple[str, str]]:
    """What concerns several files: every file of targets is scraped, shares are complete and disjoint."""
    servers = {path: read for path in _servers(here) if isinstance(read := data(here, path), dict)}
    jobs = [
        (path, job)
        for path, read in servers.items()
        for job in read.get("scrape_configs") or []
        if isinstance(job, dict)
    ]
    try:
        named = {here.beside(path, name) for path, job in jobs for name in _files(job)}
    except (KeyError, TypeError, AttributeError):
        return
    for path in here.glob("prometheus/targets/*.json"):
        if path not in named:
            yield path, "no job of any server scrapes it"
    shares: dict[str, set[tuple[int, str]]] = {}
    for _, job in jobs:
        rules = [rule for rule in job.get("relabel_configs") or [] if isinstance(rule, dict)]
        hashed = next((rule for rule in rules if rule.get("action") == "hashmod"), None)
        kept = next((rule for rule in rules if rule.get("source_labels") == ["__tmp_shard"]), None)
        if hashed is not None:
            share = (int(hashed.get("modulus") or 0), str((kept or {}).get("regex")))
            shares.setdefault(str(job.get("job_name")), set()).add(share)
    for name, found in shares.items():
        count = max(modulus for modulus, _ in found)
        if found != {(count, str(share)) for share in range(count)}:
            yield here.glob("prometheus/*.yml")[0], f"the shares of job {name} are not 0 to {count - 1}, each once"


def _servers(here: Here) -> list[str]:
    return [path for path in here.glob("prometheus/*.yml") if path.count("/") == 3]
