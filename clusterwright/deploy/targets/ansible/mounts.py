"""The parallel file system's client by storage system: packages, options, what is mounted how."""

from __future__ import annotations

import ipaddress
from typing import Any

from clusterwright.deploy.inventory import Inventory, Site
from clusterwright.deploy.mounts import LOCAL, PARALLEL
from clusterwright.deploy.targets.ansible.versions import System

__all__ = ["LOCAL", "PARALLEL", "client", "parallel"]

_RSIZE = 1 << 20
Values = dict[str, Any]


def parallel(inventory: Inventory) -> str:
    """The system of the parallel tier; empty without one."""
    return next((tier.system for tier in inventory.tiers if tier.kind == "parallel"), "")


def client(inventory: Inventory, site: Site, system: System) -> Values:
    """Variables of the role ``storage_client`` for a site."""
    name = parallel(inventory)
    server = f"parallel.{site.domain}"
    made = _client(name, server, site, system)
    mounted = made.pop("mount")
    unit = f"{PARALLEL.strip('/').replace('/', '-')}.mount"
    defaults: Values = {
        "storage_packages": [],
        "storage_installer": "",
        "storage_installed": "",
        "storage_service": "",
        "storage_client_conf": "/etc/modprobe.d/90-storage-client.conf",
        "storage_client_lines": [],
    }
    tiers: Values = {"parallel": {"path": PARALLEL, "unit": unit, "system": name, **mounted}} if name else {}
    tiers["nvme"] = {"path": LOCAL}
    tiers["object"] = {"endpoint": f"https://object.{site.domain}"}
    return {"mounts": tiers, **defaults, **made}


def _client(name: str, server: str, site: Site, system: System) -> Values:
    if name.startswith(("ddn", "fsx-lustre")):
        return _lustre(name, server, site, system)
    if name.startswith("weka"):
        return {
            "storage_installer": f"https://{server}:14000/dist/v1/install",
            "storage_installed": "/usr/bin/weka",
            "storage_service": "weka-agent",
            "mount": {"source": f"{server}/default", "type": "wekafs", "options": "num_cores=2,noatime,_netdev"},
        }
    if name.startswith("ibm-scale"):
        return {
            "storage_packages": ["gpfs.base", "gpfs.gpl", "gpfs.adv", "gpfs.gskit"],
            "storage_service": "gpfs",
            "mount": {"source": "parallel", "type": "gpfs", "options": "noatime,_netdev"},
        }
    if name.startswith("daos"):
        return {
            "storage_packages": ["daos-client"],
            "storage_service": "daos_agent",
            "mount": {"source": "dfuse", "type": "fuse", "options": "pool=cluster,container=shared,_netdev"},
        }
    # Systems that export NFS: over RDMA, several connections, since one does not fill a link.
    options = f"vers=3,proto=rdma,port=20049,nconnect=8,rsize={_RSIZE},wsize={_RSIZE},hard,noatime,_netdev"
    return {
        "storage_packages": [system.of("nfs-common", "nfs-utils")],
        "mount": {"source": f"{server}:/shared", "type": "nfs", "options": options},
    }


def _lustre(name: str, server: str, site: Site, system: System) -> Values:
    rented = name.startswith("fsx")
    source = (
        f"{server}@tcp:/{{{{ lookup('ansible.builtin.env', 'CLUSTER_FSX_MOUNT') }}}}"
        if rented
        else f"mgs-1.{site.domain}@o2ib:mgs-2.{site.domain}@o2ib:/cluster"
    )
    net = "tcp" if rented else "o2ib"
    return {
        "storage_packages": [
            system.of("lustre-client-modules-dkms", "kmod-lustre-client"),
            system.of("lustre-client-utils", "lustre-client"),
        ],
        "storage_client_lines": [
            f'options lnet ip2nets="{net} {_octets(site)}"',
            "options ptlrpc ptlrpcd_per_cpt_max=64",
            *([] if rented else ["options ko2iblnd peer_credits=32 concurrent_sends=64"]),
        ],
        "mount": {"source": source, "type": "lustre", "options": "flock,noatime,_netdev,user_xattr"},
    }


def _octets(site: Site) -> str:
    """The storage network as LNet writes it: ``10.0.[12-15].*``; LNet knows no prefix lengths."""
    block = ipaddress.IPv4Network(site.networks["storage"].block)
    first, last = str(block[0]).split("."), str(block[-1]).split(".")
    parts = zip(first, last, strict=True)
    return ".".join(a if a == b else "*" if (a, b) == ("0", "255") else f"[{a}-{b}]" for a, b in parts)
