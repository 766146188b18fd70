"""Bad input: each kind has its code, its place and a hint, and is never a traceback."""

import errno
from pathlib import Path

import pytest

from clusterwright.errors import InputError
from clusterwright.spec import FINDINGS, load_spec
from tests.unit.spec.writing import GOOD, only, wrong, wrong_file, wrong_with

# --- the file ---


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    code, place, _, hint = only(wrong_file(tmp_path / "no.yaml"))
    assert (code, place, hint) == ("SPEC-MISSING-FILE", str(tmp_path / "no.yaml"), "check the path")


def test_a_folder(tmp_path: Path) -> None:
    assert only(wrong_file(tmp_path))[0] == "SPEC-FOLDER"


@pytest.mark.parametrize("content", ["", "  \n\n", "# only a comment\n", "---\n"])
def test_an_empty_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "s.yaml").write_text(content, "utf-8")
    assert only(wrong_file(tmp_path / "s.yaml"))[0] in ("SPEC-EMPTY", "SPEC-TYPE")


def test_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(b"\x7fELF\0\0\0\1")
    assert only(wrong_file(tmp_path / "s.yaml"))[0] == "SPEC-BINARY"


def test_a_file_of_100_mb_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)  # sparse: takes no room
    code, _, message, _ = only(wrong_file(path))
    assert (code, message) == ("SPEC-TOO-LARGE", "has 100,000,000 bytes; at most 4,194,304 are read")


def test_text_that_is_not_utf_8_is_placed_at_the_byte(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(b"version: 1\nname: caf\xe9\n")
    code, place, _, hint = only(wrong_file(tmp_path / "s.yaml"))
    assert (code, place) == ("SPEC-ENCODING", f"{tmp_path / 's.yaml'}:2:10")
    assert hint == "save the file as UTF-8"


def test_utf_16_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(GOOD, "utf-16")
    assert only(wrong_file(tmp_path / "s.yaml"))[0] in ("SPEC-BINARY", "SPEC-ENCODING")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(GOOD, "utf-8")

    def refuse(*_: object, **__: object) -> None:  # permissions would not stop root
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    code, place, message, _ = only(wrong_file(path))
    assert (code, place, message) == ("SPEC-UNREADABLE", str(path), "cannot be read: Permission denied")


# --- the YAML ---


def test_a_tab_in_the_indentation() -> None:
    code, place, _, hint = only(wrong(GOOD + "limits:\n\tracks: 4\n"))
    assert (code, place, hint) == ("SPEC-TAB", "spec.yaml:7:1", "indent with spaces")


def test_broken_yaml() -> None:
    code, place, _, _ = only(wrong(GOOD + "limits: {racks: 4\n"))
    assert code == "SPEC-SYNTAX"
    assert place.startswith("spec.yaml:")


def test_a_path_with_an_index_that_lacks_quotes_is_recognised() -> None:
    code, _, _, hint = only(wrong_with("claims: [{path: training[0].mfu, value: 40 %}]\n"))
    assert (code, hint) == ("SPEC-SYNTAX", 'within braces a path with an index needs quotes: path: "training[0].mfu"')


def test_a_key_given_twice_says_where_the_first_stands() -> None:
    code, place, message, _ = only(wrong_with("limits: {racks: 4}\nlimits: {racks: 5}\n"))
    assert (code, place) == ("SPEC-DUPLICATE-KEY", "spec.yaml:7:1")
    assert message == "'limits' is given twice, first on line 6"


def test_nesting_without_end() -> None:
    assert only(wrong("a: " + "[" * 5000 + "]" * 5000))[0] == "SPEC-TOO-DEEP"


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    assert [f.code for f in wrong(GOOD + bomb)] == ["SPEC-ALIASES"]


def test_a_second_document() -> None:
    assert only(wrong(GOOD + "---\nversion: 1\n"))[0] == "SPEC-SYNTAX"


@pytest.mark.parametrize("text", ["[1, 2]", "just text", "42", "true"])
def test_a_document_that_is_no_mapping(text: str) -> None:
    code, _, message, hint = only(wrong(text))
    assert (code, hint) == ("SPEC-TYPE", "start from 'clusterwright init'")
    assert message.startswith("a spec is a mapping of keys, not ")


# --- keys ---


def test_an_unknown_key_has_its_place_and_the_key_that_was_meant() -> None:
    code, place, message, hint = only(wrong_with("limits: {racks: 4, powr: 3 MW}\n"))
    assert (code, place) == ("SPEC-UNKNOWN-KEY", "spec.yaml:6:20")
    assert (message, hint) == ("'powr' means nothing in limits", "did you mean 'power'?")


def test_a_key_that_belongs_elsewhere_is_told_where() -> None:
    _, _, message, hint = only(wrong_with("cooling: air\n"))
    assert (message, hint) == ("'cooling' means nothing at the top level", "'cooling' belongs under sites[]")


def test_the_name_in_python_is_led_back_to_the_written_one() -> None:
    assert only(wrong_with("limits: {power_w: 3 MW}\n"))[3] == "did you mean 'power'?"


def test_a_key_like_no_other_gets_the_list() -> None:
    assert only(wrong_with("limits: {zzz: 1}\n"))[3] == (
        "known here: budget, power, rack_power, racks, rack_weight, floor"
    )


def test_a_mapping_with_a_thousand_unknown_keys_is_answered_in_short() -> None:
    findings = wrong_with("limits: {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}\n")
    assert len(findings) == 101
    assert (findings[-1].code, findings[-1].message) == ("SPEC-MANY", "900 more findings are not shown")


@pytest.mark.parametrize("key", ["version", "name", "workloads"])
def test_a_key_without_which_nothing_works(key: str) -> None:
    lines = GOOD.splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith((key, "  " if key == "workloads" else key))]
    code, _, message, hint = only(wrong("".join(kept)))
    assert (code, message) == ("SPEC-MISSING-KEY", f"'{key}' is missing")
    assert hint.startswith(f"add '{key}: ")


