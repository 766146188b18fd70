"""Specs in a line, for the tests of the design room."""

from collections.abc import Callable

import pytest

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.spec import Spec, read_spec

TEXT = """
version: 1
name: test
workloads:
  - {{name: run, train: {{model: llama-3-8b, tokens: 100e9, sequence: 8192, global_batch: 512 sequences{deadline}}}}}
{rest}
"""


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def ask(catalog: Catalog) -> Callable[..., Spec]:
    def made(rest: str = "", deadline: str = "30 d") -> Spec:
        by = f", deadline: {deadline}" if deadline else ""
        return read_spec(TEXT.format(rest=rest, deadline=by), "test.yaml", (), catalog)

    return made
