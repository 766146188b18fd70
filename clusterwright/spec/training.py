"""What may be asked of a workload: so far, training runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, model_validator

from clusterwright.catalog import KINDS, DimensionsError, ModelArchitecture, from_dimensions
from clusterwright.spec.compute import MOST_GPUS
from clusterwright.spec.context import Context
from clusterwright.spec.forms import Count, Form, Quantity, Wrong, finite, problem, problems, shown
from clusterwright.spec.section import Section
from clusterwright.spec.tokens import Batch, BatchSize, Tokens
from clusterwright.spec.words import Name, Part, Reserved, Text, Word

__all__ = ["PRECISIONS", "RECOMPUTES", "AskedModel", "Model", "Plan", "Train", "Workload"]

PRECISIONS = ("bf16", "fp16", "fp8", "tf32", "fp32", "nvfp4")
"""Precisions of the matrix multiplications of training."""
RECOMPUTES = ("auto", "none", "selective", "full")
"""How many activations are computed again in the backward pass."""
SCHEDULES = ("auto", "1f1b", "interleaved", "zero-bubble")
"""Schedules of a pipeline."""
SHARDINGS = ("auto", "zero-0", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp")
"""How data-parallel ranks share out what they hold."""
OFFLOADS = ("auto", "none", "optimizer", "activations", "both")
"""What may lie in the memory of the host."""
AUTO_TOKENS_PER_PARAMETER = 20.0
"""Tokens when none are given: compute-optimal (Hoffmann et al. 2022, arXiv:2203.15556)."""
AUTO_BATCH_TOKENS = 4e6
"""Global batch when none is given, as large runs use."""
AUTO_BATCHES = 100.0
"""Steps that a run has at least when no global batch is given."""
MOST_SEQUENCE = 100_000_000
MOST_TOKENS = 1e15
_DIMENSION_TYPES = ["number", "string", "boolean"]


class AskedModel(NamedTuple):
    """A model as understood: its name and its dimensions."""

    name: str
    architecture: ModelArchitecture


@dataclass(frozen=True)
class Model(Form):
    """A model: a name of the catalogue, or a mapping of dimensions."""

    example: str = "llama-3-70b"

    def read(self, value: object, context: Context) -> AskedModel:
        """Name and architecture."""
        if isinstance(value, Mapping):
            return self._own(value, context)
        hint = "a name of the catalogue, or a mapping of layers, hidden, heads, ffn_hidden, vocab"
        if not isinstance(value, str):
            raise problem("SPEC-TYPE", f"the model is a name or dimensions, not {shown(value)}", hint)
        name = Part("models", "model", self.example).read(value, context)
        return AskedModel(name, context.architecture(name))

    def _own(self, written: Mapping[str, object], context: Context) -> AskedModel:
        for key, item in written.items():
            if isinstance(item, list | dict) or item is None:
                raise problem("SPEC-TYPE", f"'{key}' is {shown(item)}, not a dimension", "give a number", at=(key,))
            finite(item, "write a whole number")
        name = Name("own").read(written.get("name", "own"), context)
        try:
            return AskedModel(name, from_dimensions(written, name))
        except DimensionsError as error:
            raise problems([_wrong_dimension(*one, written) for one in error.errors]) from None

    def schema(self, context: Context) -> dict[str, Any]:
        """Text, or an object of dimensions."""
        fields = {f.path: {"description": f.doc, "type": _DIMENSION_TYPES} for f in KINDS["models"].fields}
        required = ["layers", "hidden", "heads", "ffn_hidden", "vocab"]
        own = {
            "type": "object",
            "properties": {"name": {"type": "string"}, **fields},
            "required": required,
            "additionalProperties": False,
        }
        return {"anyOf": [Part("models", "model", self.example).schema(context), own]}

    @property
    def words(self) -> str:
        """Both ways."""
        return (
            "name of a model of the catalogue, such as `llama-3-70b`, or a mapping of dimensions, such as "
            "`{layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn_hidden: 28672, vocab: 128256}`"
        )


def _wrong_dimension(key: str, message: str, hint: str, written: Mapping[str, object]) -> Wrong:
    said = f"{shown(key)} {message}" if message.startswith("is ") else f"{key}: {message}"
    return Wrong(_dimension_code(key, written), said, hint, (key,) if key in written else ())


def _dimension_code(key: str, written: Mapping[str, object]) -> str:
    """The code of what is wrong with a dimension."""
    if key not in written:
        return "SPEC-MISSING-KEY"
    if key not in {f.path for f in KINDS["models"].fields}:
        return "SPEC-UNKNOWN-KEY"
    return "SPEC-RANGE" if isinstance(written[key], int | float) else "SPEC-TYPE"


def _degree(noun: str) -> Any:
    return Field(None, description=f"{noun}; `auto` searches.")


_Degree = Annotated[int | None, Count(1_000_000, "8")]


class Plan(Section):
    """How a training run is spread over its accelerators; what is left out is searched."""

    tp: _Degree = _degree("Tensor-parallel degree")
    pp: _Degree = _degree("Pipeline-parallel degree")
    cp: _Degree = _degree("Context-parallel degree")
    ep: _Degree = _degree("Expert-parallel degree")
    dp: _Degree = _degree("Data-parallel degree")
    micro_batch: _Degree = _degree("Sequences of one micro-batch")
    interleave: _Degree = _degree("Model chunks on one pipeline stage (virtual stages); 1 for none")
    schedule: Annotated[str, Word("schedule", SCHEDULES)] = Field(
        "auto", description="Schedule of the pipeline; `auto` is 1F1B, interleaved where that is faster."
    )
    sharding: Annotated[str, Word("sharding", SHARDINGS)] = Field(
        "auto",
        description="What data-parallel ranks share out: nothing (`zero-0`), optimizer state (`zero-1`, which `auto` "
        "is), gradients too (`zero-2`), weights too (`zero-3`, `fsdp`), or these inside groups (`hsdp`).",
    )
    shard_group: _Degree = _degree("Ranks that share out among themselves with `hsdp`")
    offload: Annotated[str, Word("offload", OFFLOADS)] = Field(
        "auto", description="What lies in the memory of the host; `auto` is nothing unless no plan fits without."
    )
    recompute: Annotated[str, Word("recompute", RECOMPUTES)] = Field(
        "auto", description="Activations computed again in the backward pass."
    )


class Train(Section):
    """One training run."""

    asked_model: Annotated[AskedModel, Model()] = Field(alias="model", description="The model that is trained.")
    asked_tokens: Annotated[float | None, Tokens(MOST_TOKENS)] = Field(
        None, alias="tokens", description="Tokens trained on; `auto` is 20 per parameter, which is compute-optimal."
    )
    sequence: Annotated[int, Count(MOST_SEQUENCE, "8192")] = Field(8192, description="Tokens of one sequence.")
    asked_batch: Annotated[Batch | None, BatchSize()] = Field(
        None,
        alias="global_batch",
        description="Tokens or sequences of one step; `auto` is 4M tokens, less when that gave fewer than 100 steps.",
    )
    precision: Annotated[str, Word("precision", PRECISIONS)] = Field(
        "bf16", description="Precision of the matrix multiplications."
    )
    deadline_s: Annotated[float | None, Quantity("time", "14 d")] = Field(
        None, alias="deadline", description="Time to train, failures included."
    )
    gpus: Annotated[int | None, Count(MOST_GPUS, "1024")] = Field(
        None, description="Accelerators of this run; `auto` is all of the largest site."
    )
    framework: Annotated[str | None, Text("Megatron-LM")] = Field(
        None, description="Software that trains; `auto` takes the mean of the frameworks of the calibration."
    )
    plan: Plan | None = Field(None, description="The parallelism plan; `auto` searches it.")

    @property
    def offloads_freely(self) -> bool:
        """Whether it is left open what lies in the memory of the host."""
        return self.plan is None or self.plan.offload == "auto"

    def without_offload(self) -> Train:
        """The same run where nothing goes to the memory of the host that was not asked for."""
        if not self.offloads_freely:
            return self
        return self.model_copy(update={"plan": (self.plan or Plan()).model_copy(update={"offload": "none"})})

    @property
    def model(self) -> str:
        """Canonical name of the model."""
        return self.asked_model.name

    @property
    def architecture(self) -> ModelArchitecture:
        """The model's dimensions."""
        return self.asked_model.architecture

    @property
    def tokens(self) -> float:
        """Tokens trained on."""
        if self.asked_tokens is not None:
            return self.asked_tokens
        return AUTO_TOKENS_PER_PARAMETER * self.architecture.parameters

    @property
    def global_batch_sequences(self) -> float:
        """Sequences of one optimiser step; fractional when tokens were asked that the sequence does not divide."""
        if self.asked_batch is not None:
            return self.asked_batch.sequences(self.sequence)
        return max(1.0, min(AUTO_BATCH_TOKENS, self.tokens / AUTO_BATCHES) / self.sequence)


_SERVE = Reserved("serving is not designed yet", "describe the training runs, and leave serving out")
_EDGE = Reserved("edge inference is not designed yet", "describe the training runs, and leave edge out")


class Workload(Section):
    """Something that runs on the cluster."""

    needed: ClassVar[tuple[str, ...]] = ("train",)

    name: Annotated[str, Name("pretrain")] = Field(description="Unique among the workloads.")
    train: Train | None = Field(None, description="A training run.")
    serve: Annotated[None, _SERVE] = Field(None, description="Serving a model; reserved.")
    edge: Annotated[None, _EDGE] = Field(None, description="Inference at many small sites; reserved.")

    @model_validator(mode="after")
    def _does_something(self) -> Workload:
        if self.train is None:
            raise problem("SPEC-MISSING-KEY", f"workload '{self.name}' says nothing to do", "give it 'train:'")
        return self
