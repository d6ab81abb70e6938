"""Reports in a browser: the panel says what Python says, tables sort, nothing leaves the page."""

import csv
import io

import numpy as np
import pytest

from report_rows import Page, calibrated, calibrated_early, calibrated_fleet, new_rows, plain

SHOWN = [0.1, 0.25, 0.5, 0.75, 0.9]


def answer(page):
    """What the panel says after its next frame."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.evaluate("() => [censquantPanel.answer, censquantPanel.model.facts.times]")


# Of a model of 137 events: the page holds means of five event times, and round times up to a
# hundredth of follow-up apart, in place of the times. Times differ by at most 4 % and a hundredth
# of follow-up, probabilities by 0.03.
CLOSE = {"rtol": 0.04, "atol": 20.0}
PROBABILITY = 0.03
# Ends of follow-up are rounded down to such times, where few are at risk and the curve is steep.
REACH = 0.06


def assert_is_pythons(page, model, row, confidence=0.9):
    found, times = answer(page)
    reach = found["identified"]
    assert reach == pytest.approx(model.identified_level(row)[0], abs=REACH)
    known = [level <= reach for level in SHOWN]
    expected = model.predict_quantiles(row, SHOWN, beyond="extrapolate")[0]
    np.testing.assert_allclose(np.array(found["quantiles"])[known], expected[known], **CLOSE)
    survival = model.predict_survival_function(row, times, return_array=True)[0]
    np.testing.assert_allclose(found["survival"], survival, atol=PROBABILITY)
    if "lowerBound" in found:
        (bound, limited, _) = model.predict_lower_bound(row, confidence, output="frame").iloc[0]
        np.testing.assert_allclose(found["lowerBound"], bound, **CLOSE)
        assert found["isLimited"] == limited
        np.testing.assert_allclose(found["interval"], model.predict_interval(row, 0.8)[0], **CLOSE)
        said = page.locator("#wi-bounds tbody td:nth-child(2)").all_inner_texts()
        low, high = found["interval"]
        ends = said[1].split(" to ") if np.isfinite(high) else [said[1]]
        times = [time for time in (low, high) if np.isfinite(time)]
        for text, time in zip((said[0], *ends), (found["lowerBound"], *times), strict=True):
            number = text.removesuffix(" or later").removesuffix(" (end of follow-up)")
            number = number.replace(",", "")
            assert float(number) == pytest.approx(time, rel=0.005)
    cells = page.locator("#wi-table tbody tr td:nth-child(2)").all_inner_texts()
    for text, is_known, time in zip(cells, known, found["quantiles"], strict=True):
        if is_known:
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


def test_bounds_follow_the_controls_where_censoring_depends_on_features(opened):
    page, (X, _) = opened("calibrated_fleet.html"), new_rows()
    bounds = set()
    for temp, load in [(45.5, 1), (60.0, 4), (75.25, 8)]:
        page.get_by_label("temp", exact=True).fill(str(temp))
        page.get_by_label("load", exact=True).fill(str(load))
        row = X[["temp", "load"]].iloc[[0]].assign(temp=temp, load=load)
        assert_is_pythons(page, calibrated_fleet(), row, confidence=0.95)
        bounds.add(page.locator("#wi-bounds tbody td").first.inner_text())
    assert len(bounds) == 3
    assert "95" in page.locator("#wi-bounds tbody th").first.inner_text()
    assert "With 95\u00a0% confidence" in page.locator("#wi-said").inner_text()


@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
def test_a_bound_that_ends_with_follow_up_is_said_to_hold_at_least_until_then(opened):
    page, (X, _) = opened("early.html"), new_rows()
    for temp, is_limited in ((40.0, True), (75.0, False)):
        page.get_by_label("temp", exact=True).fill(str(temp))
        page.get_by_label("load", exact=True).fill("4")
        row = X[["temp", "load"]].iloc[[0]].assign(temp=temp, load=4)
        assert_is_pythons(page, calibrated_early(), row)
        assert answer(page)[0]["isLimited"] == is_limited
        shown = page.locator("#wi-bounds tbody td").first.inner_text()
        assert shown.endswith(" (end of follow-up)") == is_limited
        said = page.locator("#wi-said").inner_text()
        assert ("at least until the end of follow-up" in said) == is_limited


def test_a_model_that_is_not_calibrated_shows_no_bounds(opened):
    page = opened("fleet.html")
    assert "lowerBound" not in answer(page)[0]
    assert page.locator("#wi-bounds").count() == 0
    assert "confidence" not in page.locator("#wi-said").inner_text()


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


INJECTED = """() => {
  const script = document.createElement("script");
  script.textContent = "window.injected = true";
  document.body.append(script);
  const style = document.createElement("style");
  style.textContent = "body { color: rgb(1, 2, 3); }";
  document.head.append(style);
  document.body.insertAdjacentHTML("beforeend",
    "<p id='marked' style='color: rgb(4, 5, 6)' onclick='window.clicked = true'>x</p>");
  document.getElementById("marked").click();
  return [window.injected, window.clicked, getComputedStyle(document.body).color,
          getComputedStyle(document.getElementById("marked")).color];
}"""


@pytest.mark.parametrize("name", ["clinical.html", "fleet.html"])
def test_a_browser_runs_no_script_and_no_style_that_is_not_of_the_page(browser, pages, name):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((pages / name).as_uri())
    assert said == []
    script, clicked, body, marked = page.evaluate(INJECTED)
    assert script is None
    assert clicked is None
    assert body != "rgb(1, 2, 3)"
    assert marked != "rgb(4, 5, 6)"
    assert sum("Content Security Policy" in one for one in said) == 4
    page.close()


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
