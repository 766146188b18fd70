"""What is paid each year, by hand."""

import numpy as np
import pytest

from clusterwright.domains import cost
from clusterwright.domains.cost.running import annuity, capital
from tests.unit.domains.cost.bills import catalog, sized, spec_of

HOURS = 8766.0  # of 365.25 days


def yearly(frame: object, name: str) -> float:
    return float(frame[f"cost.lines.{name}_usd_per_year"][0])  # type: ignore[index]  # a Frame


def test_the_energy_bill() -> None:
    # 1.4 MW at the meter on average x 8,766 h x 0.09 $/kWh
    assert yearly(sized(), "energy") == pytest.approx(1400 * HOURS * 0.09)


def test_two_sites_pay_their_own_prices() -> None:
    spec = spec_of(site="{name: a, region: us-east}, {name: b, region: sweden}")
    second = {"it_power_w": 0.5e6, "average_power_w": 0.4e6, "energy_usd_per_kwh": 0.05}
    second |= {"cooling_kind": 0, "compute_racks": 8, "spare_racks": 0}
    frame = sized({f"sites[1].{name}": value for name, value in second.items()}, spec)
    assert yearly(frame, "energy") == pytest.approx(1400 * HOURS * 0.09 + 400 * HOURS * 0.05)
    prices = [catalog().get("region", r)["colocation_usd_per_kw_month"] for r in ("us-east", "sweden")]
    assert yearly(frame, "colocation") == pytest.approx((1500 * prices[0] + 500 * prices[1]) * 12)


def test_colocation_is_paid_by_the_kilowatt_of_it_power() -> None:
    # 1,500 kW x 184.06 $ x 12
    assert yearly(sized(), "colocation") == pytest.approx(1500 * 184.06 * 12)


def test_a_building_is_paid_over_its_life() -> None:
    frame = sized()
    # 8 % over 15 years: 0.08 / (1 - 1.08 ^ -15) = 0.11683 of the price a year
    assert yearly(frame, "building") == pytest.approx(float(frame["cost.building_usd"][0]) * 0.11683, rel=1e-4)


def test_without_interest_an_annuity_is_the_price_over_its_life_and_capital_costs_nothing() -> None:
    one = np.array([1.0])
    assert annuity(100 * one, 15 * one, 0 * one)[0] == pytest.approx(100 / 15)
    assert capital(100 * one, 30 * one, 4 * one, 0 * one)[0] == pytest.approx(0.0, abs=1e-6)


def test_the_cost_of_capital_by_hand() -> None:
    # 100 bought, 30 left after 4 years at 8 %: (100 - 30 / 1.3605) x 0.30192 - 70 / 4 = 23.534 - 17.5 = 6.034 a year
    one = np.array([1.0])
    assert capital(100 * one, 30 * one, 4 * one, 0.08 * one)[0] == pytest.approx(6.034, abs=2e-3)


def test_staff_grows_with_nodes_and_megawatts_but_less_than_in_proportion() -> None:
    # platform 0.1 x 128^0.7 = 2.99; building 3 x 1.5^0.7 = 3.98; each 200k
    frame = sized()
    assert frame["cost.platform_staff_fte"][0] == pytest.approx(2.99, abs=0.01)
    assert frame["cost.facility_staff_fte"][0] == pytest.approx(3.98, abs=0.01)
    assert yearly(frame, "platform_staff") == pytest.approx(0.1 * 128**0.7 * 200e3)
    large = sized({"compute.nodes": 12800})
    assert large["cost.platform_staff_fte"][0] < 100 * 2.99 / 3


def test_staff_that_the_spec_names_is_all_the_staff() -> None:
    frame = sized(spec=spec_of("finance: {staff: 5, years: 4}"))
    assert yearly(frame, "platform_staff") == pytest.approx(5 * 200e3)
    assert yearly(frame, "facility_staff") == 0


def test_support_and_insurance_follow_the_equipment_and_spares_the_servers() -> None:
    frame = sized()
    equipment = float(frame["cost.equipment_usd"][0])
    lines = ("servers", "switches", "cables", "storage", "management")
    assert equipment == pytest.approx(sum(float(frame[f"cost.lines.{line}_usd"][0]) for line in lines))
    assert yearly(frame, "support") == pytest.approx(0.05 * equipment)
    assert yearly(frame, "insurance") == pytest.approx(0.005 * equipment)
    assert yearly(frame, "spares") == pytest.approx(0.01 * 132 * 300e3)


def test_licences_are_said_but_not_counted() -> None:
    # list price 4,500 $ a GPU and year x 1,024
    frame = sized()
    assert yearly(frame, "licences") == 0
    assert frame.estimate("cost.lines.licences_usd_per_year").high == 0
    assert frame["cost.licences_not_counted_usd_per_year"][0] == pytest.approx(1024 * 4500)


def test_rented_gpus() -> None:
    assert yearly(sized(), "gpu_rent") == pytest.approx(1024 * HOURS * 3)
    assert yearly(sized(), "gpu_reserved") == pytest.approx(1024 * HOURS * 2)


def test_storage_that_is_rented_beside_owned_servers() -> None:
    # 50 TB of objects x 23 $ x 12
    assert yearly(sized(), "storage_rent") == pytest.approx(50 * 23 * 12)


def test_storage_in_the_cloud_is_usable_bytes_at_cloud_prices() -> None:
    # 600 TB x 210 $ + 50 TB x 23 $ + 130 TB x 80 $, 12 months
    frame = sized()
    assert yearly(frame, "cloud_storage") == pytest.approx((600 * 210 + 50 * 23 + 130 * 80) * 12)
    # a tier that the design rents at another price keeps that price
    other = sized({"storage.parallel.rent_usd_per_tb_month": 145})
    assert yearly(other, "cloud_storage") == pytest.approx((600 * 145 + 50 * 23 + 130 * 80) * 12)


def test_egress() -> None:
    # 50 TB in the object store, a tenth leaves in a year, 0.09 $/GB
    assert yearly(sized(), "egress") == pytest.approx(50e3 * 0.1 * 0.09)


@pytest.mark.parametrize("way", cost.PROCUREMENTS)
def test_the_yearly_cost_of_a_way_is_the_sum_of_its_lines(way: str) -> None:
    frame = sized()
    lines = sum(yearly(frame, line) for line in cost.OPEX[way])
    assert float(frame[f"cost.{way}_opex_usd_per_year"][0]) == pytest.approx(lines, rel=1e-12)


def test_each_way_pays_for_what_it_needs() -> None:
    assert "building" in cost.OPEX["buy"]
    assert "colocation" not in cost.OPEX["buy"]
    assert {"colocation", "energy"} <= set(cost.OPEX["colocate"])
    assert not {"building", "facility_staff"} & set(cost.OPEX["colocate"])
    assert not {"energy", "support", "building"} & set(cost.OPEX["rent"])
