"""Pass marks of the acceptance tests: what the design predicts, and the low end of each prediction."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, NamedTuple

from clusterwright.deploy.inventory import Group, Inventory
from clusterwright.deploy.text import load_yaml
from clusterwright.domains.fabric import all_reduce_s, all_to_all_s

__all__ = ["Mark", "marks"]

_SPREAD = 0.15
"""Spread of the laws of collectives; a healthy cluster is not below the low end."""
_MESSAGE = 8 * 1024.0**3
"""Message of the collective tests, bytes per rank: large enough that latency does not count."""
_SUSTAINED = 0.95
"""A healthy accelerator reaches this much of the best measured product; below it clocks or cooling are wrong."""
_HOPPER = 2022
"""Year from which switches inside a node can add (NVLink SHARP)."""


class Mark(NamedTuple):
    """One figure that an acceptance test must reach.

    Attributes:
        test: name, as the scripts report it.
        scope: what is tested at a time: gpu, node, pair, unit, cluster.
        unit: of the figures.
        predicted: by the design.
        mark: the worst figure that passes.
        better: ``higher`` or ``lower``.
        source: law or figure of the design that it comes from.
    """

    test: str
    scope: str
    unit: str
    predicted: float
    mark: float
    better: str
    source: str


def marks(inventory: Inventory) -> list[Mark]:
    """Every mark of a design; HPL only where results of such accelerators are published."""
    group = next(g for g in inventory.groups if g.role == "compute")
    return [*_node(inventory, group), *_network(inventory, group), *_storage(inventory), *_runs(inventory)]


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _higher(test: str, scope: str, unit: str, predicted: float, mark: float, source: str) -> Mark:
    return Mark(test, scope, unit, _round(predicted), _round(mark), "higher", source)


def _node(inventory: Inventory, group: Group) -> Iterator[Mark]:
    value = inventory.value
    product = value("training[0].product_flops") / 1e12
    yield _higher("gemm-bf16", "gpu", "TFLOP/s", product, product * _SUSTAINED, "training[0].product_flops")
    bandwidth = value("accelerator.memory_bandwidth_bytes_s") / 1e9
    counted = value("training[0].work.memory_bound_bytes_s") / 1e9
    yield _higher("memory-copy", "gpu", "GB/s", bandwidth, counted, "training[0].work.memory_bound_bytes_s")
    yield Mark("node-power", "node", "W", group.power_w, group.power_w, "lower", "server.power_w")
    published = load_yaml(files(__package__).joinpath("data", "hpl.yaml").read_text("utf-8")).get(group.gpu_type)
    if published:
        low, high = published["tflops"]
        source = f"published systems: {published['systems']}"
        yield _higher("hpl", "node", "TFLOP/s", group.gpus * high, group.gpus * low, source)


def _bus(inventory: Inventory, group: Group, nodes: int) -> float:
    """Bus bandwidth of an all-reduce over whole nodes, GB/s, as nccl-tests counts it."""
    value = inventory.value
    domain = value("accelerator.scaleup_domain")
    ranks = nodes * group.gpus
    adds = 1.0 if group.gpu_vendor == "NVIDIA" and value("accelerator.launch_year") >= _HOPPER else 0.0
    seconds = all_reduce_s(
        _MESSAGE,
        ranks,
        min(domain, ranks),
        value("accelerator.scaleup_bandwidth_bytes_s"),
        group.nics * group.nic_bytes_s / group.gpus,
        value("fabric.latency_s"),
        switch_reduction=adds,
    )
    return float(2 * (ranks - 1) / ranks * _MESSAGE / seconds / 1e9)


def _network(inventory: Inventory, group: Group) -> Iterator[Mark]:
    value = inventory.value
    law = "law fabric.all_reduce, 8 GiB"
    unit = max((len(u.hosts) for u in inventory.units), default=group.count)
    scopes = {"node": 1, "pair": 2, "unit": min(unit, group.count), "cluster": group.count}
    for scope, nodes in scopes.items():
        if nodes * group.gpus > 1 and (scope != "pair" or group.count > 1):
            rate = _bus(inventory, group, nodes)
            yield _higher(f"all-reduce-{scope}", scope, "GB/s", rate, rate / (1 + _SPREAD), law)
    link = group.nic_bytes_s * 8e-9
    if group.count > 1 and link:
        seconds = all_to_all_s(
            _MESSAGE,
            2 * group.gpus,
            min(2 * group.gpus, value("accelerator.scaleup_domain")),
            value("accelerator.scaleup_bandwidth_bytes_s"),
            group.nics * group.nic_bytes_s / group.gpus,
            value("fabric.latency_s"),
        )
        rate = float((2 * group.gpus - 1) / (2 * group.gpus) * _MESSAGE / seconds / 1e9)
        yield _higher("all-to-all-pair", "pair", "GB/s", rate, rate / 1.25, "law fabric.all_to_all, 8 GiB")
        share = inventory.cluster.total("fabric.rdma_efficiency")
        if not inventory.text("fabric.technology").startswith("efa"):  # verbs over EFA are not what NCCL uses
            low, said = link * share.low, "fabric.rdma_efficiency"
            yield _higher("rdma-write", "pair", "Gb/s", link * share.value, low, said)
        latency = value("fabric.latency_s") * 1e6
        yield Mark("rdma-latency", "pair", "us", _round(latency), _round(2 * latency), "lower", "fabric.latency_s")


def _storage(inventory: Inventory) -> Iterator[Mark]:
    for tier in inventory.tiers:
        if tier.kind != "parallel":
            continue
        for way, rate in (("read", tier.read_bytes_s), ("write", tier.write_bytes_s)):
            wanted = inventory.value(f"storage.parallel.wanted_{way}_bytes_s") / 1e9
            yield _higher(
                f"storage-{way}", "cluster", "GB/s", rate / 1e9, wanted, f"storage.parallel.wanted_{way}_bytes_s"
            )


def _runs(inventory: Inventory) -> Iterator[Mark]:
    for j, workload in enumerate(inventory.workloads):
        estimate = inventory.cluster.total(f"training[{j}].step_time_s")
        at = f"training[{j}]"
        yield Mark(
            f"step-{workload.name}",
            "cluster",
            "s",
            _round(estimate.value),
            _round(estimate.high),
            "lower",
            f"{at}.step_time_s",
        )
        write = inventory.cluster.total(f"{at}.checkpoint_write_s")
        yield Mark(
            f"checkpoint-{workload.name}",
            "cluster",
            "s",
            _round(write.value),
            _round(write.high),
            "lower",
            f"{at}.checkpoint_write_s",
        )


def as_data(found: list[Mark]) -> list[dict[str, Any]]:
    """The marks as plain data."""
    return [mark._asdict() for mark in found]
