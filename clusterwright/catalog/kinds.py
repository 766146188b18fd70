"""The table of kinds: which fields a part of each kind has, how they are written and what they become.

This is data, not code: it validates the shipped files and the overlays of a user, and it is what the
documentation and ``clusterwright catalog`` list. A field is written in YAML under ``path`` with its unit as people
write it (``memory: 80 GB``) and read in Python under ``key``, whose ending names the unit (``memory_bytes``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from clusterwright.units import DAY_S, HOUR_S, JOULE_PER_KWH, MONTH_S, YEAR_S

__all__ = ["COMMON_KEYS", "KINDS", "SUFFIXES", "Field", "Kind", "Suffix", "kind_of", "suffix_of"]

COMMON_KEYS = ("title", "aliases", "source", "status", "date", "note")
"""What every part may carry beside its fields. ``source``, ``status`` and ``date`` are the defaults of its values."""


@dataclass(frozen=True)
class Suffix:
    """The ending of a Python key: the dimension that the text is parsed as, and the factor from SI to its unit."""

    dimension: str
    unit: str
    factor: float = 1.0


SUFFIXES = MappingProxyType(
    {
        "_usd_per_kw_month": Suffix("power_rent", "USD/kW/month", 1e3 * MONTH_S),
        "_usd_per_tb_month": Suffix("capacity_rent", "USD/TB/month", 1e12 * MONTH_S),
        "_usd_per_tb": Suffix("byte_price", "USD/TB", 1e12),
        "_usd_per_gb": Suffix("byte_price", "USD/GB", 1e9),
        "_usd_per_kwh": Suffix("energy_price", "USD/kWh", JOULE_PER_KWH),
        "_usd_per_year": Suffix("gpu_hour_price", "USD/year", YEAR_S),
        "_usd_per_h": Suffix("gpu_hour_price", "USD/h", HOUR_S),
        "_usd_per_m2": Suffix("count", "USD/m2"),
        "_kg_per_m2": Suffix("count", "kg/m2"),
        "_usd_per_m": Suffix("length_price", "USD/m"),
        "_usd_per_w": Suffix("power_price", "USD/W"),
        "_usd": Suffix("money", "USD"),
        "_g_per_kwh": Suffix("carbon", "g/kWh", 1e3 * JOULE_PER_KWH),
        "_l_per_kwh": Suffix("water", "L/kWh", 1e3 * JOULE_PER_KWH),
        "_per_1000_node_days": Suffix("rate", "1/(1000 node-days)", 1e3 * DAY_S),
        "_bytes_s": Suffix("bandwidth", "byte/s"),
        "_bytes": Suffix("bytes", "byte"),
        "_flops": Suffix("flops", "FLOP/s"),
        "_iops": Suffix("iops", "1/s"),
        "_fraction": Suffix("fraction", "1"),
        "_m3_s": Suffix("airflow", "m3/s"),
        "_m2": Suffix("area", "m2"),
        "_kg": Suffix("mass", "kg"),
        "_m": Suffix("length", "m"),
        "_w": Suffix("power", "W"),
        "_s": Suffix("time", "s"),
    }
)
"""Endings of keys, longest meaning first. A key without one of them is a plain number."""

_PLAIN = Suffix("count", "1")


def suffix_of(key: str) -> Suffix:
    """The ending of a key; a plain number when it has none."""
    for ending, suffix in SUFFIXES.items():
        if key.endswith(ending) or key == ending[1:]:
            return suffix
    return _PLAIN


@dataclass(frozen=True)
class Field:
    """One field of a kind.

    Attributes:
        path: where it stands in the YAML of a part; ``peak.bf16`` is ``bf16`` inside ``peak``.
        key: its name in Python, which ends in the unit.
        doc: what it is, for people.
        form: ``quantity``, ``text``, ``part`` (the name of a part of kind ``refers``) or ``group`` (a mapping with
            free keys, each a quantity of the same unit).
        required: a part without it is refused.
        price: it ages as a price does.
        refers: the kind that a ``part`` field names.
        choices: the texts allowed in a ``text`` field; empty means any.
    """

    path: str
    key: str
    doc: str
    form: str = "quantity"
    required: bool = False
    price: bool = False
    refers: str = ""
    choices: tuple[str, ...] = ()

    @property
    def suffix(self) -> Suffix:
        """Dimension and unit, from the key."""
        return suffix_of(self.key)


@dataclass(frozen=True)
class Kind:
    """One kind of part, kept in ``data/<name>.yaml``."""

    name: str
    singular: str
    doc: str
    fields: tuple[Field, ...]

    @cached_property
    def by_key(self) -> dict[str, Field]:
        """Fields by Python key."""
        return {f.key: f for f in self.fields}


def _q(path: str, key: str, doc: str, *, required: bool = False, price: bool = False) -> Field:
    return Field(path, key, doc, required=required, price=price)


def _text(path: str, doc: str, *choices: str, required: bool = False) -> Field:
    return Field(path, path, doc, form="text", required=required, choices=choices)


def _part(path: str, refers: str, doc: str, *, required: bool = False) -> Field:
    return Field(path, path, doc, form="part", refers=refers, required=required)


_PROCUREMENT = _text("procurement", "how it is had", "buy", "rent", required=True)
_RENTAL = Field(
    "rental",
    "rental_usd_per_h",
    "rental prices by name of the offer; an accelerator's per GPU, a server's per instance",
    form="group",
    price=True,
)
_PRICE = _q("purchase_price", "purchase_price_usd", "purchase price of one", price=True)
_YEAR = _q("launch_year", "launch_year", "year it was first sold")
_PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "nvfp4", "int8")

_ACCELERATORS = Kind(
    "accelerators",
    "accelerator",
    "GPUs and other accelerators; rack-scale ones are given per GPU",
    (
        _text("vendor", "who makes it", required=True),
        _YEAR,
        _text("market", "the only market that it is made for; sold everywhere when absent"),
        _text("form_factor", "module or card, and cooling where it is fixed"),
        _q("memory", "memory_bytes", "high-bandwidth memory", required=True),
        _q("memory_bandwidth", "memory_bandwidth_bytes_s", "memory bandwidth", required=True),
        *(
            _q(f"peak.{p}", f"peak_{p}_flops", f"dense (not sparse) peak in {p.upper()}, operations per second")
            for p in _PRECISIONS
        ),
        _q("achievable.bf16", "achievable_bf16_flops", "best measured matrix multiplication in BF16"),
        _q("achievable.fp8", "achievable_fp8_flops", "best measured matrix multiplication in FP8"),
        _q("tdp", "tdp_w", "largest sustained power of the accelerator itself", required=True),
        _q("scaleup_bandwidth", "scaleup_bandwidth_bytes_s", "to its scale-up domain (NVLink, ...), one direction"),
        _q("scaleup_domain", "scaleup_domain", "accelerators in one scale-up domain", required=True),
        _q("host_link", "host_link_bytes_s", "to the memory of the host (PCIe, NVLink-C2C), one direction, bare rate"),
        _q("embodied_carbon", "embodied_carbon_kg", "CO2e of making one"),
        _PRICE,
        _RENTAL,
    ),
)

_SERVERS = Kind(
    "servers",
    "server",
    "servers, the nodes of rack-scale systems, and cloud instances; everything is per node",
    (
        _PROCUREMENT,
        _part("accelerator", "accelerators", "the accelerator in it", required=True),
        _q("gpus", "gpus", "accelerators in one node", required=True),
        _q("system_nodes", "system_nodes", "nodes sold as one fixed system (18 in an NVL72 rack); 1 when absent"),
        _text("provider", "of a cloud instance"),
        _YEAR,
        _text("cpu", "processors"),
        _q("cpus", "cpus", "processor sockets"),
        _q("cores", "cores", "processor cores"),
        _q("vcpus", "vcpus", "virtual processors of a cloud instance"),
        _q("memory", "memory_bytes", "main memory"),
        _q("host_bandwidth", "host_bandwidth_bytes_s", "bandwidth of the main memory, all sockets together"),
        _q("nvme", "nvme_bytes", "local NVMe for data, system disks left out"),
        _part("nic", "nics", "network card of the compute fabric"),
        _q("nics", "nics", "compute-fabric network cards in one node"),
        _q("nic_rate", "nic_rate_bytes_s", "rate of one of them, one direction"),
        _q("storage_nics", "storage_nics", "ports for storage and management"),
        _q("storage_nic_rate", "storage_nic_rate_bytes_s", "rate of one of those ports, one direction"),
        _q("power", "power_w", "largest power; of a rack-scale system its share of the rack's"),
        _q("typical_power", "typical_power_w", "power under a usual training load"),
        _text("power_supplies", "supplies and their redundancy"),
        _q("units", "units", "height in rack units; of a rack-scale system its share of the rack's"),
        _q("weight", "weight_kg", "mass; of a rack-scale system its share of the rack's"),
        _q("airflow", "airflow_m3_s", "air it moves"),
        _text("cooling", "what carries the heat away", "air", "liquid", "hybrid"),
        _q("liquid_fraction", "liquid_fraction", "share of the heat that goes to liquid"),
        _PRICE,
        _RENTAL,
    ),
)

_SWITCHES = Kind(
    "switches",
    "switch",
    "network switches",
    (
        _text("protocol", "what it speaks", "infiniband", "ethernet", "slingshot", required=True),
        _q("ports", "ports", "ports at their full rate", required=True),
        _q("port_rate", "port_rate_bytes_s", "rate of one port, one direction", required=True),
        _q("cages", "cages", "pluggable cages (a twin-port cage serves two ports)"),
        _q("power", "power_w", "largest power, every cage filled with active optics", required=True),
        _q("typical_power", "typical_power_w", "typical power with passive cables"),
        _q("units", "units", "height in rack units", required=True),
        _q("weight", "weight_kg", "mass"),
        _q("latency", "latency_s", "port to port"),
        _YEAR,
        _PRICE,
    ),
)

_NICS = Kind(
    "nics",
    "nic",
    "network cards and DPUs",
    (
        _text("protocol", "what it speaks", "infiniband", "ethernet", "both", "efa", "slingshot", "omni-path"),
        _q("rate", "rate_bytes_s", "rate of the card, one direction", required=True),
        _q("power", "power_w", "largest power, optics left out"),
        _text("pcie", "host interface"),
        _YEAR,
        _PRICE,
    ),
)

_CABLES = Kind(
    "cables",
    "cable",
    "cables and optics; one cable costs price + 2 x transceiver_price + length x price_per_m",
    (
        _text("medium", "passive or active copper, or fibre", "dac", "acc", "aec", "aoc", "mmf", "smf", "cat6"),
        _q("rate", "rate_bytes_s", "rate, one direction", required=True),
        _q("reach", "reach_m", "longest length", required=True),
        _q("power_per_end", "power_per_end_w", "power of one end", required=True),
        _q("price", "price_usd", "the assembly, without the part that grows with length", price=True),
        _q("transceiver_price", "transceiver_price_usd", "one transceiver; a cable has two", price=True),
        _q("price_per_m", "price_usd_per_m", "per metre", price=True),
    ),
)

_FABRICS = Kind(
    "fabrics",
    "fabric",
    "link technologies: which parts make a fabric, how fast and how far",
    (
        _text("protocol", "what it speaks", "infiniband", "ethernet", "efa", "slingshot", required=True),
        _PROCUREMENT,
        _part("switch", "switches", "leaf, spine and core switch"),
        _part("nic", "nics", "network card in the node"),
        _part("cable_short", "cables", "within a rack"),
        _part("cable_medium", "cables", "within a row"),
        _part("cable_long", "cables", "across the hall"),
        _q("link_rate", "link_rate_bytes_s", "one logical link, one direction", required=True),
        _q("radix", "radix", "logical links of one switch at that rate"),
        _q("latency", "latency_s", "end to end, small message, through one switch", required=True),
        _q("achievable", "achievable_fraction", "share of the link rate that collectives reach"),
        _q("orderable_year", "orderable_year", "from when it can be ordered"),
        _text("said_to_be_for", "what it is commonly said to be for; orientation, never a look-up"),
    ),
)

_STORAGE = Kind(
    "storage",
    "storage system",
    "storage systems; a bought one is given per building block, a rented one per byte and month",
    (
        _text("tier", "which tier it serves", "parallel", "object", "block", "nvme", "archive", required=True),
        _PROCUREMENT,
        _text("block_is", "what one building block is"),
        _q("capacity", "capacity_bytes", "raw capacity of one building block"),
        _q("usable", "usable_fraction", "share of the raw capacity that files can fill"),
        _q("read", "read_bytes_s", "sustained read of one building block"),
        _q("write", "write_bytes_s", "sustained write of one building block"),
        _q("iops", "iops", "small random reads per second of one building block"),
        _q("minimum_blocks", "minimum_blocks", "fewest building blocks of one system"),
        _q("power", "power_w", "largest power of one building block"),
        _q("units", "units", "height of one building block in rack units"),
        _q("weight", "weight_kg", "mass of one building block"),
        _PRICE,
        _q("rent", "rent_usd_per_tb_month", "rent by capacity", price=True),
        _q("read_per_tb", "read_per_tb_bytes_s", "read rate that a rented terabyte brings"),
        _q("write_per_tb", "write_per_tb_bytes_s", "write rate that a rented terabyte brings"),
    ),
)

_REGIONS = Kind(
    "regions",
    "region",
    "where a site can stand",
    (
        _text("country", "ISO 3166 code", required=True),
        _text("currency", "of its bills"),
        _q("electricity", "electricity_usd_per_kwh", "price of industrial electricity", required=True, price=True),
        _q("grid_carbon", "grid_carbon_g_per_kwh", "yearly mean of the grid, by location", required=True),
        _q("capex", "capex_usd_per_w", "building a data centre, per watt of IT load", required=True, price=True),
        _q("colocation", "colocation_usd_per_kw_month", "renting space and power", required=True, price=True),
    ),
)

_CURRENCIES = Kind(
    "currencies",
    "currency",
    "exchange rates",
    (_q("usd", "usd", "US dollars for one unit of the currency", required=True, price=True),),
)

_RELIABILITY = Kind(
    "reliability",
    "reliability record",
    "what was published about failures: systems (a run that was watched), components, rules of thumb",
    (
        _text("what", "a watched system, a component or a rule", "system", "component", "rule", required=True),
        _q("nodes", "nodes", "nodes watched"),
        _q("gpus", "gpus", "accelerators watched"),
        _q("period", "period_s", "how long they were watched"),
        _q("interruptions", "interruptions", "interruptions counted"),
        _q("rate", "interruptions_per_1000_node_days", "interruption rate"),
        _q("mtti", "mtti_s", "mean time to interruption of a job on all of them"),
        _q("ettr", "ettr_fraction", "effective training time ratio reached"),
        _q("mttf", "mttf_s", "mean time to failure of one component"),
        _q("repair", "repair_s", "until it serves again"),
        _q("share", "share_fraction", "a share, as the note says"),
        _q("duration", "duration_s", "a duration, as the note says"),
        Field("causes", "causes", "interruptions counted by cause", form="group"),
        _text("finding", "what was found, where no number carries it"),
    ),
)

_PLANNING = Kind(
    "planning",
    "planning value",
    "all other constants, one value each; the ending of the name gives the unit",
    (_q("value", "value", "the value", required=True),),
)

_MODELS = Kind(
    "models",
    "model",
    "architectures of language models, by their dimensions",
    (
        _text("family", "models that share their dimensions' pattern", required=True),
        _text("kind", "dense, or mixture of experts", "dense", "moe", required=True),
        _q("layers", "layers", "transformer layers", required=True),
        _q("hidden", "hidden", "width of the residual stream", required=True),
        _q("heads", "heads", "attention (query) heads", required=True),
        _q("kv_heads", "kv_heads", "key and value heads; as many as heads when absent"),
        _q("head_dim", "head_dim", "width of a head; hidden / heads when absent"),
        _q("ffn_hidden", "ffn_hidden", "inner width of the (dense) MLP", required=True),
        _text("gated_mlp", "three MLP matrices (SwiGLU, GeGLU) instead of two", "yes", "no", required=True),
        _q("vocab", "vocab", "rows of the embedding, padding as in the checkpoint", required=True),
        _text("tied_embeddings", "the head is the embedding", "yes", "no", required=True),
        _q("learned_positions", "learned_positions", "rows of a learned position embedding"),
        _text("biases", "which linear layers have a bias", "none", "qkv", "attention", "all"),
        _text("norm", "what normalises", "rmsnorm", "layernorm", "layernorm-no-bias"),
        _q("norms_per_layer", "norms_per_layer", "norms of hidden width in one layer; 2 when absent"),
        _q("context", "context", "longest sequence trained or published"),
        _q("experts", "experts", "routed experts of a mixture layer"),
        _q("top_k", "top_k", "routed experts that a token uses"),
        _q("shared_experts", "shared_experts", "experts that each token uses"),
        _q("expert_ffn_hidden", "expert_ffn_hidden", "inner width of one expert"),
        _q("shared_ffn_hidden", "shared_ffn_hidden", "inner width of one shared expert, when it differs"),
        _q("dense_layers", "dense_layers", "first layers that are dense"),
        _q("moe_every", "moe_every", "after those, every n-th layer is a mixture"),
        _q("q_lora_rank", "q_lora_rank", "multi-head latent attention: rank of the queries"),
        _q("kv_lora_rank", "kv_lora_rank", "multi-head latent attention: rank of keys and values"),
        _q("qk_nope_head_dim", "qk_nope_head_dim", "latent attention: width of a head without position"),
        _q("qk_rope_head_dim", "qk_rope_head_dim", "latent attention: width of a head with position"),
        _q("v_head_dim", "v_head_dim", "latent attention: width of a value head"),
        _q("window", "window", "attention window of the windowed layers, tokens"),
        _q("window_layers", "window_layers", "layers with that window"),
        _q("state_layers", "state_layers", "layers with a state-space block (Mamba 2) in place of attention"),
        _q("state_heads", "state_heads", "state-space block: heads"),
        _q("state_head_dim", "state_head_dim", "state-space block: width of a head"),
        _q("state_size", "state_size", "state-space block: state elements of each head element"),
        _q("state_groups", "state_groups", "state-space block: groups of heads that share input and output maps"),
        _q("bare_layers", "bare_layers", "layers without an MLP"),
        _q("expert_latent", "expert_latent", "width that tokens are projected to before routed experts, if any"),
        _q("published_parameters", "published_parameters", "parameters as published or counted in the checkpoint"),
        _q("published_active_parameters", "published_active_parameters", "parameters a token uses, as published"),
    ),
)

KINDS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            _ACCELERATORS,
            _SERVERS,
            _SWITCHES,
            _NICS,
            _CABLES,
            _FABRICS,
            _STORAGE,
            _REGIONS,
            _CURRENCIES,
            _RELIABILITY,
            _PLANNING,
            _MODELS,
        )
    }
)
"""Every kind by name."""


def kind_of(name: str) -> Kind:
    """A kind by its name or its singular (``servers`` or ``server``).

    Raises:
        KeyError: when there is no such kind; lists those that there are.
    """
    for kind in KINDS.values():
        if name in (kind.name, kind.singular):
            return kind
    raise KeyError(f"no kind of part '{name}'; there are {', '.join(KINDS)}")
