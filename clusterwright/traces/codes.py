"""What a history can have wrong."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "TRACE-NOT-READABLE",
        "error",
        "The file cannot be read as a history of jobs",
        "The file is not there, is no text, or has no header with the columns that a history needs. "
        "The guide on accounting says how to write one with sacct.",
    ),
    Code(
        "TRACE-COLUMN",
        "error",
        "A column is missing or not known",
        "The header of a history names its columns. One that is needed is absent, or one is there that this version "
        "does not know; nothing is guessed from its place.",
    ),
    Code(
        "TRACE-LINE",
        "warning",
        "Lines of a history were set aside",
        "A line does not fit the header: too few fields (a line break in a job's name, a file that was cut off) or a "
        "field that cannot be what its column says. It is set aside and counted, never dropped silently or guessed at.",
    ),
    Code(
        "TRACE-JOB",
        "warning",
        "Jobs of a history were set aside",
        "The times or sizes of these jobs cannot be true: an end before the start, negative nodes or GPUs, a time "
        "before 1990, a state that Slurm does not have. They are set aside and counted.",
    ),
    Code(
        "TRACE-CLOCK",
        "warning",
        "The clock went backwards",
        "A job started before it was submitted or could start. Its wait counts as zero; the clocks of the machines "
        "that wrote the history differed, or were set.",
    ),
    Code(
        "TRACE-STEPS",
        "info",
        "Steps were left out",
        "The history has lines of job steps. They are parts of jobs that have a line of their own; only their energy "
        "is taken, where the job's own line has none. 'sacct -X' leaves them out.",
    ),
    Code(
        "TRACE-LOCAL-TIME",
        "info",
        "Times without a zone",
        "The history has clock times without a zone; they are read as UTC. Where the site's clock is another one, "
        "write the history with SLURM_TIME_FORMAT=%s, which has no such doubt and no hour twice in autumn.",
    ),
)
"""The codes of the room."""
