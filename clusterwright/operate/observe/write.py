"""A spec from what was observed, and everything that is worth saying about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.domains.scheduling import OWN, SlurmPolicy
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Dump, Leaf
from clusterwright.operate.observe.groups import Group, SpareRule, groups_of
from clusterwright.operate.observe.nodes import plain
from clusterwright.operate.observe.parts import Told, accelerator_of, links_of, server_of
from clusterwright.operate.observe.policy import lost, policy_of
from clusterwright.operate.observe.tenants import Tenant, tenants_of
from clusterwright.source import Place
from clusterwright.spec import SLURM_VERSIONS

__all__ = ["Observation", "describe"]

SCHEMA = "clusterwright/observation/1"
_MOST = 100


@dataclass
class Observation:
    """A cluster as it is.

    Attributes:
        name: of the cluster.
        release: of Slurm; empty where no file says.
        groups: of nodes, the one that the spec describes first.
        accelerator, server: of that one, in the catalogue; empty where it cannot be told.
        leaves: of the topology.
        tenants: of the spec.
        policy: of the scheduler; None where it cannot be told.
        spec: that describes it, as plain data.
        findings: what is worth saying; with an error in it there is no spec to rely on.
    """

    name: str
    release: str
    groups: list[Group]
    accelerator: str
    server: str
    leaves: list[Leaf]
    tenants: list[Tenant]
    policy: SlurmPolicy | None
    spec: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def group(self) -> Group:
        """The group that the spec describes."""
        return self.groups[0]

    @property
    def leaf_sizes(self) -> list[int]:
        """Nodes below each leaf, in the order of the topology."""
        return [len(one.nodes) for one in self.leaves]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "slurm": self.release,
            "groups": [_shown(one) for one in self.groups],
            "accelerator": self.accelerator,
            "server": self.server,
            "leaves": [{"name": one.name, "nodes": len(one.nodes)} for one in self.leaves],
            "tenants": [one.to_dict(-1) for one in self.tenants],
            "policy": None if self.policy is None else asdict(self.policy),
            "spec": self.spec,
            "findings": [one.to_dict() for one in self.findings],
        }


def _shown(one: Group) -> dict[str, Any]:
    return {
        "name": one.name,
        "gpu_type": one.gpu_type,
        "gpus": one.gpus,
        "sockets": one.sockets,
        "cores": one.cores,
        "threads": one.threads,
        "memory_bytes": one.memory_mib << 20,
        "features": list(one.features),
        "nodes": len(one.nodes),
        "spares": len(one.spares),
    }


def describe(
    dump: Dump,
    catalog: Catalog,
    *,
    group: str | None = None,
    spare: SpareRule | None = None,
    sets: Sequence[str] = (),
    base: Mapping[str, Any] | None = None,
) -> Observation:
    """Describe a cluster.

    Args:
        dump: what was read.
        catalog: names of accelerators and servers.
        group: of nodes that the spec describes; the one with the most GPUs when left out.
        spare: how spares are told.
        sets: ``path=value`` that will be laid over the spec; what is said there is not asked for.
        base: a spec over which what was observed is laid: its workloads, sites, prices stay.

    Raises:
        InputError: the dump is wrong, or what must be known cannot be told.
    """
    findings = list(dump.findings)
    groups = groups_of(dump, catalog, spare or SpareRule())
    if not any(one.gpus and one.nodes for one in groups):
        if _errors(findings):
            raise InputError(_errors(findings))
        said = f"{len(dump.nodes)} nodes, none of them with GPUs that run jobs" if dump.nodes else "no nodes"
        findings.append(FINDINGS["OBSERVE-NODES"].at("nodes", said, "scontrol show node, or slurm.conf with gres.conf"))
        raise InputError(_errors(findings))
    groups = _first(groups, group)
    main = groups[0]
    given = {one.partition("=")[0].strip() for one in sets}
    part, server, more = _parts(main, catalog, given, sets)
    findings += more
    findings += _of_groups(main, groups)
    tenants, said_ = tenants_of(dump, main.all_gpus)
    policy, more = policy_of(dump)
    findings += [*said_, *more]
    wrong = _errors(findings)
    if wrong:
        raise InputError(wrong)
    findings += lost(dump, policy, _known(dump, tenants))
    name = dump.setting("ClusterName") or next(iter(dump.clusters), "observed")
    made = Observation(
        name, dump.release, groups, part, server, list(dump.leaves.values()), tenants, policy, findings=findings
    )
    made.spec = _spec(made, catalog, base or {}, findings)
    findings += _unknown(made, catalog, given, base or {})
    return made


def _errors(findings: Sequence[Finding]) -> list[Finding]:
    """What is wrong; of a hundred thousand equal lines the first hundred."""
    wrong = [one for one in findings if one.severity == "error"]
    if len(wrong) > _MOST:
        said = f"and {len(wrong) - _MOST:,} findings more"
        wrong = [*wrong[:_MOST], FINDINGS["OBSERVE-FILE"].at("", said, "make the dump again")]
    return wrong


def _first(groups: list[Group], name: str | None) -> list[Group]:
    """The chosen group, then the others."""
    if name is None:
        chosen = next(one for one in groups if one.gpus and one.nodes)
    else:
        found = [one for one in groups if one.name == name and one.gpus and one.nodes]
        if not found:
            known = ", ".join(one.name for one in groups if one.gpus and one.nodes)
            said = f"no group with GPUs is called '{plain(name)}'"
            raise InputError(FINDINGS["OBSERVE-GROUPS"].at("--group", said, f"groups: {known}"))
        chosen = found[0]
    return [chosen, *(one for one in groups if one is not chosen)]


def _parts(main: Group, catalog: Catalog, given: set[str], sets: Sequence[str]) -> tuple[str, str, list[Finding]]:
    """Accelerator, server, and what is said of them; both empty where the command line says them."""
    place = main.nodes[0].place
    findings: list[Finding] = []
    if "compute.accelerators" in given:
        said = next(one.partition("=")[2] for one in sets if one.partition("=")[0].strip() == "compute.accelerators")
        name = said.strip(" []'\"")
        told = Told(catalog.get("accelerators", name).name if catalog.has("accelerators", name) else "", (), "--set")
    else:
        told = accelerator_of(catalog, main.gpu_type, main.features)
        if not told.name:
            findings.append(_asked(told, main, catalog, place))
    server = Told("", (), "")
    if told.name and "compute.server" not in given:
        server = server_of(catalog, told.name, main.gpus, main.sockets, main.cores, main.memory_mib, main.features)
        if not server.name:
            said = f"the server of {len(main.nodes)} nodes of {main.gpus} GPUs cannot be told: {server.why}"
            hint = f"--set compute.server=NAME, one of {', '.join(server.candidates[:6])}"
            if not server.candidates:
                said = f"the catalogue has no server of {main.gpus} {told.name}; a design will have other nodes"
                hint = "add yours with --overlay FILE"
            findings.append(FINDINGS["OBSERVE-SERVER"].at(place, said, hint))
    return told.name, server.name, findings


def _asked(told: Told, main: Group, catalog: Catalog, place: Place) -> Finding:
    candidates = told.candidates or tuple(catalog.suggest("accelerators", main.gpu_type.partition("+")[0]))
    hint = "--set compute.accelerators=[NAME]"
    if candidates:
        hint += f", one of {', '.join(candidates[:6])}"
    if not told.candidates:
        hint += "; 'clusterwright catalog list accelerators', or add one with --overlay FILE"
    return FINDINGS["OBSERVE-PART"].at(place, plain(told.why, 120), hint)


def _of_groups(main: Group, groups: Sequence[Group]) -> Iterator[Finding]:
    for one in groups[1:]:
        count, gpus = len(one.nodes) + len(one.spares), (len(one.nodes) + len(one.spares)) * one.gpus
        first = (one.nodes or one.spares)[0]
        said = f"{count:,} nodes of group '{plain(one.name)}' ({gpus:,} GPUs) are not in the spec"
        hint = (
            f"--group {plain(one.name)} describes them"
            if one.gpus and one.nodes
            else "a spec has no nodes of that kind"
        )
        yield FINDINGS["OBSERVE-GROUPS"].at(first.place, said, hint)
    if main.spares:
        said = (
            f"{len(main.spares)} of {len(main.nodes) + len(main.spares)} nodes are spares: {', '.join(main.spare_why)}"
        )
    else:
        said = f"none of {len(main.nodes)} nodes is a spare: no feature and no partition says so"
    yield FINDINGS["OBSERVE-SPARES"].at((main.spares or main.nodes)[0].place, said, "--spare says otherwise")


def _known(dump: Dump, tenants: Sequence[Tenant]) -> set[str]:
    own = {f"{one.account.name}{OWN}" for one in tenants} | {one.account.default_qos for one in tenants}
    rendered = any(name.endswith(OWN) for name in dump.qos or ())
    return own | ({"operations", "borrow", "interactive"} if rendered else set())


# --- the spec ---


def _spec(made: Observation, catalog: Catalog, base: Mapping[str, Any], findings: list[Finding]) -> dict[str, Any]:
    main = made.group
    compute: dict[str, Any] = {**_mapping(base.get("compute")), "gpus": main.all_gpus}
    if made.accelerator:
        compute["accelerators"] = [made.accelerator]
    if made.server:
        compute["server"] = made.server
    else:
        compute.pop("server", None)
    spec: dict[str, Any] = {"version": 1, "name": _name(made.name, findings), **_without(base, "version", "name")}
    spec["workloads"] = base.get("workloads") or [_stand_in(made, catalog, findings)]
    spec["compute"] = compute
    spec["scheduler"] = {**_mapping(base.get("scheduler")), "kind": "slurm"}
    spec["reliability"] = {**_mapping(base.get("reliability")), "spares": len(main.spares)}
    if made.tenants:
        spec["tenants"] = [one.to_dict(main.all_gpus) for one in made.tenants]
    release = _release(made.release, findings)
    if release:
        spec["deploy"] = {**_mapping(base.get("deploy")), "slurm": release}
    return {key: value for key, value in spec.items() if value not in ([], {})}


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _without(base: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in base.items() if key not in keys}


def _name(name: str, findings: list[Finding]) -> str:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name):
        return name
    findings.append(
        FINDINGS["OBSERVE-TENANT"].at("name", f"'{plain(name)}' cannot name a spec; it is called 'observed'")
    )
    return "observed"


def _stand_in(made: Observation, catalog: Catalog, findings: list[Finding]) -> dict[str, Any]:
    """A workload that fits the nodes: the spec's grammar wants one, and Slurm knows none."""
    gpus = made.group.all_gpus
    precision = "bf16"
    if made.accelerator:
        peaks = catalog.get("accelerators", made.accelerator).keys()
        precision = next(
            (one for one in ("bf16", "fp16") if any(key.startswith(f"peak_{one}") for key in peaks)), "bf16"
        )
    hint = "write your own in its place, or --base SPEC"
    said = "what the cluster is for is not known: the workload 'stand-in' trains llama-3-8b on all GPUs"
    findings.append(FINDINGS["OBSERVE-WORKLOAD"].at("workloads", said, hint))
    tokens = f"{min(1000, 2 * gpus):d}e9"
    return {"name": "stand-in", "train": {"model": "llama-3-8b", "tokens": float(tokens), "precision": precision}}