def test_a_needed_key_cannot_be_auto() -> None:
    code, place, _, hint = only(wrong(GOOD.replace("name: small", "name: auto")))
    assert (code, place, hint) == ("SPEC-MISSING-KEY", "spec.yaml:2:7", "it cannot be auto: add 'name: llm-70b'")


def test_a_workload_without_anything_to_do() -> None:
    code, place, message, _ = only(wrong(GOOD.replace("    train: {model: llama-3-8b, tokens: 1e12}\n", "")))
    assert (code, place) == ("SPEC-MISSING-KEY", "spec.yaml:4:5")
    assert message == "workload 'pretrain' says nothing to do"


# --- versions ---


def test_an_unknown_version_names_those_that_are_known_and_nothing_else() -> None:
    code, place, message, hint = only(wrong(GOOD.replace("version: 1", "version: 2") + "nonsense: 1\n"))
    assert (code, place, message) == ("SPEC-VERSION", "spec.yaml:1:10", "version '2' is not known")
    assert hint == "this program reads version 1: write 'version: 1'"


@pytest.mark.parametrize("written", ["one", "1.5", "[1]", "true", "-1", "'1.0'"])
def test_a_version_that_is_no_number(written: str) -> None:
    assert only(wrong(GOOD.replace("version: 1", f"version: {written}")))[0] in ("SPEC-TYPE", "SPEC-VERSION")


# --- parts and words ---


@pytest.mark.parametrize(
    ("more", "meant"),
    [
        ("compute: {accelerators: [h100-sxm-80g]}", "h100-sxm-80gb"),
        ("compute: {server: dgx-h10}", "dgx-h100"),
        ("fabric: {technology: infinband-ndr}", "infiniband-ndr"),
        ("sites: [{region: us-eest}]", "us-east"),
        ("currency: EURO", "EUR"),
    ],
)
def test_an_unknown_part_is_told_the_nearest_one(more: str, meant: str) -> None:
    code, _, _, hint = only(wrong_with(more + "\n"))
    assert (code, hint) == ("SPEC-UNKNOWN-PART", f"did you mean '{meant}'?")


def test_an_unknown_model_is_told_the_nearest_one() -> None:
    code, place, _, hint = only(wrong(GOOD.replace("llama-3-8b", "lama-3-8b")))
    assert (code, place, hint) == ("SPEC-UNKNOWN-PART", "spec.yaml:5:20", "did you mean 'llama-3-8b'?")


@pytest.mark.parametrize(
    ("more", "meant"),
    [
        ("objective: csot", "cost"),
        ("objective: {cots: 1}", "cost"),
        ("scheduler: {kind: Slurm}", "slurm"),
        ("fabric: {topology: rail-optimized}", "rail-optimised"),
        ("reliability: {redundancy: n+1}", "N+1"),
        ("finance: {procurement: [bye]}", "buy"),
        ("sites: [{cooling: direct liquid}]", "direct-liquid"),
    ],
)
def test_an_unknown_word_is_told_the_nearest_one(more: str, meant: str) -> None:
    code, _, _, hint = only(wrong_with(more + "\n"))
    assert code in ("SPEC-UNKNOWN-WORD", "SPEC-UNKNOWN-KEY")
    assert hint.startswith(f"did you mean '{meant}'?")


