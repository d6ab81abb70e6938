"""Reports in a browser: the panel says what Python says, tables sort, nothing leaves the page."""

import csv
import io

import numpy as np
import pytest

from censquant.report import write_report
from report_rows import Page, calibrated, new_rows, plain

SHOWN = [0.1, 0.25, 0.5, 0.75, 0.9]
# Contrast of each text with what is behind it, by the formula of WCAG 2.
CONTRAST = """() => {
  const parsed = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const color = parsed(getComputedStyle(one).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const read = "p, th, td, h1, h2, a, button, label, figcaption, li, svg text";
  for (const node of document.querySelectorAll(read)) {
    if (node.closest(".skip") || !node.textContent.trim()) continue;
    const inside = node.closest("svg") !== null;
    const style = getComputedStyle(node);
    const [a, b] = [light(parsed(inside ? style.fill : style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([ratio, node.tagName, node.textContent.slice(0, 40)]);
  }
  return found;
}"""
# What a screen reader needs to name controls and to follow the structure.
UNNAMED = """() => Array
  .from(document.querySelectorAll("input, select, button, svg[role=img], [role=region]"))
  .filter((node) => !(node.labels && node.labels.length) && !node.getAttribute("aria-label")
    && !node.textContent.trim())
  .map((node) => node.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Places of a clinical and of a reliability report."""
    folder, (X, y) = tmp_path_factory.mktemp("pages"), new_rows()
    common = {"n_resamples": 4, "unit": "days"}
    write_report(calibrated(), X, y, folder / "clinical.html", individuals=[5, 1], **common)
    fleet = {"preset": "reliability", "early_cost": 1.0, "late_cost": 5.0}
    write_report(plain(), X[["temp", "load"]], y, folder / "fleet.html", **common, **fleet)
    return folder


