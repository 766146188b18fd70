"""What a spec is read against: the catalogue, as far as the grammar needs it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from clusterwright import units
from clusterwright.catalog import Catalog, ModelArchitecture, load_catalog

__all__ = ["Context", "context_of"]


class Context:
    """The names and exchange rates of a catalogue.

    Args:
        catalog: the shipped one, with a user's overlays.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @cached_property
    def rates(self) -> Mapping[str, float]:
        """US dollars for one unit of each currency."""
        return self.catalog.currencies

    def rates_for(self, dimension: str) -> Mapping[str, float]:
        """The exchange rates where a dimension has money in it, else nothing, so that they need not be read."""
        return self.rates if any("USD" in unit for unit in units.DIMENSIONS[dimension].units) else {}

    def names(self, kind: str) -> list[str]:
        """The canonical names of a kind of part."""
        return self.catalog.names(kind)

    def canonical(self, kind: str, name: str) -> str | None:
        """The canonical name behind a name or an alias; None when there is no such part."""
        if not self.catalog.has(kind, name):
            return None
        return self.catalog.model(name).name if kind == "models" else self.catalog.get(kind, name).name

    def suggest(self, kind: str, name: str) -> str:
        """The name closest to ``name``, or nothing."""
        close = self.catalog.suggest(kind, name)
        return close[0] if close else ""

    def architecture(self, name: str) -> ModelArchitecture:
        """The architecture of a model that is there."""
        return self.catalog.model(name)


@lru_cache(maxsize=1)
def _shipped() -> Context:
    return Context(load_catalog())


def context_of(given: object) -> Context:
    """The context handed to a validation, or the shipped catalogue when none was."""
    return given if isinstance(given, Context) else _shipped()
