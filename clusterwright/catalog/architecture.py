"""Architectures of language models, and the parameters counted from their dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from clusterwright.catalog.suggest import close_names
from clusterwright.units import UnitError, parse

__all__ = ["DimensionsError", "ModelArchitecture", "from_dimensions"]

Norm = Literal["rmsnorm", "layernorm", "layernorm-no-bias"]
Biases = Literal["none", "qkv", "attention", "all"]


@dataclass(frozen=True)
class ModelArchitecture:
    """The dimensions of a decoder-only transformer. Counts of parameters follow from them.

    A layer is attention (multi-head, grouped-query, or latent when ``kv_lora_rank`` is set) and an MLP: dense, or a
    mixture of ``experts`` in the layers that :meth:`is_moe_layer` names. In a hybrid, ``state_layers`` of them have a
    state-space block (Mamba 2) in place of attention, and ``bare_layers`` have no MLP. What a field means stands in the
    table of the kind ``models``.
    """

    name: str
    family: str
    kind: Literal["dense", "moe"]
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_hidden: int
    gated_mlp: bool
    vocab: int
    tied_embeddings: bool
    learned_positions: int = 0
    biases: Biases = "none"
    norm: Norm = "rmsnorm"
    norms_per_layer: int = 2
    context: int = 0
    experts: int = 0
    top_k: int = 0
    shared_experts: int = 0
    expert_ffn_hidden: int = 0
    shared_ffn_hidden: int = 0
    dense_layers: int = 0
    moe_every: int = 1
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    v_head_dim: int = 0
    window: int = 0
    window_layers: int = 0
    state_layers: int = 0
    state_heads: int = 0
    state_head_dim: int = 0
    state_size: int = 0
    state_groups: int = 0
    bare_layers: int = 0
    expert_latent: int = 0
    published_parameters: float = 0.0
    published_active_parameters: float = 0.0

    @property
    def is_latent(self) -> bool:
        """Multi-head latent attention (DeepSeek-V2, V3, Kimi-K2)."""
        return self.kv_lora_rank > 0

    def is_moe_layer(self, layer: int) -> bool:
        """Whether a layer, counted from 0, is a mixture of experts."""
        if self.kind != "moe" or layer < self.dense_layers:
            return False
        return (layer - self.dense_layers + 1) % self.moe_every == 0

    @property
    def moe_layers(self) -> int:
        """Layers that are a mixture of experts."""
        if self.kind != "moe":
            return 0
        return (self.layers - self.dense_layers - self.bare_layers) // self.moe_every

    @property
    def embedding_parameters(self) -> int:
        """The input embedding, and learned positions."""
        return (self.vocab + self.learned_positions) * self.hidden

    @property
    def head_parameters(self) -> int:
        """The output head's own matrix; 0 when it is the embedding."""
        return 0 if self.tied_embeddings else self.vocab * self.hidden

    @property
    def attention_parameters(self) -> int:
        """Attention matrices and biases of one layer."""
        if self.is_latent:
            return self._latent_attention()
        query, key_value = self.heads * self.head_dim, 2 * self.kv_heads * self.head_dim
        matrices = self.hidden * (2 * query + key_value)
        bias = query + key_value if self.biases != "none" else 0
        return matrices + bias + (self.hidden if self.biases in ("attention", "all") else 0)

    def _latent_attention(self) -> int:
        head = self.qk_nope_head_dim + self.qk_rope_head_dim
        if self.q_lora_rank:
            query = self.q_lora_rank * (self.hidden + self.heads * head + 1)
        else:
            query = self.hidden * self.heads * head
        down = self.hidden * (self.kv_lora_rank + self.qk_rope_head_dim) + self.kv_lora_rank
        up = self.kv_lora_rank * self.heads * (self.qk_nope_head_dim + self.v_head_dim)
        return query + down + up + self.heads * self.v_head_dim * self.hidden

    @property
    def state_width(self) -> int:
        """Elements a token inside a state-space block."""
        return self.state_heads * self.state_head_dim

    @property
    def state_parameters(self) -> int:
        """One state-space block: in and out projection, convolution of width 4; a decay, a step, a skip a head."""
        mixed = self.state_width + 2 * self.state_groups * self.state_size
        into = self.hidden * (self.state_width + mixed + self.state_heads)
        return into + 5 * mixed + 3 * self.state_heads + self.state_width * (1 + self.hidden)

    def mlp_parameters(self, inner: int) -> int:
        """An MLP of inner width ``inner`` with this model's form."""
        matrices = 3 if self.gated_mlp else 2
        bias = (matrices - 1) * inner + self.hidden if self.biases == "all" else 0
        return matrices * self.hidden * inner + bias

    @property
    def dense_mlp_parameters(self) -> int:
        """The MLP of a dense layer."""
        return self.mlp_parameters(self.ffn_hidden)

    @property
    def expert_parameters(self) -> int:
        """One routed expert."""
        whole = self.mlp_parameters(self.expert_ffn_hidden)
        return whole * self.expert_latent // self.hidden if self.expert_latent else whole

    @property
    def shared_expert_parameters(self) -> int:
        """All shared experts of a mixture layer."""
        return self.shared_experts * self.mlp_parameters(self.shared_ffn_hidden or self.expert_ffn_hidden)

    def moe_layer_parameters(self, experts: int) -> int:
        """The MLP part of a mixture layer with ``experts`` routed experts counted: router, shared, routed."""
        latent = 2 * self.hidden * self.expert_latent
        return self.hidden * self.experts + self.shared_expert_parameters + latent + experts * self.expert_parameters

    @property
    def norm_parameters(self) -> int:
        """All norms of hidden width, the final one included."""
        width = self.hidden * (2 if self.norm == "layernorm" else 1)
        return width * (self.layers * self.norms_per_layer + 1)

    def _count(self, experts: int) -> int:
        moe = self.moe_layers
        dense = self.layers - moe - self.bare_layers
        mlp = dense * self.dense_mlp_parameters + moe * self.moe_layer_parameters(experts)
        mixing = (self.layers - self.state_layers) * self.attention_parameters
        body = mixing + self.state_layers * self.state_parameters + mlp + self.norm_parameters
        return body + self.embedding_parameters + self.head_parameters

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self._count(self.experts)

    @property
    def active_parameters(self) -> int:
        """Parameters that one token uses: of the routed experts only ``top_k``, all the rest."""
        return self._count(self.top_k) if self.kind == "moe" else self.parameters


