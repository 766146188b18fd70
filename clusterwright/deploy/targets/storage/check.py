"""Our own reading of the storage files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from clusterwright.deploy.bundle import Check, Fact, Folder
from clusterwright.deploy.text import load_yaml

__all__ = ["check", "facts"]

JUDGE = "clusterwright storage"
_TIER = {"name", "kind", "system", "purpose", "mount", "capacity_tb", "read_gb_s", "write_gb_s"}
_MORE = {"client", "fill_limit", "purge", "layout", "emptied"}
_KINDS = ("nvme", "parallel", "object", "block")


def facts(folder: Folder) -> Iterator[Fact]:
    """Storage says nothing of nodes, quotas of GPUs or ports."""
    return iter(())


def check(folder: Folder) -> Iterator[Check]:
    """Judge the tiers, the quotas, the life cycles and the acceptance job."""
    path, wrong = "storage/tiers.yaml", []
    document: Any = {}
    try:
        document = load_yaml(folder.read(path)) or {}
        wrong = list(_tiers(document, set(folder.inventory.get("tenants", {}))))
    except yaml.YAMLError as error:
        wrong = [f"is no YAML: {str(error).splitlines()[0]}"]
    yield _said(path, wrong, "keys, kinds, quotas within the tier")
    for path in folder.glob("storage/*lifecycle.json"):
        yield _said(path, list(_lifecycle(folder.read(path))), "rules with one action and a prefix each")
    if folder.has("storage/quotas.sh"):
        wrong = list(_script(folder.read("storage/quotas.sh"), document))
        yield _said("storage/quotas.sh", wrong, "one line a tenant, as in tiers.yaml")
    if folder.has("storage/acceptance.fio"):
        yield _said("storage/acceptance.fio", list(_job(folder.read("storage/acceptance.fio"))), "sections and options")


def _said(path: str, wrong: list[str], what: str) -> Check:
    return Check(path, JUDGE, "", "own", not wrong, "; ".join(wrong[:3]) or what)


def _tiers(document: Any, tenants: set[str]) -> Iterator[str]:
    capacity, limit = 0.0, 1.0
    for tier in document["tiers"]:
        name = tier.get("name")
        if missing := _TIER - tier.keys():
            yield f"tier {name} lacks {', '.join(sorted(missing))}"
        if unknown := tier.keys() - _TIER - _MORE:
            yield f"tier {name} has unknown {', '.join(sorted(unknown))}"
        if tier.get("kind") not in _KINDS:
            yield f"tier {name}: {tier.get('kind')!r} is no kind of tier"
        for key in ("capacity_tb", "read_gb_s", "write_gb_s"):
            if not isinstance(tier.get(key), int | float):
                yield f"tier {name}: {key} is no number"
        if tier.get("kind") == "parallel" and isinstance(tier.get("capacity_tb"), int | float):
            capacity, limit = capacity + tier["capacity_tb"], float(tier.get("fill_limit", 1.0))
    given = {quota["tenant"]: quota["terabytes"] for quota in document["quotas"]}
    if capacity and given.keys() != tenants:
        yield f"quotas of {sorted(given)}, tenants are {sorted(tenants)}"
    if sum(given.values()) > capacity * limit + 0.1 * len(given):
        yield f"quotas sum to {sum(given.values()):g} TB of {capacity * limit:g} TB"


_ACTIONS = ("Expiration", "Transitions", "AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration")


def _lifecycle(text: str) -> Iterator[str]:
    try:
        rules = json.loads(text)["Rules"]
    except (ValueError, KeyError, TypeError) as error:
        yield f"is no life cycle: {type(error).__name__}: {error}"
        return
    seen: set[str] = set()
    for rule in rules:
        name = str(rule.get("ID"))
        if name in seen:
            yield f"rule {name} is there twice"
        seen.add(name)
        if rule.get("Status") not in ("Enabled", "Disabled"):
            yield f"rule {name}: status {rule.get('Status')!r}"
        if not any(action in rule for action in _ACTIONS):
            yield f"rule {name} does nothing"
        if unknown := rule.keys() - {"ID", "Status", "Filter", *_ACTIONS}:
            yield f"rule {name}: unknown {', '.join(sorted(unknown))}"
        days = [rule.get("Expiration", {}).get("Days", 1), *(t.get("Days", 0) for t in rule.get("Transitions", []))]
        if any(not isinstance(number, int) or isinstance(number, bool) or number < 0 for number in days):
            yield f"rule {name}: days are whole numbers"


_QUOTA = re.compile(r"^set_quota ([a-z0-9-]+) (\d+) (\d+)$", re.M)


def _script(text: str, document: Any) -> Iterator[str]:
    given = {name: (int(project), int(gigabytes)) for name, project, gigabytes in _QUOTA.findall(text)}
    wanted = {q["tenant"]: (q["project"], round(q["terabytes"] * 1000)) for q in document.get("quotas", [])}
    for name in sorted({*given, *wanted}):
        if given.get(name) != wanted.get(name):
            yield f"{name}: {given.get(name)} in the script, {wanted.get(name)} in tiers.yaml (project, GB)"


_OPTIONS = {
    "ioengine", "direct", "directory", "size", "bs", "iodepth", "numjobs", "time_based", "runtime", "ramp_time",
    "group_reporting", "rw", "stonewall", "create_on_open", "unlink", "fallocate", "description",
}  # fmt: skip


def _job(text: str) -> Iterator[str]:
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("["):
            section = line.strip("[]")
            continue
        key, found, value = line.partition("=")
        if key not in _OPTIONS:
            yield f"line {number}: no option {key!r} of a job of fio"
        elif found and not value:
            yield f"line {number}: {key} has no value"
        elif key in ("bs", "size") and not re.fullmatch(r"\d+[kmgt]?i?b?", value, re.I):
            yield f"line {number}: {value!r} is no size"
        elif key in ("iodepth", "numjobs", "direct") and not value.isdigit():
            yield f"line {number}: {key} is a whole number"
    if not section:
        yield "no section"