# --- units ---


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ("limits: {power: 8}", "add one, such as '8 MW'"),
        ("limits: {budget: 60000000}", "add one, such as '6e+07 M USD'"),
        ("storage: {dataset: 12}", "add one, such as '12 TB'"),
        ("sites: [{floor: 500}]", "add one, such as '500 m2'"),
        ("sites: [{energy_price: 0.08}]", "add one, such as '0.08 /kWh'"),
    ],
)
def test_a_bare_number_where_a_unit_is_needed(more: str, hint: str) -> None:
    code, _, message, said = only(wrong_with(more + "\n"))
    assert code == "SPEC-UNIT"
    assert message.endswith("has no unit")
    assert said == hint


def test_a_deadline_without_a_unit_is_placed_at_its_number() -> None:
    code, place, _, hint = only(wrong(GOOD.replace("tokens: 1e12", "tokens: 1e12, deadline: 14")))
    assert (code, place, hint) == ("SPEC-UNIT", "spec.yaml:5:56", "add one, such as '14 d'")


@pytest.mark.parametrize(
    "more",
    [
        "limits: {power: 8 MB}",
        "limits: {power: 8 kg}",
        "limits: {budget: 60M}",
        "storage: {dataset: 12 TBB}",
        "sites: [{energy_price: 8 USD}]",
        "sites: [{floor: 500 m}]",
        "fabric: {oversubscription: 2}",
    ],
)
def test_a_wrong_unit(more: str) -> None:
    assert only(wrong_with(more + "\n"))[0] == "SPEC-UNIT"


def test_a_global_batch_must_say_tokens_or_sequences() -> None:
    code, _, message, hint = only(wrong(GOOD.replace("tokens: 1e12", "tokens: 1e12, global_batch: 512")))
    assert (code, message) == ("SPEC-UNIT", "'512' has no unit: tokens or sequences?")
    assert hint == "write '4M tokens' or '512 sequences'"


# --- magnitudes ---


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tokens", "-1e12"),
        ("tokens", "0"),
        ("tokens", ".nan"),
        ("tokens", ".inf"),
        ("tokens", "1e30"),
        ("tokens", "9" * 60),
        ("sequence", "-8192"),
        ("sequence", "0"),
        ("sequence", ".nan"),
        ("sequence", "1e9"),
        ("gpus", "-8"),
        ("gpus", "0"),
        ("gpus", ".inf"),
        ("gpus", "1e9"),
        ("deadline", "-14 d"),
        ("deadline", "0 d"),
        ("deadline", "1000 years"),
        ("deadline", "1e999 d"),
        ("global_batch", "-4M tokens"),
        ("global_batch", "0 sequences"),
        ("global_batch", "1e30 tokens"),
    ],
)
def test_a_number_of_a_run_that_nobody_can_mean(key: str, value: str) -> None:
    parts = {"model": "llama-3-8b", "tokens": "1e12", "sequence": "8192", key: value}
    line = ", ".join(f"{k}: {v}" for k, v in parts.items())
    assert only(wrong(GOOD.replace("model: llama-3-8b, tokens: 1e12", line)))[0] == "SPEC-RANGE"


@pytest.mark.parametrize(
    "more",
    [
        "limits: {power: -8 MW}",
        "limits: {power: 0 MW}",
        "limits: {power: 1e30 MW}",
        "limits: {budget: 0 USD}",
        "limits: {budget: -5M USD}",
        "limits: {racks: 0}",
        "limits: {racks: .nan}",
        "compute: {gpus: 1e9}",
        "compute: {nodes_per_rack: 100000}",
        "finance: {years: 1000}",
        "finance: {years: 0}",
        "finance: {years: .inf}",
        "reliability: {availability: 99.9}",
        "reliability: {availability: 100 %}",
        "reliability: {availability: 120 %}",
        "reliability: {availability: 0 %}",
        "reliability: {spares: -1}",
        "storage: {dataset: 0 TB}",
        "storage: {checkpoints_kept: 0}",
        "sites: [{pue: 0.9}]",
        "sites: [{pue: 12}]",
        "sites: [{rack_power: 1 GW}]",
        "sites: [{energy_price: $1000/kWh}]",
        'fabric: {oversubscription: "1:2"}',
        'fabric: {oversubscription: "1:0"}',
        'fabric: {oversubscription: "1000:1"}',
        "objective: {cost: 0}",
        "objective: {cost: -1}",
        "objective: {cost: .nan}",
    ],
)
def test_a_number_that_nobody_can_mean(more: str) -> None:
    assert only(wrong_with(more + "\n"))[0] == "SPEC-RANGE"


