"""The laws of training that a person can check by hand: from volumes and rates to step time, MFU and run time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law
from clusterwright.domains.training.memory import SPREAD as SPREAD_MEMORY
from clusterwright.domains.training.physics import CALIBRATION

__all__ = [
    "SPREAD_DENSE",
    "SPREAD_MOE",
    "checkpoint_bytes",
    "cluster_tflops",
    "communication_s",
    "compute_time_s",
    "flop_per_token",
    "memory_bytes",
    "memory_fraction",
    "mfu",
    "moe_step_time_s",
    "offload_s",
    "rate_bound_s",
    "run_flop",
    "scaling_efficiency",
    "step_time_s",
    "steps",
    "tflops_per_gpu",
    "tokens_per_s",
    "weights_bytes",
]

Floats = NDArray[np.float64]

_SOFTWARE = CALIBRATION.spread["software"]
"""A design fixes no release of the software, and names a framework or not."""
SPREAD_DENSE = round(math.expm1(math.hypot(CALIBRATION.spread["dense"], _SOFTWARE)), 3)
"""About 80 % of the published dense runs lie within this share of the law, whole families left out of the fit in turn
and counted alike (docs/reference/accuracy.md)."""
SPREAD_MOE = round(math.expm1(math.hypot(CALIBRATION.spread["moe"], _SOFTWARE)), 3)
"""The same of published mixtures of experts."""

_ROOFLINE = "roofline of the chosen plan (docs/concepts/training.md)"


@law(
    "training.flop_per_token",
    formula="6 x matmul parameters + attention (causal, forward and backward)",
    unit="FLOP",
    source="causal convention: head counted, input embedding and recomputation not (Narayanan 2021, appendix; PaLM)",
)
def flop_per_token(matmul_parameters: Floats, attention_flop: Floats) -> Floats:
    """Model operations of training one token.

    Args:
        matmul_parameters: active weights that multiply a token, with the head, without the input embedding.
        attention_flop: causal attention of one token, forward and backward, all layers.
    """
    return 6.0 * matmul_parameters + attention_flop


@law(
    "training.rate_bound",
    formula="t = volume of a GPU and step / rate reached",
    unit="s",
    source=_ROOFLINE,
)
def rate_bound_s(volume: Floats, rate: Floats) -> Floats:
    """Seconds of a part of the step that one rate bounds: products, attention, element-wise work, optimizer."""
    return volume / rate


@law(
    "training.communication",
    formula="t = bytes that a GPU sends in a step / rate reached x share that computing does not hide",
    unit="s",
    source="ring and tree collectives of the fabric room over the link that the group uses",
)
def communication_s(volume: Floats, rate: Floats, exposed: Floats) -> Floats:
    """Exposed seconds of one kind of communication."""
    return volume / rate * exposed


@law(
    "training.offload",
    formula="max(30 B x parameters / (0.5 x host memory bandwidth), bytes over the link / its rate) "
    "+ transfers that computing does not hide",
    unit="s",
    source="CPU-Adam at 0.46 to 0.53 of the memory bandwidth (Ren 2021, ZeRO-Offload, arXiv:2101.06840, table 4)",
    valid="Adam on the host's processors, no step delayed; 1B to 10B parameters a host were measured",
)
def offload_s(update: Floats, transfer: Floats, shown: Floats) -> Floats:
    """Exposed seconds of what lies in the memory of the host.

    Args:
        update: of the optimizer, on the host.
        transfer: of gradients and weights beside it.
        shown: of transfers behind computing, as far as they are longer than it.
    """
    return np.maximum(update, transfer) + shown


def _sum(parts: list[Floats]) -> Floats:
    return np.sum(parts, axis=0)  # type: ignore[no-any-return]  # numpy types sum as Any


@law(
    "training.step_time",
    formula="products + attention + element-wise + exposed communication + pipeline bubble + optimizer + other",
    unit="s",
    source="sum of the waterfall; spread from 262 published dense runs, whole families left out in turn",
    valid="dense transformers, 0.1B to 1T parameters, 4 to 8,192 GPUs",
    spread=SPREAD_DENSE,
    bounds=(0.0, float("inf")),
)
def step_time_s(parts: list[Floats]) -> Floats:
    """Seconds of one optimizer step of a dense model."""
    return _sum(parts)


@law(
    "training.step_time_moe",
    formula="products + attention + element-wise + exposed communication + pipeline bubble + optimizer + other",
    unit="s",
    source="sum of the waterfall; spread from 70 published mixtures of experts, whole families left out in turn",
    valid="mixtures of experts with balanced routing; natural routing makes the busiest rank about 10 % slower",
    spread=SPREAD_MOE,
    bounds=(0.0, float("inf")),
)
def moe_step_time_s(parts: list[Floats]) -> Floats:
    """Seconds of one optimizer step of a mixture of experts."""
    return _sum(parts)


@law(
    "training.mfu",
    formula="model FLOP of a token x tokens of a step / (step time x GPUs x peak)",
    unit="1",
    source="model FLOP utilisation (Chowdhery 2022, arXiv:2204.02311), causal convention, dense peak",
    bounds=(0.0, 1.0),
)
def mfu(flop_per_token: Floats, batch_tokens: Floats, step_time: Floats, gpus: Floats, peak: Floats) -> Floats:
    """Share of the peak that goes into model operations; recomputation does not count."""
    return flop_per_token * batch_tokens / (step_time * gpus * peak)


@law("training.tflops_per_gpu", formula="MFU x peak / 1e12", unit="TFLOP/s", source="definition of MFU")
def tflops_per_gpu(mfu: Floats, peak: Floats) -> Floats:
    """Model TFLOP/s that one GPU sustains."""
    return mfu * peak / 1e12


@law("training.cluster_tflops", formula="TFLOP/s per GPU x GPUs", unit="TFLOP/s", source="arithmetic")
def cluster_tflops(tflops: Floats, gpus: Floats) -> Floats:
    """Model TFLOP/s of the whole job."""
    return tflops * gpus


@law("training.tokens_per_s", formula="tokens of a step / step time", unit="token/s", source="arithmetic")
def tokens_per_s(batch_tokens: Floats, step_time: Floats) -> Floats:
    """Tokens that the job trains on in a second."""
    return batch_tokens / step_time


@law("training.steps", formula="ceil(tokens / tokens of a step)", unit="1", source="arithmetic", count=True)
def steps(tokens: Floats, batch_tokens: Floats) -> Floats:
    """Optimizer steps of the run."""
    return np.ceil(tokens / batch_tokens - 1e-9)


@law("training.compute_time", formula="steps x step time", unit="s", source="arithmetic; without failures")
def compute_time_s(steps: Floats, step_time: Floats) -> Floats:
    """Time of the run when nothing fails."""
    return steps * step_time


@law("training.flop", formula="model FLOP of a token x tokens", unit="FLOP", source="arithmetic")
def run_flop(flop_per_token: Floats, tokens: Floats) -> Floats:
    """Model operations of the whole run."""
    return flop_per_token * tokens


@law(
    "training.memory",
    formula="weights, gradients and optimizer state + activations in flight + reserve",
    unit="byte",
    source="Korthikanti 2022 (arXiv:2205.05198) with flash attention; ZeRO-1 (Rajbhandari 2020)",
    valid="mean error 6 % on 29 published measurements (docs/reference/accuracy.md)",
    spread=SPREAD_MEMORY,
    bounds=(0.0, float("inf")),
)
def memory_bytes(state: Floats, activations: Floats, reserve: Floats) -> Floats:
    """Bytes on the fullest GPU."""
    return state + activations + reserve


@law("training.memory_fraction", formula="memory needed / memory of the GPU", unit="1", source="arithmetic")
def memory_fraction(memory: Floats, available: Floats) -> Floats:
    """Share of the GPU's memory that the plan fills."""
    return memory / available


