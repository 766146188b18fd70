"""HCL read without HashiCorp's parser: blocks, arguments and the names that expressions refer to.

Expressions stay text; that suffices for names, literals and references. ``pygohcl`` judges the syntax where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Block", "HclError", "literal", "outside_strings", "parse"]

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+)|(?P<comment>#[^\n]*|//[^\n]*|/\*.*?\*/)|(?P<line>\n)|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)"
    r"|(?P<number>\d+(\.\d+)?)|(?P<quote>\")|(?P<mark>\.\.\.|[=!<>]=|&&|\|\||=>|[{}\[\]().,:?=+*/%<>!-])",
    re.S,
)


class HclError(ValueError):
    """It is no HCL; the message says where."""


@dataclass
class Block:
    """``resource "aws_vpc" "this" { ... }``.

    Attributes:
        kind: resource, variable, ingress ...; the root's is empty.
        labels: the words after it.
        arguments: name -> expression as text.
        blocks: inside.
    """

    kind: str
    labels: tuple[str, ...] = ()
    arguments: dict[str, str] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)

    def all(self, kind: str) -> Iterator[Block]:
        """The blocks of a kind."""
        return (block for block in self.blocks if block.kind == kind)


Token = tuple[str, str, int]


def _string(text: str, start: int) -> int:
    """Where a string ends; ``${ ... }`` inside may hold strings again."""
    place = start + 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text.startswith(("$${", "%%{"), place):
            place += 3
        elif text.startswith(("${", "%{"), place):
            place = _interpolation(text, place + 2)
        elif text[place] == '"':
            return place + 1
        elif text[place] == "\n":
            break
        else:
            place += 1
    raise HclError(f"line {text.count(chr(10), 0, start) + 1}: a string does not end")


def _interpolation(text: str, place: int) -> int:
    depth = 1
    while place < len(text) and depth:
        if text[place] == '"':
            place = _string(text, place)
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
    return place


def _tokens(text: str) -> Iterator[Token]:
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise HclError(f"line {line}: {text[place : place + 20]!r} is not understood")
        kind = str(found.lastgroup)
        end = found.end()
        if kind == "quote":
            kind, end = "string", _string(text, place)
        if kind not in ("space", "comment"):
            yield kind, text[place:end], line
        line += text.count("\n", place, end)
        place = end
    yield "end", "", line


def parse(text: str) -> Block:
    """The root of a file.

    Raises:
        HclError: it cannot be read.
    """
    root, place = Block(""), 0
    tokens = list(_tokens(text))
    place = _body(tokens, 0, root, "end")
    if tokens[place][0] != "end":
        raise HclError(f"line {tokens[place][2]}: one '}}' too many")
    return root


def _body(tokens: list[Token], place: int, into: Block, until: str) -> int:
    while True:
        kind, text, line = tokens[place]
        if kind == "line":
            place += 1
        elif kind == "end" or text == "}":
            if kind == "end" and until != "end":
                raise HclError(f"line {line}: the block '{into.kind}' does not end")
            return place
        elif kind != "name":
            raise HclError(f"line {line}: {text!r} where a name should be")
        elif tokens[place + 1][1] == "=":
            if text in into.arguments:
                raise HclError(f"line {line}: '{text}' is set twice")
            place, into.arguments[text] = _expression(tokens, place + 2)
        else:
            place = _block(tokens, place, into)


def _block(tokens: list[Token], place: int, into: Block) -> int:
    kind, labels = tokens[place][1], []
    place += 1
    while tokens[place][0] in ("string", "name"):
        labels.append(tokens[place][1].strip('"'))
        place += 1
    if tokens[place][1] != "{":
        raise HclError(f"line {tokens[place][2]}: after '{kind}' comes neither '=' nor '{{'")
    made = Block(kind, tuple(labels))
    place = _body(tokens, place + 1, made, "}")
    into.blocks.append(made)
    return place + 1


def _expression(tokens: list[Token], place: int) -> tuple[int, str]:
    start, depth, words = place, 0, []
    while True:
        kind, text, line = tokens[place]
        if kind == "end" or (not depth and (kind == "line" or text == "}")):
            break
        if text in ("{", "[", "("):
            depth += 1
        elif text in ("}", "]", ")"):
            depth -= 1
            if depth < 0:
                raise HclError(f"line {line}: {text!r} closes nothing")
        words.append(" " if kind == "line" else text)
        place += 1
    if depth:
        raise HclError(f"line {tokens[start][2]}: a bracket is not closed")
    if not "".join(words).strip():
        raise HclError(f"line {tokens[start][2]}: an argument has no value")
    return place, _joined(words)


def _joined(words: list[str]) -> str:
    """Tokens with a space between them, but names with their dots as one word."""
    made = ""
    for word in words:
        if word.strip():
            made += word if not made or word == "." or made.endswith(".") else f" {word}"
    return made


def literal(expression: str) -> str | None:
    """The text of a plain string; None for another expression."""
    plain = expression.startswith('"') and expression.endswith('"') and expression.count('"') == 2
    return expression[1:-1] if plain and "${" not in expression else None


def outside_strings(expression: str) -> str:
    """The expression without its literal text, interpolations kept: where references are looked for."""
    made, place = [], 0
    while place < len(expression):
        if expression[place] != '"':
            made.append(expression[place])
            place += 1
            continue
        end = _string(expression, place)
        inner = expression[place + 1 : end - 1]
        made.append(" ")
        for found in re.finditer(r"(?<!\$)\$\{", inner):
            stop = _interpolation(inner, found.end())
            made.append(" " + outside_strings(inner[found.end() : stop - 1]) + " ")
        place = end
    return "".join(made)
