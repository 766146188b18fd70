"""Published schemas of the objects, and our own walk over them: unknown, missing and mistyped keys, wrong values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from clusterwright.domains.scheduling import amount

__all__ = ["CUSTOM", "chart_keys", "kinds", "misfits", "pattern", "strange_keys"]

Schema = Mapping[str, Any]
CUSTOM = "crds.json"
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_ANYTHING = "x-kubernetes-preserve-unknown-fields"
_QUANTITY = re.compile(r"\^\(\\\+\|-\)\?")
"""How the patterns of quantities begin in custom resources."""


@cache
def _data(name: str) -> Any:
    return json.loads(files("clusterwright.deploy.targets.kubernetes").joinpath("data", name).read_text("utf-8"))


@cache
def kinds() -> Mapping[str, Mapping[str, Any]]:
    """``apiVersion/kind`` -> source, schema, whether it lives in a namespace, file that it is vendored in."""
    made: dict[str, Mapping[str, Any]] = {}
    for name, key in (("builtin.json", "kinds"), (CUSTOM, "crds")):
        made |= {kind: {**entry, "file": name} for kind, entry in _data(name)[key].items()}
    return made


def chart_keys(chart: str) -> Mapping[str, Any]:
    """Keys of the values of a chart, nested; a text at the end names the type of its default."""
    return _data("charts.json")["charts"][chart]["keys"]  # type: ignore[no-any-return]


@cache
def pattern(text: str) -> re.Pattern[str]:
    """A pattern of Go as Python reads it: flags first."""
    return re.compile("(?i)" + text.replace("(?i)", "") if "(?i)" in text else text)


def misfits(value: Any, schema: Schema, at: str) -> Iterator[str]:
    """What does not fit a schema, with the place.

    Args:
        value: plain data.
        schema: openAPIV3Schema; what it does not name is refused, as ``--validate=strict`` does.
        at: place of the value.
    """
    if schema.get("x-kubernetes-int-or-string"):
        yield from _scalar(value, schema, at)
        return
    kind = schema.get("type", "object" if "properties" in schema else "")
    if kind and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        yield f"{at} is {_shown(value)}, not of type {kind}"
        return
    if isinstance(value, dict):
        yield from _mapping(value, schema, at)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at} has {len(value)} entries"
        for i, one in enumerate(value):
            yield from misfits(one, schema.get("items", {}), f"{at}[{i}]")
    else:
        yield from _plain(value, schema, at)


def _shown(value: Any) -> str:
    return repr(value)[:60]


def _scalar(value: Any, schema: Schema, at: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | str):
        yield f"{at} is {_shown(value)}, neither a number nor a text"
    elif _QUANTITY.match(str(schema.get("pattern", ""))):
        try:
            amount(value)
        except ValueError as error:
            yield f"{at}: {error}"


def _mapping(value: Mapping[str, Any], schema: Schema, at: str) -> Iterator[str]:
    properties = schema.get("properties")
    beside = schema.get("additionalProperties")
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{at}.{key} is missing"
    for key, one in value.items():
        if properties and key in properties:
            yield from misfits(one, properties[key], f"{at}.{key}")
        elif isinstance(beside, dict):
            yield from misfits(one, beside, f"{at}.{key}")
        elif properties is not None and not schema.get(_ANYTHING) and not beside:
            yield f"{at} has no key {key!r}{_nearest(key, properties)}"


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(key), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _plain(value: Any, schema: Schema, at: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is {_shown(value)}, not one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{at} has {len(value)} characters"
        if "pattern" in schema and not pattern(schema["pattern"]).search(value):
            yield f"{at} is {_shown(value)}, which does not match {schema['pattern']}"
    elif isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{at} is {value}, out of range"


_CHART_TYPES: Mapping[str, tuple[type, ...]] = {"bool": (bool,), "int": (int, str), "str": (str, int), "list": (list,)}


def strange_keys(values: Any, known: Any, at: str = "") -> Iterator[str]:
    """Keys of a values file that its chart does not have, and values of another type than the chart's default."""
    if isinstance(known, str):
        wanted = _CHART_TYPES.get(known)
        if wanted and (not isinstance(values, wanted) or (isinstance(values, bool) and known != "bool")):
            yield f"{at} is {_shown(values)}, its default is of type {known}"
        return
    if not isinstance(values, dict):
        yield f"{at} is {_shown(values)}, the chart has keys there"
        return
    for key, one in values.items():
        place = f"{at}.{key}" if at else str(key)
        if key in known:
            yield from strange_keys(one, known[key], place)
        else:
            yield f"the chart has no value {place}{_nearest(key, known)}"
