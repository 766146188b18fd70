"""Parts: one thing that can be had, its facts read lazily by the keys of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar, overload

from clusterwright.catalog.facts import Context, Fact, Source, make_fact, make_text
from clusterwright.catalog.kinds import Field, Kind, suffix_of
from clusterwright.units import UnitError

__all__ = ["Part", "Rental", "first_day", "lookup", "part_context"]

T = TypeVar("T")


@dataclass(frozen=True)
class Rental:
    """One offer to rent.

    Attributes:
        name: of the offer in the catalogue.
        provider: who offers it.
        kind: ``on-demand``, ``reserved`` (a contract of a year or more), ``block`` (days or weeks, booked ahead),
            ``spot`` or ``index`` (an average of many offers).
        usd_per_gpu_h: price of one accelerator for an hour, also where an instance of many is offered.
        low: lower end where a range is published.
        high: upper end where a range is published.
        date: when it was so.
        source: where it comes from.
        status: checked, memory, derived or estimate.
        note: what one should know.
    """

    name: str
    provider: str
    kind: str
    usd_per_gpu_h: float
    low: float
    high: float
    date: str
    source: Source
    status: str
    note: str = ""


class Part:
    """One part of the catalogue, or one planning value, model, region.

    Values are read by Python keys whose ending names the unit: ``part["memory_bytes"]``.
    """

    def __init__(self, kind: Kind, name: str, raw: Mapping[str, Any], context: Context) -> None:
        self.kind = kind.name
        self.name = name
        self.title = str(raw.get("title") or name)
        self.aliases: tuple[str, ...] = tuple(raw.get("aliases") or ())
        self.note = str(raw.get("note") or "")
        self.raw = raw
        self._table = kind
        self._context = part_context(raw, context)
        self._facts: dict[str, Fact] = {}

    def __repr__(self) -> str:
        return f"<{self._table.singular} {self.name}>"

    def __getitem__(self, key: str) -> float:
        """The value of a quantity.

        Raises:
            KeyError: when the part has no such value, or it is a text; names part and key.
        """
        field = self._field(key)
        if field.form != "quantity":
            raise KeyError(f"{self._table.singular} '{self.name}': '{key}' is a {field.form}, not a number")
        return self.fact(key).value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._table.by_key and lookup(self.raw, self._field(key)) is not None

    @overload
    def get(self, key: str) -> float | None: ...
    @overload
    def get(self, key: str, default: T) -> float | T: ...
    def get(self, key: str, default: Any = None) -> Any:
        """The value of a quantity, or ``default`` when the part does not have it."""
        return self[key] if key in self else default  # noqa: SIM401 - that would be this very method

    def fact(self, key: str) -> Fact:
        """The fact behind a value or a text.

        Raises:
            KeyError: when the part does not have it; names part and key.
        """
        found = self._facts.get(key)
        if found is None:
            field = self._field(key)
            raw = lookup(self.raw, field)
            if raw is None:
                raise KeyError(f"{self._table.singular} '{self.name}' has no '{key}'")
            if field.form == "group":
                raise KeyError(f"{self._table.singular} '{self.name}': '{key}' is a group; use group('{key}')")
            found = self._facts[key] = self._make(raw, field)
        return found

    def text(self, key: str) -> str:
        """A value as written.

        Raises:
            KeyError: when the part does not have it.
        """
        return self.fact(key).text

    def group(self, key: str) -> dict[str, Fact]:
        """The facts of a group field by their free names, such as ``causes``; empty when the part has none."""
        field = self._field(key)
        raw = lookup(self.raw, field) or {}
        return {name: self._make(value, field) for name, value in raw.items()}

    def keys(self) -> list[str]:
        """The keys that this part has, in the order of its kind."""
        return [f.key for f in self._table.fields if lookup(self.raw, f) is not None]

    def fields(self) -> list[Field]:
        """The fields that this part has."""
        return [f for f in self._table.fields if lookup(self.raw, f) is not None]

    def rentals(self) -> list[Rental]:
        """The rental offers, per accelerator, cheapest first."""
        if "rental_usd_per_h" not in self._table.by_key:
            return []
        raw = lookup(self.raw, self._field("rental_usd_per_h")) or {}
        gpus = self.get("gpus", 1.0) if "gpus" in self._table.by_key else 1.0
        offers = []
        for name, fact in self.group("rental_usd_per_h").items():
            entry = raw[name]
            value, low, high = (x / gpus for x in (fact.value, fact.low, fact.high))
            provider, kind = entry.get("provider", ""), entry.get("kind", "on-demand")
            rental = Rental(name, provider, kind, value, low, high, fact.date, fact.source, fact.status, fact.note)
            offers.append(rental)
        return sorted(offers, key=lambda r: (r.usd_per_gpu_h, r.name))

    def _field(self, key: str) -> Field:
        field = self._table.by_key.get(key)
        if field is None:
            raise KeyError(f"{self._table.singular} '{self.name}': no field '{key}' in kind '{self.kind}'")
        return field

    def _make(self, raw: Any, field: Field) -> Fact:
        try:
            if field.form in ("text", "part"):
                return make_text(raw, self._context)
            suffix = suffix_of(self.name) if self.kind == "planning" else field.suffix
            return make_fact(raw, suffix, self._context, price=field.price)
        except UnitError as error:
            raise UnitError(f"{self.kind}.{self.name}.{field.path}: {error.message}", error.hint) from error


def part_context(raw: Mapping[str, Any], context: Context) -> Context:
    """What the values of a part inherit: its own source, status and date before those around it."""
    source, status = raw.get("source") or context.source, raw.get("status") or context.status
    date_text = str(raw.get("date") or context.date)
    return Context(context.sources, context.currencies, str(source), str(status), date_text)


def lookup(raw: Mapping[str, Any], field: Field) -> Any:
    """What stands at the path of a field; None when nothing does."""
    outer, _, inner = field.path.partition(".")
    found = raw.get(outer)
    if inner:
        return found.get(inner) if isinstance(found, dict) else None
    return found


def first_day(text: str) -> date | None:
    """The first day of an ISO date that may lack day or month; None when there is no date in it."""
    pieces = text.split("-")
    if not all(p.isdigit() for p in pieces) or len(pieces) > 3:
        return None
    numbers = [int(p) for p in pieces] + [1, 1]
    try:
        return date(numbers[0], numbers[1], numbers[2])
    except ValueError:
        return None
