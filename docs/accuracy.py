"""The page of the step-time law's accuracy, from a validation run over the published runs in the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.catalog import load_catalog
from clusterwright.domains.training import CALIBRATION, PRIOR
from clusterwright.report import RULES, accuracy_images, plan_words
from clusterwright.validation import PUBLISHED, TrainingReport, validate_training

SHORT = Path(__file__).parents[1] / "tests" / "validation" / "data" / "out_of_memory.csv"
IMAGES = Path(__file__).parent / "images"
KINDS = ("dense", "moe")
WORDS = {
    "constant_efficiency": "one efficiency a system (accelerator, precision, kind), fitted without the family",
    "six_nd_at_40_percent": "6 N D at 40 % of the peak",
}


def _percent(value: float | None, sign: bool = False) -> str:
    if value is None:
        return ""
    return f"{100 * value:+.0f} %" if sign else f"{100 * value:.0f} %"


def _row(name: str, figures: dict[str, Any], rows: object) -> str:
    scores = [_percent(figures.get(k)) for k in ("mape", "median", "p90")]
    cells = [name, rows, *scores, _percent(figures.get("bias"), True), _percent(figures.get("coverage80"))]
    return "| " + " | ".join(map(str, cells)) + " |"


HEADER = (
    "| | runs | mean error | median | 90th percentile | bias | inside the 80 % interval |",
    "|---|---|---|---|---|---|---|",
)


@cache
def published() -> TrainingReport:
    """The validation run over the published runs in the package."""
    return validate_training(PUBLISHED, load_catalog())


def images() -> dict[str, str]:
    """The pictures of the page, SVG by the name of the file."""
    return accuracy_images(published().to_dict())


def accuracy_page() -> str:
    """Errors out of sample: by kind, family and accelerator, rules of thumb, plans, intervals, memory, scaling."""
    report = published()
    document = report.to_dict()
    lines = [
        "# Accuracy of the training predictor",
        "",
        f"{document['rows']} published runs, {document['counted']} of which say everything that decides their outcome. "
        "Each is predicted by constants fitted without its whole family (a report or a benchmark round); families "
        "count the same. Error is predicted over measured step time, minus one. The form of the law, and what is "
        "expected of "
        "its constants before any run is seen, were chosen with all of these runs in view: only runs that nobody had "
        "seen are a test without that reservation. `clusterwright validate training --data FILE` makes this table for "
        "any file.",
        "",
        *HEADER,
        _row("all", document, document["counted"]),
        *(_row(k, document["by_kind"][k], document["by_kind"][k]["counted"]) for k in KINDS),
        "",
        "![predicted against measured step time](../images/training-scatter.svg)",
        "",
        "The grey band is 20 % around equal values.",
        "",
        "## By family",
        "",
        *_families(document),
        "",
        "## Against rules of thumb, on the same runs",
        "",
        "| | mean error, dense | mean error, mixtures |",
        "|---|---|---|",
        *(
            f"| {name} | {_percent(kinds['dense']['mape'])} | {_percent(kinds['moe']['mape'])} |"
            for name, kinds in (
                ("this law", document["by_kind"]),
                *((WORDS[n], b["by_kind"]) for n, b in document["baselines"].items()),
            )
        ),
        "",
        *_planner(document["planner"]),
        *_intervals(document),
        *_left_out_gpus(),
        *_rest(document, report),
        *_short(),
        *_constants(),
    ]
    return "\n".join(lines)


def _families(document: dict[str, Any]) -> list[str]:
    won = document["families_won"]
    rows = [
        _row(name, f, f["counted"]) + "".join(f" {_percent(rule['mape'])} |" for rule in f["baselines"].values())
        for name, f in document["by_family"].items()
        if f["counted"]
    ]
    return [
        HEADER[0] + "".join(f" {RULES[name]} |" for name in document["baselines"]),
        HEADER[1] + "---|" * len(document["baselines"]),
        *rows,
        "",
        "The last two columns are the mean errors of the rules of thumb on the same runs. Least mean error: "
        + ", ".join(f"{RULES.get(name, 'this law')} in {count} families" for name, count in won.items())
        + ".",
    ]


def _planner(planner: dict[str, Any]) -> list[str]:
    rows = [
        f"| {g['family']} | {g['model']} | {g['gpu_count']:g} {g['gpu']} | {g['plans']} "
        f"| {plan_words(g['chosen']['plan'])} | {plan_words(g['best']['plan'])} | {100 * g['regret']:.1f} % "
        f"| {_percent(g['limit'])} | {g['spearman']:.2f} | {_percent(g['ordered_pairs'])} |"
        for g in planner["by_group"]
    ]
    return [
        "## Would the planner have chosen well?",
        "",
        "Groups of at least three measured plans of one report that differ in nothing but the plan. *Regret*: measured "
        "time of the plan that is predicted fastest over the best measured time, minus one; it may be 3 %, or 6 % where "
        "another plan ties with the best within the noise of 6 %. *Pairs in order*: of the pairs of plans that differ "
        "by more than noise. Repeats of a plan count once, with their median.",
        "",
        "| family | model | on | plans | ranked first | best measured | regret | limit | Spearman | pairs in order |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        f"{planner['within_limit']} of {planner['groups']} groups are within the limit. Families counting the same, the "
        f"mean regret is {100 * planner['regret']:.1f} %, Spearman {planner['spearman']:.2f} (least "
        f"{planner['least_spearman']:.2f}), {_percent(planner['ordered_pairs'])} of the pairs are in order.",
        "",
    ]


def _intervals(document: dict[str, Any]) -> list[str]:
    cells = [f"| {_percent(one['nominal'])} | {_percent(one['coverage'])} |" for one in document["interval"]]
    return [
        "## Do the intervals hold what they say?",
        "",
        "![runs inside intervals of 50 to 95 %](../images/training-intervals.svg)",
        "",
        "| interval | runs inside |",
        "|---|---|",
        *cells,
        "",
        "The 80 % interval is that of one more family: mean errors of families left out, with Student's t, and what "
        "single runs differ by within a family; more for software and accelerators that a fit has not seen and for "
        "what was not published; cut to hold no more than 84.5 % of these runs. The others follow from it as if the "
        "errors of the logarithm were normal.",
        "",
        "The one study outside of these families that nothing was fitted to: 136 runs of LLaMA 13B to 65B on 32 to 256 "
        "A100 (Hagemann 2023, arXiv:2311.05610; not packaged, for its licence). Mean error 8 %, 90th percentile 16 %, "
        "bias -7 %, 71 % inside the 80 % interval, measured on 2026-12-01: see "
        "[how that came](../concepts/training.md#the-interval).",
        "",
    ]


def _left_out_gpus() -> list[str]:
    rows = [
        f"| {gpu} | {kind} | {f['rows']} | {_percent(f['mape'])} | {_percent(f['bias'], True)} |"
        for gpu, kinds in CALIBRATION.facts["gpu_left_out"].items()
        for kind, f in kinds.items()
    ]
    return [
        "## An accelerator known only from its data sheet",
        "",
        "No run of the accelerator was seen, and its best measured product is not known.",
        "",
        "| accelerator | kind | runs | mean error | bias |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]


def _rest(document: dict[str, Any], report: Any) -> list[str]:
    memory, others = document["memory"], document["others"]
    study = {
        p.case.row.number("gpu_count"): p.error
        for p in report.predicted
        if p.case.row.family == "mlperf-5.0" and p.case.row.counted
    }
    slope = (1 + study[8192.0]) / (1 + study[512.0]) - 1
    return [
        "## Scaling, memory, and rows that do not count",
        "",
        f"- Llama 3.1 405B from 512 to 8,192 H100 (MLPerf 5.0): the predicted ratio of step times is "
        f"{_percent(slope, True)} "
        "off the measured one.",
        f"- Memory: {memory['rows']} published measurements, mean error {100 * memory['mape']:.1f} %, bias "
        f"{_percent(memory['bias'], True)}; {memory['false_misfits']} runs that happened are called impossible. The "
        "eleven BLOOM prototypes among them contradict each other (60.5 GB at micro-batch 2, 52.2 GB at 4).",
        f"- {others['rows']} measured rows leave out what decides their outcome (plan, architecture, frozen weights): "
        "mean "
        f"error {_percent(others['mape'])}, {_percent(others['coverage80'])} inside their intervals.",
        "",
    ]


def _short() -> list[str]:
    report = validate_training(SHORT, load_catalog())
    memory = report.memory
    short = memory["out_of_memory"]
    sources: dict[str, list[int]] = {}
    for one in report.predicted:
        counts = sources.setdefault(one.case.row.text("source"), [0, 0])
        counts[one.case.row.text("outcome") == "oom"] += 1
    return [
        "## What ran out of memory",
        "",
        f"{short['rows']} published runs that ran out of memory, and {memory['happened']} beside them that did not. "
        f"{short['false_fits']} of the first are said to fit, {memory['false_misfits']} of the second are called "
        f"impossible; {short['called_impossible']} of the first are called impossible, the rest lies in between. What "
        "is not known of the software counts both ways: a framework whose norms and loss are plain operators may keep "
        "more, one with gradients in BF16 less.",
        "",
        "| source | ran | ran out |",
        "|---|---|---|",
        *(f"| {source} | {ran} | {out} |" for source, (ran, out) in sources.items()),
        "",
    ]


def _constants() -> list[str]:
    spread = CALIBRATION.facts["sureness"]
    rows = [
        f"| `{name}` | {getattr(PRIOR, name):.3g} | {getattr(CALIBRATION.physics, name):.3g} | {_percent(sure)} |"
        for name, sure in spread.items()
    ]
    factors = ", ".join(f"{name} {value:.2f}" for name, value in CALIBRATION.factors.items())
    return [
        "## The constants",
        "",
        f"Fitted to {CALIBRATION.facts['rows']} runs on {CALIBRATION.facts['date']} by `clusterwright calibrate`; what "
        "each means stands in [training](../concepts/training.md).",
        "",
        "| constant | expected | fitted | uncertain by |",
        "|---|---|---|---|",
        *rows,
        "",
        f"Step time of a framework relative to the mean one: {factors}.",
    ]
