"""What may be asked of storage: systems, data, checkpoints."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterwright.spec.forms import Count, Quantity
from clusterwright.spec.section import Section
from clusterwright.spec.words import Part

__all__ = ["Storage"]


class Storage(Section):
    """Where data and checkpoints lie."""

    parallel: Annotated[str | None, Part("storage", "storage system", "lustre")] = Field(
        None, description="Parallel file system for training data and checkpoints."
    )
    object: Annotated[str | None, Part("storage", "storage system", "s3")] = Field(
        None, description="Object store for raw data and archives."
    )
    dataset_bytes: Annotated[float | None, Quantity("bytes", "12 TB", most=1e19)] = Field(
        None, alias="dataset", description="Training data on the parallel file system; `auto` follows the tokens."
    )
    checkpoints_kept: Annotated[int, Count(10_000, "3")] = Field(
        3, description="Checkpoints of each workload that the parallel file system holds."
    )
