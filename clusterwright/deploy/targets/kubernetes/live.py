"""The real judges of the target's files: which files each reads."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges import kubernetes as judges
from clusterwright.deploy.targets.kubernetes.reading import Reading
from clusterwright.deploy.targets.kubernetes.schemas import CUSTOM, kinds

__all__ = ["JUDGES", "PROGRAMS"]

PROGRAMS = judges.PROGRAMS
_NOT_OBJECTS = ("/helm/", "/kubeadm/", "/nodes/", "/kustomization.yaml")


def _objects(folder: Folder) -> list[str]:
    return [path for path in folder.glob("kubernetes/*.yaml") if not any(part in path for part in _NOT_OBJECTS)]


def _validated(folder: Folder) -> Iterator[Check]:
    release = folder.versions.get("kubernetes", "")
    yield from judges.validates(folder, _objects(folder), release)


def _built(folder: Folder) -> Iterator[Check]:
    sites = Reading.of(folder).sites
    roots = [f"kubernetes/{name}" for name in ("argocd", *sites, *(f"{site}/training" for site in sites))]
    yield from judges.builds(folder, [root for root in roots if _fills(folder, root)])


def _fills(folder: Folder, root: str) -> bool:
    """Kustomize refuses to build nothing, such as a site where no run is planned."""
    return bool(folder.glob(f"{root}/kustomization.yaml")) and len(folder.glob(f"{root}/*")) > 1


def _custom(folder: Folder) -> Iterator[Check]:
    documents = Reading.of(folder).documents
    held = {path: [one for one in documents.get(path, []) if isinstance(one, dict)] for path in _objects(folder)}
    schemas = {kind: entry["schema"] for kind, entry in kinds().items() if entry["file"] == CUSTOM}
    yield from judges.custom(held, schemas)


JUDGES = (_validated, _built, _custom)
