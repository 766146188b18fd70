"""What the README and the guides tell people to type exists, and the Python in them runs."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from clusterwright.cli import main, program
from tests.contract.tree import ROOT, modules

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def typed() -> Iterator[tuple[str, list[str]]]:
    """Every clusterwright command line in a shell block, and in backticks in the text."""
    for page in PAGES:
        lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
        lines += re.findall(r"`(clusterwright [a-z][^`]*)`", page.read_text("utf-8"))
        for line in lines:
            if line.startswith("clusterwright "):
                yield f"{page.relative_to(ROOT)}: {line}", shlex.split(line, comments=True)[1:]


def hinted() -> Iterator[tuple[str, list[str]]]:
    """Every command line that a hint or a message of the package names, as 'clusterwright VERB ...'."""
    for path in modules().values():
        text = re.sub(r"\{[^{}]*\}", "VALUE", path.read_text("utf-8"))
        for line in re.findall(r"'(clusterwright [a-z][^'\n\"]*)'", text):
            yield f"{path.relative_to(ROOT)}: {line}", line.split()[1:]


def unknown(place: str, words: list[str]) -> Iterator[str]:
    """What of a command line does not exist: the verb, a verb below it, an option."""
    command, context = program, click.Context(program)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        below = command.get_command(context, words[0])
        if below is None:
            yield f"{place}: no verb {words[0]}"
            return
        command, words = below, words[1:]
    known = {name for param in command.params for name in param.opts} | {"--help", "-h"}
    options = [word for word in words if word.startswith("-") and word != "-"]
    yield from (f"{place}: no option {word}" for word in options if word.split("=")[0] not in known)


def test_every_command_line_in_the_guides_has_a_verb_and_options_that_exist() -> None:
    assert [wrong for place, words in typed() for wrong in unknown(place, words)] == []


def test_every_command_line_in_a_hint_has_a_verb_and_options_that_exist() -> None:
    lines = [line for line in hinted() if line[1][0] != "VALUE" and line[1][0] != "VERB"]
    assert len(lines) > 10
    assert [wrong for place, words in lines for wrong in unknown(place, words)] == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {
        (target, str(page.relative_to(ROOT)))
        for page in PAGES
        for target in re.findall(r"(?:^|`|say: )make ([a-z]+)", page.read_text("utf-8"), re.MULTILINE)
    }
    assert sorted(pair for pair in named if pair[0] not in targets) == []


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder such as the guides suppose: the examples, and the run of the first one."""
    folder = tmp_path_factory.mktemp("desk")
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    assert main(["design", str(folder / "llm-70b.yaml"), "--out", str(folder / "runs" / "llm-70b")]) == 0
    return folder


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda page: page.name)
def test_the_python_of_a_guide_runs(page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
