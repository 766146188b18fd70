"""Run folders are whole or not there, and never overwrite somebody's edits."""

import os
import threading
from pathlib import Path

import pytest

from clusterwright.cluster import runfolder
from clusterwright.cluster.runfolder import add_file, edited_files, write_run
from clusterwright.errors import InputError, WorldError


def test_a_run_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "x"
    write_run(folder, {"a.json": b"1", "old.txt": b"2"})
    write_run(folder, {"a.json": b"3"})
    assert sorted(p.name for p in folder.iterdir()) == ["a.json", "manifest.json"]
    assert (folder / "a.json").read_bytes() == b"3"
    assert [p.name for p in folder.parent.iterdir()] == ["x"]


def test_an_edited_run_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    write_run(folder, {"a.json": b"1"})
    (folder / "a.json").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"RUN-EDITED.*a\.json"):
        write_run(folder, {"a.json": b"2"})
    assert (folder / "a.json").read_bytes() == b"mine"


def test_a_folder_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match="RUN-EDITED"):
        write_run(tmp_path, {"a.json": b"2"})
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]


def test_a_failed_write_leaves_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "x"
    write_run(folder, {"a.json": b"1"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runfolder, "_fill", full)
    with pytest.raises(WorldError, match="No space left"):
        write_run(folder, {"a.json": b"2"})
    assert (folder / "a.json").read_bytes() == b"1"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_an_interrupted_swap_puts_the_old_run_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "x"
    write_run(folder, {"a.json": b"1"})
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if target == folder and "old" not in self.name:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_run(folder, {"a.json": b"2"})
    assert (folder / "a.json").read_bytes() == b"1"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_read_only_place_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(runfolder.tempfile, "mkdtemp", refused)
    with pytest.raises(WorldError, match=r"RUN-NOT-WRITABLE.*Permission denied"):
        write_run(tmp_path / "x", {"a.json": b"1"})
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorldError, match="RUN-NOT-WRITABLE"):
        write_run(tmp_path / "file" / "x", {"a.json": b"1"})


def test_an_added_file_is_in_the_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    write_run(folder, {"a.json": b"1"})
    add_file(folder, "report.html", b"<html>")
    add_file(folder, "report.html", b"<html/>")
    assert edited_files(folder) == []
    (folder / "report.html").write_bytes(b"mine")
    with pytest.raises(InputError, match="RUN-EDITED"):
        add_file(folder, "report.html", b"<html>")


@pytest.mark.parametrize(
    ("place", "said"), [("file", "is a file"), (".", "current folder"), ("..", "current folder"), ("loop", "link")]
)
def test_a_place_that_cannot_be_replaced_is_refused(
    place: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "file").write_text("mine")
    (here / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=f"RUN-PLACE.*{said}"):
        write_run(Path(place), {"a.json": b"1"})
    assert (here / "file").read_text() == "mine"
    assert sorted(p.name for p in here.iterdir()) == ["file", "loop"]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("large-disk")
    write_run(tmp_path / "link", {"a.json": b"1"})
    write_run(tmp_path / "link", {"a.json": b"2"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "large-disk" / "a.json").read_bytes() == b"2"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["large-disk", "link"]


def test_pipes_and_links_in_a_run_are_edits_and_are_not_opened(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    write_run(folder, {"a.json": b"1"})
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "link-to-folder").symlink_to(tmp_path)
    assert edited_files(folder) == ["dangling", "link-to-folder", "pipe"]


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000, '{"files": 1}', "\udcff"])
def test_a_broken_manifest_means_an_edited_run(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    write_run(folder, {"a.json": b"1"})
    (folder / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    assert edited_files(folder) == ["a.json"]


def test_a_strange_folder_is_refused_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(200):
        (tmp_path / f"{k}.txt").write_text("mine")
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("a file of somebody else was read"))
    assert len(edited_files(tmp_path)) == runfolder.MOST_NAMED


def test_two_runs_at_once_leave_one_whole_folder(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    failures: list[BaseException] = []

    def write(k: int) -> None:
        try:
            for _ in range(20):
                write_run(folder, {f"{k}.json": b"1", f"{k}.txt": b"2"})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert len(list(folder.iterdir())) == 3
    assert edited_files(folder) == []


def test_a_name_of_any_allowed_length_can_be_written(tmp_path: Path) -> None:
    write_run(tmp_path / ("n" * 250), {"a.json": b"1"})
    assert edited_files(tmp_path / ("n" * 250)) == []
