"""CHOICE: fronts, swings and the weighted choice over arrays of options. Knows arrays only."""

from clusterwright.search.choose import best, relative, weighted
from clusterwright.search.pareto import dominated
from clusterwright.search.sensitivity import one_at_a_time, rank_swings, tornado

__all__ = ["best", "dominated", "one_at_a_time", "rank_swings", "relative", "tornado", "weighted"]
