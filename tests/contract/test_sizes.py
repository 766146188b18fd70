"""Functions and modules stay small enough to be read."""

import ast
import math
from collections.abc import Iterator

from tests.contract.tree import ROOT, modules, syntax

FUNCTION_CAP = 80
FUNCTION_P90 = 35
MODULE_CAP = 600


def functions() -> Iterator[tuple[str, int]]:
    """Place and length in lines of every function of the package, its docstring counted."""
    for path in modules().values():
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def test_no_function_is_longer_than_80_lines() -> None:
    assert [f"{place} has {lines} lines" for place, lines in functions() if lines > FUNCTION_CAP] == []


def test_nine_of_ten_functions_have_at_most_35_lines() -> None:
    lengths = sorted(lines for _, lines in functions())
    assert lengths[math.ceil(0.9 * len(lengths)) - 1] <= FUNCTION_P90


def test_no_module_is_longer_than_600_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in modules().values()}
    assert {str(path): lines for path, lines in lengths.items() if lines > MODULE_CAP} == {}


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "helper", "misc", "common", "base", "core", "tools"}
    assert [name for name in modules() if name.split(".")[-1] in drawers] == []
