"""Prices of parts: those of the catalogue, and estimates by class where it has none, so that nothing costs zero."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["accelerator_alone", "accelerator_price", "block_price", "priced", "server_price", "switch_price"]

_TERA = 1e12
_GBIT_BYTES = 1e9 / 8
_FROM_ZERO = (0.0, float("inf"))


@law(
    "cost.accelerator_price",
    formula="price of the catalogue, else dense BF16 peak x price of a TFLOP/s",
    unit="USD",
    source="catalogue; catalogue: planning/accelerator_price_per_tflops",
    bounds=_FROM_ZERO,
)
def accelerator_price(price_usd: Floats, peak_bf16_flops: Floats, usd_per_tflops: Floats) -> Floats:
    """Price of one accelerator, shape (n,); 0 stands for a price that the catalogue does not have."""
    return np.where(price_usd > 0, price_usd, peak_bf16_flops / _TERA * usd_per_tflops)


@law(
    "cost.accelerator_alone",
    formula="price of the server / its GPUs / server price over that of its accelerators",
    unit="USD",
    source="arithmetic; published prices per accelerator are mostly server prices divided by the accelerators",
    bounds=(0.0, float("inf")),
)
def accelerator_alone(server_usd: Floats, gpus: Floats, over: Floats) -> Floats:
    """Price of one accelerator without its share of the server, shape (n,)."""
    return server_usd / gpus / over


@law(
    "cost.server_price",
    formula="price of the catalogue, else GPUs x price of the accelerator x what a server costs over them",
    unit="USD",
    source="catalogue; catalogue: planning/server_over_accelerators",
    bounds=_FROM_ZERO,
)
def server_price(price_usd: Floats, accelerator_usd: Floats, gpus: Floats, over: Floats) -> Floats:
    """Price of one node with its network cards, shape (n,); of a rack-scale system its share of the rack."""
    return np.where(price_usd > 0, price_usd, gpus * accelerator_usd * over)


@law(
    "cost.switch_price",
    formula="price of the catalogue, else ports x rate of a port x price of a Gb/s",
    unit="USD",
    source="catalogue; catalogue: planning/switch_price_per_gbit_s",
    bounds=_FROM_ZERO,
)
def switch_price(price_usd: Floats, radix: Floats, link_bytes_s: Floats, usd_per_gbit_s: Floats) -> Floats:
    """Price of one switch of the compute fabric, shape (n,)."""
    return np.where(price_usd > 0, price_usd, radix * link_bytes_s / _GBIT_BYTES * usd_per_gbit_s)


@law(
    "cost.block_price",
    formula="price of the catalogue; 0 where the system is rented; else raw capacity x price of a terabyte",
    unit="USD",
    source="catalogue; catalogue: planning/flash_storage_usd_per_tb",
    bounds=_FROM_ZERO,
)
def block_price(price_usd: Floats, rent_usd_per_tb_month: Floats, block_bytes: Floats, usd_per_tb: Floats) -> Floats:
    """Price of one building block of a storage tier, shape (n,)."""
    estimated = np.where(rent_usd_per_tb_month > 0, 0.0, block_bytes / _TERA * usd_per_tb)
    return np.where(price_usd > 0, price_usd, estimated)


@law(
    "cost.priced",
    formula="1 when the catalogue has prices of server, switch and every storage system, else 0",
    unit="1",
    source="the catalogue's prices; a rented system's price is its rent",
    count=True,
)
def priced(part_usd: list[Floats], systems: list[Floats], block_usd: list[Floats], rent_usd: list[Floats]) -> Floats:
    """Whether every price that the purchase stands on is in the catalogue, shape (n,); else some are estimates.

    Args:
        part_usd: prices of what is always bought, as the catalogue has them.
        systems: building blocks of each storage tier.
        block_usd: price of such a block, as the catalogue has it.
        rent_usd: rent of the tier.
    """
    known = np.all([price > 0 for price in part_usd], axis=0)
    for count, price, rent in zip(systems, block_usd, rent_usd, strict=True):
        known = known & ((count == 0) | (price > 0) | (rent > 0))
    return np.asarray(known, dtype=np.float64)