def test_no_spares_and_free_energy_are_meant() -> None:
    assert wrong_with("reliability: {spares: 0}\nsites: [{energy_price: $0/kWh, carbon: 0 g/kWh}]\n") == ()


# --- types ---


@pytest.mark.parametrize(
    "more",
    [
        "limits: 5",
        "limits: [racks]",
        "limits: lots",
        "sites: {name: main}",
        "sites: []",
        "sites: [main]",
        "compute: {accelerators: []}",
        "compute: {accelerators: {h100: 1}}",
        "compute: {accelerators: [[h100]]}",
        "compute: {accelerators: [1]}",
        "compute: {gpus: many}",
        "compute: {gpus: 16k}",
        "compute: {gpus: 10.5}",
        "compute: {gpus: true}",
        "compute: {gpus: [8]}",
        "compute: {server: 5}",
        "limits: {power: {a: 1}}",
        "limits: {power: true}",
        "finance: {years: four}",
        "scheduler: {kind: [slurm]}",
        "objective: [cost]",
        "objective: {}",
        "objective: {cost: high}",
        "claims: {path: x}",
        "fabric: {oversubscription: half}",
    ],
)
def test_a_value_of_the_wrong_type(more: str) -> None:
    code, place, _, hint = only(wrong_with(more + "\n"))
    assert code == "SPEC-TYPE"
    assert place.startswith("spec.yaml:6:")
    assert hint


def test_workloads_written_as_one_mapping_are_told_how_a_list_looks() -> None:
    findings = wrong("version: 1\nname: x\nworkloads: {name: a, train: {model: llama-3-8b}}\n")
    assert only(findings)[3] == "put '- ' before each item"


@pytest.mark.parametrize(
    "name", ["../up", "a b", "-rf", ".hidden", "a/b", "x" * 64, "caf\u00e9", '"a\\nb"', '"\\u202e"', '""', "a:b"]
)
def test_a_name_that_could_not_name_a_file(name: str) -> None:
    assert only(wrong(GOOD.replace("name: small", f"name: {name}")))[0] == "SPEC-NAME"


def test_a_name_that_looks_like_a_number_is_to_be_quoted() -> None:
    assert only(wrong(GOOD.replace("name: small", "name: 405")))[3] == "quote it when it looks like a number"
    assert wrong(GOOD.replace("name: small", 'name: "405"')) == ()


@pytest.mark.parametrize(
    "more", ['scheduler: {kind: "\\e[31m"}', 'limits: {power: "\\e[31m"}', '"\\e[31m": 1', '"\\e": 1\n"\\e": 2']
)
def test_what_a_terminal_would_obey_is_not_repeated(more: str) -> None:
    assert ["\x1b" in f.line() for f in wrong_with(more + "\n")] in ([False], [False, False])


# --- dimensions of a model ---


def test_dimensions_are_refused_each_with_its_place() -> None:
    own = "{layers: 0, hidden: 4096, heads: 32, ffn: 14336, vocab: many}"
    found = {(f.code, str(f.place)) for f in wrong(GOOD.replace("llama-3-8b", own))}
    assert found == {
        ("SPEC-RANGE", "spec.yaml:5:29"),
        ("SPEC-UNKNOWN-KEY", "spec.yaml:5:57"),
        ("SPEC-TYPE", "spec.yaml:5:76"),
        ("SPEC-MISSING-KEY", "spec.yaml:5:20"),
    }


@pytest.mark.parametrize("layers", ["[80]", "{a: 1}", ".nan", "9" * 50, ""])
def test_a_dimension_that_is_no_number(layers: str) -> None:
    own = f"{{layers: {layers}, hidden: 4096, heads: 32, ffn_hidden: 14336, vocab: 32000}}"
    assert only(wrong(GOOD.replace("llama-3-8b", own)))[0] in ("SPEC-TYPE", "SPEC-RANGE")


# --- reserved ---


def test_serving_is_not_designed_yet() -> None:
    text = GOOD.replace("train: {model: llama-3-8b, tokens: 1e12}", "serve: {model: llama-3-8b}")
    code, place, message, hint = only(wrong(text))
    assert (code, place, message) == ("SPEC-NOT-YET", "spec.yaml:5:12", "serving is not designed yet")
    assert hint


