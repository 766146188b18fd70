"""What the repository as a whole promises: versions, locks, layers, and nothing of the machine it was made on."""

import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import clusterwright
from tests.contract.tree import ROOT, tracked

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOREIGN = re.compile(
    r"(?<![\w.-])/(?:work|root|farm|home/\w+)/"  # folders of the machine it was made on
    r"|(?:py" r"pi\.org|python" r"hosted\.org|registry\.npm" r"js|deb\.deb" r"ian\.org)"
)  # fmt: skip


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    return {plain(package): version for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)}


def required(requirements: list[Any]) -> list[str]:
    return [plain(re.split(r"[^\w.-]", one)[0]) for one in requirements if isinstance(one, str)]


def test_no_machine_path_and_no_registry_host_in_any_file() -> None:
    found = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if hit := FOREIGN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number} {hit.group()}")
    assert found == []


def test_no_file_is_larger_than_a_megabyte() -> None:
    assert [str(p.relative_to(ROOT)) for p in tracked() if p.stat().st_size > 1_000_000] == []


def test_the_version_is_said_once_and_the_changelog_has_it() -> None:
    assert PROJECT["project"]["version"] == clusterwright.__version__
    assert f"## {clusterwright.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_python_3_11_to_3_13_are_declared_and_this_is_one_of_them() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["project"]["classifiers"] if "Python :: 3." in c]
    assert named == ["3.11", "3.12", "3.13"]
    assert (3, 11) <= sys.version_info[:2] <= (3, 13)


def test_every_requirement_is_locked_with_hashes() -> None:
    groups = PROJECT["dependency-groups"]
    run_time = required(PROJECT["project"]["dependencies"])
    assert [name for name in run_time if name not in locked("run.txt")] == []
    needed = {name: required(group) for name, group in groups.items()}
    wanted = run_time + [name for group, names in needed.items() if group != "judges" for name in names]
    assert [name for name in wanted if name not in locked("dev.txt")] == []
    assert [name for name in needed["judges"] if name not in locked("judges.txt")] == []
    for file in ("run.txt", "dev.txt", "judges.txt", "kubectl.txt"):
        text = (ROOT / "requirements" / file).read_text("utf-8")
        assert text.count("--hash=sha256:") >= len(locked(file)) > 0


def test_what_runs_here_is_what_a_user_gets() -> None:
    run_time, developers = locked("run.txt"), locked("dev.txt")
    assert {name: developers.get(name) for name in run_time} == run_time


def test_nothing_locked_weighs_gigabytes() -> None:
    heavy = {"torch", "tensorflow", "jax", "jaxlib", "nvidia-cublas", "triton"}
    assert sorted(heavy & set(locked("dev.txt"))) == []


def test_import_layers_hold() -> None:
    """The contracts of [tool.importlinter] in pyproject.toml."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci/run", "Makefile"])
def test_what_a_stranger_looks_for_is_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 200


def test_the_readme_starts_with_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text
