"""Our training predictor beside Calculon and llm-analysis: the same published runs, the same plans, one process.

``make bench-peers``; ``python bench/peers.py --calculon PATH`` with a checkout of Calculon, which is on no package
index. llm-analysis is installed into a virtual environment of its own in a cache folder. Prints the tables and writes
``bench/peers.md``. A tool that cannot be had is left out and said, and then nothing is written.
"""

import argparse
import datetime
import os
import platform
import site
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from peer_tools import Calculon, LlmAnalysis, RefusedError, Work

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.domains.training import Job, Machines, Plans, Runs, legal_plans, memory_of, shape_of, step_of
from clusterwright.domains.training.plans import stacked
from clusterwright.validation.training import Predicted, validate_training
from clusterwright.validation.training_calibrate import PUBLISHED
from clusterwright.validation.training_cases import peak_of
from clusterwright.validation.training_parts import chip_of, model_of
from clusterwright.validation.training_scores import macro

ROOT = Path(__file__).parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "clusterwright" / "peers"
WANTED = ("llm-analysis==0.2.2", "fire==0.5.0", "six", "termcolor", "psutil")
"""llm-analysis without transformers, which it needs for nothing but names of models; psutil is for Calculon."""
CLONE = "git clone https://github.com/calculon-ai/calculon, then make bench-peers CALCULON=calculon"
SAMPLE, REPEATS = 400, 5


@dataclass(frozen=True)
class Peer:
    """A tool, once with what it can be told exactly and once helped.

    Attributes:
        name: in the tables.
        exact: takes only runs that it can be told exactly, with the hardware that it ships.
        helped: takes the nearest that it can express.
        main: one of the tool's ways that all tables show.
    """

    name: str
    exact: Any
    helped: Any
    main: bool = True


@dataclass(frozen=True)
class Space:
    """A job whose plans are weighed.

    Attributes:
        name: in the table.
        model: in the catalogue.
        gpu: as the published runs name it.
        gpus: how many.
        sequence: tokens.
        batch: sequences.
        network_bytes_s: of one accelerator.
    """

    name: str
    model: str
    gpu: str
    gpus: int
    sequence: int
    batch: int
    network_bytes_s: float


SPACES = (
    Space("175B on 4,096 A100", "gpt-3-175b", "A100-80G", 4096, 2048, 1536, 25e9),
    Space("405B on 16,384 H100", "llama-3.1-405b", "H100-SXM", 16384, 8192, 2048, 50e9),
)


