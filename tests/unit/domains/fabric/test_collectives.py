"""The laws of collectives against published nccl-tests runs and against limits that hold for any algorithm."""

import numpy as np
import pytest

from clusterwright.domains.fabric import all_gather_s, all_reduce_s, all_to_all_s, reduce_scatter_s, send_s

GIB = 2.0**30
H100 = {"scaleup_bandwidth_bytes_s": 450e9, "nic_bandwidth_bytes_s": 50e9, "latency_s": 5e-6}


def bus_bandwidth(payload, ranks, seconds):
    """As nccl-tests prints it for all-reduce: bytes / time x 2 (n - 1) / n."""
    return payload / float(seconds) * 2.0 * (ranks - 1) / ranks


@pytest.mark.parametrize(
    ("payload", "published_bytes_s"),
    [(2097152, 18.53e9), (4194304, 27.16e9), (8388608, 36.24e9), (16777216, 39.9e9), (33554432, 41.31e9)],
)
def test_all_reduce_between_two_h100_rises_with_size_as_published(payload, published_bytes_s):
    # github.com/NVIDIA/nccl-tests/issues/232
    made = bus_bandwidth(payload, 2, all_reduce_s(payload, 2, 1, **H100))
    assert made == pytest.approx(published_bytes_s, rel=0.09)


@pytest.mark.parametrize(
    ("bandwidth", "switch", "published_bytes_s"),
    [(450e9, 0, 365.6e9), (450e9, 1, 473.1e9), (900e9, 0, 682.2e9), (900e9, 1, 838.0e9)],
)
def test_all_reduce_in_one_server_meets_ring_and_nvls_of_h100_and_b200(bandwidth, switch, published_bytes_s):
    seconds = all_reduce_s(8 * GIB, 8, 8, bandwidth, 50e9, 5e-6, switch_reduction=switch)
    assert bus_bandwidth(8 * GIB, 8, seconds) == pytest.approx(published_bytes_s, rel=0.07)


def test_large_all_reduce_over_many_servers_runs_at_the_cards_rate():
    # 64 servers: 8 cards x 47 GB/s = 376 GB/s leave each; the ring inside reaches 353, the latency costs a little
    seconds = all_reduce_s(16 * GIB, 512, 8, **H100)
    assert 300e9 < bus_bandwidth(16 * GIB, 512, seconds) < 353.3e9


def test_all_reduce_is_reduce_scatter_and_all_gather():
    parts = all_gather_s(4 * GIB, 512, 8, **H100) + reduce_scatter_s(4 * GIB, 512, 8, **H100)
    assert float(all_reduce_s(4 * GIB, 512, 8, **H100)) == pytest.approx(float(parts), rel=0.01)


def test_one_rank_exchanges_nothing():
    for law in (all_reduce_s, all_gather_s, reduce_scatter_s, all_to_all_s):
        assert float(law(1e9, 1, 1, **H100)) == 0.0
    assert float(send_s(0.0, 50e9, 5e-6)) == 0.0


def test_small_messages_prefer_the_tree_over_many_servers():
    # 128 servers: a ring takes 254 steps of 5 us = 1.3 ms; a tree 14 steps
    assert float(all_reduce_s(1e4, 1024, 8, **H100)) < 0.5e-3


def test_groups_with_one_rank_a_server_use_one_card_each():
    # 8 ranks in 8 servers: 7/8 of 8 GiB over 47 GB/s = 0.160 s
    seconds = float(all_gather_s(8 * GIB, 8, 1, **H100))
    assert seconds == pytest.approx(7 / 8 * 8 * GIB / 47e9, rel=0.01)


def test_all_to_all_sends_the_outer_share_over_the_card():
    # 16 ranks in 2 servers: half of 1 GB leaves at 47 GB/s = 10.6 ms; 7/16 inside at 353 GB/s is hidden
    seconds = float(all_to_all_s(1e9, 16, 8, **H100))
    assert seconds == pytest.approx(0.5e9 / 47e9, rel=0.02)


def test_oversubscription_slows_only_what_leaves_the_domain():
    assert float(all_to_all_s(1e9, 16, 8, **H100, oversubscription=2.0)) == pytest.approx(1e9 / 47e9, rel=0.02)
    inside = all_reduce_s(1e9, 8, 8, **H100)
    assert float(all_reduce_s(1e9, 8, 8, **H100, oversubscription=2.0)) == float(inside)


def test_a_message_pays_latency_one_chunk_and_its_bytes():
    # 14.2 us start + 5 us + (16 MiB + 1 MiB) / 47 GB/s
    assert float(send_s(16 * 2.0**20, 50e9, 5e-6)) == pytest.approx(14.2e-6 + 5e-6 + 17 * 2.0**20 / 47e9)


def test_laws_broadcast_and_grow_with_size():
    sizes = np.logspace(3, 11, 60)
    times = all_reduce_s(sizes[:, None], np.array([8, 64, 1024])[None, :], 8, **H100)
    assert times.shape == (60, 3)
    assert (np.diff(times, axis=0) >= 0).all()
    assert (np.diff(times, axis=1) > 0).all()
