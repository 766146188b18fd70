"""Reading a spec: bytes, YAML, overrides, grammar, contradictions; everything wrong is said at once."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from clusterwright.catalog import Catalog
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.source import Document, Place, quote, read_bytes, read_yaml
from clusterwright.spec.codes import FINDINGS, PROBLEM_CODES
from clusterwright.spec.context import Context, context_of
from clusterwright.spec.contradictions import contradictions
from clusterwright.spec.document import Spec, Written
from clusterwright.spec.forms import Wrong, did_you_mean, printable, shown
from clusterwright.spec.grammar import section_at, where_known
from clusterwright.spec.migrate import VERSION, migrate, supported
from clusterwright.spec.overrides import override, written_anew
from clusterwright.spec.section import Section

__all__ = ["MOST_FINDINGS", "load_as", "load_spec", "read_as", "read_spec"]

MOST_FINDINGS = 100
"""Findings that are shown; a file that is no spec at all could have thousands."""

Keys = tuple[str | int, ...]


_W = TypeVar("_W", bound=Written)
_Contradict = Callable[[Any, Context], list[Finding]]


def load_spec(path: Path | str, overrides: Sequence[str] = (), catalog: Catalog | None = None) -> Spec:
    """Read a spec from a file.

    Args:
        path: of a YAML file.
        overrides: ``path=value`` texts laid over it, such as ``limits.power=8 MW``.
        catalog: what names of parts, models, regions and currencies are looked up in; the shipped one when left out.

    Raises:
        InputError: with everything that is wrong, each finding with its place.
    """
    return load_as(Spec, path, overrides, catalog, contradictions, "spec")


def read_spec(
    text: str, file: str = "spec.yaml", overrides: Sequence[str] = (), catalog: Catalog | None = None
) -> Spec:
    """Read a spec from its text; ``file`` names it in findings. Otherwise as :func:`load_spec`."""
    return read_as(Spec, text, file, overrides, catalog, contradictions, "spec")


def load_as(
    kind: type[_W],
    path: Path | str,
    overrides: Sequence[str],
    catalog: Catalog | None,
    contradict: _Contradict,
    noun: str,
) -> _W:
    """Read a file of a kind; see :func:`load_spec`.

    Args:
        kind: whose keys it has.
        path: of the file.
        overrides: laid over it.
        catalog: what names are looked up in.
        contradict: what cannot both be meant in a file that was understood.
        noun: what such a file is called.
    """
    data = read_bytes(Path(path))
    if isinstance(data, bytes):
        try:
            return read_as(kind, data.decode("utf-8-sig"), str(path), overrides, catalog, contradict, noun)
        except UnicodeDecodeError:
            document = read_yaml(Path(path))
    else:
        document = Document(str(path), problems=[data])
    raise InputError(_in_order(_problems(document)))


def read_as(
    kind: type[_W],
    text: str,
    file: str,
    overrides: Sequence[str],
    catalog: Catalog | None,
    contradict: _Contradict,
    noun: str,
) -> _W:
    """Read a text of a kind; see :func:`load_as`."""
    document = read_yaml(Path(file), text)
    document.file = file
    findings = _problems(document, text)
    if not isinstance(document.value, dict):
        if not findings:
            said = f"a {noun} is a mapping of keys, not {shown(document.value)}"
            hint = "start from 'clusterwright init'" if kind is Spec else "docs/guides/running-a-job.md shows one"
            findings = [FINDINGS["SPEC-TYPE"].at(document.place(()), said, hint)]
        raise InputError(_in_order(findings))
    findings += override(document, overrides)
    findings += _version(document)
    if not any(f.code in ("SPEC-VERSION", "SPEC-ALIASES") for f in findings):
        if _is_version(document.value.get("version")):
            document.value = migrate(document.value)
        context = Context(catalog) if catalog is not None else context_of(None)
        made, more = _understand(kind, document, context, contradict)
        findings += more
        if made is not None and not findings:
            made._document = document
            made._text = written_anew(document.value, overrides) if overrides else text
            return made
    raise InputError(_in_order(findings))


_BARE_INDEX = re.compile(r"path:\s*([a-z_]+\[\d+\][a-z0-9_.\[\]]*)")


def _problems(document: Document, text: str = "") -> list[Finding]:
    """The findings of what is wrong with the YAML itself; a path with an index that lacks quotes is recognised."""
    found = []
    for problem in document.problems:
        deep = problem.kind == "syntax" and "nesting depth" in problem.message  # the YAML library's own limit
        code = "SPEC-TOO-DEEP" if deep else PROBLEM_CODES[problem.kind]
        line = text.splitlines()[problem.place.line - 1 :][:1] if problem.place.line else []
        bare = _BARE_INDEX.search(line[0]) if line and code == "SPEC-SYNTAX" else None
        hint = f'within braces a path with an index needs quotes: path: "{bare[1]}"' if bare else problem.hint
        found.append(FINDINGS[code].at(problem.place, problem.message, hint))
    return found


def _in_order(findings: list[Finding]) -> list[Finding]:
    """By position; the first :data:`MOST_FINDINGS` and how many more there are."""
    clean = (replace(f, message=printable(f.message), hint=printable(f.hint)) for f in findings)
    unique = list(dict.fromkeys(clean))
    unique.sort(key=lambda f: (f.place.line, f.place.column) if isinstance(f.place, Place) else (0, 0))
    if len(unique) <= MOST_FINDINGS:
        return unique
    more = len(unique) - MOST_FINDINGS
    last = FINDINGS["SPEC-MANY"].at(unique[-1].place, f"{more:,} more findings are not shown", "mend these first")
    return [*unique[:MOST_FINDINGS], last]


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in supported()


def _version(document: Document) -> list[Finding]:
    """A version that cannot be read makes every other finding meaningless."""
    version = document.value.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or _is_version(version):
        return []
    names = ", ".join(map(str, supported()))
    hint = f"this program reads version {names}: write 'version: {VERSION}'"
    return [FINDINGS["SPEC-VERSION"].at(document.place(("version",)), f"version {shown(version)} is not known", hint)]


# --- the grammar ---


def _understand(
    kind: type[_W], document: Document, context: Context, contradict: _Contradict
) -> tuple[_W | None, list[Finding]]:
    """What is asked, if it can be understood at all, and what is wrong with it.

    Contradictions are looked for also when single values are wrong: those are left out, and the rest is read again.
    """
    tree, findings = document.value, []
    for attempt in range(5):
        try:
            made = kind.model_validate(tree, context=context)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
            if attempt == 0:
                findings += [finding for detail in details for finding in _findings(detail, document, kind)]
            tree = copy.deepcopy(tree)
            for detail in details:
                for at in _inner(detail):
                    _prune(tree, (*detail["loc"], *at), missing=detail["type"] == "missing")
        else:
            made._document = document
            findings += contradict(made, context)
            return made, findings
    return None, findings


def _inner(detail: ErrorDetails) -> list[Keys]:
    """The places of an error below its location."""
    return [wrong.at for wrong in detail.get("ctx", {}).get("wrongs", ())] or [()]


def _prune(tree: Any, path: Keys, *, missing: bool) -> None:
    """Take out the key at ``path``: the section around it when it is missing, the whole list when it is an item."""
    path = path[:-1] if missing else path
    while path and isinstance(path[-1], int):
        path = path[:-1]
    for part in path[:-1]:
        if not _has(tree, part):
            return
        tree = tree[part]
    if path and isinstance(tree, dict):
        tree.pop(path[-1], None)


def _has(tree: Any, part: str | int) -> bool:
    if isinstance(tree, dict):
        return part in tree
    return isinstance(tree, list) and isinstance(part, int) and part < len(tree)


def _findings(detail: ErrorDetails, document: Document, root: type[Section]) -> list[Finding]:
    """The findings of one error of the validation."""
    kind, path = detail["type"], detail["loc"]
    if kind in FINDINGS:
        return [_said(wrong, path, document) for wrong in detail["ctx"]["wrongs"]]
    if kind == "extra_forbidden":
        return [_unknown_key(path, document, root)]
    if kind == "missing":
        return [_missing(path, document, root)]
    if kind in ("list_type", "too_short", "model_type", "model_attributes_type"):
        return [_wrong_type(kind, path, document, root)]
    raise TypeError(f"no finding for the error {kind} at {quote(path)}: {detail['msg']}")


def _said(wrong: Wrong, path: Keys, document: Document) -> Finding:
    """The finding of what a form found wrong."""
    whole = (*path, *wrong.at)
    place = document.key_place(whole) if wrong.code == "SPEC-UNKNOWN-KEY" else document.place(whole)
    return FINDINGS[wrong.code].at(place, wrong.message, wrong.hint)


def _unknown_key(path: Keys, document: Document, root: type[Section]) -> Finding:
    """An unknown key: a slip of one that is allowed here, or one that belongs elsewhere, or neither."""
    key = str(path[-1])
    allowed = section_at(path[:-1], root)
    names = [k.name for k in allowed]
    own = [k.name for k in allowed if k.attribute == key]
    elsewhere = where_known(key, root)
    hint = did_you_mean(own[0] if own else key, names)
    if elsewhere and not own:
        hint = f"'{key}' belongs under {' or '.join(at or 'the top level' for at in elsewhere)}"
    at = quote(path[:-1])
    said = f"{shown(key)} means nothing {'in ' + at if at else 'at the top level'}"
    return FINDINGS["SPEC-UNKNOWN-KEY"].at(document.key_place(path), said, hint or f"known here: {', '.join(names)}")


def _missing(path: Keys, document: Document, root: type[Section]) -> Finding:
    keys = {k.name: k for k in section_at(path[:-1], root)}
    key = keys.get(str(path[-1]))
    at = quote(path[:-1])
    example = f"add '{path[-1]}: {key.form.example}'" if key is not None and key.form is not None else ""
    if path == ("workloads",):
        example = "add 'workloads: [{name: pretrain, train: {model: llama-3-70b, tokens: 1e12}}]'"
    said = f"'{path[-1]}' is missing{' in ' + at if at else ''}"
    written = path in document.places
    hint = f"it cannot be auto: {example}" if written else example
    return FINDINGS["SPEC-MISSING-KEY"].at(document.place(path), said, hint)


def _wrong_type(kind: str, path: Keys, document: Document, root: type[Section]) -> Finding:
    """A section where a list belongs, and the like."""
    value: Any = document.value
    for part in path:
        value = value[part]
    if kind == "list_type":
        said, hint = f"{quote(path)} is a list, not {shown(value)}", "put '- ' before each item"
    elif kind == "too_short":
        said, hint = f"{quote(path)} is an empty list", "name at least one, or leave it out"
    else:
        names = ", ".join(k.name for k in section_at(path, root))
        said, hint = f"{quote(path)} is a mapping of keys, not {shown(value)}", f"its keys: {names}"
    return FINDINGS["SPEC-TYPE"].at(document.place(path), said, hint)
