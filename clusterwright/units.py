"""Quantities: text with units at the rim, bare SI floats inside.

Inside the package a quantity is a ``float`` in SI units and its name ends in the unit
(``power_w``, ``bandwidth_bytes_s``). People write ``"400 Gb/s"``, ``"14 d"``, ``"$0.08/kWh"``.
:func:`parse` and :func:`parse_range` turn text into floats, :func:`human` turns floats into text.

Dimensions and their SI unit (the key of :data:`DIMENSIONS` is what callers name):

=============== ========== ==========================================================
dimension       SI unit    written as
=============== ========== ==========================================================
bytes           byte       ``80 GB``, ``12 TiB``
bandwidth       byte/s     ``400 Gb/s`` (bits), ``3.35 TB/s`` (bytes)
flops           FLOP/s     ``989 TFLOPS``
power           watt       ``10.2 kW``
energy          joule      ``12 MWh``
time            second     ``14 d``, ``90 min``
money           USD        ``60M USD``, ``$1.2B``
energy_price    USD/J      ``$0.08/kWh``
gpu_hour_price  USD/s      ``2.35 USD/h``
power_price     USD/W      ``11.6 USD/W``
power_rent      USD/(W s)  ``184 USD/kW/month``
capacity_rent   USD/(B s)  ``23 USD/TB/month``
byte_price      USD/byte   ``0.09 USD/GB``
length_price    USD/m      ``55 USD/m``
area            m2         ``500 m2``
mass            kg         ``1360 kg``
length          m          ``30 m``
fraction        1          ``99.9 %``
carbon          kg/J       ``369 g/kWh``
water           m3/J       ``1.8 L/kWh``
airflow         m3/s       ``1105 CFM``
rate            1/s        ``6.5 per 1000 node-days``
iops            1/s        ``3M IOPS``
count           1          ``64``
=============== ========== ==========================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches

__all__ = [
    "CODED",
    "COOLINGS",
    "CURRENCY_SYMBOLS",
    "DIMENSIONS",
    "RECOMPUTED",
    "Dimension",
    "UnitError",
    "human",
    "human_as",
    "money_in",
    "parse",
    "parse_range",
    "unit_of",
]

YEAR_S = 365.25 * 86400.0
MONTH_S = YEAR_S / 12.0
HOUR_S = 3600.0
DAY_S = 86400.0
JOULE_PER_KWH = 3.6e6


class UnitError(ValueError):
    """A text is not a quantity of the wanted dimension.

    Attributes:
        message: what is wrong, one sentence without a full stop.
        hint: how to write it right.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Dimension:
    """One physical dimension: its SI unit, the units people write, and the range that is not absurd."""

    name: str
    si: str
    units: Mapping[str, float]
    example: str
    most: float
    signed: bool = False


def _prefixed(unit: str, prefixes: str, base: float = 1.0) -> dict[str, float]:
    scale = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
    return {f"{p}{unit}": scale[p] * base for p in ["", *prefixes]}


_BYTES = {
    **_prefixed("B", "kMGTPE"),
    **{f"{p}iB": 1024.0**i for i, p in enumerate("KMGTPE", 1)},
    "bytes": 1.0,
}
_BITS_S = _prefixed("b/s", "kMGTP", 1 / 8)
_BYTES_S = {f"{u}/s": f for u, f in _BYTES.items() if u != "bytes"}
_FLOPS = {**_prefixed("FLOPS", "kMGTPEZ"), **_prefixed("FLOP/s", "kMGTPEZ")}
_POWER = _prefixed("W", "kMG")
_ENERGY = {**_prefixed("J", "kMGTP"), **_prefixed("Wh", "kMGT", HOUR_S)}
_TIME = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": HOUR_S,
    "d": DAY_S,
    "days": DAY_S,
    "day": DAY_S,
    "week": 7 * DAY_S,
    "weeks": 7 * DAY_S,
    "month": MONTH_S,
    "months": MONTH_S,
    "year": YEAR_S,
    "years": YEAR_S,
}


def _money_per(units: Mapping[str, float]) -> dict[str, float]:
    """USD divided by each unit."""
    return {f"USD/{u}": 1.0 / f for u, f in units.items()}


