"""A client of Prometheus: queries and alerts."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from clusterwright.errors import WorldError
from clusterwright.operate.codes import FINDINGS

__all__ = ["Alert", "Prometheus", "Sample"]


class Sample(NamedTuple):
    """One series of an answer, at one moment."""

    labels: Mapping[str, str]
    value: float
    at_s: float


class Alert(NamedTuple):
    """An alert that is pending or fires.

    Attributes:
        name: of the rule.
        labels: node, gpu, xid, severity ...
        firing: whether it has lasted as long as its rule says.
        since_s: when its condition began, seconds since the epoch.
        summary: in words.
    """

    name: str
    labels: Mapping[str, str]
    firing: bool
    since_s: float
    summary: str


_Asked = ParamSpec("_Asked")
_Read = TypeVar("_Read")


def _readable(
    ask: Callable[Concatenate[Prometheus, _Asked], _Read],
) -> Callable[Concatenate[Prometheus, _Asked], _Read]:
    """An answer of another form than Prometheus' is none."""

    @wraps(ask)
    def asked(self: Prometheus, /, *args: _Asked.args, **more: _Asked.kwargs) -> _Read:
        try:
            return ask(self, *args, **more)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            said = f"its answer cannot be read: {error}"[:300]
            raise WorldError(FINDINGS["OPERATE-PROMETHEUS"].at(self.url, said, "is it Prometheus?")) from None

    return asked


@dataclass(frozen=True)
class Prometheus:
    """One server.

    Attributes:
        url: such as ``http://127.0.0.1:9090``.
        token_file: holds a bearer token; None without.
        seconds: after which it is given up.
    """

    url: str
    token_file: Path | None = None
    seconds: float = 5.0

    @_readable
    def query(self, text: str) -> list[Sample]:
        """The value of a PromQL expression now; a scalar is one sample without labels.

        Raises:
            WorldError: it does not answer, or refuses the query.
        """
        data = self._get("query", {"query": text})
        if data.get("resultType") == "scalar":
            return [Sample({}, float(data["result"][1]), float(data["result"][0]))]
        return [
            Sample({str(key): str(value) for key, value in one["metric"].items()}, float(one["value"][1]),
                   float(one["value"][0])) for one in data["result"]
        ]  # fmt: skip

    @_readable
    def series(
        self, text: str, begin_s: float, end_s: float, step_s: float
    ) -> list[tuple[Mapping[str, str], list[Any]]]:
        """The values of a PromQL expression over time: labels, and pairs of time and text of the value.

        Raises:
            WorldError: it does not answer, or refuses the query.
        """
        asked = {"query": text, "start": f"{begin_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:.3f}"}
        return [(one["metric"], one["values"]) for one in self._get("query_range", asked)["result"]]

    @_readable
    def alerts(self) -> list[Alert]:
        """Every alert that is pending or fires.

        Raises:
            WorldError: it does not answer.
        """
        return [_alert(one) for one in self._get("alerts", {})["alerts"]]

    def rules(self) -> list[tuple[str, str, str]]:
        """Group, name and query of every rule that is loaded.

        Raises:
            WorldError: it does not answer.
        """
        groups = self._get("rules", {})["groups"]
        return [
            (str(group["name"]), str(rule["name"]), str(rule.get("query", "")))
            for group in groups
            for rule in group["rules"]
        ]

    def formatted(self, query: str) -> str:
        """A query as the server writes it, so that two ways of writing one are equal.

        Raises:
            WorldError: it does not answer, or it is no query.
        """
        return str(self._get("format_query", {"query": query}))

    def targets(self) -> list[tuple[str, str]]:
        """Job and node of every target that is scraped, whether it answers or not.

        Raises:
            WorldError: it does not answer.
        """
        made = []
        for one in self._get("targets", {"state": "active"})["activeTargets"]:
            labels = {**one.get("discoveredLabels", {}), **one.get("labels", {})}
            made.append((str(labels.get("job", "")), str(labels.get("node", labels.get("instance", "")))))
        return made

    def _get(self, what: str, query: Mapping[str, str]) -> Any:
        address = f"{self.url.rstrip('/')}/api/v1/{what}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        asked = urllib.request.Request(address)  # noqa: S310  # the address is the site's own, http or https
        if self.token_file is not None:
            asked.add_header("Authorization", f"Bearer {self.token_file.read_text('utf-8').strip()}")
        try:
            with urllib.request.urlopen(asked, timeout=self.seconds) as answer:  # noqa: S310
                found = json.load(answer)
            if found["status"] != "success":
                raise ValueError(str(found.get("error", "no success")))
            return found["data"]
        except urllib.error.HTTPError as error:
            said = f"HTTP {error.code}: {error.read(300).decode('utf-8', 'replace')}"
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            said = str(getattr(error, "reason", None) or error)
        raise WorldError(FINDINGS["OPERATE-PROMETHEUS"].at(self.url, said[:300], "is the server up?"))


def _alert(one: Mapping[str, Any]) -> Alert:
    labels = {str(key): str(value) for key, value in one.get("labels", {}).items()}
    return Alert(
        labels.pop("alertname", ""),
        labels,
        one.get("state") == "firing",
        _when(str(one.get("activeAt", ""))),
        str(one.get("annotations", {}).get("summary", "")),
    )


def _when(text: str) -> float:
    """Seconds since the epoch of RFC 3339 with nanoseconds; 0 when it cannot be read."""
    from datetime import UTC, datetime

    try:
        return datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
