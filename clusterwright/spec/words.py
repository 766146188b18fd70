"""Words, names and texts: forms that hold no number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from clusterwright.spec.context import Context
from clusterwright.spec.forms import Form, as_text, did_you_mean, problem, shown

__all__ = ["Name", "Part", "Reserved", "Text", "Word"]


@dataclass(frozen=True)
class Word(Form):
    """One of a few words."""

    noun: str
    choices: tuple[str, ...]
    later: tuple[str, ...] = ()

    @property
    def example(self) -> str:  # type: ignore[override]  # read-only here, a constant in the base
        """The first word."""
        return self.choices[0]

    def read(self, value: object, context: Context) -> str:
        """The word."""
        one_of = f"one of {', '.join(self.choices)}"
        word = as_text(value, f"the {self.noun}", one_of)
        if word in self.later:
            raise problem("SPEC-NOT-YET", f"the {self.noun} '{word}' is not designed yet", one_of)
        if word not in self.choices:
            hint = did_you_mean(word, self.choices)
            raise problem("SPEC-UNKNOWN-WORD", f"{shown(word)} is not {_a(self.noun)}", f"{hint} {one_of}".strip())
        return word

    def schema(self, context: Context) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": list(self.choices)}

    @property
    def words(self) -> str:
        """The words."""
        return ", ".join(f"`{choice}`" for choice in self.choices)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@dataclass(frozen=True)
class Part(Form):
    """The name (or an alias) of a part of the catalogue; in Python its canonical name."""

    kind: str
    singular: str
    example: str

    def read(self, value: object, context: Context) -> str:
        """The canonical name."""
        hint = f"'clusterwright catalog list {self.kind}' lists them"
        name = as_text(value, f"the name of {_a(self.singular)}", f"quote it, or see: {hint}")
        found = context.canonical(self.kind, name)
        if found is None:
            close = context.suggest(self.kind, name[:64])
            hint = f"did you mean '{close}'?" if close else hint
            raise problem("SPEC-UNKNOWN-PART", f"{shown(name)} is no {self.singular} of the catalogue", hint)
        return found

    def schema(self, context: Context) -> dict[str, Any]:
        """Text; the names of the catalogue as examples, since a user's overlay may add to them."""
        return {"type": "string", "minLength": 1, "examples": sorted(context.names(self.kind))}

    @property
    def words(self) -> str:
        """The kind."""
        return f"name of {_a(self.singular)} of the catalogue, such as `{self.example}`"


_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"


@dataclass(frozen=True)
class Name(Form):
    """A name that can also name a file, a job and a host."""

    example: str

    def read(self, value: object, context: Context) -> str:
        """The name."""
        name = as_text(value, "a name", "quote it when it looks like a number")
        if not re.fullmatch(_NAME, name):
            hint = "use letters, digits, '-', '_' and '.', at most 63, the first a letter or a digit"
            raise problem("SPEC-NAME", f"{shown(name)} cannot be used as a name", hint)
        return name

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of safe characters."""
        return {"type": "string", "pattern": f"^{_NAME}$", "examples": [self.example]}

    @property
    def words(self) -> str:
        """The characters."""
        return f"letters, digits, `-`, `_`, `.`, at most 63, such as `{self.example}`"


@dataclass(frozen=True)
class Text(Form):
    """Free text of one line."""

    example: str
    longest: int = 200

    def read(self, value: object, context: Context) -> str:
        """The text."""
        text = as_text(value, "this", "quote it when it looks like a number")
        if not text or len(text) > self.longest or not text.isprintable():
            raise problem(
                "SPEC-TYPE", f"{shown(text)} is not one line of text", f"at most {self.longest} printable characters"
            )
        return text

    def schema(self, context: Context) -> dict[str, Any]:
        """Text."""
        return {"type": "string", "minLength": 1, "maxLength": self.longest, "examples": [self.example]}

    @property
    def words(self) -> str:
        """The length."""
        return f"text of one line, such as `{self.example}`"


@dataclass(frozen=True)
class Reserved(Form):
    """A word of the grammar behind which nothing stands yet."""

    message: str
    hint: str
    empty: bool = False

    def read(self, value: object, context: Context) -> None:
        """Nothing; every value but an empty list or mapping (where that is allowed) is refused."""
        if self.empty and isinstance(value, list | dict) and not value:
            return
        raise problem("SPEC-NOT-YET", self.message, self.hint)

    def schema(self, context: Context) -> dict[str, Any]:
        """An empty list, or nothing at all."""
        return {"type": "array", "maxItems": 0} if self.empty else {"not": {}}

    @property
    def words(self) -> str:
        """That it is reserved."""
        return "reserved" + (", must be empty" if self.empty else "")