def _release(observed: str, findings: list[Finding]) -> str:
    """The release of ours that is not above the observed one."""
    found = re.match(r"(\d\d)\.(\d\d)", observed)
    if not found:
        findings.append(FINDINGS["OBSERVE-UNKNOWN"].at("deploy.slurm", "no file tells which release of Slurm runs"))
        return ""
    release = found.group(0)
    older = [one for one in SLURM_VERSIONS if one <= release]
    chosen = older[-1] if older else SLURM_VERSIONS[0]
    if chosen != release:
        said = f"Slurm {observed} runs; files are written for {chosen}"
        findings.append(FINDINGS["OBSERVE-LEFT-OUT"].at("deploy.slurm", said))
    return chosen


def _unknown(made: Observation, catalog: Catalog, given: set[str], base: Mapping[str, Any]) -> Iterator[Finding]:
    sizes = Counter(made.leaf_sizes)
    if made.leaves:
        told = ", ".join(f"{count} of {size} nodes" for size, count in sorted(sizes.items(), reverse=True))
        said = f"{len(made.leaves)} leaves: {told}; a spec does not say how large leaves are"
        hint = "compare with 'clusterwright design': its leaves follow from switch and topology"
        yield FINDINGS["OBSERVE-LEFT-OUT"].at(made.leaves[0].place, said, hint)
    else:
        yield FINDINGS["OBSERVE-UNKNOWN"].at("fabric.topology", "no file tells of leaves", "scontrol show topology")
    feature, technologies = links_of(catalog, made.group.features)
    links = f"--set fabric.technology={'NAME, one of ' if technologies[1:] else ''}"
    links += ", ".join(technologies) or "infiniband-ndr"
    for path, what, hint in (
        ("fabric.technology", f"links and switches{feature and f' (feature {feature!r})'}", links),
        ("storage", "storage tiers", "--set storage.parallel=lustre"),
        ("sites", "place, racks, power and cooling", "--set sites[0].region=us-east"),
        ("finance", "how it was paid for", "--set finance.procurement=[buy]"),
    ):
        section = path.partition(".")[0]
        if not any(one.startswith(section) for one in given) and not base.get(section):
            yield FINDINGS["OBSERVE-UNKNOWN"].at(path, f"Slurm does not know {what}: left to the design", hint)
