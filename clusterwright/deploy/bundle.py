"""A bundle: the files of one cluster, as they are made and as they are read back from a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from clusterwright.deploy.codes import FINDINGS
from clusterwright.errors import InputError, WorldError

__all__ = ["INVENTORY", "MANIFEST", "SCHEMA", "Check", "Fact", "File", "Folder"]

MANIFEST = "manifest.json"
INVENTORY = "inventory.json"
SCHEMA = "clusterwright/bundle/1"


class File(NamedTuple):
    """One file of a bundle.

    Attributes:
        path: relative, ``/`` between folders; the first folder is the target's.
        text: its content.
        executable: whether it is a program.
        after: what makes a change of it take effect on a running cluster, such as ``scontrol reconfigure``; empty for
            what is read anew each time.
    """

    path: str
    text: str
    executable: bool = False
    after: str = ""


class Fact(NamedTuple):
    """One thing that a file says, read back from it, so that files can be held against each other.

    Attributes:
        kind: ``node.gpus``, ``node.address``, ``node.bmc``, ``node.rack``, ``node.unit``, ``service.port``,
            ``tenant.quota``, ``tenant.share`` ...
        key: of what: a host, a service (key of ``PORTS``), a tenant.
        value: as plain data.
        file: that says so.
    """

    kind: str
    key: str
    value: Any
    file: str


class Check(NamedTuple):
    """One judgement of one file.

    Attributes:
        file: path in the bundle.
        judge: ``promtool``, ``slurmctld``, ``kubernetes-validate``, ``clusterwright`` ...
        version: of the judge; empty for our own.
        level: ``tool`` (the program that will read it), ``schema`` (its published schema), ``own`` (our own reading),
            ``none`` (nobody looked).
        ok: accepted.
        message: what was looked at, or what is wrong and where.
        written_for: the release that the file is written for, where the judge is older; else empty.
        left_out: what an older judge was therefore not given, separated by commas.
    """

    file: str
    judge: str
    version: str
    level: str
    ok: bool
    message: str
    written_for: str = ""
    left_out: str = ""


@dataclass(frozen=True)
class Folder:
    """A bundle on disk.

    Raises (by :meth:`open`):
        InputError: it holds no bundle.
        WorldError: it cannot be read.
    """

    root: Path
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, root: Path) -> Folder:
        """Read the manifest of a bundle."""
        hint = "write one with 'clusterwright render DESIGN --out DIR'"
        try:
            data = json.loads((root / MANIFEST).read_text("utf-8"))
            files = data["files"]
            if data["schema"] != SCHEMA or not all(isinstance(x, str) for pair in files.items() for x in pair):
                raise ValueError("it is not the manifest of a bundle")
            return cls(root, data)
        except FileNotFoundError:
            raise InputError(FINDINGS["DEPLOY-NOT-A-BUNDLE"].at(str(root), "holds no manifest.json", hint)) from None
        except OSError as error:
            said = f"cannot be read: {error.strerror or error}"
            raise WorldError(FINDINGS["DEPLOY-NOT-A-BUNDLE"].at(str(root), said, hint)) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            said = f"its manifest.json cannot be used: {error}"[:200]
            raise InputError(FINDINGS["DEPLOY-NOT-A-BUNDLE"].at(str(root), said, hint)) from None

    @property
    def paths(self) -> list[str]:
        """Every file of the manifest, sorted."""
        return sorted(self.manifest["files"])

    def glob(self, *patterns: str) -> list[str]:
        """The files whose paths match one of the patterns (``*`` also matches ``/``), sorted."""
        return [path for path in self.paths if any(fnmatchcase(path, pattern) for pattern in patterns)]

    def has(self, path: str) -> bool:
        """Whether the manifest lists the file and it is there."""
        return path in self.manifest["files"] and (self.root / path).is_file()

    def read(self, path: str) -> str:
        """The text of a file; a missing or undecodable one is empty (the manifest's own check says so)."""
        try:
            return (self.root / path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    @cached_property
    def inventory(self) -> Mapping[str, Any]:
        """What :data:`INVENTORY` holds; empty when it cannot be read."""
        try:
            found = json.loads(self.read(INVENTORY) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def versions(self) -> Mapping[str, str]:
        """Target -> version that its files are written for, where it has one."""
        found = self.manifest.get("versions", {})
        return found if isinstance(found, dict) else {}

    def changed(self) -> Iterator[tuple[str, str]]:
        """Files that are not as the manifest says, with what is wrong."""
        from clusterwright.cluster import edited_files

        for path in self.paths:
            if not (self.root / path).is_file():
                yield path, "is missing"
        for path in edited_files(self.root):
            yield path, "differs from the manifest" if path in self.manifest["files"] else "is not in the manifest"
