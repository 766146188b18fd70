"""The estimate verb: text for people, JSON for programs, findings on stderr, exit codes."""

import csv
import io
import json

import pytest

from clusterwright.cli import main

WORDS = ["estimate", "train", "--model", "llama-3-70b", "--gpu", "h100-sxm-80gb", "--gpus", "1024"]


def test_the_text_has_every_section(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--what-if", "micro_batch=2", "--measured", "4.9s", "--flags", "megatron", "--color", "never"]
    assert main([*WORDS, *more]) == 0
    said = capsys.readouterr()
    for words in (
        "Step time",
        "MFU",
        "Memory per GPU",
        "of a step go",
        "Roofline",
        "Plans:",
        "What if",
        "Measured 4.9 s",
    ):
        assert words in said.out
    assert "pretrain_gpt.py" in said.out
    assert "\x1b[" not in said.out
    assert max(map(len, said.out.splitlines())) <= 130
    assert said.err == ""


def test_json_has_intervals_and_everything_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--what-if", "gpus=2x", "--measured", "40 % MFU", "--flags", "deepspeed", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "clusterwright/estimate-train/1"
    assert document["verdict"] == "fits"
    step = document["step_time_s"]
    assert step["low"] < step["value"] < step["high"]
    assert document["what_if"][0]["plan"]["gpus"] == 2048
    assert document["attribution"]["measured_s"] == pytest.approx(step["value"] * document["mfu"]["value"] / 0.40)
    assert document["launch"]["project"].startswith("DeepSpeed ")
    assert document["plans"][0]["chosen"] is True


def test_csv_is_the_table_of_plans_and_top_cuts_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--top", "2", "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sum(row["fits"] == "True" for row in rows) == 2
    assert rows[0]["chosen"] == "True"


def test_what_does_not_fit_is_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS[:-1], "4"]) == 1
    said = capsys.readouterr()
    assert "does not fit" in said.out
    assert "TRAINING-DOES-NOT-FIT" in said.err


@pytest.mark.parametrize(
    ("more", "code", "hint"),
    [
        (["--model", "llama3-70"], "SPEC-UNKNOWN-PART", "llama-3-70b"),
        (["--gpu", "h100-smx"], "CATALOG-UNKNOWN-PART", "h100-sxm-80gb"),
        (["--tp", "7"], "ESTIMATE-PLAN-INCONSISTENT", "nearest valid plans on 1,024 GPUs: tp 8"),
        (["--measured", "quick"], "ESTIMATE-MEASURED", "tokens/s"),
        (["--what-if", "micro=2"], "ESTIMATE-WHAT-IF", "micro_batch"),
        (["--flags", "nemo"], "CLI-USAGE", "--help"),
    ],
)
def test_bad_input_is_code_2_with_a_hint_and_no_data(
    capsys: pytest.CaptureFixture[str], more: list[str], code: str, hint: str
) -> None:
    assert main([*WORDS, *more]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert code in said.err
    assert hint in said.err
    assert "Traceback" not in said.err


def test_a_model_can_be_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    own = "{name: mine, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336, vocab: 128256}"
    assert main(["estimate", "train", "--model", own, "--gpu", "h100", "--gpus", "64", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["model"] == "mine"
