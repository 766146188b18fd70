"""Our own reading of the HCL and its data: resources, arguments, references, choices, counts."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.terraform.policies import policy
from clusterwright.deploy.targets.terraform.reader import Block, HclError, literal, outside_strings, parse
from clusterwright.deploy.targets.terraform.values import THROUGHPUTS, table

__all__ = ["check", "module", "sites"]

JUDGE = "clusterwright"
_META = {"count", "for_each", "depends_on", "provider"}
_BLOCK_META = {"lifecycle", "dynamic"}
_VARIABLE = {"type", "description", "default", "sensitive", "nullable"}
_BY_HAND = {"account_id", "region", "availability_zone", "ami_id", "admin_blocks"}
"""Variables that the operator's environment may give (TF_VAR_...): they are of the account, not of the design."""
_INFREQUENT = 30


def sites(folder: Folder) -> list[str]:
    """The folders of sites."""
    return sorted({"/".join(path.split("/")[:2]) for path in folder.glob("terraform/*/*")})


def module(folder: Folder, root: str) -> tuple[dict[str, Block], dict[str, str]]:
    """The HCL files of a site, and why some cannot be read."""
    held, wrong = {}, {}
    for path in folder.glob(f"{root}/*.tf"):
        try:
            held[path] = parse(folder.read(path))
        except HclError as error:
            wrong[path] = str(error)
    return held, wrong


def check(folder: Folder) -> Iterator[Check]:
    """Judge every file of the target."""
    for root in sites(folder):
        held, broken = module(folder, root)
        names = _names(held)
        for path in folder.glob(f"{root}/*"):
            if path in broken:
                found = [broken[path]]
            elif path.endswith(".tf"):
                found = list(_file(folder, root, held[path], names))
            elif path.endswith("terraform.tfvars.json"):
                found = list(_data(folder, path, held))
            else:
                found = list(policy(folder, root, path, held))
            yield from (Check(path, JUDGE, "", "own", False, said) for said in found[:5])
            if not found:
                yield Check(path, JUDGE, "", "own", True, "names, arguments, choices, references")


def _names(held: Mapping[str, Block]) -> set[str]:
    """Everything that an expression may refer to: ``var.name``, ``local.hosts``, ``aws_vpc.this``, ``data. ...``."""
    made = {"each", "count", "path.module", "self"}
    for root in held.values():
        for block in root.blocks:
            if block.kind == "variable":
                made.add(f"var.{block.labels[0]}")
            elif block.kind == "locals":
                made |= {f"local.{name}" for name in block.arguments}
            elif block.kind == "resource":
                made.add(".".join(block.labels))
            elif block.kind == "data":
                made.add(".".join(("data", *block.labels)))
    return made


def _file(folder: Folder, root: str, held: Block, names: set[str]) -> Iterator[str]:
    if held.arguments:
        yield f"arguments outside any block: {', '.join(held.arguments)}"
    for block in held.blocks:
        at = " ".join((block.kind, *block.labels))
        if block.kind in ("resource", "data"):
            kind = block.labels[0] if block.kind == "resource" else f"data.{block.labels[0]}"
            known = table("aws").get(kind)
            if known is None or len(block.labels) != 2:
                yield f"{at}: there is no {block.kind} {kind}"
                continue
            yield from (f"{at}: {said}" for said in _arguments(block, known["arguments"], kind, top=True))
        elif block.kind == "variable":
            if extra := set(block.arguments) - _VARIABLE:
                yield f"{at}: no argument {', '.join(sorted(extra))}"
            if "type" not in block.arguments:
                yield f"{at}: has no type"
        elif block.kind == "output" and "value" not in block.arguments:
            yield f"{at}: has no value"
        elif block.kind not in ("terraform", "provider", "locals", "output"):
            yield f"{at}: there is no block of this kind"
        yield from (f"{at}: {said}" for said in _references(folder, root, block, names, frozenset()))
    yield from _pins(held)


def _pins(held: Block) -> Iterator[str]:
    for block in held.all("terraform"):
        for wanted in block.all("required_providers"):
            for name, entry in wanted.arguments.items():
                if not re.search(r'version\s*=\s*"(~>|=)? ?\d+\.\d+', entry):
                    yield f"the provider {name} is not pinned"


