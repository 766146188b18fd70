"""What ``estimate train`` prints for people: key figures, waterfall, roofline, plans, what-if, attribution, flags."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.report.tables import WIDTH, Ink, text_table
from clusterwright.report.words import label, number, span

__all__ = ["estimate_text", "waterfall"]

BAR = 40
"""Characters that a whole step is wide."""
CHECKS = 5
"""Causes for which it is said how to tell."""
_KEY = (
    ("Step time", "step_time_s"),
    ("MFU", "mfu"),
    ("Tokens per second", "tokens_per_s"),
    ("Sustained per GPU", "tflops_per_gpu"),
    ("Scaling efficiency", "scaling_efficiency"),
)


def estimate_text(document: Mapping[str, Any], *, color: bool = False, width: int = WIDTH) -> str:
    """The text of an estimate.

    Args:
        document: as ``estimate train --json`` has it.
        color: with ANSI colours.
        width: of the text, characters.
    """
    ink = Ink(color)
    parts = [
        _head(document, ink),
        _key(document, ink, width),
        _memory(document, ink),
        waterfall(document["step"], ink),
        _roofline(document["roofline"], ink, width),
        _plans(document["plans"], ink, width),
    ]
    if "what_if" in document:
        parts.append(_what_if(document, ink, width))
    if "attribution" in document:
        parts.append(_attribution(document["attribution"], ink, width))
    if "launch" in document:
        parts.append(_launch(document["launch"], ink, width))
    return "\n\n".join(part for part in parts if part)


def _head(document: Mapping[str, Any], ink: Ink) -> str:
    run, plan = document["run"], document["plan"]
    fits = document["verdict"] == "fits"
    mark = ink("good", "✓ fits") if fits else ink("bad", "✗ does not fit")
    on = f"{run['gpus']:,} × {run['gpu']} in {run['server']}, {run['fabric']}"
    batch = f"{run['global_batch_sequences']:,.0f} sequences of {run['sequence']:,} tokens a step, {run['precision']}"
    return f"{ink('bold', run['model'])} on {on}: {mark}\n{batch}\nplan: {plan_words(plan)}"


def plan_words(plan: Mapping[str, Any]) -> str:
    """A plan in words: ``tp 2 x pp 8 x cp 2 x dp 32, 16 micro-batches of 1, 10 chunks a stage, recompute none``."""
    across = " x ".join(f"{name} {plan[name]:,}" for name in ("tp", "pp", "cp", "dp"))
    experts = f", ep {plan['ep']}" if plan["ep"] > 1 else ""
    chunks = f", {plan['interleave']} chunks a stage" if plan.get("interleave", 1) > 1 else ""
    micro = f", {plan['micro_batches']:,} micro-batches of {plan['micro_batch']}"
    return f"{across}{experts}{micro}{chunks}, recompute {plan['recompute']}{_choices(plan)}"


def _choices(plan: Mapping[str, Any]) -> str:
    """Schedule, sharing and offloading, where they are not the usual ones."""
    said = ["zero-bubble"] if plan.get("schedule") == "zero-bubble" else []
    if plan.get("sharding", "zero-1") != "zero-1":
        group = f" in groups of {plan['shard_group']:,}" if "shard_group" in plan else ""
        said.append(f"{plan['sharding']}{group}")
    if plan.get("offload", "none") != "none":
        said.append(f"offload {plan['offload']}")
    return "".join(f", {words}" for words in said)


def _key(document: Mapping[str, Any], ink: Ink, width: int) -> str:
    rows = [_figure(words, name, document[name]) for words, name in _KEY if name in document]
    tokens = document["run"]["tokens"]
    said = f"{tokens / 1e12:.3g}T" if tokens >= 1e12 else f"{tokens / 1e9:.3g}B" if tokens >= 1e9 else f"{tokens:,.0f}"
    rows.append(_figure(f"Time for {said} tokens", "compute_time_s", document["compute_time_s"]))
    note = "80 % interval; the time is without failures and restarts"
    return text_table(["", "", note], rows, right=[1], width=width, ink=ink)


def _figure(words: str, path: str, found: Mapping[str, float]) -> list[str]:
    return [words, number(path, found["value"]), span(path, found["low"], found["high"])]


def _memory(document: Mapping[str, Any], ink: Ink) -> str:
    memory = document["memory"]
    total, available = memory["bytes"]["value"], memory["available_bytes"]
    head = f"Memory per GPU: {number('x_bytes', total)} of {number('x_bytes', available)} ({memory['fraction']:.0%})"
    return "\n".join([ink("bold", head), *_bars(_named(memory["parts"]), available, "x_bytes", ink)])


def _named(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    return [(name.removesuffix("_bytes").replace("_", " "), value) for name, value in parts.items()]


def waterfall(step: Sequence[Mapping[str, Any]], ink: Ink | None = None) -> str:
    """The parts of a step as bars, each beginning where the one before ends; parts of nothing are left out."""
    ink = ink or Ink()
    total = sum(part["seconds"] for part in step)
    parts = [(label(f"training[0].step.{p['part']}"), p["seconds"]) for p in step if p["seconds"] > 0]
    head = ink("bold", f"Where the {number('x_s', total)} of a step go")
    return "\n".join([head, *_bars(parts, total, "x_s", ink)])


def _bars(parts: Sequence[tuple[str, float]], whole: float, path: str, ink: Ink) -> Iterator[str]:
    wide = max((len(name) for name, _ in parts), default=0)
    done = 0.0
    for name, value in parts:
        start, end = round(BAR * done / whole), round(BAR * (done + value) / whole)
        done += value
        bar = " " * min(start, BAR) + ("█" * (min(end, BAR) - min(start, BAR)) or "▏")
        yield f"  {name.ljust(wide)}  {number(path, value):>9}  {value / whole:>4.0%}  {ink('link', bar)}".rstrip()


def _roofline(roofline: Mapping[str, Any], ink: Ink, width: int) -> str:
    ridge, peak = roofline["ridge_flop_per_byte"], roofline["peak_flops"]
    rows = []
    for point in roofline["points"]:
        beyond = point["flop_per_byte"] / ridge
        bound = f"compute, {beyond:.1f} x beyond the ridge" if beyond >= 1 else f"memory, at {beyond:.0%} of the ridge"
        rate = number("x_flops", point["flops"])
        rows.append([point["name"], f"{point['flop_per_byte']:,.0f}", rate, f"{point['flops'] / peak:.0%}", bound])
    best = number("x_flops", roofline["achievable_flops"])
    head = f"Roofline: peak {number('x_flops', peak)}, best measured {best}, ridge at {ridge:,.0f} FLOP/B"
    titles = ["product", "FLOP/B", "reached", "of peak", "bound by"]
    return ink("bold", head) + "\n" + text_table(titles, rows, right=[1, 2, 3], width=width, ink=ink)


_PLAN = ("tp", "pp", "cp", "ep", "dp")


def _plans(plans: Sequence[Mapping[str, Any]], ink: Ink, width: int) -> str:
    titles = ["", *_PLAN, "chunks", "micro", "recompute", "step", "MFU", "memory", "why"]
    rows, styles = [], []
    for plan in plans:
        mark = "✓" if plan["chosen"] else "" if plan["fits"] else "✗"
        rows.append(
            [
                mark,
                *(f"{plan[name]:,}" for name in _PLAN),
                str(plan.get("interleave", 1)),
                str(plan["micro_batch"]),
                plan["recompute"] + _choices(plan),
                number("x_s", plan["step_time_s"]),
                f"{plan['mfu']:.1%}",
                number("x_bytes", plan["memory_bytes"]),
                plan["why"],
            ]
        )
        styles.append({0: "good"} if plan["chosen"] else {} if plan["fits"] else {0: "bad", len(titles) - 1: "bad"})
    right = [*range(1, 8), 9, 10, 11]
    table = text_table(titles, rows, right=right, styles=styles, width=width, ink=ink)
    return ink("bold", "Plans: the best that fit, then faster ones that do not") + "\n" + table


def _what_if(document: Mapping[str, Any], ink: Ink, width: int) -> str:
    titles = ["what if", "step", "", "MFU", "tokens/s", "memory", "plan"]
    base = document
    rows = [
        [
            "as it is",
            number("x_s", base["step_time_s"]["value"]),
            "",
            f"{base['mfu']['value']:.1%}",
            "",
            number("x_bytes", base["memory"]["bytes"]["value"]),
            "",
        ]
    ]
    for one in document["what_if"]:
        rows.append(_change(one["change"], one, _kept_words(one)))
        anew = one["searched_anew"]
        if one["plan_kept"] and anew["fits"] and (not one["fits"] or anew["step_time_s"] < 0.995 * one["step_time_s"]):
            rows.append(_change("", anew, f"searched anew: {_short(anew['plan'])}"))
    table = text_table(titles, rows, right=[1, 2, 3, 4, 5], width=width, ink=ink)
    return ink("bold", "What if; changes of less than 3 % are below what the law resolves") + "\n" + table


def _kept_words(one: Mapping[str, Any]) -> str:
    words = _short(one["plan"])
    if one["plan_kept"]:
        return f"kept: {words}" + ("" if one["fits"] else "; does not fit")
    return f"searched anew: {words} ({one['why_not_kept']})"


def _short(plan: Mapping[str, Any]) -> str:
    names = [name for name in ("tp", "pp", "cp", "ep", "dp") if plan[name] > 1]
    chunks = [f"chunks {plan['interleave']}"] if plan.get("interleave", 1) > 1 else []
    tail = f"micro {plan['micro_batch']}", plan["recompute"] + _choices(plan)
    return ", ".join([*(f"{n} {plan[n]:,}" for n in names), *chunks, *tail])


def _change(name: str, one: Mapping[str, Any], why: str) -> list[str]:
    return [
        name,
        number("x_s", one["step_time_s"]),
        f"{one['step_time_change']:+.1%}",
        f"{one['mfu']:.1%} ({100 * one['mfu_change']:+.1f})",
        f"{one['tokens_per_s_change']:+.1%}",
        number("x_bytes", one["memory_bytes"]) + ("" if one["fits"] else " ✗"),
        why,
    ]


def _attribution(found: Mapping[str, Any], ink: Ink, width: int) -> str:
    gap, predicted = found["gap_s"], found["predicted_s"]
    sign = "slower" if gap > 0 else "faster"
    head = (
        f"Measured {number('x_s', found['measured_s'])}, predicted {number('x_s', predicted['value'])} "
        f"({span('x_s', predicted['low'], predicted['high'])}): {number('x_s', abs(gap))} or "
        f"{abs(found['gap_fraction']):.0%} {sign}"
    )
    inside = "the measurement lies in the 80 % interval, so the run is not out of the ordinary"
    outside = "the measurement lies outside the 80 % interval: something differs from what is described here"
    said = inside if found["inside_interval"] else outside
    if not found["causes"]:
        return f"{ink('bold', head)}\n  {said}; there is no gap to explain"
    likely = [cause for cause in found["causes"] if cause["expected_fraction"] >= 0.005]
    rows = [
        [
            f"{cause['expected_fraction']:.0%}",
            number("x_s", cause["most_s"] if gap > 0 else -cause["least_s"]),
            f"{cause['covers_fraction']:.0%}",
            cause["name"],
            cause["source"],
        ]
        for cause in likely
    ]
    titles = ["expected share", "up to", "covers", "what could explain it", "range from"]
    table = text_table(titles, rows, right=[0, 1, 2], width=width, ink=ink)
    checks = [_check(k + 1, cause["name"], cause["check"], width) for k, cause in enumerate(likely[:CHECKS])]
    left = found["unexplained_s"]
    rest = f"\n  all of them together leave {number('x_s', left)} over: check model, batch, precision and GPU count"
    return "\n".join([ink("bold", head), f"  {said}", table, "  How to tell:", *checks]) + (rest if left > 0 else "")


def _check(k: int, name: str, check: str, width: int) -> str:
    return textwrap.fill(f"{k}. {name}: {check}", width, initial_indent="  ", subsequent_indent="     ")


def _launch(found: Mapping[str, Any], ink: Ink, width: int) -> str:
    notes = [textwrap.fill(note, width, initial_indent="# ", subsequent_indent="#   ") for note in found["notes"]]
    head = ink("bold", f"Flags for {found['project']}")
    return "\n".join([head, *notes, found["text"]])
