"""The scheduling policy as Kueue keeps it: what is written is what is read, in GPUs that add up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.domains.scheduling import Flavor, Policy, Queue, amount, parts, read_policy, write_policy


@pytest.mark.parametrize(
    ("quantity", "number"),
    [("500m", Fraction(1, 2)), ("2Gi", 2**31), ("1e3", 1000), ("1k", 1000), (8, 8), ("0.5", 0.5), ("1Ki", 1024)],
)
def test_quantities_are_read_as_kubernetes_reads_them(quantity: object, number: Fraction) -> None:
    assert amount(quantity) == number


@pytest.mark.parametrize("text", ["", "8 Gi", "8GB", "GPU", "1.2.3", True, "0x10", None])
def test_what_is_no_quantity_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        amount(text)


def test_a_rest_goes_to_the_largest_remainders() -> None:
    # 10 over 1:2:4 -> 1.43, 2.86, 5.71 -> 1, 3, 6
    assert parts(7, {"a": 1, "b": 2, "c": 4}) == {"a": 1, "b": 2, "c": 4}
    assert parts(5, {"a": 2, "b": 4, "c": 8}) == {"a": 1, "b": 1, "c": 3}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 10**6), min_size=1),
    st.integers(0, 10**7),
)
def test_parts_add_up_and_none_is_above_its_size(sizes: dict[str, int], total: int) -> None:
    made = parts(total, sizes)
    assert sum(made.values()) == min(total, sum(sizes.values()))
    assert all(0 <= made[name] <= size for name, size in sizes.items())


names = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    kinds = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    tenants = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    queues = []
    for tenant in tenants:
        quota = {kind: draw(st.integers(0, 10**6)) for kind in kinds}
        limit = {kind: many + draw(st.integers(0, 10**6)) for kind, many in quota.items()}
        weight = draw(st.floats(0.001, 1e6).map(lambda x: round(x, 3)))
        queues.append(Queue(tenant, quota, limit, weight, draw(st.sampled_from(["low", "normal", "high"]))))
    shared = {kind: draw(st.integers(0, 100)) for kind in kinds} if draw(st.booleans()) else {}
    shared = shared if any(shared.values()) else {}
    flavors = []
    for kind in kinds:
        gpus = sum(queue.quota[kind] for queue in queues) + shared.get(kind, 0)
        cpu, memory = (draw(st.integers(1, 64)), draw(st.integers(1, 512))) if gpus else (0, 0)
        flavors.append(Flavor(kind, {"example.org/gpu": kind}, gpus, cpu, memory))
    levels = ("example.org/rack",)
    return Policy("all", "nvidia.com/gpu", tuple(flavors), tuple(queues), levels, shared, taints=("gpu",))


@given(policies())
def test_what_is_written_is_read_back(policy: Policy) -> None:
    assert read_policy(write_policy(policy)) == policy


def test_borrowing_is_the_limit_less_the_quota_and_cpu_goes_with_the_gpus() -> None:
    flavor = Flavor("h100", {"example.org/gpu": "h100"}, 512, 14, 200)
    queue = Queue("research", {"h100": 512}, {"h100": 800}, 2.0, "high")
    made = {one["kind"]: one for one in write_policy(Policy("all", "nvidia.com/gpu", (flavor,), (queue,)))}
    resources = made["ClusterQueue"]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert resources == [
        {"name": "nvidia.com/gpu", "nominalQuota": 512, "borrowingLimit": 288},
        {"name": "cpu", "nominalQuota": 7168},
        {"name": "memory", "nominalQuota": "102400Gi"},
    ]
    assert made["ClusterQueue"]["spec"]["fairSharing"] == {"weight": "2"}


def test_a_policy_of_two_cohorts_is_refused() -> None:
    flavor = Flavor("h100", {"example.org/gpu": "h100"}, 8, 1, 1)
    one = write_policy(Policy("a", "nvidia.com/gpu", (flavor,), (Queue("x", {"h100": 4}, {"h100": 4}, 1.0, "low"),)))
    two = write_policy(Policy("b", "nvidia.com/gpu", (flavor,), (Queue("y", {"h100": 4}, {"h100": 4}, 1.0, "low"),)))
    with pytest.raises(ValueError, match="too many values"):
        read_policy([*one, *two])
