"""Run folders: written whole or not at all, never over somebody's edits.

A run folder holds what one run produced and ``manifest.json`` with the sha256 of each file. It is built beside its
place and swapped in by renames; a folder whose files no longer match its manifest was edited and is left alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
    Code(
        "RUN-PLACE",
        "error",
        "That place cannot hold a run",
        "A run folder is replaced as a whole, so it can be neither a file nor the current folder nor one above it. "
        "Nothing was changed; name a folder of its own with --out.",
    ),
    Code("RUN-NOT-FOUND", "error", "No run there", "The path holds no run: no cluster.json and no manifest."),
)


def write_run(
    folder: Path, files: Mapping[str, bytes], about: Mapping[str, Any] | None = None, programs: Iterable[str] = ()
) -> None:
    """Replace the run folder ``folder`` by ``files`` and their manifest, atomically.

    A link is followed: the folder that it names is replaced, and the link stays.

    Args:
        folder: to write.
        files: path in it -> content.
        about: what the manifest says beside version and files, such as another ``schema``.
        programs: paths of files that can be executed.

    Raises:
        InputError: the folder is there and was edited, or is not a run folder, or cannot be one.
        WorldError: it cannot be written; then nothing was changed.
    """
    place = _place(folder)
    with _writable(folder), _alone(place):
        changed = edited_files(place)
        if changed:
            raise InputError(
                FINDINGS["RUN-EDITED"].at(
                    str(folder),
                    f"holds files that this program did not write: {', '.join(changed[:5])}",
                    "choose another folder with --out, or remove this one",
                )
            )
        made = Path(tempfile.mkdtemp(prefix=_prefix(place), dir=place.parent))
        try:
            _fill(made, files, about or {}, programs)
            _swap(made, place)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def add_file(folder: Path, name: str, data: bytes) -> None:
    """Write one more file into a run folder, atomically, and enter it in the manifest."""
    with _writable(folder), _alone(folder):
        manifest = read_manifest(folder)
        target = folder / name
        if target.exists() and not _is_written(target, manifest.get(name)):
            hint = "write it elsewhere with --out"
            raise InputError(FINDINGS["RUN-EDITED"].at(str(target), "was edited since it was written", hint))
        _write_atomically(target, data)
        manifest[name] = _digest(data)
        _write_atomically(folder / MANIFEST, _manifest_bytes(manifest, {}))


def edited_files(folder: Path) -> list[str]:
    """Names in ``folder`` that differ from its manifest or are not in it, links and devices among them.

    Empty when the folder does not exist or is empty. A strange folder may hold millions of files, so the search ends
    at the first :data:`MOST_NAMED`.
    """
    if not folder.is_dir():
        return [folder.name] if folder.exists() else []
    recorded, found = read_manifest(folder), list[str]()
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if (path.is_dir() and not path.is_symlink()) or name == MANIFEST or _is_written(path, recorded.get(name)):
            continue
        found.append(name)
        if len(found) >= MOST_NAMED:
            break
    return sorted(found)


MOST_NAMED = 100
"""Edited files that are looked for; one is enough to refuse."""


def _is_written(path: Path, digest: str | None) -> bool:
    """True for a plain file with that sha256; nothing else is opened, for a pipe would never end."""
    return digest is not None and path.is_file() and not path.is_symlink() and digest == _digest(path.read_bytes())


def _place(folder: Path) -> Path:
    """Where the run folder truly lies; refuses what cannot be replaced as a whole."""
    with _writable(folder):
        try:
            real, here = folder.resolve(), Path.cwd()
        except RuntimeError:  # Python before 3.13 says so of a link to itself
            real, here = folder, folder
    if real.is_symlink():
        raise _refused(folder, "is a link to itself")
    if real.exists() and not real.is_dir():
        raise _refused(folder, "is a file")
    if real == here or real in here.parents:
        raise _refused(folder, "is the current folder, or one above it")
    return real


def _refused(folder: Path, said: str) -> InputError:
    return InputError(FINDINGS["RUN-PLACE"].at(str(folder), said, "name a folder of its own with --out"))


def read_manifest(folder: Path) -> dict[str, str]:
    """File name -> sha256; empty when there is no readable manifest."""
    if not (folder / MANIFEST).is_file():
        return {}
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {str(name): str(digest) for name, digest in files.items()} if isinstance(files, dict) else {}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _manifest_bytes(files: Mapping[str, str], about: Mapping[str, Any]) -> bytes:
    head = {"schema": "clusterwright/manifest/1", "version": __version__, **about}
    document = {**head, "files": dict(sorted(files.items()))}
    return (json.dumps(document, indent=1) + "\n").encode()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for other runs that write beside ``folder``, by a lock on the folder around it; it leaves no file."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    around = os.open(folder.parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(around, fcntl.LOCK_EX)
        yield
    finally:
        os.close(around)


def _fill(folder: Path, files: Mapping[str, bytes], about: Mapping[str, Any], programs: Iterable[str]) -> None:
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for name in programs:
        (folder / name).chmod(0o755)
    (folder / MANIFEST).write_bytes(_manifest_bytes({name: _digest(data) for name, data in files.items()}, about))
    folder.chmod(0o755)


def _swap(made: Path, folder: Path) -> None:
    """Put ``made`` in the place of ``folder``; the old one is moved aside first and put back when that fails."""
    if not folder.exists():
        made.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=_prefix(folder) + "old.", dir=folder.parent)) / "old"
    try:
        folder.rename(aside)
        try:
            made.rename(folder)
        except BaseException:
            with suppress(OSError):
                aside.rename(folder)
            raise
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)


def _prefix(folder: Path) -> str:
    """Of the names of what is made beside ``folder``; cut, for a name may have 255 bytes."""
    return f".{folder.name[:40]}."


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
