"""Reports for everybody: axe-core, contrast, names of controls, the keyboard."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT

NAMES = ["clinical.html", "fleet.html"]
# Without a panel other elements are in the page, and a note.
ALL_NAMES = [*NAMES, "clinical_without_panel.html", "fleet_without_panel.html"]
WIDTHS = {"desktop": 1100, "phone": 360}
VIOLATIONS = """async () => (await axe.run()).violations.map((one) =>
  [one.id, one.help, one.nodes.map((node) => node.target.join(" "))])"""
# Which element has the focus, and how wide its outline is.
FOCUSED = """() => {
  const node = document.activeElement, style = getComputedStyle(node);
  const place = Array.from(document.querySelectorAll("*")).indexOf(node);
  return [place, style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth)];
}"""
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


# axe-core cannot tell the contrast of text in drawings or scrolled tables: CONTRAST does.
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        ("desktop", "light"),
        ("phone", "dark"),
        pytest.param("desktop", "dark", marks=pytest.mark.slow),
        pytest.param("phone", "light", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", ALL_NAMES)
def test_axe_finds_no_violation(opened, name, width, scheme):
    viewport = {"width": WIDTHS[width], "height": 800}
    # The policy of the page would keep out axe-core as well.
    page = opened(name, color_scheme=scheme, viewport=viewport, bypass_csp=True)
    assert page.locator(".panel").count() == (name in NAMES)
    page.add_script_tag(content=AXE_SCRIPT)
    assert page.evaluate(VIOLATIONS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ALL_NAMES)
def test_text_stands_out_from_what_is_behind_it(opened, name, scheme):
    assert opened(name, color_scheme=scheme).evaluate(CONTRAST) == []


@pytest.mark.parametrize("name", ALL_NAMES)
def test_every_control_and_figure_has_a_name(opened, name):
    assert opened(name).evaluate(UNNAMED) == []


def test_tab_reaches_every_control_with_a_visible_focus(opened):
    for name in NAMES:
        page = opened(name)
        n_controls = page.locator("a, button, input, select, [tabindex='0']").count()
        reached, unmarked = set(), []
        for _ in range(n_controls):
            page.keyboard.press("Tab")
            place, outline = page.evaluate(FOCUSED)
            reached.add(place)
            if outline < 2:
                unmarked.append(place)
        assert len(reached) == n_controls
        assert unmarked == []


def test_a_focused_control_is_not_behind_the_fan_of_a_phone(opened):
    page = opened("clinical.html", viewport={"width": 360, "height": 740})
    page.get_by_role("button", name="Back to the start").focus()
    for _ in range(page.locator(".controls input, .controls select").count()):
        page.keyboard.press("Shift+Tab")
        top, bottom = page.evaluate(
            """() => [document.activeElement.getBoundingClientRect().top,
                      document.querySelector(".fan").getBoundingClientRect().bottom]"""
        )
        assert top >= bottom


def test_the_keyboard_reaches_the_content_first(opened):
    page = opened("clinical.html")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#main"
