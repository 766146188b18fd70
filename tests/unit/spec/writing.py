"""Specs written in the tests: a small good one, and what is found wrong in others."""

from collections.abc import Sequence
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.spec import Spec, load_spec, read_spec

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))

GOOD = """\
version: 1
name: small
workloads:
  - name: pretrain
    train: {model: llama-3-8b, tokens: 1e12}
"""


def spec_with(more: str = "", *overrides: str) -> Spec:
    """The small spec with more sections behind it."""
    return read_spec(GOOD + more, "spec.yaml", overrides)


def wrong_with(more: str, *overrides: str) -> tuple[Finding, ...]:
    """What is wrong with the small spec and more sections behind it; never anything but an InputError."""
    return wrong(GOOD + more, *overrides)


def wrong(text: str, *overrides: str) -> tuple[Finding, ...]:
    """What is wrong with a text."""
    try:
        read_spec(text, "spec.yaml", overrides)
    except InputError as error:
        return error.findings
    return ()


def wrong_file(path: Path) -> tuple[Finding, ...]:
    """What is wrong with a file."""
    try:
        load_spec(path)
    except InputError as error:
        return error.findings
    return ()


def only(findings: Sequence[Finding]) -> tuple[str, str, str, str]:
    """Code, place, message and hint of the one finding there is."""
    assert len(findings) == 1, [f.line() for f in findings]
    (finding,) = findings
    return finding.code, str(finding.place), finding.message, finding.hint
