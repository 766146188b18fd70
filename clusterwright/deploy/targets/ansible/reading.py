"""The rendered folder read back: inventory with its ranges, variables, and templates evaluated as Ansible does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import yaml
from jinja2 import TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.targets.ansible.naming import ROOT
from clusterwright.deploy.text import load_yaml

__all__ = ["ENVIRONMENT", "FILTERS", "Book", "Hosts", "expanded", "names_in"]

_RANGE = re.compile(r"(?P<head>[A-Za-z0-9.-]*)\[(?P<first>\d+):(?P<last>\d+)\](?P<tail>[A-Za-z0-9.-]*)")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_MOST = 1_000_000
FILTERS = [
    "b64decode",
    "basename",
    "bool",
    "combine",
    "dictsort",
    "dirname",
    "extract",
    "from_yaml",
    "regex_findall",
    "regex_replace",
    "regex_search",
    "rejectattr",
    "split",
    "unique",
]
"""Filters of Ansible beside Jinja's own that the roles use."""


def _regex_search(value: object, pattern: str) -> str:
    found = re.search(pattern, str(value))
    return found.group(0) if found else ""


def _environment() -> SandboxedEnvironment:
    made = SandboxedEnvironment(trim_blocks=True, autoescape=False)  # text, not HTML
    for name in FILTERS:
        made.filters.setdefault(name, lambda value, *_: value)
    made.filters["regex_search"] = _regex_search
    made.tests.update({name: lambda *_: True for name in ("version", "changed", "match", "search", "failed")})
    made.globals["lookup"] = lambda *_: ""
    return made


ENVIRONMENT = _environment()
"""For syntax, names and the formula of addresses; what needs a running Ansible is not evaluated."""


def names_in(text: str) -> set[str]:
    """Names that a template reads but does not set.

    Raises:
        jinja2.TemplateError: it is no template.
    """
    return meta.find_undeclared_variables(ENVIRONMENT.parse(text))


def expanded(pattern: str) -> list[str]:
    """The hosts of a line of the inventory.

    Raises:
        ValueError: it is no name, no range, or an empty one.
    """
    if _PLAIN.fullmatch(pattern):
        return [pattern]
    found = _RANGE.fullmatch(pattern)
    if found is None:
        raise ValueError(f"{pattern[:60]!r} is neither a host nor a range")
    first, last = found["first"], found["last"]
    many = int(last) - int(first) + 1
    if len(first) != len(last) or not 0 < many <= _MOST:
        raise ValueError(f"{pattern[:60]!r} is an empty or uneven range")
    width = len(first)
    return [f"{found['head']}{number:0{width}d}{found['tail']}" for number in range(int(first), int(last) + 1)]


class Hosts:
    """An inventory file.

    Attributes:
        direct: group -> hosts that it names itself.
        children: group -> groups that it names.
        wrong: what cannot be read.
    """

    def __init__(self, tree: Any) -> None:
        self.direct: dict[str, list[str]] = {}
        self.children: dict[str, list[str]] = {}
        self.wrong: list[str] = []
        if not isinstance(tree, dict) or set(tree) != {"all"}:
            self.wrong.append("the file must hold the group 'all' alone")
            return
        self._read("all", tree["all"])
        defined = set(self.direct) | {name for name, below in self.children.items() if below}
        for name, below in self.children.items():
            for child in below:
                if child not in defined:
                    self.wrong.append(f"group {name} has the child {child}, which has no hosts")

    def _read(self, name: str, body: Any) -> None:
        self.children.setdefault(name, [])
        if body is None:
            return
        if not isinstance(body, dict) or (extra := set(body) - {"hosts", "children", "vars"}):
            self.wrong.append(f"group {name}: only hosts, children and vars may stand there, not {sorted(extra)[:3]}")
            return
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            self.wrong.append(f"{name!r} is no name of a group")
        for pattern in body.get("hosts") or {}:
            try:
                self.direct.setdefault(name, []).extend(expanded(str(pattern)))
            except ValueError as error:
                self.wrong.append(f"group {name}: {error}")
        for child, below in (body.get("children") or {}).items():
            self.children[name].append(str(child))
            self._read(str(child), below)

    def members(self, group: str, seen: frozenset[str] = frozenset()) -> list[str]:
        """Hosts of a group and of those below it."""
        if group in seen:
            return []
        below = (self.members(child, seen | {group}) for child in self.children.get(group, ()))
        return list(dict.fromkeys([*self.direct.get(group, []), *(name for many in below for name in many)]))

    @cached_property
    def groups(self) -> Mapping[str, list[str]]:
        """Every group with its hosts."""
        return {name: self.members(name) for name in {**self.children, **self.direct}}

    @cached_property
    def ranked(self) -> list[str]:
        """Groups in the order in which their variables are laid over each other: parents first."""
        depth: dict[str, int] = {}

        def down(name: str, level: int) -> None:
            if level > depth.get(name, -1) and level < 64:
                depth[name] = level
                for child in self.children.get(name, ()):
                    down(child, level + 1)

        down("all", 0)
        return sorted(depth, key=lambda name: (depth[name], name))