_REQUIRED = ("layers", "hidden", "heads", "ffn_hidden", "vocab")
_FLAGS = ("gated_mlp", "tied_embeddings")
_TEXTS = {
    "kind": ("dense", "moe"),
    "biases": ("none", "qkv", "attention", "all"),
    "norm": ("rmsnorm", "layernorm", "layernorm-no-bias"),
}
_STATE = ("state_heads", "state_head_dim", "state_size", "state_groups")
_LATENT = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_MOST = 1e13
_OWN_NAMES = tuple(f.name for f in fields(ModelArchitecture))


class DimensionsError(ValueError):
    """Dimensions that make no model: all errors at once.

    Attributes:
        errors: ``(key, message, hint)`` each.
    """

    def __init__(self, errors: list[tuple[str, str, str]]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{key}: {message}" for key, message, _ in errors))


def from_dimensions(mapping: Mapping[str, Any], name: str = "own") -> ModelArchitecture:
    """The architecture that a mapping of dimensions describes, as in a spec or in ``models.yaml``.

    Args:
        mapping: dimension names to numbers (or texts such as ``"128k"``, ``"70.6B"``), and ``family kind gated_mlp
            tied_embeddings biases norm``. ``layers hidden heads ffn_hidden vocab`` must be there; ``kv_heads``
            defaults to ``heads``, ``head_dim`` to ``hidden / heads``, the MLP is gated, embeddings are not tied.
        name: of the model.

    Raises:
        DimensionsError: with everything that is wrong.
    """
    errors: list[tuple[str, str, str]] = []
    read = {key: _read(key, raw, errors) for key, raw in mapping.items() if key not in ("name", "family")}
    errors += [(key, "is missing", "give it") for key in _REQUIRED if key not in mapping]
    values = {key: value for key, value in read.items() if value is not None}
    if not errors:
        _complete(values)
        errors += _contradictions(values)
    if errors:
        raise DimensionsError(errors)
    family = str(mapping.get("family") or "own")
    return ModelArchitecture(name=str(mapping.get("name") or name), family=family, **values)


def _read(key: str, raw: Any, errors: list[tuple[str, str, str]]) -> Any:
    """One value, or None and an error."""
    if key not in _OWN_NAMES:
        close = close_names(key, _OWN_NAMES)
        hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(_OWN_NAMES[2:])}"
        errors.append((key, "is not a dimension of a model", hint))
        return None
    if key in _FLAGS:
        if raw in (True, False, "yes", "no", "true", "false"):
            return raw in (True, "yes", "true")
        errors.append((key, f"'{raw}' is neither true nor false", "write true or false"))
        return None
    if key in _TEXTS:
        if raw in _TEXTS[key]:
            return raw
        errors.append((key, f"'{raw}' is not allowed", f"one of {', '.join(_TEXTS[key])}"))
        return None
    return _number(key, raw, errors)


