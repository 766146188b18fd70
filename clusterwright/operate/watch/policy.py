"""The policy of the watcher: data with a form of its own, the packaged one or a site's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.operate.codes import FINDINGS

__all__ = ["Fault", "Policy", "read_policy", "severities"]

_NODE, _JOB = ("drain", "down", "note"), ("restart", "migrate", "none")
_NUMBERS = {"shrink_after_s": (0, 1e6), "check_every_s": (0.1, 1e6)}
_GROUPS = {
    "breaker": {"nodes": (0, 1e6), "share": (0, 1), "window_s": (1, 1e7)},
    "flapping": {"times": (1, 1000), "window_s": (1, 1e8)},
}


@dataclass(frozen=True)
class Fault:
    """What is done about one kind of fault.

    Attributes:
        kind: its name.
        node: ``drain``, ``down`` or ``note``.
        job: ``restart``, ``migrate`` or ``none``.
        alerts: rules that tell of it.
        hold_s: how long the condition must last, whatever the rule says.
        silent: whether a node that answers nobody is this fault.
        repeats: how often it must come before ``note`` becomes ``drain`` and ``restart``; 0 never.
    """

    kind: str
    node: str
    job: str
    alerts: tuple[str, ...] = ()
    hold_s: float = 0.0
    silent: bool = False
    repeats: int = 0


@dataclass(frozen=True)
class Policy:
    """Everything that the watcher decides by; see ``policy.yaml``."""

    breaker_nodes: int
    breaker_share: float
    breaker_window_s: float
    flaps: int
    flap_window_s: float
    shrink_after_s: float
    check_every_s: float
    faults: Mapping[str, Fault]
    xid: Mapping[str, Fault]

    def of_xid(self, code: str, severity: str) -> Fault:
        """What is done about an XID error."""
        return self.xid.get(code) or self.xid.get(severity) or self.xid["info"]

    def most(self, nodes: int) -> int:
        """How many nodes may be taken away within the window."""
        return max(self.breaker_nodes, int(self.breaker_share * nodes))


def read_policy(path: Path | None = None) -> Policy:
    """The packaged policy, with what a site's file says in place of it.

    Raises:
        InputError: with everything that is wrong in the file.
    """
    held = yaml.safe_load(files(__package__).joinpath("policy.yaml").read_text("utf-8"))
    if path is not None:
        try:
            own = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            said = f"cannot be read: {getattr(error, 'strerror', None) or str(error).splitlines()[0]}"
            raise InputError(FINDINGS["OPERATE-POLICY"].at(str(path), said, "version: 1")) from None
        wrong = list(_wrong(path, own, held))
        if wrong:
            raise InputError(wrong)
        held = _laid_over(held, own)
    flat = {key: fault for key, fault in held["xid"].items() if key != "codes"}
    flat |= {str(code): fault for code, fault in held["xid"]["codes"].items()}
    return Policy(
        breaker_nodes=int(held["breaker"]["nodes"]),
        breaker_share=float(held["breaker"]["share"]),
        breaker_window_s=float(held["breaker"]["window_s"]),
        flaps=int(held["flapping"]["times"]),
        flap_window_s=float(held["flapping"]["window_s"]),
        shrink_after_s=float(held["shrink_after_s"]),
        check_every_s=float(held["check_every_s"]),
        faults={kind: _fault(kind, one) for kind, one in held["faults"].items()},
        xid={key: _fault(f"xid-{key}", one) for key, one in flat.items()},
    )


def severities() -> Mapping[str, str]:
    """XID code -> severity, of the table that alerts are written from."""
    return {row["xid"]: row["severity"] for row in table("xid.csv")}


def _fault(kind: str, one: Mapping[str, Any]) -> Fault:
    return Fault(
        kind,
        one["node"],
        one["job"],
        tuple(one.get("alerts", ())),
        float(one.get("hold_s", 0)),
        bool(one.get("silent", False)),
        int(one.get("repeats", 0)),
    )


def _laid_over(base: Any, over: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return base | {key: _laid_over(base[key], value) if key in base else value for key, value in over.items()}


def _wrong(path: Path, own: Any, base: Mapping[str, Any]) -> Iterator[Finding]:
    def say(where: str, text: str, hint: str) -> Finding:
        return FINDINGS["OPERATE-POLICY"].at(f"{path}: {where}", text, hint)

    if not isinstance(own, dict):
        yield say("", "holds no mapping", "version: 1")
        return
    for key, value in own.items():
        if key not in base:
            yield say(str(key), f"no key is called {key!r}", f"one of {', '.join(base)}")
        elif key == "version" and value != 1:
            yield say("version", f"{value!r} is no version", "version: 1")
        elif key in _NUMBERS and not _within(value, _NUMBERS[key]):
            yield say(key, f"{value!r} is no number of seconds", f"{key}: {base[key]}")
        elif key in _GROUPS:
            yield from _wrong_group(say, key, value)
        elif key in ("faults", "xid"):
            yield from _wrong_faults(say, key, value)


def _wrong_group(say: Any, key: str, value: Any) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield say(key, f"{value!r} is no mapping", f"{key}: {{window_s: 600}}")
        return
    for name, number in value.items():
        if name not in _GROUPS[key]:
            yield say(f"{key}.{name}", f"no key is called {name!r}", f"one of {', '.join(_GROUPS[key])}")
        elif not _within(number, _GROUPS[key][name]):
            yield say(f"{key}.{name}", f"{number!r} is out of range", "{} to {}".format(*_GROUPS[key][name]))


def _within(value: Any, span: tuple[float, float]) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and span[0] <= value <= span[1]


def _wrong_faults(say: Any, key: str, value: Any) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield say(key, f"{value!r} is no mapping", f"{key}: {{}}")
        return
    for kind, one in value.items():
        where = f"{key}.{kind}"
        if key == "xid" and kind == "codes":
            yield from _wrong_faults(say, f"{key}.codes", one)
            continue
        if not isinstance(one, dict):
            yield say(where, f"{one!r} is no mapping", "{node: drain, job: restart}")
            continue
        known = {"node", "job", "alerts", "hold_s", "silent", "repeats"}
        yield from (
            say(f"{where}.{name}", f"no key is called {name!r}", ", ".join(sorted(known)))
            for name in one
            if name not in known
        )
        for name, words in (("node", _NODE), ("job", _JOB)):
            if name in one and one[name] not in words:
                yield say(f"{where}.{name}", f"{one[name]!r} is nothing that can be done", f"one of {', '.join(words)}")
            elif name not in one and kind not in _PACKAGED:
                yield say(where, f"does not say what happens to the {name}", f"{name}: {words[0]}")
        if not _within(one.get("hold_s", 0), (0, 1e6)) or not _within(one.get("repeats", 0), (0, 1000)):
            yield say(where, "hold_s or repeats is out of range", "hold_s: 10")
        if not isinstance(one.get("alerts", []), list):
            yield say(f"{where}.alerts", "is a list of rules", "alerts: [GpuMissing]")


_PACKAGED = {"node-dead", "rack-power", "gpu-lost", "gpu-memory", "link-down", "node-slow", "host-memory", "fs-full",
             "critical", "warning", "info", 45, 64}  # fmt: skip
