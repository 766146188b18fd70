"""The page of the step-time law's accuracy, from a validation run over the published runs in the package."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog import load_catalog
from clusterwright.domains.training import CALIBRATION, PRIOR
from clusterwright.validation import PUBLISHED, validate_training

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


def accuracy_page() -> str:
    """Errors out of sample: by kind, family and accelerator, baselines, memory, scaling."""
    report = validate_training(PUBLISHED, load_catalog())
    document = report.to_dict()
    lines = [
        "# Accuracy of the training predictor",
        "",
        f"{document['rows']} published runs, {document['counted']} of which say everything that decides their outcome. "
        "Each is predicted by constants fitted without its whole family (a report or a benchmark round); families count "
        "the same. Error is predicted over measured step time, minus one. The form of the law, and what is expected of "
        "its constants before any run is seen, were chosen with all of these runs in view: only runs that nobody had "
        "seen are a test without that reservation. `clusterwright validate training --data FILE` makes this table for "
        "any file.",
        "",
        *HEADER,
        _row("all", document, document["counted"]),
        *(_row(k, document["by_kind"][k], document["by_kind"][k]["counted"]) for k in KINDS),
        "",
        "## By family",
        "",
        *HEADER,
        *(_row(n, f, f["counted"]) for n, f in document["by_family"].items() if f["counted"]),
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
        *_left_out_gpus(),
        *_rest(document, report),
        *_constants(),
    ]
    return "\n".join(lines)


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
        f"- Llama 3.1 405B from 512 to 8,192 H100 (MLPerf 5.0): the predicted ratio of step times is {_percent(slope, True)} "
        "off the measured one.",
        f"- Memory: {memory['rows']} published measurements, mean error {100 * memory['mape']:.1f} %, bias "
        f"{_percent(memory['bias'], True)}; {memory['false_misfits']} runs that happened are called impossible. The "
        "eleven BLOOM prototypes among them contradict each other (60.5 GB at micro-batch 2, 52.2 GB at 4).",
        f"- {others['rows']} measured rows leave out what decides their outcome (plan, architecture, frozen weights): mean "
        f"error {_percent(others['mape'])}, {_percent(others['coverage80'])} inside their intervals.",
        "",
    ]


def _constants() -> list[str]:
    spread = CALIBRATION.facts["sureness"]
    rows = [
        f"| `{name}` | {getattr(PRIOR, name):.3g} | {getattr(CALIBRATION.physics, name):.3g} | {_percent(spread.get(name))} |"
        for name in spread
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
