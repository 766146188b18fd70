"""The frame: named figures over candidates, each with its interval and its provenance.

The same doors (``domain.size(frame, spec)``) run on a frame of 10,000 candidates while choosing and on a frame of
one while the winner is worked out, so that a number is computed in one place. A path such as
``facility.it_power_w`` holds an array of ``n`` candidates; a path that differs for sites or workloads carries an
index: ``sites[0].nodes``, ``training[1].mfu``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clusterwright.cluster.laws import Law
from clusterwright.cluster.provenance import Provenance

__all__ = ["Estimate", "Figure", "Frame", "Refs"]

Floats = NDArray[np.float64]
Refs = str | Sequence[str]
"""The path of an input, or a list of paths whose arrays are passed as one list."""


@dataclass(frozen=True)
class Estimate:
    """A prediction: the value and its 80 % interval."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """The JSON form."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Figure:
    """One path of a frame: arrays of shape (n,), and where they come from."""

    value: Floats
    low: Floats
    high: Floats
    provenance: Provenance
    count: bool = False

    @property
    def certain(self) -> bool:
        """True when the interval has no width."""
        return self.low is self.value and self.high is self.value


class Frame:
    """Figures over ``n`` candidates.

    Args:
        n: number of candidates.
        intervals: whether intervals are carried (the winner) or not (the enumeration, for speed).
    """

    def __init__(self, n: int = 1, *, intervals: bool = True) -> None:
        self.n = n
        self.intervals = intervals
        self._figures: dict[str, Figure] = {}
        self._texts: dict[str, tuple[str, Provenance]] = {}
        self._factors: dict[str, Floats] = {}

    # --- writing ---

    def vary(self, path: str, factor: ArrayLike) -> None:
        """Multiply whatever is put at ``path`` from now on by ``factor``, shape (n,): the what-if of a sensitivity."""
        self._factors[path] = self._array(factor)

    def give(
        self,
        path: str,
        value: ArrayLike,
        provenance: Provenance,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        count: bool = False,
    ) -> None:
        """Put an input: a wish of the spec, a fact of the catalogue, a choice, an assumption."""
        array = self._varied(path, self._array(value))
        if not self.intervals or (low is None and high is None):
            figure = Figure(array, array, array, provenance, count)
        else:
            figure = Figure(
                array,
                array if low is None else np.minimum(self._array(low), array),
                array if high is None else np.maximum(self._array(high), array),
                provenance,
                count,
            )
        self._figures[path] = figure

    def give_fact(self, path: str, fact: Any, place: str, *, count: bool = False) -> None:
        """Put a fact of the catalogue (anything with value, low, high, source, status, note)."""
        source = fact.source
        title = f"{source.title} ({source.date})" + (f", {source.url}" if source.url else "")
        origin = Provenance("catalog", place=place, source=title, status=fact.status, note=fact.note)
        self.give(path, fact.value, origin, low=fact.low, high=fact.high, count=count)

    def derive(self, path: str, law: Law, /, *, note: str = "", **refs: Refs) -> Floats:
        """Compute a figure by ``law`` from other figures, and record it.

        Each keyword is an argument of the law, its value the path of the input (or a list of paths). Intervals are
        propagated to first order: each uncertain input alone is moved to its low and its high end, the deviations
        are added as squares (inputs taken as independent), and the law's own spread is added likewise.

        Returns:
            The values, shape (n,).

        Raises:
            KeyError: when an input is not there yet.
        """
        inputs = {name: self._resolve(ref) for name, ref in refs.items()}
        value = self._varied(path, self._array(law(**{name: _values(figures) for name, figures in inputs.items()})))
        recorded = {k: (v if isinstance(v, str) else list(v)) for k, v in refs.items()}
        origin = Provenance("law", law=law.name, inputs=recorded, note=note)
        uncertain = [n for n, figures in inputs.items() if not all(f.certain for f in _each(figures))]
        if not self.intervals or law.count or not (uncertain or law.spread):
            self._figures[path] = Figure(value, value, value, origin, law.count)
        else:
            low, high = self._propagate(law, inputs, uncertain, value)
            self._figures[path] = Figure(value, low, high, origin, law.count)
        return value

    def choose(self, path: str, text: str, provenance: Provenance) -> None:
        """Put a choice in words, such as the name of a part."""
        self._texts[path] = (text, provenance)

    # --- reading ---

    def __getitem__(self, path: str) -> Floats:
        """The values of a path, shape (n,).

        Raises:
            KeyError: when nothing was put there; names the path.
        """
        return self.figure(path).value

    def __contains__(self, path: object) -> bool:
        return path in self._figures or path in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def figure(self, path: str) -> Figure:
        """The figure of a path."""
        try:
            return self._figures[path]
        except KeyError:
            raise KeyError(f"no figure '{path}' in the frame") from None

    def get(self, path: str, default: float) -> Floats:
        """The values of a path, or ``default`` for each candidate."""
        return self[path] if path in self._figures else np.full(self.n, float(default))

    def text(self, path: str, default: str | None = None) -> str:
        """A choice in words."""
        if default is not None and path not in self._texts:
            return default
        return self._texts[path][0]

    def estimate(self, path: str, row: int = 0) -> Estimate:
        """The value and interval of one candidate."""
        figure = self.figure(path)
        return Estimate(float(figure.value[row]), float(figure.low[row]), float(figure.high[row]))

    @property
    def texts(self) -> Mapping[str, tuple[str, Provenance]]:
        """All choices in words."""
        return self._texts

    # --- inside ---

    def _array(self, value: ArrayLike) -> Floats:
        array = np.asarray(value, dtype=np.float64)
        if array.shape == (self.n,):
            return array
        return np.broadcast_to(array, (self.n,)).copy()

    def _varied(self, path: str, array: Floats) -> Floats:
        factor = self._factors.get(path)
        return array if factor is None else array * factor

    def _resolve(self, ref: Refs) -> Figure | list[Figure]:
        return self.figure(ref) if isinstance(ref, str) else [self.figure(one) for one in ref]

    def _propagate(
        self, law: Law, inputs: dict[str, Figure | list[Figure]], uncertain: list[str], value: Floats
    ) -> tuple[Floats, Floats]:
        down, up = np.zeros(self.n), np.zeros(self.n)
        values = {name: _values(figures) for name, figures in inputs.items()}
        for name in uncertain:
            for moved in _moved(inputs[name]):
                ends = [self._array(law(**{**values, name: end})) - value for end in moved]
                down += np.minimum(np.minimum(ends[0], ends[1]), 0.0) ** 2
                up += np.maximum(np.maximum(ends[0], ends[1]), 0.0) ** 2
        own = (law.spread * value) ** 2
        low = np.clip(value - np.sqrt(down + own), *law.bounds)
        high = np.clip(value + np.sqrt(up + own), *law.bounds)
        return np.minimum(low, value), np.maximum(high, value)


def _each(figures: Figure | list[Figure]) -> list[Figure]:
    return figures if isinstance(figures, list) else [figures]


def _values(figures: Figure | list[Figure]) -> Any:
    return [f.value for f in figures] if isinstance(figures, list) else figures.value


def _moved(figures: Figure | list[Figure]) -> Iterator[tuple[Any, Any]]:
    """The pairs (input at its low end, input at its high end), one uncertain figure moved at a time."""
    if isinstance(figures, Figure):
        yield figures.low, figures.high
        return
    for i, moved in enumerate(figures):
        if not moved.certain:
            rest = [f.value for f in figures]
            yield [*rest[:i], moved.low, *rest[i + 1 :]], [*rest[:i], moved.high, *rest[i + 1 :]]
