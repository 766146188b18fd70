"""Templates, scripts, units and settings of the target."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator

from clusterwright.deploy.targets.ansible.check_tasks import known_names, table, undefined
from clusterwright.deploy.targets.ansible.naming import ROOT
from clusterwright.deploy.targets.ansible.reading import Book

__all__ = ["script", "settings", "template", "unit"]

_LINT = {
    ".ansible-lint": {"profile", "offline", "skip_list", "exclude_paths"},
    ".yamllint": {"extends", "rules"},
}
_SHELL = re.compile(r"\$\{?#?([A-Z][A-Z0-9_]+)")
_ASSIGNED = re.compile(r"(?:^|[;\s(])([A-Z][A-Z0-9_]+)=", re.M)
_SHELL_OWN = {"IFS", "PATH", "HOME"}
_UNIT = {
    "Unit": ["Description", "After", "Wants", "Before", "Requires", "StartLimitIntervalSec", "StartLimitBurst"],
    "Service": [
        "Type",
        "RemainAfterExit",
        "ExecStart",
        "Restart",
        "RestartSec",
        "TimeoutStartSec",
        "Nice",
        "User",
        "Environment",
    ],
    "Timer": ["OnBootSec", "OnUnitActiveSec", "OnCalendar", "RandomizedDelaySec", "Persistent"],
    "Install": ["WantedBy"],
}
"""Sections of systemd units and the keys that ours use (systemd.unit(5), systemd.service(5), systemd.timer(5))."""
_TYPES = {"simple", "exec", "forking", "oneshot", "notify", "idle"}


def template(book: Book, path: str) -> Iterator[str]:
    """A Jinja template of Ansible: syntax, and names that are set."""
    text = book.folder.read(path)
    if not text.strip():
        yield "is empty"
    yield from undefined(book, text, known_names(book))


def script(book: Book, path: str) -> Iterator[str]:
    """A shell script: how it starts, and that the settings it reads are written by a template."""
    text = book.folder.read(path)
    if not text.startswith("#!/usr/bin/env bash\n"):
        yield "does not start with #!/usr/bin/env bash"
    if not re.search(r"^set -(e?)uo pipefail$", text, re.M):
        yield "does not stop at unset variables (set -uo pipefail)"
    role = path.rsplit("/files/", 1)[0]
    given = set(_SHELL_OWN) | set(_ASSIGNED.findall(text))
    for one in book.folder.glob(f"{role}/templates/*"):
        given |= set(_ASSIGNED.findall(book.folder.read(one)))
    for name in sorted(set(_SHELL.findall(text)) - given):
        yield f"${name} is set nowhere"
    stack = len(re.findall(r"^\s*(?:if|for|while|until|case) ", text, re.M))
    closed = len(re.findall(r"^\s*(?:fi|done|esac)\b", text, re.M))
    if stack != closed:
        yield f"{stack} blocks are opened and {closed} closed"


def unit(text: str) -> Iterator[str]:
    """A systemd unit."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        yield " ".join(str(error).split())[:160]
        return
    for section in parser.sections():
        if section not in _UNIT:
            yield f"there is no section [{section}]"
            continue
        for key, value in parser[section].items():
            if key not in _UNIT[section]:
                yield f"[{section}] has no key {key}"
            elif not value:
                yield f"[{section}] {key} is empty"
            elif key == "Type" and value not in _TYPES:
                yield f"[{section}] Type is {value}"
            elif key.endswith("Sec") and not re.fullmatch(r"\d+(ms|s|min|h|d)?", value):
                yield f"[{section}] {key} is {value}, no time"
            elif key == "ExecStart" and not value.startswith("/"):
                yield "[Service] ExecStart is no absolute path"
    if not {"Service", "Timer"} & set(parser.sections()):
        yield "has neither [Service] nor [Timer]"


def settings(book: Book, path: str) -> Iterator[str]:
    """``ansible.cfg`` and the rules of the linters."""
    name = path.rsplit("/", 1)[1]
    if name in _LINT:
        held = book.data.get(path)
        extra = set(held) - _LINT[name] if isinstance(held, dict) else {"no mapping"}
        yield from (f"there is no key {key}" for key in sorted(extra))
        return
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(book.folder.read(path))
    except configparser.Error as error:
        yield " ".join(str(error).split())[:160]
        return
    known = table("config")
    for section in parser.sections():
        if section not in known:
            yield f"there is no section [{section}]"
            continue
        for key, value in parser[section].items():
            yield from (f"[{section}] {key} {said}" for said in _setting(known[section].get(key), value))
    for key, wanted in (("inventory", "inventory"), ("roles_path", "roles")):
        if parser.get("defaults", key, fallback="") != wanted:
            yield f"[defaults] {key} must be {wanted}"
    if not book.folder.glob(f"{ROOT}/inventory/*.yml"):
        yield "there is no inventory"


def _setting(kind: str | None, value: str) -> Iterator[str]:
    if kind is None:
        yield "is no setting of Ansible"
    elif kind in ("bool", "boolean") and value.lower() not in ("true", "false"):
        yield f"is {value}, not True or False"
    elif kind in ("int", "integer") and not value.isdigit():
        yield f"is {value}, no whole number"
