"""A bill as rows of FOCUS 1.2, the FinOps Open Cost and Usage Specification, which FinOps tools read.

The site is the provider, the cluster the billing account, a team the sub-account. A row is what a team is charged on
one line of the bill for what it held, for idle capacity or for overhead; subsidies are rows of their own, credits.
BilledCost and EffectiveCost are after, ListCost and ContractedCost before subsidies: over all rows ListCost sums to
what the cluster costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from clusterwright.operate.account import Bill, Team
from clusterwright.operate.slurm import plain_text
from clusterwright.traces import SECOND_US

__all__ = ["COLUMNS", "focus_rows"]

COLUMNS = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency"),
    *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription"),
    *("ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "ConsumedQuantity", "ConsumedUnit"),
    *("ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingCategory", "PricingQuantity"),
    *("PricingUnit", "ProviderName", "PublisherName", "RegionId", "RegionName", "ServiceCategory", "ServiceName"),
    *("ServiceSubcategory", "SubAccountId", "SubAccountName", "SubAccountType", "Tags"),
)
"""All that the specification makes mandatory, and the others that a shared cluster can fill."""
_SERVICES: Mapping[str, tuple[str, str]] = {
    "compute": ("Compute", "Other (Compute)"),
    "network": ("Networking", "Other (Networking)"),
    "storage": ("Storage", "Other (Storage)"),
    "management": ("Management and Governance", "Other (Management and Governance)"),
}
_OTHER = ("Other", "Other (Other)")
_WORDS = {"held": "capacity used", "idle": "part of idle capacity", "overhead": "part of the operation's own jobs"}


def focus_rows(bill: Bill) -> Iterator[dict[str, Any]]:
    """Rows by :data:`COLUMNS`; an empty text is null."""
    for team in bill.teams:
        for line in bill.costs.lines:
            part = team.parts.get(line.name)
            if part is None:
                continue
            for kind, cents in (("held", part.direct), ("idle", part.idle), ("overhead", part.overhead)):
                if cents:
                    yield _usage(bill, team, line.name, line.layer, kind, cents)
        if team.subsidy_cents:
            yield _subsidy(bill, team)


def _row(bill: Bill, team: Team) -> dict[str, Any]:
    costs = bill.costs
    period = {"Start": _time(costs.begin_us), "End": _time(costs.end_us)}
    name = plain_text(team.name, 200) or "(no account)"
    made: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    made |= {
        "BillingAccountId": costs.cluster,
        "BillingAccountName": costs.cluster,
        "BillingAccountType": "Cluster",
        "BillingCurrency": costs.currency,
        "ChargeFrequency": "Recurring",
        "InvoiceIssuerName": costs.cluster,
        "ProviderName": costs.cluster,
        "PublisherName": costs.cluster,
        "RegionId": costs.region,
        "RegionName": costs.region,
        "SubAccountId": name,
        "SubAccountName": name,
        "SubAccountType": "Team",
    }
    made |= {f"BillingPeriod{key}": text for key, text in period.items()}
    return made | {f"ChargePeriod{key}": text for key, text in period.items()}


def _usage(bill: Bill, team: Team, line: str, layer: str, kind: str, cents: int) -> dict[str, Any]:
    hours = _quantity(team, kind, bill)
    category, below = _SERVICES.get(layer, _OTHER)
    amount = _money(cents)
    return _row(bill, team) | {
        "BilledCost": amount,
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{line}: {_WORDS[kind]}",
        "ConsumedQuantity": hours,
        "ConsumedUnit": "GPU-Hours",
        "ContractedCost": amount,
        "EffectiveCost": amount,
        "ListCost": amount,
        "PricingCategory": "Standard",
        "PricingQuantity": hours,
        "PricingUnit": "GPU-Hours",
        "ServiceCategory": category,
        "ServiceName": line,
        "ServiceSubcategory": below,
        "Tags": json.dumps({"basis": bill.basis, "idle_rule": bill.idle_rule, "layer": layer, "part": kind}),
    }


def _subsidy(bill: Bill, team: Team) -> dict[str, Any]:
    return _row(bill, team) | {
        "BilledCost": _money(-team.subsidy_cents),
        "ChargeCategory": "Credit",
        "ChargeDescription": "subsidy of the site",
        "ChargeFrequency": "One-Time",
        "ContractedCost": _money(0),
        "EffectiveCost": _money(-team.subsidy_cents),
        "ListCost": _money(0),
        "PricingCategory": "",
        "ServiceCategory": "Other",
        "ServiceName": "subsidy",
        "ServiceSubcategory": "Other (Other)",
        "Tags": json.dumps({"basis": bill.basis, "part": "subsidy"}),
    }


def _quantity(team: Team, kind: str, bill: Bill) -> str:
    """GPU-hours that the charge is for: held or used, for idle capacity those that stood idle for the team."""
    if kind == "held":
        hours = team.gpu_hours if bill.basis == "allocation" else team.used_gpu_hours or 0.0
    else:
        whole = bill.idle_cents if kind == "idle" else bill.overhead_cents
        part = team.idle_cents if kind == "idle" else team.overhead_cents
        rate = bill.costs.gpu_hour * 100
        hours = part / rate if whole and rate else 0.0
    return f"{hours:.6f}"


def _money(cents: int) -> str:
    sign, amount = ("-" if cents < 0 else ""), abs(cents)
    return f"{sign}{amount // 100}.{amount % 100:02d}"


def _time(us: int) -> str:
    return datetime.fromtimestamp(us // SECOND_US, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
