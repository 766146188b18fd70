"""Designs that bundles are rendered from, and faults planted in what was rendered."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, Check, render, verify
from clusterwright.design import design
from clusterwright.spec import load_spec

EXAMPLES = Path(__file__).parents[3] / "examples"
TENANTS = (
    "tenants=[{name: research, share: 2, quota: 512, users: [alice, bob]}, "
    "{name: Prod_Serving, priority: high, quota: 256, limit: 512, users: [carol]}, {name: students, priority: low}]"
)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


def _designed(catalog: Catalog, name: str, *sets: str) -> Cluster:
    return design(load_spec(EXAMPLES / f"{name}.yaml", sets, catalog), catalog)


@pytest.fixture(scope="session")
def worked(catalog: Catalog) -> Cluster:
    """The worked example, 1,024 H100 under Slurm, with three tenants."""
    return _designed(catalog, "llm-70b", TENANTS)


RENTED = (
    "compute.server=aws-p5.48xlarge",
    "finance.procurement=[rent]",
    "fabric.technology=efa",
    "limits.budget=500M USD",
)
"""1,024 H100 on demand are 62 million dollars a year."""


@pytest.fixture(scope="session")
def rented(catalog: Catalog) -> Cluster:
    """The worked example on instances of AWS."""
    return _designed(catalog, "llm-70b", TENANTS, *RENTED)


@pytest.fixture(scope="session")
def company(catalog: Catalog) -> Cluster:
    """1,024 A100 under Kubernetes, without tenants."""
    return _designed(catalog, "enterprise-1024-a100")


@pytest.fixture(scope="session")
def rack_scale(catalog: Catalog) -> Cluster:
    """GB200 NVL72 under Slurm: four GPUs a node, 18 nodes a domain."""
    return _designed(catalog, "gb200-nvl72")


Edit = Callable[[str], str]


def planted(bundle: Bundle, path: str, edit: Edit, folder: Path, *, live: bool) -> list[Check]:
    """What the gate says of a bundle in which one file was edited before it was written, so that its manifest fits.

    Returns:
        the failed checks.
    """
    faulty = copy.copy(bundle)
    text = bundle.files[path].text
    edited = edit(text)
    assert edited != text, f"the fault changes nothing in {path}"
    faulty.files = {**bundle.files, path: bundle.files[path]._replace(text=edited)}
    faulty.write(folder)
    return [check for check in verify(folder, live=live) if not check.ok]


@pytest.fixture(scope="session")
def render_of(catalog: Catalog) -> Callable[..., Bundle]:
    """Render a design: ``render_of(worked, "slurm", slurm="22.05")``."""

    def make(cluster: Cluster, *targets: str, **versions: str) -> Bundle:
        return render(copy.deepcopy(cluster), catalog, targets, versions)

    return make
