"""The grammar as a table: every key of a spec, walked from the models, which are its only definition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from clusterwright.spec.document import Spec
from clusterwright.spec.forms import Form
from clusterwright.spec.section import Section

__all__ = ["Key", "keys_of", "section_at", "walk", "where_known"]


@dataclass(frozen=True)
class Key:
    """One key of one section.

    Attributes:
        section: path of the section it stands in, ``sites[]``; empty at the top.
        name: as it is written.
        attribute: its name in Python.
        description: what it is.
        form: how its value (or each item of its list) is written; None for a section.
        inner: the section that its value (or each item of its list) is; None for a value.
        many: whether it takes a list.
        single: whether one item may stand for a list of one.
        required: whether it must be given.
        default: what it is when it is not given; None when the design decides.
        fewest: items that a list must have.
    """

    section: str
    name: str
    attribute: str
    description: str
    form: Form | None
    inner: type[Section] | None
    many: bool
    single: bool
    required: bool
    default: Any
    fewest: int

    @property
    def python(self) -> str:
        """The attribute that the rest of the program reads: what was asked, completed."""
        return {"asked_batch": "global_batch_sequences", "written": "low, high"}.get(
            self.attribute, self.attribute.removeprefix("asked_")
        )

    @property
    def path(self) -> str:
        """``sites[].power``."""
        return f"{self.section}.{self.name}" if self.section else self.name


def keys_of(section: type[Section], at: str = "") -> list[Key]:
    """The keys of a section, in the order in which they are written."""
    fields = section.model_fields.items()
    return [_key(at, name, field, needed=name in section.needed) for name, field in fields]


@cache
def walk(section: type[Section] = Spec, at: str = "") -> tuple[tuple[str, type[Section], tuple[Key, ...]], ...]:
    """Every section: its path (``sites[]``), its model and its keys; the top first, then as they appear."""
    keys = tuple(keys_of(section, at))
    found = [(at, section, keys)]
    for key in keys:
        if key.inner is not None:
            found += walk(key.inner, key.path + ("[]" if key.many else ""))
    return tuple(found)


@cache
def _sections(root: type[Section]) -> dict[str, tuple[Key, ...]]:
    return {at: keys for at, _, keys in walk(root)}


def section_at(path: tuple[str | int, ...], root: type[Section] = Spec) -> tuple[Key, ...]:
    """The keys that are allowed at a path of a document; nothing when it is no section."""
    written = "".join("[]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return _sections(root).get(written, ())


def where_known(key: str, root: type[Section] = Spec) -> list[str]:
    """The sections in which a key is known, by its written name or its name in Python."""
    return [at for at, keys in _sections(root).items() if any(key in (k.name, k.attribute) for k in keys)]


def _key(at: str, attribute: str, field: FieldInfo, *, needed: bool) -> Key:
    annotation, metadata = field.annotation, list(field.metadata)
    alternatives = [a for a in get_args(annotation) if a is not type(None)]
    if get_origin(annotation) is not list and len(alternatives) == 1 and type(None) in get_args(annotation):
        annotation = alternatives[0]
    many = get_origin(annotation) is list and not any(isinstance(m, Form) for m in metadata)
    single = many and any(type(m).__name__ == "BeforeValidator" for m in metadata)
    fewest = max([getattr(m, "min_length", 0) for m in metadata] or [0]) if many else 0
    if many:
        item = get_args(annotation)[0]
        metadata = list(getattr(item, "__metadata__", ()))
        annotation = getattr(item, "__origin__", item)
    form = next((m for m in metadata if isinstance(m, Form)), None)
    inner = annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None
    default = None if field.default is PydanticUndefined else field.default
    name = field.alias or attribute
    required = needed or field.is_required()
    return Key(at, name, attribute, field.description or "", form, inner, many, single, required, default, fewest)
