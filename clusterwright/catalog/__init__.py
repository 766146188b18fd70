"""The catalogue: what can be had.

Accelerators, servers, switches, network cards, cables, fabrics, storage systems, regions, exchange rates, planning
values, published failure rates and model architectures. Each value carries its unit, its source, a date and
whether it was checked. :func:`load_catalog` opens it, with a user's own files laid over it.
"""

from clusterwright.catalog.architecture import DimensionsError, ModelArchitecture, from_dimensions
from clusterwright.catalog.catalog import Catalog, StaleValue, load_catalog
from clusterwright.catalog.codes import FINDINGS, PartNotFound
from clusterwright.catalog.facts import Fact, Source
from clusterwright.catalog.kinds import KINDS, Field, Kind
from clusterwright.catalog.parts import Part, Rental

__all__ = [
    "FINDINGS",
    "KINDS",
    "Catalog",
    "DimensionsError",
    "Fact",
    "Field",
    "Kind",
    "ModelArchitecture",
    "Part",
    "PartNotFound",
    "Rental",
    "Source",
    "StaleValue",
    "from_dimensions",
    "load_catalog",
]
