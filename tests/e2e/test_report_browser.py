"""The report in a real browser: no network, no overflow, numbers open, telephone and desk, light and dark, on paper."""

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster
from clusterwright.design import design
from clusterwright.report import html, report
from clusterwright.spec import load_spec
from tests.contract.tree import ROOT
from tests.unit.report.synthetic_cluster import LAWS, worked_example

CHROMIUM = shutil.which("chromium")
ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESIGNED = ("llm-70b", "infeasible-15t", "supercluster-555k")
"""Examples whose real reports are looked at beside the synthetic one."""
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
HOSTILE = '"><script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reports")
    hostile = worked_example()
    hostile.head["name"] = HOSTILE
    for row in hostile.answers["considered"]:
        row["why"] = HOSTILE
    hostile.tables["nodes"].columns["server"][0] = HOSTILE
    made = {}
    for name, cluster in {
        "good": worked_example(),
        "bad": worked_example("infeasible"),
        "hostile": hostile,
        **{name: designed(name) for name in DESIGNED},
    }.items():
        path = folder / f"{name}.html"
        laws = None if name in DESIGNED else LAWS
        path.write_text(html(report(cluster, laws)), encoding="utf-8")
        made[name] = path.as_uri()
    return made


def designed(name: str) -> Cluster:
    """The design of an example."""
    catalog = load_catalog()
    return design(load_spec(ROOT / "examples" / f"{name}.yaml", (), catalog), catalog)


class Visit:
    """A page that is open, and what it asked for and complained about."""

    def __init__(self, browser: Any, address: str, size: dict[str, int], **options: Any) -> None:
        self.page = browser.new_page(viewport=size, **options)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)


@pytest.fixture
def visit(browser: Any, files: dict[str, str]) -> Iterator[Any]:
    opened = []

    def open_page(name: str, size: dict[str, int] = DESK, **options: Any) -> Visit:
        opened.append(Visit(browser, files[name], size, **options))
        return opened[-1]

    yield open_page
    for one in opened:
        one.page.close()


def test_the_page_asks_for_nothing_but_itself_and_complains_about_nothing(visit: Any) -> None:
    seen = visit("good")
    assert len(seen.asked) == 1
    assert seen.complaints == []


@pytest.mark.parametrize("name", ["good", *DESIGNED])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_runs_over_the_edge(visit: Any, size: dict[str, int], name: str) -> None:
    page = visit(name, size).page
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    over = page.evaluate(
        """() => [...document.querySelectorAll('main *')].filter(e => {
             const r = e.getBoundingClientRect();
             return r.width && r.right > innerWidth + 1 && !e.closest('.scroll') && !e.closest('svg');
           }).map(e => e.outerHTML.slice(0, 90))"""
    )
    assert over == []


@pytest.mark.parametrize("name", ["good", *DESIGNED])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_no_label_of_a_drawing_is_cut_off(visit: Any, size: dict[str, int], name: str) -> None:
    cut = visit(name, size).page.evaluate(
        """() => [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width).flatMap(s => {
             const box = s.getBoundingClientRect();
             return [...s.querySelectorAll('text')].filter(t => {
               const r = t.getBoundingClientRect();
               return r.width && (r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1);
             }).map(t => s.getAttribute('aria-label').slice(0, 30) + ': ' + t.textContent);
           })"""
    )
    assert cut == []


@pytest.mark.parametrize("name", ["good", *DESIGNED])
def test_the_verdict_the_numbers_and_the_risks_are_on_the_first_screen(visit: Any, name: str) -> None:
    page = visit(name).page
    for selector in (".verdict", ".key", ".risks"):
        box = page.locator(selector).bounding_box()
        assert box["y"] + box["height"] <= DESK["height"], selector


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_number_opens_its_explanation_and_an_input_opens_its_own(visit: Any, size: dict[str, int]) -> None:
    page = visit("good", size).page
    page.locator(".key a.n", has_text="1.74 MW").click()
    panel = page.locator("#f-facility-meter_power_w")
    assert panel.is_visible()
    assert "P_meter = P_IT x PUE" in panel.inner_text()
    panel.locator("a.n", has_text="PUE").click()
    assert page.locator("#f-facility-pue").is_visible()
    assert not panel.is_visible()
    page.locator("#f-facility-pue .close").click()
    assert not page.locator("#f-facility-pue").is_visible()


def test_closing_an_explanation_keeps_the_place(visit: Any) -> None:
    page = visit("good").page
    page.add_style_tag(content="html{scroll-behavior:auto!important}")
    page.locator("#power").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    page.locator("#power .numbers a.n").first.click()
    page.locator(".fig:target .close").click()
    assert abs(page.evaluate("scrollY") - before) < 60


def test_only_the_drawing_that_fits_is_shown(visit: Any) -> None:
    for size, shown, hidden in ((DESK, ".desk", ".phone"), (PHONE, ".phone", ".desk")):
        page = visit("good", size).page
        assert page.locator(f"figure {shown}").first.is_visible()
        assert not page.locator(f"figure {hidden}").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit: Any, scheme: str) -> None:
    """WCAG AA: a contrast of 4.5 for the words of the page and of the drawings."""
    page = visit("good", color_scheme=scheme).page
    ground = colour(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    for selector, key in (("h1", "color"), (".note", "color"), ("td.dim", "color"), ("td.bad", "color")):
        word = colour(page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{key}"))
        assert contrast(word, ground) >= 4.5, selector
    fills = set(
        page.evaluate(
            """() => [...document.querySelectorAll('#sensitivity .desk svg text, #power .desk svg text')]
                 .map(t => getComputedStyle(t).fill)"""
        )
    )
    assert fills
    assert min(contrast(colour(fill), ground) for fill in fills) >= 4.5


def colour(css: str) -> tuple[float, ...]:
    return tuple(float(part) for part in re.findall(r"[\d.]+", css)[:3])


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(rgb: tuple[float, ...]) -> float:
        r, g, b = ((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in (v / 255 for v in rgb))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    bright, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_an_infeasible_design_is_told_first(visit: Any) -> None:
    page = visit("bad").page
    assert page.locator(".verdict .word").inner_text() == "infeasible"
    assert "Way out with the fewest changes" in page.locator(".verdict").inner_text()


def test_a_hostile_name_stays_text(visit: Any) -> None:
    seen = visit("hostile")
    assert "<script>" in seen.page.title()
    assert seen.page.title() != "owned"
    assert seen.page.locator("script, img").count() == 0
    assert len(seen.asked) == 1
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= DESK["width"]


def test_the_keyboard_reaches_numbers_and_wide_tables(visit: Any) -> None:
    page = visit("good").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the options"
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0
    assert page.locator("a.n:not([href])").count() == 0


def test_it_prints_without_navigation_and_panels(visit: Any) -> None:
    page = visit("good").page
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#figures").is_visible()
    assert page.locator(".verdict").is_visible()
    assert page.pdf(format="A4")[:5] == b"%PDF-"
