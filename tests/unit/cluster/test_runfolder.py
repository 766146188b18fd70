"""Run folders are whole or not there, and never overwrite somebody's edits."""

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
