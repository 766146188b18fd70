"""What accounting can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "ACCOUNT-PERIOD",
        "error",
        "The period cannot be accounted for",
        "A period has a beginning and a later end, both written as a date, a month or a time in UTC.",
    ),
    Code(
        "ACCOUNT-NO-COSTS",
        "error",
        "The cluster has no costs",
        "What teams pay is a share of the cluster's costs, which stand in its design (cluster.json, table 'money').",
    ),
    Code(
        "ACCOUNT-NO-DESIGN",
        "error",
        "No design was named",
        "The costs of a cluster stand in its design. 'site.yaml' names it under 'design', or --design does.",
    ),
    Code(
        "ACCOUNT-NOT-MEASURED",
        "error",
        "Nobody measured what the jobs used",
        "Cost by measured use needs the energy or the GPU utilisation of the jobs, and the history has neither. Slurm "
        "writes energy with an acct_gather_energy plugin; --basis allocation needs no measurement.",
    ),
    Code(
        "ACCOUNT-PARTLY-MEASURED",
        "warning",
        "Not every job was measured",
        "The use of the other jobs is taken as the mean of those that were measured, weighted by the GPU time that "
        "they held. The finding says how much GPU time that is.",
    ),
    Code(
        "ACCOUNT-NO-QUOTA",
        "warning",
        "A team without a quota of its own",
        "The design names no tenant of that name, so no idle capacity is kept for it. It pays for what it holds; name "
        "it among the spec's tenants, or count it as overhead with --overhead.",
    ),
    Code(
        "ACCOUNT-MORE-THAN-THERE",
        "warning",
        "Jobs held more GPUs than the design has",
        "Spares took part, or the history is of another cluster. Nothing is idle then, and a GPU-hour costs less.",
    ),
    Code(
        "ACCOUNT-TEAM",
        "error",
        "A team that has no jobs and no quota",
        "--subsidy and --price name teams by their accounts in Slurm, as the table of the bill does.",
    ),
    Code("ACCOUNT-NO-JOB", "error", "No such job", "The history has no job of that number in the period."),
    Code(
        "ACCOUNT-NO-SAMPLES",
        "warning",
        "Prometheus did not say how busy the nodes were",
        "Utilisation and energy of jobs are worked out from what Prometheus kept of their nodes. It does not answer, "
        "or has nothing of that time, so they are known only as far as Slurm's accounting has them.",
    ),
    Code(
        "STATUS-BLIND",
        "warning",
        "A source of status does not answer",
        "The status is made of what the others say; figures that need this source are unknown.",
    ),
    Code(
        "STATUS-MISSED",
        "warning",
        "A target is missed",
        "A metric lies outside its target. With --strict the verb ends with exit code 1.",
    ),
)
"""The codes of accounting and status."""
