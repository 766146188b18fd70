"""What the lab can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "LAB-NOT-ROOT",
        "error",
        "The lab needs root",
        "slurmctld, slurmd and munge change users and make devices, which only root may. Nothing was started.",
    ),
    Code(
        "LAB-PROGRAM-MISSING",
        "error",
        "A daemon is not installed",
        "The lab starts the real programs; one of them is not on this machine. Nothing was started.",
    ),
    Code(
        "LAB-UP",
        "error",
        "That lab is up already",
        "A lab of this name runs, or was left by a crash. 'lab down' ends it and removes what it left.",
    ),
    Code("LAB-NOT-UP", "error", "No lab is up", "No lab of that name runs on this machine."),
    Code(
        "LAB-WHICH", "error", "Several labs are up", "More than one lab runs on this machine; say which one is meant."
    ),
    Code(
        "LAB-SCHEDULER",
        "error",
        "The lab runs Slurm only",
        "The bundle has no files of Slurm: the design asks for another scheduler, which the lab cannot start.",
    ),
    Code(
        "LAB-SITE", "error", "The design has several sites", "A lab is one Slurm; say which of the sites it is to be."
    ),
    Code(
        "LAB-START",
        "error",
        "A daemon did not start",
        "A program ended by itself or did not answer in time; its last words are said.",
    ),
    Code("LAB-BUSY", "error", "A node that would go has jobs", "Nodes leave the cluster when they are empty."),
    Code(
        "LAB-FAULT", "error", "A fault that the lab cannot make", "The kind of fault, its node or its number is wrong."
    ),
    Code(
        "LAB-LEFT-OUT",
        "info",
        "What the lab leaves out of the rendered files",
        "Some lines cannot hold on one machine without GPUs, or are newer than the installed Slurm. They are named.",
    ),
    Code("LAB-WORKLOAD", "error", "The workload cannot be run", "A line of the workload, or a column, is wrong."),
    Code(
        "LAB-DOWN",
        "error",
        "The lab could not be removed",
        "A process, a mount or a file of the lab is still there after it was ended; it is named.",
    ),
)
