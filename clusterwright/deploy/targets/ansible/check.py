"""Our own reading of the target's files: inventory, variables, playbooks, tasks, templates, scripts, settings."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.ansible.check_files import script, settings, template, unit
from clusterwright.deploy.targets.ansible.check_tasks import playbook, tasks
from clusterwright.deploy.targets.ansible.check_values import group_vars, inventory
from clusterwright.deploy.targets.ansible.naming import ROOT
from clusterwright.deploy.targets.ansible.reading import Book

__all__ = ["check"]

JUDGE = "clusterwright"


def check(folder: Folder) -> Iterator[Check]:
    """Judge every file of the target."""
    book = Book(folder)
    for path in folder.glob(f"{ROOT}/*"):
        wrong = [book.wrong[path]] if path in book.wrong else list(_wrong(book, path))
        for said in wrong[:5]:
            yield Check(path, JUDGE, "", "own", False, said)
        if not wrong:
            yield Check(path, JUDGE, "", "own", True, _looked(path))


def _wrong(book: Book, path: str) -> Iterator[str]:
    parts = path.split("/")
    if parts[1] == "inventory":
        yield from group_vars(book, path) if parts[2] == "group_vars" else inventory(book, path)
    elif parts[1] == "roles" and len(parts) >= 5:
        yield from _role_file(book, path, parts[3])
    elif parts[-1].startswith((".", "ansible.cfg")):
        yield from settings(book, path)
    elif path.endswith(".yml"):
        yield from playbook(book, path)


def _role_file(book: Book, path: str, kind: str) -> Iterator[str]:
    if kind in ("tasks", "handlers"):
        yield from tasks(book, path)
    elif path.endswith(".j2"):
        yield from template(book, path)
    elif path.endswith(".sh"):
        yield from script(book, path)
    elif path.endswith((".service", ".timer")):
        yield from unit(book.folder.read(path))


def _looked(path: str) -> str:
    parts = path.split("/")
    if parts[1] == "inventory":
        return "names, types and references" if "group_vars" in parts else "ranges, groups, addresses"
    if "tasks" in parts or "handlers" in parts:
        return "modules and their options, variables, handlers, files"
    if path.endswith(".j2"):
        return "syntax and variables"
    if path.endswith(".sh"):
        return "variables and safety options"
    return "keys and references"
