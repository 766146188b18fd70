"""Which accelerator and which server of the catalogue nodes have: told by words of Gres and features, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog import Catalog

__all__ = ["Told", "accelerator_of", "links_of", "server_of", "telling"]

_WORD = re.compile(r"[a-z0-9.]+")
_MEMORY = re.compile(r"(?:gpu[_-]?mem(?:ory)?[:=_-]?|gpu[_-]?|vram[:=_-]?)?(\d{2,3})(?:gb?|g)", re.IGNORECASE)
_GENERATION = {"sxm2", "sxm3", "sxm4", "sxm5", "sxm6"}
_NOISE = {"nvidia", "tesla", "amd", "instinct", "intel", "habana", "gpu", "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e"}
_FORMS = ("sxm", "pcie", "nvl")


@dataclass(frozen=True)
class Told:
    """What came of it.

    Attributes:
        name: of the part; empty when it cannot be told.
        candidates: parts that fit.
        why: how it was told, or why not.
    """

    name: str
    candidates: tuple[str, ...]
    why: str


def _words(text: str) -> set[str]:
    """``nvidia_h100_80gb_hbm3`` as h100 and 80gb."""
    every = set(_WORD.findall(text.lower().replace("_", " ")))
    made = {word for word in every if word not in _NOISE}
    if {"h100", "80gb", "hbm3"} <= every:
        made.add("sxm")  # the driver calls the SXM5 board 'NVIDIA H100 80GB HBM3'; the PCIe one has HBM2e
    return {"sxm" if word in _GENERATION else word for word in made}


def telling(catalog: Catalog, features: Iterable[str]) -> frozenset[str]:
    """Features that say something of parts: the name of a server or an accelerator, a form, GPU memory."""
    return frozenset(one for one in features if _tells(catalog, one))


@cache
def _tells(catalog: Catalog, feature: str) -> bool:
    if catalog.has("servers", feature) or catalog.has("accelerators", feature):
        return True
    found = _words(feature)
    return bool(found & set(_FORMS)) or bool(_MEMORY.fullmatch(feature))


def accelerator_of(catalog: Catalog, kind: str, features: Sequence[str]) -> Told:
    """The accelerator of a type of Gres.

    Args:
        catalog: what can be had.
        kind: the type, such as ``h100`` or ``nvidia_a100-sxm4-80gb``.
        features: of the nodes.
    """
    if not kind:
        return _of_features(catalog, features)
    told = _words(kind)
    all_parts = catalog.parts("accelerators")
    candidates = [part.name for part in all_parts if _fits(part.name, part.aliases, told)]
    if not candidates:
        return Told("", (), f"the type '{kind}' names no accelerator of the catalogue")
    servers = [one for one in features if catalog.has("servers", one)]
    carried = {catalog.get("servers", one).text("accelerator") for one in servers}
    if len(carried & set(candidates)) == 1:
        (name,) = carried & set(candidates)
        return Told(name, tuple(candidates), f"type '{kind}', feature '{servers[0]}'")
    if len(candidates) == 1:
        return Told(candidates[0], tuple(candidates), f"type '{kind}', the only one of that name")
    said: list[str] = []
    for feature in sorted({*features}, key=str.lower):
        left = _narrowed(catalog, candidates, feature)
        if left and len(left) < len(candidates):
            candidates, said = left, [*said, feature]
    if len(candidates) == 1:
        return Told(candidates[0], tuple(candidates), f"type '{kind}', features {', '.join(said)}")
    return Told("", tuple(candidates), f"the type '{kind}' fits {len(candidates)} accelerators of the catalogue")


def _of_features(catalog: Catalog, features: Sequence[str]) -> Told:
    """The accelerator of GPUs without a type: features that name a server or an accelerator, when they agree."""
    named = [one for one in features if catalog.has("accelerators", one)]
    told = {
        *(catalog.get("servers", one).text("accelerator") for one in features if catalog.has("servers", one)),
        *(found.name for one in named if (found := accelerator_of(catalog, one, features)).name),
    }
    if len(told) == 1:
        return Told(next(iter(told)), tuple(told), "no type in Gres, features name it")
    return Told("", tuple(sorted(told)), "Gres names no type of GPU, and features name none or several")


def _fits(name: str, aliases: Sequence[str], told: set[str]) -> bool:
    """Whether every word of the type is one of the part's names: h100 and 80gb of h100-sxm-80gb."""
    own = set().union(*(_words(one.replace("-", " ")) for one in (name, *aliases)))
    family = _words(name.replace("-", " "))
    first = name.partition("-")[0]
    asked = {word for one in told for word in one.split("-")} - {"cw"}
    return bool(asked) and (first in asked or name in told) and asked <= (own | family | {first, name})


def _narrowed(catalog: Catalog, candidates: Sequence[str], feature: str) -> list[str]:
    if catalog.has("accelerators", feature) and feature.count("-"):
        named = catalog.get("accelerators", feature).name
        return [one for one in candidates if one == named]
    form = _words(feature.replace("-", " ")) & set(_FORMS)
    if form:
        return [one for one in candidates if form & set(one.split("-"))]
    memory = _MEMORY.fullmatch(feature)
    if memory:
        size = float(memory.group(1)) * 1e9
        return [one for one in candidates if abs(catalog.get("accelerators", one)["memory_bytes"] - size) < 2e9]
    return []


def server_of(
    catalog: Catalog, accelerator: str, gpus: int, sockets: int, cores: int, memory_mib: int, features: Sequence[str]
) -> Told:
    """The server of nodes.

    Args:
        catalog: what can be had.
        accelerator: of the catalogue.
        gpus: of a node.
        sockets: processors of a node; ``cores`` of all of them.
        memory_mib: that Slurm counts with, a little less than is built in.
        features: of the nodes.
    """
    fits = [
        one
        for one in catalog.parts("servers")
        if one.text("accelerator") == accelerator and int(one.get("gpus", 0.0)) == gpus
    ]
    names = tuple(one.name for one in fits)
    for feature in features:
        if catalog.has("servers", feature) and catalog.get("servers", feature).name in names:
            return Told(catalog.get("servers", feature).name, names, f"feature '{feature}'")
    close = [
        one.name
        for one in fits
        if _same(one.get("cpus"), sockets, 0.0)
        and _same(one.get("cores"), cores, 0.0)
        and _same(one.get("memory_bytes"), memory_mib * 2**20, 0.12)
    ]
    if len(close) == 1:
        return Told(close[0], names, "CPUs, memory and GPUs fit no other")
    return Told("", tuple(close) or names, "no feature names one")


def links_of(catalog: Catalog, features: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The feature that speaks of links, and the technologies that it fits; both empty without one.

    ``ndr`` names a technology, ``nic-8x400g`` a rate in Gb/s.
    """
    for feature in features:
        if catalog.has("fabrics", feature):
            return feature, (catalog.get("fabrics", feature).name,)
        rate = re.fullmatch(r"(?:nic|ib|eth|roce)[-_:]?(?:\d+x)?(\d{2,3})g", feature.lower())
        if rate:
            asked = int(rate.group(1)) * 1e9 / 8
            fits = (one.name for one in catalog.parts("fabrics") if one.get("link_rate_bytes_s") == asked)
            return feature, tuple(fits)
    return "", ()


def _same(built: float | None, seen: float, off: float) -> bool:
    """Whether a figure fits; one that the catalogue does not know fits nothing, so that nothing is guessed."""
    return built is not None and abs(built - seen) <= off * built
