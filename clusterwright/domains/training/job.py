"""From a workload of the spec to what the plan search needs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from clusterwright.domains.training.findings import FINDINGS
from clusterwright.domains.training.options import Asked, Job
from clusterwright.domains.training.physics import CALIBRATION, Calibration, calibration_of
from clusterwright.domains.training.shape import shape_of
from clusterwright.domains.training.software import MODERN
from clusterwright.errors import InputError
from clusterwright.source import Place, Problem, read_bytes
from clusterwright.spec import Spec, Train

__all__ = ["asked_of", "calibration_for", "factor_of", "job_of", "places_of", "read_calibration"]


def job_of(train: Train, calibration: Calibration = CALIBRATION, accelerator: str = "") -> Job:
    """The model, sequence and wished batch, with the constants of a calibration and its factor of the framework.

    Args:
        train: of the spec.
        calibration: constants, and what they leave open.
        accelerator: that it runs on, where one is chosen: the interval is wider where no run of the fit was on it.
    """
    job = Job(shape_of(train.architecture), int(train.sequence), float(train.global_batch_sequences))
    factor = factor_of(calibration, train.framework)
    software = replace(MODERN, factor=factor or 1.0)
    unseen = calibration.unseen(accelerator)
    if calibration is CALIBRATION and not unseen:
        return replace(job, software=software)
    kind = "moe" if job.shape.moe_layers else "dense"
    usual = {**CALIBRATION.spread, **calibration.spread}
    # the shipped constants are a mean of frameworks and releases, which a design does not fix
    open_software = 0.0 if factor and calibration is not CALIBRATION else usual["software"]
    spread = math.expm1(math.hypot(usual[kind], open_software, unseen))
    why = f"no run of the fit was on {accelerator}" if unseen else "of the calibration"
    return replace(job, physics=calibration.physics, software=software, spread=spread, spread_of=why)


def factor_of(calibration: Calibration, framework: str | None) -> float | None:
    """Step time of a framework relative to the mean one, whatever the case of its letters; None where it has none."""
    factors = {name.lower(): factor for name, factor in calibration.factors.items()}
    return factors.get((framework or "").lower())


def calibration_for(spec: Spec) -> Calibration:
    """The calibration that a spec names, relative to its file; the shipped one where it names none.

    Raises:
        InputError: the file cannot be read or is no calibration.
    """
    if spec.calibration is None:
        return CALIBRATION
    return read_calibration(Path(spec.file).parent / spec.calibration, spec.place("calibration"))


def read_calibration(path: Path, place: Place | None = None) -> Calibration:
    """A calibration as ``calibrate --out`` writes it.

    Args:
        path: of the file.
        place: where somebody named it; the file itself when left out.

    Raises:
        InputError: the file cannot be read or is no calibration.
    """
    data = read_bytes(path)
    if isinstance(data, Problem):
        message = data.message if place is None else f"{path} {data.message}"
        raise InputError(FINDINGS["TRAINING-CALIBRATION"].at(place or data.place, message, data.hint))
    try:
        return calibration_of(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = error.args[0] if isinstance(error, KeyError) and error.args else error
        message = f"is no calibration: {said}" if place is None else f"{path} is no calibration: {said}"
        hint = "'clusterwright calibrate --out FILE' writes one"
        raise InputError(FINDINGS["TRAINING-CALIBRATION"].at(place or Place(str(path)), message, hint)) from None


def asked_of(train: Train) -> Asked:
    """The dimensions that the spec fixes."""
    plan = train.plan
    if plan is None:
        return Asked()
    degrees = plan.tp, plan.pp, plan.cp, plan.ep, plan.dp, plan.micro_batch, plan.interleave
    return Asked(*degrees, plan.schedule, plan.sharding, plan.shard_group, plan.offload)


def places_of(spec: Spec, j: int) -> dict[str, str]:
    """Where the spec says what it says of workload ``j``."""
    return {key: str(spec.place(f"workloads[{j}].train.{key}")) for key in ("tokens", "gpus", "plan", "global_batch")}
