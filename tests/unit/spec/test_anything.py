"""Whatever bytes, text or tree is given, the answer is a spec or an InputError with documented findings."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.source import read_yaml
from clusterwright.spec import FINDINGS, load_spec, read_spec
from clusterwright.spec.grammar import walk
from tests.unit.spec.test_load import BY_EXAMPLE
from tests.unit.spec.writing import GOOD

KEYS = sorted({key.name for _, _, keys in walk() for key in keys} | {"layers", "hidden", "nonsense", ""})
VALUES = [
    "auto", "8 MW", "14 d", "1:1", "5", "-3 kW", "1e400 W", "60M USD", "€4M", "4M tokens", "9" * 5000, "h100-sxm-80gb",
    "llama-3-8b", "us-east", "main", "6-10 MW", "<= 5 %", "facility.racks", "training[0].mfu", "training[99999].mfu",
    "\u202e", "a\x00b", "\x1b[31m", "٣ MW", "１２ d", "²", "NaN", "inf W", "--", "{", "1,024", "1_0", " 5 d ", "5d",
]  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**400), max_value=10**400)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(VALUES)
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner),
    max_leaves=30,
)
calm = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def answered(text: str, *overrides: str) -> bool:
    """Whether a text is a good spec; fails when the answer is anything but a spec or documented findings."""
    try:
        read_spec(text, "s.yaml", overrides)
    except InputError as error:
        assert error.findings
        assert all(f.code in FINDINGS and f.message for f in error.findings)
        assert all("\x1b" not in f.line() for f in error.findings)
        return False
    return True


@calm
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "s.yaml"
    path.write_bytes(data)
    with pytest.raises(InputError):
        load_spec(path)


@calm
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    assert not answered(text)


@calm
@given(st.text(alphabet=" \n-:[]{}#&*!|>'\"%@`,?abc01.\t", max_size=120))
def test_any_text_that_looks_like_yaml(text: str) -> None:
    answered(GOOD + text)


def nested(tree: dict[str, Any], path: list[str | int], value: object) -> None:
    """Replace the value at the place that ``path`` leads to as far as it goes."""
    here: Any = tree
    for part in path:
        inner = here[part] if (isinstance(here, dict) and part in here) or isinstance(here, list) else None
        if not isinstance(inner, dict | list) or not inner:
            here[part] = value
            return
        here = inner
    here.clear()


@calm
@given(st.data())
def test_any_value_at_any_key(data: st.DataObject) -> None:
    tree = read_yaml(Path("x"), BY_EXAMPLE).value
    for _ in range(data.draw(st.integers(1, 4))):
        here: Any = tree
        path: list[str | int] = []
        while isinstance(here, dict | list) and here and data.draw(st.integers(0, 3)):
            part = data.draw(st.sampled_from([*here] if isinstance(here, dict) else range(len(here))))
            path.append(part)
            here = here[part]
        if isinstance(here, dict):
            path.append(data.draw(st.sampled_from(KEYS)))
        if path:
            nested(tree, path, data.draw(trees))
    answered(json.dumps(tree))


@calm
@given(trees)
def test_any_tree(tree: object) -> None:
    answered(json.dumps(tree))


@calm
@given(st.dictionaries(st.sampled_from(KEYS), trees))
def test_any_tree_with_known_keys(tree: dict[str, Any]) -> None:
    answered(json.dumps({"version": 1, "name": "x", "workloads": [{"name": "a", "train": {"model": "x"}}], **tree}))


@calm
@given(st.text(max_size=30) | st.sampled_from([f"{key}={value}" for key in KEYS[:20] for value in VALUES]))
def test_any_override(text: str) -> None:
    answered(GOOD, text)


@calm
@given(st.sampled_from(["limits.power", "sites[0].floor", "claims[0].value", "claims[0].path"]), st.text(max_size=20))
def test_any_value_of_an_override(path: str, value: str) -> None:
    answered(BY_EXAMPLE, f"{path}={value}")


@calm
@given(st.floats(1e-3, 1e7), st.sampled_from(["W", "kW"]))
def test_a_power_that_was_written_is_the_power_that_is_read(number: float, unit: str) -> None:
    factor = {"W": 1.0, "kW": 1e3}[unit]
    spec = read_spec(GOOD, overrides=[f"limits.power={number!r} {unit}"])
    assert spec.limits.power_w == pytest.approx(number * factor)
