"""A cluster like the worked example, made by hand: what the report must show without any law having run."""

import math

from clusterwright.cluster import Cluster, Provenance, assumed, chosen, from_spec, law
from clusterwright.findings import Finding

DAY = 86400.0


@law("facility.meter_power", formula="P_meter = P_IT x PUE", unit="W", source="The Green Grid, WP#49 (2012)")
def meter_power(it_power_w, pue):
    """Power drawn at the meter.

    Second paragraph that a tree does not show.
    """
    return it_power_w * pue


@law("facility.it_power", formula="P_IT = sum of parts", unit="W", source="arithmetic", valid="any")
def it_power(parts_w):
    """IT power is the sum of its parts."""
    return sum(parts_w)


@law(
    "training.mfu", formula="MFU = F / (T G P)", unit="1", source="PaLM (2022), appendix B", spread=0.08, bounds=(0, 1)
)
def mfu(time_s, flop, gpus, peak_flops):
    """Model FLOP utilisation."""
    return flop / (time_s * gpus * peak_flops)


LAWS = {one.name: one for one in (meter_power, it_power, mfu)}


def fact(place, status="checked", source="NVIDIA datasheet (2023-03-01), https://example.org/h100", note=""):
    return Provenance("catalog", place=f"catalogue: {place}", source=source, status=status, note=note)


def worked_example(verdict="feasible"):
    cluster = Cluster(
        head={
            "schema": "clusterwright/design/1",
            "name": "llm-70b",
            "version": "0.1.0",
            "verdict": verdict,
            "spec_file": "examples/llm-70b.yaml",
            "spec_sha256": "ab" * 32,
            "catalogue_date": "2025-05-01",
            "currency": "USD",
            "options_weighed": 5120,
        }
    )
    _figures(cluster.frame)
    _tables(cluster)
    _answers(cluster, verdict)
    cluster.say(
        Finding(
            "DESIGN-LIMIT-CLOSE",
            "risk",
            "deadline of pretrain: 12.9 d holds 14 d with 8% to spare",
            "training[0].finish_s",
            "reserve more GPUs",
        ),
        Finding(
            "DESIGN-SUPPLY", "risk", "the longest lead time is 30 weeks (servers)", "money.lead_time_weeks", "order"
        ),
        Finding(
            "DESIGN-LOCK-IN", "risk", "everything depends on one accelerator", "compute.accelerator", "second source"
        ),
        Finding("DESIGN-PRICE-RANGE", "risk", "published prices differ", "cost.capex_usd", "get quotes"),
        Finding("AUDIT-CLAIM-REFUSED", "warning", "claimed 2 TFLOPS: does-not-hold", "training[0].tflops_per_gpu"),
        Finding("DESIGN-BETTER-OUTSIDE", "info", "another option costs less", "cost.tco_usd", "free compute.gpus"),
    )
    return cluster


