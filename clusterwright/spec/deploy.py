"""What may be asked of the deployment: names, addresses and versions that the rendered files carry."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clusterwright.spec.context import Context
from clusterwright.spec.forms import Form, as_text, problem, shown
from clusterwright.spec.section import Section
from clusterwright.spec.words import Word

__all__ = ["KUBERNETES_VERSIONS", "OPERATING_SYSTEMS", "SLURM_VERSIONS", "Deploy"]

SLURM_VERSIONS = ("22.05", "23.11", "24.11", "25.05", "25.11")
"""Releases of Slurm that configuration is written for."""
KUBERNETES_VERSIONS = ("1.34", "1.35", "1.36", "1.37")
"""Releases of Kubernetes that configuration is written for."""
OPERATING_SYSTEMS = ("ubuntu-22.04", "ubuntu-24.04", "debian-12", "rocky-9")
"""Operating systems that the playbooks know."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_HOST_PORT = re.compile(rf"{_LABEL}(\.{_LABEL})*(:\d{{1,5}})?(/[a-z0-9][a-z0-9._-]*)*")
_REPOSITORY = re.compile(
    rf"(https|ssh)://([a-z0-9-]+@)?{_LABEL}(\.{_LABEL})*(:\d{{1,5}})?(/[A-Za-z0-9][A-Za-z0-9._-]*)+"
)
_MAIL = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._+-]{{0,63}}@{_LABEL}(\.{_LABEL})+")
LONGEST = 200


@dataclass(frozen=True)
class Pattern(Form):
    """A text that a pattern describes: a domain, a registry, a repository."""

    noun: str
    pattern: re.Pattern[str]
    example: str

    def read(self, value: object, context: Context) -> str:
        """The text."""
        text = as_text(value, f"the {self.noun}", f"such as {self.example}")
        if len(text) > LONGEST or not self.pattern.fullmatch(text):
            raise problem("SPEC-NAME", f"{shown(text)} is no {self.noun}", f"write it like {self.example}")
        return text

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of that pattern."""
        return {
            "type": "string",
            "pattern": f"^{self.pattern.pattern}$",
            "maxLength": LONGEST,
            "examples": [self.example],
        }

    @property
    def words(self) -> str:
        """The example."""
        return f"{self.noun}, such as `{self.example}`"


@dataclass(frozen=True)
class Block(Form):
    """A private block of IPv4 addresses."""

    example: str = "10.0.0.0/8"

    def read(self, value: object, context: Context) -> str:
        """The block, as ``a.b.c.d/n``."""
        hint = f"write a private block such as {self.example} or 172.16.0.0/12"
        text = as_text(value, "the network", hint)
        try:
            block = ipaddress.IPv4Network(text)
        except ValueError:
            raise problem("SPEC-RANGE", f"{shown(text)} is no block of IPv4 addresses", hint) from None
        if not block.is_private or block.is_loopback or block.is_link_local or block.prefixlen > 24:
            raise problem("SPEC-RANGE", f"{text} is not a private block of at least 256 addresses", hint)
        return str(block)

    def schema(self, context: Context) -> dict[str, Any]:
        """Text of that form."""
        return {"type": "string", "pattern": r"^\d+\.\d+\.\d+\.\d+/\d+$", "examples": [self.example]}

    @property
    def words(self) -> str:
        """The form."""
        return f"private block of IPv4 addresses, such as `{self.example}`"


class Deploy(Section):
    """Names, addresses and versions that `render` writes into files."""

    domain: Annotated[str, Pattern("domain", _DOMAIN, "cluster.internal")] = Field(
        "cluster.internal", description="Domain of the hosts: a host is `HOST.SITE.DOMAIN`."
    )
    network: Annotated[str, Block()] = Field(
        "10.0.0.0/8", description="Addresses of every network are cut from it, site by site."
    )
    os: Annotated[str, Word("operating system", OPERATING_SYSTEMS)] = Field(
        "ubuntu-22.04", description="Operating system of the servers."
    )
    slurm: Annotated[str, Word("version of Slurm", SLURM_VERSIONS)] = Field(
        "25.05", description="Release of Slurm that configuration is written for; quote it."
    )
    kubernetes: Annotated[str, Word("version of Kubernetes", KUBERNETES_VERSIONS)] = Field(
        "1.36", description="Release of Kubernetes that configuration is written for; quote it."
    )
    registry: Annotated[str, Pattern("registry", _HOST_PORT, "registry.cluster.internal:5000")] = Field(
        "registry.cluster.internal", description="Where container images come from."
    )
    repository: Annotated[str, Pattern("repository", _REPOSITORY, "https://git.example.org/platform/cluster.git")] = (
        Field("https://git.cluster.internal/platform/cluster.git", description="Git repository of the bundle.")
    )
    contact: Annotated[str, Pattern("mail address", _MAIL, "oncall@example.org")] = Field(
        "oncall@cluster.internal", description="Who is told of alerts."
    )
