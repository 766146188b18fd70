"""``clusterwright catalog``: what can be had, where each value comes from, and what is stale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, open_catalog, output_options, overlay_option, print_table

if TYPE_CHECKING:
    from clusterwright.catalog import Catalog, Fact, Field, Kind, Part, Rental

__all__ = ["command"]

LIST_SCHEMA = "clusterwright/catalog-list/1"
PART_SCHEMA = "clusterwright/catalog-part/1"
COMPARE_SCHEMA = "clusterwright/catalog-compare/1"
STALE_SCHEMA = "clusterwright/catalog-stale/1"
STALE_DAYS = 180


@click.group()
def command() -> None:
    """List, show and compare what can be had, and say which prices are stale.

    Every value has a unit, a source, a date and a status: checked, derived, from memory or an estimate. A file of
    your own, given with --overlay, adds parts and replaces values.
    """


# --- list ---


@command.command("list")
@click.argument("kind", required=False)
@output_options()
@overlay_option
def list_parts(kind: str | None, output: str, overlays: tuple[Path, ...]) -> None:
    """List the parts of a KIND, or the kinds.

    A kind is accelerators, servers, models ...; without one the kinds themselves are listed.
    """
    from clusterwright.catalog import KINDS

    catalog = open_catalog(overlays)
    if kind is None:
        kinds = [{"kind": k.name, "parts": len(catalog.names(k.name)), "meaning": k.doc} for k in KINDS.values()]
        emit({"schema": LIST_SCHEMA, "kinds": kinds}, output, kinds)
        return
    table = _kind(kind)
    columns = [f for f in table.fields if f.form != "group" and (f.required or f.price or f.key == "launch_year")]
    parts = catalog.parts(table.name)
    rows = [{"name": p.name, "title": p.title, **{f.key: _plain(p, f) for f in columns}} for p in parts]
    if table.name == "planning":  # the only kind whose unit differs from part to part
        rows = [{**row, "unit": part.fact("value").unit} for row, part in zip(rows, parts, strict=True)]
    for_people = [{"name": p.name, **{_heading(f): _human(p, f) for f in columns}} for p in parts]
    document = {"schema": LIST_SCHEMA, "kind": table.name, "parts": rows}
    emit(document, output, rows, lambda: print_table(for_people))


def _kind(name: str) -> Kind:
    """A kind by its name or its singular; a usage error says which are close."""
    from clusterwright.catalog import KINDS

    by_name = {name: kind for kind in KINDS.values() for name in (kind.name, kind.singular)}
    found = by_name.get(name.lower())
    if found is None:
        close = get_close_matches(name.lower(), by_name, n=1, cutoff=0.5)
        suggestion = f" Did you mean '{by_name[close[0]].name}'?" if close else ""
        raise click.UsageError(f"No kind {name!r}, there are {', '.join(KINDS)}.{suggestion}")
    return found


def _heading(field: Field) -> str:
    """The key without its unit, which stands beside each value."""
    return field.path.replace(".", " ").replace("_", " ")


def _plain(part: Part, field: Field) -> Any:
    """A value for programs: SI float, text, or None where the part has none."""
    if field.key not in part:
        return None
    fact = part.fact(field.key)
    return fact.text if math.isnan(fact.value) else fact.value


def _human(part: Part, field: Field) -> str:
    """A value for people: three digits with unit, a text, or a dash."""
    return _said(field.key, part.fact(field.key)) if field.key in part else "-"


def _said(key: str, fact: Fact) -> str:
    return _value_text(_value(key, fact))


# --- show ---


@command.command("show")
@click.argument("name")
@click.option("--kind", metavar="KIND", help="Of which kind, where one name serves for several.")
@output_options()
@overlay_option
def show_part(name: str, kind: str | None, output: str, overlays: tuple[Path, ...]) -> None:
    """Show the values of a part with their sources.

    Each has a date and a status, notes where sources disagree, and what the others say. Rental offers follow.
    """
    part = _find(open_catalog(overlays), name, kind)
    values = _values(part)
    document: dict[str, Any] = {
        "schema": PART_SCHEMA,
        "kind": part.kind,
        "name": part.name,
        "title": part.title,
        "aliases": list(part.aliases),
        "note": part.note,
        "values": values,
        "rentals": [_rental(offer) for offer in part.rentals()],
    }
    if part.kind == "models":
        document["computed"] = _parameters(open_catalog(overlays), part.name)
    rows = [{**v, "source": v["source"]["title"], "others": len(v["others"])} for v in values]
    emit(document, output, rows, lambda: _print_part(part, document))


def _find(catalog: Catalog, name: str, kind: str | None) -> Part:
    """The one part of that name, in one kind or in all."""
    from clusterwright.catalog import FINDINGS, KINDS
    from clusterwright.errors import InputError

    kinds = [_kind(kind).name] if kind else list(KINDS)
    found = [catalog.get(k, name) for k in kinds if catalog.has(k, name)]
    if len(found) > 1:
        several = " or ".join(f"'--kind {part.kind}'" for part in found)
        raise click.UsageError(f"{name!r} is the name of several things; say {several}")
    if found:
        return found[0]
    close = list(dict.fromkeys(s for k in kinds for s in catalog.suggest(k, name)))
    hint = f"did you mean {' or '.join(repr(c) for c in close[:3])}?" if close else "see 'clusterwright catalog list'"
    raise InputError(FINDINGS["CATALOG-UNKNOWN-PART"].at("", f"the catalogue has nothing called '{name}'", hint))


def _values(part: Part) -> list[dict[str, Any]]:
    """Every fact of a part; the members of a group one by one, rentals apart."""
    values = []
    for field in part.fields():
        if field.key == "rental_usd_per_h":
            continue
        if field.form == "group":
            values += [_value(f"{field.key}.{name}", fact) for name, fact in part.group(field.key).items()]
        else:
            values.append(_value(field.key, part.fact(field.key)))
    return values


def _value(key: str, fact: Fact) -> dict[str, Any]:
    """A fact for programs; ``text`` is as written in the file."""
    number = not math.isnan(fact.value)
    return {
        "key": key,
        "value": fact.value if number else None,
        "low": fact.low if number else None,
        "high": fact.high if number else None,
        "unit": fact.unit,
        "text": fact.text,
        "status": fact.status,
        "date": fact.date,
        "source": {"title": fact.source.title, "url": fact.source.url, "tier": fact.source.tier},
        "note": fact.note,
        "others": [_value(key, other) for other in fact.others],
    }


def _rental(offer: Rental) -> dict[str, Any]:
    return {
        "name": offer.name,
        "provider": offer.provider,
        "kind": offer.kind,
        "usd_per_gpu_h": offer.usd_per_gpu_h,
        "low": offer.low,
        "high": offer.high,
        "date": offer.date,
        "status": offer.status,
        "source": offer.source.title,
        "note": offer.note,
    }


def _parameters(catalog: Catalog, name: str) -> dict[str, float]:
    """What follows from a model's dimensions."""
    model = catalog.model(name)
    return {"parameters": float(model.parameters), "active_parameters": float(model.active_parameters)}


