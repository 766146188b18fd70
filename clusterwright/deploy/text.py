"""How values become text: structured formats are serialised, text formats go through strict templates.

Nothing in a design can end a string, a line or a shell word: serialisers quote, and :func:`fill` refuses a value that
holds anything but plain printable characters. Only :class:`Written` text, made by a serialiser or a template, may span
lines inside a template.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, FunctionLoader, StrictUndefined

from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.names import hostlist
from clusterwright.errors import InputError

__all__ = ["SAFE", "Written", "as_csv", "as_json", "as_yaml", "fill", "load_yaml", "load_yamls", "safe"]

SAFE = re.compile(r"[A-Za-z0-9 .,:;/_+=@%()\[\]*?!~#&<>|{}^-]*")
"""What a value may hold in a template: no quotes, backslashes, backticks, '$', control or non-ASCII characters."""
_LONGEST = 1_000_000
"""Host lists of large clusters are long."""


class Written(str):
    """Text that a serialiser or a template made, which may stand in a template as it is."""

    __slots__ = ()


def safe(value: object) -> object:
    """The value, if it can stand in any text format.

    Raises:
        InputError: it cannot.
    """
    if isinstance(value, Written | bool | int | float) or value is None:
        return value
    text = str(value)
    if len(text) > _LONGEST or not SAFE.fullmatch(text):
        said = f"{text[:60]!r} cannot be written into a file"
        raise InputError(FINDINGS["DEPLOY-VALUE"].at("design", said, "use plain letters, digits and '-'"))
    return value


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_source),
        undefined=StrictUndefined,
        finalize=safe,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  # not HTML: finalize lets nothing through that text formats could obey
    )
    made.filters["hostlist"] = lambda names: hostlist(list(names))
    return made


def _source(name: str) -> str:
    target, _, template = name.partition("/")
    return files("clusterwright.deploy.targets").joinpath(target, "templates", template).read_text("utf-8")


def fill(template: str, /, **values: Any) -> Written:
    """Fill a template.

    Args:
        template: ``slurm/prolog.sh.j2`` is ``deploy/targets/slurm/templates/prolog.sh.j2``.
        values: every name that it uses; one that is missing is our bug.

    Raises:
        InputError: a value would break the file.
    """
    return Written(_environment().get_template(template).render(values))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # the C one where it is there
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _written_as_text(dumper: Any, data: Written) -> Any:
    style = "|" if "\n" in data else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(data), style=style)


_Dumper.add_representer(Written, _written_as_text)


def as_yaml(*documents: Any, comment: str = "") -> str:
    """Documents as YAML, keys in their order; a :class:`Written` text of several lines becomes a block.

    Args:
        documents: plain data each.
        comment: one line for the reader on top.
    """
    head = f"# {comment}\n" if comment else ""
    dumped = (
        yaml.dump(one, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=160, default_flow_style=False)
        for one in documents
    )
    return head + "---\n".join(dumped) if len(documents) != 1 else head + next(dumped)


def as_json(data: Any) -> str:
    """Plain data as JSON."""
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; a cell that a spreadsheet would run is quoted as text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([f"'{c}" if isinstance(c, str) and c[:1] in tuple("=+@\t") else c for c in row])
    return stream.getvalue()


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """The first document of a YAML text, as the tools read it (YAML 1.1).

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    return next(iter(load_yamls(text)), None)


def load_yamls(text: str) -> list[Any]:
    """Every document of a YAML text.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    return [one for one in yaml.load_all(text, Loader=_Loader) if one is not None]


def tags(pairs: Mapping[str, Any]) -> str:
    """``key=value`` words of a line, in their order."""
    return " ".join(f"{key}={safe(value)}" for key, value in pairs.items())
