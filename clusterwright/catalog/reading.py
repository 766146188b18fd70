"""The shipped data files, read fast: every scalar stays the text that stands there."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["DATA", "read_data"]

DATA = Path(__file__).parent / "data"
"""The folder of the shipped files."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def read_data(name: str) -> dict[str, Any]:
    """The mapping in ``data/<name>.yaml``, read once a process. Callers do not change it.

    The files are ours and tested, so that positions and types are not needed: a third of the time of
    ``yaml.load`` is left.
    """
    text = (DATA / f"{name}.yaml").read_text(encoding="utf-8")
    loader = _Loader(text)
    try:
        value = _Reader(loader.get_event).document()
    finally:
        loader.dispose()
    if not isinstance(value, dict):
        raise TypeError(f"{name}.yaml does not hold a mapping")
    return value


class _Reader:
    """Builds dicts, lists and texts from YAML events."""

    def __init__(self, get_event: Any) -> None:
        self.event = get_event

    def document(self) -> Any:
        self.event()  # stream start
        self.event()  # document start
        return self.value(self.event())

    def value(self, event: Any) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return event.value
        if isinstance(event, yaml.MappingStartEvent):
            mapping: dict[str, Any] = {}
            while isinstance(key := self.event(), yaml.ScalarEvent):
                if key.value in mapping:
                    raise ValueError(f"'{key.value}' is given twice")
                mapping[key.value] = self.value(self.event())
            return mapping
        items = []
        while not isinstance(event := self.event(), yaml.SequenceEndEvent):
            items.append(self.value(event))
        return items
