"""Our own reading of rules, their tests and the handbook of alerts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.targets.monitoring.alert import SEVERITIES, TEAMS
from clusterwright.deploy.targets.monitoring.queries import wrong
from clusterwright.deploy.targets.monitoring.reading import Here, data, unknown

__all__ = ["handbook", "rule_tests", "rules"]

DURATION = re.compile(r"0|(\d+(ms|[smhdwy]))+")
_RECORD = re.compile(r"[a-z]+:[a-z0-9_]+:[a-z0-9_]+")
_ALERT = frozenset({"alert", "expr", "for", "labels", "annotations"})
_TEMPLATE = re.compile(r"\{\{\s*\$(labels\.\w+|value)(\s*\|\s*\w+)*\s*\}\}")


def rules(here: Here, path: str) -> Iterator[str]:
    """One file of rules."""
    read = data(here, path)
    yield from unknown(read, frozenset({"groups"}), frozenset({"groups"}), "the file")
    for group in read["groups"]:
        at = f"group {group.get('name', '?')}"
        yield from unknown(group, frozenset({"name", "interval", "rules"}), frozenset({"name", "rules"}), at)
        if "interval" in group and not DURATION.fullmatch(str(group["interval"])):
            yield f"{at}: interval {group['interval']!r} is no duration"
    named = Counter(
        str(rule.get("alert") or f"{rule.get('record')} {sorted(dict(rule.get('labels') or {}).items())}")
        for found in here.rules.values()
        for rule in found
    )
    for rule in here.rules[path]:
        name = str(rule.get("alert") or rule.get("record") or "a rule without a name")
        yield from (f"{name}: {said}" for said in _rule(here, rule))
    yield from (f"{name} is there {count} times" for name, count in sorted(named.items()) if count > 1)


def _rule(here: Here, rule: dict[str, Any]) -> Iterator[str]:
    yield from wrong(str(rule.get("expr", "")), here.known)
    if "record" in rule:
        yield from unknown(rule, frozenset({"record", "expr", "labels"}), frozenset({"expr"}), "the rule")
        if not _RECORD.fullmatch(str(rule["record"])):
            yield "a recorded series is called level:what:how"
        elif rule["record"] not in here.known:
            yield "is not in the table of metrics"
        return
    yield from unknown(rule, _ALERT, _ALERT, "the rule")
    labels, notes = dict(rule.get("labels") or {}), dict(rule.get("annotations") or {})
    if labels.get("severity") not in SEVERITIES:
        yield f"severity {labels.get('severity')!r} is none of {', '.join(SEVERITIES)}"
    if labels.get("team") not in TEAMS:
        yield f"team {labels.get('team')!r} is none of {', '.join(TEAMS)}"
    if not DURATION.fullmatch(str(rule.get("for", "0"))):
        yield f"for {rule['for']!r} is no duration"
    yield from (f"lacks the annotation {key}" for key in ("summary", "description", "threshold") if not notes.get(key))
    yield from _runbook(here, str(rule["alert"]), str(notes.get("runbook_url", "")))
    for key, text in notes.items():
        if "{{" in _TEMPLATE.sub("", str(text)) or "}}" in _TEMPLATE.sub("", str(text)):
            yield f"the template of {key} is not closed or names something unknown"


def _runbook(here: Here, name: str, url: str) -> Iterator[str]:
    at, _, anchor = url.partition("#")
    if not at.endswith(f"{here.base}/alerts.md") or anchor != name.lower():
        yield "runbook_url does not lead to its entry in alerts.md"
    elif anchor not in _anchors(here.read(f"{here.base}/alerts.md")):
        yield f"alerts.md has no entry {name}"


def _anchors(text: str) -> set[str]:
    return {line[3:].strip().lower() for line in text.splitlines() if line.startswith("## ")}


def handbook(here: Here, path: str) -> Iterator[str]:
    """The handbook: an entry for each alert and none beside, each with threshold and first step."""
    entries = _anchors(here.read(path))
    fired = {str(rule["alert"]).lower() for found in here.rules.values() for rule in found if "alert" in rule}
    yield from (f"lacks an entry for {name}" for name in sorted(fired - entries))
    yield from (f"has an entry for {name}, which is no alert" for name in sorted(entries - fired))
    for entry in here.read(path).split("\n## ")[1:]:
        yield from (
            f"{entry.splitlines()[0]} lacks '{part}'" for part in ("Threshold: ", "First: ") if f"\n{part}" not in entry
        )


_GROUP = frozenset({"name", "interval", "input_series", "promql_expr_test", "alert_rule_test", "external_labels"})
_TEST = frozenset({"rule_files", "evaluation_interval", "tests", "group_eval_order"})


def rule_tests(here: Here, path: str) -> Iterator[str]:
    """Tests of rules: that they name rule files of the bundle, and that their queries can be read."""
    read = data(here, path)
    yield from unknown(read, _TEST, frozenset({"rule_files", "tests"}), "the file")
    for name in read["rule_files"]:
        if not here.folder.has(here.beside(path, str(name))):
            yield f"{name} is not in the bundle"
    if not read["tests"]:
        yield "has no test"
    for group in read["tests"]:
        at = f"test {group.get('name', '?')}"
        yield from unknown(group, _GROUP, frozenset({"name", "interval", "input_series", "promql_expr_test"}), at)
        for one in group["promql_expr_test"]:
            yield from unknown(
                one, frozenset({"expr", "eval_time", "exp_samples"}), frozenset({"expr", "eval_time"}), at
            )
            yield from (f"{at}: {said}" for said in wrong(str(one["expr"]), here.known))
        for one in group["input_series"]:
            yield from unknown(one, frozenset({"series", "values"}), frozenset({"series", "values"}), at)
            yield from (f"{at}: {said}" for said in wrong(str(one["series"]), here.known))
