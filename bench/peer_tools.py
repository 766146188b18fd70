"""Two public predictors of training step time behind one call: Calculon and llm-analysis.

Neither is installed with this project; ``bench/peers.py`` puts them on the path first. What a tool cannot be told
exactly is named by ``approximated``, what it refuses is raised.
"""

import importlib
import json
import logging
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.catalog import ModelArchitecture
from clusterwright.validation.training_parts import Chip

MUCH_GIB = 1_000_000


class RefusedError(Exception):
    """A tool cannot take a run; the text says why."""


@dataclass(frozen=True)
class Work:
    """One run as every tool is told it.

    Attributes:
        model: its dimensions.
        gpu: the accelerator as published.
        chip: its data sheet.
        sequence: tokens in a sequence.
        precision: bf16, fp8, mxfp8 or nvfp4.
        plan: by the names of ``training.Plans``.
        network_bytes_s: of one accelerator's share of the network cards, one direction.
        overlaps_tp: the framework hides tensor-parallel traffic.
        overlaps_dp: the framework hides the reduction of gradients.
    """

    model: ModelArchitecture
    gpu: str
    chip: Chip
    sequence: int
    precision: str
    plan: dict[str, float]
    network_bytes_s: float
    overlaps_tp: bool
    overlaps_dp: bool

    def whole(self, name: str) -> int:
        """A number of the plan that must be whole."""
        value = self.plan[name]
        if not float(value).is_integer():
            raise RefusedError(f"{name.replace('_', '-')} is not whole: {value:.3g}")
        return int(value)


def _common(work: Work) -> None:
    """What neither tool can be told at all."""
    if work.plan["cp"] > 1:
        raise RefusedError("no context parallelism")
    if work.model.window_layers or work.model.is_latent:
        raise RefusedError("no such attention")


def _dense_approximations(work: Work) -> list[str]:
    found = []
    if work.model.gated_mlp:
        found.append("no gated MLP")
    if work.plan["recompute"] not in (0.0, 1.0, 2.0):
        found.append("no recomputation by operator")
    return found


