"""A job as a person writes it: WHAT IS TO RUN on a cluster that is there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from clusterwright.catalog import Catalog
from clusterwright.findings import Finding
from clusterwright.spec.codes import FINDINGS
from clusterwright.spec.compute import MOST_GPUS
from clusterwright.spec.context import Context
from clusterwright.spec.document import Version, Written
from clusterwright.spec.forms import Count, Form, Quantity, problem, shown
from clusterwright.spec.load import load_as, read_as
from clusterwright.spec.section import Section
from clusterwright.spec.training import Train
from clusterwright.spec.words import Name, Text

__all__ = ["Checkpoint", "Gpus", "Job", "load_job", "read_job"]

_YEAR_S = 366 * 86400.0
_MOST_WORDS = 1000
_SHORTEST_LIMIT_S = 60.0


class Gpus(NamedTuple):
    """GPUs of a job: from ``least``, below which it waits, to ``most``, with which it starts."""

    least: int
    most: int


@dataclass(frozen=True)
class _GpuRange(Form):
    """``32``, or ``{min: 16, max: 32}`` for a job that may go on with fewer."""

    example: str = "32"
    unit: str = "1"

    def read(self, value: object, context: Context) -> Gpus:
        """Both ends."""
        count = Count(MOST_GPUS, self.example)
        if not isinstance(value, Mapping):
            number = count.read(value, context)
            return Gpus(number, number)
        hint = "write a number, or {min: 16, max: 32} for a job that may shrink"
        for key in value:
            if key not in ("min", "max"):
                raise problem("SPEC-UNKNOWN-KEY", f"{shown(key)} means nothing in gpus", hint, at=(str(key),))
        if set(value) != {"min", "max"}:
            raise problem("SPEC-MISSING-KEY", "gpus needs min and max", hint)
        least, most = count.read(value["min"], context), count.read(value["max"], context)
        if least > most:
            raise problem("SPEC-CONTRADICTION", f"min {least:,} is more than max {most:,}", "swap them")
        return Gpus(least, most)

    def schema(self, context: Context) -> dict[str, Any]:
        """A number or a range."""
        count = Count(MOST_GPUS, self.example).schema(context)
        ends = {"type": "object", "properties": {"min": count, "max": count}, "required": ["min", "max"]}
        return {"anyOf": [*count["anyOf"], {**ends, "additionalProperties": False}]}

    @property
    def words(self) -> str:
        """Both ways."""
        return "whole number, or `{min: 16, max: 32}`"


@dataclass(frozen=True)
class _Words(Form):
    """A program and its arguments; nothing in them is ever read by a shell."""

    example: str = "[train.py, --steps, 1000]"

    def read(self, value: object, context: Context) -> tuple[str, ...]:
        """The words; numbers become text."""
        hint = f"write a list such as {self.example}; a pipe needs [bash, -c, '...']"
        if not isinstance(value, list) or not value or len(value) > _MOST_WORDS:
            raise problem("SPEC-TYPE", f"a command is a list of words, not {shown(value)}", hint)
        for place, word in enumerate(value):
            if isinstance(word, bool) or not isinstance(word, str | int | float):
                raise problem("SPEC-TYPE", f"{shown(word)} is no word of a command", hint, at=(place,))
            if not str(word).isprintable():
                raise problem("SPEC-TYPE", f"{shown(word)} holds control characters", hint, at=(place,))
        if not str(value[0]).strip():
            raise problem("SPEC-TYPE", "the program has no name", hint, at=(0,))
        return tuple(map(str, value))

    def schema(self, context: Context) -> dict[str, Any]:
        """A list of texts and numbers."""
        return {"type": "array", "minItems": 1, "maxItems": _MOST_WORDS, "items": {"type": ["string", "number"]}}

    @property
    def words(self) -> str:
        """An example."""
        return f"list of words, such as `{self.example}`"


@dataclass(frozen=True)
class _Environment(Form):
    """Names and texts."""

    example: str = "{NCCL_DEBUG: WARN}"

    def read(self, value: object, context: Context) -> dict[str, str]:
        """Name to text."""
        hint = f"write it like {self.example}"
        if not isinstance(value, Mapping):
            raise problem("SPEC-TYPE", f"the environment is a mapping, not {shown(value)}", hint)
        for key, text in value.items():
            if not isinstance(key, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", key):
                raise problem("SPEC-NAME", f"{shown(key)} is no name of a variable", hint, at=(str(key),))
            if isinstance(text, bool) or not isinstance(text, str | int | float) or not str(text).isprintable():
                raise problem("SPEC-TYPE", f"{shown(text)} is not one line of text", hint, at=(key,))
        return {key: str(text) for key, text in value.items()}

    def schema(self, context: Context) -> dict[str, Any]:
        """An object of texts and numbers."""
        return {"type": "object", "additionalProperties": {"type": ["string", "number"]}}

    @property
    def words(self) -> str:
        """An example."""
        return f"mapping of names to texts, such as `{self.example}`"


class Checkpoint(Section):
    """What is kept so that the job can go on elsewhere."""

    interval_s: Annotated[float | None, Quantity("time", "30 min", most=_YEAR_S)] = Field(
        None, alias="interval", description="Between two checkpoints; `auto` is Daly's optimum by the failure model."
    )
    path: Annotated[str | None, Text("/shared/me/run-7", 1000)] = Field(
        None, description="Folder on a file system that all nodes share; `auto` is TENANT/NAME below the site's."
    )
    write_s: Annotated[float | None, Quantity("time", "40 s", most=86400.0)] = Field(
        None, alias="write", description="For how long writing one stops the training; `auto` is what the design says."
    )


class Job(Written):
    """A job."""

    version: Annotated[int, Version(1_000_000, "1")] = Field(description="Version of this grammar.")
    name: Annotated[str, Name("tune-8b")] = Field(description="Of the job, and of the folder of its checkpoints.")
    train: Train | None = Field(None, description="A training run; its plan comes from the laws.")
    command: Annotated[tuple[str, ...] | None, _Words()] = Field(
        None, description="Program and arguments; a `.py` file is started by torchrun. `auto` is Megatron-LM's."
    )
    gpus: Annotated[Gpus, _GpuRange()] = Field(description="How many, or a range for a job that may shrink.")
    processes: Annotated[int | None, Count(1024, "8")] = Field(
        None, description="That torchrun starts on a node; `auto` is one a GPU."
    )
    time_limit_s: Annotated[float | None, Quantity("time", "12 h", most=_YEAR_S)] = Field(
        None, alias="time_limit", description="Of one attempt; `auto` is what the laws predict for `train`."
    )
    tenant: Annotated[str | None, Name("research")] = Field(
        None, description="Who pays; `auto` is the one that you belong to, or the only one."
    )
    checkpoint: Checkpoint = Field(default_factory=Checkpoint, description="What is kept, where and how often.")
    retries: Annotated[int, Count(1000, "3", least=0)] = Field(
        3, description="Starts anew after a failure of its own; after a failure of the cluster it always does."
    )
    folder: Annotated[str | None, Text("/shared/me/code", 1000)] = Field(
        None, description="Where it is started; `auto` is where you are."
    )
    environment: Annotated[dict[str, str], _Environment()] = Field(
        default_factory=dict, description="Variables that it gets."
    )


def contradictions(job: Job, context: Context) -> list[Finding]:
    """What cannot both be meant."""
    found = []
    if not job.given("train") and not job.given("command"):
        hint = "add 'train: {model: llama-3-8b}' or 'command: [train.py]'"
        found.append(FINDINGS["SPEC-MISSING-KEY"].at(job.place(""), "the job says nothing to do", hint))
    if not job.given("train") and not job.given("time_limit"):
        hint = "add 'time_limit: 12 h'; backfill starts short jobs in gaps"
        found.append(FINDINGS["SPEC-MISSING-KEY"].at(job.place(""), "'time_limit' is missing", hint))
    if job.time_limit_s is not None and job.time_limit_s < _SHORTEST_LIMIT_S:
        said = "Slurm counts time limits in minutes"
        found.append(FINDINGS["SPEC-RANGE"].at(job.place("time_limit"), said, "1 min at least"))
    if job.train is not None and job.train.gpus not in (None, job.gpus.most):
        said = f"train.gpus is {job.train.gpus:,}, gpus is {job.gpus.most:,}"
        found.append(FINDINGS["SPEC-CONTRADICTION"].at(job.place("train.gpus"), said, "leave train.gpus out"))
    for key, text in (("checkpoint.path", job.checkpoint.path), ("folder", job.folder)):
        if text is not None and not text.startswith("/"):
            said = f"{shown(text)} is a different folder on every node"
            found.append(FINDINGS["SPEC-RANGE"].at(job.place(key), said, "write it from the root: /..."))
    return found


def load_job(path: Path | str, overrides: Sequence[str] = (), catalog: Catalog | None = None) -> Job:
    """Read a job from a file; otherwise as :func:`clusterwright.spec.load_spec`."""
    return load_as(Job, path, overrides, catalog, contradictions, "job")


def read_job(text: str, file: str = "job.yaml", overrides: Sequence[str] = (), catalog: Catalog | None = None) -> Job:
    """Read a job from its text; ``file`` names it in findings."""
    return read_as(Job, text, file, overrides, catalog, contradictions, "job")
