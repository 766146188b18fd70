"""Names of nodes in Slurm's form: what is folded unfolds to the same names, and thousands fit into one argument."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.domains.scheduling import hosts
from clusterwright.operate.slurm import _folded


@pytest.mark.parametrize(
    ("names", "folded"),
    [(["n1"], "n[1]"), (["n01", "n02", "n03", "n7"], "n[01-03],n[7]"), (["login"], "login"), ([], ""),
     (["s1-c-0009", "s1-c-0010", "s1-c-0012"], "s1-c-[0009-0010,0012]")],
)  # fmt: skip
def test_folded_as_slurm_writes_it(names: list[str], folded: str) -> None:
    assert _folded(names) == folded


@given(
    st.lists(st.from_regex(r"[a-z]{1,3}-?[0-9]{0,5}", fullmatch=True).filter(lambda n: not n.endswith("-")), min_size=1)
)
def test_nothing_is_lost(names: list[str]) -> None:
    assert sorted(hosts(_folded(names))) == sorted(set(names))


def test_a_whole_cluster_fits_into_one_argument() -> None:
    assert len(_folded([f"s1-compute-{i:05}" for i in range(1, 20_001)])) < 40
