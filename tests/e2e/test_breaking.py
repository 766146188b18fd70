"""What a hostile or unlucky caller does to the process: it ends with its exit code, says why, and leaves no mess."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = [sys.executable, "-m", "clusterwright"]


def run(
    *words: str | bytes, cwd: Path, prepare: Callable[[], None] | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
        preexec_fn=prepare,
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """An empty folder with one small spec in it."""
    shutil.copy(EXAMPLES / "finetune-8.yaml", tmp_path / "s.yaml")
    return tmp_path


def left_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name != "s.yaml")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="watches the process through /proc")
@pytest.mark.parametrize("later_s", [0.0, 0.1, 0.3])
def test_an_interrupted_design_is_code_130_and_leaves_nothing(later_s: float, here: Path) -> None:
    command = [*PROGRAM, "design", str(EXAMPLES / "supercluster-555k.yaml"), "--out", "run"]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        maps = Path(f"/proc/{process.pid}/maps")
        while "numpy" not in maps.read_text():
            time.sleep(0.005)
        time.sleep(later_s)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip(), left_in(here)) == (130, "interrupted", [])


def test_a_closed_stdout_is_no_bug(here: Path) -> None:
    ended = run("design", "s.yaml", "--out", "run", cwd=here, prepare=lambda: os.close(1))
    assert (ended.returncode, left_in(here)) == (0, ["run"])
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_full_stdout_is_code_3(form: str, here: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*PROGRAM, "catalog", "list", "accelerator", "-o", form],
            cwd=here,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 3
    assert "CLI-WORLD No space left" in ended.stderr


def test_a_full_disk_is_code_3_and_leaves_nothing(here: Path) -> None:
    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    ended = run("design", "s.yaml", "--out", "run", cwd=here, prepare=small)
    assert ended.returncode == 3
    assert "RUN-NOT-WRITABLE" in ended.stderr
    ended = run("init", "first", cwd=here, prepare=small)
    assert ended.returncode == 3
    assert "first.yaml CLI-WORLD File too large" in ended.stderr
    assert left_in(here) == []


@pytest.mark.parametrize(
    "words", [[b"check", b"\xff.yaml"], [b"check", b"s.yaml", b"--set", b"name=\xff"], [b"explain", b"\xff"]]
)
def test_words_that_are_no_text_are_code_2(words: list[bytes], here: Path) -> None:
    ended = run(*words, cwd=here)
    assert ended.returncode == 2
    assert "CLI-USAGE" in ended.stderr
    assert "is not UTF-8 text" in ended.stderr
    assert left_in(here) == []


def test_the_name_of_a_file_cannot_command_the_terminal(here: Path) -> None:
    (here / "a\x1b[31m\nb.yaml").write_text("version: 1\nname: [\n")
    ended = run("check", "a\x1b[31m\nb.yaml", "--color", "never", cwd=here)
    assert ended.returncode == 2
    assert "\x1b" not in ended.stderr
    assert ended.stderr.startswith("a?[31m?b.yaml:")


def test_a_dumb_terminal_gets_no_colours(here: Path) -> None:
    ended = run("check", "nope.yaml", cwd=here, TERM="dumb")
    assert "\x1b" not in ended.stderr


def test_a_current_folder_that_is_gone_is_code_3(here: Path) -> None:
    gone = here / "gone"
    gone.mkdir()
    command = f"rmdir '{gone}'; exec '{sys.executable}' -m clusterwright design '{here / 's.yaml'}'"
    ended = subprocess.run(["sh", "-c", command], cwd=gone, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert "RUN-NOT-WRITABLE" in ended.stderr


@pytest.mark.parametrize("out", [".", "", "..", "/", "s.yaml", "sub/.."])
def test_a_place_that_cannot_be_replaced_is_code_2(out: str, here: Path) -> None:
    (here / "sub").mkdir()
    ended = run("design", "s.yaml", "--out", out, cwd=here)
    assert ended.returncode == 2
    assert "RUN-PLACE" in ended.stderr
    assert left_in(here) == ["sub"]


def test_a_system_folder_is_refused_at_once(here: Path) -> None:
    ended = run("design", "s.yaml", "--out", "/etc", cwd=here)
    assert ended.returncode == 2
    assert "/etc RUN-EDITED" in ended.stderr


def test_designs_of_different_kinds_compare_as_json(here: Path) -> None:
    ended = run("compare", "s.yaml", str(EXAMPLES / "gb200-nvl72.yaml"), "--json", cwd=here)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["changes"]
