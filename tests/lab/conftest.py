"""A lab for the tests of this folder: started once, mended after each test, ended at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright import lab
from tests.lab.living import SPEC, Life, Run, clusterwright, torch_lacking


def _lacking() -> str:
    found = lab.missing()
    return "; ".join(f"{one.message}: {one.hint}" for one in found)


@pytest.fixture(scope="session")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """The lab."""
    if lacking := _lacking():
        if os.environ.get("CLUSTERWRIGHT_NEEDS_TOOLS"):
            pytest.fail(f"{lacking} (make tools)")
        pytest.skip(f"no lab can be started here: {lacking} (make tools)")
    from clusterwright.operate import Slurm, read_site

    before = os.environ.get("CLUSTERWRIGHT_LABS")
    room = Path(tempfile.mkdtemp(prefix="cw-", dir="/run"))  # short: sockets lie in it
    os.environ["CLUSTERWRIGHT_LABS"] = str(room)
    try:
        spec = tmp_path_factory.mktemp("spec") / "life.yaml"
        spec.write_text(SPEC, "utf-8")
        done = clusterwright("lab", "up", str(spec), "--name", "life")
        assert done.returncode == 0, done.stderr
        held = lab.find("life")
        site = read_site(held.site)
        yield Life(held, site, Slurm(site.slurm_conf), tmp_path_factory.mktemp("jobs"))
    finally:
        clusterwright("lab", "down", "--name", "life")
        shutil.rmtree(room, ignore_errors=True)
        if before is None:
            del os.environ["CLUSTERWRIGHT_LABS"]
        else:
            os.environ["CLUSTERWRIGHT_LABS"] = before


@pytest.fixture
def life(lives: Life) -> Iterator[Life]:
    """The lab, for one test."""
    yield lives
    lives.heal()


@pytest.fixture
def torch() -> None:
    """Skips a test that trains where PyTorch is not installed."""
    if lacking := torch_lacking():
        if os.environ.get("CLUSTERWRIGHT_NEEDS_TORCH"):
            pytest.fail(lacking)
        pytest.skip(lacking)


@pytest.fixture(scope="session")
def undisturbed(lives: Life) -> Run:
    """A run on two nodes that nothing happens to; what others are compared with."""
    if lacking := torch_lacking():
        pytest.skip(lacking)
    run = lives.start("undisturbed", 16)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    return run
