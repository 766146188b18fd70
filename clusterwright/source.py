"""Positions in files, and YAML 1.2 read with the position of every key and value.

:func:`read_yaml` is the one reader of what people write (specs, overlays, policies). It never raises for a bad
text: it returns the tree as far as it is understood, and every problem found, each with its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["MAX_BYTES", "MAX_DEPTH", "Document", "Place", "Problem", "quote", "read_bytes", "read_yaml"]

MAX_BYTES = 4 * 1024 * 1024
"""Largest file read as YAML. A spec of 1,000 sites has about 300 kB."""
MAX_DEPTH = 40
"""Deepest nesting accepted."""
MAX_NODES = 200_000
"""Most values accepted, aliases counted at each use (a small file can alias itself to billions)."""


@dataclass(frozen=True)
class Place:
    """A position in a file: line and column count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Problem:
    """Something wrong with a text: ``kind`` is a short word that the reader's room turns into a finding code."""

    kind: str
    place: Place
    message: str
    hint: str = ""


@dataclass
class Document:
    """A YAML text, understood.

    Attributes:
        value: plain Python data (dict, list, str, int, float, bool, None), YAML 1.2 core schema; None when nothing
            could be read.
        places: the place of each value by its path, as ``("sites", 0, "power")``.
        key_places: the place of each key by the path of its value.
        problems: everything that is wrong.
    """

    file: str
    value: Any = None
    places: dict[tuple[str | int, ...], Place] = field(default_factory=dict)
    key_places: dict[tuple[str | int, ...], Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: tuple[str | int, ...]) -> Place:
        """The place of the value at ``path``, or of the nearest thing around it that exists."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(self.file, 1, 1))

    def key_place(self, path: tuple[str | int, ...]) -> Place:
        """The place of the key at ``path``; for an item of a list the item's own."""
        return self.key_places.get(path) or self.place(path)


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes | Problem:
    """The bytes of a file, or the problem with it: missing, a folder, unreadable, too large, empty, binary."""
    place = Place(str(path))
    try:
        if path.is_dir():
            return Problem("folder", place, "is a folder, not a file", "name the file in it")
        size = path.stat().st_size
        if size > limit:
            return Problem("too-large", place, f"has {size:,} bytes; at most {limit:,} are read", "split it")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        return Problem("missing", place, "does not exist", "check the path")
    except (OSError, ValueError) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        return Problem("unreadable", place, said, "check who may read it, and where links lead")
    if len(data) > limit:
        return Problem("too-large", place, f"is longer than {limit:,} bytes", "split it")
    if b"\0" in data:
        return Problem("binary", place, "is a binary file", "a spec is YAML text in UTF-8")
    if not data.strip():
        return Problem("empty", place, "is empty", "start from 'clusterwright init'")
    return data


def read_yaml(path: Path, text: str | None = None) -> Document:
    """Read a YAML 1.2 file (or ``text``, then ``path`` only names it) with positions.

    Returns:
        A :class:`Document`; its ``problems`` hold everything wrong with the text, by kind: ``missing folder
        unreadable too-large binary empty not-utf8 tab syntax duplicate-key many-documents too-deep too-many
        bad-key bad-tag``.
    """
    document = Document(str(path))
    if text is None:
        data = read_bytes(path)
        if isinstance(data, Problem):
            document.problems.append(data)
            return document
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
            place = Place(document.file, line, column)
            document.problems.append(Problem("not-utf8", place, "is not UTF-8 text", "save the file as UTF-8"))
            return document
    _find_tabs(text, document)
    try:
        root = _compose(text, document)
    except yaml.YAMLError as error:
        if not document.problems:
            document.problems.append(_syntax_problem(error, document.file))
        return document
    except RecursionError:
        document.problems.append(Problem("too-deep", Place(document.file), "is nested too deeply"))
        return document
    if root is None:
        if not document.problems:
            document.problems.append(Problem("empty", Place(document.file), "holds no value", "write keys and values"))
        return document
    document.value = _Builder(document).build(root, (), 0)
    if document.value is None and not document.problems:
        document.problems.append(Problem("empty", Place(document.file), "holds no value", "write keys and values"))
    return document


