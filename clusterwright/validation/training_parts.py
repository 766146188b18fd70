"""What a published row says in words, as parts of the catalogue: its accelerator, its model, its network."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import yaml

from clusterwright.catalog import Catalog, DimensionsError, ModelArchitecture, from_dimensions
from clusterwright.validation.training_rows import Published

__all__ = ["Chip", "RefusedRowError", "chip_of", "model_of", "network_bytes_s", "placed"]


class RefusedRowError(Exception):
    """A row that cannot be predicted; the text says why."""


@dataclass(frozen=True)
class Chip:
    """An accelerator by its data sheet, SI units; 0 where it is not known.

    Attributes:
        name: in the catalogue.
        tdp_w: power limit; a part that runs below its design's limit carries its own.
        achievable_bf16_flops: best measured product; 0 where nobody measured this part.
        peaks: dense peak by precision.
    """

    name: str
    memory_bytes: float
    memory_bandwidth_bytes_s: float
    tdp_w: float
    scaleup_bytes_s: float
    domain: float
    achievable_bf16_flops: float
    peaks: Mapping[str, float]


_SAME_DESIGN = {"a800": "a100", "gh200": "h200", "gb200nvl72": "gb200", "gb300nvl72": "gb300"}
"""Accelerators that the catalogue lists under another part's name."""
_HBM2E_STACK_BYTES, _HBM2E_STACK_BYTES_S = 16e9, 400e9
"""A stack of HBM2e holds 16 GB and moves about 400 GB/s."""


def chip_of(name: str, catalog: Catalog) -> Chip:
    """The catalogue's accelerator behind a published name such as ``H100-SXM``, ``A100-80G``, ``H100-96G-500W``.

    Memory, kind of memory and power limit in the name replace the catalogue's: parts of equal design differ by them.

    Raises:
        RefusedRowError: no accelerator has this name.
    """
    words = [
        w for w in re.split(r"[^a-z0-9.]+", name.lower()) if w and w not in ("nvidia", "amd", "instinct", "google")
    ]
    words = [*(_SAME_DESIGN.get(w, w) for w in words[:1]), *words[1:]]
    if len(words) > 1 and words[0] == "tpu":
        words = [f"tpu-{words[1]}", *words[2:]]
    said: dict[str, float] = {}
    for word in words[1:]:
        if found := re.fullmatch(r"(\d+)(g|gb|w)", word):
            said["w" if found[2] == "w" else "g"] = float(found[1])
    part = _nearest_part(words, said, catalog)
    peaks = {
        key.removeprefix("peak_").removesuffix("_flops"): float(part[key])
        for key in part.keys()  # noqa: SIM118  # a part is no dict
        if key.startswith("peak_") and key.endswith("_flops") and part[key]
    }
    if "bf16" not in peaks and "fp16" not in peaks:
        raise RefusedRowError(f"the catalogue has no 16-bit peak of {name}")
    chip = Chip(
        name=part.name,
        memory_bytes=float(part["memory_bytes"]),
        memory_bandwidth_bytes_s=float(part["memory_bandwidth_bytes_s"]),
        tdp_w=float(part.get("tdp_w", 0.0)),
        scaleup_bytes_s=float(part.get("scaleup_bandwidth_bytes_s", 0.0)),
        domain=float(part.get("scaleup_domain", 1.0)),
        achievable_bf16_flops=float(part.get("achievable_bf16_flops", 0.0)),
        peaks=peaks,
    )
    if "w" in said and abs(said["w"] / max(chip.tdp_w, 1.0) - 1.0) > 0.02:
        chip = replace(chip, tdp_w=said["w"], achievable_bf16_flops=0.0)
    if "g" in said:
        chip = replace(chip, memory_bytes=said["g"] * 1e9)
    if "hbm2e" in words and words[0].startswith("h"):
        bandwidth = chip.memory_bytes / _HBM2E_STACK_BYTES * _HBM2E_STACK_BYTES_S
        chip = replace(chip, memory_bandwidth_bytes_s=min(bandwidth, chip.memory_bandwidth_bytes_s))
    return chip


