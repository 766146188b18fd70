"""What operating a cluster can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "OPERATE-NO-SITE",
        "error",
        "No cluster was named",
        "Verbs that operate a cluster are told how it is reached by a file site.yaml: with --site, by "
        "CLUSTERWRIGHT_SITE, or by the one lab that is up on this machine.",
    ),
    Code(
        "OPERATE-SITE",
        "error",
        "site.yaml is wrong",
        "The file that says how a cluster is reached cannot be read, or holds a key or a value that it cannot hold.",
    ),
    Code(
        "OPERATE-SLURM",
        "error",
        "Slurm does not answer as it should",
        "A client of Slurm is missing, the controller did not answer in time, or it refused what was asked for.",
    ),
    Code(
        "OPERATE-ACTION",
        "error",
        "That cannot be done to an action",
        "No action has that number, it cannot be undone, or somebody else has decided since.",
    ),
    Code(
        "OPERATE-STATE",
        "error",
        "The watcher's memory cannot be written",
        "Every action is written down before it is done; where that is impossible nothing is done.",
    ),
    Code(
        "OPERATE-LEADER",
        "error",
        "Another watcher leads",
        "One watcher acts on a site; a second one ends at once and names the first.",
    ),
    Code(
        "OPERATE-POLICY",
        "error",
        "The policy of the watcher is wrong",
        "A site's file holds a key or a value that a policy cannot hold, or cannot be read.",
    ),
    Code(
        "OPERATE-BREAKER",
        "warning",
        "Too many nodes would go",
        "More nodes would be taken away within the window than the policy allows. None of them is, until a person has "
        "looked and says 'operate reset'.",
    ),
    Code(
        "OPERATE-PROMETHEUS",
        "error",
        "Prometheus does not answer",
        "The server cannot be reached, did not answer in time, or refused the query.",
    ),
)
