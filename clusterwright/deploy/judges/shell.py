"""shellcheck, bash and luac as judges of scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["LUAC", "PROGRAMS", "SHELLCHECK", "judge"]

SHELLCHECK = Program("shellcheck", "apt install shellcheck")
LUAC = Program("luac", "apt install lua5.3", ("-v",))
PROGRAMS = (SHELLCHECK, LUAC)
_SHELL = (".sh", ".sbatch", "health.conf")


def judge(folder: Folder) -> Iterator[Check]:
    """Scripts of the target ``slurm``: shell by shellcheck, Lua by its compiler."""
    paths = [path for path in folder.paths if path.startswith("slurm/")]
    if SHELLCHECK.path is not None:
        yield from shellcheck(folder, [path for path in paths if path.endswith(_SHELL)])
    if LUAC.path is not None:
        for path in (path for path in paths if path.endswith(".lua")):
            said = run([LUAC.path, "-p", str(folder.root / path)], seconds=20)
            yield Check(path, "luac", LUAC.version, "tool", said.code == 0, said.text.strip()[:300] or "compiles")


def shellcheck(folder: Folder, paths: list[str]) -> Iterator[Check]:
    """Judge shell scripts; every remark of level warning or worse is a fault."""
    if not paths or SHELLCHECK.path is None:
        return
    files = [str(folder.root / path) for path in paths]
    said = run([SHELLCHECK.path, "--shell=bash", "--severity=warning", "--format=json", *files], seconds=120)
    try:
        found = json.loads(said.text)
    except ValueError:
        found = [{"file": files[0], "line": 0, "message": said.text[:200]}]
    for path, file in zip(paths, files, strict=True):
        wrong = [f"line {one['line']}: {one['message']}" for one in found if one["file"] == file]
        message = "; ".join(wrong[:3])[:400] or "no warnings"
        yield Check(path, "shellcheck", SHELLCHECK.version, "tool", not wrong, message)