def _nearest_part(words: list[str], said: Mapping[str, float], catalog: Catalog) -> Any:
    """The accelerator whose name starts with the first word, nearest in form factor and memory."""
    if not words:
        raise RefusedRowError("the accelerator is not named")
    alike = [catalog.get("accelerator", n) for n in catalog.names("accelerator") if _starts(n, words[0])]
    if not alike:
        raise RefusedRowError(f"the catalogue has no accelerator {words[0]}")
    forms = [w for w in words[1:] if w in ("sxm", "sxm4", "sxm5", "pcie", "nvl", "oam")]

    def apart(part: Any) -> tuple[float, float, float]:
        name = part.name.split("-")
        form = 0.0 if any(f.rstrip("45") in name for f in forms) else 0.5 if "sxm" in name else 1.0
        memory = abs(float(part["memory_bytes"]) / 1e9 - said["g"]) if "g" in said else 0.0
        rows = float(part["memory_bytes"])
        return form, memory, -rows

    return min(alike, key=apart)


def _starts(name: str, word: str) -> bool:
    return name == word or name.startswith(f"{word}-")


def placed(chip: Chip, row: Published) -> Chip:
    """The accelerator as the named system of a row has it: how many of them share one scale-up domain."""
    text = resources.files("clusterwright.validation").joinpath("data/systems.yaml").read_text(encoding="utf-8")
    said = row.text("interconnect").lower()
    for system in yaml.safe_load(text).values():
        if system["named"] in said:
            return replace(chip, domain=min(chip.domain, float(system["scaleup_domain"])))
    return chip


def network_bytes_s(row: Published, gpus_per_node: float) -> float:
    """Bytes a second, one direction, of one accelerator's share of the network cards, from the words of the row."""
    text = row.text("interconnect").replace(",", "")
    if found := re.search(r"(\d+)\s*x\s*(\d+)\s*G", text):
        return float(found[1]) * float(found[2]) * 1e9 / 8.0 / 8.0
    if found := re.search(r"(\d+)\s*Gbps\s*/\s*node", text):
        return float(found[1]) * 1e9 / 8.0 / max(gpus_per_node, 1.0)
    if found := re.search(r"(\d+)\s*Gb(?:ps|/s)?\b.*\bper GPU", text):
        return float(found[1]) * 1e9 / 8.0
    return 25e9 if row.text("gpu").upper().startswith(("A100", "V100", "MI250")) else 50e9


_COLUMNS = {
    "layers": "layers",
    "hidden": "hidden",
    "heads": "heads",
    "kv_heads": "kv_heads",
    "vocab": "vocab",
    "head_dim": "head_dim",
}


