"""Install the built wheel in an environment of its own and use it where the repository is not.

``python tests/wheel.py DIST LOCK EXAMPLES``: a program, not a pytest module, because it needs a built wheel.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def run(*words: str | Path, cwd: Path, codes: tuple[int, ...] = (0,)) -> str:
    """Run a program without anything of the repository in its environment; its stdout."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    ended = subprocess.run(
        [str(w) for w in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode not in codes:
        sys.exit(f"{' '.join(map(str, words))}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def main(dist: Path, lock: Path, examples: Path) -> None:
    """Build an environment, install, run the main job."""
    (wheel,) = dist.glob("clusterwright-*.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python, program = folder / "venv/bin/python", folder / "venv/bin/clusterwright"
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "--require-hashes", "-r", lock.resolve(), cwd=folder)
        run(*pip, "--no-deps", wheel.resolve(), cwd=folder)
        run(python, "-m", "pip", "check", "--disable-pip-version-check", cwd=folder)
        where = run(python, "-c", "import clusterwright; print(clusterwright.__file__)", cwd=folder)
        assert Path(where.strip()).is_relative_to(folder), where
        assert run(program, "--version", cwd=folder).startswith("clusterwright ")
        assert json.loads(run(program, "doctor", "--json", cwd=folder))["ok"]
        assert "llm-70b" in run(program, "init", "--list", cwd=folder)
        shutil.copy(examples / "llm-70b.yaml", folder / "spec.yaml")
        design = json.loads(run(program, "design", "spec.yaml", "--json", cwd=folder))
        assert design["verdict"] == "feasible", design["verdict"]
        run(program, "design", "spec.yaml", "--out", "run", cwd=folder)
        run(program, "report", "run", cwd=folder)
        (page,) = (folder / "run").glob("**/*.html")
        assert page.stat().st_size > 20_000
    print(f"{wheel.name} works on its own")


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:4]))
