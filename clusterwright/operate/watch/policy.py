"""What is done about each fault: data that is packaged, with a site's own laid over it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.operate.codes import FINDINGS

__all__ = ["KINDS", "Policy", "Rule", "read_policy"]

KINDS = ("xid", "gpu-lost", "node-dead", "node-hung", "link-down", "node-slow", "fs-full", "rack-power",
         "xid-app", "xid-later", "unfit")  # fmt: skip
_NODE = ("none", "drain", "down")
_JOBS = ("none", "retry", "restart", "migrate")
_NUMBERS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "breaker": {"nodes": (0, 1e6), "share": (0, 1), "window_s": (1, 1e7)},
    "flap": {"most": (1, 1000), "window_s": (1, 1e8), "wait_s": (0, 1e7), "factor": (1, 100)},
    "retry": {"most": (0, 1000), "settle_s": (0, 3600)},
    "migration": {"wait_s": (1, 86_400)},
    "shrink": {"after_s": (0, 1e7)},
}
"""Section -> key -> least and most."""


@dataclass(frozen=True)
class Rule:
    """What is done about a fault.

    Attributes:
        node: ``none``, ``drain`` or ``down``.
        jobs: ``none``, ``retry`` (in place), ``restart`` (elsewhere, from the last checkpoint) or ``migrate`` (a
            checkpoint is asked for first).
        spare: whether a hot spare takes the node's place.
        hold: whether no new job starts.
    """

    node: str = "none"
    jobs: str = "none"
    spare: bool = False
    hold: bool = False


@dataclass(frozen=True)
class Policy:
    """The policy of a site.

    Attributes:
        faults: rule by kind of fault.
        numbers: section -> key -> value, times in seconds.
        auto_return: whether nodes come back by themselves; checks_to_return: passed checks that it takes.
        spare_partition: where hot spares wait.
        alerts: alert -> fault; doubted: faults that one source alone does not prove.
        patterns: what a check prints -> fault.
        xids: XID code -> fault; a code that is not there is only noted.
    """

    faults: Mapping[str, Rule]
    numbers: Mapping[str, Mapping[str, float]]
    auto_return: bool
    checks_to_return: int
    spare_partition: str
    alerts: Mapping[str, str]
    doubted: frozenset[str]
    patterns: tuple[tuple[re.Pattern[str], str], ...]
    xids: Mapping[int, str]

    def fault_of(self, said: str) -> str:
        """The fault that a line of a check means; a pattern whose first group is a number names an XID."""
        for pattern, fault in self.patterns:
            found = pattern.search(said)
            if found and pattern.groups and (found.group(1) or "").isdigit():
                return self.fault_of_xid(int(found.group(1)))
            if found:
                return fault
        return "unfit"

    def fault_of_xid(self, code: int) -> str:
        """The fault that an XID means; a code that is only noted has a name without a rule."""
        return self.xids.get(code, f"xid-noted-{code}")

    def breaker_limit(self, nodes: int) -> int:
        """How many nodes may go within the window."""
        held = self.numbers["breaker"]
        return max(int(held["nodes"]), int(held["share"] * nodes))


def read_policy(path: Path | None = None, bundle: Path | None = None) -> Policy:
    """The packaged policy with a site's own laid over it, section by section.

    Args:
        path: of the site's own; None without.
        bundle: rendered files, whose tables of XIDs hold; None for the packaged table.

    Raises:
        InputError: with everything that is wrong.
    """
    held = yaml.safe_load(files(__package__).joinpath("policy.yaml").read_text("utf-8"))
    if path is not None:
        own = _own(path)
        wrong = list(_wrong(str(path), own, held))
        if wrong:
            raise InputError(wrong)
        held = _laid_over(held, own)
    return _made(held, _table(bundle))


def _own(path: Path) -> dict[str, Any]:
    try:
        own = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or str(error).splitlines()[0]}"
        raise InputError(FINDINGS["WATCH-POLICY"].at(str(path), said)) from None
    if not isinstance(own, dict):
        raise InputError(FINDINGS["WATCH-POLICY"].at(str(path), "holds no mapping", "docs/guides/operating.md"))
    return own


def _laid_over(held: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(held)
    for key, value in own.items():
        base: Any = held.get(key)
        if key == "faults":
            made[key] = {**base, **{kind: {**base[kind], **rule} for kind, rule in value.items()}}
        elif key == "findings":
            made[key] = [*value, *base]
        else:
            made[key] = {**base, **value} if isinstance(base, dict) else value
    return made


def _made(held: Mapping[str, Any], table: Mapping[int, str]) -> Policy:
    actions, overrides = held["xid_actions"], held["xid_overrides"]
    xids = {code: actions.get(action) for code, action in table.items()} | overrides
    return Policy(
        faults={kind: Rule(**rule) for kind, rule in held["faults"].items()},
        numbers={name: {key: float(value) for key, value in held[name].items()} for name in _NUMBERS},
        auto_return=bool(held["give_back"]["auto"]),
        checks_to_return=int(held["give_back"]["checks"]),
        spare_partition=str(held["spares"]["partition"]),
        alerts=held["alerts"],
        doubted=frozenset(held["doubted"]),
        patterns=tuple((re.compile(one["match"]), one["fault"]) for one in held["findings"]),
        xids={int(code): fault for code, fault in xids.items() if fault},
    )


def _table(bundle: Path | None) -> dict[int, str]:
    """XID code -> action, of the bundle (with what the site overrides in it), or of the package."""
    found = sorted(bundle.glob("slurm/*/xid_actions.csv")) if bundle else []
    texts = [path.read_text("utf-8") for path in found[:1]]
    texts += [path.with_name("xid_overrides.csv").read_text("utf-8") for path in found[:1]
              if path.with_name("xid_overrides.csv").is_file()]  # fmt: skip
    if not texts:
        packaged = files("clusterwright.deploy.targets.slurm").joinpath("data", "xid_actions.csv")
        texts = [packaged.read_text("utf-8")]
    made: dict[int, str] = {}
    for text in texts:
        for row in csv.reader(line for line in text.splitlines() if not line.startswith("#")):
            if len(row) >= 3 and row[0].isdigit():
                made[int(row[0])] = row[2].strip()
    return made


# --- what is wrong ---


def _wrong(place: str, own: Mapping[Any, Any], held: Mapping[str, Any]) -> Iterable[Finding]:
    def say(key: str, text: str, hint: str) -> Finding:
        return FINDINGS["WATCH-POLICY"].at(f"{place}: {key}", text, hint)

    if own.get("version") != 1:
        yield say("version", f"{own.get('version')!r} is no version", "version: 1")
    for key, value in own.items():
        if key not in held:
            yield say(str(key), f"no key is called {key!r}", f"one of {', '.join(held)}")
        elif isinstance(held[key], dict) and not isinstance(value, dict):
            yield say(str(key), "is a mapping", f"such as {key}: {held[key]}"[:150])
        elif key in _NUMBERS:
            yield from _wrong_numbers(say, key, value)
        elif key == "faults":
            yield from _wrong_faults(say, value)
        elif key in ("alerts", "xid_actions", "xid_overrides"):
            yield from _wrong_kinds(say, key, value)
        elif key == "give_back":
            yield from _wrong_return(say, value)
        elif key == "spares" and (set(value) - {"partition"} or not isinstance(value.get("partition", ""), str)):
            yield say(key, f"{value!r} is not the partition of the spares", "spares: {partition: spare}")
        elif key == "doubted" and (not isinstance(value, list) or not all(one in KINDS for one in value)):
            yield say(key, f"{value!r} is no list of faults", f"some of {', '.join(KINDS)}")
        elif key == "findings":
            yield from _wrong_findings(say, value)


def _wrong_numbers(say: Any, section: str, value: Mapping[Any, Any]) -> Iterable[Finding]:
    known = _NUMBERS[section]
    for key, number in value.items():
        if key not in known:
            yield say(f"{section}.{key}", f"no key is called {key!r}", f"one of {', '.join(known)}")
            continue
        low, high = known[key]
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            yield say(f"{section}.{key}", f"{number!r} is no number from {low:g} to {high:g}", "")


def _wrong_faults(say: Any, value: Mapping[Any, Any]) -> Iterable[Finding]:
    allowed: Mapping[str, tuple[object, ...]] = {
        "node": _NODE, "jobs": _JOBS, "spare": (True, False), "hold": (True, False)
    }  # fmt: skip
    for kind, rule in value.items():
        if kind not in KINDS:
            yield say(f"faults.{kind}", f"no fault is called {kind!r}", f"one of {', '.join(KINDS)}")
        elif not isinstance(rule, dict):
            yield say(f"faults.{kind}", "is a mapping", "{node: drain, jobs: restart, spare: true}")
        else:
            for key, said in rule.items():
                if key not in allowed:
                    yield say(f"faults.{kind}.{key}", f"no key is called {key!r}", f"one of {', '.join(allowed)}")
                elif not any(said is one or (isinstance(one, str) and said == one) for one in allowed[key]):
                    yield say(f"faults.{kind}.{key}", f"{said!r} is not known", f"one of {allowed[key]}")


def _wrong_kinds(say: Any, section: str, value: Mapping[Any, Any]) -> Iterable[Finding]:
    for key, fault in value.items():
        if fault is not None and fault not in KINDS:
            yield say(f"{section}.{key}", f"no fault is called {fault!r}", f"null, or one of {', '.join(KINDS)}")
        if section == "xid_overrides" and (isinstance(key, bool) or not isinstance(key, int) or not 0 < key < 1000):
            yield say(f"{section}.{key}", f"{key!r} is no XID code", "such as 79")


def _wrong_return(say: Any, value: Mapping[Any, Any]) -> Iterable[Finding]:
    for key, said in value.items():
        good = {"auto": isinstance(said, bool), "checks": isinstance(said, int) and 1 <= said <= 1000}
        if not good.get(key, False):
            yield say(f"give_back.{key}", f"{said!r} is not known", "give_back: {auto: true, checks: 2}")


def _wrong_findings(say: Any, value: Any) -> Iterable[Finding]:
    if not isinstance(value, list):
        yield say("findings", "is a list", "- {match: '^fabric:', fault: link-down}")
        return
    for number, one in enumerate(value):
        if not isinstance(one, dict) or set(one) != {"match", "fault"} or one["fault"] not in KINDS:
            yield say(f"findings[{number}]", f"{one!r} is not a pattern and its fault", "{match: '^x', fault: unfit}")
            continue
        try:
            re.compile(str(one["match"]))
        except re.error as error:
            yield say(f"findings[{number}].match", f"is no regular expression: {error}", "see Python's re")
