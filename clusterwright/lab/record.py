"""Run a workload in a lab and keep what happened: the truth by which a simulator of the same cluster is judged.

Jobs are submitted when the workload says so and sleep for as long as it says; the scheduler decides everything else.
With a faster clock a second of the workload is a part of a true second; times of the record are those of Slurm's clock.
"""

from __future__ import annotations

import csv
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from clusterwright.cluster import write_run
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.place import Lab
from clusterwright.lab.processes import call
from clusterwright.traces import ENVIRONMENT, csv_lines, read_sacct, words

__all__ = ["Asked", "read_workload", "record", "synthetic"]

_COLUMNS = ("submit_s", "duration_s", "nodes", "account")
_MORE = {"gpus_per_node": 0, "qos": "", "limit_s": 0, "name": "", "tasks": 1}
_TICK_S = 0.5


@dataclass(frozen=True)
class Asked:
    """One job of a workload.

    Attributes:
        submit_s: after the beginning, in the time of the workload.
        duration_s: how long it runs.
        nodes: whole nodes, or one with fewer GPUs.
        account: that it runs in.
        gpus_per_node: 0 for all of a node.
        qos: class; empty for the account's own.
        limit_s: time limit; 0 for twice the duration.
        name: of the job.
        tasks: of an array; 1 for a plain job.
    """

    submit_s: float
    duration_s: float
    nodes: int
    account: str
    gpus_per_node: int = 0
    qos: str = ""
    limit_s: float = 0.0
    name: str = ""
    tasks: int = 1


def read_workload(path: Path) -> list[Asked]:
    """Read a workload: CSV with the columns submit_s, duration_s, nodes, account, and any other of :class:`Asked`.

    Raises:
        InputError: with everything that is wrong, line by line.
    """
    try:
        rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InputError(FINDINGS["LAB-WORKLOAD"].at(str(path), said, f"columns {', '.join(_COLUMNS)}")) from None
    say, first = FINDINGS["LAB-WORKLOAD"].at, f"{path}:1"
    lacking = [name for name in _COLUMNS if not rows or name not in rows[0]]
    unknown = [str(name) for name in (rows[0] if rows else ()) if name not in (*_COLUMNS, *_MORE)]
    wrong = [say(first, f"there is no column {name}", ", ".join(_COLUMNS)) for name in lacking]
    wrong += [say(first, f"no column is called {name}", ", ".join(_MORE)) for name in unknown]
    made: list[Asked] = []
    if not wrong:
        for i, row in enumerate(rows, 2):
            found = _asked(row, f"{path}:{i}")
            (wrong if isinstance(found, Finding) else made).append(found)  # type: ignore[arg-type]
    if wrong:
        raise InputError(wrong)
    return sorted(made, key=lambda one: one.submit_s)


