"""Our own reading of the runbook: links lead somewhere, marks are on the right side, scripts report known tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.bundle import Check, Fact, Folder
from clusterwright.deploy.targets.runbook.files import CHAPTERS, SCRIPTS

__all__ = ["check", "facts"]

JUDGE = "clusterwright runbook"
MARKS = "runbook/pass-marks.json"
_UNITS = {"TFLOP/s", "GB/s", "Gb/s", "us", "s", "W"}
_SCOPES = ("gpu", "node", "pair", "unit", "cluster")
_KEYS = {"test", "scope", "unit", "predicted", "mark", "better", "source"}


def facts(folder: Folder) -> Iterator[Fact]:
    """GPUs of every node, from the burn-in's own expectation."""
    found = re.search(r"^gpus=(\d+)$", folder.read("runbook/acceptance/node.sh"), re.M)
    if found is None:
        return
    groups = {group["name"]: group["gpus"] for group in folder.inventory.get("groups", [])}
    for name, host in folder.inventory.get("hosts", {}).items():
        if groups.get(host["group"]):
            yield Fact("node.gpus", name, int(found.group(1)), "runbook/acceptance/node.sh")


def check(folder: Folder) -> Iterator[Check]:
    """Judge marks, chapters and scripts."""
    tests: set[str] = set()
    try:
        found = json.loads(folder.read(MARKS))["marks"]
        tests = {mark["test"] for mark in found}
        wrong = list(_marks(found))
    except (ValueError, KeyError, TypeError) as error:
        found, wrong = [], [f"cannot be read: {type(error).__name__}: {error}"]
    yield _said(MARKS, wrong, "units, scopes, marks on the worse side of the prediction")
    for name in CHAPTERS:
        path = f"runbook/{name}.md"
        yield _said(path, list(_chapter(folder, path, found)), "links lead somewhere, figures are the marks")
    for name in SCRIPTS:
        path = f"runbook/acceptance/{name}.sh"
        yield _said(path, list(_script(folder.read(path), tests)), "reports tests that have marks")


def _said(path: str, wrong: list[str], what: str) -> Check:
    return Check(path, JUDGE, "", "own", not wrong, "; ".join(wrong[:3]) or what)


def _marks(found: list[dict[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for mark in found:
        name = mark["test"]
        if mark.keys() != _KEYS:
            yield f"{name}: keys differ by {', '.join(sorted(mark.keys() ^ _KEYS))}"
            continue
        if name in seen:
            yield f"{name} is there twice"
        seen.add(name)
        if mark["unit"] not in _UNITS:
            yield f"{name}: {mark['unit']!r} is no unit of a test"
        if mark["scope"] not in _SCOPES:
            yield f"{name}: {mark['scope']!r} is no scope"
        if not all(isinstance(mark[k], int | float) and mark[k] > 0 for k in ("predicted", "mark")):
            yield f"{name}: figures are positive numbers"
        elif mark["better"] not in ("higher", "lower"):
            yield f"{name}: better is higher or lower"
        elif (mark["mark"] > mark["predicted"]) == (mark["better"] == "higher") and mark["mark"] != mark["predicted"]:
            yield f"{name}: the mark {mark['mark']} is better than the prediction {mark['predicted']}"


def _chapter(folder: Folder, path: str, found: list[dict[str, Any]]) -> Iterator[str]:
    text = folder.read(path)
    if not text.startswith("# "):
        yield "has no title"
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not folder.has(f"runbook/{target}"):
            yield f"the link {target} leads nowhere"
    for script in re.findall(r"`acceptance/([a-z]+)\.sh", text):
        if script not in SCRIPTS:
            yield f"acceptance/{script}.sh is no script"
    if path.endswith("02-acceptance.md"):
        for mark in found:
            line = f"| {mark['test']} | {mark['scope']} | {mark['predicted']} {mark['unit']} |"
            if line not in text or f" {mark['mark']} {mark['unit']} |" not in text:
                yield f"{mark['test']} is not as in pass-marks.json"


_REPORTED = re.compile(r"(?:RESULT |^run )([a-z][a-z0-9-]+)", re.M)


def _script(text: str, tests: set[str]) -> Iterator[str]:
    if not text.startswith("#!/usr/bin/env bash\n"):
        yield "does not start with #!/usr/bin/env bash"
    if "set -euo pipefail" not in text:
        yield "goes on after an error"
    for name in _REPORTED.findall(text):
        if name not in tests and name not in ("test", "storage-", "hpl"):
            yield f"reports {name}, which has no mark"
