"""promtool: whether Prometheus takes its configuration, rules and their tests; promql-parser for other queries."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["PROGRAMS", "PROMTOOL", "config_judge", "parsed"]

PROMTOOL = Program("promtool", "sudo apt install prometheus")
PROGRAMS = (PROMTOOL,)
_FOLDER = re.compile(r"(monitoring/[^/]+)/prometheus/")
_SECRET = re.compile(r"(?:credentials_file|password_file|ca_file): (secrets/\S+)")
_PARSER = "promql-parser"


def config_judge(folder: Folder) -> Iterator[Check]:
    """Configuration, rules, tests of rules and pages of metrics of every site, by promtool."""
    if PROMTOOL.path is None:
        return
    found = dict.fromkeys(_FOLDER.match(path) for path in folder.paths)
    for base in dict.fromkeys(one.group(1) for one in found if one is not None):
        with tempfile.TemporaryDirectory(prefix="clusterwright-") as name:
            copy = Path(name) / "site"
            shutil.copytree(folder.root / base, copy)
            yield from _site(folder, base, copy)


def _site(folder: Folder, base: str, copy: Path) -> Iterator[Check]:
    at = f"{base}/prometheus"
    servers = [path for path in folder.glob(f"{at}/*.yml") if path.count("/") == 3]
    for path in servers:
        _secrets(copy, folder.read(path))
    for i, path in enumerate(servers):
        # Every server names the same targets; reading them once is enough.
        words, said = (["--syntax-only"], "configuration and rules") if i else ([], "configuration, rules and targets")
        yield _asked(path, base, copy, ["check", "config", *words], said)
    for path in folder.glob(f"{at}/rules/*.yml"):
        yield _asked(path, base, copy, ["check", "rules"], "rules")
    for path in folder.glob(f"{at}/tests/*.yml"):
        yield _asked(path, base, copy, ["test", "rules"], "tests of rules passed")
    for path in folder.glob(f"{base}/*.prom"):
        done = run([PROMTOOL.path or "", "check", "metrics"], copy, stdin=folder.read(path))
        yield _check(path, done.code, done.text, "metrics in the text format")


def _secrets(copy: Path, text: str) -> None:
    """Files that hold secrets are not in the bundle; promtool only asks whether they are there."""
    for name in _SECRET.findall(text):
        secret = copy / "prometheus" / name
        secret.parent.mkdir(parents=True, exist_ok=True)
        secret.touch()


def _asked(path: str, base: str, copy: Path, words: list[str], what: str) -> Check:
    done = run([PROMTOOL.path or "", *words, str(copy / path.removeprefix(f"{base}/"))], copy)
    return _check(path, done.code, done.text.replace(f"{copy}/", ""), what)


def _check(path: str, code: int, text: str, what: str) -> Check:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    bad = [line for line in lines if re.search(r"FAILED|rror|got:|exp:|expected|not |unexpected", line)] or lines
    return Check(path, "promtool", PROMTOOL.version, "tool", code == 0, what if code == 0 else "; ".join(bad)[:600])


def parsed(queries: Iterable[str]) -> list[str] | None:
    """What promql-parser says against queries; None where it is not installed."""
    if importlib.util.find_spec("promql_parser") is None:
        return None
    from promql_parser import parse  # type: ignore[import-not-found,unused-ignore]

    found = []
    for query in queries:
        plain = re.sub(r"\$__(rate_interval|interval|range)", "5m", query)
        try:
            parse(plain)
        except ValueError as error:
            found.append(f"{query[:80]}: {error}"[:200])
    return found


def parser_version() -> str:
    """Version of promql-parser; empty where it is not installed."""
    try:
        return version(_PARSER)
    except PackageNotFoundError:
        return ""
