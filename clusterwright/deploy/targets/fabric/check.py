"""Our own reading of the tables: columns, ports that do not exist or are used twice, both ends known, counts."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.fabric.facts import table
from clusterwright.deploy.targets.fabric.schema import NETBOX, TABLES

__all__ = ["check"]

JUDGE = "clusterwright fabric"
Row = dict[str, str]


def check(folder: Folder) -> Iterator[Check]:
    """Judge every table of every site, and the NetBox import."""
    for path in folder.glob("fabric/*/*.csv"):
        site, name = path.split("/")[1:3]
        if site == "netbox":
            continue
        columns = TABLES.get("cables" if name.startswith("cables-") else name.removesuffix(".csv"), ())
        wrong = _columns(folder, path, columns)
        if not wrong:
            reader = _READERS.get(name.removesuffix(".csv"), _cables if name.startswith("cables-") else None)
            wrong = list(reader(folder, site, table(folder, path))) if reader else []
        yield _said(path, wrong, "columns, names, ports and counts")
    for path in folder.glob("fabric/*/infiniband.net"):
        yield _said(path, list(_net(folder, path)), "every link has two ends that name each other")
    yield from _netbox(folder)


def _said(path: str, wrong: Sequence[str], what: str) -> Check:
    more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
    return Check(path, JUDGE, "", "own", not wrong, "; ".join(wrong[:3]) + more if wrong else what)


def _columns(folder: Folder, path: str, columns: tuple[str, ...]) -> list[str]:
    lines = folder.read(path).splitlines()
    if not lines or tuple(lines[0].split(",")) != columns:
        return [f"line 1: the columns are not {','.join(columns)}"]
    rows = table(folder, path)
    return [
        f"line {i + 2}: not {len(columns)} cells" for i, row in enumerate(rows) if None in row or None in row.values()
    ]


def _hosts(folder: Folder, site: str, rows: list[Row]) -> Iterator[str]:
    yield from _twice((row["host"] for row in rows), "host")
    for column in ("management", "bmc", "storage"):
        yield from _twice((row[column] for row in rows), f"{column} address")
        yield from _outside(folder, site, column, (row[column] for row in rows))
    racks = {row["rack"] for row in table(folder, f"fabric/{site}/racks.csv")}
    yield from sorted({f"rack {row['rack']} of {row['host']} is no rack" for row in rows if row["rack"] not in racks})


def _twice(values: Iterator[str], noun: str) -> Iterator[str]:
    yield from (f"{noun} {value} is there {n} times" for value, n in Counter(values).items() if n > 1)


def _outside(folder: Folder, site: str, network: str, values: Iterator[str]) -> Iterator[str]:
    block = ""
    for held in folder.inventory.get("sites", []):
        if held["name"] == site:
            block = held["networks"].get(network, {}).get("block", "")
    if not block:
        yield f"the inventory has no network {network}"
        return
    net = ipaddress.IPv4Network(block)
    first, last = int(net.network_address), int(net.broadcast_address)
    for value in values:
        try:
            number = int(ipaddress.IPv4Address(value))
        except ValueError:
            yield f"{value!r} is no address"
            continue
        if not first < number < last:
            yield f"{value} is outside {block}, the network {network}"


def _ports(folder: Folder, site: str, rows: list[Row]) -> Iterator[str]:
    hosts = {row["host"] for row in table(folder, f"fabric/{site}/hosts.csv")}
    switches = {row["switch"] for row in table(folder, f"fabric/{site}/switches.csv")}
    yield from _twice((f"{row['host']}:{row['port']}" for row in rows), "port")
    yield from _twice((f"{row['switch']}:{row['switch_port']}" for row in rows), "port")
    yield from sorted({f"{row['host']} is no host" for row in rows if row["host"] not in hosts})
    yield from sorted({f"{row['switch']} is no switch" for row in rows if row["switch"] not in switches})
    yield from _twice((row["address"] for row in rows if row["address"]), "address")
    cabled = {
        (row["from"], row["to"], row["to_port"])
        for network in ("compute", "storage", "management")
        for row in table(folder, f"fabric/{site}/cables-{network}.csv")
    }
    for row in rows:
        if (row["host"], row["switch"], row["switch_port"]) not in cabled:
            yield f"{row['host']} {row['port']}: no such cable in the cable schedule"


def _switches(folder: Folder, site: str, rows: list[Row]) -> Iterator[str]:
    yield from _twice((row["switch"] for row in rows), "switch")
    yield from _twice((row["management"] for row in rows), "management address")
    yield from _outside(folder, site, "switches", (row["management"] for row in rows))
    for row in rows:
        if not row["ports"].isdigit() or not row["ports_used"].isdigit():
            yield f"{row['switch']}: ports are whole numbers"
        elif row["network"] == "compute" and int(row["ports_used"]) > int(row["ports"]):
            yield f"{row['switch']}: {row['ports_used']} ports used of {row['ports']}"


def _racks(folder: Folder, site: str, rows: list[Row]) -> Iterator[str]:
    known = {row["host"]: row["rack"] for row in table(folder, f"fabric/{site}/hosts.csv")}
    known |= {row["switch"]: row["rack"] for row in table(folder, f"fabric/{site}/switches.csv")}
    yield from _twice((row["device"] for row in rows if row["device"]), "device")
    yield from (
        f"{device} is not in {rack}, where its own line puts it" for device, rack in known.items() - _homes(rows)
    )
    yield from sorted({f"{row['device']} is no device" for row in rows if row["device"] and row["device"] not in known})
    filled: dict[str, list[tuple[float, float, str]]] = {}
    for row in rows:
        if row["lowest_unit"]:
            try:
                filled.setdefault(row["rack"], []).append(
                    (float(row["lowest_unit"]), float(row["units"]), row["device"])
                )
            except ValueError:
                yield f"{row['device']}: unit and height are numbers"
    for rack, devices in filled.items():
        for (low, height, one), (above, _, other) in zip(sorted(devices), sorted(devices)[1:], strict=False):
            if above < int(low + height):
                yield f"{one} and {other} overlap in {rack}"


def _homes(rows: list[Row]) -> set[tuple[str, str]]:
    return {(row["device"], row["rack"]) for row in rows}


def _cables(folder: Folder, site: str, rows: list[Row]) -> Iterator[str]:
    switches = {row["switch"]: row for row in table(folder, f"fabric/{site}/switches.csv")}
    yield from _twice((f"{row['from']}:{row['from_port']}" for row in rows), "port")
    yield from _twice((f"{row['to']}:{row['to_port']}" for row in rows if row["to"] in switches), "port")
    for row in rows:
        switch = switches.get(row["to"])
        if switch is None:
            yield f"{row['to']} is no switch"
        elif not _number(row["to_port"]) <= _number(switch["ports"]) + _UPLINKS:
            yield f"{row['to']} has no port {row['to_port']}"
        try:
            float(row["rate_gbit_s"])
        except ValueError:
            yield f"{row['bundle']}: {row['rate_gbit_s']!r} is no rate in Gb/s"


def _number(text: str) -> float:
    """A port as a number; what is none is beyond every switch."""
    return int(text) if text.isdigit() and int(text) else math.inf


_UPLINKS = 8
"""Access switches have uplinks beside the ports that are counted."""
_READERS = {"hosts": _hosts, "ports": _ports, "switches": _switches, "racks": _racks}


def _net(folder: Folder, path: str) -> Iterator[str]:
    """Each line ``[port] "peer"[peerport]`` has its counterpart."""
    links: dict[tuple[str, str], tuple[str, str]] = {}
    here, most = "", 0
    for number, line in enumerate(folder.read(path).splitlines(), 1):
        words = line.replace("\t", " ").split('"')
        if line.startswith(("Hca", "Switch")) and len(words) >= 2:
            here, most = words[1], int(words[0].split()[1])
        elif line.startswith("["):
            port, peer_port = line[1 : line.index("]")], line.rpartition("[")[2].rstrip("]")
            if not port.isdigit() or int(port) > most:
                yield f"line {number}: {here} has no port {port}"
            links[here, port] = (words[1], peer_port)
        elif line:
            yield f"line {number}: neither a record nor a link"
    for (one, port), (other, peer_port) in links.items():
        if links.get((other, peer_port)) != (one, port):
            yield f"{one}[{port}] names {other}[{peer_port}], which does not name it"
    yield from _as_scheduled(folder, path, links)


def _as_scheduled(folder: Folder, path: str, links: dict[tuple[str, str], tuple[str, str]]) -> Iterator[str]:
    """Each cable of the schedule, and no other."""
    scheduled = set()
    for row in table(folder, path.replace("infiniband.net", "cables-compute.csv")):
        near = (row["from"], row["from_port"])
        if near not in links:
            near = (f"{row['from']}:{row['from_port']}", "1")
        scheduled.add(near)
        if links.get(near) != (row["to"], row["to_port"]):
            yield f"{near[0]}[{near[1]}] is cabled to {row['to']}[{row['to_port']}] in the schedule"
    if 2 * len(scheduled) != len(links):
        yield f"{len(links) // 2} cables, {len(scheduled)} in the schedule"


# --- NetBox ---


def _netbox(folder: Folder) -> Iterator[Check]:
    rows = {}
    for name, columns in NETBOX.items():
        path = f"fabric/netbox/{name}.csv"
        if not folder.has(path):
            yield Check(path, JUDGE, "", "own", False, "is missing")
            continue
        wrong = _columns(folder, path, columns)
        rows[name] = [] if wrong else table(folder, path)
        if wrong:
            yield _said(path, wrong, "")
    if len(rows) == len(NETBOX):
        yield from _references(rows)


_REFERENCES = (
    ("03-device-types", "manufacturer", "02-manufacturers", "name"),
    ("05-racks", "site", "01-sites", "name"),
    ("06-devices", "role", "04-device-roles", "name"),
    ("06-devices", "manufacturer", "02-manufacturers", "name"),
    ("06-devices", "device_type", "03-device-types", "model"),
    ("06-devices", "site", "01-sites", "name"),
    ("06-devices", "rack", "05-racks", "name"),
    ("07-interfaces", "device", "06-devices", "name"),
    ("09-ip-addresses", "device", "06-devices", "name"),
    ("10-cables", "side_a_device", "06-devices", "name"),
    ("10-cables", "side_b_device", "06-devices", "name"),
)
_STATUSES = ("planned", "active", "staged", "connected", "")
_UNIQUE = {"01-sites": "slug", "05-racks": "name", "06-devices": "name", "09-ip-addresses": "address"}


def _references(rows: dict[str, list[Row]]) -> Iterator[Check]:
    """What the import would refuse: names that are not there, twice the same, ports cabled twice."""
    interfaces = {(row["device"], row["name"]) for row in rows["07-interfaces"]}
    for name, found in rows.items():
        wrong: list[str] = []
        for own, column, other, key in _REFERENCES:
            if own == name:
                known = {row[key] for row in rows[other]}
                missing = {row[column] for row in found if row[column]} - known
                wrong += [f"{column} {value!r} is not in {other}" for value in sorted(missing)]
        wrong += [f"status {row['status']!r}" for row in found if row.get("status", "") not in _STATUSES]
        if name in _UNIQUE:
            wrong += _twice((row[_UNIQUE[name]] for row in found), _UNIQUE[name])
        if name == "10-cables":
            wrong += _cabled(found, interfaces)
        yield _said(f"fabric/netbox/{name}.csv", wrong, "columns and references of the import")


def _cabled(rows: list[Row], interfaces: set[tuple[str, str]]) -> list[str]:
    ends = [(row[f"side_{s}_device"], row[f"side_{s}_name"]) for row in rows for s in "ab"]
    wrong = [f"{device} has no interface {name}" for device, name in ends if (device, name) not in interfaces]
    return wrong + [f"{device} {name} is cabled {n} times" for (device, name), n in Counter(ends).items() if n > 1]