@law("training.weights", formula="parameters x 2 bytes", unit="byte", source="BF16 weights")
def weights_bytes(parameters: Floats, bytes_per_parameter: Floats) -> Floats:
    """Bytes of the weights alone."""
    return parameters * bytes_per_parameter


@law(
    "training.checkpoint",
    formula="parameters x bytes saved a parameter (BF16 weight 2 + FP32 master 4 + two Adam moments 8)",
    unit="byte",
    source="Adam with mixed precision (Rajbhandari 2020, ZeRO, section 3.1); gradients are not saved",
)
def checkpoint_bytes(parameters: Floats, bytes_per_parameter: Floats) -> Floats:
    """Bytes of one checkpoint."""
    return parameters * bytes_per_parameter


@law(
    "training.scaling_efficiency",
    formula="tokens/s a GPU / the same on 8, 16, 32 ... GPUs where it is highest, at the same global batch",
    unit="1",
    source="strong scaling, as published fixed-batch studies give it (0.47 to 0.42 MFU from 96 to 4,608 H100)",
    spread=0.06,
    bounds=(0.0, 1.0),
)
def scaling_efficiency(tokens_per_s_per_gpu: Floats, reference_tokens_per_s_per_gpu: Floats) -> Floats:
    """Throughput a GPU relative to the size, no larger, at which a GPU does most.

    Both throughputs come from the same law for the same model, so most of its error cancels; what is left is what
    the same plan differs by between software releases (median 6 % of the published pairs).

    Args:
        tokens_per_s_per_gpu: of the job, by the GPUs that it is given, idle ones included.
        reference_tokens_per_s_per_gpu: the most that a GPU does on 8, 16, 32 ... GPUs; 0 when it fits nowhere.
    """
    known = reference_tokens_per_s_per_gpu > 0
    return np.where(known, tokens_per_s_per_gpu / np.where(known, reference_tokens_per_s_per_gpu, 1.0), 0.0)
