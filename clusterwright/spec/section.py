"""The base of every part of a spec: a mapping with fixed keys, each of which may be ``auto``."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

__all__ = ["AUTO", "OneOrMore", "Section", "is_auto"]

AUTO = "auto"
"""What says that a choice is left to the design; an empty value and an absent key say the same."""


def is_auto(value: object) -> bool:
    """Whether a written value leaves the choice to the design."""
    return value is None or (isinstance(value, str) and value == AUTO)


class Section(BaseModel):
    """A mapping of a spec. Keys are written as the aliases say; values are SI floats, words and names."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), validate_default=False)

    needed: ClassVar[tuple[str, ...]] = ()
    """Keys that may be absent only because a reserved word stands in their place."""

    @model_validator(mode="before")
    @classmethod
    def _drop_auto(cls, value: Any) -> Any:
        """Leave out what is ``auto``, so that the defaults of the fields apply."""
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if not is_auto(item)}
        return value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


OneOrMore = BeforeValidator(_as_list)
"""A list, or one item of it."""