def model_of(row: Published, catalog: Catalog) -> tuple[ModelArchitecture, list[str]]:
    """The architecture of a row and what was assumed of it: its columns, completed by the catalogue's model.

    Raises:
        RefusedRowError: neither the row nor the catalogue knows the dimensions, and nothing tells the size.
    """
    base, assumed = _catalogue_model(row.text("model"), catalog), []
    said: dict[str, Any] = {k: int(v) for c, k in _COLUMNS.items() if (v := row.number(c))}
    experts, inner = int(row.number("num_experts") or 0), int(row.number("ffn_hidden") or 0)
    if base is not None and base.state_layers:
        return base, [
            f"{base.name} as its configuration says; not known how far the law holds for hybrids: none was fitted"
        ]
    if base is None and not {"layers", "hidden"} <= said.keys():
        return _stand_in(row)
    if base is None:
        said.setdefault("heads", max(1, said["hidden"] // 128))
        said.setdefault("vocab", 50304)
        gated = row.text("gated_mlp").lower() in ("yes", "true", "1", "")
        said |= {"gated_mlp": gated, "tied_embeddings": not gated, "ffn_hidden": inner or (4 * said["hidden"])}
        if experts > 1:
            said |= {"kind": "moe", "experts": experts, "top_k": int(row.number("top_k") or 2)}
            said |= {"expert_ffn_hidden": said["ffn_hidden"]}
    else:
        assumed += [] if {"layers", "hidden"} <= said.keys() else [f"dimensions of {base.name} from the catalogue"]
        said = _completed(base, said, experts, inner)
        if row.number("top_k") and base.kind == "moe":
            said["top_k"] = int(row.number("top_k") or 2)
    _mend(said)
    try:
        return from_dimensions(said, row.text("model") or "own"), assumed
    except DimensionsError as error:
        raise RefusedRowError(f"its dimensions contradict each other: {error}") from None


def _stand_in(row: Published) -> tuple[ModelArchitecture, list[str]]:
    """A model of the same size in place of one whose dimensions are not known."""
    name, known = row.text("model"), _stand_ins()
    if _plain(name) in known:
        return from_dimensions(known[_plain(name)], name), [f"dimensions of {name} not published: a stand-in"]
    found = re.search(r"(\d+(?:\.\d+)?)\s*b\b", name.lower())
    billions = row.number("params_b") or (float(found[1]) if found else None)
    if billions is None:
        raise RefusedRowError(f"the dimensions of {name or 'the model'} are neither in the row nor in the catalogue")
    hidden = max(512, 128 * round((billions * 1e9 * 128.0 / 12.0) ** (1.0 / 3.0) / 128.0))
    said = {"layers": max(1, hidden // 128), "hidden": hidden, "heads": hidden // 128, "vocab": 128256}
    said |= {"ffn_hidden": int(hidden * 8 / 3 / 128) * 128}
    return from_dimensions(said, name), [f"dimensions not known: a dense model of {billions:g}B parameters"]


@cache
def _stand_ins() -> dict[str, Any]:
    text = resources.files("clusterwright.validation").joinpath("data/stand_ins.yaml").read_text(encoding="utf-8")
    return {_plain(k): v for k, v in yaml.safe_load(text).items()}


def _mend(said: dict[str, Any]) -> None:
    """Make dimensions agree as nearly as they can: a run that happened is never inconsistent."""
    if said["hidden"] % said["heads"]:
        said.setdefault("head_dim", max(1, round(said["hidden"] / said["heads"])))
    if said["heads"] % said.get("kv_heads", said["heads"]):
        said["kv_heads"] = math.gcd(said["heads"], said["kv_heads"])
    if said.get("experts"):
        said["top_k"] = min(said["top_k"], said["experts"])


def _completed(base: ModelArchitecture, said: dict[str, Any], experts: int, inner: int) -> dict[str, Any]:
    """The catalogue's dimensions with those of the row over them."""
    keys = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "gated_mlp", "vocab", "tied_embeddings")
    more = ("kind", "experts", "top_k", "shared_experts", "expert_ffn_hidden", "shared_ffn_hidden", "dense_layers")
    latent = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "window")
    whole: dict[str, Any] = {
        k: getattr(base, k) for k in (*keys, *more, *latent, "moe_every", "window_layers", "biases")
    }
    if base.is_latent or ("heads" in said and "head_dim" not in said and said["heads"] != base.heads):
        whole.pop("head_dim")
    if "hidden" in said and said["hidden"] != base.hidden:
        whole.pop("head_dim", None)
    if "heads" in said and "kv_heads" not in said and said["heads"] != base.heads:
        whole.pop("kv_heads")
    whole |= said
    if inner and inner not in (base.ffn_hidden, base.expert_ffn_hidden):
        whole["expert_ffn_hidden" if base.kind == "moe" else "ffn_hidden"] = inner
    if experts > 1:
        whole["experts"] = experts
    if whole["layers"] != base.layers:
        share = whole["layers"] / base.layers
        whole["window_layers"] = round(base.window_layers * share)
        whole["dense_layers"] = min(base.dense_layers, max(1, round(base.dense_layers * share)))
    return {k: v for k, v in whole.items() if v not in (0, "") or k in ("gated_mlp", "tied_embeddings")}


def _catalogue_model(name: str, catalog: Catalog) -> ModelArchitecture | None:
    wanted = _plain(re.sub(r"\(.*?\)|[-_ ]lora\b", "", name.lower()))
    for known in catalog.names("model"):
        names = (known, *catalog.get("model", known).aliases)
        if wanted and wanted in map(_plain, names):
            return catalog.model(known)
    return _hybrids().get(wanted)


@cache
def _hybrids() -> dict[str, ModelArchitecture]:
    """Published hybrids by their plain names."""
    text = resources.files("clusterwright.validation").joinpath("data/hybrids.yaml").read_text(encoding="utf-8")
    found: dict[str, ModelArchitecture] = {}
    for name, entry in yaml.safe_load(text).items():
        model = from_dimensions(entry["dimensions"], name)
        found |= {_plain(n): model for n in (name, *entry.get("aliases", ()))}
    return found


@cache
def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