def _figures(frame):
    count, assume = True, assumed("typical")
    frame.give("compute.gpus", 1024, from_spec("examples/llm-70b.yaml:15:33"), count=count)
    frame.give("compute.nodes", 128, chosen("GPUs / 8"), count=count)
    frame.give("compute.spare_nodes", 4, chosen("99.9 % availability"), count=count)
    frame.give("compute.nodes_per_rack", 4, chosen("best of the options weighed"), count=count)
    frame.give("accelerator.memory_bytes", 80e9, fact("accelerator/h100-sxm-80gb memory_bytes"), count=count)
    frame.give("server.power_w", 10200, fact("server/dgx-h100 power_w", "checked"), low=8800, high=10200)
    frame.give(
        "server.price_usd",
        300e3,
        fact("server/dgx-h100 purchase_price_usd", "estimate", "press (2024)"),
        low=250e3,
        high=400e3,
    )
    frame.give("server.weight_kg", 130, fact("server/dgx-h100 weight_kg", "memory", "from memory (2024)"))
    frame.give("training[0].peak_flops", 989.4e12, fact("accelerator/h100-sxm-80gb peak_bf16_flops"))
    for name, value in {"compute": 1.33e6, "network": 70e3, "storage": 60e3, "management": 12e3}.items():
        frame.give(f"facility.{name}_power_w", value, assume, low=value * 0.9, high=value * 1.05)
    frame.derive(
        "facility.it_power_w",
        it_power,
        parts_w=[f"facility.{n}_power_w" for n in ("compute", "network", "storage", "management")],
    )
    frame.give("facility.pue", 1.18, Provenance("default", note="liquid cooling in us-east"), low=1.12, high=1.25)
    frame.derive("facility.meter_power_w", meter_power, it_power_w="facility.it_power_w", pue="facility.pue")
    for name, value in {"compute_racks": 33, "racks": 41}.items():
        frame.give(f"facility.{name}", value, assume, count=count)
    frame.give("facility.rack_power_w", 41e3, assume)
    frame.give("facility.floor_m2", 148, assume)
    frame.give("facility.run_energy_j", 500e6 * 3600, assume, low=470e6 * 3600, high=560e6 * 3600)
    frame.give("facility.carbon_kg_run", 185e3, assume)
    _training(frame)
    for name, value in {
        "leaf_switches": 32,
        "spine_switches": 16,
        "core_switches": 0,
        "node_leaf_cables": 1024,
        "leaf_spine_cables": 1024,
        "spine_core_cables": 0,
        "tiers": 2,
    }.items():
        frame.give(f"fabric.{name}", value, assume, count=count)
    frame.give("fabric.link_bandwidth_bytes_s", 50e9, fact("fabric/infiniband-ndr link_rate_bytes_s"))
    for name, (value, low, high) in {
        "capex_usd": (45.2e6, 39e6, 58e6),
        "opex_usd_per_year": (4.4e6, 3.6e6, 5.5e6),
        "tco_usd": (62.8e6, 53e6, 80e6),
        "rent_usd": (0.79e6, 0.6e6, 4.2e6),
        "usd_per_gpu_h": (1.75, 1.5, 2.2),
    }.items():
        frame.give(f"cost.{name}", value, assume, low=low, high=high)
    for path, text in {
        "compute.accelerator": "h100-sxm-80gb",
        "compute.server": "dgx-h100",
        "fabric.technology": "infiniband-ndr",
        "fabric.topology": "two-tier rail-optimised fat tree",
        "cost.procurement": "buy",
        "scheduling.scheduler": "slurm",
    }.items():
        frame.choose(path, text, chosen("best by cost among the options that hold every limit"))


def _training(frame):
    parts = {
        "matmul_s": 4.1,
        "attention_s": 0.52,
        "memory_bound_s": 0.33,
        "tp_s": 0.41,
        "pp_bubble_s": 0.29,
        "pp_s": 0.04,
        "cp_s": 0.0,
        "ep_s": 0.0,
        "dp_s": 0.13,
        "optimizer_s": 0.05,
        "other_s": 0.11,
    }
    for name, value in parts.items():
        frame.give(f"training[0].step.{name}", value, assumed("measured"), low=value * 0.9, high=value * 1.1)
    plain = {
        "gpus": 1024,
        "tp": 4,
        "pp": 4,
        "dp": 64,
        "cp": 1,
        "ep": 1,
        "micro_batch": 1,
        "micro_batches": 8,
        "fits": 1,
    }
    for name, value in plain.items():
        frame.give(f"training[0].{name}", value, chosen("fastest plan that fits"), count=True)
    for name, (value, low, high) in {
        "step_time_s": (5.98, 5.4, 6.6),
        "memory_bytes": (52e9, 48e9, 57e9),
        "memory_fraction": (0.65, 0.6, 0.71),
        "tflops_per_gpu": (402, 370, 430),
        "cluster_tflops": (411e3, 380e3, 440e3),
        "tokens_per_s": (8.8e5, 8e5, 9.4e5),
        "compute_time_s": (12.5 * DAY, 11.7 * DAY, 13.6 * DAY),
        "time_to_train_s": (12.9 * DAY, 12.0 * DAY, 14.3 * DAY),
        "finish_s": (12.9 * DAY, 12.0 * DAY, 14.3 * DAY),
        "scaling_efficiency": (0.91, 0.87, 0.95),
        "checkpoint_bytes": (0.99e12, 0.8e12, 1.1e12),
        "expected_interruptions": (6.1, 4.2, 40),
        "ettr": (0.97, 0.9, 0.98),
        "flop": (4.49e23, 4.49e23, 4.49e23),
    }.items():
        frame.give(f"training[0].{name}", value, assumed("as published"), low=low, high=high)
    frame.derive(
        "training[0].mfu",
        mfu,
        time_s="training[0].compute_time_s",
        flop="training[0].flop",
        gpus="training[0].gpus",
        peak_flops="training[0].peak_flops",
    )
    for name, (value, low, high) in {
        "expected_interruptions": (6.1, 4.2, 40),
        "checkpoint_interval_s": (1800, 1200, 2400),
        "ettr": (0.97, 0.9, 0.98),
        "mtti_s": (2.1 * DAY, 0.4 * DAY, 3 * DAY),
        "availability": (0.9991, 0.998, 0.9997),
    }.items():
        frame.give(f"reliability.{name}", value, assumed("published rates"), low=low, high=high)


