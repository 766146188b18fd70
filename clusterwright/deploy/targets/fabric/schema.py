"""The columns of every table that the target writes; NetBox's are those of its own import forms (v4)."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NETBOX", "TABLES"]

TABLES: Mapping[str, tuple[str, ...]] = {
    "cables": ("bundle", "from", "from_rack", "from_port", "to", "to_rack", "to_port", "medium", "rate_gbit_s"),
    "hosts": ("host", "role", "gpus", "rack", "unit", "scalable_unit", "management", "bmc", "storage"),
    "ports": ("host", "port", "rail", "switch", "switch_port", "address"),
    "switches": ("switch", "network", "tier", "model", "rack", "management", "ports", "ports_used"),
    "racks": ("rack", "pod", "kind", "cooling", "power_w", "weight_kg", "device", "lowest_unit", "units"),
}
"""Name of a table -> its columns. Ports count from 1, rates are of one direction."""
NETBOX: Mapping[str, tuple[str, ...]] = {
    "01-sites": ("name", "slug", "status", "region"),
    "02-manufacturers": ("name", "slug"),
    "03-device-types": ("manufacturer", "model", "slug", "u_height", "is_full_depth"),
    "04-device-roles": ("name", "slug", "color"),
    "05-racks": ("site", "name", "status", "u_height", "max_weight", "weight_unit"),
    "06-devices": ("name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face"),
    "07-interfaces": ("device", "name", "type", "mgmt_only"),
    "08-prefixes": ("prefix", "status", "scope_type", "scope_id", "description"),
    "09-ip-addresses": ("address", "status", "dns_name", "device", "interface", "is_primary"),
    "10-cables": (
        "side_a_device",
        "side_a_type",
        "side_a_name",
        "side_b_device",
        "side_b_type",
        "side_b_name",
        "type",
        "status",
        "label",
    ),
}
"""File of the NetBox import, in the order of import -> the columns that its form takes."""
