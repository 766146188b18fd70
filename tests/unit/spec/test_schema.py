"""The JSON Schema takes what the reader takes, and refuses what it can see is wrong."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clusterwright.source import read_yaml
from clusterwright.spec import schema
from clusterwright.spec.grammar import walk
from tests.unit.spec.test_load import BY_EXAMPLE
from tests.unit.spec.writing import EXAMPLES, GOOD, wrong


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    made = schema()
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


def tree(text: str) -> Any:
    document = read_yaml(Path("x.yaml"), text)
    assert document.problems == []
    return document.value


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_is_valid(validator: Draft202012Validator, path: Path) -> None:
    assert [e.message for e in validator.iter_errors(tree(path.read_text("utf-8")))] == []


@pytest.mark.parametrize(
    "more",
    [
        "",
        "objective: time\n",
        "limits: auto\nsites:\n",
        "limits: {budget: $60M, power: 2.5 MW, floor: 500 m², rack_weight: 3000 lb}\n",
        "limits: {budget: €60.5M}\n",
        "limits: {budget: 40 million EUR}\n",
        "sites: [{energy_price: $0.08/kWh, carbon: 369 g/kWh, pue: 1.2}]\n",
        "sites: [{energy_price: 80 USD/MWh}]\n",
        "reliability: {availability: 0.999}\n",
        "storage: {dataset: 1.5 TiB}\n",
        'compute: {gpus: "1,024", accelerators: h100-sxm-80gb}\n',
        'fabric: {oversubscription: "2:1"}\n',
        'claims: [{path: "training[0].mfu", value: ">= 40 %"}, {path: facility.racks, value: 12}]\n',
        "tenants: []\n",
    ],
)
def test_what_the_reader_takes_is_valid(validator: Draft202012Validator, more: str) -> None:
    assert wrong(GOOD + more) == ()
    assert [e.message for e in validator.iter_errors(tree(GOOD + more))] == []


def test_the_spec_of_the_documentation_is_valid(validator: Draft202012Validator) -> None:
    assert list(validator.iter_errors(tree(BY_EXAMPLE))) == []


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("version: 1", "version: 2"),
        GOOD.replace("name: small", "name: a b"),
        GOOD.replace("name: small\n", ""),
        GOOD.replace("train: {model: llama-3-8b, tokens: 1e12}", "serve: {}"),
        GOOD.replace("tokens: 1e12", "tokens: -1"),
        GOOD.replace("tokens: 1e12", "tokens: 1e12, deadline: 14"),
        GOOD.replace("tokens: 1e12", "tokens: 1e12, deadline: 14 kg"),
        GOOD.replace("tokens: 1e12", "tokens: 1e12, global_batch: 512"),
        GOOD.replace("tokens: 1e12", "tokens: 1e12, precision: bf17"),
        GOOD + "nonsense: 1\n",
        GOOD + "limits: {power: 8}\n",
        GOOD + "limits: {power: 8 MB}\n",
        GOOD + "limits: {power: -8 MW}\n",
        GOOD + "limits: {budget: 60M}\n",
        GOOD + "limits: {racks: 0}\n",
        GOOD + "limits: [racks]\n",
        GOOD + "sites: []\n",
        GOOD + "sites: [{powr: 8 MW}]\n",
        GOOD + "objective: {speed: 1}\n",
        GOOD + "finance: {procurement: [bye]}\n",
        GOOD + "finance: {years: 1000}\n",
        GOOD + "fabric: {oversubscription: 2}\n",
        GOOD + "tenants: [a]\n",
        GOOD + "claims: [{path: facility.racks}]\n",
        GOOD + "claims: [{path: 'a b', value: 5}]\n",
    ],
)
def test_what_is_wrong_at_sight_is_invalid_for_both(validator: Draft202012Validator, text: str) -> None:
    assert wrong(text) != ()
    assert list(validator.iter_errors(tree(text))) != []


def test_words_are_enumerated_and_names_of_parts_are_examples(validator: Draft202012Validator) -> None:
    top = validator.schema["properties"]
    kind = top["scheduler"]["anyOf"][0]["properties"]["kind"]
    assert kind["anyOf"] == [{"enum": ["slurm", "kubernetes", "ray"]}, {"enum": ["auto", None]}]
    server = top["compute"]["anyOf"][0]["properties"]["server"]["anyOf"][0]
    assert "dgx-h100" in server["examples"]


def test_every_key_is_described(validator: Draft202012Validator) -> None:
    assert [key.path for _, _, keys in walk() for key in keys if not key.description.endswith(".")] == []
    assert validator.schema["additionalProperties"] is False
