"""The JSON Schema (draft 2020-12) of a spec as it is written, so that editors complete and underline it.

It is made from the same models and forms that read a spec. What it cannot say (a name that the catalogue does not
have, two values that contradict each other) is said by ``clusterwright check`` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.spec.context import Context, context_of
from clusterwright.spec.document import Spec
from clusterwright.spec.grammar import Key, walk
from clusterwright.spec.migrate import VERSION
from clusterwright.spec.section import AUTO, Section

__all__ = ["schema"]


def schema(catalog: Catalog | None = None) -> dict[str, Any]:
    """The JSON Schema of a spec.

    Args:
        catalog: whose names become the examples; the shipped one when left out.
    """
    context = Context(catalog) if catalog is not None else context_of(None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://clusterwright.readthedocs.io/schema/spec-{VERSION}.json",
        "title": "clusterwright spec",
        **_section(Spec, "", context),
    }


def _section(section: type[Section], at: str, context: Context) -> dict[str, Any]:
    """An object whose keys are those of the section, no other."""
    keys = _keys_at(at)
    return {
        "type": "object",
        "description": (section.__doc__ or "").strip().splitlines()[0],
        "properties": {key.name: _key(key, context) for key in keys},
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _keys_at(at: str) -> Sequence[Key]:
    return next(keys for path, _, keys in walk() if path == at)


def _key(key: Key, context: Context) -> dict[str, Any]:
    """The value of a key: its form or section, a list of it, or ``auto``."""
    if key.inner is not None:
        item = _section(key.inner, key.path + ("[]" if key.many else ""), context)
    elif key.form is not None:
        item = key.form.schema(context)
    else:
        raise TypeError(f"{key.path} has neither a form nor a section")
    alternatives = [item]
    if key.many:
        alternatives = [{"type": "array", "items": item, "minItems": key.fewest}, *([item] if key.single else [])]
    if not key.required:
        alternatives.append({"enum": [AUTO, None]})
    described = {"description": key.description} if key.description else {}
    return {**described, **(alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives})}
