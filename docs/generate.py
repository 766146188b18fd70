"""Write the reference pages from the code, or with ``--check`` say which are not current.

The pages are committed, so that they can be read without building anything; a test holds them against the code.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from clusterwright.catalog import KINDS, load_catalog
from clusterwright.cli import main as main_verb
from clusterwright.cli import program
from clusterwright.cli.doors import all_findings, all_laws
from clusterwright.cli.verbs import STAGES, VERBS
from clusterwright.findings import SEVERITIES
from clusterwright.spec import reference as spec_page
from docs.accuracy import IMAGES, accuracy_page, images

REFERENCE = Path(__file__).parent / "reference"
HEAD = "<!-- written by docs/generate.py; change the code, then say: make reference -->\n\n"


def cli_page() -> str:
    """Every verb with its arguments and options."""
    lines = ["# Verbs and options", ""]
    lines += [
        "Every verb also takes `-q/--quiet`, `-v/--verbose`, `--color auto|always|never` and `-h/--help`. Data goes to "
        "stdout; progress, warnings and hints go to stderr.",
        "",
        "| exit code | meaning |",
        "|---|---|",
        "| 0 | done |",
        "| 1 | done, and the answer is no: infeasible, a claim refused, a check failed |",
        "| 2 | bad input or usage |",
        "| 3 | the outside world failed: a disk, a tool, a permission |",
        "| 70 | a bug of ours; a crash file is written |",
        "| 130 | interrupted |",
        "",
    ]
    context = click.Context(program, info_name="clusterwright")
    for stage, heading in STAGES.items():
        lines += [f"## {heading}", ""]
        for verb in VERBS.values():
            if verb.stage == stage:
                command = program.get_command(context, verb.name)
                assert command is not None
                lines += _command(command, click.Context(command, info_name=verb.name, parent=context), 3)
    return "\n".join(lines)


COMMON = ("--quiet", "--verbose", "--color", "--help")


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{context.command_path}`"
    yield ""
    yield from _paragraphs(command.help or "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{context.command_path} {usage}\n```"
    yield ""
    rows = [row for param in command.params if not set(COMMON) & set(param.opts) for row in _param(param, context)]
    if rows:
        yield from ("| argument or option | meaning |", "|---|---|", *rows, "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _command(below, click.Context(below, info_name=name, parent=context), level + 1)


def _paragraphs(text: str) -> Iterator[str]:
    """Click's help text as Markdown; a paragraph marked with backspace keeps its lines."""
    for paragraph in text.strip().split("\n\n"):
        if paragraph.lstrip().startswith("\b"):
            yield f"```text\n{textwrap.dedent(paragraph.lstrip().removeprefix(chr(8)).strip(chr(10)))}\n```"
        else:
            yield _escape(" ".join(paragraph.split()))
        yield ""


def _param(param: click.Parameter, context: click.Context) -> Iterator[str]:
    if isinstance(param, click.Argument):
        yield f"| `{param.make_metavar(context)}` | {'needed' if param.required else 'may be left out'} |"
    elif isinstance(param, click.Option) and not param.hidden:
        record = param.get_help_record(context)
        assert record is not None
        names, text = record
        yield f"| `{names.replace('|', chr(92) + '|')}` | {_cell(text)} |"


def findings_page() -> str:
    """Every finding code with its severity and meaning."""
    lines = [
        "# Finding codes",
        "",
        "What clusterwright says about a spec, a design or a claim, as `place CODE message` and a hint. "
        "`clusterwright explain CODE` prints the same text.",
        "",
        "| severity | what it means |",
        "|---|---|",
        "| error | the input is invalid, or the design infeasible |",
        "| warning | probably not what was wanted |",
        "| risk | a danger of the world, with a mitigation as its hint |",
        "| info | worth knowing |",
        "",
    ]
    found = all_findings()
    for room in dict.fromkeys(room for room, _ in found.values()):
        lines += [f"## {room.removeprefix('domains.')}", "", "| code | severity | meaning |", "|---|---|---|"]
        entries = [code for owner, code in found.values() if owner == room]
        for code in sorted(entries, key=lambda c: (SEVERITIES.index(c.severity), c.code)):
            lines.append(f"| `{code.code}` | {code.severity} | **{_cell(code.title)}.** {_cell(code.meaning)} |")
        lines.append("")
    return "\n".join(lines)


