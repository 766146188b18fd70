"""The compute network as a file of ibsim, the simulator on which OpenSM routes it before a cable is pulled."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.cluster import Cable
from clusterwright.deploy.inventory import Inventory, Site

__all__ = ["net_file"]


def net_file(inventory: Inventory, site: Site, cables: Sequence[Cable]) -> str:
    """Records of hosts and switches with the cables between them.

    A host's card with one port is an ``Hca`` of its own (``s1-compute-0001:1``), as a server shows one for each card.
    The first record is where the subnet manager attaches.
    """
    sizes = {s.name: s.ports for s in inventory.switches if s.site == site.name and s.network == "compute"}
    ends: dict[str, list[tuple[int, str, int]]] = {name: [] for name in sizes}
    cards: list[tuple[str, str, int]] = []
    for cable in cables:
        if cable.source in sizes:
            ends[cable.source].append((cable.source_port, cable.target, cable.target_port))
            ends[cable.target].append((cable.target_port, cable.source, cable.source_port))
        else:
            card = f"{cable.source}:{cable.source_port}"
            cards.append((card, cable.target, cable.target_port))
            ends[cable.target].append((cable.target_port, card, 1))
    lines = []
    for card, switch, port in cards:
        lines += [f'Hca\t1 "{card}"', f'[1]\t"{switch}"[{port}]', ""]
    for name, found in ends.items():
        lines.append(f'Switch\t{sizes[name]} "{name}"')
        lines += [f'[{port}]\t"{peer}"[{peer_port}]' for port, peer, peer_port in sorted(found)]
        lines.append("")
    return "\n".join(lines)
