"""What the training room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "TRAINING-PLAN-INCONSISTENT",
        "error",
        "The parallel plan asked for cannot be",
        "The dimensions that the spec fixes contradict each other, the model or the machine: their product exceeds the "
        "GPUs, tensor parallelism does not divide the heads or leaves the scale-up domain, pipeline stages outnumber "
        "the layers, expert parallelism does not divide the experts. The figures are "
        "those of the nearest plan that can be.",
    ),
    Code(
        "TRAINING-DOES-NOT-FIT",
        "error",
        "No plan fits the memory of the GPUs",
        "Even the plan with the least memory needs more than 92 % of a GPU's memory, with full recomputation, and "
        "with optimizer state and activations in the memory of the host unless the plan forbids it. "
        "More GPUs, GPUs with more memory, a smaller model or a shorter sequence would fit.",
    ),
    Code(
        "TRAINING-NO-PLAN",
        "error",
        "No parallel plan is legal on these GPUs",
        "No division of the GPUs into tensor, pipeline, context, expert and data parallelism obeys the rules of "
        "docs/concepts/training.md.",
    ),
    Code(
        "TRAINING-BATCH-ROUNDED",
        "info",
        "The global batch is not exactly the one asked for",
        "A step holds a whole number of micro-batches on each data-parallel rank, so the batch is the nearest multiple "
        "of data-parallel ranks x micro-batch. Within 5 % it counts as the batch asked for.",
    ),
    Code(
        "TRAINING-BATCH-FAR",
        "warning",
        "The global batch is far from the one asked for",
        "Too many data-parallel ranks for the batch: the nearest batch that runs differs by more than 5 %, which may "
        "change how the model converges.",
    ),
    Code(
        "TRAINING-GPUS-IDLE",
        "warning",
        "Part of the GPUs has nothing to do in this job",
        "The number of GPUs is not a product that a plan can use, or the batch is too small to feed all of them. The "
        "plan leaves the remainder idle; it can run other work.",
    ),
    Code(
        "TRAINING-OFFLOADED",
        "warning",
        "The plan moves state to the memory of the host, for nothing fits without",
        "Nobody asked for offloading, but no plan fits the memory of the GPUs without it. The host then updates the "
        "weights, or activations cross its link, which takes part of every step. 'offload: none' in the plan refuses.",
    ),
    Code(
        "TRAINING-LOW-UTILISATION",
        "warning",
        "The GPUs work at a low share of their peak",
        "Less than a quarter of the peak goes into model operations. The message names what takes the time.",
    ),
    Code(
        "TRAINING-CALIBRATION",
        "error",
        "The file is no calibration",
        "It cannot be read, is not JSON, names constants that the step-time law does not have, or holds values that "
        "are no positive numbers. 'clusterwright calibrate --out FILE' writes a calibration; a spec names it relative "
        "to its own file.",
    ),
    Code(
        "TRAINING-FRAMEWORK-UNSEEN",
        "info",
        "The framework has no factor in the calibration",
        "No run of it was among those that the constants were fitted to, so the mean of the frameworks is taken. "
        "'clusterwright calibrate --data FILE' gives it one from runs of your own.",
    ),
    Code(
        "TRAINING-ROUTING",
        "risk",
        "Experts are assumed to be evenly loaded",
        "Published runs with natural routing are 8 to 20 % slower than those with forced balance, as the law has it.",
    ),
)
