"""CHOICE: fronts, swings and the weighted choice over arrays of options. Knows arrays only."""

from clusterwright.search.choose import best, median, weighted
from clusterwright.search.pareto import dominated
from clusterwright.search.sensitivity import rank_swings

__all__ = ["best", "dominated", "median", "rank_swings", "weighted"]
