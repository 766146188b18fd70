"""Dashboards, by Grafana's own model of them (grafana-foundation-sdk): nothing may be lost on the way through it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from clusterwright.deploy.bundle import Check, Folder

__all__ = ["INSTALL", "dashboard_judge", "lost"]

INSTALL = "pip install grafana-foundation-sdk"
"""There is no program: a Python package."""
_JUDGE = "grafana-foundation-sdk"


def dashboard_judge(folder: Folder) -> Iterator[Check]:
    """Dashboards of every site."""
    if importlib.util.find_spec("grafana_foundation_sdk") is None:
        return
    for path in folder.glob("monitoring/*/grafana/dashboards/*.json"):
        try:
            wrong = list(lost(json.loads(folder.read(path))))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            wrong = [f"cannot be decoded: {type(error).__name__}: {error}"[:200]]
        said = "; ".join(wrong[:5]) or "dashboard, panels, targets and options"
        yield Check(path, _JUDGE, _version(), "schema", not wrong, said)


def _version() -> str:
    try:
        return version(_JUDGE)
    except PackageNotFoundError:
        return ""


def lost(read: Any) -> Iterator[str]:
    """Decode a dashboard into the model, encode it again, and say what is no longer there or differs."""
    from grafana_foundation_sdk.cog import plugins  # type: ignore[import-not-found,unused-ignore]
    from grafana_foundation_sdk.cog.encoder import JSONEncoder  # type: ignore[import-not-found,unused-ignore]
    from grafana_foundation_sdk.models.dashboard import Dashboard  # type: ignore[import-not-found,unused-ignore]

    plugins.register_default_plugins()
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(read)))
    yield from _differences(read, again, "")


def _differences(ours: Any, theirs: Any, at: str) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key not in theirs:
                if value not in (None, [], {}, "", False):
                    yield f"the model has no {at}{key}"
            else:
                yield from _differences(value, theirs[key], f"{at}{key}.")
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{at} has {len(theirs)} of {len(ours)}"
        for i, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            yield from _differences(one, other, f"{at}{i}.")
    elif ours != theirs:
        yield f"{at.rstrip('.')} is {theirs!r} in place of {ours!r}"
