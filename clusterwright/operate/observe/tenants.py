"""Tenants of a spec from accounts and QOS: shares, quotas, limits, priorities, people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.domains.scheduling import OWN
from clusterwright.findings import Finding
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Account, Dump
from clusterwright.operate.observe.nodes import plain
from clusterwright.operate.observe.people import gpus_in

__all__ = ["Tenant", "tenants_of"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_OPERATIONS = "operations"
"""Account and QOS of those who run a cluster that was rendered here."""
_RENDERED = {100: "low", 300: "normal", 900: "high"}
"""Priority of a QOS '-own' of a cluster that was rendered here."""


@dataclass(frozen=True)
class Tenant:
    """A tenant; ``quota`` and ``limit`` are None where nothing is said."""

    account: Account
    share: float
    quota: int | None
    limit: int | None
    priority: str
    users: tuple[str, ...]

    def to_dict(self, all_gpus: int) -> dict[str, Any]:
        """As a spec writes it."""
        made: dict[str, Any] = {
            "name": self.account.name,
            "share": int(self.share) if self.share.is_integer() else self.share,
        }
        if self.quota is not None:
            made["quota"] = self.quota
        if self.limit is not None and self.limit != all_gpus:
            made["limit"] = self.limit
        if self.priority != "normal":
            made["priority"] = self.priority
        if self.users:
            made["users"] = list(self.users)
        return made


def tenants_of(dump: Dump, all_gpus: int) -> tuple[list[Tenant], list[Finding]]:
    """Accounts just below root as tenants, and what is worth saying.

    Args:
        dump: with accounts and QOS, or without.
        all_gpus: of the cluster, spares left out.
    """
    said: list[Finding] = []
    if dump.accounts is None:
        hint = "sacctmgr -P show assoc; without accounting there is one tenant for everybody"
        said.append(FINDINGS["OBSERVE-UNKNOWN"].at("tenants", "no file tells of accounts", hint))
        return [], said
    cluster = dump.setting("ClusterName")
    ours = [one for one in dump.accounts if not cluster or one.cluster in ("", cluster)]
    top, users = _tops(ours, said)
    own = _Own(dump)
    made = [_tenant(one, users.get(one.name, ()), own, said) for one in top]
    made = _ranked(made, own, said)
    return _quotas(made, all_gpus, said), said


def _tops(accounts: Sequence[Account], said: list[Finding]) -> tuple[list[Account], dict[str, tuple[str, ...]]]:
    """Accounts below root that are no operators', and the people in and below each."""
    groups = {one.name: one for one in reversed([one for one in accounts if not one.user])}
    told = any(one.parent for one in groups.values())
    if not told and len(groups) > 1:
        place = next(iter(groups.values())).place
        text = "the file does not say which account is below which; all are taken to be below root"
        said.append(FINDINGS["OBSERVE-TENANT"].at(place, text, "clusterwright observe --how asks for ParentName"))

    def above(name: str) -> str:
        seen: set[str] = set()
        while name in groups and groups[name].parent not in ("", "root") and name not in seen:
            seen.add(name)
            name = groups[name].parent
        return name

    top, below = [], []
    for one in sorted(groups.values(), key=lambda a: (a.place.file, a.place.line, a.name)):
        if one.name == "root":
            continue
        if not _NAME.fullmatch(one.name):
            text = f"'{plain(one.name)}' is no name for a tenant"
            said.append(FINDINGS["OBSERVE-NAME"].at(one.place, text, "letters, digits, '-', '_' and '.'"))
        elif one.name == _OPERATIONS and one.default_qos == _OPERATIONS:
            text = f"account '{one.name}' is of those who run the cluster, and no tenant"
            said.append(FINDINGS["OBSERVE-TENANT"].at(one.place, text))
        elif one.parent in ("", "root"):
            top.append(one)
        else:
            below.append(one)
    for one in below:
        text = (
            f"account '{one.name}' is below '{plain(one.parent)}': its people count there, its share and limit are lost"
        )
        said.append(FINDINGS["OBSERVE-LEFT-OUT"].at(one.place, text, "a tenant has no tenants below it"))
    people: dict[str, dict[str, None]] = {}
    for one in accounts:
        if one.user and one.user != "root":
            if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", one.user):
                people.setdefault(above(one.name), {})[one.user] = None
            else:
                text = f"'{plain(one.user)}' is no login name"
                said.append(FINDINGS["OBSERVE-NAME"].at(one.place, text, "letters, digits, '-', '_' and '.'"))
    return top, {name: tuple(found) for name, found in people.items()}


def _tenant(one: Account, users: tuple[str, ...], own_of: _Own, said: list[Finding]) -> Tenant:
    share = 1.0
    if one.share.isdigit() and int(one.share) > 0:
        share = float(one.share)
    else:
        text = f"account '{one.name}' has share '{plain(one.share)}'; it becomes 1"
        said.append(FINDINGS["OBSERVE-TENANT"].at(one.place, text, "a tenant has a weight above 0"))
    own = own_of(one)
    quota = gpus_in(own[1].get("GrpTRES", "")) if own else -1
    if own and quota >= 0:
        text = f"quota of '{one.name}' is {quota} GPUs: GrpTRES of its QOS '{own[0]}'"
        said.append(FINDINGS["OBSERVE-TENANT"].at(own_of.qos[own[0]][1], text))
    return Tenant(one, share, quota if quota >= 0 else None, one.gpus if one.gpus > 0 else None, "normal", users)