def _print_part(part: Part, document: Mapping[str, Any]) -> None:
    """A part for people: values, offers to rent, then the notes and what other sources say."""
    click.echo(f"{part.title} ({part.kind}: {part.name})")
    if part.aliases:
        click.echo(f"also called {', '.join(part.aliases)}")
    if part.note:
        click.echo(part.note)
    print_table(
        [
            {"field": v["key"], "value": _value_text(v), "status": v["status"], "date": v["date"], "source": _short(v)}
            for v in document["values"]
        ]
    )
    for key, value in document.get("computed", {}).items():
        click.echo(f"computed from the dimensions: {key.replace('_', ' ')} {value:,.0f}")
    if document["rentals"]:
        click.echo("")
        keys = ("provider", "kind", "usd_per_gpu_h", "date", "status", "source")
        print_table([{key: _cell(offer[key]) for key in keys} for offer in document["rentals"]], "offers to rent")
    for value in document["values"]:
        if value["note"]:
            click.echo(f"{value['key']}: {value['note']}")
        for other in value["others"]:
            click.echo(f"{value['key']}: {_short(other)} says {_value_text(other)}" + _because(other["note"]))


def _value_text(value: Mapping[str, Any]) -> str:
    from clusterwright.units import human_as

    if value["value"] is None:
        return str(value["text"])
    if value["key"].endswith("_year") and value["unit"] == "1":
        return f"{value['value']:g}"
    said = human_as(value["value"], value["unit"])
    if value["low"] < value["high"]:
        said += f" ({human_as(value['low'], value['unit'])} to {human_as(value['high'], value['unit'])})"
    return said


