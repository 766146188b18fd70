"""The reference page of the spec, written from the models and forms that read it."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.grammar import Key, walk
from clusterwright.spec.migrate import VERSION
from clusterwright.spec.words import Reserved

__all__ = ["reference"]

_OPENING = f"""# Spec

What is asked of a cluster, as YAML 1.2, version {VERSION} of the grammar. Only `version`, `name` and one workload are
needed. Everything else may be left out, be empty or be `auto`: then the design chooses, and shows the choice.

- Quantities are a number and a unit (`400 Gb/s`, `14 d`, `2.5 MW`, `60M USD`, `$0.08/kWh`). A bare number where a unit
  is needed is an error. `Gb/s` are bits, `GB/s` are bytes; `k`, `M`, `B`, `T` before a currency or `tokens` are powers
  of a thousand, so `4M tokens` are 4,000,000. A month is a twelfth of a year of 365.25 days.
- Names of parts, models, regions and currencies are those of the [catalogue](catalog.md), aliases included.
- Amounts can be written in any currency of the catalogue (`40M EUR`); they are held in US dollars.
- `clusterwright check SPEC` says everything that is wrong at once; `clusterwright schema` prints the JSON Schema.
- `--set path=value` lays a value over the file: `--set limits.power='8 MW'`, `--set 'sites[0].region=eu-north'`.

The column *in Python* is the attribute of `clusterwright.spec.Spec`, with its unit.
"""


def reference() -> str:
    """The page, as Markdown that ends in a newline."""
    lines = [_OPENING]
    for at, section, keys in walk():
        if not at:
            lines += _table("The document", "", at, keys)
        else:
            lines += _table(f"`{at}`", (section.__doc__ or "").strip().splitlines()[0], at, keys)
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(title: str, what: str, at: str, keys: tuple[Key, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    if what:
        yield f"{what}\n"
    yield "| key | written as | default | in Python | meaning |"
    yield "|---|---|---|---|---|"
    yield from (_row(key) for key in keys)
    yield ""


def _row(key: Key) -> str:
    unit = key.form.unit if key.form is not None else ""
    attribute = f"{key.section}.{key.python}".lstrip(".")
    python = f"`{attribute}`" + (f", {unit}" if unit and unit != "1" else "")
    cells = (f"`{key.name}`", _written(key), _default(key), python, key.description)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("$", "\\$") for cell in cells) + " |"


def _written(key: Key) -> str:
    if key.form is None:
        return "a list of sections, below" if key.many else "a section, below"
    return ("one, or a list: " if key.single else "a list: " if key.many else "") + key.form.words


def _default(key: Key) -> str:
    if key.required:
        return "needed"
    if isinstance(key.form, Reserved):
        return "empty"
    if key.default is None or key.default == "":
        return "`auto`" if key.inner is not None or key.default is None else "empty"
    value = key.default
    return f"`{key.form.show(value) if key.form is not None else value}`"
