"""Checkpoints that are whole or are not there, and a log that a full disk cannot stop."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

_NAME = re.compile(r"step-(\d{9})")
_LIST = "files.json"


def say(text: str) -> None:
    """A line to the output of the job, of rank 0; a full disk below the output stops nothing."""
    if dist.get_rank() == 0:
        with contextlib.suppress(OSError):
            print(text, flush=True)


class Checkpoints:
    """The checkpoints of one job in a folder that all nodes share.

    Args:
        folder: holds ``step-000000120/`` and so on, and ``latest``, which names the newest one.
        attempt: of the job; keeps what a dead attempt left half-written apart.
        keep: how many stay.
    """

    def __init__(self, folder: Path, attempt: int, keep: int) -> None:
        self.folder, self.attempt, self.keep = folder, attempt, keep
        if dist.get_rank() == 0:
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.glob("writing-*"):
                shutil.rmtree(left, ignore_errors=True)
        dist.barrier()

    def load(self, model: Any, optimizer: Any) -> int:
        """Load the newest whole checkpoint; the step that it stands for, 0 without one.

        All ranks take the one that rank 0 found whole.
        """
        chosen: list[str | None] = [None]
        if dist.get_rank() == 0:
            chosen[0] = next((one.name for one in self._newest_first() if self._whole(one)), None)
        dist.broadcast_object_list(chosen)
        if chosen[0] is None:
            return 0
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments, "step": torch.zeros((), dtype=torch.int64)}
        dcp.load(state, checkpoint_id=self.folder / chosen[0])
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        return int(state["step"])

    def save(self, step: int, model: Any, optimizer: Any) -> bool:
        """Write a checkpoint; whether it is there. When it is not, the old ones still are."""
        name = f"step-{step:09d}"
        writing = self.folder / f"writing-{self.attempt}-{name}"
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments, "step": torch.tensor(step)}
        trouble = ""
        try:
            dcp.save(state, checkpoint_id=writing)
        except (Exception, CheckpointException) as error:  # the latter is no Exception, and means any rank's
            trouble = _words(error)
        told: list[str] = [trouble]
        if dist.get_rank() == 0:
            told[0] = trouble or self._name(writing, name)
            if told[0]:
                shutil.rmtree(writing, ignore_errors=True)
        dist.broadcast_object_list(told)
        if told[0]:
            say(f"checkpoint of step {step} was not written, the one before stays: {told[0]}")
        return not told[0]

    def _name(self, writing: Path, name: str) -> str:
        """Give a written checkpoint its name; what went wrong, else nothing."""
        try:
            listed = {one.name: [one.stat().st_size, _digest(one)] for one in writing.iterdir()}
            _write(writing / _LIST, json.dumps(listed))
            shutil.rmtree(self.folder / name, ignore_errors=True)  # of an attempt whose copy was torn
            writing.rename(self.folder / name)
            _write(self.folder / "latest.new", name + "\n")
            (self.folder / "latest.new").replace(self.folder / "latest")
        except OSError as error:
            return _words(error)
        for old in list(self._newest_first())[self.keep :]:
            shutil.rmtree(old, ignore_errors=True)
        return ""

    def _newest_first(self) -> Iterator[Path]:
        """The checkpoints, that which ``latest`` names before all others."""
        try:
            named = (self.folder / "latest").read_text("utf-8").strip()
        except OSError:
            named = ""
        found = sorted((one for one in self.folder.iterdir() if _NAME.fullmatch(one.name)), reverse=True)
        yield from sorted(found, key=lambda one: one.name != named)

    @staticmethod
    def _whole(one: Path) -> bool:
        """Whether every file is as it was when the checkpoint got its name."""
        try:
            listed = json.loads((one / _LIST).read_text("utf-8"))
            torn = [name for name, (size, digest) in listed.items()
                    if (one / name).stat().st_size != size or _digest(one / name) != digest]  # fmt: skip
        except (OSError, ValueError) as error:
            torn = [_words(error)]
        if torn:
            say(f"{one.name} is torn ({', '.join(torn)[:200]}); the one before it is taken")
        return not torn


class Log:
    """Lines of JSON. What a full disk refuses is kept in memory and written once there is room.

    Args:
        path: None for ranks that write none.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.waiting = path, deque[str](maxlen=1_000_000)

    def write(self, entry: dict[str, Any]) -> None:
        """One line."""
        if self.path is None:
            return
        self.waiting.append(json.dumps(entry) + "\n")
        self._flush(self.path)

    def _flush(self, path: Path) -> None:
        with contextlib.suppress(OSError), path.open("ab", buffering=0) as stream:
            while self.waiting:
                self._one(stream, self.waiting[0].encode())
                self.waiting.popleft()

    @staticmethod
    def _one(stream: Any, line: bytes) -> None:
        """A whole line or none of it."""
        before = stream.seek(0, os.SEEK_END)
        done = 0
        try:
            done = stream.write(line)
        finally:
            if done != len(line):
                stream.truncate(before)
        if done != len(line):
            raise OSError("no room for the line")

    def close(self) -> None:
        """A last try; what could not be written is said."""
        if self.path is not None and self.waiting:
            self._flush(self.path)
        if self.waiting:
            say(f"{len(self.waiting)} lines of the loss log found no room on the disk")


def _write(path: Path, text: str) -> None:
    """Text that is on the disk when this returns."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _words(error: BaseException) -> str:
    """What went wrong, in one line; of DCP's collected errors the first."""
    failures = getattr(error, "failures", None)
    first = next(iter(failures.values()))[0] if failures else error
    return " ".join(str(first).split())[:200] or type(first).__name__
