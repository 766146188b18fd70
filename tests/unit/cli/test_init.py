"""The init verb writes a good spec, and never over a file that is there."""

from pathlib import Path

import pytest

from clusterwright.cli import main
from clusterwright.cli.init import examples
from clusterwright.spec import load_spec


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "file", "name"),
    [
        ([], "my-cluster.yaml", "my-cluster"),
        (["big"], "big.yaml", "big"),
        (["big.yml"], "big.yml", "big"),
        (["sub/big.yaml"], "sub/big.yaml", "big"),
        (["mine", "--from", "a100-64"], "mine.yaml", "mine"),
    ],
)
def test_a_good_spec_of_that_name_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], file: str, name: str
) -> None:
    (here / "sub").mkdir()
    assert main(["init", *words]) == 0
    said = capsys.readouterr()
    assert said.out == f"{file}\n"
    assert f"clusterwright check {file}" in said.err
    assert load_spec(here / file).name == name


@pytest.mark.parametrize("example", sorted(examples()))
def test_every_example_can_be_started_from(here: Path, example: str) -> None:
    assert main(["init", "x", "--from", example]) == 0
    assert load_spec(here / "x.yaml").name == "x"


def test_a_file_that_is_there_is_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.yaml").write_text("mine", "utf-8")
    assert main(["init", "a"]) == 2
    assert (here / "a.yaml").read_text("utf-8") == "mine"
    assert capsys.readouterr().err.startswith("a.yaml SPEC-EXISTS is there already\n  hint: ")


@pytest.mark.parametrize("name", ["a b", ".hidden", "x" * 64, "sub/a b.yaml"])
def test_a_name_that_cannot_be_one_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["init", name]) == 2
    assert "SPEC-NAME" in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_a_folder_that_is_not_there_or_cannot_be_written_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "no/such/a.yaml"]) == 2
    assert capsys.readouterr().err.startswith("no/such SPEC-NO-FOLDER ")


def test_an_unknown_example_is_told_the_nearest(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "x", "--from", "llm-70"]) == 2
    assert "SPEC-UNKNOWN-EXAMPLE" in (said := capsys.readouterr().err)
    assert "did you mean 'llm-70b'?" in said


def test_the_examples_are_listed_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(examples())
    assert all(len(line.split()) > 4 for line in lines)