_PERIODS = {"s": 1.0, "h": HOUR_S, "d": DAY_S, "month": MONTH_S, "year": YEAR_S}
_ENERGY_H = {"kWh": JOULE_PER_KWH, "MWh": 1e3 * JOULE_PER_KWH, "J": 1.0}
_CARBON = {"g/kWh": 1e-3 / JOULE_PER_KWH, "kg/kWh": 1 / JOULE_PER_KWH, "kg/MWh": 1e-3 / JOULE_PER_KWH}
_CARBON |= {"lb/MWh": 0.45359237e-3 / JOULE_PER_KWH, "kg/J": 1.0, "t/MWh": 1 / JOULE_PER_KWH}

_ALL = [
    Dimension("bytes", "byte", _BYTES, "80 GB", 1e21),
    Dimension("bandwidth", "byte/s", {**_BYTES_S, **_BITS_S}, "400 Gb/s", 1e18),
    Dimension("flops", "FLOP/s", _FLOPS, "989 TFLOPS", 1e24),
    Dimension("power", "W", _POWER, "10.2 kW", 1e11),
    Dimension("energy", "J", _ENERGY, "500 MWh", 1e20),
    Dimension("time", "s", _TIME, "14 d", 100 * YEAR_S),
    Dimension("money", "USD", {"USD": 1.0}, "60M USD", 1e13),
    Dimension("energy_price", "USD/J", _money_per(_ENERGY_H), "$0.08/kWh", 10 / JOULE_PER_KWH),
    Dimension("gpu_hour_price", "USD/s", {**_money_per(_PERIODS), "USD/GPU-h": 1 / HOUR_S}, "2.35 USD/h", 1e6 / HOUR_S),
    Dimension("power_price", "USD/W", _money_per(_POWER), "11.6 USD/W", 1e4),
    Dimension(
        "power_rent",
        "USD/(W s)",
        {f"USD/{p}/{t}": 1 / (fp * ft) for p, fp in _POWER.items() for t, ft in _PERIODS.items()},
        "184 USD/kW/month",
        1.0,
    ),
    Dimension(
        "capacity_rent",
        "USD/(B s)",
        {f"USD/{b}/{t}": 1 / (fb * ft) for b, fb in _BYTES.items() for t, ft in _PERIODS.items()},
        "23 USD/TB/month",
        1.0,
    ),
    Dimension("byte_price", "USD/byte", _money_per(_BYTES), "0.09 USD/GB", 1.0),
    Dimension("length_price", "USD/m", {"USD/m": 1.0}, "55 USD/m", 1e6),
    Dimension("area", "m2", {"m2": 1.0, "m²": 1.0, "ft2": 0.09290304, "sqft": 0.09290304}, "500 m2", 1e8),
    Dimension("mass", "kg", {"kg": 1.0, "t": 1e3, "lb": 0.45359237, "g": 1e-3}, "1360 kg", 1e9),
    Dimension("length", "m", {"m": 1.0, "km": 1e3, "cm": 1e-2, "mm": 1e-3, "ft": 0.3048}, "30 m", 1e8),
    Dimension("fraction", "1", {"%": 1e-2, "": 1.0}, "99.9 %", 1.0),
    Dimension("carbon", "kg/J", _CARBON, "369 g/kWh", 5 / JOULE_PER_KWH),
    Dimension("water", "m3/J", {"L/kWh": 1e-3 / JOULE_PER_KWH, "m3/J": 1.0}, "1.8 L/kWh", 1.0),
    Dimension("airflow", "m3/s", {"m3/s": 1.0, "CFM": 0.3048**3 / 60.0, "m3/h": 1 / 3600.0}, "1105 CFM", 1e6),
    Dimension(
        "rate",
        "1/s",
        {"per 1000 node-days": 1e-3 / DAY_S, "/s": 1.0, "/h": 1 / HOUR_S, "/d": 1 / DAY_S, "/year": 1 / YEAR_S},
        "6.5 per 1000 node-days",
        1e3,
    ),
    Dimension("iops", "1/s", {"IOPS": 1.0}, "3M IOPS", 1e15),
    Dimension("count", "1", {"": 1.0}, "64", 1e15),
]
DIMENSIONS: dict[str, Dimension] = {d.name: d for d in _ALL}
"""Every dimension by name."""

