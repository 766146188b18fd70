"""QOS and accounts, as sacctmgr shows, dumps, or writes them in JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Account, Dump
from clusterwright.operate.observe.nodes import number, plain, words
from clusterwright.source import Place

__all__ = ["assoc_of_dump", "assoc_of_json", "assoc_of_text", "gpus_in", "qos_of_json", "qos_of_text"]


def gpus_in(text: str) -> int:
    """GPUs of ``cpu=8,gres/gpu=64,gres/gpu:h100=64``; -1 without a limit."""
    found = re.search(r"(?:^|,)gres/gpu=(\d+)", text)
    return int(found.group(1)) if found else -1


def _table(text: str, file: str, dump: Dump) -> list[tuple[dict[str, str], Place]]:
    """Rows of a table with '|' between columns; a row with fewer columns than the head is cut off."""
    lines = text.splitlines()
    head = lines[0].split("|")
    made = []
    for i, line in enumerate(lines[1:], 2):
        cells = line.split("|")
        if len(cells) == len(head):
            made.append((dict(zip(head, cells, strict=True)), Place(file, i, 1)))
        elif line.strip():
            said = f"has {len(cells)} columns, the head has {len(head)}"
            hint = "the file is cut off, or a text in it holds a '|'; make it again"
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(Place(file, i, 1), said, hint))
    return made


def _one(row: Mapping[str, str], *names: str) -> str:
    return next((row[name] for name in names if name in row), "")


def qos_of_text(text: str, file: str, dump: Dump) -> None:
    """Of ``sacctmgr -P show qos``."""
    held = dump.qos = {} if dump.qos is None else dump.qos
    for row, place in _table(text, file, dump):
        held.setdefault(
            row.get("Name", ""),
            (
                {
                    "Priority": row.get("Priority", "") or "0",
                    "Preempt": row.get("Preempt", ""),
                    "PreemptMode": _one(row, "PreemptMode") or "cluster",
                    "GraceTime": str(_seconds(row.get("GraceTime", ""))),
                    "GrpTRES": f"gres/gpu={gpus_in(row.get('GrpTRES', ''))}",
                    "MaxTRESPerUser": f"gres/gpu={gpus_in(_one(row, 'MaxTRESPU', 'MaxTRESPerUser'))}",
                    "MaxWall": row.get("MaxWall", "") or "-1",
                    "MaxJobsPerUser": _one(row, "MaxJobsPU", "MaxJobsPerUser") or "-1",
                    "Flags": row.get("Flags", ""),
                },
                place,
            ),
        )


def _seconds(clock: str) -> int:
    days, _, rest = clock.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in (*parts, days or "0")):
        return 0
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return seconds + 86_400 * int(days or 0)


def assoc_of_text(text: str, file: str, dump: Dump) -> None:
    """Of ``sacctmgr -P show assoc``, with or without ``tree`` or ``ParentName`` among its columns."""
    held = dump.accounts = [] if dump.accounts is None else dump.accounts
    for row, place in _table(text, file, dump):
        cluster = row.get("Cluster", "")
        if cluster:
            dump.clusters.setdefault(cluster, place)
        if _one(row, "Partition"):
            continue  # a user's limits in one partition; the user is there without it, too
        held.append(
            Account(
                cluster,
                row.get("Account", "").strip(),
                row.get("User", ""),
                _one(row, "ParentName", "Par Name"),
                _one(row, "Share", "Fairshare"),
                gpus_in(row.get("GrpTRES", "")),
                tuple(name for name in row.get("QOS", "").split(",") if name),
                _one(row, "Def QOS", "DefaultQOS"),
                place,
            )
        )


_WORD = re.compile(r"(?:^|:)([A-Za-z]+)=('(?:[^']*)'|[^:]*)")


def assoc_of_dump(text: str, file: str, dump: Dump) -> None:
    """Of ``sacctmgr dump CLUSTER``: ``Parent - 'root'`` and then what is below it."""
    held = dump.accounts = [] if dump.accounts is None else dump.accounts
    cluster, parent = "", ""
    for i, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        place = Place(file, i, 1)
        found = re.match(r"(Cluster|Parent|Account|User) - '([^']*)'(?::(.*))?$", line)
        if not found:
            said = f"'{plain(line)}' is no line of 'sacctmgr dump'"
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "make the file again"))
            continue
        kind, name, rest = found.groups()
        keys = {key: value.strip("'") for key, value in _WORD.findall(rest or "")}
        if kind == "Cluster":
            cluster = name
            dump.clusters.setdefault(name, place)
        elif kind == "Parent":
            parent = name
        else:
            qos = tuple(one for one in keys.get("QOS", "").lstrip("+").split(",") if one)
            account, user = (name, "") if kind == "Account" else (parent, name)
            share, gpus = keys.get("Fairshare", "1"), gpus_in(keys.get("GrpTRES", ""))
            told = Account(cluster, account, user, parent, share, gpus, qos, keys.get("DefaultQOS", ""), place)
            held.append(told)


# --- JSON ---


def _tres(rows: object) -> int:
    for one in rows if isinstance(rows, list) else ():
        if isinstance(one, Mapping) and one.get("type") == "gres" and one.get("name") == "gpu":
            told = number(one.get("count"))
            return int(told) if told.isdigit() else -1
    return -1


def _at(row: object, *keys: str) -> Any:
    for key in keys:
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


def qos_of_json(rows: Sequence[Any], file: str, dump: Dump) -> None:
    """Of ``sacctmgr show qos --json`` since v0.0.39."""
    held = dump.qos = {} if dump.qos is None else dump.qos
    for i, row in enumerate(rows):
        place = Place(f"{file}: qos[{i}]")
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, "is no QOS with a name", "make the file again"))
            continue
        limits, wall = row.get("limits"), _at(row, "limits", "max", "wall_clock", "per", "job")
        modes = [str(one).lower() for one in (_at(row, "preempt", "mode") or []) if str(one).upper() != "DISABLED"]
        words_ = {
            "Priority": number(row.get("priority")) or "0",
            "Preempt": words(_at(row, "preempt", "list")),
            "PreemptMode": modes[0] if modes else "cluster",
            "GraceTime": number(_at(limits, "grace_time") or 0) or "0",
            "GrpTRES": f"gres/gpu={_tres(_at(limits, 'max', 'tres', 'total'))}",
            "MaxTRESPerUser": f"gres/gpu={_tres(_at(limits, 'max', 'tres', 'per', 'user'))}",
            "MaxWall": number(wall if wall is not None else "") or "-1",
            "MaxJobsPerUser": number(_at(limits, "max", "jobs", "active_jobs", "per", "user") or "") or "-1",
            "Flags": ",".join(_flag(str(one)) for one in (row.get("flags") or []) if str(one).upper() != "NOT_SET"),
        }
        held.setdefault(row["name"], (words_, place))


def _flag(text: str) -> str:
    """``DENY_LIMIT`` is what text output calls ``DenyOnLimit``."""
    return {"DENY_LIMIT": "DenyOnLimit"}.get(text.upper(), text)


def assoc_of_json(rows: Sequence[Any], file: str, dump: Dump) -> None:
    """Of ``sacctmgr show assoc --json`` since v0.0.39."""
    held = dump.accounts = [] if dump.accounts is None else dump.accounts
    for i, row in enumerate(rows):
        place = Place(f"{file}: associations[{i}]")
        if not isinstance(row, Mapping) or not isinstance(row.get("account"), str):
            said = "is no association with an account"
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "make the file again"))
            continue
        cluster = str(row.get("cluster") or "")
        if cluster:
            dump.clusters.setdefault(cluster, place)
        if row.get("partition"):
            continue
        default = _at(row, "default", "qos")
        held.append(
            Account(
                cluster,
                row["account"],
                str(row.get("user") or ""),
                str(row.get("parent_account") or ""),
                number(row.get("shares_raw")) or "1",
                _tres(_at(row, "max", "tres", "total")),
                tuple(str(one) for one in (row.get("qos") or [])),
                str(default or ""),
                place,
            )
        )
