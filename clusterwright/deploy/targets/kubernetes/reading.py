"""A bundle's Kubernetes files read back from disk: YAML, and what kustomize would make of each site."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.text import load_yamls

__all__ = ["Built", "Reading"]

Object = Mapping[str, Any]
_KUSTOMIZATION = "kustomization.yaml"
_BESIDE = ("helm", "kubeadm", "nodes")
"""Folders of a site that kustomize does not read."""


class Built(NamedTuple):
    """An object as it reaches the API server: with the namespace that its kustomization gives it."""

    file: str
    kind: str
    name: str
    namespace: str
    body: Object

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its ``spec``, empty when it has none."""
        found = self.body.get("spec")
        return found if isinstance(found, dict) else {}


@dataclass
class Reading:
    """What the files say.

    Attributes:
        documents: file -> its YAML documents; those that are no YAML are absent.
        sites: names of the sites.
        built: site -> its objects, training runs and Argo CD left out.
        wrong: file -> what is wrong with it; filled while reading and by the checks.
    """

    folder: Folder
    documents: dict[str, list[Any]] = field(default_factory=dict)
    sites: list[str] = field(default_factory=list)
    built: dict[str, list[Built]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Folder) -> Reading:
        """Read every file of the target."""
        made = cls(folder)
        for path in folder.glob("kubernetes/*.yaml"):
            try:
                made.documents[path] = load_yamls(folder.read(path))
            except (yaml.YAMLError, RecursionError, ValueError) as error:
                made.say(path, f"is no YAML: {' '.join(str(error).split())[:160]}")
        tops = (path.split("/") for path in folder.paths if path.endswith(f"/{_KUSTOMIZATION}"))
        made.sites = sorted({parts[1] for parts in tops if len(parts) == 3 and parts[1] != "argocd"})
        for site in made.sites:
            roots = [f"kubernetes/{site}", f"kubernetes/{site}/training"]
            made.built[site] = [one for root in roots for one in made._walk(root, "", ())]
        return made

    def say(self, path: str, what: str) -> None:
        """Note that something is wrong with a file."""
        said = self.wrong.setdefault(path, [])
        if what not in said:
            said.append(what)

    def first(self, path: str) -> Any:
        """The first document of a file, an empty mapping where there is none."""
        found = self.documents.get(path) or [{}]
        return found[0] if isinstance(found[0], dict) else {}

    def _walk(self, root: str, namespace: str, above: tuple[str, ...]) -> Iterator[Built]:
        path = f"{root}/{_KUSTOMIZATION}"
        if not self.folder.has(path) or root in above:
            self.say(above[-1] + f"/{_KUSTOMIZATION}" if above else path, f"{root} has no kustomization")
            return
        held = self.first(path)
        namespace = namespace or str(held.get("namespace") or "")
        for entry in [*_texts(held.get("resources")), *_texts(held.get("components"))]:
            target = posixpath.normpath(posixpath.join(root, entry))
            if target.endswith((".yaml", ".yml")):
                if self.folder.has(target):
                    yield from self._objects(target, namespace)
                else:
                    self.say(path, f"{entry} is not there")
            elif self.folder.has(f"{target}/{_KUSTOMIZATION}"):
                yield from self._walk(target, namespace, (*above, root))
            else:
                self.say(path, f"{entry} is not there")

    def _objects(self, path: str, namespace: str) -> Iterator[Built]:
        for body in self.documents.get(path, ()):
            if isinstance(body, dict):
                yield built(path, body, namespace)

    def unlisted(self) -> Iterator[tuple[str, str]]:
        """Kustomization and file beside it that it does not list."""
        listed: dict[str, set[str]] = {}
        for path in self.documents:
            root, _, name = path.rpartition("/")
            if name == _KUSTOMIZATION:
                held = self.first(path)
                listed[root] = set(_texts(held.get("resources")))
        for path in self.documents:
            root, _, name = path.rpartition("/")
            beside = root.split("/")[2:3] and root.split("/")[2] in _BESIDE
            if name != _KUSTOMIZATION and not beside:
                if root not in listed:
                    yield path, "no kustomization beside it"
                elif name not in listed[root]:
                    yield f"{root}/{_KUSTOMIZATION}", f"{name} is not listed"


def built(path: str, body: Object, namespace: str) -> Built:
    """An object with its name and namespace, whatever it holds."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = str(metadata.get("namespace") or "")
    return Built(path, str(body.get("kind", "")), str(metadata.get("name", "")), namespace or own, body)


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []
