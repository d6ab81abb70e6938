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
    text = re.sub(r"\n\s*", "\n", text)
    opening = re.search(r"<svg[^>]*>", text)
    box = re.search(r'viewBox="([^"]+)"', text)
    assert opening is not None
    assert box is not None
    width = float(box[1].split()[2])
    label = escape(description)
    start = (
        f'<svg class="figure" viewBox="{box[1]}" style="max-width: {width * _SCALE:.0f}px" '
        f'role="img" aria-label="{label}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return start + text[opening.end() :].strip()
