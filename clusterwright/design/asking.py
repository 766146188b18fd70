"""From the options of an estimate to a spec of one run, and to the one machine that it runs on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clusterwright.catalog import Catalog, Part
from clusterwright.design.candidates import Candidate, servers_for
from clusterwright.design.codes import FINDINGS
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.source import Place
from clusterwright.spec import Spec, read_spec

__all__ = ["DEGREES", "OPTIONS", "flag", "machine_for", "needed", "placed", "round_batch", "spec_of"]

_RUN = "workloads[0].train"
OPTIONS = {
    "model": f"{_RUN}.model",
    "gpu": "compute.accelerators",
    "gpus": "compute.gpus",
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
    "fabric": "fabric.technology",
    "oversubscription": "fabric.oversubscription",
}
"""Where each option of an estimate stands in a spec."""
DEGREES = ("tp", "pp", "cp", "ep", "dp")
_NEEDED = ("model", "gpu", "gpus")
_EXAMPLES = {"model": "--model llama-3-70b", "gpu": "--gpu h100-sxm-80gb", "gpus": "--gpus 1024"}
_BASE = "version: 1\nname: estimate\nworkloads: [{name: run, train: {}}]\n"
_SET = re.compile(r"^--set (.+)$")


def flag(option: str) -> str:
    """An option as it is typed: ``global_batch`` is ``--global-batch``."""
    return f"--{option.replace('_', '-')}"


def needed(asked: Mapping[str, str]) -> list[Finding]:
    """What is missing without which there is nothing to estimate."""
    return [
        FINDINGS["ESTIMATE-MISSING"].at(flag(name), f"{flag(name)} is missing", f"add '{_EXAMPLES[name]}'")
        for name in _NEEDED
        if name not in asked
    ]


def spec_of(asked: Mapping[str, str], sets: Sequence[str], catalog: Catalog) -> Spec:
    """A spec of one run.

    Args:
        asked: option to text, as typed.
        sets: ``path=value`` laid over it.
        catalog: what names are looked up in.

    Raises:
        InputError: with everything that is wrong, each finding at its option.
    """
    texts = {name: _as_written(name, text) for name, text in asked.items()}
    try:
        return read_spec(_BASE, "estimate", [*(f"{OPTIONS[n]}={t}" for n, t in texts.items()), *sets], catalog)
    except InputError as error:
        raise InputError([placed(finding) for finding in error.findings]) from None


def _as_written(name: str, text: str) -> str:
    """As a spec has it: a bare global batch counts sequences, a GPU is a list of one."""
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
    path = re.sub(r"(accelerators)\[0\]$", r"\1", match[1])
    return replace(finding, place=Place(flag(by_path[path]))) if path in by_path else finding


# --- the machine ------------------------------------------------------------------------------------------

_STAND_IN_GPUS = 8
_STAND_IN_RATE = "400 Gb/s"


def machine_for(spec: Spec, catalog: Catalog) -> tuple[Candidate, Catalog, list[Finding]]:
    """The server and the fabric under the run; the catalogue with a stand-in where nobody sells such a server.

    Returns:
        What is built, the catalogue to read it from, and what had to be assumed.
    """
    accelerator = catalog.get("accelerator", (spec.compute.accelerators or [""])[0])
    found: list[Finding] = []
    servers = servers_for(spec, catalog)
    if servers:
        server = servers[0]
    else:
        catalog, server = _stand_in(spec, accelerator, catalog)
        nics = f"{server['nics']:.0f} network cards of {server['nic_rate_bytes_s'] * 8e-9:.0f} Gb/s"
        message = (
            f"the catalogue has no server with {accelerator.name}; {server['gpus']:.0f} of them with {nics} are taken"
        )
        found.append(FINDINGS["ESTIMATE-SERVER-ASSUMED"].at("--gpu", message, "add the server with --overlay FILE"))
    fabric = _fabric(spec, catalog, server)
    candidate = Candidate(server.name, accelerator.name, spec.compute.gpus or 0, 1, fabric.name, "buy")
    return candidate, catalog, found


def _fabric(spec: Spec, catalog: Catalog, server: Part) -> Part:
    """The fabric asked for, or the one whose rate is nearest to the server's cards, lowest latency first."""
    if spec.fabric.technology is not None:
        return catalog.get("fabric", spec.fabric.technology)
    sold = [f for f in catalog.parts("fabric") if "switch" in f and "buy" in f.text("procurement")]
    rate = server["nic_rate_bytes_s"]
    return min(sold, key=lambda f: (abs(f["link_rate_bytes_s"] / rate - 1.0) > 0.01, f["latency_s"], f.name))


def _stand_in(spec: Spec, accelerator: Part, catalog: Catalog) -> tuple[Catalog, Part]:
    """A server of eight accelerators, each with a network card as fast as the fabric."""
    technology = spec.fabric.technology
    rate = _STAND_IN_RATE
    if technology is not None:
        rate = f"{catalog.get('fabric', technology)['link_rate_bytes_s'] * 8e-9:g} Gb/s"
    estimate = {"source": "mem", "status": "estimate", "date": "2025-01"}
    raw = {
        "title": f"stand-in for a server with {accelerator.title}",
        "procurement": {"v": "buy", **estimate},
        "accelerator": {"v": accelerator.name, **estimate},
        "gpus": {"v": _STAND_IN_GPUS, **estimate},
        "nics": {"v": _STAND_IN_GPUS, **estimate},
        "nic_rate": {"v": rate, **estimate},
        "power": {"v": "10 kW", **estimate},
        "units": {"v": 8, **estimate},
        "cooling": {"v": "air", **estimate},
    }
    name = f"stand-in-{accelerator.name}"
    wider = catalog.including("servers", name, raw)
    return wider, wider.get("server", name)