@pytest.fixture
def opened(pages, browser, request):
    """Open a page by name; the test fails if it complains or asks for anything."""
    said, asked, contexts = [], [], []

    def open_page(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda sent: asked.append(sent.url))
        page.goto((pages / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert all(
        url.startswith("file:") and url.endswith(".html") for url in asked if "blob:" not in url
    )


def answer(page):
    """What the panel says after its next frame."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.evaluate(
        "() => [censquantPanel.answer, "
        "JSON.parse(document.getElementById('page-model').textContent).facts.times]"
    )


def assert_is_pythons(page, model, row):
    found, times = answer(page)
    expected = model.predict_quantiles(row, SHOWN, beyond="extrapolate")[0]
    np.testing.assert_allclose(found["quantiles"], expected, rtol=1e-5)
    survival = model.predict_survival_function(row, times, return_array=True)[0]
    np.testing.assert_allclose(found["survival"], survival, rtol=1e-5, atol=1e-8)
    reach = model.identified_level(row)[0]
    assert found["identified"] == pytest.approx(reach, rel=1e-5)
    cells = page.locator("#wi-table tbody tr td:nth-child(2)").all_inner_texts()
    for text, level, time in zip(cells, SHOWN, expected, strict=True):
        if level <= reach:
            assert float(text.replace(",", "")) == pytest.approx(time, rel=0.005)
        else:
            assert text == "beyond the data"


def test_the_panel_starts_from_the_individuals_that_were_asked_for(opened):
    page, (X, _) = opened("clinical.html"), new_rows()
    page.select_option("#wi-start", label="row 5")
    assert_is_pythons(page, calibrated(), X.iloc[[5]])
    page.select_option("#wi-start", label="row 1")
    assert_is_pythons(page, calibrated(), X.iloc[[1]])


def test_a_number_moves_the_curve_to_what_python_predicts(opened):
    page, (X, _) = opened("clinical.html"), new_rows()
    page.select_option("#wi-start", label="row 5")
    before = page.locator("#wi-survival .curve").first.get_attribute("d")
    for temp in (45.5, 71.25):
        page.get_by_label("temp", exact=True).fill(str(temp))
        assert_is_pythons(page, calibrated(), X.iloc[[5]].assign(temp=temp))
    assert page.locator("#wi-survival .curve").first.get_attribute("d") != before
    assert page.locator("#wi-survival .begin").get_attribute("d").startswith(before[:60])


def test_a_slider_moves_its_number_by_the_keyboard(opened):
    page, (X, _) = opened("clinical.html"), new_rows()
    page.select_option("#wi-start", label="row 1")
    slider = page.get_by_label("load, slider")
    slider.focus()
    slider.press("End")
    load = float(page.get_by_label("load", exact=True).input_value())
    assert load == float(slider.get_attribute("max"))
    slider.press("ArrowLeft")
    assert float(page.get_by_label("load", exact=True).input_value()) == load - 1
    assert_is_pythons(page, calibrated(), X.iloc[[1]].assign(load=load - 1))


@pytest.mark.filterwarnings("ignore::censquant.exceptions.ExtrapolationWarning")
def test_categories_missing_values_and_unknown_levels_are_those_of_python(opened):
    page, (X, _) = opened("clinical.html"), new_rows()
    page.select_option("#wi-start", label="row 5")
    for shown, level in [
        ("north", "north"),
        ("west", "west"),
        ("(missing)", None),
        ("(another)", "?"),
    ]:
        page.get_by_label("site", exact=True).select_option(label=shown)
        assert_is_pythons(page, calibrated(), X.iloc[[5]].assign(site=level))
    page.get_by_label("site", exact=True).select_option(label="south")
    page.get_by_label("temp", exact=True).fill("")
    assert_is_pythons(page, calibrated(), X.iloc[[5]].assign(site="south", temp=np.nan))


def test_an_empty_number_that_the_model_does_not_know_changes_nothing(opened):
    page = opened("fleet.html")
    before, _ = answer(page)
    page.get_by_label("temp", exact=True).fill("")
    after, _ = answer(page)
    assert after == before
    page.get_by_label("temp", exact=True).fill("66")
    load = float(page.get_by_label("load", exact=True).input_value())
    X, _ = new_rows()
    assert_is_pythons(page, plain(), X[["temp", "load"]].iloc[[0]].assign(temp=66.0, load=load))
    page.get_by_role("button", name="Back to the start").click()
    assert answer(page)[0] == before


def values(page, key, column):
    cells = page.locator(f"#table-{key} tbody tr > *:nth-child({column})")
    return cells.evaluate_all("(all) => all.map((one) => one.dataset.value)")


def test_tables_sort_by_their_headings_both_ways_with_empty_cells_last(opened):
    page = opened("fleet.html")
    before = values(page, "fleet", 4)
    assert "" in before
    heading = page.locator("#table-fleet thead th").nth(3)
    for way, sign in (("ascending", 1.0), ("descending", -1.0)):
        heading.get_by_role("button").press("Enter")
        assert heading.get_attribute("aria-sort") == way
        found = values(page, "fleet", 4)
        known = [sign * float(value) for value in found if value]
        assert known == sorted(known)
        assert found == [value for value in found if value] + [""] * before.count("")
    other = page.locator("#table-fleet thead th").first
    other.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    rows = [int(name.removeprefix("row ")) for name in values(page, "fleet", 1)]
    assert rows == sorted(rows)


def test_a_table_is_downloaded_with_all_digits_in_the_order_shown(opened, pages):
    page = opened("fleet.html", accept_downloads=True)
    page.locator("#table-fleet thead button").nth(1).click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV: Units of the fleet").click()
    assert waiting.value.suggested_filename == "fleet.csv"
    text = waiting.value.path().read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    static = Page((pages / "fleet.html").read_text(encoding="utf-8"))
    assert rows[0] == static.headings["fleet"]
    assert sorted(rows[1:]) == sorted(static.tables["fleet"])
    assert rows[1:] == sorted(static.tables["fleet"], key=lambda row: float(row[1]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["clinical.html", "fleet.html"])
def test_text_stands_out_from_what_is_behind_it(opened, name, scheme):
    assert opened(name, color_scheme=scheme).evaluate(CONTRAST) == []


@pytest.mark.parametrize("name", ["clinical.html", "fleet.html"])
def test_every_control_and_figure_has_a_name(opened, name):
    assert opened(name).evaluate(UNNAMED) == []


def test_a_phone_does_not_scroll_sideways(opened):
    for name in ("clinical.html", "fleet.html"):
        page = opened(name, viewport={"width": 360, "height": 740})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_print_shows_whole_tables_and_no_controls(opened):
    a4 = {"width": 794, "height": 1123}
    page = opened("fleet.html", viewport=a4)
    page.emulate_media(media="print")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= a4["width"]
    assert not page.locator(".controls").is_visible()
    assert not page.locator("button.plain").first.is_visible()
    heights = page.locator("#table-fleet .scroll").evaluate(
        "(one) => [one.clientHeight, one.scrollHeight]"
    )
    assert heights[0] >= heights[1] - 1


def test_the_keyboard_reaches_the_content_first(opened):
    page = opened("clinical.html")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#main"
