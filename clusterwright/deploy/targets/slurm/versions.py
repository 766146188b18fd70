"""What differs between releases of Slurm, in one place.

:data:`DIFFERENCES` are the lines that are written for some releases only; :class:`Dialect` answers for one release.
What a release knows at all stands in ``data/parameters.csv`` and ``data/values.csv``, against which files are read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from clusterwright.spec import SLURM_VERSIONS

__all__ = ["DIFFERENCES", "Dialect", "Difference", "at_least", "parameters", "values"]


class Difference(NamedTuple):
    """A line that is written for some releases.

    Attributes:
        file: ``slurm.conf/SECTION`` or another file.
        key: with an ending ``+``, a word to append to the list of that key.
        since, until: releases; an empty ``until`` is the newest.
        why: for the reader of the file.
    """

    file: str
    key: str
    value: str
    since: str
    until: str
    why: str


DIFFERENCES = (
    Difference("slurm.conf/topology", "RoutePlugin", "route/topology", "22.05", "22.05", "messages follow the tree"),
    Difference("slurm.conf/topology", "TopologyParam+", "RouteTree", "23.11", "", "messages follow the tree"),
    Difference(
        "slurm.conf/control",
        "SlurmctldParameters+",
        "preempt_send_user_signal",
        "22.05",
        "22.05",
        "a preempted job gets the signal it asked for",
    ),
    Difference("slurm.conf/scripts", "PrologFlags+", "ForceRequeueOnFail", "23.11", "", "a bad node costs no job"),
    Difference("slurm.conf/accounting", "AccountingStoreFlags+", "job_extra", "23.11", "", "what tools note of a job"),
    Difference(
        "slurm.conf/accounting", "AccountingStoreFlags+", "no_stdio", "24.11", "", "paths of output are not kept"
    ),
    Difference(
        "slurm.conf/metrics", "MetricsType", "metrics/openmetrics", "25.11", "", "the controller speaks to Prometheus"
    ),
    Difference("cgroup.conf", "CgroupAutomount", "yes", "22.05", "22.05", "later releases mount by themselves"),
    Difference("namespace", "JobContainerType", "job_container/tmpfs", "22.05", "25.05", "a /tmp for each job"),
    Difference("namespace", "NamespaceType", "namespace/linux", "25.11", "", "a /tmp for each job"),
    Difference("imex", "SwitchType", "switch/nvidia_imex", "24.11", "", "IMEX channels of NVLink domains"),
)
"""Lines by release. Since and until are of the releases that are written for."""

_ONE_TIMEOUT = "24.11"
"""Last release in which prolog and epilog share PrologEpilogTimeout."""


def at_least(release: str, other: str) -> bool:
    """Whether a release is another one or newer; 25.05 is newer than 24.11."""
    return _key(release) >= _key(other)


def _key(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])


def _within(release: str, since: str, until: str) -> bool:
    return at_least(release, since) and (not until or at_least(until, release))


@dataclass(frozen=True)
class Dialect:
    """How one release is written to."""

    release: str

    def lines(self, file: str) -> list[tuple[str, str, str]]:
        """Key, value and reason of the lines of a file or section that only some releases have."""
        found = [d for d in DIFFERENCES if d.file == file and _within(self.release, d.since, d.until)]
        return [(d.key, d.value, d.why) for d in found if not d.key.endswith("+")]

    def words(self, key: str, *always: str) -> str:
        """The list that a key has: what it always has, and what this release adds."""
        found = [d for d in DIFFERENCES if d.key == f"{key}+" and _within(self.release, d.since, d.until)]
        return ",".join((*always, *(d.value for d in found)))

    @property
    def topology_yaml(self) -> bool:
        """topology.yaml with several topologies, one of which a partition names."""
        return at_least(self.release, "25.05")

    @property
    def block(self) -> bool:
        """The plug-in topology/block."""
        return at_least(self.release, "23.11")

    @property
    def block_sizes(self) -> bool:
        """Key BlockSizes; 23.11 has BlockLevels."""
        return at_least(self.release, "24.11")

    def block_fits(self, sizes: list[int]) -> bool:
        """Whether blocks of these sizes are taken: 23.11 wants equal ones, 24.11 none below the base, 25.05 any."""
        if at_least(self.release, "25.05"):
            return True
        return self.block and (len(set(sizes)) <= 1 if not self.block_sizes else min(sizes) >= sizes[0])

    @property
    def segment(self) -> bool:
        """``sbatch --segment``."""
        return at_least(self.release, "24.11")

    @property
    def expedite(self) -> bool:
        """``sbatch --requeue=expedite``: a job that lost a node starts again at once, before all others."""
        return at_least(self.release, "25.11")

    @property
    def preempt_parameters(self) -> bool:
        """Parameter PreemptParameters."""
        return at_least(self.release, "23.11")

    @property
    def password_script(self) -> bool:
        """StoragePassScript of slurmdbd.conf; before, the password is in a file that is included."""
        return at_least(self.release, "25.11")

    @property
    def namespace_yaml(self) -> bool:
        """namespace.yaml in place of job_container.conf."""
        return at_least(self.release, "25.11")

    def timeouts(self, prolog_s: int, epilog_s: int) -> list[tuple[str, int]]:
        """Time limits of prolog and epilog; until 24.11 they share one."""
        if at_least(_ONE_TIMEOUT, self.release):
            return [("PrologEpilogTimeout", max(prolog_s, epilog_s))]
        return [("PrologTimeout", prolog_s), ("EpilogTimeout", epilog_s)]


def _rows(name: str) -> Iterator[Mapping[str, str]]:
    text = files("clusterwright.deploy.targets.slurm").joinpath("data", name).read_text("utf-8")
    return csv.DictReader(text.splitlines())


@cache
def parameters(release: str) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """What a release knows: section -> name in lower case -> name and kind of its value.

    Args:
        release: one of :data:`SLURM_VERSIONS`.
    """
    made: dict[str, dict[str, tuple[str, str]]] = {}
    for row in _rows("parameters.csv"):
        if _within(release, row["since"], row["until"]):
            made.setdefault(row["section"], {})[row["name"].lower()] = (row["name"], row["kind"])
    return made


@cache
def values(release: str) -> Mapping[str, frozenset[str]]:
    """Words that a parameter of slurm.conf takes in a release, in lower case."""
    made: dict[str, set[str]] = {}
    for row in _rows("values.csv"):
        known = made.setdefault(row["parameter"].lower(), set())
        if _within(release, row["since"], row["until"]):
            known.add(row["value"].lower())
    return {key: frozenset(found) for key, found in made.items()}


def nearest(release: str) -> str:
    """The release written for that is not newer than an installed one; the oldest if all are."""
    older = [known for known in SLURM_VERSIONS if at_least(release, known)]
    return older[-1] if older else SLURM_VERSIONS[0]
