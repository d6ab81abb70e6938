"""Figures as SVG inside a page: small, readable in the dark, without names that clash."""

import io
import re
from typing import Any

# Colours of the figures that a dark page must change, by the variable of the style sheet.
_COLORS = {
    "#000000": "--ink",
    "#ffffff": "--paper",
    "#08306b": "--deep",
    "#0072b2": "--blue",
    "#2171b5": "--after",
    "#a6cde3": "--wide",
    "#f3f8fb": "--pale",
    "#e5e5e5": "--grid",
    "#e6e6e6": "--grid",
    "#e0e0e0": "--band",
    "#595959": "--soft",
    "#404040": "--soft",
    "#737373": "--soft",
    "#262626": "--ink",
}
# Pixels per point on a wide screen, where text is then a little smaller than that of the page.
_SCALE = 1.45
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
_STYLE = re.compile(r'style="([^"]*)"')
# The shorthand of fonts is no attribute; the family is that of the page.
_FONT_SIZE = re.compile(r"([\d.]+)px")


def inline_svg(ax: Any, name: str, description: str) -> str:
    """Return the figure of some axes as an SVG element.

    Text stays text, sizes follow the page, and every name inside begins with ``name``, since the
    page has other figures. Screen readers are given the description.
    """
    import matplotlib as mpl
    from markupsafe import escape

    stream = io.StringIO()
    # The salt makes the names the same in every run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        ax.figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    for color, variable in _COLORS.items():
        text = text.replace(color, f"var({variable})")
    # Numbers of drawings need no more than hundredths; those that are read stay as they are.
    text = _TAG.sub(lambda tag: _NUMBER.sub(r"\1", tag[0]), text)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = _STYLE.sub(_attributes, text)
    text = re.sub(r"\n\s*", "\n", text)
    opening = re.search(r"<svg[^>]*>", text)
    box = re.search(r'viewBox="([^"]+)"', text)
    assert opening is not None
    assert box is not None
    width = float(box[1].split()[2])
    label = escape(description)
    start = (
        f'<svg class="figure" viewBox="{box[1]}" width="{width * _SCALE:.0f}" '
        f'role="img" aria-label="{label}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return start + text[opening.end() :].strip()


def _attributes(style: re.Match[str]) -> str:
    """Return a style as attributes of its own, which the policy of the page allows."""
    found = {}
    for entry in filter(None, (part.strip() for part in style[1].split(";"))):
        name, value = (part.strip() for part in entry.split(":", 1))
        if name in ("font", "font-size"):
            size = _FONT_SIZE.search(value)
            if size is not None:
                found["font-size"] = size[1]
            if "bold" in value:
                found["font-weight"] = "bold"
        elif name != "font-family":
            found[name] = value
    return " ".join(f'{name}="{value}"' for name, value in found.items())
