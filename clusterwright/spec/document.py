"""The spec as a whole: WHAT IS ASKED."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field, PrivateAttr

from clusterwright.source import Document, Place
from clusterwright.spec.claims import Claim
from clusterwright.spec.compute import Compute
from clusterwright.spec.context import Context
from clusterwright.spec.cost import OBJECTIVES, Finance, Weights
from clusterwright.spec.deploy import Deploy
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.facility import Limits, Site
from clusterwright.spec.forms import Count
from clusterwright.spec.migrate import supported
from clusterwright.spec.reliability import Reliability
from clusterwright.spec.scheduling import Scheduler
from clusterwright.spec.section import Section, is_auto
from clusterwright.spec.storage import Storage
from clusterwright.spec.tenants import Tenant
from clusterwright.spec.training import Workload
from clusterwright.spec.words import Name, Part, Text

__all__ = ["Spec", "Version", "Written", "path_of"]

Path = tuple[str | int, ...]


class Version(Count):
    """A version of the grammar that can be read."""

    def schema(self, context: Context) -> dict[str, Any]:
        """The versions themselves."""
        return {"enum": supported()}

    @property
    def words(self) -> str:
        """The versions themselves."""
        return " or ".join(f"`{version}`" for version in supported())


class Written(Section):
    """A whole file that was read: it knows where each of its values stands."""

    _document: Document = PrivateAttr(default_factory=lambda: Document("spec"))
    _text: str = PrivateAttr("")

    @property
    def file(self) -> str:
        """The file that it was read from."""
        return self._document.file

    @property
    def text(self) -> str:
        """Its text; with overrides of the command line it is written anew, with them in it."""
        return self._text

    @property
    def tree(self) -> dict[str, Any]:
        """It as plain data, as written, overrides included."""
        value = self._document.value
        return value if isinstance(value, dict) else {}

    def place(self, path: str) -> Place:
        """Where the value at ``path`` (``sites[0].power``) stands, or the nearest thing around it that exists."""
        return self._document.place(path_of(path) if path else ())

    def given(self, path: str) -> bool:
        """Whether somebody wrote a value at ``path``, other than ``auto``."""
        value: Any = self._document.value
        for part in path_of(path):
            inside = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
            if not inside:
                return False
            value = value[part]
        return not is_auto(value)


class Spec(Written):
    """What is asked of a cluster."""

    version: Annotated[int, Version(1_000_000, "1")] = Field(description="Version of this grammar.")
    name: Annotated[str, Name("llm-70b")] = Field(description="Of the cluster, and of the folder of its design.")
    objective: Annotated[dict[str, float], Weights("objective", OBJECTIVES)] = Field(
        default_factory=lambda: {"cost": 1.0},
        description="What is made small among designs that hold every limit; `auto` is cost.",
    )
    currency: Annotated[str, Part("currencies", "currency", "EUR")] = Field(
        "USD", description="Currency of what is printed; amounts can be written in any currency of the catalogue."
    )
    calibration: Annotated[str | None, Text("mine.json", 1000)] = Field(
        None,
        description="Constants of the step-time law as `clusterwright calibrate --out` writes them, a file relative to "
        "this one; `auto` takes the shipped ones.",
    )
    workloads: list[Workload] = Field(min_length=1, description="What the cluster is for.")
    compute: Compute = Field(default_factory=Compute, description="Accelerators and servers.")
    fabric: Fabric = Field(default_factory=Fabric, description="The network between the servers.")
    storage: Storage = Field(default_factory=Storage, description="Where data and checkpoints lie.")
    scheduler: Scheduler = Field(default_factory=Scheduler, description="Who starts the jobs.")
    reliability: Reliability = Field(default_factory=Reliability, description="What must keep working.")
    sites: list[Site] = Field(
        default_factory=lambda: [Site()], min_length=1, description="Where it stands; one site when left out."
    )
    limits: Limits = Field(default_factory=Limits, description="What must not be exceeded, over all sites.")
    finance: Finance = Field(default_factory=Finance, description="How it is had and for how long.")
    tenants: list[Tenant] = Field(default_factory=list, description="Who may use what; one tenant when left out.")
    deploy: Deploy = Field(default_factory=Deploy, description="Names, addresses and versions of the rendered files.")
    claims: list[Claim] = Field(default_factory=list, description="What a proposal says about it, judged by `audit`.")

    @property
    def offloads_freely(self) -> bool:
        """Whether a run leaves it open what lies in the memory of the host."""
        return any(w.train is not None and w.train.offloads_freely for w in self.workloads)

    def without_offload(self) -> Spec:
        """The same spec where nothing goes to the memory of the host that was not asked for."""
        if not self.offloads_freely:
            return self
        runs = [
            w.model_copy(update={"train": w.train.without_offload()}) if w.train is not None else w
            for w in self.workloads
        ]
        return self.model_copy(update={"workloads": runs})


def path_of(text: str) -> Path:
    """The path that people write as ``sites[0].power``: ``("sites", 0, "power")``.

    Raises:
        ValueError: when the text is no path.
    """
    if not re.fullmatch(r"[^.\[\]\s]+(\[\d{1,6}\])*(\.[^.\[\]\s]+(\[\d{1,6}\])*)*", text):
        raise ValueError(f"'{text}' is not a path")
    return tuple(int(part[1:-1]) if part.startswith("[") else part for part in re.findall(r"\[\d+\]|[^.\[\]]+", text))
