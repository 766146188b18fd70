"""From the options of an estimate to a spec of one run, and to the one machine that it runs on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clusterwright.catalog import Catalog, Part, PartNotFound
from clusterwright.design.candidates import Candidate, nearest_sold, with_switches
from clusterwright.design.codes import FINDINGS
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.source import Place
from clusterwright.spec import PRECISIONS, Spec, read_spec

__all__ = ["DEGREES", "OPTIONS", "flag", "machine_for", "needed", "peakless", "placed", "round_batch", "spec_of"]

_RUN = "workloads[0].train"
OPTIONS = {
    "model": f"{_RUN}.model",
    "gpus": f"{_RUN}.gpus",
    "tokens": f"{_RUN}.tokens",
    "sequence": f"{_RUN}.sequence",
    "global_batch": f"{_RUN}.global_batch",
    "precision": f"{_RUN}.precision",
    "tp": f"{_RUN}.plan.tp",
    "pp": f"{_RUN}.plan.pp",
    "cp": f"{_RUN}.plan.cp",
    "ep": f"{_RUN}.plan.ep",
    "dp": f"{_RUN}.plan.dp",
    "micro_batch": f"{_RUN}.plan.micro_batch",
    "recompute": f"{_RUN}.plan.recompute",
    "framework": f"{_RUN}.framework",
    "calibration": "calibration",
    "interleave": f"{_RUN}.plan.interleave",
    "schedule": f"{_RUN}.plan.schedule",
    "sharding": f"{_RUN}.plan.sharding",
    "shard_group": f"{_RUN}.plan.shard_group",
    "offload": f"{_RUN}.plan.offload",
    "fabric": "fabric.technology",
    "oversubscription": "fabric.oversubscription",
}
"""Where each option of an estimate stands in a spec; the accelerator is looked up in the catalogue."""
DEGREES = ("tp", "pp", "cp", "ep", "dp")
_NEEDED = ("model", "gpu", "gpus")
_EXAMPLES = {"model": "--model llama-3-70b", "gpu": "--gpu h100-sxm-80gb", "gpus": "--gpus 1024"}
_BASE = "version: 1\nname: estimate\nworkloads: [{name: run, train: {}}]\n"
_SET = re.compile(r"^--set (.+)$")


def flag(option: str) -> str:
    """An option as it is typed: ``global_batch`` is ``--global-batch``."""
    return f"--{option.replace('_', '-')}"


def needed(asked: Mapping[str, str], catalog: Catalog) -> list[Finding]:
    """What is missing without which there is nothing to estimate, and an accelerator that nobody knows."""
    found = [
        FINDINGS["ESTIMATE-MISSING"].at(flag(name), f"{flag(name)} is missing", f"add '{_EXAMPLES[name]}'")
        for name in _NEEDED
        if name not in asked
    ]
    if "gpu" in asked:
        try:
            catalog.get("accelerator", asked["gpu"])
        except PartNotFound as error:
            found += [replace(finding, place="--gpu") for finding in error.findings]
    return found


def peakless(accelerator: Part, precision: str) -> list[Finding]:
    """An accelerator without a published peak at the precision of the run."""
    if f"peak_{precision}_flops" in accelerator:
        return []
    has = [p for p in PRECISIONS if f"peak_{p}_flops" in accelerator]
    message = f"{accelerator.name} has no published peak in {precision}"
    return [FINDINGS["ESTIMATE-NO-PEAK"].at("--precision", message, f"it has {', '.join(has) or 'none that trains'}")]


def spec_of(asked: Mapping[str, str], sets: Sequence[str], catalog: Catalog) -> Spec:
    """A spec of one run.

    Args:
        asked: option to text, as typed.
        sets: ``path=value`` laid over it.
        catalog: what names are looked up in.

    Raises:
        InputError: with everything that is wrong, each finding at its option.
    """
    texts = {name: _as_written(name, text) for name, text in asked.items() if name in OPTIONS}
    try:
        return read_spec(_BASE, "estimate", [*(f"{OPTIONS[n]}={t}" for n, t in texts.items()), *sets], catalog)
    except InputError as error:
        raise InputError([placed(finding) for finding in error.findings]) from None


def _as_written(name: str, text: str) -> str:
    """As a spec has it: a bare global batch counts sequences."""
    if name == "global_batch" and re.fullmatch(r"\s*[\d_,.eE+]+\s*", text):
        return f"{text.strip()} sequences"
    return text


def round_batch(spec: Spec) -> str | None:
    """A batch for a run that names none: the power of two of sequences nearest to what the spec takes; else None."""
    train = spec.workloads[0].train
    if train is None or train.asked_batch is not None:
        return None
    return f"{2 ** round(math.log2(train.global_batch_sequences))} sequences"


def placed(finding: Finding) -> Finding:
    """A finding about a path of the spec, at the option that says it."""
    match = _SET.match(str(finding.place))
    by_path = {path: name for name, path in OPTIONS.items()}
    if match is None:
        written = re.match(r"estimate(:\d+:\d+)?$", str(finding.place))  # a default; nobody wrote it anywhere
        return replace(finding, place="") if written else finding
    return replace(finding, place=Place(flag(by_path[match[1]]))) if match[1] in by_path else finding


# --- the machine ------------------------------------------------------------------------------------------

_STAND_IN_GPUS = 8
_STAND_IN_RATE = "400 Gb/s"
_COMPLETE = ("power_w", "gpus", "units", "nics", "nic_rate_bytes_s")
_ESTIMATE = {"source": "mem", "status": "estimate", "date": "2025-01"}


def machine_for(asked: Mapping[str, str], spec: Spec, catalog: Catalog) -> tuple[Candidate, Catalog, list[Finding]]:
    """The server and the fabric under the run; the catalogue with a stand-in where nobody sells such a server.

    Returns:
        What is built, the catalogue to read it from, and what had to be assumed.
    """
    accelerator, gpus = catalog.get("accelerator", asked["gpu"]), int(float(asked["gpus"]))
    found: list[Finding] = []
    server = _server(spec, catalog, accelerator)
    if server is None:
        catalog, server = _stand_in(spec, accelerator, catalog)
        nics = f"{server['nics']:.0f} network cards of {server['nic_rate_bytes_s'] * 8e-9:.0f} Gb/s"
        message = f"the catalogue has no complete server with {accelerator.name}; eight of them with {nics} are taken"
        found.append(FINDINGS["ESTIMATE-SERVER-ASSUMED"].at("--gpu", message, "add the server with --overlay FILE"))
    catalog, fabric = _fabric(spec, catalog, server)
    whole = math.ceil(gpus / server["gpus"]) * int(server["gpus"])
    return Candidate(server.name, accelerator.name, whole, 1, fabric, "buy"), catalog, found


def _server(spec: Spec, catalog: Catalog, accelerator: Part) -> Part | None:
    """The server asked for, or the first that carries the accelerator and whose data are complete; sold ones first."""
    if spec.compute.server is not None:
        server = catalog.get("server", spec.compute.server)
        if server.text("accelerator") != accelerator.name:
            message = f"{server.name} carries {server.text('accelerator')}, not {accelerator.name}"
            raise InputError(FINDINGS["ESTIMATE-SERVER-DIFFERS"].at("--gpu", message, "name another server or none"))
        return server
    carrying = [s for s in catalog.parts("server") if s.text("accelerator") == accelerator.name]
    complete = [s for s in carrying if all(s.get(key, None) is not None for key in _COMPLETE)]
    return min(complete, key=lambda s: "buy" not in s.text("procurement"), default=None)


def _fabric(spec: Spec, catalog: Catalog, server: Part) -> tuple[Catalog, str]:
    """The fabric asked for, or the one whose rate is nearest to the server's cards, lowest latency first.

    A fabric that is only rented has no switches and cables of its own; those of the one nearest in rate stand in, as
    an estimate needs its links only.
    """
    named = catalog.get("fabric", spec.fabric.technology) if spec.fabric.technology is not None else None
    if named is None:
        return catalog, nearest_sold(server["nic_rate_bytes_s"], catalog).name
    nearest = with_switches(named, catalog)
    if nearest is named:
        return catalog, named.name
    lacking = {key: value for key, value in nearest.raw.items() if key not in named.raw}
    return catalog.including("fabrics", named.name, lacking), named.name


def _stand_in(spec: Spec, accelerator: Part, catalog: Catalog) -> tuple[Catalog, Part]:
    """A server of eight accelerators, each with a network card as fast as the fabric."""
    technology = spec.fabric.technology
    rate = _STAND_IN_RATE
    if technology is not None:
        rate = f"{catalog.get('fabric', technology)['link_rate_bytes_s'] * 8e-9:g} Gb/s"
    values = {"procurement": "buy", "accelerator": accelerator.name, "gpus": _STAND_IN_GPUS, "nics": _STAND_IN_GPUS}
    values |= {"nic_rate": rate, "power": "10 kW", "units": 8, "cooling": "air"}
    raw = {key: {"v": value, **_ESTIMATE} for key, value in values.items()}
    name = f"stand-in-{accelerator.name}"
    wider = catalog.including("servers", name, {"title": f"stand-in for a server with {accelerator.title}", **raw})
    return wider, wider.get("server", name)
