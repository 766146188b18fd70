"""Our own reading of the pipeline: stages, needs, templates, paths, what may run by itself, no secret in it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.text import load_yaml

__all__ = ["PATH", "check", "jobs", "schema", "scripts"]

PATH = "gitlab/.gitlab-ci.yml"
JUDGE = "clusterwright"
_GLOBAL = {"stages", "workflow", "default", "variables", "include", "image"}
_WHEN = {"on_success", "on_failure", "always", "never", "manual", "delayed"}
_SECRET = re.compile(r"(PASSWORD|SECRET|TOKEN|_KEY)$")
_PLAYBOOK = re.compile(r"\b(?:playbooks/)?[a-z]+\.yml\b")
_FOLDERS = ("ansible", "terraform", "monitoring", "kubernetes", "slurm", "runbook", "storage", "security", "fabric")


@cache
def schema() -> Any:
    """GitLab's schema, the part that we use."""
    return json.loads(files("clusterwright.deploy.targets.gitlab").joinpath("data", "ci.json").read_text("utf-8"))


def jobs(data: Mapping[str, Any]) -> dict[str, Any]:
    """Jobs and templates by name."""
    return {name: job for name, job in data.items() if name not in _GLOBAL}


def scripts(job: Any) -> list[str]:
    """The lines of a job."""
    found = job.get("script", []) if isinstance(job, dict) else []
    return [line for line in ([found] if isinstance(found, str) else found) if isinstance(line, str)]


def check(folder: Folder) -> Iterator[Check]:
    """Judge the pipeline."""
    if PATH not in folder.manifest["files"]:
        return
    try:
        data = load_yaml(folder.read(PATH))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Check(PATH, JUDGE, "", "own", False, " ".join(str(error).split())[:200])
        return
    if not isinstance(data, dict):
        yield Check(PATH, JUDGE, "", "own", False, "holds no mapping of jobs")
        return
    wrong = list(_pipeline(folder, data))
    yield from (Check(PATH, JUDGE, "", "own", False, said) for said in wrong[:8])
    if not wrong:
        yield Check(PATH, JUDGE, "", "own", True, f"{len(jobs(data))} jobs: keys, stages, needs, paths, secrets")
    yield from _published(data)


def _published(data: Any) -> Iterator[Check]:
    try:
        import jsonschema  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return
    found = sorted(
        jsonschema.Draft7Validator(schema()).iter_errors(data), key=lambda e: list(map(str, e.absolute_path))
    )
    for error in found[:3]:
        at = ".".join(map(str, error.absolute_path))
        yield Check(PATH, "GitLab schema", "2026-10", "schema", False, f"{at}: {error.message}"[:200])
    if not found:
        yield Check(PATH, "GitLab schema", "2026-10", "schema", True, "fits the published schema")


def _pipeline(folder: Folder, data: Mapping[str, Any]) -> Iterator[str]:
    stages = data.get("stages")
    if not isinstance(stages, list) or len(set(map(str, stages))) != len(stages):
        yield "stages is no list of different names"
        return
    known = set(schema()["definitions"]["job_template"]["properties"])
    everything = jobs(data)
    for name, job in everything.items():
        if not isinstance(job, dict):
            yield f"{name}: is no job"
            continue
        if extra := set(job) - known:
            yield f"{name}: no keyword {', '.join(sorted(map(str, extra)))}"
        parents = job.get("extends", [])
        for parent in [parents] if isinstance(parents, str) else parents:
            if parent not in everything:
                yield f"{name}: extends {parent}, which is not there"
        if name.startswith("."):
            continue
        yield from (f"{name}: {said}" for said in _job(folder, job, everything, stages))
    for stage in stages:
        if not any(isinstance(job, dict) and job.get("stage") == stage for job in everything.values()):
            yield f"no job is in the stage {stage}"
    yield from _secrets(data)


def _job(folder: Folder, job: Mapping[str, Any], everything: Mapping[str, Any], stages: list[Any]) -> Iterator[str]:
    if job.get("stage") not in stages:
        yield f"there is no stage {job.get('stage')}"
        return
    if not scripts(job):
        yield "has no script"
    for need in job.get("needs") or []:
        wanted = need.get("job") if isinstance(need, dict) else need
        other = everything.get(str(wanted))
        if not isinstance(other, dict) or other.get("stage") not in stages:
            yield f"needs {wanted}, which is not there"
        elif stages.index(other["stage"]) > stages.index(job["stage"]):
            yield f"needs {wanted}, which comes later"
    for rule in job.get("rules") or []:
        if not isinstance(rule, dict):
            yield "a rule is no mapping"
            continue
        if rule.get("when", "on_success") not in _WHEN:
            yield f"when is {rule['when']}"
        for path in rule.get("changes") or []:
            if str(path).split("/")[0] not in {one.split("/")[0] for one in folder.paths} | set(_absent(folder)):
                yield f"rules look at {path}, which the bundle does not hold"
    if job["stage"] == "apply":
        yield from _by_hand(job)
    for line in scripts(job):
        yield from _line(folder, line, job)


def _absent(folder: Folder) -> Iterator[str]:
    """Folders of targets that were not rendered this time, though the design wants them."""
    rendered = set(folder.manifest.get("targets", []))
    return (name for name in _FOLDERS if name not in rendered)


def _by_hand(job: Mapping[str, Any]) -> Iterator[str]:
    """What changes a cluster is started by a person, for one environment, one at a time."""
    if not any(rule.get("when") == "manual" for rule in job.get("rules") or [] if isinstance(rule, dict)):
        yield "applies without being started by hand"
    if any(rule.get("when", "on_success") not in ("manual", "never") for rule in job.get("rules") or []):
        yield "a rule lets it apply by itself"
    environment = job.get("environment")
    if not (isinstance(environment, dict) and environment.get("name")):
        yield "applies without an environment, which could be protected"
    if not job.get("resource_group"):
        yield "two pipelines could apply at once (no resource_group)"


def _line(folder: Folder, line: str, job: Mapping[str, Any]) -> Iterator[str]:
    try:
        shlex.split(line)
    except ValueError as error:
        yield f"{line[:60]!r}: {error}"
        return
    rendered = set(folder.manifest.get("targets", []))
    if "ansible" in line and "ansible" in rendered:
        for name in _PLAYBOOK.findall(line):
            if not folder.has(f"ansible/{name}"):
                yield f"there is no playbook ansible/{name}"
        for group in re.findall(r"--limit '?(site_\w+)", line):
            found = re.search(rf"^ *{group}:", "".join(map(folder.read, folder.glob("ansible/inventory/*.yml"))), re.M)
            if not found:
                yield f"there is no group {group} in the inventory"
    for path in re.findall(r"-chdir=(terraform/[\w-]+)", line):
        if "terraform" in rendered and not folder.glob(f"{path}/*"):
            yield f"there is no folder {path}"


def _secrets(data: Mapping[str, Any]) -> Iterator[str]:
    """A secret's name never stands beside a value."""
    places = [("variables", data.get("variables"))]
    places += [(name, job.get("variables")) for name, job in jobs(data).items() if isinstance(job, dict)]
    for place, variables in places:
        for name, value in (variables or {}).items() if isinstance(variables, dict) else ():
            if _SECRET.search(str(name)) and value and not str(value).startswith("$"):
                yield f"{place}: {name} holds a secret; take it from the secrets store"
