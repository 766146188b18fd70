"""``clusterwright init``: a first spec to edit, commented."""

from __future__ import annotations

import re
from pathlib import Path

import click

from clusterwright.errors import InputError

__all__ = ["command", "examples"]

_FOLDERS = (Path(__file__).parents[1] / "examples", Path(__file__).parents[2] / "examples")
"""Where the examples lie: in an installed package, in the repository."""


def examples() -> dict[str, Path]:
    """The example specs by name."""
    for folder in _FOLDERS:
        if (folder / "llm-70b.yaml").is_file():
            return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    return {}


@click.command()
@click.argument("name", default="my-cluster")
@click.option("--from", "example", metavar="EXAMPLE", help="Start from an example instead; --list shows them.")
@click.option("--list", "listed", is_flag=True, help="List the examples and leave.")
def command(name: str, example: str | None, listed: bool) -> None:
    """Write a first spec to edit, every key commented, to NAME.yaml.

    NAME is the cluster's name, or the path of the file to write. A file that exists is never overwritten.
    """
    if listed:
        for found, path in examples().items():
            click.echo(f"{found.ljust(24)} {_headline(path)}".rstrip())
        return
    path = Path(name) if name.endswith((".yaml", ".yml")) else Path(f"{name}.yaml")
    text = _renamed(_text_of(example), path.stem)
    _check(text, path)
    try:
        _write(path, text)
    except FileExistsError:
        raise _refused("SPEC-EXISTS", path, "is there already", "give another name, or remove the file first") from None
    except (FileNotFoundError, NotADirectoryError):
        raise _refused("SPEC-NO-FOLDER", path.parent, "is no folder to write to", "make it first") from None
    click.echo(str(path))
    click.echo(f"now edit it, then: clusterwright check {path}", err=True)


def _write(path: Path, text: str) -> None:
    """Write a new file, whole or not at all."""
    stream = path.open("xb")
    try:
        with stream:
            stream.write(text.encode())
    except BaseException as error:
        path.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _headline(path: Path) -> str:
    """The first comment of a spec."""
    first = path.read_text("utf-8").splitlines()[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def _text_of(example: str | None) -> str:
    """The text of an example, or of the commented first spec."""
    if example is None:
        return (Path(__file__).parents[1] / "spec" / "first.yaml").read_text("utf-8")
    known = examples()
    if example in known:
        return known[example].read_text("utf-8")
    from difflib import get_close_matches

    from clusterwright.spec import FINDINGS

    close = get_close_matches(example, known, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"one of {', '.join(known)}"
    raise InputError(FINDINGS["SPEC-UNKNOWN-EXAMPLE"].at("--from", f"there is no example '{example}'", hint))


def _renamed(text: str, name: str) -> str:
    """The text with the cluster's name put in."""
    return re.sub(r"^name: *\S+", lambda _: f"name: {name}", text, count=1, flags=re.MULTILINE)


def _check(text: str, path: Path) -> None:
    """Refuse a name that would make the spec bad."""
    from clusterwright.spec import read_spec

    read_spec(text, str(path))


def _refused(code: str, path: Path, message: str, hint: str) -> InputError:
    from clusterwright.spec import FINDINGS

    return InputError(FINDINGS[code].at(str(path), message, hint))