def _arguments(block: Block, known: Mapping[str, Any], place: str, top: bool = False) -> Iterator[str]:
    for name, text in block.arguments.items():
        if top and name in _META:
            continue
        entry = known.get(name)
        if entry is None or "block" in entry:
            yield f"{place} has no argument {name}" if entry is None else f"{place}.{name} is a block"
        else:
            yield from _value(f"{place}.{name}", entry, text)
    given = set(block.arguments)
    for inner in block.blocks:
        name, body = inner.kind, inner
        if name in _BLOCK_META and (top or name == "dynamic"):
            if name == "lifecycle":
                continue
            name = inner.labels[0] if inner.labels else ""
            content = list(inner.all("content"))
            if len(content) != 1 or "for_each" not in inner.arguments:
                yield f"{place}: dynamic {name} needs for_each and one content"
                continue
            body = content[0]
        given.add(name)
        entry = known.get(name)
        if entry is None or "block" not in entry:
            yield f"{place} has no block {name}"
        else:
            yield from _arguments(body, entry["block"], f"{place}.{name}")
    if lacking := {name for name, entry in known.items() if entry.get("required")} - given:
        yield f"{place} needs {', '.join(sorted(lacking))}"


def _value(place: str, entry: Mapping[str, Any], text: str) -> Iterator[str]:
    said, choices = literal(text), table("enums").get(place)
    if choices:
        for one in [said] if said is not None else re.findall(r'"([A-Za-z_-]+)"', text) if text[0] == "[" else []:
            if one not in choices:
                yield f"{place} is {one}, not one of {', '.join(choices[:8])}"
    kind = entry.get("type", "string")
    if kind == "number" and said is not None and not re.fullmatch(r"-?\d+(\.\d+)?", said):
        yield f"{place} is {said!r}, no number"
    if kind == "bool" and (said is not None or re.fullmatch(r"[\d.]+", text)):
        yield f"{place} is {text}, not true or false"
    if kind == "list" and (said is not None or text in ("true", "false") or re.fullmatch(r"[\d.]+", text)):
        yield f"{place} is {text}, no list"
    if kind == "string" and text.startswith("["):
        yield f"{place} is a list, not one value"


_REFERENCE = re.compile(
    r"(?<![\w.])(?P<root>var|local|path|each|data\.\w+|aws_\w+)(?:\.(?P<name>\w+))(?:\s*\[[^\]]*\])?(?:\.(?P<attribute>\w+))?"
)


def _references(folder: Folder, root: str, block: Block, names: set[str], scope: frozenset[str]) -> Iterator[str]:
    if "for_each" in block.arguments and block.kind in ("resource", "data"):
        scope |= {"each"}
    for name, text in block.arguments.items():
        bare = outside_strings(text)
        for found in _REFERENCE.finditer(bare):
            yield from _resolved(found, names, scope, block)
        for path in re.findall(r"\$\{path\.module\}/([\w./-]+)", text):
            if not folder.has(f"{root}/{path}"):
                yield f"{name}: there is no file {path}"
    for inner in block.blocks:
        yield from _references(folder, root, inner, names, scope)


def _resolved(found: re.Match[str], names: set[str], scope: frozenset[str], block: Block) -> Iterator[str]:
    kind, name, attribute = found["root"], found["name"], found["attribute"]
    if kind == "each":
        if "each" not in scope and block.kind in ("resource", "data"):
            yield "each is used without for_each"
        return
    if f"{kind}.{name}" not in names:
        yield f"{kind}.{name} is declared nowhere"
    elif kind not in ("var", "local", "path") and attribute:
        known = table("aws").get(kind)
        if known and attribute not in {*known["attributes"], *known["arguments"], "id"}:
            yield f"{kind} has no attribute {attribute}"


# --- data ---