def _asked(row: Mapping[str, Any], place: str) -> Asked | Finding:
    try:
        made = Asked(
            float(row["submit_s"]), float(row["duration_s"]), int(row["nodes"]), str(row["account"]),
            int(row.get("gpus_per_node") or 0), str(row.get("qos") or ""), float(row.get("limit_s") or 0),
            str(row.get("name") or ""), int(row.get("tasks") or 1),
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        return FINDINGS["LAB-WORKLOAD"].at(place, f"cannot be read: {error}", ", ".join(_COLUMNS))
    sound = 0 <= made.submit_s < 1e9 and 0 < made.duration_s < 1e8 and made.nodes > 0 and made.tasks > 0
    if not sound or not made.account.isascii() or not made.account.replace("-", "").replace("_", "").isalnum():
        return FINDINGS["LAB-WORKLOAD"].at(
            place, "a number is out of range, or the account is no name", "nodes above 0"
        )
    return made


def synthetic(accounts: Sequence[str], nodes: int, jobs: int, seed: int) -> list[Asked]:
    """A made-up workload that fills the cluster: random arrivals, many small jobs, few large ones, long limits."""
    draw, made, at = Random(seed), [], 0.0  # noqa: S311  # no secret
    for i in range(jobs):
        size = min(2 ** min(int(draw.expovariate(0.9)), 10), nodes)
        duration = max(30.0, min(draw.lognormvariate(5.6, 0.9), 3600.0))
        limit = 60.0 * max(1, round(duration * draw.choice((1.2, 1.5, 2, 4)) / 60 + 0.5))
        made.append(
            Asked(round(at, 1), round(duration, 1), size, draw.choice(list(accounts)), limit_s=limit, name=f"job{i}")
        )
        at += draw.expovariate(1.0) * 1.1 * 440.0 * 1.9 / nodes
    return made


def record(
    lab: Lab, workload: Sequence[Asked], out: Path, most_s: float = 7200.0, said: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run it to its end and write the record.

    Args:
        lab: that is up; its clock's rate holds.
        workload: in order of submission.
        out: folder of the record; replaced as a whole.
        most_s: true seconds after which what still runs is cancelled, and counted.
        said: is told how far it is.

    Returns:
        what is written in ``record.json``.

    Raises:
        WorldError: a job is not taken, or Slurm does not answer.
    """
    rate = float(lab.about["rate"])
    begun, true = _now(lab), time.monotonic()
    refused: list[str] = []
    for i, one in enumerate(workload):
        wait = one.submit_s / rate - (time.monotonic() - true)
        if wait > 0:
            time.sleep(wait)
        if text := _submit(lab, one, rate):
            refused.append(f"job {i + 1}: {text}")
        said(f"{i + 1} of {len(workload)} submitted")
    limit = true + most_s
    while (left := _left(lab)) and time.monotonic() < limit:
        said(f"{left} jobs left")
        time.sleep(_TICK_S)
    cut = _left(lab)
    if cut:
        call(lab, ["scancel", "--user=root"])
        time.sleep(2)
    text = _history(lab, begun)
    held = read_sacct(text.split("\n"), "sacct of the lab")
    about = {
        "schema": "clusterwright/record/1",
        "name": lab.name,
        "slurm": lab.about["slurm"],
        "rate": rate,
        "begun_s": begun,
        "true_s": round(time.monotonic() - true, 1),
        "jobs": len(workload),
        "attempts": len(held.jobs),
        "refused": refused,
        "cut_short": cut,
        "set_aside": held.set_aside,
        "findings": [one.to_dict() for one in held.findings],
        "nodes": lab.about["nodes"],
    }
    conf = lab.conf.parent
    files = {
        "record.json": json.dumps(about, indent=1).encode(),
        "workload.csv": _csv([asdict(one) for one in workload]),
        "sacct.txt": text.encode(),
        "jobs.csv": "".join(csv_lines(held.jobs)).encode(),
        "policy/slurm.conf": (conf / "slurm.conf").read_bytes(),
        "policy/accounts.sh": (conf / "accounts.sh").read_bytes(),
        "policy/assoc.txt": call(lab, ["sacctmgr", "-nP", "show", "assoc"])[1].encode(),
        "policy/qos.txt": call(lab, ["sacctmgr", "-nP", "show", "qos"])[1].encode(),
    }
    if (conf / "topology.conf").is_file():
        files["policy/topology.conf"] = (conf / "topology.conf").read_bytes()
    write_run(out, files)
    return about


def _now(lab: Lab) -> float:
    """Slurm's own clock, seconds since the epoch."""
    environment = {**lab.about["clock"]}
    code, text = call(lab, ["date", "+%s"], 10, extra=environment)
    return float(text.strip()) if code == 0 and text.strip().isdigit() else time.time()


def _submit(lab: Lab, one: Asked, rate: float) -> str:
    """Hand a job over; what Slurm says against it, or nothing."""
    node_gpus = max(int(node["gpus"]) for node in lab.about["nodes"].values())
    gpus = one.gpus_per_node or node_gpus
    minutes = max(1, round((one.limit_s or 2 * one.duration_s) / 60 + 0.499))
    asked = ["sbatch", "--requeue", "--output=/dev/null", f"--job-name={one.name or 'recorded'}"]
    asked += [f"--account={one.account}", f"--nodes={one.nodes}", f"--gpus-per-node={gpus}", f"--time={minutes}"]
    asked += ["--exclusive"] if gpus == node_gpus else []
    asked += [f"--qos={one.qos}"] if one.qos else []
    asked += [f"--array=1-{one.tasks}"] if one.tasks > 1 else []
    code, text = call(lab, [*asked, "--wrap", f"exec sleep {one.duration_s / rate:.3f}"], 60)
    return "" if code == 0 else " ".join(text.split())[:200]


def _left(lab: Lab) -> int:
    code, text = call(lab, ["squeue", "-h", "-a", "-r", "-o", "%A"], 30)
    if code:
        raise WorldError(FINDINGS["LAB-START"].at("squeue", text.strip()[-200:], "clusterwright lab status"))
    return len(text.split())


def _history(lab: Lab, begun: float) -> str:
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(begun - 1))
    end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(_now(lab) + 86_400))
    asked = words(secrets.token_hex(8))
    code, text = call(lab, ["sacct", *asked, "-a", "-S", start, "-E", end], 120, extra=dict(ENVIRONMENT))
    if code:
        raise WorldError(FINDINGS["LAB-START"].at("sacct", text.strip()[-200:], "is slurmdbd up?"))
    return text


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    def lines() -> Iterator[str]:
        if rows:
            yield ",".join(rows[0])
        yield from (
            ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in row.values()) for row in rows
        )

    return ("\n".join(lines()) + "\n").encode()
