"""The package as text, for the tests that look at its structure."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clusterwright"


@cache
def modules() -> dict[str, Path]:
    """Every module of the package: dotted name -> file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def syntax(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


def room(module: str) -> str:
    """The room of a module: ``clusterwright.domains.fabric.clos`` is in ``clusterwright.domains.fabric``."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1:2] == ["domains"] else 2])


def imports(module: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything a module imports, at its top or inside functions."""
    path = modules()[module]
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path.relative_to(ROOT)}:{node.lineno} imports relatively"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield node.lineno, whole if whole in modules() and not exports(node.module, alias.name) else node.module


def exports(module: str, name: str) -> bool:
    """Whether a door lists ``name``, which may also be the name of a module behind it."""
    for node in syntax(modules()[module]).body if module in modules() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return name in ast.literal_eval(node.value)
    return False


def tracked() -> list[Path]:
    """Files that belong to the repository: tracked ones, or all of an unpacked archive that has no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    return [p for p in ROOT.rglob("*") if p.is_file() and not p.relative_to(ROOT).parts[0].startswith(".")]
