"""One run on one machine, without a cluster around it: what training makes of it, and what else could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Frame
from clusterwright.design.asking import DEGREES, OPTIONS, machine_for, needed, peakless, placed, round_batch, spec_of
from clusterwright.design.candidates import Candidate
from clusterwright.design.consistency import inconsistencies
from clusterwright.design.doors import SIZE
from clusterwright.design.inputs import fill
from clusterwright.domains import training
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.spec import Spec, Train

__all__ = ["RUN", "Estimated", "estimate"]

RUN = "training[0]"
"""Where the figures of an estimate stand."""


@dataclass(frozen=True)
class Estimated:
    """A run that was worked out.

    Attributes:
        asked: option to text, as asked.
        sets: what was laid over the spec.
        spec: of the run.
        candidate: server and fabric.
        catalog: what the parts are read from.
        cluster: figures of the run under ``training[0]``; its plans, roofline and bottleneck as answers.
        factors: figures that were changed by a factor.
        index: of the run among the workloads; an estimate has one.
    """

    asked: Mapping[str, str]
    sets: Sequence[str]
    spec: Spec
    candidate: Candidate
    catalog: Catalog
    cluster: Cluster
    factors: Mapping[str, float] = field(default_factory=dict)
    index: int = 0

    @property
    def at(self) -> str:
        """Where its figures stand: ``training[0]``."""
        return f"training[{self.index}]"

    def value(self, name: str) -> float:
        """A figure of the run, such as ``step_time_s``."""
        return self.cluster.value(f"{self.at}.{name}")

    def parts(self) -> dict[str, float]:
        """The waterfall: exposed seconds by part, largest first."""
        head = f"{self.at}.step."
        found = {
            path.removeprefix(head): self.cluster.value(path) for path in self.cluster.frame if path.startswith(head)
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def has(self, name: str) -> bool:
        """Whether the run has such a figure."""
        return f"{self.at}.{name}" in self.cluster.frame

    @property
    def fits(self) -> bool:
        """Whether a legal plan was found that fits the memory."""
        return self.value("fits") > 0

    @property
    def gpus(self) -> int:
        """Accelerators that the run is given."""
        return int(self.value("available_gpus"))

    @property
    def plan(self) -> dict[str, Any]:
        """The plan: degrees, micro-batch, interleaving, recomputation in words."""
        return dict(self.plans[0]) if self.plans else {}

    @property
    def plans(self) -> list[dict[str, Any]]:
        """The plans side by side, the chosen one first."""
        found: list[dict[str, Any]] = self.cluster.answers["plans"][self.index]
        return found

    @property
    def train(self) -> Train:
        """The run as the spec has it."""
        train = self.spec.workloads[self.index].train
        if train is None:
            raise ValueError("an estimate has one training run")
        return train


def estimate(
    asked: Mapping[str, str],
    catalog: Catalog,
    sets: Sequence[str] = (),
    factors: Mapping[str, float] | None = None,
    *,
    quick: bool = False,
    rounds: bool = False,
) -> Estimated:
    """Work out one run.

    Args:
        asked: option (a key of :data:`OPTIONS`) to text, as typed.
        catalog: what can be had.
        sets: ``path=value`` laid over the spec of the run.
        factors: figures to multiply, path to factor: the what-if.
        quick: leave out intervals.
        rounds: let the batch be rounded to whole micro-batches even where every degree is fixed.

    Raises:
        InputError: with everything that is wrong; a plan that cannot be comes with the nearest ones that can.
    """
    spec = _understood(asked, sets, catalog, rounds)
    batch = round_batch(spec)
    if batch is not None:
        spec = _understood({**asked, "global_batch": batch}, sets, catalog, rounds)
    candidate, wider, found = machine_for(asked, spec, catalog)
    frame = Frame(1, intervals=not quick)
    for path, factor in (factors or {}).items():
        frame.vary(path, factor)
    fill(frame, [candidate], spec, wider)
    try:
        for size in SIZE:
            size(frame, spec, wider)
            if size is training.size:
                break
    except InputError as error:
        raise InputError([placed(finding) for finding in error.findings]) from None
    cluster = Cluster(frame=frame)
    cluster.say(*found)
    training.apply(cluster, spec, wider)
    cluster.findings = [placed(finding) for finding in cluster.findings]
    _refuse(cluster)
    return Estimated(dict(asked), tuple(sets), spec, candidate, wider, cluster, dict(factors or {}))


def _understood(asked: Mapping[str, str], sets: Sequence[str], catalog: Catalog, rounds: bool) -> Spec:
    """The spec of the run, or everything that is wrong with it at once."""
    missing = needed(asked, catalog)
    try:
        spec = spec_of(asked, sets, catalog)
    except InputError as error:
        found = [f for f in error.findings if not _is_of_plan(f)]
        other = [f for f in found if not (missing and f.code == "SPEC-MISSING-KEY")]
        if missing or other:
            raise InputError([*missing, *other, *(f for f in error.findings if _is_of_plan(f))]) from None
        free = {name: text for name, text in asked.items() if name not in DEGREES}
        clashes = inconsistencies(spec_of(free, sets, catalog), _degrees(asked), _domain(asked, catalog), rounds=rounds)
        raise InputError(clashes or error.findings) from None
    if missing:
        raise InputError(missing)
    train = spec.workloads[0].train
    found = peakless(catalog.get("accelerator", asked["gpu"]), train.precision if train is not None else "bf16")
    found += inconsistencies(spec, _degrees(asked), _domain(asked, catalog), rounds=rounds)
    if found:
        raise InputError(found)
    return spec


def _domain(asked: Mapping[str, str], catalog: Catalog) -> int:
    """Accelerators in a scale-up domain."""
    return int(catalog.get("accelerator", asked["gpu"]).get("scaleup_domain", 1))


def _is_of_plan(finding: Finding) -> bool:
    """A contradiction among the degrees themselves, which is said better with the nearest plans beside it."""
    plan = OPTIONS["tp"].rpartition(".")[0]
    places = {f"--{name}" for name in DEGREES} | {"--micro-batch", "--recompute", f"--set {plan}"}
    return finding.code == "SPEC-CONTRADICTION" and str(finding.place) in places


def _degrees(asked: Mapping[str, str]) -> dict[str, int]:
    """The degrees that are fixed; the spec has seen that they are whole numbers."""
    return {name: int(float(asked[name])) for name in DEGREES if asked.get(name, "auto").strip() != "auto"}


def _refuse(cluster: Cluster) -> None:
    """A plan that the law finds illegal is refused, not replaced."""
    wrong = [f for f in cluster.findings if f.code in ("TRAINING-PLAN-INCONSISTENT", "TRAINING-NO-PLAN")]
    if wrong:
        raise InputError(wrong)
