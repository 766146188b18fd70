"""The reference page and the first spec that ``init`` writes speak of every key there is."""

import re

import pytest

from clusterwright.spec import read_spec, reference
from clusterwright.spec.grammar import Key, walk
from tests.unit.spec.writing import ROOT

KEYS = [key for _, _, keys in walk() for key in keys]
FIRST = (ROOT / "clusterwright" / "spec" / "first.yaml").read_text("utf-8")


def test_the_page_is_what_the_code_says() -> None:
    page = (ROOT / "docs" / "reference" / "spec.md").read_text("utf-8")
    assert page.removeprefix(page[: page.index("# Spec")]) == reference(), "say: make reference"


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.path)
def test_every_key_is_on_the_page_with_its_unit_and_default(key: Key) -> None:
    page = reference()
    section = page.split(f"\n## `{key.section}`\n" if key.section else "\n## The document\n")[1].split("\n## ")[0]
    (row,) = [line for line in section.splitlines() if line.startswith(f"| `{key.name}` |")]
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
    assert len(cells) == 5
    assert all(cells)
    if key.form is not None and key.form.unit not in ("", "1"):
        assert key.form.unit in cells[3]


def test_the_first_spec_is_good_as_it_stands() -> None:
    assert read_spec(FIRST).name == "my-cluster"


def test_the_first_spec_is_good_with_every_comment_taken_away() -> None:
    bare = re.sub(r"^( *)# ( *)(?=[\w-]+:|- )", r"\1\2", FIRST, flags=re.MULTILINE)
    bare = re.sub(r"^(#.*\n)+", "", bare)
    spec = read_spec(bare)
    reserved = {"serve", "edge"}
    written = set(re.findall(r"(?:^|[{,\s-])([a-z_]+):", bare, flags=re.MULTILINE))
    assert {key.name for key in KEYS} - reserved - written == set()
    assert spec.claims[1].low == 0.4
