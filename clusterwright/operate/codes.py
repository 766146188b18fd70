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
    Code(
        "SUBMIT-TENANT",
        "error",
        "No such tenant",
        "A job runs for a tenant of the cluster: its account, its quota. The tenants are those of the design.",
    ),
    Code(
        "SUBMIT-PATH",
        "error",
        "Unusable path",
        "The folder of checkpoints lies on a file system that all nodes share; a batch script takes its path as it is.",
    ),
    Code(
        "SUBMIT-SHAPE",
        "error",
        "No whole nodes",
        "A job of several nodes takes whole nodes, as its slowest node sets its pace.",
    ),
    Code(
        "SUBMIT-CAPACITY",
        "error",
        "More GPUs than there are",
        "The site has fewer GPUs than the job asks for. Spare nodes are kept for repairs and are not counted.",
    ),
    Code(
        "SUBMIT-QUOTA",
        "error",
        "Beyond the limit of the tenant",
        "The tenant may not hold so many GPUs at once, idle ones of others included.",
    ),
    Code(
        "SUBMIT-BORROWS",
        "info",
        "Borrowed GPUs",
        "The job is larger than what its tenant owns; it is borrowed, and taken back when its owner needs it.",
    ),
    Code(
        "SUBMIT-MEMORY",
        "error",
        "The model does not fit",
        "By the training laws no parallelism plan fits the memory of so many GPUs.",
    ),
    Code(
        "SUBMIT-SHRINK",
        "error",
        "The plan cannot shrink so far",
        "A job that may shrink keeps plan and global batch; with some number of GPUs in its range they do not divide.",
    ),
    Code(
        "SUBMIT-LIMIT",
        "info",
        "More than one attempt",
        "The job takes longer than one job may run on this cluster; it goes on from its checkpoint in another attempt.",
    ),
    Code(
        "SUBMIT-ENDED",
        "error",
        "The job did not complete",
        "The job that was followed failed, was cancelled or ran out of time.",
    ),
    Code(
        "SUBMIT-KUBERNETES",
        "error",
        "Kubernetes takes the JobSet from kubectl",
        "On a cluster that runs Kubernetes a job is a JobSet: it is printed, and applied by your own credentials.",
    ),
)
