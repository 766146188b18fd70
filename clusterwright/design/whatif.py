"""What if: the same run with a knob turned, with its plan kept and with the plan searched anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from clusterwright.design.asking import DEGREES, OPTIONS
from clusterwright.design.codes import FINDINGS
from clusterwright.design.estimate import Estimated, estimate
from clusterwright.errors import InputError
from clusterwright.findings import Finding

__all__ = ["Change", "WhatIf", "kept_plan", "what_if"]

_FACTOR = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(x|%)\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Change:
    """Knobs turned together.

    Attributes:
        text: as typed.
        options: option to text.
        factors: figure of the machine to factor.
    """

    text: str
    options: dict[str, str]
    factors: dict[str, float]


@dataclass(frozen=True)
class WhatIf:
    """What a change makes of the run.

    Attributes:
        change: the knobs.
        kept: with the plan of the base (data parallelism follows), or None where that plan cannot be.
        best: with the plan searched anew, the degrees that were asked for staying fixed.
        why_not_kept: what stands against the plan of the base.
    """

    change: Change
    kept: Estimated | None
    best: Estimated
    why_not_kept: str = ""


def what_if(base: Estimated, texts: Sequence[str]) -> list[WhatIf]:
    """Work out each change.

    Args:
        base: the run as it is.
        texts: ``micro_batch=2`` or ``tp=4,pp=8`` or ``accelerator.memory_bytes=2x``, one change each.

    Raises:
        InputError: with everything that is wrong in any of them.
    """
    changes: list[Change] = []
    wrong: list[Finding] = []
    for text in texts:
        try:
            changes.append(_understood(text, base))
        except InputError as error:
            wrong += error.findings
    done = []
    for change in changes:
        try:
            done.append(_worked_out(base, change))
        except InputError as error:
            wrong += [_of(change.text, finding) for finding in error.findings]
    if wrong:
        raise InputError(wrong)
    return done


def _of(text: str, finding: Finding) -> Finding:
    return Finding(finding.code, finding.severity, finding.message, f"--what-if {text}", finding.hint)


def kept_plan(base: Estimated) -> dict[str, str]:
    """The degrees and choices of a run as options, data parallelism left to follow, and interleaving with it."""
    return {name: str(base.plan[name]) for name in ("tp", "pp", "cp", "ep", "micro_batch", "offload")}


def _worked_out(base: Estimated, change: Change) -> WhatIf:
    factors = {**base.factors, **change.factors}
    asked = {name: text for name, text in base.asked.items() if name != "dp"} | change.options
    best = estimate(asked, base.catalog, base.sets, factors)
    kept, why = None, ""
    try:
        same = {**base.asked, **kept_plan(base), **_without_dp(asked)}
        kept = estimate(same, base.catalog, base.sets, factors, rounds=True)
    except InputError as error:
        why = error.findings[0].message
    return WhatIf(change, kept, best, why)


def _without_dp(asked: dict[str, str]) -> dict[str, str]:
    """What was asked; where data parallelism was not, ``auto`` overrides that of the base."""
    return asked if "dp" in asked else {**asked, "dp": "auto"}


def _understood(text: str, base: Estimated) -> Change:
    options: dict[str, str] = {}
    factors: dict[str, float] = {}
    wrong: list[Finding] = []
    for one in re.split(r",(?=[^,=]+=)", text):
        knob, sign, value = one.partition("=")
        knob, value = knob.strip(), value.strip()
        name = knob.lstrip("-").replace("-", "_")
        if not sign or not value:
            message = f"'{one.strip()}' is not KNOB=VALUE"
            wrong.append(FINDINGS["ESTIMATE-WHAT-IF"].at(f"--what-if {text}", message, "write it like micro_batch=2"))
        elif name in OPTIONS or name == "gpu":
            options[name] = _scaled(name, value, base)
        elif knob in base.cluster.frame and knob not in base.cluster.frame.texts:
            factor = _factor(value)
            if factor is None:
                message = f"'{value}' is not a factor"
                wrong.append(FINDINGS["ESTIMATE-WHAT-IF"].at(f"--what-if {text}", message, f"write {knob}=1.5x"))
            else:
                factors[knob] = factor
        else:
            wrong.append(_unknown(knob, text, base))
    if wrong:
        raise InputError(wrong)
    return Change(text.strip(), options, factors)


def _unknown(knob: str, text: str, base: Estimated) -> Finding:
    figures = [path for path in base.cluster.frame if path.startswith(("accelerator.", "server.", "fabric."))]
    close = get_close_matches(knob.replace("-", "_"), ["gpu", *OPTIONS, *figures], n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(close)}?"
        if close
        else f"knobs: gpu, {', '.join(OPTIONS)}, or a figure times a factor"
    )
    return FINDINGS["ESTIMATE-WHAT-IF"].at(f"--what-if {text}", f"there is no knob '{knob}'", hint)


def _factor(text: str) -> float | None:
    """``1.5x`` or ``+20%`` as a factor; None when it is neither, or not positive."""
    match = _FACTOR.match(text)
    if match is None:
        return None
    number = float(match[1])
    factor = number if match[2].lower() == "x" else 1.0 + number / 100.0
    return factor if factor > 0 else None


def _scaled(name: str, value: str, base: Estimated) -> str:
    """An option's new text; ``2x`` is twice what it was."""
    factor = _factor(value) if not value.rstrip().endswith("%") else None
    if factor is None:
        return value
    train = base.train
    was = {
        "gpus": float(base.gpus),
        "sequence": float(train.sequence),
        "tokens": train.tokens,
        "global_batch": train.global_batch_sequences,
        **{d: float(base.plan[d]) for d in (*DEGREES, "micro_batch") if d in base.plan},
    }.get(name)
    if was is None:
        return value
    return f"{was * factor:.0f}" + (" sequences" if name == "global_batch" else "")