def laws_page() -> str:
    """Every law with its formula, unit, source and range."""
    lines = [
        "# Laws",
        "",
        "Every figure of a design comes from one of these, from the spec or from the catalogue; `clusterwright explain "
        "RUN PATH` shows which, with its inputs. *Spread* is the half-width of the law's own 80 % interval, relative; "
        "a law without one is arithmetic.",
        "",
    ]
    found = all_laws()
    for room in dict.fromkeys(room for room, _ in found.values()):
        lines += [f"## {room.removeprefix('domains.')}", ""]
        for name, (owner, law) in found.items():
            if owner != room:
                continue
            lines += [f"### `{name}`", "", *_paragraphs(law.doc.split("\n\n")[0])]
            lines += [f"- formula: {_code(law.formula)}", f"- unit: {_code(law.unit)}"]
            lines += [f"- valid: {_cell(law.valid)}", f"- source: {_cell(law.source)}"]
            if law.spread:
                lines.append(f"- spread: ±{law.spread * 100:.3g} %")
            lines.append("")
    return "\n".join(lines)


def catalog_page() -> str:
    """Every kind of part, its fields, and the parts that are shipped."""
    catalog = load_catalog()
    lines = [
        "# The catalogue",
        "",
        "What can be had. `clusterwright catalog show NAME` prints the values of a part, each with its source, date "
        "and status. A file of your own, given with `--overlay`, adds parts or replaces values; it is written with the "
        "*field* names below, and quantities carry their units.",
        "",
    ]
    for kind in KINDS.values():
        lines += [f"## {kind.name}", "", f"{_cell(kind.doc[0].upper() + kind.doc[1:])}.", ""]
        lines += ["| field | read as | unit | meaning |", "|---|---|---|---|"]
        for field in kind.fields:
            unit = field.suffix.unit if field.form in ("quantity", "group") else field.form
            needed = " (required)" if field.required else ""
            lines.append(f"| `{field.path}` | `{field.key}` | {unit} | {_cell(field.doc)}{needed} |")
        names = catalog.names(kind.name)
        lines += ["", f"Shipped ({len(names)}): " + ", ".join(f"`{name}`" for name in names) + ".", ""]
    return "\n".join(lines)


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("$", "\\$")


def _cell(text: str) -> str:
    return _escape(" ".join(text.split())).replace("|", "\\|")


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if "`" not in flat else f"`` {flat} ``"


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "spec.md": spec_page,
    "findings.md": findings_page,
    "laws.md": laws_page,
    "catalog.md": catalog_page,
    "accuracy.md": accuracy_page,
}


def page(name: str) -> str:
    """The text that a page must have."""
    return HEAD + PAGES[name]().rstrip("\n") + "\n"


GUIDES = ("calibrating.md",)
"""Guides whose ``text`` blocks are what the commands of the ``sh`` block before them print."""
_SHOWN = re.compile(r"^```sh\n(.*?)^```\n\n```text\n.*?^```$", re.MULTILINE | re.DOTALL)


def guide(name: str) -> str:
    """The text of a guide with what its commands print now; they run in a folder with the examples."""
    examples = REFERENCE.parents[1] / "examples"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(examples, folder, dirs_exist_ok=True)
        return _SHOWN.sub(_with_output, (REFERENCE.parent / "guides" / name).read_text("utf-8"))


def _with_output(block: re.Match[str]) -> str:
    lines: list[str] = []
    for line in block[1].splitlines():
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            assert main_verb(shlex.split(line.removesuffix(" | head"))[1:]) == 0, line
        most = 10 if line.endswith(" | head") else None
        lines += [printed.rstrip() for printed in said.getvalue().splitlines()[:most]]
    return f"```sh\n{block[1]}```\n\n```text\n" + "\n".join(lines) + "\n```"


def wanted() -> Iterator[tuple[Path, str]]:
    """Every generated file and the text that it must have."""
    yield from ((REFERENCE / name, page(name)) for name in PAGES)
    yield from ((REFERENCE.parent / "guides" / name, guide(name)) for name in GUIDES)
    yield from ((IMAGES / name, text) for name, text in images().items())


def stale() -> list[tuple[Path, str]]:
    """The files whose text is not what the code says, with the text that they must have."""
    return [(p, text) for p, text in wanted() if not p.is_file() or p.read_text("utf-8") != text]


def main(check: bool) -> int:
    """Write the pages, or say which are not current."""
    found = stale()
    for path, text in found:
        name = path.relative_to(REFERENCE.parents[1])
        if check:
            print(f"{name} is not current; say: make reference", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
            print(name)
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
