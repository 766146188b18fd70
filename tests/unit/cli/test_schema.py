"""The schema verb prints the JSON Schema of a spec, whatever stands beside it."""

import json
from pathlib import Path

import pytest
import yaml

from clusterwright.cli import main
from clusterwright.spec import schema


def test_the_schema_is_the_only_thing_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == schema()
    assert said.err == ""


def test_as_yaml_it_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == schema()


def test_an_overlay_adds_its_names_to_the_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.yaml").write_text("servers: {dgx-h100: {aliases: [our-box]}}\n", "utf-8")
    assert main(["schema", "--overlay", str(tmp_path / "own.yaml")]) == 0
    assert "dgx-h100" in capsys.readouterr().out
