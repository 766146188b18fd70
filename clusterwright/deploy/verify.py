"""The gate of a bundle: its manifest, our own reading of every file, the parts against each other, the real judges."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from clusterwright.deploy.bundle import INVENTORY, Check, Fact, Folder
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.crosscheck import cross_check
from clusterwright.deploy.judges import missing
from clusterwright.deploy.targets import TARGETS, target
from clusterwright.findings import Finding

__all__ = ["LEVELS", "absent", "aged", "document", "verify"]

LEVELS = ("tool", "schema", "own", "none")
"""How well a file was judged, best first."""
OWN = "clusterwright"


def verify(root: Path, live: bool = True) -> list[Check]:
    """Judge every file of a bundle.

    Args:
        root: folder of the bundle.
        live: start the real judges that are installed; without, only our own reading and published schemas.

    Raises:
        InputError: it is no bundle.
        WorldError: it cannot be read.
    """
    folder = Folder.open(root)
    checks = list(_manifest(folder))
    facts: list[Fact] = []
    for name in folder.manifest.get("targets", []):
        if name not in TARGETS:
            checks.append(Check("manifest.json", OWN, "", "own", False, f"'{name}' is no target"))
            continue
        loaded = target(name)
        checks += _guarded(name, "own", partial(_list, loaded.check, folder), checks)
        facts += _guarded(name, "own", partial(_list, loaded.facts, folder), checks)
        for judge in loaded.judges if live else ():
            checks += _guarded(name, "tool", partial(_list, judge, folder), checks)
    checks += cross_check(folder, facts)
    seen = {check.file for check in checks if check.judge != f"{OWN} manifest"}
    nobody = (path for path in folder.paths if path not in seen and path != INVENTORY)
    checks += (Check(path, "", "", "none", True, "nothing here reads it") for path in nobody)
    return sorted(checks, key=lambda c: (c.file, LEVELS.index(c.level), c.judge, c.message))


T = TypeVar("T")


def _list(read: Callable[[Folder], Iterator[T]], folder: Folder) -> list[T]:
    return list(read(folder))


_STUMBLES = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, csv.Error, yaml.YAMLError)


def _guarded(name: str, level: str, read: Callable[[], list[T]], checks: list[Check]) -> list[T]:
    """What a reader finds. A file may hold anything, so a reader that stumbles has refused what it read."""
    try:
        return read()
    except _STUMBLES as error:
        said = f"cannot be read: {type(error).__name__}: {error}"[:200]
        checks.append(Check(f"{name}/", OWN, "", level, False, said))
        return []


def _manifest(folder: Folder) -> Iterator[Check]:
    wrong = dict(folder.changed())
    for path, what in wrong.items():
        said = f"{what}; change the design and render again"
        yield Check(path, f"{OWN} manifest", "", "own", False, said)
    if not wrong:
        said = f"{len(folder.paths)} files as they were written"
        yield Check("manifest.json", f"{OWN} manifest", "", "own", True, said)


def absent(names: Sequence[str]) -> list[Finding]:
    """The judges of targets that are not installed, each with its install line."""
    programs = {
        program.name: (program, name) for name in names if name in TARGETS for program in target(name).programs()
    }
    return [missing(program, f"what is written for {name}") for program, name in programs.values() if not program.path]


def aged(checks: Sequence[Check]) -> list[Finding]:
    """The judges that are older than what they judged, each with what it was therefore not given."""
    left_out: dict[tuple[str, str, str, str], set[str]] = {}
    for check in checks:
        if check.written_for:
            key = (check.file.partition("/")[0], check.judge, check.version, check.written_for)
            left_out.setdefault(key, set()).update(filter(None, check.left_out.split(", ")))
    return [
        FINDINGS["DEPLOY-JUDGE-OLD"].at(
            target,
            f"{judge} {version} is older than {release}, which the files are written for; left out: "
            f"{', '.join(sorted(gone)) or 'nothing'}",
            f"install {judge} {release} to have all of them judged",
        )
        for (target, judge, version, release), gone in sorted(left_out.items())
    ]


def document(root: Path, checks: Sequence[Check]) -> dict[str, Any]:
    """The JSON of a verification."""
    best: dict[str, int] = {}
    for check in checks:
        best[check.file] = min(best.get(check.file, len(LEVELS)), LEVELS.index(check.level))
    return {
        "schema": "clusterwright/verify/1",
        "bundle": str(root),
        "targets": [name for name in TARGETS if any(check.file.startswith(f"{name}/") for check in checks)],
        "ok": all(check.ok for check in checks),
        "files": {level: sum(rank == i for rank in best.values()) for i, level in enumerate(LEVELS)},
        "failed": sum(not check.ok for check in checks),
        "findings": [finding.to_dict() for finding in aged(checks)],
        "checks": [check._asdict() for check in checks],
    }
