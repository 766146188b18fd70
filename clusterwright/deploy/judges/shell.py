"""bash parses every script, ShellCheck reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["BASH", "SHELLCHECK", "judge_scripts"]

BASH = Program("bash", "apt install bash")
SHELLCHECK = Program("shellcheck", "apt install shellcheck")


def judge_scripts(folder: Folder, *patterns: str) -> Iterator[Check]:
    """Judge the scripts that match: syntax, and warnings of ShellCheck."""
    for path in folder.glob(*patterns):
        file = str((folder.root / path).resolve())
        if BASH.path is not None:
            said = run([BASH.path, "-n", file], seconds=20)
            wrong = " ".join(said.text.split())[:200] if said.code else "parsed"
            yield Check(path, "bash", BASH.version, "tool", said.code == 0, wrong)
        if SHELLCHECK.path is not None:
            said = run([SHELLCHECK.path, "--format=json", "--severity=warning", "--shell=bash", file], seconds=60)
            yield Check(path, "shellcheck", SHELLCHECK.version, "tool", said.code == 0, _first(said.text))


def _first(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return " ".join(text.split())[:200]
    if not found:
        return "no warning"
    return "; ".join(f"line {one['line']}: SC{one['code']} {one['message']}" for one in found[:2])[:200]
