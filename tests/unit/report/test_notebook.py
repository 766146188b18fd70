"""A design in a notebook: the page in a frame, pictures one by one, tables as data frames where pandas is there."""

import sys
from pathlib import Path

import pytest

from clusterwright.report.notebook import Plots, plot, repr_html, to_pandas
from tests.unit.report.synthetic_cluster import worked_example


@pytest.fixture(scope="module")
def cluster():
    return worked_example()


def test_the_page_is_put_into_a_frame_of_its_own(cluster):
    shown = repr_html(cluster)
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2


@pytest.mark.parametrize("kind", Plots.KINDS)
def test_every_kind_of_picture_can_be_drawn_alone(cluster, kind):
    assert getattr(Plots(cluster), kind)(600).startswith('<svg role="img" aria-label="')


def test_a_picture_that_does_not_exist_is_named(cluster):
    with pytest.raises(AttributeError, match="there are elevation, fabric"):
        Plots(cluster).pie()
    with pytest.raises(KeyError, match="pie"):
        plot(cluster, "pie")


def test_a_table_and_the_figures_become_data_frames(cluster):
    nodes = to_pandas(cluster, "nodes")
    assert list(nodes["name"]) == cluster.tables["nodes"]["name"]
    totals = to_pandas(cluster)
    path = next(iter(cluster.frame))
    assert totals.loc[path, "value"] == cluster.value(path)


def test_without_pandas_the_missing_package_is_named(cluster, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        to_pandas(cluster)


def test_a_design_is_an_object_that_shows_explains_and_draws_itself() -> None:
    from clusterwright.report import design

    examples = Path(__file__).parents[3] / "examples"
    result = design(examples / "a100-64.yaml", ["compute.gpus=128"])
    assert repr(result) == f"<design a100-64: {result.verdict}>"
    assert result.value("compute.nodes") == 16
    assert "facility.meter_power_w" in result.explain("facility.meter_power_w")
    assert result.plot.sankey().startswith("<svg")
    assert "<iframe" in result._repr_html_()
    assert str(result).startswith("a100-64:")
    assert result.to_pandas("money")["total_usd"].sum() > 0
