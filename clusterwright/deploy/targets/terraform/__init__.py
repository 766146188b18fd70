"""Terraform for AWS: instances with EFA, network, FSx for Lustre, S3, roles and a budget.

The HCL (``hcl/``) is the same for every cluster; what differs is data in ``terraform.tfvars.json``, so that more nodes
or another instance type change one line of data. Account, image and reservation come from the operator's environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

from clusterwright.deploy.bundle import Fact, File, Folder
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.judges import Program
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.terraform.check import check, sites
from clusterwright.deploy.targets.terraform.judges import JUDGES
from clusterwright.deploy.targets.terraform.values import values
from clusterwright.deploy.text import as_json

__all__ = ["TARGET"]

_APPLY = "terraform plan -out=plan && terraform apply plan"


def _files(inventory: Inventory) -> Iterator[File]:
    folder = files("clusterwright.deploy.targets.terraform").joinpath("hcl")
    hcl = sorted((entry.name, entry) for entry in folder.iterdir() if entry.is_file())
    policies = sorted((f"policies/{entry.name}", entry) for entry in folder.joinpath("policies").iterdir())
    for site in inventory.sites:
        root = f"terraform/{site.name}"
        yield File(f"{root}/terraform.tfvars.json", as_json(values(inventory, site)), after=_APPLY)
        for name, entry in (*hcl, *policies):
            yield File(f"{root}/{name}", entry.read_text("utf-8"), after=_APPLY)


def _facts(folder: Folder) -> Iterator[Fact]:
    """Groups, GPUs and addresses of every host, from the data that Terraform reads."""
    import ipaddress

    for root in sites(folder):
        path = f"{root}/terraform.tfvars.json"
        try:
            held = json.loads(folder.read(path))
            start = int(ipaddress.IPv4Network(held["networks"]["hosts"]).network_address)
            for name, group in held["groups"].items():
                for k in range(int(group["count"])):
                    host = f"{name}-{k + 1:04d}"
                    yield Fact("node.group", host, name, path)
                    yield Fact("node.address", host, str(ipaddress.IPv4Address(start + group["first"] + k)), path)
                    if group["gpus"]:
                        yield Fact("node.gpus", host, group["gpus"], path)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue


def _programs() -> tuple[Program, ...]:
    from clusterwright.deploy.targets.terraform.judges import PROGRAMS

    return PROGRAMS[:1]


TARGET = Target(files=_files, facts=_facts, check=check, judges=JUDGES, programs=_programs)
