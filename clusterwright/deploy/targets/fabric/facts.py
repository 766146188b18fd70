"""What the files say, read back from them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from clusterwright.deploy.bundle import Fact, Folder

__all__ = ["facts", "table"]


def table(folder: Folder, path: str) -> list[dict[str, str]]:
    """The rows of a CSV file; a row of another length lacks keys or has them under None."""
    return list(csv.DictReader(io.StringIO(folder.read(path))))


def facts(folder: Folder) -> Iterator[Fact]:
    """Addresses, racks, scalable units and GPUs of the hosts."""
    sites = folder.glob("fabric/*/hosts.csv")
    for path in sites:
        for row in table(folder, path):
            name = row.get("host") or ""
            yield Fact("node.address", name, row.get("management"), path)
            yield Fact("node.bmc", name, row.get("bmc"), path)
            yield Fact("node.rack", name, row.get("rack"), path)
            if row.get("scalable_unit"):
                yield Fact("node.unit", name, row["scalable_unit"], path)
            gpus = row.get("gpus") or ""
            if gpus != "0":
                yield Fact("node.gpus", name, int(gpus) if gpus.isdigit() else gpus, path)
    for row in table(folder, "fabric/netbox/06-devices.csv"):
        if row.get("role") in _ROLES:
            yield Fact("node.rack", row.get("name") or "", row.get("rack"), "fabric/netbox/06-devices.csv")


_ROLES = ("compute", "spare")
