"""Quotas of tenants."""

from clusterwright.domains.scheduling.tenants import split
from clusterwright.spec import Tenant


def test_what_is_left_is_split_by_shares_and_every_gpu_is_given() -> None:
    """1,024 - 512 = 512 over shares 2 : 1; 341.3 and 170.7 are rounded to 341 and 171."""
    tenants = [Tenant(name="a", quota=512), Tenant(name="b", share=2.0), Tenant(name="c")]
    assert split(1024, tenants) == [512, 341, 171]


def test_a_quota_of_nothing_is_nothing_and_one_tenant_has_all() -> None:
    assert split(64, [Tenant(name="a", quota=0), Tenant(name="b")]) == [0, 64]
    assert split(64, [Tenant(name="a")]) == [64]
