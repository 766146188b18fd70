"""clusterwright: one model of an AI cluster, from a workload to a complete, explained design.

In a notebook or a script::

    from clusterwright.report import design

    result = design("spec.yaml")  # shows itself
    result.value("training[0].mfu")
    result.explain("facility.meter_power_w")
    result.to_pandas("money")
    result.plot.sankey()
"""

__version__ = "0.1.0"
