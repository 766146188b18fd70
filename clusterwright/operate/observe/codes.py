"""What observing a cluster can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "OBSERVE-FILE",
        "error",
        "A file of the dump cannot be used",
        "It cannot be read, ends in the middle of a record, or holds a value that Slurm does not write.",
    ),
    Code(
        "OBSERVE-IGNORED",
        "warning",
        "A file of the dump says nothing",
        "The file is none of those that 'clusterwright observe --how' makes, or it is empty.",
    ),
    Code(
        "OBSERVE-NAME",
        "error",
        "A name cannot be used",
        "The name of a node, an account or a user holds characters that names do not have.",
    ),
    Code(
        "OBSERVE-MIXED",
        "error",
        "The files are not of one cluster",
        "Files of the dump contradict each other: names of clusters differ, or a file names nodes that another one "
        "does not have.",
    ),
    Code(
        "OBSERVE-NODES",
        "error",
        "There are no nodes to describe",
        "No file of the dump describes a node with GPUs.",
    ),
    Code(
        "OBSERVE-PART",
        "error",
        "Which accelerator it is cannot be told",
        "The type in Gres fits no accelerator of the catalogue, or several, and nothing else decides. It is not "
        "guessed: say it with --set compute.accelerators=[NAME].",
    ),
    Code(
        "OBSERVE-SERVER",
        "warning",
        "Which server it is cannot be told",
        "No feature of the nodes names a server of the catalogue, and CPUs, memory and GPUs fit none or several. The "
        "design chooses one unless it is said with --set compute.server=NAME.",
    ),
    Code(
        "OBSERVE-GROUPS",
        "warning",
        "Nodes are left out of the spec",
        "A spec describes nodes of one kind. The kind with the most GPUs is taken, another one with --group.",
    ),
    Code(
        "OBSERVE-SPARES",
        "info",
        "How spares were told from other nodes",
        "Slurm knows no spares. Nodes with the feature 'spare', or in no partition but one of that name, are taken "
        "for spares; --spare says otherwise.",
    ),
    Code(
        "OBSERVE-TENANT",
        "info",
        "What an account became",
        "An account below root becomes a tenant. What it has and a tenant has not, or the other way round, is said.",
    ),
    Code(
        "OBSERVE-WORKLOAD",
        "warning",
        "Slurm does not say what the cluster is for",
        "A spec needs a workload; a stand-in is written, which fits the nodes. Put your own in its place, or lay what "
        "was observed over a spec of yours with --base.",
    ),
    Code(
        "OBSERVE-UNKNOWN",
        "info",
        "Something that Slurm does not know",
        "Links, storage, racks, power, place and prices are not in Slurm. They stay 'auto', so the design chooses "
        "them, and what it says of them is not observed.",
    ),
    Code(
        "OBSERVE-LEFT-OUT",
        "info",
        "Something observed that has no place in a spec",
        "It is in the dump, and a design of the spec would not bring it back.",
    ),
)
