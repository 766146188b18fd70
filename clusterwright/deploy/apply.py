"""Carry a saved plan out: what is deployed becomes the bundle, whole or not at all."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from clusterwright.cluster import write_run
from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.judges.programs import Judged
from clusterwright.deploy.plan import Plan, drift, state_of
from clusterwright.errors import InputError, WorldError

__all__ = ["apply_plan", "recheck"]

_TAKE_S = 3600.0


def recheck(plan: Plan) -> None:
    """Whether both sides are still what the plan was made from.

    Raises:
        InputError: the bundle or what is deployed has changed since.
    """
    wrong = drift(Path(plan.deployed)) if plan.deployed_sha256 else []
    for path, digest, side in (
        (plan.bundle, plan.bundle_sha256, "the bundle"),
        (plan.deployed, plan.deployed_sha256, "what is deployed"),
    ):
        if state_of(Path(path)) != digest:
            said = f"{side} has changed since the plan was made"
            wrong.append(FINDINGS["DEPLOY-PLAN-STALE"].at(path, said, "plan again"))
    if state_of(Path(plan.bundle)) == plan.bundle_sha256 and plan.bundle_sha256:
        edited = Folder.open(Path(plan.bundle)).changed()
        hint = "change the design and render again"
        wrong += [FINDINGS["DEPLOY-FILE-CHANGED"].at(f"{plan.bundle}/{path}", what, hint) for path, what in edited]
    if wrong:
        raise InputError(wrong)


def apply_plan(plan: Plan, take: Sequence[str] = ()) -> str:
    """Make what is deployed equal to the bundle, and let the running cluster take it over.

    Args:
        plan: that is still true.
        take: program and arguments of the site that make the running cluster take the files over.

    Returns:
        what the cluster said of it.

    Raises:
        InputError: the plan is out of date, or somebody changed what is deployed.
        WorldError: it cannot be written; then nothing was changed.
    """
    recheck(plan)
    bundle = Folder.open(Path(plan.bundle))
    try:
        files = {path: (bundle.root / path).read_bytes() for path in bundle.paths}
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise WorldError(FINDINGS["DEPLOY-NOT-A-BUNDLE"].at(plan.bundle, said)) from None
    about = {key: value for key, value in bundle.manifest.items() if key != "files"}
    write_run(Path(plan.deployed), files, about, [p for p in about.get("programs", []) if p in files])
    if not take:
        return ""
    done = _called(take, _TAKE_S)
    if done.code:
        hint = f"the files are written; mend what it says, then run: {' '.join(take)}"
        raise WorldError(FINDINGS["DEPLOY-TAKE"].at(plan.deployed, f"the cluster did not take them: {done.text}", hint))
    return done.text


def _called(words: Sequence[str], seconds: float) -> Judged:
    """A program of the site, with the caller's environment."""
    try:
        done = subprocess.run(
            list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
            check=False, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Judged(124, f"no answer within {seconds:g} s")
    except OSError as error:
        return Judged(126, str(error.strerror or error))
    return Judged(done.returncode, done.stdout.strip()[-2000:])
