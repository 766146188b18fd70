"""YAML with positions: every problem has its place, and no text can hurt."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.source import MAX_BYTES, Place, quote, read_yaml


def read(text: str):
    return read_yaml(Path("spec.yaml"), text)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("010", 10),
        ("0o10", 8),
        ("0x10", 16),
        ("1e9", 1e9),
        ("12:30", "12:30"),
        ("2026-12-01", "2026-12-01"),
        ("true", True),
        ("~", None),
        ('"5"', "5"),
        ("1_000", "1_000"),
    ],
)
def test_scalars_mean_what_they_look_like(written: str, meant: object) -> None:
    value = read(f"a: {written}\n").value["a"]
    assert value == meant
    assert type(value) is type(meant)


def test_keys_and_values_carry_their_positions() -> None:
    document = read("name: x\nsites:\n  - {power: 2 MW}\n")
    assert document.place(("sites", 0, "power")) == Place("spec.yaml", 3, 13)
    assert document.key_place(("sites", 0, "power")) == Place("spec.yaml", 3, 6)
    assert document.place(("sites", 0, "missing")) == Place("spec.yaml", 3, 5)
    assert quote(("sites", 0, "power")) == "sites[0].power"


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("a: 1\na: 2\n", "duplicate-key", 2),
        ("a:\n\tb: 1\n", "tab", 2),
        ("a: [1\n", "syntax", 2),
        ("a: *nowhere\n", "syntax", 1),
        ("a: 1\n---\nb: 2\n", "many-documents", 2),
        ("a: " + "[" * 60 + "]" * 60, "too-deep", 1),
        ("a: !!python/object:os.system x\n", "bad-tag", 1),
        ("a: &a {b: *a}\n", "bad-tag", 1),
        ("? [1, 2]\n: x\n", "bad-key", 1),
        ("", "empty", 0),
        ("# only a comment\n", "empty", 0),
        ("~\n", "empty", 0),
    ],
)
def test_problems_are_named_with_their_line(text: str, kind: str, line: int) -> None:
    problems = read(text).problems
    assert [(p.kind, p.place.line) for p in problems] == [(kind, line)]


def test_an_alias_bomb_is_stopped() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
    )
    assert [p.kind for p in read(bomb).problems] == ["too-many"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"", "empty"), (b"  \n", "empty"), (b"a\0b", "binary"), (b"a: \xff\n", "not-utf8")],
)
def test_files_that_are_no_text_are_named(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(data)
    assert [p.kind for p in read_yaml(path).problems] == [kind]


def test_paths_that_are_no_file_are_named(tmp_path: Path) -> None:
    assert [p.kind for p in read_yaml(tmp_path).problems] == ["folder"]
    assert [p.kind for p in read_yaml(tmp_path / "none.yaml").problems] == ["missing"]
    big = tmp_path / "big.yaml"
    with big.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    assert [p.kind for p in read_yaml(big).problems] == ["too-large"]


@given(st.text(max_size=300))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    document = read(text)
    assert document.problems or document.value is not None


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "spec.yaml"
    path.write_bytes(data)
    document = read_yaml(path)
    assert document.problems or document.value is not None
