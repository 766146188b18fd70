"""The finding codes of the command line itself."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "CLI-USAGE",
        "error",
        "The command line cannot be understood",
        "An unknown verb or option, a missing argument, or a value that an option does not take. "
        "'clusterwright VERB --help' says what a verb takes. Exit code 2.",
    ),
    Code(
        "CLI-NO-CLAIMS",
        "error",
        "There is nothing to audit",
        "An audit judges the 'claims' of a spec, and the spec has none. Exit code 2.",
    ),
    Code(
        "CLI-WORLD",
        "error",
        "The file system refused",
        "A disk is full, a folder cannot be written, a file cannot be opened. Nothing half-written is left. "
        "Exit code 3.",
    ),
    Code(
        "CLI-BUG",
        "error",
        "A bug in clusterwright",
        "Something that cannot happen happened. The crash file holds the traceback, the versions and the command "
        "line; it is written to the current folder, or to the folder for temporary files. Exit code 70.",
    ),
    Code(
        "CLI-PYTHON-VERSION",
        "error",
        "This Python is not supported",
        "clusterwright is made for Python 3.11 to 3.13 and tested with these.",
    ),
    Code(
        "CLI-PACKAGE-VERSION",
        "error",
        "A package is missing or too old",
        "A package that clusterwright needs is not installed, or in a version that it is not made for.",
    ),
    Code(
        "CLI-TOOL-MISSING",
        "info",
        "An optional program is not installed",
        "Everything works without it except what the finding names.",
    ),
    Code(
        "CLI-FOLDER-READ-ONLY",
        "warning",
        "The current folder cannot be written",
        "Run folders are written below the current folder unless --out names another.",
    ),
    Code(
        "CLI-CATALOGUE-STALE",
        "info",
        "Prices in the catalogue are old",
        "The finding says how many prices are older than half a year. 'clusterwright catalog stale' lists them; "
        "a file given with --overlay replaces them.",
    ),
    Code(
        "CLI-CATALOGUE-BROKEN",
        "error",
        "The catalogue cannot be read",
        "A file of the installed catalogue is missing or damaged; install the package anew.",
    ),
)
"""Every code of the command line."""
