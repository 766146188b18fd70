"""One theme for charts, drawings and the page: colours that colour-blind people can tell apart, light and dark.

Drawings are written with the light colours; :func:`colour_css` maps each of them to its dark twin by attribute
selectors, so that charts of any origin follow the page.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BLUE",
    "DARK",
    "FONT",
    "GREEN",
    "GREY",
    "INK",
    "LINE",
    "MUTED",
    "ORANGE",
    "PANEL",
    "PAPER",
    "PURPLE",
    "RED",
    "SERIES",
    "SKY",
    "chart_config",
    "colour_css",
]

INK = "#1c2530"
MUTED = "#586472"
LINE = "#d3dae1"
PAPER = "#fefefe"
PANEL = "#f3f6f8"
BLUE = "#0064a0"
SKY = "#86bfe4"
ORANGE = "#dd8a00"
GREEN = "#00805e"
RED = "#b5391d"
PURPLE = "#8a5ba6"
GREY = "#b3bcc5"

DARK = {
    INK: "#e6ebf0",
    MUTED: "#9ba8b6",
    LINE: "#36404c",
    PAPER: "#12171d",
    PANEL: "#1b222b",
    BLUE: "#55b1e8",
    SKY: "#2a6690",
    ORANGE: "#f2ae3d",
    GREEN: "#3cc79c",
    RED: "#ff8d6a",
    PURPLE: "#c59de0",
    GREY: "#56626f",
}
"""The dark twin of each colour."""

SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY)
"""Colours of series in order, after Okabe and Ito (2008), darkened until they read on white."""

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def colour_css() -> str:
    """The page's colour variables, and the rules that turn drawings dark."""
    names = {"ink": INK, "muted": MUTED, "line": LINE, "paper": PAPER, "panel": PANEL, "blue": BLUE, "sky": SKY}
    names |= {"orange": ORANGE, "green": GREEN, "red": RED, "purple": PURPLE, "grey": GREY}
    light = ";".join(f"--{name}:{value}" for name, value in names.items())
    dark = ";".join(f"--{name}:{DARK[value]}" for name, value in names.items())
    swaps = "".join(
        f'svg [{kind}="{value}"]{{{kind}:{twin}}}' for value, twin in DARK.items() for kind in ("fill", "stroke")
    )
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}{swaps}}}\n"
    )


def chart_config() -> dict[str, Any]:
    """The configuration of every chart."""
    text = {"labelColor": MUTED, "titleColor": MUTED, "labelFont": "Arial", "titleFont": "Arial"}
    axis = {"domain": False, "ticks": False, "gridColor": LINE, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": "transparent",
        "font": "Arial",
        "view": {"stroke": None},
        "axis": {**text, **axis, "titleFontWeight": "normal", "labelPadding": 6, "titlePadding": 8},
        "text": {"font": "Arial", "fontSize": 12, "color": INK},
    }
