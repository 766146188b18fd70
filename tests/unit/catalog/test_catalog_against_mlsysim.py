"""Our accelerators against the independent registry of the package mlsysim 0.3.0, read from its data files.

mlsysim writes a memory of 80 "GB" as 80 GiB; vendors print GB, so the printed numbers are compared.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from clusterwright.catalog import load_catalog

SAME = {
    "A100_40GB": "a100-sxm-40gb",
    "A100": "a100-sxm-80gb",
    "H100": "h100-sxm-80gb",
    "H100_PCIe": "h100-pcie-80gb",
    "H200": "h200-sxm-141gb",
    "B200": "b200-sxm-180gb",
    "GB200_NVL72": "gb200-nvl72",
    "V100": "v100-sxm-32gb",
    "T4": "t4",
    "MI250X": "mi250x",
    "MI300X": "mi300x",
    "MI325X": "mi325x",
    "Gaudi2": "gaudi2",
    "Gaudi3": "gaudi3",
    "TPUv4": "tpu-v4",
    "TPUv5p": "tpu-v5p",
    "TPUv6": "tpu-v6e",
    "Trainium2": "trainium2",
}
NOT_OURS = {
    "Cerebras_CS3", "DMatrix_Corsair", "Graphcore_GC200", "Groq_LPU", "Untether_speedAI240", "IntelSGX", "K80", "P100",
    "ReferenceCPU", "TPUv1", "TPUv2", "TPUv3", "V100_PCIe",
}  # fmt: skip
EXPLAINED = {
    ("gb200-nvl72", "memory"): "13.5 TiB / 72 = 192 GB is the raw HBM; NVIDIA sells 186 GB of it",
    ("gb200-nvl72", "16 bit"): "162 PFLOPS a rack is 72 x the B200 of an HGX; the NVL72 page prints 180 (360 sparse)",
    ("gb200-nvl72", "fp8"): "324 PFLOPS a rack is 72 x the B200 of an HGX; the NVL72 page prints 360 (720 sparse)",
    ("gb200-nvl72", "tdp"): "120 kW / 72 holds processors, switches and fans; ours is of the GPU alone",
    ("mi250x", "bandwidth"): "3.2 TB/s is AMD's rounded headline; the tables print 3,276.8 GB/s",
    ("mi250x", "tdp"): "500 W is the TDP, 560 W the peak board power that cooling must carry",
    ("gaudi3", "16 bit"): "1,835 is of the whitepaper at 1,750 MHz; the shipping clock of 1,600 MHz gives 1,677",
    ("gaudi3", "fp8"): "1,835 is of the whitepaper at 1,750 MHz; the shipping clock of 1,600 MHz gives 1,677",
    ("tpu-v4", "tdp"): "200 W is rounded up; table 4 of the ISCA paper measures at most 192 W",
    ("trainium2", "16 bit"): "380 TFLOPS is half a chip; AWS prints 667 dense BF16",
    ("trainium2", "fp8"): "760 TFLOPS follows from 380; AWS prints 1,299 dense FP8",
    ("trainium2", "bandwidth"): "2.4 TB/s; AWS prints 2.9 TB/s",
}
DATA = Path(importlib.util.find_spec("mlsysim").submodule_search_locations[0]) / "hardware/data/cloud"
CATALOG = load_catalog()
PREFIX = {"": 1.0, "k": 1e3, "G": 1e9, "T": 1e12, "P": 1e15}


def quantity(text: str) -> float:
    """'3.35 TB / s' in SI, GiB taken as the GB that vendors print."""
    number, unit = re.match(r"([\d.]+) (.*)", str(text)).groups()
    unit = unit.replace(" ", "").replace("iB", "B").replace("TOPS", "TFLOPs/s")
    prefix = unit[0] if unit[0] in "kGTP" else ""
    return float(number) * PREFIX[prefix]


def theirs(name: str) -> dict[str, float]:
    item = yaml.safe_load((DATA / f"{name}.yaml").read_text())
    share = 1 / item.get("accelerator_count", 1)
    found = {
        "memory": quantity(item["memory"]["capacity"]),
        "bandwidth": quantity(item["memory"]["bandwidth"]),
        "16 bit": quantity(item["compute"]["peak_flops"]),
        "tdp": quantity(item["tdp"]),
    }
    if fp8 := item["compute"].get("precision_flops", {}).get("fp8"):
        found["fp8"] = quantity(fp8)
    if name == "GB200_NVL72":
        found["memory"] *= 1.024  # 13.5 TiB are 13,824 GiB
    return {k: v * share for k, v in found.items()}


def ours(name: str) -> dict[str, float]:
    part = CATALOG.get("accelerators", name)
    found = {
        "memory": part["memory_bytes"],
        "bandwidth": part["memory_bandwidth_bytes_s"],
        "16 bit": part.get("peak_bf16_flops", 0.0) or part["peak_fp16_flops"],
        "fp8": part.get("peak_fp8_flops", 0.0),
        "tdp": part["tdp_w"],
    }
    return {k: v for k, v in found.items() if v}


def differences() -> dict[tuple[str, str], tuple[float, float]]:
    found = {}
    for their_name, our_name in SAME.items():
        mine, other = ours(our_name), theirs(their_name)
        for key in mine.keys() & other.keys():
            if abs(mine[key] / other[key] - 1) > 0.02:
                found[our_name, key] = (mine[key], other[key])
    return found


def test_every_difference_is_explained_and_nothing_else() -> None:
    found = differences()
    assert {k: v for k, v in found.items() if k not in EXPLAINED} == {}
    assert [k for k in EXPLAINED if k not in found] == []


def test_the_comparison_compares() -> None:
    compared = [
        key for their_name, our_name in SAME.items() for key in ours(our_name).keys() & theirs(their_name).keys()
    ]
    assert len(compared) >= 80


def test_no_accelerator_of_theirs_is_left_out() -> None:
    assert {p.stem for p in DATA.glob("*.yaml")} == SAME.keys() | NOT_OURS


@pytest.mark.parametrize(
    ("text", "value"), [("80 GiB", 80e9), ("3.35 TB / s", 3.35e12), ("120 kW", 120e3), ("700 W", 700)]
)
def test_their_quantities_are_read(text: str, value: float) -> None:
    assert quantity(text) == pytest.approx(value)