def test_edge_is_not_designed_yet() -> None:
    assert only(wrong(GOOD.replace("tokens: 1e12}", "tokens: 1e12}\n    edge: {plants: 50}")))[0] == "SPEC-NOT-YET"


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ("tenants: [{name: a}, {name: a}]\n", "SPEC-DUPLICATE", "the tenant 'a' is there twice"),
        ("tenants: [{name: a b}]\n", "SPEC-NAME", "cannot be used as a name"),
        ("tenants: [{name: $(reboot)}]\n", "SPEC-NAME", "cannot be used as a name"),
        ("tenants: [{name: a, quota: 8, limit: 4}]\n", "SPEC-CONTRADICTION", "quota of 8 GPUs is above the limit of 4"),
        ("tenants: [{name: a, quota: 80}]\ncompute: {gpus: 64}\n", "SPEC-CONTRADICTION", "80 GPUs, the cluster has 64"),
        ("tenants: [{name: a, priority: urgent}]\n", "SPEC-UNKNOWN-WORD", "is not a priority"),
        ("tenants: [{name: a, users: [a b]}]\n", "SPEC-NAME", "cannot be used as a name"),
        ("tenants: [{name: a, share: 0}]\n", "SPEC-RANGE", ""),
        ("deploy: {network: 8.8.8.0/24}\n", "SPEC-RANGE", "not a private block"),
        ("deploy: {network: ten}\n", "SPEC-RANGE", "no block of IPv4 addresses"),
        ("deploy: {domain: a..b}\n", "SPEC-NAME", "is no domain"),
        ("deploy: {registry: 'a b'}\n", "SPEC-NAME", "is no registry"),
        ("deploy: {repository: 'file:///etc/passwd'}\n", "SPEC-NAME", "is no repository"),
        ("deploy: {contact: nobody}\n", "SPEC-NAME", "is no mail address"),
        ("deploy: {slurm: '19.05'}\n", "SPEC-UNKNOWN-WORD", "is not a version of Slurm"),
        ("deploy: {os: windows}\n", "SPEC-UNKNOWN-WORD", "is not an operating system"),
    ],
)
def test_wrong_tenants_and_deployments_are_said(more: str, code: str, message: str) -> None:
    found = only(wrong_with(more))
    assert found[0] == code
    assert message in found[2]


def test_tenants_may_share_what_is_left() -> None:
    assert wrong_with("tenants: [{name: a, quota: 8}, {name: B.c, share: 2, users: [x]}]\n") == ()


def test_a_topology_without_a_design_is_not_yet() -> None:
    assert only(wrong_with("fabric: {topology: dragonfly}\n"))[0] == "SPEC-NOT-YET"


# --- all at once ---


def test_everything_wrong_is_said_at_once_in_the_order_of_the_file() -> None:
    findings = wrong(
        GOOD.replace("llama-3-8b", "lama").replace("name: small", "name: a b")
        + "limits: {power: 8, rack_powr: 1 kW}\nclaims: [{path: facility.it_power_w, value: 5 kg}]\nsites: [{pue: 0}]\n"
    )
    assert [f.code for f in findings] == [
        "SPEC-NAME",
        "SPEC-UNKNOWN-PART",
        "SPEC-UNIT",
        "SPEC-UNKNOWN-KEY",
        "SPEC-UNIT",
        "SPEC-RANGE",
    ]
    places = [(f.place.line, f.place.column) for f in findings]  # type: ignore[union-attr]  # all are Places
    assert places == sorted(places)


def test_contradictions_are_said_beside_other_mistakes() -> None:
    findings = wrong_with("compute: {gpus: 1024}\nsites: [{name: a, gpus: 512, powr: 1 MW}]\n")
    assert [f.code for f in findings] == ["SPEC-CONTRADICTION", "SPEC-UNKNOWN-KEY"]


def test_duplicate_keys_do_not_hide_what_else_is_wrong() -> None:
    findings = wrong_with("limits: {racks: 1}\nlimits: {racks: 2}\nfabric: {speed: 1}\n")
    assert [f.code for f in findings] == ["SPEC-DUPLICATE-KEY", "SPEC-UNKNOWN-KEY"]


def test_the_error_carries_exit_code_2_and_documented_errors(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("nonsense: 1\n", "utf-8")
    with pytest.raises(InputError) as caught:
        load_spec(tmp_path / "s.yaml")
    assert caught.value.exit_code == 2
    assert all(f.code in FINDINGS and f.severity == "error" for f in caught.value.findings)
