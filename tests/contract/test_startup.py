"""``--help`` answers at once, because it loads nothing heavy."""

import json
import re
import subprocess
import sys
import tempfile

import pytest

from clusterwright.cli.verbs import STAGES, VERBS

HEAVY = (
    "altair",
    "duckdb",
    "importlib.metadata",
    "jinja2",
    "joblib",
    "jsonschema",
    "narwhals",
    "numba",
    "numpy",
    "pandas",
    "pydantic",
    "rich",
    "scipy",
    "vl_convert",
    "yaml",
)
"""What may not be loaded to print the help."""
NEVER = ("duckdb", "joblib", "numba", "pandas", "scipy")
"""What no verb of today may load."""


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after running ``code``."""
    program = f"{code}\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import clusterwright",
        "import clusterwright.cli",
        "from clusterwright.cli import main; main(['--help'])",
        "from clusterwright.cli import main; main(['--version'])",
    ],
)
def test_nothing_heavy_is_loaded_before_a_verb_is_called(code: str) -> None:
    assert sorted(set(HEAVY) & loaded_after(code)) == []


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_loads_no_numerics_and_no_charts(verb: str) -> None:
    loaded = loaded_after(f"from clusterwright.cli import main; main([{verb!r}, '--help'])")
    assert sorted({*NEVER, "altair", "vl_convert", "numpy", "pydantic"} & loaded) == []


def test_help_lists_every_verb_once_under_its_stage() -> None:
    run = subprocess.run([sys.executable, "-m", "clusterwright", "--help"], capture_output=True, text=True, check=True)
    assert re.findall(r"^  (\w+)  +\S", run.stdout, re.MULTILINE) == list(VERBS)
    assert [line[:-1] for line in run.stdout.splitlines() if line[:-1] in STAGES.values()] == list(STAGES.values())
    assert run.stderr == ""
