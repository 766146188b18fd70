"""The finding codes of the report room."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "REPORT-UNKNOWN-PATH",
        "error",
        "Nothing of that name",
        "The path names no figure, choice or table column of this design. Figures are named as in the JSON of a design "
        "(facility.it_power_w), cells as table[row].column; '*' stands for anything, and a prefix lists what is below.",
    ),
    Code(
        "REPORT-UNKNOWN-CODE",
        "error",
        "Neither a finding code nor a law",
        "'explain' with one argument takes a finding code (FACILITY-RACK-TOO-DENSE) or the name of a law "
        "(facility.meter_power); with two a run folder and the path of a figure.",
    ),
)
"""Every code of this room."""