def _find_tabs(text: str, document: Document) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        indent = line[: len(line) - len(line.lstrip())]
        if "\t" in indent:
            place = Place(document.file, number, indent.index("\t") + 1)
            document.problems.append(Problem("tab", place, "a tab in the indentation", "indent with spaces"))


def _compose(text: str, document: Document) -> yaml.Node | None:
    """The node tree of the first document; depth is bounded before the recursive composer runs."""
    loader = yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
    depth, documents = 0, 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                place = _at(document.file, event.start_mark)
                document.problems.append(
                    Problem("too-deep", place, f"is nested more than {MAX_DEPTH} deep", "flatten it")
                )
                return None
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                place = _at(document.file, event.start_mark)
                document.problems.append(
                    Problem("many-documents", place, "a second document starts here", "one document a file")
                )
                return None
    return yaml.compose(text, Loader=loader)


def _at(file: str, mark: Any) -> Place:
    return Place(file, mark.line + 1, mark.column + 1) if mark is not None else Place(file)


def _syntax_problem(error: yaml.YAMLError, file: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or str(error).splitlines()[0]
    undefined = "undefined alias" in str(said)
    hint = "define the anchor first" if undefined else "check the indentation, colons and quotes around here"
    return Problem("syntax", _at(file, mark), f"is not YAML: {said}", hint)


_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCT = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")


def _scalar(text: str) -> Any:
    """A plain scalar by the YAML 1.2 core schema: ``no`` is text, ``010`` is ten, ``12:30`` is text."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if len(text) <= 400:
        if _INT.match(text):
            return int(text)
        if _OCT.match(text):
            return int(text[2:], 8)
        if _HEX.match(text):
            return int(text, 16)
        if _FLOAT.match(text):
            return float(text)
    if text.lower() in (".nan", ".inf", "+.inf", "-.inf"):
        return math.nan if "nan" in text.lower() else math.copysign(math.inf, -1 if text[0] == "-" else 1)
    return text


class _Builder:
    """Turns PyYAML nodes into data and records places and problems."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.count = 0
        self.active: set[int] = set()

    def problem(self, kind: str, node: yaml.Node, message: str, hint: str = "") -> None:
        place = _at(self.document.file, node.start_mark)
        self.document.problems.append(Problem(kind, place, message, hint))

    def build(self, node: yaml.Node, path: tuple[str | int, ...], depth: int) -> Any:
        self.document.places.setdefault(path, _at(self.document.file, node.start_mark))
        self.count += 1
        if self.count == MAX_NODES + 1:
            self.problem("too-many", node, f"holds more than {MAX_NODES:,} values", "aliases count at each use")
        if self.count > MAX_NODES or depth > MAX_DEPTH or id(node) in self.active:
            if id(node) in self.active:
                self.problem("bad-tag", node, "an alias refers to something that contains it", "write it out")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self.active.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(child, (*path, i), depth + 1) for i, child in enumerate(node.value)]
            return self._mapping(node, path, depth)
        finally:
            self.active.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag.startswith("!") or "python" in node.tag:
            self.problem("bad-tag", node, f"the tag '{node.tag}' means nothing here", "remove it")
        return node.value if node.style else _scalar(node.value)

    def _mapping(self, node: yaml.Node, path: tuple[str | int, ...], depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.value == "<<":
                hint = "merge keys and compound keys are not used"
                self.problem("bad-key", key_node, "a key must be plain text", hint)
                continue
            key = key_node.value
            if key in result:
                first = self.document.key_places[(*path, key)]
                message = f"'{key}' is given twice, first on line {first.line}"
                self.problem("duplicate-key", key_node, message, "keep one")
                continue
            self.document.key_places[(*path, key)] = _at(self.document.file, key_node.start_mark)
            result[key] = self.build(value_node, (*path, key), depth + 1)
        return result


def quote(path: tuple[str | int, ...]) -> str:
    """A path as people write it: ``("sites", 0, "power")`` is ``sites[0].power``."""
    return "".join(_quoted(path)).lstrip(".")


def _quoted(path: tuple[str | int, ...]) -> Iterator[str]:
    for part in path:
        yield f"[{part}]" if isinstance(part, int) else f".{part}"
