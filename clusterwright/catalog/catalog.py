"""The catalogue: every kind of part, the shipped files first, a user's overlays over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from clusterwright.catalog.architecture import ModelArchitecture, from_dimensions
from clusterwright.catalog.checks import check_part, dimensions
from clusterwright.catalog.codes import CLASH, PartNotFound
from clusterwright.catalog.facts import Context, Fact, Source
from clusterwright.catalog.kinds import KINDS, Kind, kind_of
from clusterwright.catalog.overlay import Overlay, merge, read_overlay
from clusterwright.catalog.parts import Part, first_day
from clusterwright.catalog.reading import read_data
from clusterwright.catalog.suggest import close_names, plain
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.source import Document, Place

__all__ = ["Catalog", "StaleValue", "load_catalog"]


@dataclass(frozen=True)
class StaleValue:
    """A value older than it should be.

    Attributes:
        kind: of the part.
        part: its name.
        key: of the value; an offer to rent is ``rental.<offer>``.
        fact: the value.
        age_days: how old it is; None when it has no date.
    """

    kind: str
    part: str
    key: str
    fact: Fact
    age_days: int | None


def load_catalog(overlays: Sequence[Path] = ()) -> Catalog:
    """The catalogue with a user's overlays, later ones over earlier ones.

    Nothing of the shipped files is read until it is asked for.

    Raises:
        InputError: with everything that is wrong in the overlays, each finding with its place.
    """
    read = [read_overlay(Path(path)) for path in overlays]
    catalog = Catalog(read)
    findings = [finding for overlay in read for finding in overlay.findings]
    if not findings:
        findings = _check_all(catalog, read)
    if findings:
        raise InputError(findings)
    for overlay in read:
        _canonical(catalog, overlay)
    return catalog


class Catalog:
    """What can be had. Build it with :func:`load_catalog`."""

    def __init__(self, overlays: Sequence[Overlay] = ()) -> None:
        self._overlays = tuple(overlays)
        self._raw: dict[str, dict[str, Any]] = {}
        self._index: dict[str, dict[str, str]] = {}
        self._parts: dict[tuple[str, str], Part] = {}
        self._models: dict[str, ModelArchitecture] = {}

    # --- what there is ---

    def kinds(self) -> list[str]:
        """The kinds of parts."""
        return list(KINDS)

    def names(self, kind: str) -> list[str]:
        """The canonical names of a kind, in the order of the files."""
        return list(self._kind_raw(kind_of(kind)))

    def parts(self, kind: str) -> list[Part]:
        """All parts of a kind."""
        return [self._part(kind_of(kind), name) for name in self.names(kind)]

    def get(self, kind: str, name: str) -> Part:
        """A part by its name or an alias; case, spaces and signs do not matter.

        Raises:
            PartNotFound: with names that are close.
        """
        table = kind_of(kind)
        return self._part(table, self._resolve(table, name))

    def has(self, kind: str, name: str) -> bool:
        """Whether there is such a part."""
        table = kind_of(kind)
        return name in self._kind_raw(table) or plain(name) in self._names_index(table)

    def suggest(self, kind: str, name: str) -> list[str]:
        """Canonical names close to ``name``, best first."""
        table = kind_of(kind)
        index = self._names_index(table)
        spellings = [*self._kind_raw(table), *self._aliases(table)]
        close = [index[plain(s)] for s in close_names(name, spellings, most=12)]
        return list(dict.fromkeys(close))[:3]

    def model(self, name: str) -> ModelArchitecture:
        """A model's architecture by its name or an alias.

        Raises:
            PartNotFound: with names that are close.
        """
        table = KINDS["models"]
        canonical = self._resolve(table, name)
        if canonical not in self._models:
            raw = self._kind_raw(table)[canonical]
            self._models[canonical] = from_dimensions(dimensions(raw), canonical)
        return self._models[canonical]

    def planning(self, name: str) -> Fact:
        """A planning value; the ending of its name gives its unit.

        Raises:
            PartNotFound: with names that are close.
        """
        return self.get("planning", name).fact("value")

    def currency(self, code: str) -> Fact:
        """US dollars for one unit of a currency.

        Raises:
            PartNotFound: with codes that are close.
        """
        return self.get("currencies", code).fact("usd")

    def including(self, kind: str, name: str, raw: Mapping[str, Any]) -> Catalog:
        """The same catalogue with one more part, in the raw form that an overlay is read into."""
        one = Overlay(Path(name), Document(name), parts={kind_of(kind).name: {name: dict(raw)}})
        return Catalog([*self._overlays, one])

    @cached_property
    def currencies(self) -> Mapping[str, float]:
        """US dollars for one unit of each currency, as ``units.parse`` takes it."""
        return {part.name: part["usd"] for part in self.parts("currencies")}

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """Every source by its key."""
        found = {k: Source(k, **entry) for k, entry in read_data("sources").items()}
        for overlay in self._overlays:
            found |= overlay.sources
        return found

    # --- what is old ---

    def stale(
        self, kind: Literal["price", "any"] = "price", *, today: date, max_age_days: int = 180
    ) -> list[StaleValue]:
        """Values older than ``max_age_days``, oldest first; ``kind`` ``price`` looks at prices only.

        A date without a day counts from the first of its month. Architectures of models do not age.
        """
        found = []
        for table in KINDS.values():
            if table.name == "models":
                continue
            for part in self.parts(table.name):
                found += [v for v in _dated(table, part, kind, today) if _older(v, max_age_days)]
        return sorted(found, key=lambda v: (-(v.age_days or 10**6), v.kind, v.part, v.key))

    # --- inside ---

    def _context(self, table: Kind) -> Context:
        return Context(self.sources, {} if table.name == "currencies" else self.currencies)

    def raw(self, kind: str) -> Mapping[str, Any]:
        """The raw form of every part of a kind, overlays laid over it."""
        return self._kind_raw(kind_of(kind))

    def _kind_raw(self, table: Kind) -> dict[str, Any]:
        if table.name not in self._raw:
            raw = dict(read_data(table.name))
            for overlay in self._overlays:
                for name, over in overlay.parts.get(table.name, {}).items():
                    known = isinstance(over, dict) and name in raw and table.name != "planning"
                    raw[name] = merge(raw[name], over) if known else over
            self._raw[table.name] = raw
        return self._raw[table.name]

    def _aliases(self, table: Kind) -> dict[str, str]:
        raw = self._kind_raw(table)
        if table.name == "planning":
            return {}
        return {alias: name for name, part in raw.items() for alias in aliases_of(part)}

    def _names_index(self, table: Kind) -> dict[str, str]:
        if table.name not in self._index:
            index = {plain(alias): name for alias, name in self._aliases(table).items()}
            index |= {plain(name): name for name in self._kind_raw(table)}
            self._index[table.name] = index
        return self._index[table.name]

    def _resolve(self, table: Kind, name: str) -> str:
        if name in self._kind_raw(table):
            return name
        found = self._names_index(table).get(plain(name))
        if found is None:
            raise PartNotFound(table, name, self.suggest(table.name, name))
        return found

    def _part(self, table: Kind, name: str) -> Part:
        key = (table.name, name)
        if key not in self._parts:
            self._parts[key] = Part(table, name, raw_part(table, self._kind_raw(table)[name]), self._context(table))
        return self._parts[key]


def aliases_of(raw: Any) -> list[str]:
    """The aliases in the raw form of a part; none where it has not the right form."""
    aliases = raw.get("aliases") if isinstance(raw, dict) else None
    return [str(a) for a in aliases] if isinstance(aliases, list) else []


def raw_part(table: Kind, raw: Any) -> Any:
    """The raw form of a part; a planning value becomes the only field of one."""
    if table.name != "planning":
        return raw
    title = raw.get("title") if isinstance(raw, dict) else None
    return {"value": raw, "title": title}


def _dated(table: Kind, part: Part, wanted: str, today: date) -> list[StaleValue]:
    """The facts of a part that can be stale, with their ages."""
    facts: list[tuple[str, Fact]] = []
    for field in part.fields():
        is_price = field.price or (table.name == "planning" and "_usd" in part.name)
        if wanted == "price" and not is_price:
            continue
        if field.form == "group":
            facts += [(f"{field.path}.{name}", fact) for name, fact in part.group(field.key).items()]
        else:
            facts.append((field.key, part.fact(field.key)))
    return [StaleValue(table.name, part.name, key, fact, _age(fact, today)) for key, fact in facts]


def _age(fact: Fact, today: date) -> int | None:
    day = first_day(fact.date)
    return None if day is None else (today - day).days


def _older(value: StaleValue, days: int) -> bool:
    return value.age_days is None or value.age_days > days


def _check_all(catalog: Catalog, overlays: Sequence[Overlay]) -> list[Finding]:
    """Everything wrong in overlays whose YAML is good. Exchange rates first: prices are read with them."""
    findings = [f for overlay in overlays for f in _check(catalog, overlay, ["currencies"], {})]
    rates = Catalog().currencies if findings else catalog.currencies
    others = [kind for kind in KINDS if kind != "currencies"]
    return findings + [f for overlay in overlays for f in _check(catalog, overlay, others, rates)]


def _check(catalog: Catalog, overlay: Overlay, kinds: Sequence[str], rates: Mapping[str, float]) -> list[Finding]:
    """Everything wrong in the parts of some kinds."""
    findings: list[Finding] = []
    for kind_name, parts in ((k, overlay.parts[k]) for k in kinds if k in overlay.parts):
        table = KINDS[kind_name]
        shipped = read_data(kind_name)
        context = Context(catalog.sources, rates)
        for name, raw in parts.items():
            base = (kind_name, name)

            def where(path: tuple[str, ...], base: tuple[str, ...] = base) -> Any:
                inner = path[1:] if base[0] == "planning" and path[:1] == ("value",) else path
                is_value = bool(inner) and inner[-1] == "v"
                return overlay.value_place((*base, *inner)) if is_value else overlay.place((*base, *inner))

            findings += check_part(table, name, raw_part(table, raw), context, where, new=name not in shipped)
            findings += _check_names(catalog, table, name, raw, overlay)
    return sorted(findings, key=lambda f: (f.place.line, f.place.column) if isinstance(f.place, Place) else (0, 0))


def _check_names(catalog: Catalog, table: Kind, name: str, raw: Any, overlay: Overlay) -> list[Finding]:
    """Aliases that are taken, and names of other parts that are not there."""
    findings: list[Finding] = []
    if not isinstance(raw, dict) or table.name == "planning":
        return findings
    others = _spellings(catalog.raw(table.name), but=name)
    if owner := others.get(plain(name)):
        said = f"'{name}' is an alias of '{owner}'"
        findings.append(CLASH.at(overlay.place((table.name, name)), said, f"write '{owner}' to change that part"))
    for alias in aliases_of(raw):
        if owner := others.get(plain(alias)):
            place = overlay.place((table.name, name, "aliases"))
            findings.append(CLASH.at(place, f"the alias '{alias}' belongs to '{owner}'", "choose another"))
    for field in table.fields:
        if field.form == "part" and isinstance(entry := raw.get(field.path), dict):
            asked = str(entry.get("v"))
            if not catalog.has(field.refers, asked):
                place = overlay.value_place((table.name, name, field.path))
                suggestions = catalog.suggest(field.refers, asked)
                findings += PartNotFound(kind_of(field.refers), asked, suggestions, place).findings
    return findings


def _canonical(catalog: Catalog, overlay: Overlay) -> None:
    """Replace aliases of parts that an overlay's parts name, so that names can be compared as texts."""
    for kind, parts in overlay.parts.items():
        fields = [f for f in KINDS[kind].fields if f.form == "part"]
        for raw in parts.values():
            for entry, refers in ((raw.get(f.path), f.refers) for f in fields):
                if isinstance(entry, dict):
                    entry["v"] = catalog.get(refers, str(entry["v"])).name


def _spellings(parts: Mapping[str, Any], but: str) -> dict[str, str]:
    """Plain spellings of all names and aliases except those of one part."""
    found: dict[str, str] = {}
    for name, raw in parts.items():
        if name != but:
            found |= {plain(s): name for s in (name, *aliases_of(raw))}
    return found
