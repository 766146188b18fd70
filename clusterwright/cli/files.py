"""Files that verbs write beside run folders: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from clusterwright.cli.codes import FINDINGS
from clusterwright.errors import WorldError

__all__ = ["write_text"]


def write_text(target: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        WorldError: it cannot be written; then nothing was changed.
    """
    temporary = ""
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "is a folder, not a file")
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        said = f"cannot be written: {error.strerror or error}"
        raise WorldError(FINDINGS["CLI-WORLD"].at(str(target), said, "choose another file with --out")) from None
