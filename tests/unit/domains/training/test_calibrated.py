"""A run that names a calibration is timed by its constants and its factor; a bad file is said with its place."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.design import design, estimate
from clusterwright.domains.training import CALIBRATION, MODERN, PHYSICS, read_calibration
from clusterwright.domains.training.job import factor_of, job_of
from clusterwright.errors import InputError
from clusterwright.spec import load_spec, read_spec

CATALOG = load_catalog()
ASKED = {"model": "llama-3-8b", "gpu": "h100-sxm-80gb", "gpus": "64", "global_batch": "128"}
PLAN = {"tp": "2", "pp": "2", "cp": "1", "dp": "16", "micro_batch": "1", "recompute": "none"}
SPEC = """version: 1
name: own
workloads:
  - name: pretrain
    train: {model: llama-3-8b, tokens: 1e11, framework: Trainer-X}
compute: {accelerators: [h100-sxm-80gb], gpus: 64}
"""


def written(folder: Path, **changes: Any) -> Path:
    """A calibration file: the shipped constants, a factor of 1.25 for trainer-x, and a spread of 5 %."""
    document = {"physics": asdict(PHYSICS), "factors": {"trainer-x": 1.25}, "spread": {"dense": 0.05}, **changes}
    path = folder / "mine.json"
    path.write_text(json.dumps(document))
    return path


def test_the_factor_of_the_framework_scales_every_part_of_the_step(tmp_path: Path) -> None:
    mine = str(written(tmp_path))
    plain = estimate({**ASKED, **PLAN, "calibration": mine}, CATALOG)
    slow = estimate({**ASKED, **PLAN, "calibration": mine, "framework": "Trainer-X"}, CATALOG)
    assert slow.value("step_time_s") == pytest.approx(1.25 * plain.value("step_time_s"))
    for part, seconds in slow.parts().items():
        assert seconds == pytest.approx(1.25 * plain.parts()[part]), part
    assert sum(slow.parts().values()) == pytest.approx(slow.value("step_time_s"))


def test_the_constants_of_the_file_are_used(tmp_path: Path) -> None:
    slow = replace(PHYSICS, matmul=0.5 * PHYSICS.matmul)
    mine = str(written(tmp_path, physics=asdict(slow)))
    run = estimate({**ASKED, **PLAN, "calibration": mine}, CATALOG)
    shipped = estimate({**ASKED, **PLAN}, CATALOG)
    # Half the rate of the products: twice the time of what is bound by them, a little less with their memory traffic.
    assert 1.8 < run.parts()["matmul_s"] / shipped.parts()["matmul_s"] <= 2.0


def test_the_interval_is_that_of_the_file(tmp_path: Path) -> None:
    """5 % for the framework that it has a factor of; 9 % more, as squares, for software that it has not seen."""

    def above(**asked: str) -> float:
        run = estimate({**ASKED, **PLAN, "calibration": str(written(tmp_path)), **asked}, CATALOG)
        step = run.cluster.frame.estimate("training[0].step_time_s")
        return step.high / step.value - 1

    assert above(framework="trainer-x") == pytest.approx(math.expm1(0.05), rel=1e-6)
    assert above() == pytest.approx(math.expm1(math.hypot(0.05, 0.0897)), rel=1e-6)


def test_the_shipped_constants_and_the_mean_factor_stand_where_nothing_is_named() -> None:
    train = read_spec(SPEC).workloads[0].train
    job = job_of(train)
    assert (job.physics, job.spread, job.software) == (PHYSICS, None, MODERN)
    assert factor_of(CALIBRATION, "megatron-lm") == CALIBRATION.factors["Megatron-LM"]
    assert factor_of(CALIBRATION, "nobody's") is None


@pytest.mark.parametrize(
    ("gpu", "unseen"), [("h100-sxm-80gb", 0.0), ("h200-sxm-141gb", 0.0637), ("mi300x", 0.0637), ("gb200-nvl72", 0.0)]
)
def test_the_interval_is_wider_on_an_accelerator_that_no_run_of_the_fit_was_on(gpu: str, unseen: float) -> None:
    """The fit's runs were on A100, H100, B200 and GB200; dense 0.073, software 0.0897 and the part add as squares."""
    step = estimate({**ASKED, **PLAN, "gpu": gpu}, CATALOG).cluster.frame.estimate("training[0].step_time_s")
    wide = math.expm1(math.sqrt(0.073**2 + 0.0897**2 + unseen**2))
    assert step.high / step.value - 1 == pytest.approx(wide, abs=6e-4)


def test_a_design_widens_its_interval_as_an_estimate_does() -> None:
    made = design(read_spec(SPEC, "t.yaml", ("compute.accelerators=[mi300x]",), CATALOG), CATALOG)
    step = made.frame.estimate("training[0].step_time_s")
    assert step.high / step.value - 1 == pytest.approx(math.expm1(math.hypot(0.073, 0.0897, 0.0637)), rel=1e-6)
    assert "no run of the fit was on mi300x" in made.frame.figure("training[0].step_time_s").provenance.note


def test_a_spec_names_a_calibration_relative_to_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    (tmp_path / "own.yaml").write_text(SPEC + "calibration: mine.json\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    own = design(load_spec(tmp_path / "own.yaml", catalog=CATALOG), CATALOG)
    (tmp_path / "own.yaml").write_text(SPEC)
    shipped = design(load_spec(tmp_path / "own.yaml", catalog=CATALOG), CATALOG)
    assert own.value("training[0].step_time_s") == pytest.approx(1.25 * shipped.value("training[0].step_time_s"))
    assert [f.code for f in shipped.findings if f.code == "TRAINING-FRAMEWORK-UNSEEN"] == ["TRAINING-FRAMEWORK-UNSEEN"]
    assert not [f for f in own.findings if f.code == "TRAINING-FRAMEWORK-UNSEEN"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "does not exist"),
        ("{", "is no calibration"),
        ("[1]", "is no calibration"),
        ("{}", "no 'physics'"),
        ('{"physics": {"speed": 1}}', "no such constant: speed"),
        ('{"physics": {"matmul": -1}}', "not a positive number: matmul"),
        ('{"physics": {"matmul": "fast"}}', "is no calibration"),
        ('{"physics": {}, "spread": {"dense": 0}}', "not a positive number: dense"),
        ("\x00\x01", "mine.json"),
    ],
)
def test_a_file_that_is_no_calibration_is_said_where_it_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_text(text)
    (tmp_path / "own.yaml").write_text(SPEC + "calibration: mine.json\n")
    with pytest.raises(InputError) as error:
        design(load_spec(tmp_path / "own.yaml", catalog=CATALOG), CATALOG)
    (finding,) = error.value.findings
    assert finding.code == "TRAINING-CALIBRATION"
    assert said in finding.message
    assert str(finding.place).endswith("own.yaml:7:14")
    with pytest.raises(InputError) as error:
        estimate({**ASKED, "calibration": str(path)}, CATALOG)
    assert str(error.value.findings[0].place) == "--calibration"
    with pytest.raises(InputError):
        read_calibration(path)
