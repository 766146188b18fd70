"""Whole-process times and peak memory of what a person waits for, and the rate of the enumeration.

``make bench``; ``python bench/run.py --runs 3 --only design``. Prints a table and writes ``bench/results.md``. The
targets are for two cores of an ordinary server.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PROGRAM = (sys.executable, "-m", "clusterwright")
CANDIDATES = 20_000
LARGE = """version: 1
name: hundred-thousand
workloads:
  - name: frontier
    train: {model: llama-3.1-405b, tokens: 30T tokens, global_batch: 8192 sequences, gpus: 16384}
compute: {accelerators: [h100-sxm-80gb], gpus: 100000}
scheduler: {kind: slurm}
"""


@dataclass(frozen=True)
class Case:
    """One thing to time.

    Attributes:
        name: in the table.
        words: after ``clusterwright``.
        seconds: target for the whole process.
        megabytes: target for its peak memory; None when there is none.
        before: words to run once before, not timed.
        codes: exit codes that count as done.
    """

    name: str
    words: tuple[str, ...]
    seconds: float
    megabytes: float | None = None
    before: tuple[str, ...] = ()
    codes: tuple[int, ...] = (0,)


def cases(folder: Path) -> Iterator[Case]:
    """What is timed; ``folder`` takes what is written."""
    example, run = str(EXAMPLES / "llm-70b.yaml"), str(folder / "run")
    yield Case("help", ("--help",), 0.2)
    yield Case("check", ("check", example), 0.6)
    yield Case("design --json", ("design", example, "--json", "--out", run), 2.0, 300)
    yield Case("report", ("report", run), 8.0, before=("design", example, "--out", run))
    yield Case("audit", ("audit", example), 2.0, 300, codes=(0, 1))
    estimate = ("estimate", "train", "--gpus")
    small = (*estimate, "4096", "--model", "gpt-3-175b", "--gpu", "a100-sxm-80gb", "--sequence", "2048")
    yield Case("plan of 175B on 4,096", (*small, "--global-batch", "1536", "--json"), 2.0)
    large = (*estimate, "16384", "--model", "llama-3.1-405b", "--gpu", "h100-sxm-80gb", "--global-batch", "2048")
    yield Case("plan of 405B on 16,384", (*large, "--json"), 5.0)
    bundle = str(folder / "bundle")
    yield Case("render 1,024 GPUs", ("render", run, "--out", bundle), 5.0, before=("design", example, "--out", run))
    yield Case("verify --no-tools", ("verify", bundle, "--no-tools", "--json"), 10.0)
    large_spec, large_run = folder / "large.yaml", str(folder / "large")
    large_spec.write_text(LARGE)
    rendered = ("render", large_run, "--out", str(folder / "large-bundle"))
    yield Case("render 100,000 GPUs", rendered, 60.0, before=("design", str(large_spec), "--out", large_run))
    supercluster = str(EXAMPLES / "supercluster-555k.yaml")
    yield Case("supercluster design", ("design", supercluster, "--json", "--out", run), 10.0, 2000, codes=(0, 1))


def once(words: tuple[str, ...], codes: tuple[int, ...], cwd: Path) -> tuple[float, float, float]:
    """Run a whole process: its wall and its processor time in seconds, and its own peak memory in MB."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        (*PROGRAM, *words), cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if code not in codes:
        sys.exit(f"clusterwright {' '.join(words)}: exit {code}\n{said.decode()}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def timed(case: Case, runs: int, cwd: Path) -> str:
    """One row of the table: median and worst of the runs, after one that warms the disk and compiles modules."""
    if case.before:
        once(case.before, (0, 1), cwd)
    once(case.words, case.codes, cwd)
    walls, busy, memories = zip(*(once(case.words, case.codes, cwd) for _ in range(runs)), strict=True)
    wall, memory = statistics.median(walls), max(memories)
    missed = wall > case.seconds or (case.megabytes is not None and memory > case.megabytes)
    limit = f"{case.seconds:g} s" + (f", {case.megabytes:g} MB" if case.megabytes else "")
    times = f"{wall:.2f} s | {max(walls):.2f} s | {statistics.median(busy):.2f} s"
    return f"| {case.name} | {times} | {memory:.0f} MB | {limit} | {_verdict(missed)} |"


def enumeration() -> str:
    """Candidates a second through all laws, in one process, imports and the catalogue's reading left out."""
    from clusterwright.catalog import load_catalog
    from clusterwright.design.candidates import enumerate_candidates
    from clusterwright.design.doors import weigh
    from clusterwright.spec import load_spec

    catalog = load_catalog()
    spec = load_spec(EXAMPLES / "llm-70b.yaml", catalog=catalog)
    some = enumerate_candidates(spec, catalog)
    many = (some * (CANDIDATES // len(some) + 1))[:CANDIDATES]
    weigh(some, spec, catalog)
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        weigh(many, spec, catalog)
        spent.append(time.perf_counter() - start)
    rate = CANDIDATES / statistics.median(spent)
    return f"| enumeration | {rate:,.0f} candidates/s | | | | 10,000 candidates/s | {_verdict(rate < 10_000)} |"


def planning() -> str:
    """Parallel plans a second on one core, memory and step time of each: 405B on 16,384 H100, every legal plan."""
    import numpy as np

    from clusterwright.catalog import load_catalog
    from clusterwright.domains.training import Job, Machines, Runs, legal_plans, memory_of, shape_of, step_of

    job = Job(shape_of(load_catalog().model("llama-3.1-405b")), 8192, 2048.0)
    h100 = {"memory_bytes": 80e9, "memory_bandwidth_bytes_s": 3.35e12, "peak_flops": 989e12, "bytes_per_element": 2.0}
    h100 |= {"achievable_flops": 794e12, "achievable_bf16_flops": 794e12, "domain": 8.0, "scaleup_bytes_s": 450e9}
    h100 |= {"network_bytes_s": 47e9, "latency_s": 5e-6, "power_ratio": 1.0, "power_density": 700.0 / 989e12}
    spent, count = [], 0
    for _ in range(6):  # the first one warms up
        legal_plans.cache_clear()
        start = time.process_time()
        plans = legal_plans(job, 16384, 8)
        count = len(plans)
        machines = Machines(**{name: np.full(count, value) for name, value in h100.items()})
        memory_of(job.shape, plans, job.sequence)
        step_of(Runs(job.shape, job.sequence, plans, machines))
        spent.append(time.process_time() - start)
    rate = count / statistics.median(spent[1:])
    return f"| planner | {rate:,.0f} plans/s | | | | 20,000 plans/s a core | {_verdict(rate < 20_000)} |"


def _verdict(missed: bool) -> str:
    return "missed" if missed else "holds"


def main() -> int:
    """Time everything, print the table, write it down."""
    parser = argparse.ArgumentParser(description="Whole-process times and peak memory.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the median counts")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    rows = ["| what | median | worst | processor time | peak memory | target | |", "|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        for case in cases(Path(name)):
            if options.only in case.name:
                rows.append(timed(case, options.runs, Path(name)))
                print(rows[-1], flush=True)
    for name, measured in (("enumeration", enumeration), ("planner", planning)):
        if options.only in name:
            rows.append(measured())
            print(rows[-1])
    if not options.only:
        cores = len(os.sched_getaffinity(0))
        machine = f"Python {platform.python_version()}, {platform.machine()}, {cores} cores, {options.runs} runs each, "
        machine += f"load average {load:.1f} before and {os.getloadavg()[0]:.1f} after."
        (ROOT / "bench" / "results.md").write_text("\n".join(["# What a person waits for", "", machine, "", *rows, ""]))
    return 1 if any(row.endswith("| missed |") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
