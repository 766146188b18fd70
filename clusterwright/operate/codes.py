"""What operating a cluster can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "WATCH-POLICY",
        "error",
        "The policy of the watcher is wrong",
        "The file that site.yaml names as policy cannot be read, or holds a key or a value that it cannot hold.",
    ),
    Code(
        "WATCH-LEADER",
        "error",
        "Another watcher leads",
        "One watcher acts at a time; another one holds the lock in the state folder. --standby waits for its end.",
    ),
    Code(
        "WATCH-STATE",
        "error",
        "The state of the watcher cannot be written",
        "Nothing is done that cannot be written down first: the disk of the state folder is full, or it cannot be "
        "written or read.",
    ),
    Code(
        "WATCH-BLIND",
        "warning",
        "A source does not answer",
        "The watcher goes on with what the others say. Without Slurm it can do nothing but wait.",
    ),
    Code(
        "WATCH-BREAKER",
        "error",
        "The breaker is open",
        "More nodes would have gone within the window than the policy allows, so none is drained until a person has "
        "looked and says 'operate resume'. What happens meanwhile is noted.",
    ),
    Code(
        "WATCH-ACTION",
        "error",
        "An action cannot be done or undone",
        "No action has that number, or what it did cannot be taken back, or the cluster has gone on since.",
    ),
    Code(
        "WATCH-HOLD",
        "warning",
        "No new job starts",
        "The shared file system is full: jobs that start would fail at their first checkpoint.",
    ),
    Code(
        "WATCH-TOKEN",
        "error",
        "What listens needs tokens",
        "The file of tokens is missing, can be read by others, or holds no token; make one with 'operate token ROLE'.",
    ),
    Code("WATCH-LISTEN", "error", "The address cannot be listened on", "It is no address, or it is taken."),
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
        "OPERATE-PROMETHEUS",
        "error",
        "Prometheus does not answer",
        "The server cannot be reached, did not answer in time, or refused the query.",
    ),
)
