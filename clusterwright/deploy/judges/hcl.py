"""HashiCorp's own parser of HCL, from Python."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder

__all__ = ["judge_hcl"]


def judge_hcl(folder: Folder, *patterns: str) -> Iterator[Check]:
    """Parse each file; yields nothing where the parser is not installed."""
    try:
        import pygohcl
    except ImportError:
        return
    from importlib.metadata import version

    for path in folder.glob(*patterns):
        try:
            pygohcl.loads(folder.read(path))
            wrong = ""
        except Exception as error:  # the parser raises classes of its own for each kind of mistake
            wrong = " ".join(str(error).split())[:200] or type(error).__name__
        yield Check(path, "pygohcl", version("pygohcl"), "tool", not wrong, wrong or "parsed")
