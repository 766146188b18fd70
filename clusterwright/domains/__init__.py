"""THE LAWS: one room a domain, each a door with ``LAWS``, ``FINDINGS``, ``size`` and ``apply``.

Domains do not import each other, except that training stands on compute and fabric. They speak through the figures
of the cluster; the order of their doors stands in ``design``.
"""
