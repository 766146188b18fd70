"""What the validation room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "VALIDATION-DATA",
        "error",
        "The file of published values cannot be read",
        "It is missing, a folder, unreadable, empty, binary, not UTF-8, or has no header line. Give a CSV file with "
        "one published design a row; the reference of 'validate' lists the columns.",
    ),
)
