"""An estimate as a whole process: it agrees with the design of the same run, and its hints lead out of a refusal."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = """
version: 1
name: same
workloads: [{name: run, train: {model: llama-3-70b, tokens: 1e12, sequence: 8192, global_batch: 512 sequences}}]
compute: {accelerators: [h100-sxm-80gb], gpus: 1024, server: dgx-h100}
fabric: {technology: infiniband-ndr}
finance: {procurement: [buy]}
"""


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clusterwright", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_an_estimate_and_a_design_of_the_same_run_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "same.yaml").write_text(SPEC, "utf-8")
    designed = json.loads(run("design", "same.yaml", "--no-out", "--json", cwd=tmp_path).stdout)["training"][0]
    options = "--model llama-3-70b --gpu h100 --gpus 1024 --sequence 8192 --global-batch 512 --tokens 1e12 --json"
    estimated = json.loads(run("estimate", "train", *options.split(), cwd=tmp_path).stdout)
    for name in ("step_time_s", "mfu", "tokens_per_s", "compute_time_s", "scaling_efficiency"):
        assert estimated[name] == pytest.approx(designed[name]), name
    assert estimated["memory"]["bytes"] == pytest.approx(designed["memory_bytes"])
    assert {d: estimated["plan"][d] for d in designed["plan"]} == designed["plan"]
    assert list(tmp_path.iterdir()) == [tmp_path / "same.yaml"]  # nothing was written


def test_a_refused_plan_runs_with_the_degrees_of_its_hint(tmp_path: Path) -> None:
    words = ["estimate", "train", "--model", "gpt-3-175b", "--gpu", "a100-sxm-80gb", "--gpus", "960"]
    refused = run(*words, "--tp", "7", "--pp", "9", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    first = refused.stderr.partition("nearest valid plans on 960 GPUs: ")[2].partition(";")[0]
    mended = [word for name, value in re.findall(r"(tp|pp) (\d+)", first) for word in (f"--{name}", value)]
    assert run(*words, *mended, cwd=tmp_path).returncode == 0
