"""``bash -n`` of the pipeline's scripts, as a runner puts them together."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run
from clusterwright.deploy.targets.gitlab.check import PATH, jobs, scripts
from clusterwright.deploy.text import load_yaml

__all__ = ["JUDGES", "PROGRAMS"]

_BASH = Program("bash", "apt install bash")
PROGRAMS = (_BASH,)


def shell(folder: Folder) -> Iterator[Check]:
    """Syntax of every job's script."""
    if _BASH.path is None or not folder.has(PATH):
        return
    try:
        data = load_yaml(folder.read(PATH))
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    wrong = []
    for name, job in jobs(data).items() if isinstance(data, dict) else ():
        said = run([_BASH.path, "-n"], seconds=20, stdin="\n".join(scripts(job)) + "\n")
        if said.code != 0:
            wrong.append(f"{name}: {' '.join(said.text.split())}"[:200])
    for what in wrong:
        yield Check(PATH, "bash", _BASH.version, "tool", False, what)
    if not wrong:
        yield Check(PATH, "bash", _BASH.version, "tool", True, "scripts of all jobs")


JUDGES = (shell,)
