"""Playbooks and tasks: keywords, modules, options, choices, and that every name they use is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from jinja2 import TemplateError

from clusterwright.deploy.targets.ansible.naming import ROOT
from clusterwright.deploy.targets.ansible.reading import ENVIRONMENT, Book, names_in

__all__ = ["known_names", "playbook", "strings", "table", "tasks", "undefined", "used_names"]

_MAGIC = {
    "ansible_facts",
    "ansible_user",
    "group_names",
    "groups",
    "hostvars",
    "inventory_dir",
    "inventory_hostname",
    "item",
    "lookup",
    "omit",
    "decommission_confirm",
}
"""Names that Ansible sets, and those that an operator gives with ``-e``."""
_BARE = ("when", "changed_when", "failed_when", "until", "that")
"""Keywords whose text is an expression without braces."""
_FREE = ("ansible.builtin.set_fact",)
_SECRET = re.compile(r"\bsecret_\w+")
_MODE = re.compile(r"0[0-7]{3}|[0-7]{4}|preserve|\{\{.*\}\}")
_KUBEADM = "{{ bundle_dir }}/{{ kubernetes_folder }}/kubeadm/"
_IMPORTS = ("ansible.builtin.import_tasks", "ansible.builtin.include_tasks")


@cache
def table(name: str) -> Any:
    """A table of ``data/``."""
    text = files("clusterwright.deploy.targets.ansible").joinpath("data", f"{name}.json").read_text("utf-8")
    return json.loads(text)


# --- names ---


@lru_cache(maxsize=4)
def known_names(book: Book) -> set[str]:
    """Variables that inventory, tasks and Ansible set."""
    made = set(_MAGIC)
    for values in book.variables.values():
        made |= set(values)
    for path, data in book.data.items():
        if "/roles/" in path and isinstance(data, list):
            for task in data:
                if isinstance(task, dict):
                    made |= {task["register"]} if isinstance(task.get("register"), str) else set()
                    for key in ("vars", *_FREE):
                        made |= set(task[key]) if isinstance(task.get(key), dict) else set()
    return made


@lru_cache(maxsize=4)
def used_names(book: Book) -> set[str]:
    """Variables that tasks, templates and other variables read."""
    made: set[str] = set()
    for path, data in book.data.items():
        if "/inventory/" in path and "/group_vars/" not in path:
            continue
        for text in strings(data):
            made |= _names(text)
    for path in book.folder.glob(f"{ROOT}/roles/*/templates/*"):
        made |= _names(book.folder.read(path))
    return made


def _names(text: str) -> set[str]:
    try:
        return names_in(text)
    except TemplateError:
        return set()


def strings(data: Any, bare: bool = False) -> Iterator[str]:
    """Every text in a document; bare expressions are put in braces."""
    if isinstance(data, str):
        yield f"{{{{ {data} }}}}" if bare else data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from strings(value, key in _BARE)
    elif isinstance(data, list):
        for value in data:
            yield from strings(value, bare)


def undefined(book: Book, text: str, known: set[str]) -> Iterator[str]:
    """What is wrong with a template: syntax, an unknown filter, a name that nothing sets."""
    try:
        ENVIRONMENT.from_string(text)
        missing = names_in(text) - known
    except TemplateError as error:
        yield f"template {text[:60]!r}: {error}"[:200]
        return
    for name in sorted(missing):
        yield f"the variable {name} is set nowhere"


# --- playbooks ---


def playbook(book: Book, path: str) -> Iterator[str]:
    """A list of plays."""
    plays = book.data.get(path)
    if not isinstance(plays, list) or not plays:
        yield "holds no list of plays"
        return
    for play in plays:
        if not isinstance(play, dict) or not play.get("name"):
            yield "a play has no name"
        elif "ansible.builtin.import_playbook" in play:
            wanted = (PurePosixPath(path).parent / str(play["ansible.builtin.import_playbook"])).as_posix()
            if not book.folder.has(wanted):
                yield f"imports {wanted}, which is not there"
        else:
            yield from _play(book, play)


def _play(book: Book, play: Mapping[str, Any]) -> Iterator[str]:
    at = f"play '{play['name']}'"
    if extra := set(play) - set(table("keywords")["play"]):
        yield f"{at}: no such keyword: {', '.join(sorted(map(str, extra)))}"
    groups = {name for hosts in book.sites.values() for name in hosts.groups}
    for word in re.split(r"[:,]", str(play.get("hosts", ""))):
        if word.lstrip("!&") not in groups:
            yield f"{at}: no group {word or 'of hosts'} in the inventory"
    share = play.get("max_fail_percentage", 0)
    if not isinstance(share, int | float) or not 0 <= share <= 100:
        yield f"{at}: max_fail_percentage is {share}"
    serial = play.get("serial", 1)
    for step in serial if isinstance(serial, list) else [serial]:
        if not re.fullmatch(r"[1-9]\d*%?", str(step)):
            yield f"{at}: serial is {step}"
    for role in play.get("roles") or ["?"]:
        name = role.get("role") if isinstance(role, dict) else role
        if not book.folder.has(f"{ROOT}/roles/{name}/tasks/main.yml"):
            yield f"{at}: there is no role {name}"


# --- tasks ---


def tasks(book: Book, path: str) -> Iterator[str]:
    """A list of tasks or handlers of a role."""
    listed = book.data.get(path)
    if not isinstance(listed, list) or not listed:
        yield "holds no list of tasks"
        return
    known, kind = known_names(book), "handler" if "/handlers/" in path else "task"
    seen: set[str] = set()
    for task in listed:
        if not isinstance(task, dict) or not isinstance(task.get("name"), str):
            yield "a task has no name"
            continue
        if task["name"] in seen:
            yield f"two tasks are named '{task['name']}'"
        seen.add(task["name"])
        for said in (*_module(task, kind), *_references(book, path, task), *_care(task)):
            yield f"task '{task['name']}': {said}"
        for text in strings(task):
            yield from (f"task '{task['name']}': {said}" for said in undefined(book, text, known))


def _module(task: Mapping[str, Any], kind: str) -> Iterator[str]:
    modules, keywords = table("modules"), set(table("keywords")[kind])
    rest = [key for key in task if key not in keywords]
    if len(rest) != 1 or rest[0] not in modules:
        yield f"must use one module by its full name, not {', '.join(map(str, rest)) or 'none'}"
        return
    found, options = modules[rest[0]], task[rest[0]]
    if not isinstance(options, dict):
        if rest[0] not in (*_IMPORTS, "ansible.builtin.meta"):
            yield f"{rest[0]} takes a mapping"
        return
    if rest[0] in _FREE:
        return
    if extra := set(options) - set(found["options"]):
        yield f"{rest[0]} has no option {', '.join(sorted(extra))}"
    if lacking := set(found["required"]) - set(options):
        yield f"{rest[0]} needs {', '.join(sorted(lacking))}"
    for name, value in options.items():
        choices = found["choices"].get(name)
        if choices and isinstance(value, str) and "{{" not in value and value not in choices:
            yield f"{rest[0]}: {name} is {value}, not one of {', '.join(map(str, choices))}"


def _references(book: Book, path: str, task: Mapping[str, Any]) -> Iterator[str]:
    role = PurePosixPath(path).parents[1].as_posix()
    notified = task.get("notify") or []
    for name in [notified] if isinstance(notified, str) else notified:
        if name not in _handlers(book, role):
            yield f"notifies '{name}', which is no handler of the role"
    for module, folder in (("ansible.builtin.template", "templates"), ("ansible.builtin.copy", "files")):
        source = (task.get(module) or {}).get("src", "") if isinstance(task.get(module) or {}, dict) else ""
        if source and "{{" not in str(source) and not book.folder.has(f"{role}/{folder}/{source}"):
            yield f"there is no file {folder}/{source}"
    yield from _copied(book, task)
    for module in _IMPORTS:
        if module in task and not book.folder.has(f"{role}/tasks/{task[module]}"):
            yield f"there is no file tasks/{task[module]}"


def _copied(book: Book, task: Mapping[str, Any]) -> Iterator[str]:
    """Files of the Kubernetes target that a task copies: each must lie in the bundle, for every site.

    A bundle of this target alone (``render --target ansible``) holds no file of the other, and is not judged by it.
    """
    options = task.get("ansible.builtin.copy")
    source = str(options.get("src", "")) if isinstance(options, dict) else ""
    if not source.startswith(_KUBEADM) or not book.folder.glob("kubernetes/*"):
        return
    name = source.removeprefix(_KUBEADM)
    listed = task.get("loop")
    for site in book.folder.inventory.get("sites", []):
        for one in listed if name == "{{ item }}" and isinstance(listed, list) else [name]:
            wanted = f"kubernetes/{site['name']}/kubeadm/{one}"
            if not book.folder.has(wanted):
                yield f"copies {wanted}, which is not in the bundle"


def _handlers(book: Book, role: str) -> set[str]:
    listed = book.data.get(f"{role}/handlers/main.yml")
    return {str(one.get("name")) for one in listed if isinstance(one, dict)} if isinstance(listed, list) else set()


def _care(task: Mapping[str, Any]) -> Iterator[str]:
    """What goes wrong later: octal modes that YAML reads as numbers, secrets in logs, commands that always change."""
    module = next((key for key in task if str(key).startswith("ansible.builtin.")), "")
    options = task.get(module)
    options = options if isinstance(options, dict) else {}
    if "mode" in options and not (isinstance(options["mode"], str) and _MODE.fullmatch(options["mode"])):
        yield f"mode must be quoted octal digits, not {options['mode']!r}"
    if module in ("ansible.builtin.command", "ansible.builtin.shell") and not (
        "changed_when" in task or "creates" in options
    ):
        yield "a command must say when it changes something"
    if task.get("no_log") is not True and any(_SECRET.search(text) for text in strings(options)):
        yield "reads a secret without no_log"
