"""All candidates weighed: their figures, the limits, who holds them, and who wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Floats, Frame
from clusterwright.design.candidates import Candidate
from clusterwright.design.doors import weigh
from clusterwright.design.limits import Bools, Limit, holds, limits_of, violation
from clusterwright.search import best, dominated, weighted
from clusterwright.spec import Spec

__all__ = ["Weighing", "finish", "weigh_all"]

OBJECTIVES = {"cost": "cost.tco_usd", "energy": "facility.run_energy_j", "carbon": "facility.carbon_kg_run"}


def finish(frame: Frame, spec: Spec) -> Floats:
    """When the last workload is done, seconds."""
    return np.asarray(np.max([frame[f"training[{j}].finish_s"] for j in range(len(spec.workloads))], axis=0))


@dataclass(frozen=True)
class Weighing:
    """The candidates and everything that was worked out about them; arrays have one value a candidate."""

    spec: Spec
    candidates: Sequence[Candidate]
    frame: Frame
    limits: Sequence[Limit]
    feasible: Bools

    @cached_property
    def asked(self) -> Bools:
        """Which candidates are inside the spec."""
        return np.array([not c.lifts for c in self.candidates])

    @cached_property
    def finish(self) -> Floats:
        """When the last workload is done, seconds."""
        return finish(self.frame, self.spec)

    @cached_property
    def cost(self) -> Floats:
        """Cost over the operating years, USD."""
        return self.frame["cost.tco_usd"]

    @cached_property
    def margins(self) -> Floats:
        """Margin of each limit (rows) for each candidate (columns)."""
        return np.array([limit.margin(self.frame) for limit in self.limits])

    @cached_property
    def score(self) -> Floats:
        """The weighted objective, each part relative to its median over the candidates; smaller is better."""
        weights = self.spec.objective
        parts = [self.finish if name == "time" else self.frame[OBJECTIVES[name]] for name in weights]
        return weighted(np.column_stack(parts), list(weights.values()))

    @cached_property
    def winner(self) -> int:
        """The best by the objective among what was asked and holds; else the least broken of what was asked.

        Equal to within a ten-thousandth, the shorter run and then the fewer racks decide.
        """
        allowed = self.asked & self.feasible
        if not allowed.any():
            broken = np.where(self.asked, violation(list(self.limits), self.frame), np.inf)
            allowed = broken <= broken.min() + 1e-6
        found = best(self.score, allowed, (self.finish, self.frame["facility.racks"]))
        return 0 if found is None else found

    @cached_property
    def beaten(self) -> Bools:
        """Which candidates are infeasible, or beaten in both time and cost by a feasible one."""
        figures = np.column_stack([self.finish, self.cost])
        return np.asarray(dominated(np.where(self.feasible[:, None], figures, np.inf)) | ~self.feasible)

    @property
    def found(self) -> bool:
        """Whether the winner holds every limit."""
        return bool(self.feasible[self.winner])


def weigh_all(candidates: Sequence[Candidate], spec: Spec, catalog: Catalog) -> Weighing:
    """Run the laws over all candidates and hold them against the limits."""
    frame = weigh(candidates, spec, catalog)
    limits = limits_of(spec, frame)
    return Weighing(spec, candidates, frame, limits, holds(limits, frame))
