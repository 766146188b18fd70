"""SVG by hand: the few shapes that the drawings need, every text escaped."""

from __future__ import annotations

from html import escape

from clusterwright.report.theme import INK, LINE, MUTED, PAPER

__all__ = ["Canvas", "text_width"]


def text_width(text: str, size: float) -> float:
    """Estimated width of a text in a plain sans-serif, pixels."""
    narrow = sum(text.count(c) for c in "iljtI.,:;'|!()[] fr")
    wide = sum(text.count(c) for c in "mwMW@%×—")
    return size * (0.64 * len(text) - 0.27 * narrow + 0.26 * wide)


class Canvas:
    """A drawing that grows downwards.

    Args:
        width: of the drawing, pixels.
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self.height = 0.0
        self._parts: list[str] = []

    def _reach(self, bottom: float) -> None:
        self.height = max(self.height, bottom)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = PAPER,
        stroke: str = "none",
        radius: float = 0,
        title: str = "",
    ) -> None:
        """A rectangle, with a tooltip where ``title`` is given."""
        inner = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0, width):.1f}" height="{max(0, height):.1f}" rx="{radius:g}" '
            f'fill="{fill}" stroke="{stroke}">{inner}</rect>'
        )
        self._reach(y + height + 1)

    def line(self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = LINE, width: float = 1) -> None:
        """A straight line."""
        ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        self._parts.append(f'<line {ends} stroke="{stroke}" stroke-width="{width:g}"/>')
        self._reach(max(y1, y2))

    def path(self, d: str, *, fill: str = "none", stroke: str = "none", opacity: float = 1, bottom: float = 0) -> None:
        """A free path; ``bottom`` is how far down it reaches."""
        self._parts.append(f'<path d="{d}" fill="{fill}" stroke="{stroke}" opacity="{opacity:g}"/>')
        self._reach(bottom)

    def text(
        self,
        x: float,
        y: float,
        said: str,
        *,
        size: float = 12,
        anchor: str = "start",
        colour: str = INK,
        bold: bool = False,
        most: float = 0,
    ) -> None:
        """A line of text, its baseline at ``y``; cut to ``most`` pixels where that is given."""
        if most and text_width(said, size) > most:
            while said and text_width(said + "…", size) > most:
                said = said[:-1]
            said = said.rstrip(" ,·") + "…"
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{weight}>'
            f"{escape(said)}</text>"
        )
        self._reach(y + size * 0.4)

    def titled(self, x: float, y: float, title: str, detail: str, *, size: float = 13) -> None:
        """A bold title and its detail in one line of text, so that no font makes them overlap."""
        room = self.width - x - text_width(title, size) - 10
        while detail and text_width(detail, size - 1.5) > room:
            detail = detail[:-2].rstrip(" ,·…") + "…" if len(detail) > 2 else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{INK}"><tspan font-weight="600">{escape(title)}'
            f'</tspan><tspan dx="10" font-size="{size - 1.5:g}" fill="{MUTED}">{escape(detail)}</tspan></text>'
        )
        self._reach(y + size * 0.4)

    def muted(
        self, x: float, y: float, said: str, *, anchor: str = "start", most: float = 0, size: float = 11.5
    ) -> None:
        """A small line of text in the background colour of words."""
        self.text(x, y, said, size=size, anchor=anchor, colour=MUTED, most=most)

    def render(self) -> str:
        """The SVG element."""
        height = self.height + 4
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {height:.0f}">{"".join(self._parts)}</svg>'
        )
