"""A verb, option, finding code, law or spec field that is not documented fails here."""

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from clusterwright.catalog import KINDS
from clusterwright.cli import program
from clusterwright.cli.doors import all_findings, all_laws
from clusterwright.cli.verbs import STAGES, VERBS
from clusterwright.spec import schema as spec_schema
from docs import generate
from tests.contract.tree import PACKAGE, ROOT, modules

REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every verb and what is below it, by the words that call it."""
    context = click.Context(program)
    waiting = [(name, program.get_command(context, name)) for name in VERBS]
    while waiting:
        words, command = waiting.pop()
        assert command is not None
        yield words, command
        waiting += [(f"{words} {name}", below) for name, below in getattr(command, "commands", {}).items()]


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert page(name) == generate.page(name), "say: make reference"


@pytest.mark.parametrize("name", generate.GUIDES)
def test_a_guide_shows_what_its_commands_print(name: str) -> None:
    assert (ROOT / "docs" / "guides" / name).read_text("utf-8") == generate.guide(name), "say: make reference"


def test_the_generated_pictures_are_what_the_code_draws() -> None:
    for name, drawn in generate.images().items():
        assert (generate.IMAGES / name).read_text("utf-8") == drawn, "say: make reference"
        assert len(drawn) < 100_000


def test_the_table_of_verbs_and_the_modules_agree() -> None:
    with_command = {path.stem for path in (PACKAGE / "cli").glob("*.py") if "\ncommand" in path.read_text("utf-8")}
    with_command |= {
        path.stem
        for path in (PACKAGE / "cli").glob("*.py")
        if re.search(r"^def command\(", path.read_text("utf-8"), re.M)
    }
    assert with_command == set(VERBS)
    assert {verb.stage for verb in VERBS.values()} == set(STAGES)


def test_every_verb_and_option_says_what_it_does() -> None:
    silent = [words for words, command in commands() if not (command.help or "").strip()]
    silent += [
        f"{words} {param.opts[0]}"
        for words, command in commands()
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden and not (param.help or "").strip()
    ]
    assert silent == []


def test_every_verb_and_option_is_in_the_reference() -> None:
    text = page("cli.md")
    missing = [words for words, _ in commands() if f"`clusterwright {words}`" not in text]
    missing += [
        f"{words} {name}"
        for words, command in commands()
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden
        for name in param.opts
        if name not in text
    ]
    assert missing == []


def test_every_finding_code_is_in_the_reference_and_named_after_a_room() -> None:
    text = page("findings.md")
    assert [code for code in all_findings() if f"`{code}`" not in text] == []
    assert [code for code in all_findings() if not re.fullmatch(r"[A-Z]+(-[A-Z0-9]+)+", code)] == []
    assert [code for code, (_, documented) in all_findings().items() if len(documented.meaning) < 20] == []


def test_every_finding_code_that_the_code_mentions_is_documented() -> None:
    known = all_findings()
    mentioned = {
        (code, str(path.relative_to(ROOT)))
        for path in modules().values()
        for code in re.findall(r'FINDINGS\["([^"]+)"\]', path.read_text("utf-8"))
    }
    assert sorted(place for place in mentioned if place[0] not in known) == []


def test_every_law_is_in_the_reference_with_formula_unit_and_source() -> None:
    text = page("laws.md")
    assert [name for name in all_laws() if f"### `{name}`" not in text] == []
    bare = [name for name, (_, law) in all_laws().items() if not (law.formula and law.unit and law.source and law.doc)]
    assert bare == []


def test_every_law_that_the_code_makes_is_at_a_door() -> None:
    made = {
        name
        for path in modules().values()
        for name in re.findall(r'^@law\(\s*"([^"]+)"', path.read_text("utf-8"), re.M)
    }
    assert sorted(made - set(all_laws())) == []


def spec_keys(schema: Any) -> set[str]:
    """Every key that a person can write, from the JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(spec_keys, schema))
    if not isinstance(schema, dict):
        return set()
    properties = schema.get("properties")
    own = set(properties) if isinstance(properties, dict) else set()
    return own.union(*map(spec_keys, schema.values()))


def test_every_key_of_the_spec_is_in_the_reference() -> None:
    keys = spec_keys(spec_schema())
    assert {"version", "workloads", "train", "tokens", "sites", "claims", "procurement", "oversubscription"} <= keys
    text = page("spec.md")
    dimensions = {field.path for field in KINDS["models"].fields}  # of a model written out; they are in catalog.md
    assert sorted(key for key in keys - dimensions if f"`{key}`" not in text) == []


def test_every_field_of_the_catalogue_is_in_the_reference() -> None:
    text = page("catalog.md")
    missing = [
        f"{k.name} {f.path}" for k in KINDS.values() for f in k.fields if f"| `{f.path}` | `{f.key}` |" not in text
    ]
    assert missing == []
