"""The waterfall as text: bars in proportion, each beginning where the one before ends."""

from clusterwright.report import waterfall

STEP = [
    {"part": "matmul_s", "seconds": 3.0, "fraction": 0.75},
    {"part": "tp_s", "seconds": 0.5, "fraction": 0.125},
    {"part": "cp_s", "seconds": 0.0, "fraction": 0.0},
    {"part": "other_s", "seconds": 0.5, "fraction": 0.125},
]


def test_bars_are_in_proportion_and_stand_one_behind_the_other() -> None:
    _, *bars = waterfall(STEP).splitlines()
    assert len(bars) == 3  # a part of nothing is left out
    # forty characters are the whole step: 30 for three quarters, 5 for an eighth each
    assert [bar.count("█") for bar in bars] == [30, 5, 5]
    first = bars[0].index("█")
    assert [bar.index("█") - first for bar in bars] == [0, 30, 35]


def test_seconds_and_shares_are_said() -> None:
    head, *bars = waterfall(STEP).splitlines()
    assert "4 s" in head
    assert "3 s" in bars[0]
    assert "75%" in bars[0]