@dataclass
class Calculon:
    """Calculon's ``Llm`` on the systems that it ships with.

    Attributes:
        root: of a checkout.
        helped: lift its memory limit and take the nearest that it can express.
        systems: as built so far.
    """

    root: Path
    helped: bool = False
    systems: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.package = importlib.import_module("calculon")
        self.llm = importlib.import_module("calculon.llm").Llm
        self.quiet = logging.Logger("calculon", logging.CRITICAL)

    @property
    def version(self) -> str:
        """Its own, and the commit of the checkout."""
        words = ("git", "-C", str(self.root), "rev-parse", "--short", "HEAD")
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        return f"{self.package.__version__} {said}".strip()

    def approximated(self, work: Work) -> list[str]:
        """What it cannot be told exactly."""
        found = _dense_approximations(work)
        if work.model.kv_heads != work.model.heads:
            found.append("no grouped-query attention")
        if work.plan["shard"] > 1:
            found.append("no ZeRO 2, 3 or FSDP")
        if self._shipped(work) is None:
            found.append("no configuration of this accelerator")
        if work.plan["tp"] > self._domain(work):
            found.append("no tensor-parallel group across two networks")
        return found

    def step_s(self, work: Work) -> float:
        """Its step time.

        Raises:
            RefusedError: it cannot be told, or says no.
        """
        _common(work)
        if work.precision == "nvfp4":
            raise RefusedError("no 4-bit format")
        if not self.helped and (lacks := self.approximated(work)):
            raise RefusedError(lacks[0])
        model = work.model
        width = model.ffn_hidden * (3 if model.gated_mlp else 2) // 2
        application = self.llm.Application(
            {
                "hidden": model.hidden,
                "feedforward": width,
                "seq_size": work.sequence,
                "attn_heads": model.heads,
                "attn_size": model.head_dim,
                "num_blocks": model.layers,
            }
        )
        run = self.llm(application, self.quiet)
        system = self._system(work)
        try:
            run.compile(system, self.llm.Execution.from_json(self._execution(work)))
            run.run(system)
        except (self.llm.Error, AssertionError) as error:
            raise RefusedError(_told(error)) from None
        return float(run.get_total_time())

    def _execution(self, work: Work) -> dict[str, Any]:
        plan, tp, pp, dp = work.plan, *(work.whole(n) for n in ("tp", "pp", "dp"))
        micro, cut = work.whole("micro_batch"), plan["sequence_parallel"] > 0 and tp > 1
        level = ("none", "attn_only", "full")[int(plan["recompute"])]
        domain = self._domain(work)
        return {
            "num_procs": tp * pp * dp,
            "tensor_par": tp,
            "pipeline_par": pp,
            "data_par": dp,
            "tensor_par_net": int(tp > domain),
            "data_par_net": int(tp * dp > domain),
            "pipeline_par_net": int(tp * dp * pp > domain),
            "batch_size": dp * micro * work.whole("micro_batches"),
            "microbatch_size": micro,
            "datatype": "float8" if "fp8" in work.precision else "float16",
            "fused_activation": True,
            "attention_type": "multihead",
            "activation_recompute": level,
            "pipeline_interleaving": work.whole("interleave"),
            "optimizer_sharding": plan["shard"] > 0 and dp > 1,
            "tensor_par_comm_type": "rs_ag" if cut else "ar",
            "tensor_par_overlap": "ring" if work.overlaps_tp and tp > 1 else "none",
            "seq_par_ag_redo": cut and level == "attn_only",
            "data_par_overlap": work.overlaps_dp and dp > 1,
            "weight_offload": False,
            "activations_offload": False,
            "optimizer_offload": False,
            "training": True,
        }

    def _domain(self, work: Work) -> float:
        return 8.0 if self._shipped(work) else work.chip.domain

    def _shipped(self, work: Work) -> str | None:
        return {"A100-80G": "a100_80g", "H100-SXM": "h100_80g_nvl8"}.get(work.gpu)

    def _system(self, work: Work) -> Any:
        """Its own system, with the run's network; other accelerators take the H100's curves and their data sheet."""
        key = (work.gpu, work.network_bytes_s)
        if key not in self.systems:
            name = self._shipped(work) or "h100_80g_nvl8"
            said = json.loads((self.root / "systems" / f"{name}.json").read_text())
            said["networks"][1]["bandwidth"] = work.network_bytes_s / 1e9
            if not self._shipped(work):
                _rewrite(said, work.chip)
            if self.helped:
                said["mem1"]["GiB"] = MUCH_GIB
            self.systems[key] = self.package.System(said)
        return self.systems[key]


def _rewrite(system: dict[str, Any], chip: Chip) -> None:
    """A data sheet's peaks, memory and links over a shipped system."""
    peaks = {"float16": chip.peaks["bf16"], "float8": chip.peaks.get("fp8", chip.peaks["bf16"])}
    for kind, peak in peaks.items():
        system["vector"][kind]["tflops"] *= peak / 1e12 / system["matrix"][kind]["tflops"]
        system["matrix"][kind]["tflops"] = peak / 1e12
    system["mem1"] |= {"GiB": chip.memory_bytes / 2**30, "GBps": chip.memory_bandwidth_bytes_s / 1e9}
    link = {"bandwidth": chip.scaleup_bytes_s / 1e9, "size": int(chip.domain), "must_be_filled": False}
    system["networks"][0] |= link


