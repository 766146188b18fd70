"""What the cost room takes from the catalogue and the spec."""

from __future__ import annotations

from clusterwright.catalog import Catalog, Fact
from clusterwright.cluster import Frame, Provenance, from_spec
from clusterwright.domains.cost import running
from clusterwright.spec import Spec

__all__ = ["CLOUD", "give_inputs"]

CLOUD = {"parallel": "fsx-lustre-250", "object": "s3-standard", "block": "ebs-gp3"}
"""What a tier is rented as beside rented GPUs, unless the design rents it already."""
_FAMILY = {"parallel": ("fsx-lustre-125", "fsx-lustre-1000")}
"""The slowest and the fastest class of the same service: the ends of its price."""
_PLANNING = {
    "accelerator_usd_per_tflops": "accelerator_price_per_tflops",
    "interest_rate": "discount_rate_fraction",
    "server_over_accelerators": "server_over_accelerators",
    "switch_usd_per_gbit": "switch_price_per_gbit",
    "flash_usd_per_tb": "flash_storage_usd_per_tb",
    "management_server_usd": "management_server_usd",
    "rack_usd": "rack_purchase_usd",
    "rear_door_usd": "rear_door_usd",
    "cdu_usd_per_w": "cdu_usd_per_w",
    "installation_work_s": "rack_installation_s",
    "building_premium_fraction": "ai_premium_fraction",
    "building_life_years": "building_life_years",
    "spare_parts_share": "spare_parts_fraction",
    "support_share": "maintenance_fraction",
    "insurance_share": "insurance_fraction",
    "facility_staff_per_mw": "staff_fte_per_mw",
    "platform_staff_of_one": "platform_staff_fte",
    "staff_exponent": "staff_scale_exponent",
    "staff_usd_per_year": "staff_usd_per_year",
    "residual_share": "residual_fraction_36_months",
    "egress_share": "egress_share_fraction",
    "egress_usd_per_gb": "egress_usd_per_gb",
}
"""Figure below ``cost.`` -> planning value of the catalogue."""


def give_inputs(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Put planning values, prices of regions and of the cloud, licences, years and staff."""
    for path, name in _PLANNING.items():
        frame.give_fact(f"cost.{path}", catalog.planning(name), f"catalogue: planning/{name}")
    asked = spec.given("finance.years")
    years = from_spec(str(spec.place("finance.years"))) if asked else Provenance("default", note="operating years")
    frame.give("cost.years", spec.finance.years, years)
    _give_regions(frame, spec, catalog)
    _give_cloud(frame, catalog)
    _give_licences(frame, catalog)
    _give_redundancy(frame, spec, catalog)
    _give_staff(frame, spec)


def _give_regions(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Building and colocation prices of each site's region; the facility room gives the price of energy."""
    for i, site in enumerate(spec.sites):
        region = catalog.get("region", site.region)
        for path, key in (("building_usd_per_w", "capex_usd_per_w"), ("colocation_usd_per_kw_month",) * 2):
            frame.give_fact(f"sites[{i}].{path}", region.fact(key), f"catalogue: region/{region.name} {key}")


def _give_cloud(frame: Frame, catalog: Catalog) -> None:
    for tier, name in CLOUD.items():
        fact = catalog.get("storage", name).fact("rent_usd_per_tb_month")
        ends = [catalog.get("storage", one)["rent_usd_per_tb_month"] for one in _FAMILY.get(tier, ())]
        origin = _origin(fact, f"catalogue: storage/{name} rent_usd_per_tb_month")
        low, high = min([fact.low, *ends]), max([fact.high, *ends])
        frame.give(f"cost.cloud_{tier}_usd_per_tb_month", fact.value, origin, low=low, high=high)


def _give_licences(frame: Frame, catalog: Catalog) -> None:
    """The licence that is counted, and the list price of the one that is not: a choice of the owner, not an error."""
    name = "software_licence_usd_per_year"
    fact, place = catalog.planning(name), f"catalogue: planning/{name}"
    low, high = (fact.low, fact.high) if fact.value > 0 else (None, None)
    frame.give("cost.licence_usd_per_year", fact.value, _origin(fact, place), low=low, high=high)
    frame.give("cost.licence_list_usd_per_year", fact.high, _origin(fact, place))


def _give_redundancy(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """What 2N costs over N+1."""
    if spec.reliability.redundancy == "2N":
        name = "capex_multiplier_2n"
        frame.give_fact("cost.building_redundancy", catalog.planning(name), f"catalogue: planning/{name}")
        return
    note = f"prices of buildings hold for N+1; {spec.reliability.redundancy} is asked"
    frame.give("cost.building_redundancy", 1.0, Provenance("default", note=note))


def _give_staff(frame: Frame, spec: Spec) -> None:
    """People who run the platform, and those who run the building; the spec's number stands for all of them."""
    if spec.finance.staff is not None:
        place = from_spec(str(spec.place("finance.staff")), "all people, whichever way the cluster is had")
        frame.give("cost.platform_staff_fte", spec.finance.staff, place)
        frame.give("cost.facility_staff_fte", 0.0, place)
        return
    frame.derive(
        "cost.platform_staff_fte",
        running.platform_staff,
        nodes="compute.nodes",
        of_one="cost.platform_staff_of_one",
        exponent="cost.staff_exponent",
    )
    frame.derive(
        "cost.facility_staff_fte",
        running.facility_staff,
        it_power_w="facility.it_power_w",
        per_mw="cost.facility_staff_per_mw",
        exponent="cost.staff_exponent",
    )


def _origin(fact: Fact, place: str) -> Provenance:
    source = f"{fact.source.title} ({fact.source.date})"
    return Provenance("catalog", place=place, source=source, status=fact.status, note=fact.note)
