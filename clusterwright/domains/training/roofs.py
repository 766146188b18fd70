"""The roofline of the chosen plan: each matrix product by intensity and rate, for the picture in the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterwright.cluster import Frame
from clusterwright.domains.compute import matmul_bytes, matmul_flop, matmul_s
from clusterwright.domains.training.options import Job
from clusterwright.domains.training.plans import Machines
from clusterwright.domains.training.shape import Product

__all__ = ["roofline_of"]


def roofline_of(job: Job, frame: Frame, at: str, machines: Machines) -> dict[str, Any]:
    """Roofs of the accelerator and points of the products.

    Returns:
        ``peak_flops``, ``achievable_flops``, ``bandwidth_bytes_s``, ``ridge_flop_per_byte`` and ``points``, each with
        ``name``, ``flop_per_byte`` and ``flops``.
    """
    tp, ep = float(frame[f"{at}.tp"][0]), float(frame[f"{at}.ep"][0])
    tokens = float(frame[f"{at}.micro_batch"][0]) * job.sequence / float(frame[f"{at}.cp"][0])
    shape = job.shape
    head = Product(shape.hidden, shape.vocabulary, "columns")
    named = [("attention", shape.attention, tokens, tp), ("head", (head,), tokens, tp)]
    if shape.dense_layers:
        named.append(("feed-forward", shape.feed_forward, tokens, tp))
    if shape.moe_layers:
        cut = 1.0 if ep > 1 else tp
        rows = float(tokens * shape.active_experts * cut / tp / max(float(shape.experts) / ep, 1.0))
        named.append(("expert", shape.expert, rows, cut))
    points = [
        _point(f"{name} {i + 1}" if len(products) > 1 else name, product, rows, ranks, machines, job.physics.matmul)
        for name, products, rows, ranks in named
        for i, product in enumerate(products)
    ]
    achievable, bandwidth = float(machines.achievable_flops[0]), float(machines.memory_bandwidth_bytes_s[0])
    return {
        "peak_flops": float(machines.peak_flops[0]),
        "achievable_flops": achievable,
        "bandwidth_bytes_s": bandwidth,
        "ridge_flop_per_byte": achievable / bandwidth,
        "points": points,
    }


def _point(name: str, product: Product, rows: float, ranks: float, machines: Machines, share: float) -> dict[str, Any]:
    inner = product.inner / (ranks if product.cut == "inner" else 1.0)
    columns = product.columns / (ranks if product.cut == "columns" else 1.0)
    m, k, n, width = np.array(rows), np.array(inner), np.array(columns), machines.bytes_per_element[0]
    seconds = matmul_s(
        m,
        k,
        n,
        achievable_flops=machines.achievable_flops[0],
        bandwidth_bytes_s=machines.memory_bandwidth_bytes_s[0],
        bytes_per_element=width,
    )
    flop = matmul_flop(m, k, n)
    intensity = float(flop / matmul_bytes(m, k, n, width))
    return {"name": name, "flop_per_byte": intensity, "flops": float(flop / seconds) * share}
