"""What may be asked for tenants: who may use how much of the cluster."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterwright.spec.compute import MOST_GPUS
from clusterwright.spec.forms import Count, Number
from clusterwright.spec.section import Section
from clusterwright.spec.words import Name, Word

__all__ = ["PRIORITIES", "Tenant"]

PRIORITIES = ("low", "normal", "high")
"""Classes of jobs, from the one that is preempted first to the one that preempts."""


class Tenant(Section):
    """A team, a project or a customer on the cluster."""

    name: Annotated[str, Name("research")] = Field(description="Unique among the tenants; an account, a namespace.")
    share: Annotated[float, Number(0.001, 1e6, "1")] = Field(
        1.0, description="Weight in fair sharing; a tenant of 2 is due twice what a tenant of 1 is."
    )
    quota: Annotated[int | None, Count(MOST_GPUS, "512", least=0)] = Field(
        None, description="GPUs that are its own; `auto` splits the cluster by shares."
    )
    limit: Annotated[int | None, Count(MOST_GPUS, "1024")] = Field(
        None, description="GPUs at most, those of idle tenants counted; `auto` is all of the cluster."
    )
    priority: Annotated[str, Word("priority", PRIORITIES)] = Field(
        "normal", description="Class of its jobs; a higher one preempts a lower one."
    )
    users: list[Annotated[str, Name("alice")]] = Field(default_factory=list, description="Login names of its people.")
