"""The constants of the step-time law: physical, the same for every model and machine; fitted to published runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import resources
from typing import Any

__all__ = ["CALIBRATION", "PHYSICS", "PRIOR", "Calibration", "Physics", "calibration_of"]


@dataclass(frozen=True)
class Physics:
    """Global constants; the values written here are what papers, data sheets and kernel benchmarks let one expect.

    Attributes:
        matmul: share of the best measured matrix-product rate that BF16 products inside a training step reach.
        matmul_8bit: the same in 8 bits, of the rate that the ratio of the peaks promises.
        matmul_4bit: the same in 4 bits.
        row_scaled: rate of 8-bit products scaled by rows over that of products scaled by tensors.
        grouped: rate of grouped products (experts) over that of plain ones.
        grouped_fused: the same where one kernel does all experts of a rank.
        power: exponent of the sustained rate in the power limit, between parts of equal peak.
        depth: length of the inner dimension that filling and draining a tile costs.
        wave: elements of a result that an incomplete last wave of tiles costs.
        sustained: exponent of the rate that lasts in the power that stands behind a FLOP/s of the peak.
        attention: share of the product rate that fused attention reaches, forward and backward together.
        attention_depth: tokens whose processing time a fused attention kernel loses at its ends.
        first_attention: rate of first-generation fused attention kernels over that of later ones.
        portable_attention: rate of attention kernels not written for the asynchronous tensor cores of a part.
        memory: share of the memory bandwidth that element-wise kernels reach.
        kernel_s: seconds that launching one kernel takes the host.
        expert_sync_s: seconds that a mixture layer waits for its routing, each pass, where the host takes part.
        collectives: share of its bare rate that a collective reaches beside the computing kernels.
        all_to_all: the same of the exchange between experts.
        ep_exposed: share of the exchange between experts that stays exposed.
        pp_exposed: share of the traffic between stages that stays exposed where chunks interleave.
        ep_overlapped: the same where it crosses the network and interleaved chunks give it work to hide behind.
        tp_exposed: share of tensor-parallel traffic that stays exposed where software overlaps it.
        dp_exposed: share of an overlapped transfer that stays exposed: its ends have nothing to hide behind.
        natural: work of the busiest expert rank over the mean where routing is not forced into balance.
        overhead: share of the step lost, at each doubling of the ranks, to stragglers and synchronisation.
    """

    matmul: float = 0.90
    matmul_8bit: float = 0.94
    matmul_4bit: float = 0.80
    row_scaled: float = 0.60
    grouped: float = 0.75
    grouped_fused: float = 0.85
    power: float = 0.50
    depth: float = 150.0
    wave: float = 1.5e6
    sustained: float = 0.15
    attention: float = 0.44
    attention_depth: float = 300.0
    first_attention: float = 0.60
    portable_attention: float = 0.60
    memory: float = 0.60
    kernel_s: float = 8e-6
    expert_sync_s: float = 1e-4
    collectives: float = 0.80
    all_to_all: float = 0.65
    ep_exposed: float = 0.60
    ep_overlapped: float = 0.45
    pp_exposed: float = 0.30
    tp_exposed: float = 0.60
    dp_exposed: float = 0.20
    natural: float = 1.12
    overhead: float = 0.005


PRIOR = Physics()
"""What is expected before any run is seen."""


@dataclass(frozen=True)
class Calibration:
    """Constants fitted to runs, and what is left between those runs and the law.

    Attributes:
        physics: the constants.
        factors: step time of a framework relative to the mean one, by its name.
        spread: half-width of the 80 % interval, as a logarithm, of families that a fit has not seen, by kind of model
            (``dense``, ``moe``); what unseen software (``software``) and an unseen part (``gpu``) add, as squares.
        apart: for each family of runs the constants and factors fitted without it.
        facts: of the fit: date, rows, errors; ``gpus`` and ``releases`` that its runs were on.
    """

    physics: Physics
    factors: Mapping[str, float]
    spread: Mapping[str, float]
    apart: Mapping[str, Calibration]
    facts: Mapping[str, Any]

    def without(self, family: str) -> Calibration:
        """The calibration that has not seen a family; this one where it never was in it."""
        return self.apart.get(family, self)

    def unseen(self, accelerator: str) -> float:
        """What an accelerator that no run of the fit was on adds to the interval, as a logarithm and a square."""
        seen = self.facts.get("gpus", ())
        return self.spread.get("gpu", 0.0) if accelerator and seen and accelerator not in seen else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": SCHEMA,
            **self.facts,
            "spread": dict(self.spread),
            "physics": asdict(self.physics),
            "factors": dict(self.factors),
            "apart": {
                name: {"physics": asdict(c.physics), "factors": dict(c.factors), **c.facts}
                for name, c in self.apart.items()
            },
        }


SCHEMA = "clusterwright/training-calibration/1"
_SEEN = ("gpus", "releases")
_OWN_KEYS = ("schema", "spread", "physics", "factors", "apart")


def calibration_of(document: Mapping[str, Any]) -> Calibration:
    """A calibration from its JSON form; constants that it does not name stay as expected.

    Raises:
        KeyError: it names a constant that the law does not have, or holds none at all.
        ValueError: a value is no positive number.
        TypeError, AttributeError: it has another form.
    """
    spread = _floats(document.get("spread", {}))
    apart = {
        str(name): Calibration(
            _physics(c["physics"]), _floats(c.get("factors", {})), spread, {}, {k: c[k] for k in _SEEN if k in c}
        )
        for name, c in document.get("apart", {}).items()
    }
    if "physics" not in document:
        raise KeyError("it has no 'physics'")
    facts = {k: v for k, v in document.items() if k not in _OWN_KEYS}
    return Calibration(_physics(document["physics"]), _floats(document.get("factors", {})), spread, apart, facts)


def _floats(table: Mapping[str, Any]) -> dict[str, float]:
    found = {str(k): float(v) for k, v in table.items()}
    wrong = [name for name, value in found.items() if not (math.isfinite(value) and value > 0)]
    if wrong:
        raise ValueError(f"not a positive number: {', '.join(wrong)}")
    return found


def _physics(table: Mapping[str, Any]) -> Physics:
    unknown = sorted(set(table) - set(asdict(PRIOR)))
    if unknown:
        raise KeyError(f"no such constant: {', '.join(unknown)}")
    return replace(PRIOR, **_floats(table))


def _shipped() -> Calibration:
    text = resources.files("clusterwright.domains.training").joinpath("calibration.json").read_text(encoding="utf-8")
    return calibration_of(json.loads(text))


CALIBRATION = _shipped()
"""The calibration of this release: ``clusterwright calibrate`` derives it from the published runs in the package."""

PHYSICS = CALIBRATION.physics