def _tables(cluster):
    t = cluster.tables
    t["sites"].add(
        name="main",
        region="us-east",
        nodes=132,
        power_limit_w=10e6,
        pue=1.18,
        energy_usd_per_kwh=0.08,
        carbon_g_per_kwh=369,
        redundancy="N+1",
        cooling="liquid",
    )
    for kind, power, units, nodes, count in (
        ("compute", 41e3, 32, 4, 33),
        ("network", 12e3, 22, 0, 4),
        ("storage", 15e3, 36, 0, 3),
        ("management", 9e3, 20, 12, 1),
    ):
        t["racks"].add(
            name=f"main-{kind[0]}001",
            site="main",
            pod=1,
            kind=kind,
            power_w=power,
            cooling="liquid",
            units=units,
            weight_kg=900,
            floor_m2=3.6,
            nodes=nodes,
            count=count,
        )
    for role, server, gpus, units, count in (
        ("compute", "dgx-h100", 8, 8, 128),
        ("spare", "dgx-h100", 8, 8, 4),
        ("login", "cpu-1u", 0, 1, 2),
        ("management", "cpu-1u", 0, 1, 4),
    ):
        t["nodes"].add(
            name=f"main-{role}",
            site="main",
            role=role,
            server=server,
            accelerator="h100-sxm-80gb" if gpus else "",
            gpus=gpus,
            cpus=2,
            memory_bytes=2e12,
            nics=8,
            local_nvme_bytes=30e12,
            power_w=10200.0,
            units=units,
            weight_kg=130,
            count=count,
        )
    for network, tier, count, spare in (
        ("compute", "leaf", 40, 8),
        ("compute", "spine", 16, 0),
        ("storage", "leaf", 4, 0),
        ("management", "access", 6, 0),
    ):
        t["switches"].add(
            name=f"main-{network}-{tier}",
            site="main",
            network=network,
            tier=tier,
            model="qm9700",
            ports=64,
            port_bandwidth_bytes_s=50e9,
            power_w=1700.0,
            units=1,
            count=count,
            spare_count=spare,
        )
    for network, source, target, count, spare in (
        ("compute", "main-compute", "main-compute-leaf", 1024, 0),
        ("compute", "main-compute-leaf", "main-compute-spine", 1280, 256),
        ("storage", "main-compute", "main-storage-leaf", 264, 0),
    ):
        t["links"].add(
            name=f"{source}--{target}",
            site="main",
            network=network,
            source=source,
            target=target,
            pattern="rail",
            bandwidth_bytes_s=50e9,
            latency_s=6e-7,
            length_m=20.0,
            medium="mmf-ndr",
            power_w=17.0,
            price_usd=1500.0,
            count=count,
            spare_count=spare,
        )
    for kind, system, capacity, read in (
        ("nvme", "in the servers", 4e15, 6e12),
        ("parallel", "lustre", 1e15, 5e11),
        ("object", "s3", 5e14, 2e10),
        ("block", "ceph", 2e13, 1e9),
    ):
        t["storage"].add(
            name=f"main-{kind}",
            kind=kind,
            system=system,
            capacity_bytes=capacity,
            read_bytes_s=read,
            write_bytes_s=read / 2,
            iops=math.nan,
            power_w=15e3,
            units=12,
            systems=3,
            usd_per_year=0.0,
            why="three checkpoints and the dataset",
        )
    t["workloads"].add(
        name="pretrain",
        kind="train",
        model="llama-3-70b",
        gpus=1024,
        tp=4,
        pp=4,
        dp=64,
        cp=1,
        ep=1,
        micro_batch=1,
        step_time_s=5.98,
        memory_bytes=52e9,
        tokens_per_s=8.8e5,
    )
    for name, layer, nodes in (
        ("slurmctld", "scheduler", 2),
        ("prometheus", "observability", 2),
        ("vault", "security", 3),
    ):
        t["services"].add(name=name, layer=layer, nodes=nodes, role="management", why="two for failover")
    for component, population, mttf in (("gpu", 1056, 4e8), ("nic", 1056, 2e9), ("node", 132, 3e8)):
        t["failures"].add(
            component=component,
            population=population,
            mttf_s=mttf,
            repair_s=4 * 3600.0,
            expected_per_year=population * 3.156e7 / mttf,
            blast_radius="the job",
            redundancy="spare node",
            source="Meta, Llama 3 (2024)",
        )
    for line, layer, capex, opex in (
        ("servers", "compute", 39.6e6, 0.0),
        ("switches", "network", 1.7e6, 0.0),
        ("cables", "network", 1.9e6, 0.0),
        ("parallel storage", "storage", 2.0e6, 0.0),
        ("energy", "energy", 0.0, 1.35e6),
        ("staff", "staff", 0.0, 1.0e6),
        ("support", "compute", 0.0, 2.05e6),
    ):
        total = capex + 4 * opex
        t["money"].add(
            line=line,
            layer=layer,
            procurement="buy",
            capex_usd=capex,
            opex_usd_per_year=opex,
            total_usd=total,
            low_usd=total * 0.85,
            high_usd=total * 1.25,
            quantity="132 x $300k",
            lead_time_weeks=30.0,
            source="press (2024)",
        )
    t["money"].add(
        line="rent",
        layer="compute",
        procurement="rent",
        capex_usd=0.0,
        opex_usd_per_year=20e6,
        total_usd=80e6,
        low_usd=60e6,
        high_usd=120e6,
        quantity="1,024 GPUs",
        lead_time_weeks=math.nan,
        source="offers",
    )


