"""Exit codes are an API: 0 done, 1 the answer is no, 2 bad input or usage, 3 the world, 70 our bug, 130 interrupted."""

import errno
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from clusterwright import cli, errors
from clusterwright.cli import verbs
from clusterwright.findings import Code

WRONG = Code("TEST-WRONG", "error", "wrong", "only in this test").at("spec.yaml:3:5", "is wrong", "mend it")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own, in an empty folder."""
    command = [sys.executable, "-m", "clusterwright", *words]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[], object]], int]:
    """Call ``main`` with a verb 'probe' that does what is given."""
    monkeypatch.chdir(tmp_path)

    def call(act: Callable[[], object]) -> int:
        command = click.Command("probe", callback=act)
        monkeypatch.setitem(verbs.VERBS, "probe", verbs.Verb("probe", "look", "a probe"))
        monkeypatch.setattr(cli.Program, "get_command", lambda self, ctx, name: command)
        return cli.main(["probe"])

    return call


def raises(error: BaseException) -> Callable[[], object]:
    def act() -> object:
        raise error

    return act


def leaves(code: int) -> Callable[[], object]:
    return lambda: click.get_current_context().exit(code)


def test_the_codes_are_what_they_always_were() -> None:
    named = {name: value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert named == {
        "EXIT_OK": 0,
        "EXIT_NO": 1,
        "EXIT_INPUT": 2,
        "EXIT_WORLD": 3,
        "EXIT_BUG": 70,
        "EXIT_INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda: None, 0),
        (lambda: {"a": "result"}, 0),
        (leaves(0), 0),
        (leaves(1), 1),
        (raises(errors.InputError(WRONG)), 2),
        (raises(click.BadParameter("no")), 2),
        (raises(errors.WorldError(WRONG)), 3),
        (raises(OSError(errno.ENOSPC, "No space left on device", "runs/x")), 3),
        (raises(PermissionError(errno.EACCES, "Permission denied", "runs/x")), 3),
        (raises(errors.InternalError(WRONG)), 70),
        (raises(ZeroDivisionError("division by zero")), 70),
        (raises(KeyboardInterrupt()), 130),
        (raises(BrokenPipeError(errno.EPIPE, "Broken pipe")), 0),
    ],
)
def test_each_outcome_has_its_code(
    outcome: Callable[[Callable[[], object]], int],
    act: Callable[[], object],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "_silence_stdout", lambda: None)
    assert outcome(act) == code


def test_findings_are_said_on_stderr_with_place_code_and_hint(
    outcome: Callable[[Callable[[], object]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome(raises(errors.InputError([WRONG, WRONG])))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "spec.yaml:3:5 TEST-WRONG is wrong\n  hint: mend it\n" * 2


def test_a_bug_leaves_a_crash_file_and_no_traceback_on_the_terminal(
    outcome: Callable[[Callable[[], object]], int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome(raises(ZeroDivisionError("division by zero")))
    said = capsys.readouterr()
    (crash,) = tmp_path.glob("clusterwright-crash-*.txt")
    text = crash.read_text("utf-8")
    assert str(crash) in said.err
    assert "Traceback" not in said.out + said.err
    assert "Traceback" in text
    assert "command line: ['probe']" in text
    assert "numpy" in text


def test_a_crash_where_nothing_can_be_written_goes_to_the_folder_for_temporary_files(
    outcome: Callable[[Callable[[], object]], int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(elsewhere))
    monkeypatch.setattr(Path, "cwd", raises(FileNotFoundError(errno.ENOENT, "the folder is gone")))
    outcome(raises(ZeroDivisionError("division by zero")))
    (crash,) = elsewhere.glob("clusterwright-crash-*.txt")
    assert str(crash) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["desgin"], "did you mean 'design'?"),
        (["--vresion"], "did you mean '--version'?"),
        (["xyzzy"], "'clusterwright --help' says what it takes"),
        (["--color", "pink", "doctor"], "'clusterwright --help' says what it takes"),
        (["doctor", "--jsno"], "did you mean '--json'?"),
        (["doctor", "too", "many"], "'clusterwright doctor --help' says what it takes"),
    ],
)
def test_bad_usage_is_code_2_with_a_hint(words: list[str], hint: str) -> None:
    ended = run(*words)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "CLI-USAGE" in ended.stderr
    assert hint in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_and_version_are_code_0_and_no_words_are_code_2() -> None:
    assert (run("--help").returncode, run("--version").returncode, run().returncode) == (0, 0, 2)
    assert run("--version").stdout.startswith("clusterwright 0.")
    assert "Design and judge" in run().stderr


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "clusterwright", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_the_common_options_stand_before_or_after_the_verb() -> None:
    for words in (["-q", "--color", "never", "doctor", "--json"], ["doctor", "--json", "-q", "--color", "never"]):
        assert run(*words).returncode == 0
