"""How a cluster is reached: ``site.yaml``, which a lab writes and a real site keeps beside its configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.operate.codes import FINDINGS

__all__ = ["Site", "Watch", "deployed_of", "find_site", "read_site"]


@dataclass(frozen=True)
class Watch:
    """Pace of the watcher.

    Attributes:
        every_s: between two looks.
        dead_after_s: a node that answers nobody for so long is dead.
    """

    every_s: float = 10.0
    dead_after_s: float = 60.0


@dataclass(frozen=True)
class Site:
    """A cluster that runs.

    Attributes:
        path: of the file.
        name: of the cluster.
        slurm_conf: for every client of Slurm; None for the system's own.
        prometheus, alertmanager: addresses; None without.
        token_file: holds the bearer token for Prometheus and Alertmanager; None without.
        bundle: folder of the rendered files; None when the cluster was not rendered.
        design: run folder; None when it was not designed here.
        state: folder of what is remembered: actions, evidence, audit log.
        shared: folder on the file system that all nodes share, the default root of checkpoints.
        take: program and arguments that make the cluster take over the files of ``bundle``; empty without.
        policy: file of the watcher's policy, laid over the packaged one; None without.
        check: program and arguments that judge a node, ``{node}`` in them is its name; empty without.
        exempt: keys of slurm.conf that this site has otherwise than they were rendered, on purpose.
    """

    path: Path
    name: str
    state: Path
    slurm_conf: Path | None = None
    prometheus: str | None = None
    alertmanager: str | None = None
    token_file: Path | None = None
    bundle: Path | None = None
    design: Path | None = None
    shared: Path | None = None
    policy: Path | None = None
    take: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    watch: Watch = field(default=Watch())


def deployed_of(site: Site, planned: str | None = None) -> Path:
    """The folder of the deployed files.

    Args:
        site: the cluster.
        planned: the folder that a plan was made for.

    Raises:
        InputError: the site has none, or another one than the plan.
    """
    if site.bundle is None:
        said = "does not say where the deployed files lie"
        raise InputError(FINDINGS["OPERATE-SITE"].at(f"{site.path}: bundle", said, "bundle: /path/of/the/bundle"))
    if planned is not None and Path(planned) != site.bundle:
        said = f"is {site.bundle}, the plan was made for {planned}"
        raise InputError(FINDINGS["OPERATE-SITE"].at(f"{site.path}: bundle", said, "plan again"))
    return site.bundle


_FOLDERS = ("bundle", "design", "state", "shared", "token_file", "policy")
_KEYS = {"version", "name", "slurm", "prometheus", "alertmanager", "check", "take", "watch", "exempt", *_FOLDERS}
_LISTS = {
    "check": "check: [ssh, '{node}', /etc/slurm/scripts/checks.sh, full]",
    "take": "take: [ansible-playbook, site.yml]",
    "exempt": "exempt: [TaskProlog, TreeWidth]",
}


def find_site(path: Path | None = None) -> Site:
    """The site that is named, or that of ``CLUSTERWRIGHT_SITE``, or of the only lab that is up.

    Raises:
        InputError: none is named and there is not just one lab; or the file is wrong.
    """
    if path is None and (named := os.environ.get("CLUSTERWRIGHT_SITE")):
        path = Path(named)
    if path is None:
        labs = Path(os.environ.get("CLUSTERWRIGHT_LABS", "/run/clusterwright"))
        found = sorted(labs.glob("*/site.yaml")) if labs.is_dir() else []
        if len(found) != 1:
            said = "no site is named and no lab is up" if not found else f"{len(found)} labs are up"
            raise InputError(FINDINGS["OPERATE-NO-SITE"].at("--site", said, "say --site FILE, or 'lab up DESIGN'"))
        path = found[0]
    return read_site(path)


def read_site(path: Path) -> Site:
    """Read a site.

    Raises:
        InputError: with everything that is wrong.
    """
    try:
        held = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or str(error).splitlines()[0]}"
        raise InputError(FINDINGS["OPERATE-SITE"].at(str(path), said, "docs/guides/operating.md shows one")) from None
    if not isinstance(held, dict):
        raise InputError(
            FINDINGS["OPERATE-SITE"].at(str(path), "holds no mapping", "docs/guides/operating.md shows one")
        )
    wrong = list(_wrong(path, held))
    if wrong:
        raise InputError(wrong)
    slurm = held.get("slurm") or {}
    here = path.resolve().parent
    folders: dict[str, Any] = {key: here / held[key] if held.get(key) else None for key in _FOLDERS}
    folders["state"] = folders["state"] or here / "state"
    return Site(
        path=path,
        name=str(held["name"]),
        slurm_conf=here / slurm["conf"] if slurm.get("conf") else None,
        prometheus=held.get("prometheus"),
        alertmanager=held.get("alertmanager"),
        take=tuple(held.get("take") or ()),
        check=tuple(held.get("check") or ()),
        exempt=tuple(held.get("exempt") or ()),
        watch=Watch(**{key: float(value) for key, value in (held.get("watch") or {}).items()}),
        **folders,
    )


def _wrong(path: Path, held: Mapping[Any, Any]) -> Iterable[Finding]:
    def say(key: str, text: str, hint: str = "") -> Finding:
        return FINDINGS["OPERATE-SITE"].at(f"{path}: {key}", text, hint or "docs/guides/operating.md lists the keys")

    yield from (say(str(key), f"no key is called {key!r}") for key in held if key not in _KEYS)
    if held.get("version") != 1:
        yield say("version", f"{held.get('version')!r} is no version", "version: 1")
    if not isinstance(held.get("name"), str) or not held["name"]:
        yield say("name", "the cluster has no name", "name: lab-256")
    for key in ("prometheus", "alertmanager"):
        if held.get(key) is not None and not str(held[key]).startswith(("http://", "https://")):
            yield say(key, f"{held[key]!r} is no address", "http://127.0.0.1:9090")
    for key in _FOLDERS:
        if held.get(key) is not None and not isinstance(held[key], str):
            yield say(key, f"{held[key]!r} is no path")
    slurm, watch = held.get("slurm"), held.get("watch")
    if slurm is not None and (not isinstance(slurm, dict) or set(slurm) - {"conf"}):
        yield say("slurm", f"{slurm!r} is not the place of slurm.conf", "slurm: {conf: /etc/slurm/slurm.conf}")
    for key, example in _LISTS.items():
        words = held.get(key)
        if words is not None and (not isinstance(words, list) or not all(isinstance(word, str) for word in words)):
            yield say(key, "is a list of words", example)
    if watch is not None and (not isinstance(watch, dict) or not all(_positive(key, watch) for key in watch)):
        yield say("watch", f"{watch!r} is not every_s and dead_after_s", "watch: {every_s: 10, dead_after_s: 60}")


def _positive(key: object, watch: Mapping[Any, Any]) -> bool:
    value = watch[key]
    known = key in ("every_s", "dead_after_s")
    return known and isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 86_400
