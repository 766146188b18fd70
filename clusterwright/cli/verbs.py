"""The verbs by stage, in the order in which a person comes to need them.

This table is all that ``clusterwright --help`` reads; the module of a verb, named as the verb, is imported when the
verb is called. A module defines ``command``, a :class:`click.Command`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["STAGES", "VERBS", "Verb"]


class Verb(NamedTuple):
    """One verb.

    Attributes:
        name: what is typed, and the name of its module.
        stage: key into :data:`STAGES`.
        summary: one line for ``--help``.
    """

    name: str
    stage: str
    summary: str

    @property
    def module(self) -> str:
        """The module that defines ``command``."""
        return f"clusterwright.cli.{self.name}"


STAGES = {
    "ask": "Say what is wanted",
    "design": "Design and judge",
    "deploy": "Deploy",
    "operate": "Run, watch, account",
    "look": "Look closer",
}
"""Headings of ``--help`` in order."""

VERBS = {
    verb.name: verb
    for verb in (
        Verb("init", "ask", "write a first spec to edit"),
        Verb("check", "ask", "say everything that is wrong with a spec"),
        Verb("schema", "ask", "print the JSON Schema of a spec, for editors"),
        Verb("catalog", "ask", "list, show and compare what can be had, and what is stale"),
        Verb("design", "design", "turn a spec into a complete, explained cluster design"),
        Verb("estimate", "design", "estimate one run: step time, memory, the best plans, what if, launch flags"),
        Verb("compare", "design", "lay designs side by side"),
        Verb("audit", "design", "judge claims about a cluster: holds, does not hold, contradicts"),
        Verb("explain", "design", "open a figure of a design down to its sources, or a finding code"),
        Verb("render", "deploy", "write a design as one bundle of real configuration"),
        Verb("verify", "deploy", "judge a bundle by the tools that will read it"),
        Verb("plan", "deploy", "show what deploying a bundle would change"),
        Verb("apply", "deploy", "carry out a saved plan, after asking"),
        Verb("lab", "operate", "run the rendered cluster as a real Slurm on this machine"),
        Verb("observe", "operate", "turn a cluster that runs into a spec"),
        Verb("drift", "operate", "compare a cluster that runs with the files it was rendered from"),
        Verb("operate", "operate", "watch a cluster: drain, requeue, put spares in, give nodes back"),
        Verb("report", "look", "write a design as one HTML file, Markdown and JSON"),
        Verb("validate", "look", "hold the laws against published truth"),
        Verb("calibrate", "look", "fit the step-time law to published runs or to your own"),
        Verb("doctor", "look", "check this installation and what it can use"),
    )
}
"""Every verb by its name."""
