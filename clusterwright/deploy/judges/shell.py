"""bash parses every script, ShellCheck reads it, Lua's compiler reads what is written in Lua."""

from __future__ import annotations

import json
from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["BASH", "LUAC", "PROGRAMS", "SHELLCHECK", "judge_lua", "judge_scripts"]

BASH = Program("bash", "apt install bash")
SHELLCHECK = Program("shellcheck", "apt install shellcheck")
LUAC = Program("luac", "apt install lua5.3", ("-v",))
PROGRAMS = (SHELLCHECK, LUAC)


def judge_scripts(folder: Folder, *patterns: str) -> Iterator[Check]:
    """Judge the scripts that match: syntax, and what ShellCheck warns of."""
    paths = folder.glob(*patterns)
    files = [str((folder.root / path).resolve()) for path in paths]
    if BASH.path is not None:
        for path, file in zip(paths, files, strict=True):
            said = run([BASH.path, "-n", file], seconds=20)
            wrong = " ".join(said.text.split())[:200] if said.code else "parsed"
            yield Check(path, "bash", BASH.version, "tool", said.code == 0, wrong)
    if SHELLCHECK.path is None or not files:
        return
    said = run([SHELLCHECK.path, "--shell=bash", "--severity=warning", "--format=json", *files])
    try:
        found = json.loads(said.text)
    except ValueError:
        found = [{"file": files[0], "line": 0, "code": 0, "message": " ".join(said.text.split())[:200]}]
    for path, file in zip(paths, files, strict=True):
        faults = [f"line {one['line']}: SC{one['code']} {one['message']}" for one in found if one["file"] == file]
        message = "; ".join(faults[:3])[:400] or "no warning"
        yield Check(path, "shellcheck", SHELLCHECK.version, "tool", not faults, message)


def judge_lua(folder: Folder, *patterns: str) -> Iterator[Check]:
    """Compile what matches; nothing is run."""
    if LUAC.path is None:
        return
    for path in folder.glob(*patterns):
        said = run([LUAC.path, "-p", str((folder.root / path).resolve())], seconds=20)
        wrong = " ".join(said.text.split())[:300] or "compiles"
        yield Check(path, "luac", LUAC.version, "tool", said.code == 0, wrong)