CURRENCY_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "₹": "INR", "¥": "JPY"}
_MAGNITUDES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9, "T": 1e12, "million": 1e6, "billion": 1e9}
_NUMBER = r"[+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"^\s*(?P<number>{_NUMBER})\s*(?P<unit>.*?)\s*$")
_RANGE = re.compile(
    rf"^\s*(?P<low>{_NUMBER})\s*(?P<low_unit>[^\d<>=-]*?)\s*(?:-|–|to|\.\.)\s*(?P<high>{_NUMBER}\s*[^<>=]*)$"
)
_CURRENCY = re.compile(r"\b(USD|EUR|GBP|INR|JPY|CNY|CAD|AUD|CHF|SGD|KRW|SEK|NOK|AED|SAR|BRL|MYR|PLN)\b")


def parse(text: object, dimension: str, currencies: Mapping[str, float] | None = None) -> float:
    """Turn ``text`` into an SI float of ``dimension``.

    Args:
        text: what a person wrote, such as ``"400 Gb/s"``. A bare number is accepted only where the
            dimension has no unit (``count``) or admits none (``fraction``).
        dimension: a key of :data:`DIMENSIONS`.
        currencies: USD per unit of a currency, so that ``"5 EUR"`` is understood; without it only USD is.

    Returns:
        The value in the SI unit of the dimension, finite and not negative.

    Raises:
        UnitError: no number, no unit or the wrong one, negative, not finite, or an absurd magnitude.
    """
    dim = DIMENSIONS[dimension]
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise UnitError(f"expected a quantity such as '{dim.example}', not {_kind(text)}", f"write {dim.example}")
    if isinstance(text, int | float):
        return _checked(_bare(text, dim), dim, str(text))
    match = _QUANTITY.match(_money_first(text))
    if match is None:
        raise UnitError(f"'{_short(text)}' is not a quantity", f"write it like '{dim.example}'")
    number = float(match["number"].replace(",", "").replace("_", ""))
    return _checked(number * _factor(match["unit"], dim, text, currencies or {}), dim, text)


def parse_range(text: object, dimension: str, currencies: Mapping[str, float] | None = None) -> tuple[float, float]:
    """Turn ``"6-10 MW"``, ``"<= 14 d"``, ``">= 80 %"`` or a single quantity into ``(low, high)`` in SI units.

    An open end is ``0`` or ``inf``. Raises :class:`UnitError` as :func:`parse` does, and when low > high.
    """
    if isinstance(text, str):
        stripped = text.strip()
        for sign, at_most in (("<=", True), ("≤", True), ("<", True), (">=", False), ("≥", False), (">", False)):
            if stripped.startswith(sign):
                end = parse(stripped[len(sign) :], dimension, currencies)
                return (0.0, end) if at_most else (end, math.inf)
        match = _RANGE.match(_money_first(stripped))
        if match is not None:
            high = parse(match["high"], dimension, currencies)
            unit = match["low_unit"].strip() or re.sub(rf"^\s*{_NUMBER}\s*", "", match["high"])
            low = parse(f"{match['low']} {unit}", dimension, currencies)
            if low > high:
                raise UnitError(f"'{_short(text)}' runs backwards", "write the smaller value first")
            return low, high
    value = parse(text, dimension, currencies)
    return value, value


def _money_first(text: str) -> str:
    """Put a leading currency sign behind its number: ``$0.08/kWh`` becomes ``0.08 USD/kWh``."""
    stripped = text.strip()
    for symbol, code in CURRENCY_SYMBOLS.items():
        if stripped.startswith(symbol):
            match = re.match(rf"\s*({_NUMBER})\s*([a-zA-Z]*)\s*(.*)$", stripped[len(symbol) :])
            if match is not None:
                return f"{match[1]} {match[2]} {code}{match[3]}".replace("  ", " ")
    return stripped


def _bare(number: float, dim: Dimension) -> float:
    if "" not in dim.units:
        hint = f"add one: '{number:g} {next(u for u in dim.units if u)}', or for example '{dim.example}'"
        raise UnitError(f"{number:g} has no unit", hint)
    return float(number)


def _factor(unit: str, dim: Dimension, text: str, currencies: Mapping[str, float]) -> float:
    """The factor to SI of the unit as written, magnitude words and currencies included."""
    unit = re.sub(r"\s+", " ", unit).strip()
    if unit in dim.units:
        return dim.units[unit]
    rate = 1.0
    if "USD" in "".join(dim.units):
        found = _CURRENCY.search(unit)
        if found and found[1] != "USD":
            if found[1] not in currencies:
                raise UnitError(f"'{_short(text)}': no exchange rate for {found[1]}", "give the amount in USD")
            rate, unit = currencies[found[1]], unit.replace(found[1], "USD")
    word, _, rest = unit.partition(" ")
    for candidate, magnitude in ((unit, 1.0), (rest, _MAGNITUDES.get(word, 0.0)), ("", _MAGNITUDES.get(unit, 0.0))):
        if candidate in dim.units and magnitude:
            return dim.units[candidate] * magnitude * rate
    raise _wrong_unit(unit, dim, text)