def _data(folder: Folder, path: str, held: Mapping[str, Block]) -> Iterator[str]:
    try:
        data = json.loads(folder.read(path))
    except ValueError as error:
        yield f"is no JSON: {error}"
        return
    if not isinstance(data, dict):
        yield "is no mapping"
        return
    declared = {block.labels[0]: block for root in held.values() for block in root.all("variable")}
    for name in sorted(set(data) - set(declared)):
        yield f"{name} is no variable"
    for name, block in sorted(declared.items()):
        if name not in data and "default" not in block.arguments and name not in _BY_HAND:
            yield f"the variable {name} has no value"
    try:
        yield from _groups(data)
        yield from _ranges(data)
        yield from _rules(data["lifecycle_rules"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        yield f"{type(error).__name__}: {error}"[:160]


def _groups(data: Mapping[str, Any]) -> Iterator[str]:
    instances = {entry["type"]: entry for entry in table("instances").values()}
    hosts = ipaddress.IPv4Network(data["networks"]["hosts"])
    wanted = {
        "role", "count", "first", "gpus", "instance_type", "efa_interfaces", "first_efa_card", "reserved",
        "root_volume_gib", "root_volume_iops", "root_volume_mib_s",
    }  # fmt: skip
    for name, group in data["groups"].items():
        if set(group) != wanted:
            yield f"group {name}: {', '.join(sorted(set(group) ^ wanted))} is missing or unknown"
            continue
        if not isinstance(group["count"], int) or group["count"] < 0:
            yield f"group {name}: count is {group['count']!r}"
            continue
        # AWS keeps the first four addresses of a subnet and the last.
        if group["first"] < 4 or group["first"] + group["count"] > hosts.num_addresses - 1:
            yield f"group {name}: its addresses are outside {hosts}"
        if not re.fullmatch(r"[a-z0-9-]+\.(metal|\d*x?large)(-\d+xl)?", str(group["instance_type"])):
            yield f"group {name}: {group['instance_type']} is no instance type"
        entry = instances.get(group["instance_type"])
        if group["gpus"] and entry is None:
            yield f"group {name}: {group['instance_type']} has no {group['gpus']} accelerators"
        elif entry and (group["gpus"], group["efa_interfaces"]) != (entry["gpus"], entry["efa"]):
            yield f"group {name}: {group['instance_type']} has {entry['gpus']} GPUs and {entry['efa']} EFA, not " + (
                f"{group['gpus']} and {group['efa_interfaces']}"
            )


def _ranges(data: Mapping[str, Any]) -> Iterator[str]:
    networks = data["networks"]
    roofs = [ipaddress.IPv4Network(block) for block in (networks["vpc"], *networks["secondary"])]
    blocks = {name: ipaddress.IPv4Network(networks[name]) for name in ("hosts", "storage", "public")}
    for name, block in blocks.items():
        if not any(block.subnet_of(roof) for roof in roofs):
            yield f"networks.{name}: {block} is outside the VPC"
    if len(blocks) != len({str(block) for block in blocks.values()}):
        yield "two networks have the same block"
    lustre = data["lustre"]
    if lustre is not None:
        if lustre["throughput_mb_s_per_tib"] not in THROUGHPUTS:
            yield f"lustre: {lustre['throughput_mb_s_per_tib']} MB/s per TiB is not sold, but {THROUGHPUTS}"
        if lustre["capacity_gib"] != 1200 and (lustre["capacity_gib"] % 2400 or lustre["capacity_gib"] <= 0):
            yield f"lustre: a capacity of {lustre['capacity_gib']} GiB is no multiple of 2,400"
    budget = data["budget"]
    if not isinstance(budget["monthly_usd"], int | float) or budget["monthly_usd"] <= 0:
        yield f"budget: {budget['monthly_usd']!r} US dollars a month"
    if "@" not in str(budget["contact"]):
        yield f"budget: {budget['contact']!r} is no mail address"
    if not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", str(data.get("region", "us-east-1"))):
        yield f"region: {data['region']!r} is no region of AWS"
    for key, value in data["tags"].items():
        if not re.fullmatch(r"[\w .:/=+@-]{0,256}", str(value)):
            yield f"tags: {key} = {value!r} cannot be a tag"


def _rules(rules: Any) -> Iterator[str]:
    classes = table("enums")["aws_s3_bucket_lifecycle_configuration.rule.transition.storage_class"]
    seen = set()
    for rule in rules:
        at = f"lifecycle {rule['id']}"
        if rule["id"] in seen:
            yield f"{at}: stands twice"
        seen.add(rule["id"])
        days = [step["days"] for step in rule["transitions"]]
        if days != sorted(set(days)):
            yield f"{at}: transitions are not in the order of their days"
        for step in rule["transitions"]:
            if step["storage_class"] not in classes:
                yield f"{at}: there is no storage class {step['storage_class']}"
            if step["storage_class"].endswith("_IA") and step["days"] < _INFREQUENT:
                yield f"{at}: {step['storage_class']} takes objects from day {_INFREQUENT} on, not {step['days']}"
        if rule["expire_days"] and days and rule["expire_days"] <= max(days):
            yield f"{at}: expires on day {rule['expire_days']}, before its last transition"
        if rule["expire_days"] < 0 or rule["noncurrent_days"] <= 0 or rule["abort_upload_days"] <= 0:
            yield f"{at}: days must be above 0"
