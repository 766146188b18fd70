"""ansible-playbook, ansible-inventory and ansible-lint."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

from clusterwright.deploy.judges.programs import Judged, Program, run

__all__ = ["INVENTORY", "LINT", "PLAYBOOK", "PROGRAMS", "copied", "inventory", "lint", "syntax"]

PLAYBOOK = Program("ansible-playbook", "pip install 'ansible-core>=2.17'")
INVENTORY = Program("ansible-inventory", "pip install 'ansible-core>=2.17'")
LINT = Program("ansible-lint", "pip install ansible-lint")
PROGRAMS = (PLAYBOOK, INVENTORY, LINT)
_QUIET = {"ANSIBLE_NOCOLOR": "1", "NO_COLOR": "1", "ANSIBLE_DEPRECATION_WARNINGS": "0"}


def copied(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A copy of the folder, since the programs leave caches beside what they read."""
    made = tempfile.TemporaryDirectory(prefix="clusterwright-")
    copytree(folder, Path(made.name) / "ansible")
    return made


def _run(program: Program, folder: Path, *words: str) -> Judged:
    extra = {**_QUIET, "ANSIBLE_HOME": str(folder / ".ansible"), "ANSIBLE_CONFIG": str(folder / "ansible.cfg")}
    return run([program.path or program.name, *words], folder, seconds=300, extra=extra)


def syntax(folder: Path, playbooks: list[str]) -> Judged:
    """``ansible-playbook --syntax-check``: plays, roles, tasks and their keywords are loaded, nothing is run."""
    return _run(PLAYBOOK, folder, "--syntax-check", *playbooks)


def inventory(folder: Path) -> tuple[Mapping[str, Any] | None, str]:
    """``ansible-inventory --list``: what it holds, or None and what the program says."""
    said = _run(INVENTORY, folder, "--list", "--export")
    try:
        return (json.loads(said.text[said.text.index("{") :]), "") if said.code == 0 else (None, said.text)
    except ValueError:
        return None, said.text


def lint(folder: Path, files: list[str]) -> tuple[list[tuple[str, str]], str]:
    """``ansible-lint --offline`` over playbooks and the roles that they name.

    Returns:
        file and what is wrong with it; and what the program said when it could not judge.
    """
    said = _run(LINT, folder, "--offline", "--nocolor", "--format", "json", "-q", *files)
    start = said.text.find("[")
    try:
        listed, _ = json.JSONDecoder().raw_decode(said.text[start:]) if start >= 0 else ([], 0)
    except ValueError:
        return [], said.text
    if said.code not in (0, 2):
        return [], said.text
    return list(_violations(listed)), ""


def _violations(listed: Any) -> Iterator[tuple[str, str]]:
    for one in listed:
        place = one.get("location", {})
        line = place.get("lines", {}).get("begin") or place.get("positions", {}).get("begin", {}).get("line")
        yield place.get("path", ""), f"line {line}: {one.get('check_name')}: {one.get('description')}"[:200]
