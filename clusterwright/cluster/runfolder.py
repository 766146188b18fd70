"""Run folders: written whole or not at all, never over somebody's edits.

A run folder holds what one run produced and ``manifest.json`` with the sha256 of each file. It is built beside its
place and swapped in by renames; a folder whose files no longer match its manifest was edited and is left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clusterwright import __version__
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Code, codes

__all__ = ["FINDINGS", "MANIFEST", "add_file", "edited_files", "read_manifest", "write_run"]

MANIFEST = "manifest.json"

FINDINGS = codes(
    Code(
        "RUN-EDITED",
        "error",
        "The run folder was edited",
        "A file of the run folder differs from its manifest, or the folder holds files that no run wrote. Nothing is "
        "overwritten; write to another folder or remove this one.",
    ),
    Code(
        "RUN-NOT-WRITABLE",
        "error",
        "The output cannot be written",
        "The folder cannot be created or written (permissions, a full disk, a file in its place). Nothing was changed.",
    ),
    Code("RUN-NOT-FOUND", "error", "No run there", "The path holds no run: no cluster.json and no manifest."),
)


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace the run folder ``folder`` by ``files`` and their manifest, atomically.

    Raises:
        InputError: the folder is there and was edited, or is not a run folder.
        WorldError: it cannot be written; then nothing was changed.
    """
    changed = edited_files(folder)
    if changed:
        raise InputError(
            FINDINGS["RUN-EDITED"].at(
                str(folder),
                f"holds files that this program did not write: {', '.join(changed[:5])}",
                "choose another folder with --out, or remove this one",
            )
        )
    with _writable(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _fill(made, files)
            _swap(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def add_file(folder: Path, name: str, data: bytes) -> None:
    """Write one more file into a run folder, atomically, and enter it in the manifest."""
    with _writable(folder):
        manifest = read_manifest(folder)
        recorded = manifest.get(name)
        target = folder / name
        if target.exists() and recorded != _digest(target.read_bytes()):
            hint = "write it elsewhere with --out"
            raise InputError(FINDINGS["RUN-EDITED"].at(str(target), "was edited since it was written", hint))
        _write_atomically(target, data)
        manifest[name] = _digest(data)
        _write_atomically(folder / MANIFEST, _manifest_bytes(manifest))


def edited_files(folder: Path) -> list[str]:
    """Names in ``folder`` that differ from its manifest or are not in it; empty when it does not exist or is empty."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        return [folder.name]
    present = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if not p.is_dir()}
    if not present:
        return []
    recorded = read_manifest(folder)
    return sorted(
        name for name, path in present.items() if name != MANIFEST and recorded.get(name) != _digest(path.read_bytes())
    )


def read_manifest(folder: Path) -> dict[str, str]:
    """File name -> sha256; empty when there is no readable manifest."""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {str(name): str(digest) for name, digest in files.items()} if isinstance(files, dict) else {}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _manifest_bytes(files: Mapping[str, str]) -> bytes:
    document = {"schema": "clusterwright/manifest/1", "version": __version__, "files": dict(sorted(files.items()))}
    return (json.dumps(document, indent=1) + "\n").encode()


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    (folder / MANIFEST).write_bytes(_manifest_bytes({name: _digest(data) for name, data in files.items()}))
    folder.chmod(0o755)


def _swap(made: Path, folder: Path) -> None:
    """Put ``made`` in the place of ``folder``; the old one is moved aside first and put back when that fails."""
    if not folder.exists():
        made.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent)) / "old"
    folder.rename(aside)
    try:
        made.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)


def _write_atomically(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "check permissions and free space, or choose another folder with --out"
        raise WorldError(
            FINDINGS["RUN-NOT-WRITABLE"].at(str(folder), f"cannot be written: {error.strerror or error}", hint)
        ) from error