@dataclass
class LlmAnalysis:
    """``LLMAnalysis.training`` with one efficiency of the products.

    Attributes:
        efficiency: share of the peak: 1 is its default, 0.5 what its documentation says for training.
        helped: take the nearest that it can express.
    """

    efficiency: float
    helped: bool = False

    def __post_init__(self) -> None:
        logging.getLogger("__name__").setLevel(logging.ERROR)  # the name of its logger
        self.analysis = importlib.import_module("llm_analysis.analysis")
        self.config = importlib.import_module("llm_analysis.config")

    @property
    def version(self) -> str:
        """As installed."""
        return importlib.import_module("importlib.metadata").version("llm-analysis")

    def approximated(self, work: Work) -> list[str]:
        """What it cannot be told exactly."""
        found, model = _dense_approximations(work), work.model
        if model.ffn_hidden != 4 * model.hidden and not model.gated_mlp:
            found.append("an MLP is four times as wide as the model")
        if model.head_dim * model.heads != model.hidden:
            found.append("heads are as wide as the model")
        if work.plan["interleave"] > 1:
            found.append("no interleaved pipeline")
        return found

    def step_s(self, work: Work) -> float:
        """Its step time.

        Raises:
            RefusedError: it cannot be told, or says no.
        """
        _common(work)
        if not self.helped and (lacks := self.approximated(work)):
            raise RefusedError(lacks[0])
        tp, pp, dp = (work.whole(n) for n in ("tp", "pp", "dp"))
        micro, count = work.whole("micro_batch"), work.whole("micro_batches")
        enum, cut = self.analysis, tp if work.plan["sequence_parallel"] > 0 else 1
        try:
            law = self.analysis.LLMAnalysis(
                self._model(work),
                self._gpu(work),
                self._dtype(work),
                self.config.ParallelismConfig(tp_size=tp, pp_size=pp, dp_size=dp, sp_size=cut),
                flops_efficiency=self.efficiency,
            )
            said = law.training(
                batch_size_per_gpu=micro,
                gradient_accumulation_steps=count,
                global_batch_size=dp * micro * count,
                seq_len=work.sequence,
                activation_recomputation=enum.ActivationRecomputation(int(work.plan["recompute"])),
                ds_zero=enum.DSZeRO(int(work.plan["shard"])),
                mlp_gated_linear_units=work.model.gated_mlp,
            )
        except Exception as error:
            raise RefusedError(_told(error)) from None
        return float(said["latency_per_iter"])

    def _model(self, work: Work) -> Any:
        model = work.model
        return self.config.ModelConfig(
            name=model.name,
            num_layers=model.layers,
            n_head=model.heads,
            hidden_dim=model.hidden,
            vocab_size=model.vocab,
            max_seq_len=work.sequence,
            num_key_value_heads=model.kv_heads,
            ffn_embed_dim=model.ffn_hidden,
            expansion_ratio=model.ffn_hidden / model.hidden,
        )

    def _gpu(self, work: Work) -> Any:
        """Its own part where it has it, else the data sheet: it wants no more than one."""
        own = {"A100-80G": "a100-sxm-80gb", "H100-SXM": "h100-sxm-80gb"}.get(work.gpu)
        if own:
            return self.config.get_gpu_config_by_name(own)
        chip, peak = work.chip, work.chip.peaks["bf16"] / 1e12
        return self.config.GPUConfig(
            name=chip.name,
            mem_per_GPU_in_GB=chip.memory_bytes / 1e9,
            hbm_bandwidth_in_GB_per_sec=chip.memory_bandwidth_bytes_s / 1e9,
            intra_node_bandwidth_in_GB_per_sec=chip.scaleup_bytes_s / 1e9,
            intra_node_min_message_latency=8e-6,
            peak_fp16_TFLOPS=peak,
            peak_i8_TFLOPS=chip.peaks.get("fp8", 2e12 * peak) / 1e12,
            peak_i4_TFLOPS=chip.peaks.get("fp4", 4e12 * peak) / 1e12,
            inter_node_bandwidth_in_GB_per_sec=work.network_bytes_s / 1e9,
        )

    def _dtype(self, work: Work) -> Any:
        bits = {"bf16": "w16a16e16", "nvfp4": "w4a4e16"}.get(work.precision, "w8a8e16")
        return self.config.get_dtype_config_by_name(bits)


def _told(error: Exception) -> str:
    """The first line of an error, its figures left out so that equal reasons count as one."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return "Mem tier1 needs more than it has" if text.startswith("Mem tier1") else text[:90]
