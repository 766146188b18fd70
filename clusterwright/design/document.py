"""The JSON document of a design: ``clusterwright design --json``."""

from __future__ import annotations

import json
from typing import Any

from clusterwright.cluster import Cluster, plain

__all__ = ["design_document", "dump_document"]

_PLAN = {name: name for name in ("interleave", "micro_batches", "schedule", "sharding", "offload")}
_PLAN |= {"recompute": "recomputation"}
"""What else makes a plan, beside its degrees, and the figure that says it."""


def design_document(cluster: Cluster) -> dict[str, Any]:
    """Everything a program wants of a design: verdict, figures nested by room, findings, options, audit.

    Counts are plain numbers, predictions ``{value, low, high}``; units are in the names; what is not finite is null.
    """
    tree = cluster.tree()
    storage = tree.setdefault("storage", {})
    storage["tiers"] = [dict(row) for row in cluster.tables["storage"].rows()]
    for i, row in enumerate(cluster.tables["workloads"].rows()):
        entry = tree["training"][i]
        entry["name"], entry["model"] = row["name"], row["model"]
        entry["plan"] = {key: row[key] for key in ("tp", "pp", "dp", "cp", "ep", "micro_batch")}
        entry["plan"] |= {name: entry[key] for name, key in _PLAN.items() if key in entry}
    answers = dict(cluster.answers)
    document = {
        "schema": cluster.head["schema"],
        "name": cluster.name,
        "verdict": cluster.verdict,
        "head": cluster.head,
        **tree,
        "findings": [finding.to_dict() for finding in cluster.worst_first()],
        "considered": answers.pop("considered", []),
        "audit": answers.pop("audit", {"claims": []}),
        **{key: value for key, value in answers.items() if key not in tree},
    }
    made: dict[str, Any] = plain(document)
    return made


def dump_document(document: dict[str, Any]) -> str:
    """The text of ``design.json``; equal designs give equal text."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