class Book:
    """The folder of the target.

    Attributes:
        data: path -> what each YAML file holds; ``wrong``: path -> why one cannot be read.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.data: dict[str, Any] = {}
        self.wrong: dict[str, str] = {}
        for path in folder.glob(f"{ROOT}/*.yml", f"{ROOT}/*.yaml", f"{ROOT}/.*lint"):
            try:
                self.data[path] = load_yaml(folder.read(path))
            except (yaml.YAMLError, ValueError, RecursionError) as error:
                self.wrong[path] = " ".join(str(error).split())[:200]

    @cached_property
    def sites(self) -> Mapping[str, Hosts]:
        """Inventory file -> its hosts."""
        places = [p for p in self.data if PurePosixPath(p).parent.as_posix() == f"{ROOT}/inventory"]
        return {path: Hosts(self.data[path]) for path in places}

    @cached_property
    def variables(self) -> Mapping[str, Mapping[str, Any]]:
        """Group -> its variables."""
        found = self.folder.glob(f"{ROOT}/inventory/group_vars/*.yml")
        held = {PurePosixPath(path).stem: self.data.get(path) for path in found}
        return {name: values for name, values in held.items() if isinstance(values, dict)}

    def hosts(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Every host: inventory file, name, its variables as they are laid over each other."""
        for path, hosts in self.sites.items():
            ranked = [name for name in hosts.ranked if name in self.variables]
            of: dict[str, list[str]] = {name: [] for name in hosts.groups.get("all", [])}
            for group in ranked:
                for name in hosts.groups[group]:
                    of[name].append(group)
            laid: dict[tuple[str, ...], Mapping[str, Any]] = {}
            for name, groups in of.items():
                key = tuple(groups)
                if key not in laid:
                    laid[key] = {k: v for group in groups for k, v in self.variables[group].items()}
                yield path, name, laid[key]

    def value(self, name: str, values: Mapping[str, Any], host: str, depth: int = 0) -> Any:
        """A variable of a host, templates evaluated.

        Raises:
            jinja2.TemplateError: a template is none. KeyError: a name is not set. ValueError: it runs in a circle.
        """
        if name == "inventory_hostname":
            return host
        found = values[name]
        if not isinstance(found, str) or ("{{" not in found and "{%" not in found):
            return found
        if depth > 8:
            raise ValueError(f"{name} is set in terms of itself")
        inner = {one: self.value(one, values, host, depth + 1) for one in _names(found)}
        return _template(found).render(inner)


_TEMPLATES: dict[str, tuple[Any, set[str]]] = {}


def _compiled(text: str) -> tuple[Any, set[str]]:
    if text not in _TEMPLATES:
        if len(_TEMPLATES) > 256:
            _TEMPLATES.clear()
        _TEMPLATES[text] = ENVIRONMENT.from_string(text), names_in(text)
    return _TEMPLATES[text]


def _template(text: str) -> Any:
    return _compiled(text)[0]


def _names(text: str) -> set[str]:
    return _compiled(text)[1]


def address(book: Book, values: Mapping[str, Any], host: str) -> str:
    """The management address of a host; empty when it cannot be worked out."""
    try:
        return str(book.value("ansible_host", values, host))
    except (TemplateError, KeyError, ValueError, TypeError, ZeroDivisionError):
        return ""
