"""CHOICE: fronts and swings over arrays of options. Knows arrays only."""

from clusterwright.search.pareto import dominated
from clusterwright.search.sensitivity import rank_swings

__all__ = ["dominated", "rank_swings"]
