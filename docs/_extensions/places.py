"""Places in tables of contents for pages that are not written yet: entries that end with a star."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]


def without_empty_places(text):
    """Text of a page without entries such as ``cli*`` that no page fits yet."""
    return re.sub(
        r"^[\w-]+\*\n",
        lambda match: match[0] if list(DOCS.glob(f"{match[0].strip()}.md")) else "",
        text,
        flags=re.MULTILINE,
    )


def read_page(app, docname, source):
    """Leave out places without a page: Sphinx would warn of them."""
    source[0] = without_empty_places(source[0])


def setup(app):
    """Read tables of contents before Sphinx does."""
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