def _number(key: str, raw: Any, errors: list[tuple[str, str, str]]) -> float | int | None:
    try:
        value = parse(raw, "count")
    except UnitError as error:
        errors.append((key, error.message, error.hint))
        return None
    if value > _MOST:
        errors.append((key, f"{value:g} is beyond any model", "check the exponent"))
        return None
    if key.startswith("published"):
        return value
    if not value.is_integer():
        errors.append((key, f"{value:g} is not a whole number", "give a whole number"))
        return None
    if value == 0 and key in (*_REQUIRED, "kv_heads", "head_dim", "moe_every"):
        errors.append((key, "is zero", "give one or more"))
        return None
    return int(value)


def _complete(values: dict[str, Any]) -> None:
    """Fill in what may be left out."""
    values.setdefault("kind", "moe" if values.get("experts") else "dense")
    values.setdefault("kv_heads", values["heads"])
    values.setdefault("gated_mlp", True)
    values.setdefault("tied_embeddings", False)
    if "head_dim" not in values:
        latent = values.get("kv_lora_rank", 0)
        sizes = values.get("qk_nope_head_dim", 0) + values.get("qk_rope_head_dim", 0)
        values["head_dim"] = sizes if latent and sizes else values["hidden"] // values["heads"]
        if not latent and values["hidden"] % values["heads"]:
            values["head_dim"] = 0


def _contradictions(values: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    errors = []
    if values["head_dim"] == 0:
        said = f"hidden {values['hidden']} does not divide by heads {values['heads']}"
        errors.append(("heads", said, "give head_dim"))
    if values["heads"] % values["kv_heads"]:
        said = f"heads {values['heads']} do not divide by kv_heads {values['kv_heads']}"
        errors.append(("kv_heads", said, "a key head serves a whole number of query heads"))
    if values["kind"] == "moe":
        missing = [k for k in ("experts", "top_k", "expert_ffn_hidden") if not values.get(k)]
        errors += [(key, "is missing in a mixture of experts", "give it") for key in missing]
        if not missing and values["top_k"] > values["experts"]:
            errors.append(("top_k", f"{values['top_k']} of {values['experts']} experts", "at most all of them"))
    elif values.get("experts"):
        errors.append(("experts", "given for a dense model", "say 'kind: moe'"))
    if values.get("dense_layers", 0) > values["layers"]:
        errors.append(("dense_layers", f"{values['dense_layers']} of {values['layers']} layers", "at most all"))
    if values.get("state_layers"):
        errors += [(k, "is missing in state-space layers", "give it") for k in _STATE if not values.get(k)]
    for key in ("state_layers", "bare_layers"):
        if values.get(key, 0) > values["layers"]:
            errors.append((key, f"{values[key]} of {values['layers']} layers", "at most all"))
    if values.get("kv_lora_rank"):
        errors += [(k, "is missing in latent attention", "give it") for k in _LATENT if not values.get(k)]
    return errors