def _wrong_unit(unit: str, dim: Dimension, text: str) -> UnitError:
    if not unit or unit in _MAGNITUDES:
        return UnitError(f"'{_short(text)}' has no unit", f"write it like '{dim.example}'")
    if unit in ("Gbps", "Mbps", "Tbps", "Gbit/s", "Tbit/s", "Mbit/s") and dim.name == "bandwidth":
        return UnitError(f"'{unit}' is not a unit here", f"write bits as '{unit[0]}b/s' and bytes as '{unit[0]}B/s'")
    close = get_close_matches(unit, [u for u in dim.units if u], n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"write it like '{dim.example}'"
    return UnitError(f"'{_short(unit)}' is not a unit of {dim.name.replace('_', ' ')}", hint)


def _checked(value: float, dim: Dimension, text: str) -> float:
    if not math.isfinite(value):
        raise UnitError(f"'{_short(text)}' is not a finite number", f"write it like '{dim.example}'")
    if value < 0 and not dim.signed:
        raise UnitError(f"'{_short(text)}' is negative", "give a value of zero or more")
    if value > dim.most * (1 + 1e-9) and dim.name == "fraction":
        raise UnitError(f"'{_short(text)}' is more than the whole", f"write it like '{dim.example}'")
    if value > dim.most * (1 + 1e-9):
        raise UnitError(
            f"'{_short(text)}' is beyond anything that can be built ({human_as(dim.most, dim.si)})",
            "check the unit and the exponent",
        )
    return value


def _kind(value: object) -> str:
    names = {bool: "true/false", dict: "a mapping", list: "a list", type(None): "nothing"}
    return names.get(type(value), f"a {type(value).__name__}")


def _short(text: object) -> str:
    shown = str(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


# --- floats to text ---------------------------------------------------------------------------------------

_SUFFIXES = {
    "_bytes_s": "byte/s",
    "_bytes": "byte",
    "_usd_per_gpu_h": "USD/GPU-h",
    "_usd_per_kwh": "USD/kWh",
    "_usd_per_year": "USD/year",
    "_usd_per_kw_month": "USD/kW/month",
    "_usd_per_zflop": "USD/ZFLOP",
    "_usd_per_w_year": "USD/W/year",
    "_usd_per_w": "USD/W",
    "_usd_per_m2": "USD/m2",
    "_usd_per_m": "USD/m",
    "_usd_per_gb": "USD/GB",
    "_usd_per_tb_month": "USD/TB/month",
    "_usd_per_tb": "USD/TB",
    "_usd_per_mw": "USD/MW",
    "_usd_per_j": "USD/J",
    "_usd_per_h": "USD/h",
    "_l_per_kwh": "L/kWh",
    "_j_per_year": "J/year",
    "_kg_per_year": "kg/year",
    "_m3_per_year": "m3/year",
    "_kg_run": "kg",
    "_per_1000_node_days": "1/(1000 node-days)",
    "_flop_per_token": "FLOP",
    "_gb_per_year": "GB/year",
    "_usd_per_s": "USD/s",
    "_usd": "USD",
    "_g_per_kwh": "g/kWh",
    "_kg": "kg",
    "_m3": "m3",
    "_m2": "m2",
    "_m": "m",
    "_flops": "FLOP/s",
    "_tflops": "TFLOP/s",
    "tflops": "TFLOP/s",
    "_per_gpu": "1",
    "_tokens_per_s": "token/s",
    "_per_s": "1/s",
    "_wh": "Wh",
    "_j": "J",
    "_w": "W",
    "_s": "s",
    "_years": "year",
    "_weeks": "week",
    "_flop": "FLOP",
}


def unit_of(key: str) -> str:
    """The unit that a name ends in: ``facility.it_power_w`` is in ``W``; ``1`` when it has none."""
    name = key.rsplit(".", 1)[-1]
    if name == "tokens_per_s":
        return "token/s"
    if name.endswith("usd_per_tflops"):
        return "USD/(TFLOP/s)"
    if name.startswith("tflops") or name.endswith("_tflops"):
        return "TFLOP/s"
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix) or name == suffix.lstrip("_"):
            return _SUFFIXES[suffix]
    return "1"


def human(key: str, value: float) -> str:
    """A value as people read it, its unit taken from the name: ``human("x_power_w", 1.43e6)`` is ``1.43 MW``."""
    name = key.rsplit(".", 1)[-1]
    if value in (words := CODED.get(name, {})):
        return words[int(value)]
    if unit_of(key) == "1" and any(word in name for word in _SHARES):
        return f"{value:.3%}" if 0.9949 < value < 1.0 else f"{value:.1%}"
    return human_as(value, unit_of(key))


COOLINGS = ("air", "rear-door", "hybrid", "liquid")
"""Kinds of cooling by their code."""
RECOMPUTED = ("none", "selective", "full")
"""Recomputation of activations by its code."""
_YES = {0: "no", 1: "yes"}
CODED: dict[str, dict[int, str]] = {
    "cooling_kind": dict(enumerate(COOLINGS)),
    "cooling_asked": {-1: "left to the design", **dict(enumerate(COOLINGS))},
    "recompute": dict(enumerate(RECOMPUTED)),
    **dict.fromkeys(("fits", "rack_fits", "cooling_fits", "procurable", "buy", "rent", "reserved", "colocate"), _YES),
}
"""Figures that are codes, by their name, and what each code says; people read the words."""
_SHARES = ("mfu", "ettr", "efficiency", "fraction", "availability", "utilisation", "share", "margin", "overhead")
_SCALED = {
    "byte": ("B", 1e3),
    "byte/s": ("B/s", 1e3),
    "FLOP/s": ("FLOP/s", 1e3),
    "FLOP": ("FLOP", 1e3),
    "W": ("W", 1e3),
    "J": ("J", 1e3),
    "Wh": ("Wh", 1e3),
    "token/s": ("token/s", 1e3),
    "J/year": ("J/year", 1e3),
}


def human_as(value: float, unit: str) -> str:
    """A value with three significant digits and a fitting prefix, such as ``1.43 MW``, ``12.7 d``, ``$45.2M``."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "unlimited" if value > 0 else "none"
    if unit.startswith("USD"):
        return _human_money(value) + unit[3:]
    if unit == "s":
        return _human_time(value)
    if unit in _SCALED:
        symbol, step = _SCALED[unit]
        for prefix in ("", "k", "M", "G", "T", "P", "E", "Z"):
            if abs(value) < step * 0.99995 or prefix == "Z":
                return f"{_three(value)} {prefix}{symbol}"
            value /= step
    text = _three(value)
    return text if unit in ("1", "") else f"{text} {unit}"


_MONEY: ContextVar[tuple[str, float]] = ContextVar("currency that amounts are shown in", default=("$", 1.0))


@contextmanager
def money_in(code: str, usd: float) -> Iterator[None]:
    """Show amounts in another currency inside the ``with`` block; the figures themselves stay in USD.

    Args:
        code: ISO 4217 code.
        usd: US dollars for one unit of it.
    """
    signs = {name: symbol for symbol, name in CURRENCY_SYMBOLS.items()}
    token = _MONEY.set((signs.get(code, f"{code} "), usd))
    try:
        yield
    finally:
        _MONEY.reset(token)


def _human_money(value: float) -> str:
    symbol, usd = _MONEY.get()
    sign, amount = ("-" if value < 0 else ""), abs(value) / usd
    for scale, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if amount >= scale * 0.99995:
            return f"{sign}{symbol}{_three(amount / scale)}{letter}"
    return f"{sign}{symbol}{_three(amount)}"


def _human_time(value: float) -> str:
    for scale, symbol in ((YEAR_S, "years"), (DAY_S, "d"), (HOUR_S, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")):
        if abs(value) >= scale * (2 if symbol in ("years", "d", "h", "min") else 1):
            return f"{_three(value / scale)} {symbol}"
    return "0 s" if value == 0 else f"{_three(value * 1e6)} us"


def _three(value: float) -> str:
    """Three significant digits, integers below 1e15 whole, thousands separated."""
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if digits <= 0:
        return f"{int(rounded):,}"
    if digits > 9:
        return f"{value:.3g}"
    return f"{rounded:,.{min(digits, 9)}f}".rstrip("0").rstrip(".")