class _Own:
    """The QOS that is an account's own: named after it, or its default and no other account's."""

    def __init__(self, dump: Dump) -> None:
        self.qos = dump.qos or {}
        self.used = Counter(name for one in dump.accounts or () if not one.user for name in set(one.qos))

    def __call__(self, one: Account) -> tuple[str, dict[str, str]] | None:
        """Its name and its words; None where there is none."""
        name = f"{one.name}{OWN}"
        if name not in self.qos or name not in one.qos:
            name = one.default_qos or (one.qos[0] if len(one.qos) == 1 else "")
            if name not in self.qos or self.used[name] - (name in one.qos):
                return None
        return name, self.qos[name][0]


def _ranked(tenants: list[Tenant], own_of: _Own, said: list[Finding]) -> list[Tenant]:
    """Priorities: which tenant's own QOS preempts which; equal where none preempts another."""
    own = {one.account.name: found for one in tenants if (found := own_of(one.account))}
    number = {name: int(words["Priority"]) for name, (_, words) in own.items() if words["Priority"].isdigit()}
    if len(own) == len(tenants) and all(
        qos == f"{name}{OWN}" and number.get(name) in _RENDERED for name, (qos, _) in own.items()
    ):
        return [replace(one, priority=_RENDERED[number[one.account.name]]) for one in tenants]
    names = {qos: name for name, (qos, _) in own.items()}
    below = {name: {names[q] for q in words["Preempt"].split(",") if q in names} for name, (_, words) in own.items()}
    rank: dict[str, int] = {}

    def level(name: str, seen: frozenset[str] = frozenset()) -> int:
        if name not in rank:
            under = [level(one, seen | {name}) for one in below.get(name, ()) if one not in seen]
            rank[name] = 1 + max(under, default=-1)
        return rank[name]

    levels = [level(one.account.name) for one in tenants]
    most = max(levels, default=0)
    words = {0: ("normal",), 1: ("low", "normal")}.get(most, ("low", "normal", "high"))
    if most > 2:
        text = f"QOS of tenants preempt each other in {most + 1} ranks; a spec has three, the upper ones become 'high'"
        said.append(FINDINGS["OBSERVE-LEFT-OUT"].at("tenants", text))
    if most == 0 and len(set(number.values())) > 1:
        text = "QOS of tenants differ in Priority and do not preempt each other: all become 'normal'"
        hint = "priority of a tenant in a spec preempts; set it when that is wanted"
        said.append(FINDINGS["OBSERVE-LEFT-OUT"].at("tenants", text, hint))
    elif most == 1:
        text = "two ranks of tenants preempt: they become 'low' and 'normal', which is as good as 'normal' and 'high'"
        said.append(FINDINGS["OBSERVE-TENANT"].at("tenants", text))
    return [replace(one, priority=words[min(at, len(words) - 1)]) for one, at in zip(tenants, levels, strict=True)]


def _quotas(tenants: list[Tenant], all_gpus: int, said: list[Finding]) -> list[Tenant]:
    """A limit is a quota, too, where the limits of all tenants fit into the cluster at once."""
    limits = [one.limit for one in tenants]
    fit = (
        bool(tenants) and all(limit is not None for limit in limits) and sum(map(int, filter(None, limits))) <= all_gpus
    )
    made = []
    for one in tenants:
        quota, limit = one.quota, one.limit
        if quota is None and fit:
            quota = limit
            text = f"quota of '{one.account.name}' is its limit, {limit} GPUs: the limits of all tenants fit at once"
            said.append(FINDINGS["OBSERVE-TENANT"].at(one.account.place, text))
        if limit is not None and limit > all_gpus:
            limit = all_gpus
        made.append(replace(one, quota=quota, limit=limit))
    made = _capped(list(_within(made, all_gpus, said)), all_gpus, said)
    for one in made:
        if one.quota is None:
            text = f"account '{one.account.name}' has no GPUs of its own; its quota stays 'auto', a part by its share"
            said.append(FINDINGS["OBSERVE-TENANT"].at(one.account.place, text, "--set tenants[..].quota=64"))
    return made


def _capped(tenants: list[Tenant], all_gpus: int, said: list[Finding]) -> list[Tenant]:
    """A part by share must not be above the limit: there the limit is the quota, and the others share the rest."""
    made = list(tenants)
    while True:
        open_ = [i for i, one in enumerate(made) if one.quota is None]
        left = all_gpus - sum(one.quota or 0 for one in made)
        shares = sum(made[i].share for i in open_)
        over = [i for i in open_ if (limit := made[i].limit) is not None and limit < left * made[i].share / shares]
        if not over:
            return made
        for i in over:
            one = made[i]
            text = f"quota of '{one.account.name}' is its limit, {one.limit} GPUs: its part by share would be more"
            said.append(FINDINGS["OBSERVE-TENANT"].at(one.account.place, text))
            made[i] = replace(one, quota=one.limit)


def _within(tenants: Sequence[Tenant], all_gpus: int, said: list[Finding]) -> Iterator[Tenant]:
    """Quotas that are more than there is cannot stand in a spec: they are overbooked, and become limits."""
    total = sum(one.quota or 0 for one in tenants)
    over = total > all_gpus
    if over:
        text = (
            f"quotas are {total:,} GPUs together, the cluster has {all_gpus:,}: they become limits, quotas stay 'auto'"
        )
        said.append(FINDINGS["OBSERVE-LEFT-OUT"].at("tenants", text, "quotas of a spec can all be used at once"))
    for one in tenants:
        if over and one.quota is not None:
            yield replace(one, quota=None, limit=min(one.quota, one.limit or one.quota, all_gpus) or None)
        elif one.quota is not None and one.limit is not None and one.limit < one.quota:
            text = f"'{one.account.name}' may hold {one.limit} GPUs, its QOS {one.quota}: the less counts"
            said.append(FINDINGS["OBSERVE-TENANT"].at(one.account.place, text))
            yield replace(one, quota=one.limit)
        else:
            yield one
