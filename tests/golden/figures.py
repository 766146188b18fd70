"""What a golden of a design holds, and the command that writes the goldens anew.

``python -m tests.golden.figures`` writes one file an example into this folder. A change of predictions shows as a
difference of these files; CHANGELOG.md then says why, with before and after.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster
from clusterwright.design import design
from clusterwright.spec import load_spec

FOLDER = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples"

FIGURES = (
    "compute.gpus",
    "compute.nodes",
    "compute.spare_nodes",
    "fabric.leaf_switches",
    "fabric.spine_switches",
    "fabric.core_switches",
    "fabric.node_leaf_cables",
    "fabric.leaf_spine_cables",
    "fabric.spine_core_cables",
    "facility.compute_racks",
    "facility.racks",
    "facility.it_power_w",
    "facility.meter_power_w",
    "facility.run_energy_j",
    "facility.carbon_kg_run",
    "storage.checkpoint_bytes",
    "storage.checkpoint_write_s",
    "reliability.expected_interruptions",
    "reliability.checkpoint_interval_s",
    "reliability.ettr",
    "cost.capex_usd",
    "cost.rent_usd",
    "cost.tco_usd",
    "cost.usd_per_gpu_h",
)
RUN_FIGURES = (
    "tp",
    "pp",
    "dp",
    "cp",
    "ep",
    "micro_batch",
    "mfu",
    "step_time_s",
    "compute_time_s",
    "time_to_train_s",
    "memory_bytes",
    "scaling_efficiency",
)


def designed(example: Path) -> Cluster:
    """The design of one example."""
    catalog = load_catalog()
    return design(load_spec(example, (), catalog), catalog)


def golden(cluster: Cluster) -> dict[str, Any]:
    """The figures, choices, limits, verdicts and codes of one example's design, to three digits."""
    runs = range(len(cluster.tables["workloads"]))
    paths = [*FIGURES, *(f"training[{j}].{name}" for j in runs for name in RUN_FIGURES)]
    return {
        "verdict": cluster.verdict,
        "choices": {path: text for path, (text, _) in sorted(cluster.frame.texts.items())},
        "figures": {path: [three(v) for v in cluster.total(path).to_dict().values()] for path in paths},
        "limits": {row["name"]: row["holds"] for row in cluster.answers["constraints"]},
        "claims": {f"{row['path']} {row['text']}": row["verdict"] for row in cluster.answers["audit"]["claims"]},
        "relaxations": [row["text"] for row in cluster.answers["relaxations"]],
        "findings": sorted({finding.code for finding in cluster.findings}),
        "rows": {name: len(table) for name, table in cluster.tables.items()},
    }


def three(value: float) -> float:
    """Three significant digits."""
    return float(f"{value:.3g}") if math.isfinite(value) else 0.0


def text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in sorted(EXAMPLES.glob("*.yaml")):
        (FOLDER / f"{path.stem}.json").write_text(text(golden(designed(path))), encoding="utf-8")