def _answers(cluster, verdict):
    def option(name, chosen_, verdict_, gpus, days, cost, why, accelerator="h100-sxm-80gb", procurement="buy"):
        return {
            "name": name,
            "chosen": chosen_,
            "verdict": verdict_,
            "asked": True,
            "accelerator": accelerator,
            "gpus": gpus,
            "server": "dgx-h100",
            "nodes_per_rack": 4,
            "fabric": "infiniband-ndr",
            "procurement": procurement,
            "time_to_train_s": days * DAY,
            "capex_usd": cost * 0.7,
            "tco_usd": cost,
            "meter_power_w": gpus * 1690.0,
            "energy_j": 1.8e12,
            "carbon_kg": 185e3,
            "why": why,
        }

    good = verdict == "feasible"
    cluster.answers |= {
        "requested": {
            "runs": [
                {
                    "name": "pretrain",
                    "model": "llama-3-70b",
                    "parameters": 70.6e9,
                    "tokens": 1e12,
                    "sequence": 8192,
                    "global_batch_sequences": 512.0,
                    "precision": "bf16",
                    "deadline_s": 14 * DAY,
                }
            ],
            "objective": {"cost": 1.0},
            "gpus": 1024,
            "accelerators": ["h100-sxm-80gb"],
            "years": 4,
            "sites": [{"name": "main", "region": "us-east"}],
        },
        "considered": [
            option("1,024 x h100 in dgx-h100, 4 a rack, buy", good, verdict, 1024, 12.9, 62.8e6, "best by cost"),
            option("1,024 x h100, rent", False, "feasible", 1024, 12.9, 80e6, "holds; cost +27.4%", procurement="rent"),
            option("1,024 x a100", False, "infeasible", 1024, 38.0, 41e6, "breaks deadline: 38 d against 14 d", "a100"),
        ],
        "pareto": {
            "x": "time_to_train_s",
            "y": "tco_usd",
            "points": [
                {
                    "name": f"o{i}",
                    "x": (9 + i / 10) * DAY,
                    "y": 9e7 - i * 5e5 + (i % 7) * 4e6,
                    "dominated": i % 7 != 0,
                    "chosen": i == 35,
                    "feasible": i < 50,
                    "asked": i % 2 == 0,
                }
                for i in range(80)
            ],
        },
        "sensitivity": [
            {
                "target": "finish_s",
                "target_words": "time until the last run is done",
                "input": f"input[{i}].x",
                "range": "-10% to +10%",
                "base": 12.9 * DAY,
                "low": (12.9 - 1.4 / (i + 1)) * DAY,
                "high": (12.9 + 1.6 / (i + 1)) * DAY,
            }
            for i in range(6)
        ]
        + [
            {
                "target": "cost.tco_usd",
                "target_words": "cost",
                "input": "server.price_usd",
                "range": "$250k to $400k",
                "base": 62.8e6,
                "low": 56e6,
                "high": 76e6,
            }
        ],
        "constraints": [
            {
                "name": "deadline of pretrain",
                "path": "training[0].finish_s",
                "limit": (14 if good else 10) * DAY,
                "at_most": True,
                "value": 12.9 * DAY,
                "low": 12 * DAY,
                "high": 14.3 * DAY,
                "margin": 0.079 if good else -0.29,
                "holds": good,
                "holds_throughout": False,
                "binding": True,
                "key": "workloads[0].train.deadline",
                "place": "examples/llm-70b.yaml:14:17",
                "text": "12.9 d against 14 d",
            },
            {
                "name": "power at the meter",
                "path": "facility.meter_power_w",
                "limit": 10e6,
                "at_most": True,
                "value": 1.74e6,
                "low": 1.6e6,
                "high": 1.9e6,
                "margin": 0.83,
                "holds": True,
                "holds_throughout": True,
                "binding": False,
                "key": "limits.power",
                "place": "x",
                "text": "1.74 MW against 10 MW",
            },
        ],
        "relaxations": []
        if good
        else [
            {
                "kind": "loosen",
                "change": {"workloads[0].train.deadline": 12.9 * DAY},
                "text": "deadline: 10 d -> 12.9 d",
                "option": "1,024 x h100",
                "cost_usd": 62.8e6,
                "extra_usd": 0.0,
                "time_to_train_s": 12.9 * DAY,
            }
        ],
        "audit": {
            "claims": [
                {
                    "path": "training[0].tflops_per_gpu",
                    "who": "proposal",
                    "text": "2 TFLOPS",
                    "claimed": {"low": 2.0, "high": 2.0},
                    "computed": {"value": 402.0, "low": 370.0, "high": 430.0},
                    "verdict": "does-not-hold",
                    "contradicts": ["training[0].cluster_tflops"],
                    "arithmetic": "Claimed 2 TFLOP/s; computed 402 TFLOP/s.",
                },
                {
                    "path": "facility.compute_racks",
                    "who": "proposal",
                    "text": "16-32",
                    "claimed": {"low": 16, "high": None},
                    "computed": None,
                    "verdict": "cannot-tell",
                    "contradicts": [],
                    "arithmetic": "No law.",
                },
                {
                    "path": "training[0].time_to_train_s",
                    "who": "proposal",
                    "text": "<= 14 d",
                    "claimed": {"low": 0, "high": 14 * DAY},
                    "computed": {"value": 12.9 * DAY, "low": 12 * DAY, "high": 14.3 * DAY},
                    "verdict": "holds",
                    "contradicts": [],
                    "arithmetic": "That needs 0.367.",
                },
            ]
        },
        "fabric_options": [
            {"name": "rail-optimised fat tree", "chosen": True, "why": "fits 1,024 rails ports in two tiers"},
            {"name": "dragonfly", "chosen": False, "why": "pays above 10,000 GPUs"},
        ],
        "plans": [
            [
                {
                    "tp": 4,
                    "pp": 4,
                    "dp": 64,
                    "cp": 1,
                    "ep": 1,
                    "step_time_s": 5.98,
                    "memory_bytes": 52e9,
                    "fits": True,
                    "why": "fastest",
                },
                {
                    "tp": 8,
                    "pp": 1,
                    "dp": 128,
                    "cp": 1,
                    "ep": 1,
                    "step_time_s": 6.6,
                    "memory_bytes": 71e9,
                    "fits": True,
                    "why": "slower",
                },
            ]
        ],
        "roofline": {
            "training[0]": {
                "peak_flops": 989e12,
                "achievable_flops": 794e12,
                "bandwidth_bytes_s": 3.35e12,
                "ridge_flop_per_byte": 237.0,
                "points": [
                    {"name": "attention", "flop_per_byte": 1575.0, "flops": 635e12},
                    {"name": "norm", "flop_per_byte": 2.0, "flops": 5e12},
                ],
            }
        },
        "bottleneck": {
            "name": "number of GPUs",
            "shares": {"compute": 0.83, "network": 0.14, "failures": 0.03},
            "why": "matmuls dominate",
        },
        "redundancy": [
            {"component": "power", "scheme": "N+1", "consequence": "one UPS may fail"},
            {"component": "leaf switch", "scheme": "8 rails", "consequence": "one rail lost: the job restarts"},
        ],
    }
