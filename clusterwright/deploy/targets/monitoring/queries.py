"""What a PromQL query names: series, labels, functions. Our own reading, for where no parser is installed.

It knows words, strings, durations and brackets, not the grammar: a query that it accepts may still be refused by
Prometheus; one that names an unknown series, label or function is found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Names", "names", "wrong"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
    |(?P<range>\[\s*(?:\$__rate_interval|\$__interval|\$__range|[0-9a-z]+)(?:\s*:\s*[0-9a-z]*)?\s*\])
    |(?P<number>0x[0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?(?![A-Za-z_])|[0-9]+(?:ms|[smhdwy])(?:[0-9]+(?:ms|[smhdwy]))*)
    |(?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
    |(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},@])""",
    re.VERBOSE,
)
_KEYWORDS = {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan", "start", "end"}
_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_FUNCTIONS_WORDS = (
    "sum min max avg group stddev stdvar count count_values bottomk topk quantile abs absent absent_over_time "
    "ceil changes clamp clamp_max clamp_min day_of_month day_of_week days_in_month delta deriv exp floor "
    "histogram_quantile holt_winters hour idelta increase irate label_join label_replace ln log10 log2 minute "
    "month predict_linear rate resets round scalar sgn sort sort_desc sqrt time timestamp vector year "
    "avg_over_time min_over_time max_over_time sum_over_time count_over_time quantile_over_time stddev_over_time "
    "last_over_time present_over_time "
)
FUNCTIONS = frozenset(_FUNCTIONS_WORDS.split())
_OPEN = {"(": ")", "{": "}"}


@dataclass
class Names:
    """What a query names.

    Attributes:
        series: names of series -> labels that it matches of each.
        grouped: labels in ``by``, ``on``, ``group_left`` and the like.
        functions: functions and aggregations.
    """

    series: dict[str, set[str]] = field(default_factory=dict)
    grouped: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(query):
        found = _TOKEN.match(query, at)
        if found is None:
            raise ValueError(f"{query[at : at + 20]!r} is no PromQL")
        at = found.end()
        kind = found.lastgroup or ""
        if kind != "space":
            yield kind, found.group()


def names(query: str) -> Names:
    """Read a query.

    Raises:
        ValueError: brackets do not match, or something is no word of the language.
    """
    made, tokens = Names(), list(_tokens(query))
    open_brackets: list[str] = []
    if not tokens:
        raise ValueError("the query is empty")
    last, listing = "", False
    for i, (kind, text) in enumerate(tokens):
        after = tokens[i + 1][1] if i + 1 < len(tokens) else ""
        inside = open_brackets[-1] if open_brackets else ""
        if text in _OPEN and kind == "sign":
            listing = listing or (text == "(" and i > 0 and tokens[i - 1][1] in _LISTS)
            open_brackets.append("list" if text == "(" and listing else _OPEN[text])
        elif kind == "sign" and text in ")}":
            expected = open_brackets.pop() if open_brackets else ""
            if expected != text and (expected, text) != ("list", ")"):
                raise ValueError(f"{text!r} closes nothing")
            listing = False
        elif kind == "number" and inside == "}":
            raise ValueError(f"a label is compared with text, not with {text}")
        elif kind == "word":
            last = _word(made, text, after, inside, last)
    if open_brackets:
        raise ValueError("a bracket is not closed")
    return made


def _word(made: Names, text: str, after: str, inside: str, last: str) -> str:
    """Sort a word in; returns the series whose matchers may follow."""
    if inside == "list":
        made.grouped.add(text)
    elif inside == "}":
        made.series.setdefault(last, set()).add(text)
    elif text.lower() in _KEYWORDS or text in _LISTS:
        pass
    elif after == "(" or text in FUNCTIONS:
        made.functions.add(text)
    else:
        made.series.setdefault(text, set())
        return text
    return last


def wrong(query: str, known: Mapping[str, frozenset[str]]) -> list[str]:
    """What is wrong with a query.

    Args:
        query: PromQL.
        known: every series that may be asked for -> its labels.
    """
    try:
        said = names(query)
    except ValueError as error:
        return [str(error)]
    found = [f"no function is called {name}" for name in sorted(said.functions - FUNCTIONS)]
    labels: set[str] = set()
    for series, matched in sorted(said.series.items()):
        if series not in known:
            found.append(f"nothing gives the metric {series or 'without a name'}")
            continue
        labels |= known[series]
        found += [f"{series} has no label {label}" for label in sorted(matched - known[series])]
    if all(series in known for series in said.series):
        found += [f"no series of the query has a label {label}" for label in sorted(said.grouped - labels)]
    return found
