"""``clusterwright estimate``: what a run makes of a machine, without designing a cluster around it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterwright.cli.streams import (
    emit,
    open_catalog,
    output_options,
    overlay_option,
    say,
    set_option,
    wants_color,
)
from clusterwright.errors import EXIT_NO

__all__ = ["command"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
MOST_PLANS = 8


@click.group()
def command() -> None:
    """Estimate one run on one kind of machine.

    The laws are those that a design uses; nothing is designed around the run and nothing is written.
    """


_OPTIONS = (
    ("model", "NAME", "Model of the catalogue, or {layers: 80, hidden: 8192, ...}."),
    ("gpu", "NAME", "Accelerator of the catalogue, such as h100-sxm-80gb."),
    ("gpus", "COUNT", "How many."),
    ("sequence", "TOKENS", "Tokens of a sequence; 8192 when left out."),
    ("global-batch", "COUNT", "Sequences of a step, or '4M tokens', which is taken when left out."),
    ("precision", "WORD", "Of the matrix products: bf16 (when left out), fp8, nvfp4, fp16 ..."),
    ("tp", "DEGREE", "Tensor parallelism; searched when left out, as the other degrees are."),
    ("pp", "DEGREE", "Pipeline parallelism."),
    ("cp", "DEGREE", "Context parallelism."),
    ("ep", "DEGREE", "Expert parallelism."),
    ("dp", "DEGREE", "Data parallelism."),
    ("micro-batch", "COUNT", "Sequences of a micro-batch."),
    ("recompute", "WORD", "none, selective, full, or auto: the least that fits."),
    ("framework", "NAME", "Software whose factor of the calibration is taken; the mean when left out."),
    ("calibration", "FILE", "Constants of 'calibrate --out', not ours."),
    ("interleave", "CHUNKS", "Model chunks on a pipeline stage; 1 for none."),
    ("schedule", "WORD", "Of the pipeline: 1f1b, interleaved, zero-bubble; auto: one of the first two."),
    ("sharding", "WORD", "What data-parallel ranks share out: zero-0 ... zero-3, fsdp, hsdp; auto: zero-1."),
    ("shard-group", "RANKS", "Ranks that share out among themselves with hsdp."),
    ("offload", "WORD", "To the host: none, optimizer, activations, both; auto: none unless nothing fits."),
    ("fabric", "NAME", "Link technology; that of the server's network cards when left out."),
    ("oversubscription", "RATIO", "Of the fabric, such as 2:1."),
    ("tokens", "COUNT", "Tokens of the run, such as 1e12; 20 a parameter when left out."),
)


def _asking(function: _Command) -> _Command:
    """Every option that says what is run and on what."""
    for name, metavar, text in reversed(_OPTIONS):
        function = click.option(f"--{name}", metavar=metavar, help=text)(function)
    return function


@command.command()
@_asking
@click.option(
    "--top", type=click.IntRange(1, MOST_PLANS), default=MOST_PLANS, show_default=True, help="Plans that fit to show."
)
@click.option(
    "--what-if",
    "changes",
    multiple=True,
    metavar="KNOB=VALUE",
    help="Also work out a change: micro_batch=2, gpus=2x, tp=4,pp=8, accelerator.memory_bytes=1.5x; repeatable.",
)
@click.option("--measured", metavar="TIME", help="Your measured step, '38 % MFU' or '1.2M tokens/s': explain the gap.")
@click.option(
    "--flags",
    "launcher",
    type=click.Choice(["megatron", "megatron-bridge", "deepspeed", "torchtitan"]),
    help="Also print the launch flags of the plan.",
)
@output_options("table", "json", "yaml", "csv")
@set_option
@overlay_option
@click.pass_context
def train(
    ctx: click.Context,
    /,
    top: int,
    changes: tuple[str, ...],
    measured: str | None,
    launcher: str | None,
    output: str,
    sets: tuple[str, ...],
    overlays: tuple[Path, ...],
    **options: str | None,
) -> None:
    """Estimate a training run: step time, MFU, memory, the best plans and why the others lose.

    \b
    clusterwright estimate train --model llama-3-70b --gpu h100-sxm-80gb --gpus 1024
    clusterwright estimate train --model llama-3-70b --gpu h100 --gpus 1024 --tp 8 --pp 8 --measured 4.9s

    The plan is searched unless degrees are given. A plan that cannot be is refused with the nearest ones that can
    (exit code 2). Exit code 1 when no plan fits the memory.
    """
    from clusterwright.design import attribute, estimate, estimate_document, launch, measured_step_s, what_if

    catalog = open_catalog(overlays)
    asked = {name: value for name, value in options.items() if value is not None}
    run = estimate(asked, catalog, sets)
    document = estimate_document(
        run,
        top=top,
        what_ifs=what_if(run, changes),
        attribution=attribute(run, measured_step_s(measured, run)) if measured else None,
        launched=launch(run, launcher) if launcher else None,
    )

    def show() -> None:
        from clusterwright.report import estimate_text

        click.echo(estimate_text(document, color=True), color=wants_color())

    emit(document, output, document["plans"], show)
    say(run.cluster.worst_first())
    if not run.fits:
        ctx.exit(EXIT_NO)
