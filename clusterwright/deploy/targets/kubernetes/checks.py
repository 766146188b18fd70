"""Our own reading of the target's files: forms, references, counts, values; each file gets one judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.kubernetes import (
    check_nodes,
    check_objects,
    check_quotas,
    check_references,
    check_values,
)
from clusterwright.deploy.targets.kubernetes.reading import Reading
from clusterwright.deploy.targets.kubernetes.schemas import kinds

__all__ = ["JUDGE", "check"]

JUDGE = "clusterwright kubernetes"
PASSES: tuple[Callable[[Reading], None], ...] = (
    check_objects.run,
    check_references.run,
    check_quotas.run,
    check_nodes.run,
    check_values.run,
)


def check(folder: Folder) -> Iterator[Check]:
    """Read every file of the target.

    A file of objects whose kinds have a published schema is judged by it (level ``schema``), the others by our own
    reading. A mistake of ours in a damaged file is said of the file rather than raised.
    """
    reading = Reading.of(folder)
    for run in PASSES:
        try:
            run(reading)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            place = next(iter(reading.wrong), f"kubernetes/{(reading.sites or ['argocd'])[0]}/kustomization.yaml")
            reading.say(place, f"cannot be read on: {type(error).__name__}: {error}"[:160])
    known = kinds()
    for path in folder.glob("kubernetes/*"):
        wrong = reading.wrong.get(path, [])
        held = [one for one in reading.documents.get(path, []) if isinstance(one, dict)]
        named = [f"{one.get('apiVersion')}/{one.get('kind')}" for one in held]
        level = "schema" if named and all(name in known for name in named) else "own"
        if wrong:
            more = f" (and {len(wrong) - 4} more)" if len(wrong) > 4 else ""
            yield Check(path, JUDGE, "", level, False, "; ".join(wrong[:4]) + more)
        else:
            said = f"{len(held)} objects: keys, values, references" if level == "schema" else "keys, values, counts"
            yield Check(path, JUDGE, "", level, True, said)
