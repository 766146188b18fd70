"""The fabric target: counts as designed, every file accepted, planted faults caught."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, verify
from clusterwright.deploy.judges.opensm import IBSIM, OPENSM
from tests.unit.deploy.conftest import planted


def rows(bundle: Bundle, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(bundle.files[path].text)))


@pytest.fixture(scope="module")
def bundle(worked: Cluster, render_of: Callable[..., Bundle]) -> Bundle:
    return render_of(worked, "fabric")


def test_the_port_map_of_the_worked_example_has_the_cables_of_the_design(bundle: Bundle) -> None:
    """128 + 5 nodes of 8 rails; 34 leaves (32 + 2 for spares) to 32 spines, one cable each."""
    found = rows(bundle, "fabric/main/cables-compute.csv")
    assert sum(row["from"].startswith(("s1-compute", "s1-spare")) for row in found) == 133 * 8
    assert sum(row["from"].startswith("s1-p01-leaf") for row in found) == 34 * 32
    assert {row["rate_gbit_s"] for row in found} == {"400.0"}


def test_rail_k_of_every_node_of_a_scalable_unit_ends_at_leaf_k(bundle: Bundle) -> None:
    ports = [row for row in rows(bundle, "fabric/main/ports.csv") if row["rail"]]
    third = {row["switch"] for row in ports if row["rail"] == "3" and row["host"] <= "s1-compute-0032"}
    assert third == {"s1-p01-leaf-0003"}
    node = {row["port"]: (row["switch"], row["switch_port"]) for row in ports if row["host"] == "s1-compute-0033"}
    assert node["rail-1"] == ("s1-p01-leaf-0009", "1")


def test_host_addresses_are_the_number_of_the_host_in_each_network(bundle: Bundle) -> None:
    """147 hosts make blocks of 1,024; compute starts at 256, so the first node of 10.0.0.0/22 is 10.0.1.0."""
    first = next(row for row in rows(bundle, "fabric/main/hosts.csv") if row["host"] == "s1-compute-0001")
    assert (first["management"], first["bmc"], first["storage"]) == ("10.0.1.0", "10.0.5.0", "10.0.13.0")
    rail = next(row for row in rows(bundle, "fabric/main/ports.csv") if row["host"] == "s1-compute-0002")
    assert rail["address"] == "10.0.17.1"


def test_six_nodes_of_eight_units_fill_a_rack_from_the_bottom(bundle: Bundle) -> None:
    rack = [row for row in rows(bundle, "fabric/main/racks.csv") if row["rack"] == "s1-p01-r02"]
    assert [(row["device"], row["lowest_unit"]) for row in rack] == [
        (f"s1-compute-{n:04d}", str(1 + 8 * k)) for k, n in enumerate(range(7, 13))
    ]


def test_every_device_of_the_netbox_import_has_its_rack_and_type(bundle: Bundle) -> None:
    devices = rows(bundle, "fabric/netbox/06-devices.csv")
    assert len(devices) == 133 + 14 + 86
    assert sum(row["device_type"] == "qm9700" for row in devices) == 66
    assert all(row["rack"] for row in devices)


def test_every_server_beside_compute_is_cabled_out_of_band_and_in_band(bundle: Bundle) -> None:
    """14 servers: system and baseboard controller to access switches, two links to two leaves for storage."""
    others = {row["host"] for row in rows(bundle, "fabric/main/hosts.csv") if row["gpus"] == "0"}
    ports = [row for row in rows(bundle, "fabric/main/ports.csv") if row["host"] in others]
    assert len(others) == 14
    assert {host: sorted(row["port"] for row in ports if row["host"] == host) for host in others} == {
        host: ["bmc", "mgmt", "storage-1", "storage-2"] for host in others
    }
    for row in ports:
        assert row["switch"].startswith("s1-storage-leaf" if row["port"][:7] == "storage" else "s1-management-access")
    leaves = {(row["host"], row["switch"]) for row in ports if row["port"].startswith("storage")}
    assert len(leaves) == 2 * 14
    netbox = rows(bundle, "fabric/netbox/10-cables.csv")
    assert sum(row["side_a_device"] in others for row in netbox) == 4 * 14


def test_a_host_has_the_same_address_in_ports_and_hosts(bundle: Bundle) -> None:
    hosts = {row["host"]: row for row in rows(bundle, "fabric/main/hosts.csv")}
    for row in rows(bundle, "fabric/main/ports.csv"):
        column = {"mgmt": "management", "bmc": "bmc", "storage-1": "storage"}.get(row["port"])
        assert not column or row["address"] == hosts[row["host"]][column]


@pytest.mark.parametrize("design", ["worked", "company", "rack_scale"])
def test_every_file_is_accepted(
    design: str, request: pytest.FixtureRequest, render_of: Callable[..., Bundle], tmp_path: Path
) -> None:
    render_of(request.getfixturevalue(design), "fabric").write(tmp_path / "bundle")
    assert [c for c in verify(tmp_path / "bundle", live=False) if not c.ok or c.level == "none"] == []


needs_opensm = pytest.mark.skipif(
    OPENSM.path is None or IBSIM.path is None, reason=f"OpenSM is not installed: {OPENSM.install}"
)


@needs_opensm
@pytest.mark.parametrize("design", ["worked", "company", "rack_scale"])
def test_opensm_routes_the_designed_fabric_as_a_fat_tree(
    design: str, request: pytest.FixtureRequest, render_of: Callable[..., Bundle], tmp_path: Path
) -> None:
    render_of(request.getfixturevalue(design), "fabric").write(tmp_path / "bundle")
    judged = [c for c in verify(tmp_path / "bundle") if c.judge == "opensm"]
    assert [(c.level, c.ok, c.message) for c in judged] == [("tool", True, "routed as a fat tree, subnet up")]


@needs_opensm
def test_opensm_refuses_two_swapped_cables(bundle: Bundle, tmp_path: Path) -> None:
    """Node 1's rail 1 and leaf 1's first uplink change places at the spine: no fat tree any more."""

    def swap(text: str) -> str:
        text = text.replace('[1]\t"s1-p01-leaf-0001"[1]\n', '[1]\t"s1-p01-spine-0001"[1]\n', 1)
        text = text.replace('[1]\t"s1-compute-0001:1"[1]\n', '[1]\t"X"[0]\n', 1)
        text = text.replace('[1]\t"s1-p01-leaf-0001"[33]\n', '[1]\t"s1-compute-0001:1"[1]\n', 1)
        return text.replace('[1]\t"X"[0]\n', "", 1).replace('[33]\t"s1-p01-spine-0001"[1]\n', "", 1)

    failed = planted(bundle, "fabric/main/infiniband.net", swap, tmp_path / "bundle", live=True)
    assert "opensm" in {check.judge for check in failed}


COMPUTE, PORTS = "fabric/main/cables-compute.csv", "fabric/main/ports.csv"
HOSTS, SWITCHES, RACKS = "fabric/main/hosts.csv", "fabric/main/switches.csv", "fabric/main/racks.csv"
NET, NETBOX = "fabric/main/infiniband.net", "fabric/netbox"
FAULTS = [
    ("cables: a port cabled twice", COMPUTE, ",s1-p01-leaf-0001,s1-p03-r01,1,", ",s1-p01-leaf-0001,s1-p03-r01,2,"),
    ("cables: a switch that is not there", COMPUTE, ",s1-p01-leaf-0001,", ",s1-p01-leaf-9001,"),
    ("cables: a port beyond the switch", COMPUTE, "s1-p03-r01,1,mmf", "s1-p03-r01,99,mmf"),
    ("cables: a rate with a unit", COMPUTE, ",400.0\n", ",400G\n"),
    ("cables: a missing column", COMPUTE, ",rate_gbit_s\n", "\n"),
    ("cables: a missing row", COMPUTE, "s1-compute--s1-p01-leaf,s1-compute-0001,s1-p01-r01,1,", "DELETE"),
    ("hosts: a wrong address", HOSTS, "10.0.1.0", "10.0.1.250"),
    ("hosts: an address outside the network", HOSTS, "10.0.1.0", "10.0.4.0"),
    ("hosts: an address twice", HOSTS, "10.0.1.1,", "10.0.1.0,"),
    ("hosts: another rack", HOSTS, "s1-p01-r01,1,s1-su001", "s1-p01-r02,1,s1-su001"),
    ("hosts: seven GPUs", HOSTS, "compute,8,", "compute,7,"),
    ("hosts: a missing host", HOSTS, "s1-compute-0005,", "DELETE"),
    ("hosts: another scalable unit", HOSTS, "s1-su001", "s1-su002"),
    ("ports: a host that is not there", PORTS, "s1-compute-0001,rail-1", "s1-compute-9999,rail-1"),
    ("ports: another switch port", PORTS, "s1-p01-leaf-0001,1,", "s1-p01-leaf-0001,64,"),
    ("ports: a port twice", PORTS, "s1-compute-0001,rail-2", "s1-compute-0001,rail-1"),
    ("ports: an address twice", PORTS, "10.0.17.1", "10.0.17.0"),
    ("ports: an unknown switch", PORTS, "s1-p01-leaf-0002", "leaf-2"),
    ("switches: more ports used than there are", SWITCHES, ",64,64", ",64,65"),
    ("switches: an address twice", SWITCHES, "10.0.8.17", "10.0.8.16"),
    ("switches: a switch twice", SWITCHES, "s1-p01-leaf-0002", "s1-p01-leaf-0001"),
    ("switches: ports in words", SWITCHES, ",64,64", ",many,64"),
    ("switches: an address outside", SWITCHES, "10.0.8.16", "10.9.8.16"),
    ("racks: overlapping nodes", RACKS, "s1-compute-0002,9,8.0", "s1-compute-0002,5,8.0"),
    ("racks: a device twice", RACKS, "s1-compute-0002,", "s1-compute-0001,"),
    ("racks: an unknown device", RACKS, "s1-compute-0003,", "s1-compute-9003,"),
    ("racks: a height with a unit", RACKS, ",1,8.0", ",1,8U"),
    ("racks: a rack renamed", RACKS, "s1-p01-r03,", "s1-p01-r3,"),
    ("net: one end of a cable moved", NET, '[1]\t"s1-p01-leaf-0001"[1]', '[1]\t"s1-p01-leaf-0002"[1]'),
    ("net: a port beyond the switch", NET, '[33]\t"s1-p01-spine-0001"[1]', '[99]\t"s1-p01-spine-0001"[1]'),
    ("net: a cable left out", NET, '[33]\t"s1-p01-spine-0001"[1]\n', ""),
    ("net: a line that is nothing", NET, "Switch\t64", "switch 64"),
    ("net: a misspelt node", NET, '"s1-compute-0001:1"', '"s1-compute-0001:11"'),
    ("netbox: an unknown role", f"{NETBOX}/06-devices.csv", ",compute,", ",compute-node,"),
    ("netbox: an unknown rack", f"{NETBOX}/06-devices.csv", "s1-p01-r01,1", "rack-1,1"),
    ("netbox: a status that there is not", f"{NETBOX}/05-racks.csv", ",planned,", ",ready,"),
    ("netbox: a column renamed", f"{NETBOX}/10-cables.csv", "side_a_device", "a_device"),
    ("netbox: a cable to no interface", f"{NETBOX}/10-cables.csv", "rail-1,", "rail-9,"),
    ("netbox: a device twice", f"{NETBOX}/06-devices.csv", "s1-compute-0002,", "s1-compute-0001,"),
    ("netbox: an interface of nothing", f"{NETBOX}/07-interfaces.csv", "s1-compute-0001,", "s1-compute-x,"),
    ("netbox: an address twice", f"{NETBOX}/09-ip-addresses.csv", "10.0.1.1/22", "10.0.1.0/22"),
]


def deleted(text: str, start: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(start))


@pytest.mark.parametrize(("fault", "path", "old", "new"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_caught(fault: str, path: str, old: str, new: str, bundle: Bundle, tmp_path: Path) -> None:
    def edit(text: str) -> str:
        return deleted(text, old) if new == "DELETE" else text.replace(old, new, 1)

    assert planted(bundle, path, edit, tmp_path / "bundle", live=False), fault