def _short(value: Mapping[str, Any]) -> str:
    return str(value["source"]["title"])


def _because(note: str) -> str:
    return f": {note}" if note else ""


def _cell(value: Any) -> str:
    return f"${value:.2f}" if isinstance(value, float) else str(value)


# --- compare ---


@command.command("compare")
@click.argument("names", nargs=-1, required=True, metavar="NAME NAME...")
@click.option("--kind", metavar="KIND", help="Of which kind, where one name serves for several.")
@output_options()
@overlay_option
def compare_parts(names: Sequence[str], kind: str | None, output: str, overlays: tuple[Path, ...]) -> None:
    """Lay parts of one kind side by side, field by field."""
    catalog = open_catalog(overlays)
    parts = [_find(catalog, name, kind) for name in names]
    if len(parts) < 2:
        raise click.UsageError("Name at least two parts.")
    if len({part.kind for part in parts}) > 1:
        said = ", ".join(f"{part.name} ({part.kind})" for part in parts)
        raise click.UsageError(f"These are not of one kind: {said}.")
    keys = [f for f in _kind(parts[0].kind).fields if f.form != "group" and any(f.key in p for p in parts)]
    rows = [{"field": f.key, "unit": f.suffix.unit, **{p.name: _plain(p, f) for p in parts}} for f in keys]
    for_people = [{"field": _heading(f), **{p.name: _human(p, f) for p in parts}} for f in keys]
    document = {"schema": COMPARE_SCHEMA, "kind": parts[0].kind, "parts": [p.name for p in parts], "fields": rows}
    emit(document, output, rows, lambda: print_table(for_people))


# --- stale ---


@command.command("stale")
@click.option("--days", type=click.IntRange(min=1), default=STALE_DAYS, show_default=True, help="Older than this.")
@click.option("--all", "everything", is_flag=True, help="All values, not only prices.")
@output_options()
@overlay_option
def stale_values(days: int, everything: bool, output: str, overlays: tuple[Path, ...]) -> None:
    """Say which prices are old, the oldest first.

    A price without a date counts as old. Give your own with --overlay.
    """
    today = datetime.now(UTC).date()
    found = open_catalog(overlays).stale("any" if everything else "price", today=today, max_age_days=days)
    rows = [
        {
            "kind": v.kind,
            "name": v.part,
            "field": v.key,
            "value": None if math.isnan(v.fact.value) else v.fact.value,
            "unit": v.fact.unit,
            "date": v.fact.date,
            "age_days": v.age_days,
            "source": v.fact.source.title,
        }
        for v in found
    ]
    for_people = [
        {
            "kind": v.kind,
            "name": v.part,
            "field": v.key,
            "value": _said(v.key, v.fact),
            "date": v.fact.date or "none",
            "age": "unknown" if v.age_days is None else f"{v.age_days} d",
        }
        for v in found
    ]

    def show() -> None:
        if found:
            print_table(for_people)
        else:
            click.echo(f"nothing is older than {days} days")

    document = {"schema": STALE_SCHEMA, "today": today.isoformat(), "older_than_days": days, "stale": rows}
    emit(document, output, rows, show)
