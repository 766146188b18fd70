"""A user's own file over the shipped catalogue."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.catalog import KINDS, Catalog, load_catalog
from clusterwright.errors import InputError


def overlay(tmp_path: Path, text: str, name: str = "own.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def load(tmp_path: Path, text: str) -> Catalog:
    return load_catalog([overlay(tmp_path, text)])


def errors(tmp_path: Path, text: str) -> list[str]:
    """The findings as ``line:column CODE message hint: ...``."""
    path = overlay(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_catalog([path])
    return [
        f.line().replace(f"{path}:", "").replace(f"{path} ", "").replace("\n  ", " ") for f in caught.value.findings
    ]


def test_a_price_is_replaced_and_names_the_file(tmp_path: Path) -> None:
    catalog = load(
        tmp_path,
        "date: 2026-11-15\ntitle: Offer 4711\naccelerators:\n  h100-sxm-80gb:\n    purchase_price: 24000 USD\n",
    )
    fact = catalog.get("accelerators", "h100").fact("purchase_price_usd")
    assert (fact.value, fact.low, fact.high) == (24000, 24000, 24000)
    assert (fact.source.key, fact.source.title, fact.source.tier) == ("file:own.yaml", "Offer 4711", "own")
    assert fact.date == "2026-11-15"
    assert catalog.get("accelerators", "h100")["memory_bytes"] == 80e9
    assert load_catalog().get("accelerators", "h100")["purchase_price_usd"] > 30000


def test_one_value_of_a_group_is_replaced(tmp_path: Path) -> None:
    text = (
        "date: 2026-11-15\naccelerators:\n  h100-sxm-80gb:\n    peak: {bf16: 900 TFLOPS}\n    rental:\n"
        "      ours: {v: 2 USD/h, provider: us, kind: reserved}\n"
    )
    part = load(tmp_path, text).get("accelerators", "h100")
    assert part["peak_bf16_flops"] == 900e12
    assert part["peak_fp8_flops"] == 1979e12
    names = [r.name for r in part.rentals()]
    assert "ours" in names
    assert "aws-p5" in names


NEW = """
date: 2026-11-15
sources:
  datasheet: {title: Maker's datasheet, tier: primary, date: 2026-10-01}
accelerators:
  x1000-96gb:
    title: Maker X1000
    aliases: [x1000]
    source: datasheet
    vendor: Maker
    memory: 96 GB
    memory_bandwidth: {v: 4 TB/s, source: datasheet, status: derived, note: by hand}
    peak: {bf16: 1200 TFLOPS}
    tdp: 800 W
    scaleup_domain: 8
    purchase_price: [20000 EUR, 30000 EUR]
servers:
  x1000-8:
    procurement: buy
    accelerator: x1000
    gpus: 8
    power: 9 kW
"""


def test_parts_are_added(tmp_path: Path) -> None:
    catalog = load(tmp_path, NEW)
    part = catalog.get("accelerators", "X1000")
    assert part["memory_bytes"] == 96e9
    assert part.fact("memory_bytes").source.title == "Maker's datasheet"
    assert part.fact("memory_bytes").date == "2026-10-01"
    assert part.fact("memory_bandwidth_bytes_s").status == "derived"
    assert part["purchase_price_usd"] == pytest.approx((20000 * 30000) ** 0.5 * 1.1172)
    assert "x1000-96gb" in catalog.names("accelerators")
    assert catalog.get("servers", "x1000-8")["power_w"] == 9000
    assert "x1000-96gb" in catalog.suggest("accelerators", "x100")


def test_planning_regions_and_currencies(tmp_path: Path) -> None:
    text = (
        "date: 2026-11-15\nplanning:\n  pue_air: 1.3\n  my_own_usd_per_kwh: {v: 0.05 EUR/kWh, note: contract}\n"
        "currencies:\n  EUR: {usd: 2 USD}\nregions:\n  us-east: {electricity: $0.05/kWh}\n"
    )
    catalog = load(tmp_path, text)
    assert catalog.planning("pue_air").value == 1.3
    assert catalog.planning("my_own_usd_per_kwh").value == pytest.approx(0.10)
    assert catalog.get("regions", "us-east")["electricity_usd_per_kwh"] == pytest.approx(0.05)
    assert catalog.get("regions", "germany")["electricity_usd_per_kwh"] == pytest.approx(0.38)


def test_a_later_overlay_wins(tmp_path: Path) -> None:
    text = "date: 2026-11-15\nplanning: {{pue_air: {}}}\n"
    first = overlay(tmp_path, text.format("1.3"), "a.yaml")
    second = overlay(tmp_path, text.format("1.4"), "b.yaml")
    assert load_catalog([first, second]).planning("pue_air").value == 1.4
    assert load_catalog([second, first]).planning("pue_air").value == 1.3


def test_own_model(tmp_path: Path) -> None:
    text = (
        "date: 2026-11-15\nmodels:\n  mine: {family: own, kind: dense, layers: 32, hidden: 4096, heads: 32, "
        "kv_heads: 8, ffn_hidden: 14336, gated_mlp: yes, vocab: 128256, tied_embeddings: no}\n"
    )
    assert load(tmp_path, text).model("mine").parameters == load_catalog().model("llama-3-8b").parameters


def test_an_own_price_ages(tmp_path: Path) -> None:
    catalog = load(tmp_path, "date: 2020-01-01\naccelerators:\n  l4: {purchase_price: 2000 USD}\n")
    stale = {(s.part, s.key) for s in catalog.stale(today=date(2026, 11, 30))}
    assert ("l4", "purchase_price_usd") in stale


DATE = "date: 2026-11-15\n"
BAD = {
    "unknown kind": (
        DATE + "acelerators: {}\n",
        "2:1 CATALOG-UNKNOWN-KIND no kind of part 'acelerators' hint: did you mean 'accelerators'?",
    ),
    "unknown field": (
        DATE + "accelerators:\n  l4: {memmory: 3 GB}\n",
        "3:8 CATALOG-UNKNOWN-FIELD an accelerator has no field 'memmory' hint: did you mean 'memory'?",
    ),
    "unknown inner field": (
        DATE + "accelerators:\n  l4:\n    peak: {bf61: 3 TFLOPS}\n",
        "4:12 CATALOG-UNKNOWN-FIELD an accelerator has no field 'peak.bf61' hint: did you mean 'peak.bf16'?",
    ),
    "wrong unit": (
        DATE + "accelerators:\n  l4: {tdp: 70 GB}\n",
        "3:13 CATALOG-BAD-VALUE tdp: 'GB' is not a unit of power hint: ",
    ),
    "no unit": (
        DATE + "accelerators:\n  l4: {tdp: 70}\n",
        "3:13 CATALOG-BAD-VALUE tdp: 70 has no unit hint: ",
    ),
    "unit in v": (
        DATE + "accelerators:\n  l4: {tdp: {v: 70 X}}\n",
        "3:17 CATALOG-BAD-VALUE tdp: 'X' is not",
    ),
    "negative": (
        DATE + "accelerators:\n  l4: {tdp: -70 W}\n",
        "3:13 CATALOG-BAD-VALUE tdp: '-70 W' is negative",
    ),
    "backwards": (
        DATE + "accelerators:\n  l4: {tdp: [80 W, 70 W]}\n",
        "3:13 CATALOG-BAD-VALUE tdp: the range",
    ),
    "three ends": (
        DATE + "accelerators:\n  l4: {tdp: [1 W, 2 W, 3 W]}\n",
        "3:13 CATALOG-BAD-VALUE tdp: a range",
    ),
    "outside": (
        DATE + "accelerators:\n  l4: {tdp: {v: 9 W, low: 1 W, high: 2 W}}\n",
        "3:17 CATALOG-BAD-VALUE",
    ),
    "unknown key of a value": (
        DATE + "accelerators:\n  l4: {tdp: {v: 9 W, sorce: x}}\n",
        "3:22 CATALOG-UNKNOWN-FIELD",
    ),
    "unknown source": (
        DATE + "accelerators:\n  l4: {tdp: {v: 9 W, source: xx}}\n",
        "3:17 CATALOG-BAD-VALUE tdp: no source 'xx' hint: add 'xx' under 'sources:'",
    ),
    "unknown status": (
        DATE + "accelerators:\n  l4: {tdp: {v: 9 W, status: sure}}\n",
        "3:17 CATALOG-BAD-VALUE",
    ),
    "no date": (
        "accelerators:\n  l4: {tdp: 70 W}\n",
        "2:8 CATALOG-NO-DATE 'tdp' has no date hint: add 'date:",
    ),
    "bad date": (
        "date: soon\naccelerators:\n  l4: {tdp: 70 W}\n",
        "1:7 CATALOG-BAD-FORM 'soon' is not a date",
    ),
    "missing field": (
        DATE + "regions:\n  moon: {country: LUN}\n",
        "3:3 CATALOG-MISSING-FIELD region 'moon' lacks 'electricity'",
    ),
    "missing part": (
        DATE + "servers:\n  s: {procurement: buy, accelerator: h101, gpus: 8}\n",
        "3:38 CATALOG-UNKNOWN-PART the catalogue has no accelerator 'h101' hint: did you mean 'h100",
    ),
    "bad choice": (
        DATE + "servers:\n  dgx-h100: {cooling: wind}\n",
        "3:23 CATALOG-BAD-VALUE cooling: 'wind'",
    ),
    "alias taken": (
        DATE + "accelerators:\n  l4: {aliases: [h100]}\n",
        "3:8 CATALOG-CLASH the alias 'h100' belongs to 'h100-sxm-80gb'",
    ),
    "name is an alias": (
        DATE + "accelerators:\n  h100: {tdp: 650 W}\n",
        "CATALOG-CLASH 'h100' is an alias of",
    ),
    "offer without provider": (
        DATE + "accelerators:\n  l4:\n    rental: {x: 1 USD/h}\n",
        "4:14 CATALOG-BAD-FORM",
    ),
    "offer kind": (
        DATE + "accelerators:\n  l4:\n    rental: {x: {v: 1 USD/h, provider: me, kind: gift}}\n",
        "4:14 CATALOG-BAD-FORM 'gift' is not a kind of offer",
    ),
    "not a mapping": (
        "- a\n- b\n",
        "1:1 CATALOG-BAD-FORM an overlay is a mapping",
    ),
    "kind not a mapping": (
        DATE + "accelerators: [a]\n",
        "2:1 CATALOG-BAD-FORM 'accelerators' is not a mapping",
    ),
    "part not a mapping": (
        DATE + "accelerators: {l4: 3}\n",
        "2:16 CATALOG-BAD-FORM 'l4' is not a mapping",
    ),
    "group not a mapping": (
        DATE + "accelerators: {l4: {peak: 3}}\n",
        "2:21 CATALOG-BAD-FORM 'peak' is not a",
    ),
    "aliases not a list": (
        DATE + "accelerators: {l4: {aliases: x}}\n",
        "2:21 CATALOG-BAD-FORM 'aliases' is not",
    ),
    "text is a list": (
        DATE + "servers: {dgx-h100: {cpu: [a]}}\n",
        "2:27 CATALOG-BAD-VALUE cpu: expected a text",
    ),
    "planning unit": (
        DATE + "planning: {rack_limit_air_w: 40 GB}\n",
        "2:30 CATALOG-BAD-VALUE value: 'GB' is not",
    ),
    "sources not a mapping": (
        DATE + "sources: 3\n",
        "2:1 CATALOG-BAD-FORM 'sources' is not a mapping",
    ),
    "source without title": (
        DATE + "sources: {a: {url: x}}\n",
        "2:11 CATALOG-BAD-FORM the source 'a' lacks",
    ),
    "source without date": (
        "sources: {a: {title: x}}\n",
        "1:11 CATALOG-NO-DATE the source 'a' has no date",
    ),
    "source tier": (
        DATE + "sources: {a: {title: x, tier: best}}\n",
        "2:11 CATALOG-BAD-FORM 'best' is not a tier",
    ),
    "rate is no mapping": (
        DATE + "currencies: {EUR: 3}\n",
        "2:14 CATALOG-BAD-FORM 'EUR' is not a mapping of fields",
    ),
    "also is no list": (
        DATE + "accelerators: {l4: {tdp: {v: 70 W, also: 3}}}\n",
        "2:30 CATALOG-BAD-VALUE tdp: 'also' is not a list",
    ),
    "source is a list": (
        DATE + "accelerators: {l4: {tdp: {v: 70 W, source: [a]}}}\n",
        "2:30 CATALOG-BAD-VALUE tdp: no source",
    ),
    "twice": (
        DATE + "planning: {}\nplanning: {}\n",
        "3:1 CATALOG-YAML 'planning' is given twice",
    ),
    "syntax": (
        "date: [\n",
        "CATALOG-YAML is not YAML",
    ),
    "empty": (
        "",
        "CATALOG-FILE is empty",
    ),
    "model": (
        DATE
        + (
            "models:\n  m: {family: a, kind: moe, layers: 2, hidden: 64, heads: 2, ffn_hidden: 64, "
            "gated_mlp: yes, vocab: 10, tied_embeddings: no}\n"
        ),
        "CATALOG-BAD-VALUE experts is missing in a mixture",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_overlays_say_where_and_what(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    assert any(expected in line for line in errors(tmp_path, text)), errors(tmp_path, text)


def test_all_errors_of_all_files_at_once(tmp_path: Path) -> None:
    first = overlay(tmp_path, "date: 2026-11-15\naccelerators:\n  l4: {tdp: 70, memory: 3 W}\n", "a.yaml")
    second = overlay(tmp_path, "date: 2026-11-15\nswitches:\n  qm9700: {ports: many}\n", "b.yaml")
    with pytest.raises(InputError) as caught:
        load_catalog([first, second])
    places = [str(f.place) for f in caught.value.findings]
    assert places == [f"{first}:3:13", f"{first}:3:25", f"{second}:3:19"]


@pytest.mark.parametrize("make", ["missing", "folder", "binary"])
def test_files_that_cannot_be_read(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x.yaml"
    if make == "folder":
        path.mkdir()
    if make == "binary":
        path.write_bytes(b"\0\1\2")
    with pytest.raises(InputError) as caught:
        load_catalog([path])
    assert [f.code for f in caught.value.findings] == ["CATALOG-FILE"]


GUIDE = Path(__file__).parents[3] / "docs" / "concepts" / "catalog.md"


def test_overlays_in_the_documentation_are_good(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    catalog = load_catalog([overlay(tmp_path, block, f"{i}.yaml") for i, block in enumerate(blocks)])
    assert catalog.get("server", "x1000-8")["power_w"] == 9600
    assert catalog.planning("pue_air").value == 1.31
    assert catalog.model("my-8b").parameters == pytest.approx(8.03e9, rel=1e-3)


def test_aliases_of_named_parts_become_names(tmp_path: Path) -> None:
    text = DATE + "servers:\n  s: {procurement: buy, accelerator: H100, gpus: 8}\n"
    assert load(tmp_path, text).get("servers", "s").text("accelerator") == "h100-sxm-80gb"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["70 W", "1 EUR", "h100", "", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["v", "also", "source", "x"]), inner),
    max_leaves=4,
)
KEYS = st.sampled_from(
    ["aliases", "source", "status", "date", "title", "note", "tdp", "peak", "rental", "usd", "layers"]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from([*KINDS, "sources", "date"]), key=KEYS, value=ANYTHING, whole=st.booleans())
def test_any_value_anywhere_is_refused_with_findings_or_taken(
    tmp_path: Path, kind: str, key: str, value: object, whole: bool
) -> None:
    document = {"date": "2026-11-15", kind: value if whole else {"l4": {key: value}}}
    path = overlay(tmp_path, json.dumps(document))
    try:
        catalog = load_catalog([path])
    except InputError as error:
        assert all(f.code.startswith("CATALOG-") and f.message for f in error.findings)
    else:
        catalog.stale("any", today=date(2026, 11, 30))