def installed(folder: Path) -> str:
    """Make the virtual environment and put its packages behind ours; what went wrong, or nothing."""
    python = folder / "bin" / "python"
    install = f"{python} -m pip install --no-deps {' '.join(WANTED)}"
    try:
        if not python.exists():
            subprocess.run((sys.executable, "-m", "venv", str(folder)), check=True, capture_output=True)
        quiet = ("--quiet", "--disable-pip-version-check", "--no-deps")
        subprocess.run((str(python), "-m", "pip", "install", *quiet, *WANTED), check=True, capture_output=True)
    except (subprocess.CalledProcessError, OSError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
        return f"llm-analysis cannot be installed ({said[-1] if said else error}); by hand: {install}"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site.addsitedir(str(folder / "lib" / version / "site-packages"))
    return ""


def peers_of(options: argparse.Namespace) -> tuple[list[Peer], list[str]]:
    """The tools that can be had, and why the others cannot."""
    peers, missing = [], []
    if said := installed(options.cache):
        missing.append(said)
    if options.calculon is None:
        missing.append(f"Calculon is not on PyPI: {CLONE}")
    else:
        sys.path.append(str(options.calculon))
        try:
            peers.append(Peer("Calculon", Calculon(options.calculon), Calculon(options.calculon, helped=True)))
        except ImportError as error:
            missing.append(f"Calculon cannot be imported from {options.calculon} ({error}): {CLONE}")
    if not said:
        peers.append(Peer("llm-analysis at 50 % of the peak", LlmAnalysis(0.5), LlmAnalysis(0.5, helped=True)))
        peers.append(
            Peer("llm-analysis at its default, 100 %", LlmAnalysis(1.0), LlmAnalysis(1.0, helped=True), main=False)
        )
    return peers, missing


def work_of(one: Predicted, catalog: Catalog) -> Work:
    """A published run as the tools are told it; what it leaves out is filled as it is for our law."""
    case = one.case
    return Work(
        model=model_of(case.row, catalog)[0],
        gpu=case.row.text("gpu"),
        chip=case.chip,
        sequence=int(case.sequence),
        precision=case.precision,
        plan=dict(case.plan),
        network_bytes_s=case.network_bytes_s,
        overlaps_tp=case.traits["tp_overlap"] > 0,
        overlaps_dp=case.traits["dp_overlap"] > 0,
    )


@dataclass(frozen=True)
class Outcome:
    """What a tool makes of the runs.

    Attributes:
        peer: the tool.
        told: ``exactly``, or ``as nearly as it can``.
        version: of the tool.
        taken: the runs that it took, with its step times.
        refused: how many it refused, by the reason.
    """

    peer: Peer
    told: str
    version: str
    taken: Sequence[tuple[Predicted, float]]
    refused: Counter[str]

    @property
    def ours(self) -> list[tuple[Predicted, float]]:
        """This law on the runs that the tool took."""
        return [(one, one.value_s) for one, _ in self.taken]


def outcomes_of(peers: Sequence[Peer], runs: Sequence[Predicted], works: Sequence[Work]) -> list[Outcome]:
    """Every run through every tool, once told exactly and once as nearly as it can be."""
    found = []
    for peer in peers:
        for told, tool in (("exactly", peer.exact), ("as nearly as it can", peer.helped)):
            taken, refused = [], Counter()
            for one, work in zip(runs, works, strict=True):
                try:
                    taken.append((one, tool.step_s(work)))
                except RefusedError as error:
                    refused[str(error)] += 1
            found.append(Outcome(peer, told, tool.version, taken, refused))
    return found


def figures(pairs: Sequence[tuple[Predicted, float]]) -> list[str]:
    """Mean error, median, bias: means over families."""
    error = np.array([step / one.case.row.step_s - 1.0 for one, step in pairs])
    found = macro([one.case.row.family for one, _ in pairs], error)
    return [_percent(found["mape"]), _percent(found["median"]), _percent(found["bias"], sign=True)]


def _percent(value: float | None, *, sign: bool = False) -> str:
    return "" if value is None else f"{100 * value:{'+' if sign else ''}.0f} %"


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def accuracy(runs: Sequence[Predicted], outcomes: Sequence[Outcome]) -> str:
    """The table of errors."""
    head = ["tool", "version", "told", "rows", "mean error", "median", "bias"]
    head += ["this law on these rows", "its median", "its bias"]
    ours = figures([(one, one.value_s) for one in runs])
    rows = [["this law, family left out", "", "all", f"{len(runs)} of {len(runs)}", *ours, "", "", ""]]
    for o in outcomes:
        count = f"{len(o.taken)} of {len(runs)}"
        rows.append([o.peer.name, o.version, o.told, count, *figures(o.taken), *figures(o.ours)])
    return table_of(head, rows)


def refusals(outcomes: Sequence[Outcome]) -> str:
    """How many rows each tool refused, and why."""
    rows = [[o.peer.name, o.told, str(n), why] for o in outcomes if o.peer.main for why, n in o.refused.most_common()]
    return table_of(["tool", "told", "rows", "refused because"], rows)


def by_family(runs: Sequence[Predicted], outcomes: Sequence[Outcome]) -> str:
    """Mean error family by family of every tool told as nearly as it can."""
    some = [o for o in outcomes if o.peer.main and o.told != "exactly"]
    rows = []
    for family in sorted({one.case.row.family for one in runs}):
        ours = [(one, one.value_s) for one in runs if one.case.row.family == family]
        cells = [figures(ours)[0]]
        for o in some:
            taken = [pair for pair in o.taken if pair[0].case.row.family == family]
            part = f" ({len(taken)})" if len(taken) < len(ours) else ""
            cells.append(figures(taken)[0] + part if taken else "refused")
        rows.append([family, str(len(ours)), *cells])
    return table_of(["family", "rows", "this law", *(o.peer.name for o in some)], rows)


def plans_of(space: Space, catalog: Catalog) -> Plans:
    """Every legal plan that all tools can express, with every recomputation, sharding and cut of the sequence.

    All tools can express even stages, no context parallelism, and exactly the batch asked for.
    """
    model, chip = catalog.model(space.model), chip_of(space.gpu, catalog)
    legal = legal_plans(Job(shape_of(model), space.sequence, float(space.batch)), space.gpus, int(chip.domain))
    some = legal.take((legal.cp == 1) & (legal.batch == space.batch) & (model.layers % legal.pp == 0))
    choices = product((0.0, 1.0, 2.0), (0.0, 1.0), (0.0, 1.0))
    ones = np.ones(len(some))
    return stacked(
        [
            replace(some, recompute=level * ones, shard=shard * ones, sequence_parallel=cut * ones)
            for level, shard, cut in choices
        ]
    )


def works_of(space: Space, catalog: Catalog, plans: Plans) -> list[Work]:
    """Plans as the other tools are told them."""
    model, chip, names = catalog.model(space.model), chip_of(space.gpu, catalog), list(vars(plans))
    columns = (getattr(plans, name).tolist() for name in names)
    return [
        Work(
            model=model,
            gpu=space.gpu,
            chip=chip,
            sequence=space.sequence,
            precision="bf16",
            plan=dict(zip(names, one, strict=True)),
            network_bytes_s=space.network_bytes_s,
            overlaps_tp=True,
            overlaps_dp=True,
        )
        for one in zip(*columns, strict=True)
    ]


def _ours(space: Space, catalog: Catalog, plans: Plans) -> Callable[[], Any]:
    chip, shape = chip_of(space.gpu, catalog), shape_of(catalog.model(space.model))
    peak = peak_of(chip, "bf16")
    column = {
        "memory_bytes": chip.memory_bytes,
        "memory_bandwidth_bytes_s": chip.memory_bandwidth_bytes_s,
        "peak_flops": peak,
        "achievable_flops": chip.achievable_bf16_flops,
        "achievable_bf16_flops": chip.achievable_bf16_flops,
        "bytes_per_element": 2.0,
        "power_ratio": 1.0,
        "power_density": chip.tdp_w / peak,
        "domain": chip.domain,
        "scaleup_bytes_s": chip.scaleup_bytes_s,
        "network_bytes_s": space.network_bytes_s,
        "latency_s": 5e-6,
    }

    def weigh() -> None:
        machines = Machines(**{name: np.full(len(plans), value) for name, value in column.items()})
        memory_of(shape, plans, space.sequence)
        step_of(Runs(shape, space.sequence, plans, machines))

    return weigh


def _theirs(tool: Any, works: Sequence[Work]) -> Callable[[], Any]:
    def weigh() -> None:
        for work in works:
            tool.step_s(work)

    return weigh


def _taken(tools: Sequence[Any], work: Work) -> bool:
    try:
        for tool in tools:
            tool.step_s(work)
    except RefusedError:
        return False
    return True


def rate(weigh: Callable[[], Any], count: int) -> float:
    """Plans a second of one core: the median of some repeats after one that warms up."""
    weigh()
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        weigh()
        spent.append(time.process_time() - start)
    return count / statistics.median(spent)


@dataclass(frozen=True)
class Rate:
    """Plans a second of a tool.

    Attributes:
        space: the job.
        plans: of the whole job.
        name: the tool.
        weighed: plans in one repeat.
        per_s: plans a second of one core.
        slower: than this law with all plans at once.
    """

    space: str
    plans: int
    name: str
    weighed: int
    per_s: float
    slower: float


def rates_of(space: Space, peers: Sequence[Peer], catalog: Catalog) -> list[Rate]:
    """Every tool on the plans of a job, memory and step time of each; the others on a sample that all of them take."""
    plans, tools = plans_of(space, catalog), [p for p in peers if p.main]
    order = np.random.default_rng(0).permutation(len(plans))
    works = works_of(space, catalog, plans.take(order))
    kept = [i for i, work in enumerate(works) if _taken([p.helped for p in tools], work)][:SAMPLE]
    sample = [works[i] for i in kept]
    tried = [("this law, all at once", len(plans), _ours(space, catalog, plans))]
    tried.append(("this law, the sample", len(kept), _ours(space, catalog, plans.take(order[kept]))))
    tried += [(f"{p.name}, the sample", len(kept), _theirs(p.helped, sample)) for p in tools]
    found = [(name, count, rate(weigh, count)) for name, count, weigh in tried]
    return [Rate(space.name, len(plans), name, count, r, found[0][2] / r) for name, count, r in found]


def speed(rates: Sequence[Rate]) -> str:
    """The table of speeds."""
    head = ["job", "plans", "tool", "weighed", "plans/s a core", "times slower", "all plans take"]
    rows = [
        [r.space, f"{r.plans:,}", r.name, f"{r.weighed:,}", f"{r.per_s:,.0f}", f"{r.slower:,.0f}", _seconds(r)]
        for r in rates
    ]
    return table_of(head, rows)


def _seconds(one: Rate) -> str:
    return f"{one.plans / one.per_s:,.2g} s"


TOLD = """\
Every tool is given the same runs: dense models of the published file that leave nothing out which decides their
outcome; dimensions, accelerators, plan, micro-batch, batch, sequence, precision and recomputation. What a run does not
publish is filled for all tools as it is for this law. Mean error, median and bias are means over families, on step
time. This law predicts every family by constants fitted without it. The form of the law was chosen with these runs in
view; Calculon's authors checked it against korthikanti-2022, so its figures there are not out of sample.

- **Calculon** gets its own systems `a100_80g` and `h100_80g_nvl8` with their efficiency curves, the run's network
  bandwidth, its default of fused activations, and overlap as the framework has it. It knows no vocabulary, no
  FlashAttention, no context parallelism, no ZeRO 2 and 3. *As nearly as it can*: a gated MLP is a plain one with the
  same products, grouped queries are full heads, FSDP is its sharded optimizer, an accelerator without a configuration
  takes the H100's curves with its own data sheet, a tensor-parallel group wider than a node lies on the outer network,
  and the memory limit is lifted.
- **llm-analysis** gets its own accelerators (others by data sheet) and one efficiency: its default of 100 %, which its
  documentation calls a lower bound, and the 50 % that it gives for large training. Its step time is the FLOP of the
  model over that rate: no bubble, no traffic, an MLP always four times as wide as the model. *As nearly as it can*: it
  ignores the rest.
- A row that a tool stops at counts as refused with its message.

Speed: processor time of one core, memory and step time of each plan, median of {repeats} repeats in the same process.
The plans of a job are all that every tool can express: tensor, pipeline and data ranks, micro-batch, interleaving,
recomputation, sharded optimizer or not, sequence cut or not. This law takes them as arrays, all at once; the others
take one plan a call, timed on at most {sample} plans drawn from the same list, logging off (Calculon's own search also
formats its log and is some eight times slower), memory limit lifted. *All plans take* is what the whole list costs at
that rate.
"""


def meaning(outcomes: Sequence[Outcome], rates: Sequence[Rate]) -> str:
    """What the tables say, with their figures."""
    lines = []
    for o in outcomes:
        if o.peer.main:
            (theirs, _, bias), (ours, *_) = figures(o.taken), figures(o.ours)
            said = f"{o.peer.name}, told {o.told}, takes {len(o.taken)} rows and misses by {theirs} (bias {bias})"
            lines.append(f"- {said}; this law misses the same rows by {ours}.")
    for name in dict.fromkeys(r.name for r in rates if not r.name.startswith("this law")):
        least = min(r.slower for r in rates if r.name == name)
        lines.append(f"- {name.split(',')[0]} weighs a plan at least {least:,.0f} times more slowly.")
    return "\n".join(lines)


def main() -> int:
    """Install, run, print, write."""
    parser = argparse.ArgumentParser(description="Our training predictor beside Calculon and llm-analysis.")
    parser.add_argument("--calculon", type=Path, help=f"a checkout ({CLONE})")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the other tools are installed")
    options = parser.parse_args()
    peers, missing = peers_of(options)
    for said in missing:
        print(f"skipped: {said}", file=sys.stderr)
    catalog = load_catalog()
    report = validate_training(PUBLISHED, catalog)
    runs = [p for p in report.predicted if p.case.row.counted and p.case.row.kind == "dense"]
    outcomes = outcomes_of(peers, runs, [work_of(one, catalog) for one in runs])
    rates = [r for space in SPACES for r in rates_of(space, peers, catalog)]
    machine = (
        f"{datetime.date.today()}, Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} cores, load average {os.getloadavg()[0]:.1f}. Written by `make bench-peers`."
    )
    parts = ["# Beside other predictors", machine, *[f"Left out: {m}" for m in missing], meaning(outcomes, rates)]
    parts += ["## Error", accuracy(runs, outcomes)]
    parts += ["## Error by family, each told as nearly as it can", by_family(runs, outcomes)]
    parts += ["## Speed", speed(rates), "## What each was told", TOLD.format(repeats=REPEATS, sample=SAMPLE)]
    parts += ["## Refused", refusals(outcomes)]
    text = "\n\n".join(p.strip() for p in parts if p) + "\n"
    print(text)
    if not missing:
        (ROOT / "bench" / "peers.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
