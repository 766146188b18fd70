"""Putting the kept plan into the frame: its dimensions, volumes and rates, and the figures derived from them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clusterwright.cluster import Frame, Provenance, assumed, chosen
from clusterwright.domains.training import performance as laws
from clusterwright.domains.training.choice import Chosen
from clusterwright.domains.training.machine import Fleet
from clusterwright.domains.training.memory import (
    CHECKPOINT_BYTES,
    RESERVE_BYTES,
    USABLE_FRACTION,
    WEIGHT_BYTES,
    memory_of,
)
from clusterwright.domains.training.offload import link_bytes
from clusterwright.domains.training.options import Job
from clusterwright.domains.training.plans import FULL
from clusterwright.domains.training.step import Step, step_of
from clusterwright.domains.training.traffic import Flow

__all__ = ["Record", "Scale", "put_model"]

Floats = NDArray[np.float64]

_DIMENSIONS = ("tp", "pp", "dp", "cp", "ep", "interleave", "micro_batch", "micro_batches", "recompute")
_FLOWS = ("tp", "cp", "ep", "pp", "dp")


@dataclass(frozen=True)
class Scale:
    """A number of GPUs and the throughput of one of them, shape (U,); 0 where the job does not fit."""

    gpus: Floats
    tokens_per_s_per_gpu: Floats


def put_model(frame: Frame, at: str, job: Job, tokens: float, origin: dict[str, Provenance]) -> None:
    """What the model and the spec give: parameters, operations a token, tokens, bytes of state.

    Args:
        frame: receives the figures.
        at: ``training[j]``.
        job: the model, sequence and batch.
        tokens: of the run.
        origin: of ``model`` and ``tokens``.
    """
    shape = job.shape
    frame.give(f"{at}.parameters", shape.parameters, origin["model"], count=True)
    frame.give(f"{at}.matmul_parameters", shape.matmul_parameters, origin["model"], count=True)
    attention = 3.0 * shape.layers * shape.attention_flop(job.sequence) / job.sequence
    attention = attention + 3.0 * shape.state_layers * shape.scan_flop
    frame.give(f"{at}.attention_flop_per_token", attention, origin["model"])
    frame.give(f"{at}.tokens", tokens, origin["tokens"], count=True)
    frame.derive(
        f"{at}.flop_per_token",
        laws.flop_per_token,
        matmul_parameters=f"{at}.matmul_parameters",
        attention_flop=f"{at}.attention_flop_per_token",
    )
    frame.derive(f"{at}.flop", laws.run_flop, flop_per_token=f"{at}.flop_per_token", tokens=f"{at}.tokens")
    frame.give(f"{at}.weight_bytes_per_parameter", WEIGHT_BYTES, assumed("weights are kept in BF16"))
    why = "BF16 weight 2, FP32 master 4, two Adam moments 8; 12 where weights are rebuilt, 16 with FP32 gradients"
    frame.give(f"{at}.checkpoint_bytes_per_parameter", CHECKPOINT_BYTES, assumed(why), low=12.0, high=16.0)
    for path, law, each in (
        ("weights_bytes", laws.weights_bytes, "weight_bytes_per_parameter"),
        ("checkpoint_bytes", laws.checkpoint_bytes, "checkpoint_bytes_per_parameter"),
    ):
        frame.derive(f"{at}.{path}", law, parameters=f"{at}.parameters", bytes_per_parameter=f"{at}.{each}")


class Record:
    """Writes the kept plans of the distinct machines into the frame, candidate by candidate.

    Attributes:
        step: parts of the step of each distinct machine, shape (U,).
    """

    def __init__(self, frame: Frame, at: str, job: Job, fleet: Fleet, kept: Chosen) -> None:
        self.frame, self.at, self.job, self.fleet, self.kept = frame, at, job, fleet, kept
        self.factor = float(job.software.factor)
        self.step, self.traffic = step_of(job.runs(kept.plans, fleet.machines))

    def put_plan(self) -> None:
        """The dimensions of the kept plan, its memory, and the volumes, rates and parts of its step."""
        plan = chosen("the fastest legal plan that fits the memory; the plans it beat are listed with the reasons")
        plans = self.kept.plans
        for name in _DIMENSIONS:
            self._give(name, getattr(plans, name), plan, count=True)
        self._give("gpus", plans.gpus, plan, count=True)
        self._give("batch_tokens", plans.batch * self.job.sequence, plan, count=True)
        self._give("fits", self.kept.fits.astype(np.float64), plan, count=True)
        self._put_memory()
        self._put_step()

    def put_figures(self, scale: Scale) -> None:
        """MFU, throughput and run time from the step time; scaling efficiency against ``scale``."""
        at, derive = self.at, self.frame.derive
        tokens, time, gpus, peak = f"{at}.batch_tokens", f"{at}.step_time_s", f"{at}.gpus", f"{at}.peak_flops"
        each = f"{at}.flop_per_token"
        derive(f"{at}.mfu", laws.mfu, flop_per_token=each, batch_tokens=tokens, step_time=time, gpus=gpus, peak=peak)
        derive(f"{at}.tflops_per_gpu", laws.tflops_per_gpu, mfu=f"{at}.mfu", peak=peak)
        derive(f"{at}.cluster_tflops", laws.cluster_tflops, tflops=f"{at}.tflops_per_gpu", gpus=gpus)
        derive(f"{at}.tokens_per_s", laws.tokens_per_s, batch_tokens=tokens, step_time=time)
        derive(f"{at}.steps", laws.steps, tokens=f"{at}.tokens", batch_tokens=tokens)
        derive(f"{at}.compute_time_s", laws.compute_time_s, steps=f"{at}.steps", step_time=time)
        own = Provenance("law", law="training.tokens_per_s", note="by all GPUs that the job is given")
        self._give("scaling.tokens_per_s_per_gpu", self.speed(), own)
        best = Provenance("law", law="training.tokens_per_s", note="on the count of GPUs at which one does most")
        self._give("scaling.reference_tokens_per_s_per_gpu", scale.tokens_per_s_per_gpu, best)
        self._give("scaling.reference_gpus", scale.gpus, best, count=True)
        derive(
            f"{at}.scaling_efficiency",
            laws.scaling_efficiency,
            tokens_per_s_per_gpu=f"{at}.scaling.tokens_per_s_per_gpu",
            reference_tokens_per_s_per_gpu=f"{at}.scaling.reference_tokens_per_s_per_gpu",
        )

    def speed(self) -> Floats:
        """Tokens a second by each GPU that the job is given, idle ones included, shape (U,)."""
        return self.kept.plans.batch * self.job.sequence / self.step.total_s / self.fleet.gpus

    def _give(self, name: str, values: ArrayLike, origin: Provenance, *, count: bool = False) -> None:
        spread = np.broadcast_to(np.asarray(values, dtype=np.float64), self.fleet.gpus.shape)[self.fleet.index]
        self.frame.give(f"{self.at}.{name}", spread, origin, count=count)

    def _put_memory(self) -> None:
        at = self.at
        need = memory_of(self.job.shape, self.kept.plans, self.job.sequence)
        origin = Provenance("law", law="training.memory", note="of the kept plan, on its fullest rank")
        self._give("memory.state_bytes", need.state_bytes, origin)
        self._give("memory.activation_bytes", need.activation_bytes + need.buffer_bytes, origin)
        why = f"driver context, communication buffers, workspace; a plan may fill {USABLE_FRACTION:.0%} of the memory"
        self.frame.give(f"{at}.memory.reserve_bytes", RESERVE_BYTES, assumed(why), low=2e9, high=6e9)
        self.frame.derive(
            f"{at}.memory_bytes",
            laws.memory_bytes,
            state=f"{at}.memory.state_bytes",
            activations=f"{at}.memory.activation_bytes",
            reserve=f"{at}.memory.reserve_bytes",
        )
        needed, held = f"{at}.memory_bytes", "accelerator.memory_bytes"
        self.frame.derive(f"{at}.memory_fraction", laws.memory_fraction, memory=needed, available=held)

    def _put_step(self) -> None:
        """Volumes and rates, and from them by law the parts of the step."""
        self._put_products()
        reached = self.job.physics.memory / self.factor
        bandwidth = reached * self.fleet.machines.memory_bandwidth_bytes_s
        inputs = {"bandwidth": "accelerator.memory_bandwidth_bytes_s", "micro_batch": f"{self.at}.micro_batch"}
        for name, seconds in (("memory_bound", self.step.memory_bound_s), ("optimizer", self.step.optimizer_s)):
            origin = Provenance("law", law="compute.memory_bound", inputs=inputs, note="bytes moved a GPU and step")
            self._rated(name, "bytes", seconds * bandwidth, bandwidth, origin)
        for name in _FLOWS:
            self._put_flow(name, getattr(self.traffic, name))
        ranks = {"pp": f"{self.at}.pp", "interleave": f"{self.at}.interleave", "count": f"{self.at}.micro_batches"}
        known = Provenance("law", law="training.step_time", inputs=ranks, note="filling, draining, uneven stages")
        self._give("step.pp_bubble_s", self.step.pp_bubble_s, known)
        self._put_offload()
        note = (
            f"stragglers and synchronisation: {self.job.physics.overhead:.1%} of the step at each doubling of the GPUs"
        )
        self._give("step.other_s", self.step.other_s, assumed(note))
        law = laws.moe_step_time_s if self.job.shape.moe_layers else laws.step_time_s
        note = ""
        if self.job.spread is not None:
            law, note = replace(law, spread=self.job.spread), f"interval of {self.job.spread:.1%}, {self.job.spread_of}"
        parts = [f"{self.at}.step.{f.name}" for f in fields(Step)]
        self.frame.derive(f"{self.at}.step_time_s", law, note=note, parts=parts)

    def _put_offload(self) -> None:
        """Traffic to the memory of the host, what lies there, and what of it shows in the step."""
        plans, machines = self.kept.plans, self.fleet.machines
        inputs = {"link": "accelerator.host_link_bytes_s", "bandwidth": "server.host_bandwidth_bytes_s"}
        known = {name: path for name, path in inputs.items() if path in self.frame}
        note = "update on the host, and traffic over its link that computing does not hide"
        origin = Provenance("law", law="training.offload", inputs=known, note=note)
        self._give("step.offload_s", self.step.offload_s, origin)
        if not np.any(plans.offload):
            return
        out, back = link_bytes(self.job.runs(plans, machines))
        self._give("traffic.to_host_bytes", out, origin)
        self._give("traffic.from_host_bytes", back, origin)
        held = memory_of(self.job.shape, plans, self.job.sequence).host_bytes
        self._give("host_bytes", held, Provenance("law", law="training.offload", note="in the main memory, a GPU"))

    def _put_products(self) -> None:
        shape, plans, step = self.job.shape, self.kept.plans, self.step
        again = (plans.recompute == FULL).astype(np.float64)
        tokens = plans.batch * self.job.sequence / plans.gpus
        head = shape.vocabulary * shape.hidden
        products = 2.0 * tokens * ((3.0 + again) * (shape.matmul_parameters - head) + 3.0 * head)
        pairs = shape.layers * shape.attention_flop(self.job.sequence) / self.job.sequence
        pairs = pairs + shape.state_layers * shape.scan_flop
        attention = tokens * (3.5 + again) * pairs
        inputs = {"peak": f"{self.at}.product_flops"}
        inputs |= {d: f"{self.at}.{d}" for d in ("tp", "micro_batch", "recompute")}
        for name, volume, seconds in (
            ("matmul", products, step.matmul_s),
            ("attention", attention, step.attention_s),
        ):
            note = "operations of a GPU and step, recomputed ones included; the rate follows from the shapes"
            origin = Provenance("law", law=f"compute.{name}", inputs=inputs, note=note)
            self._rated(name, "flop", volume, volume / seconds, origin)

    def _rated(self, name: str, unit: str, volume: Floats, rate: Floats, origin: Provenance) -> None:
        amount = f"work.{name}_{unit}"
        speed = f"work.{name}_{'flops' if unit == 'flop' else 'bytes_s'}"
        self._give(amount, volume, origin)
        self._give(speed, rate, origin)
        paths = {"volume": f"{self.at}.{amount}", "rate": f"{self.at}.{speed}"}
        self.frame.derive(f"{self.at}.step.{name}_s", laws.rate_bound_s, **paths)

    def _put_flow(self, name: str, flow: Flow) -> None:
        at, talks = self.at, flow.wire_s > 0
        wire = np.where(talks, flow.wire_s, 1.0)
        inputs = {"ranks": f"{at}.{name}", "network": "server.nic_bandwidth_bytes_s"}
        inputs["scaleup"] = "accelerator.scaleup_bandwidth_bytes_s"
        note = "of the kept plan, a GPU and step; the rate is that of the collective beside computing kernels"
        origin = Provenance("law", law="training.communication", inputs=inputs, note=note)
        self._give(f"traffic.{name}_bytes", flow.volume_bytes, origin)
        self._give(f"traffic.{name}_bytes_s", np.where(talks, np.maximum(flow.volume_bytes / wire, 1.0), 1.0), origin)
        self._give(
            f"traffic.{name}_exposed_fraction", np.where(talks, self.factor * flow.exposed_s / wire, 0.0), origin
        )
        self.frame.derive(
            f"{at}.step.{name}_s",
            laws.communication_s,
            volume=f"{at}.traffic.{name}_bytes",
            rate=f"{at}.traffic.{name}_bytes_s",
            exposed=f"{at}.traffic.{name}_exposed_fraction",
        )
