"""Addresses: every network of every site gets a block with room to grow, and every host a number in it.

A site's blocks have two thirds more addresses than it has hosts, rounded up to a power of two, at least 1,024.
Servers beside compute are numbered in the first quarter of a block and compute nodes from there on, so that nodes that
are added later move no address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.deploy.codes import FINDINGS
from clusterwright.errors import InputError

__all__ = ["NETWORKS", "Network", "cut", "numbers"]

NETWORKS = ("management", "bmc", "switches", "storage")
"""Networks of every site beside the rails of the compute network, in the order in which blocks are cut."""
_LEAST = 1024
_GROWTH = 5 / 3
_ROLE_STEP = 16
_FIRST = 16
"""Below it: gateway and virtual addresses."""


@dataclass(frozen=True)
class Network:
    """One subnet of a site.

    Attributes:
        name: management, bmc, switches, storage, rail-1 ..., pods or services.
        block: ``10.0.0.0/22``.
        vlan: of Ethernet networks.
        mtu: bytes.
    """

    name: str
    block: str
    vlan: int
    mtu: int

    @property
    def gateway(self) -> str:
        """The first address."""
        return self.address(1)

    @property
    def netmask(self) -> str:
        """As four numbers."""
        return str(ipaddress.IPv4Network(self.block).netmask)

    def address(self, number: int) -> str:
        """The address of a host by its number in the site."""
        start, _, length = self.block.partition("/")
        if not 0 < number < 2 ** (32 - int(length)) - 1:
            raise ValueError(f"{number} is outside {self.block}")
        a, b, c, d = (int(part) for part in start.split("."))
        whole = (((a << 8 | b) << 8 | c) << 8 | d) + number
        return f"{whole >> 24}.{whole >> 16 & 255}.{whole >> 8 & 255}.{whole & 255}"


def size_of(hosts: int) -> int:
    """Addresses of a block for that many hosts: a power of two with room to grow."""
    return max(_LEAST, 1 << int(_GROWTH * hosts).bit_length())


def numbers(groups: Sequence[tuple[str, int]], hosts: int) -> list[int]:
    """The number of the first host of each group of a site.

    Args:
        groups: role and count of each.
        hosts: of the site, which decide the size of its blocks.
    """
    quarter = size_of(hosts) // 4
    made, beside, compute = [], _FIRST, quarter
    for role, count in groups:
        if role == "compute":
            made.append(compute)
            compute += count
        else:
            made.append(beside)
            beside += -(-max(count, 1) // _ROLE_STEP) * _ROLE_STEP
    return made


def cut(block: str, sites: Sequence[tuple[int, int, int]]) -> list[Mapping[str, Network]]:
    """Networks of every site, cut from the block.

    Args:
        block: of all sites.
        sites: hosts, switches and rails of each.

    Raises:
        InputError: they do not fit.
    """
    whole = ipaddress.IPv4Network(block)
    place, end = int(whole.network_address), int(whole.broadcast_address) + 1
    made: list[Mapping[str, Network]] = []
    for hosts, switches, rails in sites:
        size = size_of(hosts)
        sizes = {"management": size, "bmc": size, "switches": size_of(switches), "storage": size}
        sizes |= {f"rail-{r + 1}": size for r in range(rails)}
        sizes |= {"services": max(size, 4096), "pods": max(16 * size, 65536)}
        found: dict[str, Network] = {}
        for i, (name, length) in enumerate(sizes.items()):
            place = -(-place // length) * length
            prefix = 33 - length.bit_length()
            mtu = 9000 if name.startswith(("rail", "storage")) else 1500
            found[name] = Network(name, f"{ipaddress.IPv4Address(min(place, 2**32 - 1))}/{prefix}", 100 + i, mtu)
            place += length
        made.append(found)
    if place > end:
        need = 32 - (place - int(whole.network_address) - 1).bit_length()
        hint = f"name a block of /{need} or larger, such as 10.0.0.0/8"
        raise InputError(
            FINDINGS["DEPLOY-NETWORK-SMALL"].at("deploy.network", f"{block} does not hold all networks", hint)
        )
    return made
