"""What deploying a bundle would change, as a plan that can be saved, read, and applied later.

What is deployed is a folder that an earlier ``apply`` wrote. A plan names every file that would be added, changed or
removed, how, and what makes it take effect; it holds the digests of both sides, so that a stale one is refused.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.cluster import edited_files
from clusterwright.deploy.bundle import MANIFEST, Folder
from clusterwright.deploy.codes import FINDINGS
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding

__all__ = ["Change", "Plan", "drift", "make_plan", "read_plan", "state_of"]

SCHEMA = "clusterwright/plan/1"
_MOST_LINES = 60
"""Lines of a difference that a plan keeps."""
_LONG = 20_000
"""Lines of a file above which lines are counted, not aligned."""


@dataclass(frozen=True)
class Change:
    """One file that would change.

    Attributes:
        path: in the bundle.
        kind: ``add``, ``change`` or ``remove``.
        added: lines.
        removed: lines.
        after: what makes it take effect, such as ``scontrol reconfigure``.
        diff: the first lines of the difference.
    """

    path: str
    kind: str
    added: int
    removed: int
    after: str = ""
    diff: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What would change.

    Attributes:
        bundle: folder of the bundle; ``bundle_sha256`` of its manifest.
        deployed: folder that is deployed; ``deployed_sha256`` of its manifest, empty when nothing is deployed.
        summary: the change in words: nodes, versions, tenants.
        changes: by path.
        unchanged: files that stay.
        site: site.yaml of the running cluster; empty for a folder alone.
    """

    bundle: str
    bundle_sha256: str
    deployed: str
    deployed_sha256: str
    summary: tuple[str, ...]
    changes: tuple[Change, ...]
    unchanged: int
    site: str = ""
    schema: str = field(default=SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"schema": self.schema, **{k: v for k, v in asdict(self).items() if k != "schema"}}

    @property
    def actions(self) -> dict[str, list[str]]:
        """What has to be run afterwards -> the files it is for."""
        found: dict[str, list[str]] = {}
        for change in self.changes:
            if change.after:
                found.setdefault(change.after, []).append(change.path)
        return found


def state_of(folder: Path) -> str:
    """The digest of a folder's manifest; empty when nothing is there."""
    try:
        return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise WorldError(FINDINGS["DEPLOY-NOT-A-BUNDLE"].at(str(folder), said)) from None


def drift(folder: Path) -> list[Finding]:
    """Files of a deployed folder that somebody changed since they were applied."""
    if not folder.exists():
        return []
    hint = "take the change into the design and render again, or put the file back"
    said = "is not as it was applied"
    return [FINDINGS["DEPLOY-DRIFT"].at(str(folder / path), said, hint) for path in edited_files(folder)]


def make_plan(bundle: Path, deployed: Path, site: Path | None = None) -> Plan:
    """Compare a bundle with what is deployed.

    Args:
        bundle: folder of the bundle, as it was rendered.
        deployed: folder that an earlier apply wrote, or none.
        site: site.yaml of the running cluster whose folder it is.

    Raises:
        InputError: the bundle is none or was edited; what is there is no bundle.
        WorldError: a folder cannot be read.
    """
    new = Folder.open(bundle)
    hint = "change the design and render again"
    changed = [FINDINGS["DEPLOY-FILE-CHANGED"].at(str(bundle / path), what, hint) for path, what in new.changed()]
    if changed:
        raise InputError(changed)
    old = Folder.open(deployed) if state_of(deployed) else None
    before: Mapping[str, str] = old.manifest["files"] if old is not None else {}
    after: Mapping[str, str] = new.manifest["files"]
    changes = tuple(_changes(old, new, before, after))
    return Plan(
        bundle=str(bundle),
        bundle_sha256=state_of(bundle),
        deployed=str(deployed),
        deployed_sha256=state_of(deployed),
        summary=tuple(_summary(old, new)),
        changes=changes,
        unchanged=sum(before.get(path) == digest for path, digest in after.items()),
        site="" if site is None else str(site),
    )


def _changes(old: Folder | None, new: Folder, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    effects = new.manifest.get("after", {})
    for path in sorted({*before, *after}):
        if before.get(path) == after.get(path):
            continue
        was = old.read(path).splitlines() if old is not None and path in before else []
        will = new.read(path).splitlines() if path in after else []
        kind = "change" if path in before and path in after else "add" if path in after else "remove"
        added, removed, lines = _difference(was, will) if kind == "change" else (len(will), len(was), ())
        yield Change(path, kind, added, removed, str(effects.get(path, "")), lines)


def _difference(was: Sequence[str], will: Sequence[str]) -> tuple[int, int, tuple[str, ...]]:
    if max(len(was), len(will)) > _LONG:
        gone, come = Counter(was) - Counter(will), Counter(will) - Counter(was)
        lines = [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]
        return come.total(), gone.total(), tuple(line[:300] for line in lines[:_MOST_LINES])
    lines = list(difflib.unified_diff(was, will, lineterm="", n=0))[2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return added, removed, tuple(line[:300] for line in lines[:_MOST_LINES])


def _summary(old: Folder | None, new: Folder) -> Iterator[str]:
    """The change in words."""
    if old is None:
        counted = Counter(str(group["role"]) for group in new.inventory.get("groups", []))
        nodes = {role: _count(new, role) for role in counted}
        yield "first deployment: " + ", ".join(f"{n:,} {role}" for role, n in nodes.items())
        return
    groups = [{g["name"]: g for g in folder.inventory.get("groups", [])} for folder in (old, new)]
    for name in dict.fromkeys([*groups[0], *groups[1]]):
        was, will = (int(found.get(name, {}).get("count", 0)) for found in groups)
        if was != will:
            yield f"{name}: {was:,} -> {will:,} nodes ({will - was:+,})"
    for name in dict.fromkeys([*old.versions, *new.versions]):
        a, b = old.versions.get(name, "not there"), new.versions.get(name, "not there")
        if a != b:
            yield f"{name}: {a} -> {b}"
    tenants = [folder.inventory.get("tenants", {}) for folder in (old, new)]
    for name in dict.fromkeys([*tenants[0], *tenants[1]]):
        a, b = (found.get(name, {}).get("quota_gpus") for found in tenants)
        if a != b:
            yield f"tenant {name}: {'none' if a is None else a} -> {'none' if b is None else b} GPUs"


def _count(folder: Folder, role: str) -> int:
    return sum(int(g["count"]) for g in folder.inventory.get("groups", []) if g["role"] == role)


def read_plan(path: Path) -> Plan:
    """Read a saved plan.

    Raises:
        InputError: it is none.
        WorldError: it cannot be read.
    """
    hint = "save one with 'clusterwright plan BUNDLE --against FOLDER --out FILE'"
    try:
        data = json.loads(path.read_text("utf-8"))
        if data.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        changes = tuple(Change(**{**c, "diff": tuple(c["diff"])}) for c in data.pop("changes"))
        plan = Plan(changes=changes, summary=tuple(data.pop("summary")), **data)
        texts = (plan.bundle, plan.bundle_sha256, plan.deployed, plan.deployed_sha256, plan.site)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a folder is no text")
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise WorldError(FINDINGS["DEPLOY-PLAN"].at(str(path), said, hint)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = f"cannot be used as a plan: {type(error).__name__}: {error}"[:200]
        raise InputError(FINDINGS["DEPLOY-PLAN"].at(str(path), said, hint)) from None
    return plan
