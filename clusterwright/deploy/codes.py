"""Finding codes of the deploy room."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "DEPLOY-INFEASIBLE",
        "error",
        "The design is infeasible",
        "Files are written for a cluster that holds every limit. Mend the spec first; the design names the ways out.",
    ),
    Code(
        "DEPLOY-DESIGN",
        "error",
        "The design cannot be deployed",
        "The design lacks something that the files need, or holds it in another form, because the cluster.json was "
        "edited or is of another version. Design it anew.",
    ),
    Code(
        "DEPLOY-NAME",
        "error",
        "A name cannot be written into files",
        "Names become host names, accounts, namespaces and shell words, so they are letters, digits and '-', at most "
        "63. '.' and '_' are written as '-'. Two names that become the same are refused, too.",
    ),
    Code(
        "DEPLOY-VALUE",
        "error",
        "A value would break a file",
        "Text templates take only values of printable characters without quotes, backslashes, backticks and '$', so "
        "that nothing in a design can end a string, a line or a shell word.",
    ),
    Code(
        "DEPLOY-NETWORK-SMALL",
        "error",
        "The address block is too small",
        "Every site gets a block for each of its networks, with room to grow. The block of deploy.network does not "
        "hold them all.",
    ),
    Code(
        "DEPLOY-TARGET",
        "error",
        "No such target",
        "Targets are the tools that files are written for; 'clusterwright render --help' lists them.",
    ),
    Code(
        "DEPLOY-VERSION",
        "error",
        "No such version",
        "Configuration is written for the releases that are listed; a newer one may read what is written for the last.",
    ),
    Code(
        "DEPLOY-NOT-A-BUNDLE",
        "error",
        "No bundle there",
        "The folder holds no manifest.json of a bundle, or one that cannot be read.",
    ),
    Code(
        "DEPLOY-FILE-CHANGED",
        "error",
        "A file of the bundle was changed",
        "The file differs from its manifest, is missing, or is not in it. Change the design or its targets and render "
        "again, so that the change is in every file that it concerns.",
    ),
    Code(
        "DEPLOY-JUDGE-MISSING",
        "info",
        "A judge is not installed",
        "A program that reads such files is not installed here, so they were checked by our own reading only.",
    ),
    Code(
        "DEPLOY-JUDGE-OLD",
        "warning",
        "A judge is too old",
        "The installed program is older than the version that the files are written for. It judges what it knows.",
    ),
    Code(
        "DEPLOY-JUDGE-FAILED",
        "error",
        "A judge refused a file",
        "The program that will read the file does not accept it.",
    ),
    Code(
        "DEPLOY-DISAGREE",
        "error",
        "Two files of the bundle disagree",
        "The same thing (a node, GPUs, a rack, a quota, an address, a port) is written differently in two files.",
    ),
    Code(
        "DEPLOY-TAKE",
        "error",
        "The running cluster did not take the files over",
        "The program of site.yaml that makes the cluster take the files over failed, or the cluster does not answer.",
    ),
    Code(
        "DEPLOY-PLAN-STALE",
        "error",
        "The plan is out of date",
        "The bundle or what is deployed is no longer what the plan was made from. Plan again.",
    ),
    Code(
        "DEPLOY-PLAN",
        "error",
        "That is no plan",
        "A plan is the file that 'clusterwright plan --out FILE' writes.",
    ),
    Code(
        "DEPLOY-DRIFT",
        "error",
        "Somebody changed what is deployed",
        "A deployed file is not what the last apply wrote there. It is not overwritten; take the change into the "
        "design, or put the file back.",
    ),
)
"""Code -> documentation."""
