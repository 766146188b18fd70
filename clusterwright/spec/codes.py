"""What can be wrong with a spec: every finding code of this room."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS", "PROBLEM_CODES"]

_DOCUMENTED = (
    ("SPEC-MISSING-FILE", "no such file", "The path names nothing. Relative paths start at the current folder."),
    ("SPEC-FOLDER", "a folder, not a file", "The path of a spec names one YAML file, never the folder it lies in."),
    ("SPEC-UNREADABLE", "cannot be read", "The operating system refuses to read the file; its words are given."),
    ("SPEC-TOO-LARGE", "too large", "A spec is a page of YAML; files beyond 4 MiB are not read at all."),
    ("SPEC-BINARY", "binary file", "The file holds NUL bytes, so it is no text."),
    ("SPEC-ENCODING", "not UTF-8", "The bytes at the given place are not UTF-8, the only encoding that is read."),
    ("SPEC-EMPTY", "empty", "The file holds no value. 'clusterwright init' writes a spec to start from."),
    ("SPEC-TAB", "tab in the indentation", "YAML forbids tabs in indentation, since nobody can see how deep one is."),
    (
        "SPEC-SYNTAX",
        "not YAML",
        "The text is not one YAML 1.2 document, or uses a feature that specs do not have (merge keys, tags, compound "
        "keys, a second document).",
    ),
    ("SPEC-DUPLICATE-KEY", "key given twice", "A mapping holds a key twice, so one of the values would be lost."),
    ("SPEC-TOO-DEEP", "nested too deeply", "The nesting is deeper than any spec is."),
    (
        "SPEC-ALIASES",
        "too many values",
        "The file has more values than any spec, aliases counted at each use: a few lines of aliases can stand for "
        "billions of values.",
    ),
    ("SPEC-VERSION", "unknown version", "The grammar version of the spec is not one that this program reads."),
    ("SPEC-MISSING-KEY", "key missing", "A key without which there is nothing to design is absent, empty or auto."),
    (
        "SPEC-UNKNOWN-KEY",
        "unknown key",
        "The key means nothing at this place. Keys are never ignored, as a misspelt limit would be no limit.",
    ),
    (
        "SPEC-UNKNOWN-PART",
        "unknown part",
        "The catalogue has no such part ('clusterwright catalog list KIND' lists them).",
    ),
    ("SPEC-UNKNOWN-WORD", "unknown word", "The value is not one of the words that this key takes."),
    (
        "SPEC-UNIT",
        "missing or wrong unit",
        "A quantity needs a number and a unit of its dimension; a bare number would be a guess.",
    ),
    (
        "SPEC-RANGE",
        "outside the sensible range",
        "The value is negative, zero where nothing can be zero, not finite, or of a magnitude that nobody can build.",
    ),
    ("SPEC-TYPE", "wrong type", "The value has another form than this key takes, such as text where a list belongs."),
    (
        "SPEC-NAME",
        "unusable name",
        "Names become names of files, jobs and hosts: letters, digits, '-', '_' and '.', starting with a letter or a "
        "digit, at most 63 characters.",
    ),
    ("SPEC-DUPLICATE", "named twice", "Two things of a list have the same name, or a list holds the same thing twice."),
    (
        "SPEC-CONTRADICTION",
        "contradiction",
        "Two values of the spec cannot both be meant, whatever is built. Wishes that are only hard to meet are no "
        "contradictions: the design answers those with 'infeasible'.",
    ),
    (
        "SPEC-NOT-YET",
        "reserved, not designed yet",
        "The word is part of the grammar, so that specs need not change later, but nothing stands behind it yet.",
    ),
    ("SPEC-SET", "override not understood", "A --set is 'path=value', such as limits.power='8 MW'."),
    ("SPEC-MANY", "many more findings", "Only the first findings are shown; mend those first."),
    (
        "SPEC-EXISTS",
        "file exists",
        "A file that exists is never overwritten by 'clusterwright init'.",
    ),
    ("SPEC-NO-FOLDER", "no folder to write to", "The folder that a file is to be written to does not exist."),
    ("SPEC-UNKNOWN-EXAMPLE", "unknown example", "There is no built-in example spec of that name."),
)

FINDINGS = codes(*(Code(code, "error", title, meaning) for code, title, meaning in _DOCUMENTED))
"""Every finding code of the spec room."""

PROBLEM_CODES = {
    "missing": "SPEC-MISSING-FILE",
    "folder": "SPEC-FOLDER",
    "unreadable": "SPEC-UNREADABLE",
    "too-large": "SPEC-TOO-LARGE",
    "binary": "SPEC-BINARY",
    "empty": "SPEC-EMPTY",
    "not-utf8": "SPEC-ENCODING",
    "tab": "SPEC-TAB",
    "syntax": "SPEC-SYNTAX",
    "duplicate-key": "SPEC-DUPLICATE-KEY",
    "many-documents": "SPEC-SYNTAX",
    "too-deep": "SPEC-TOO-DEEP",
    "too-many": "SPEC-ALIASES",
    "bad-key": "SPEC-SYNTAX",
    "bad-tag": "SPEC-SYNTAX",
}
"""The code of each kind of problem that reading YAML can find."""
