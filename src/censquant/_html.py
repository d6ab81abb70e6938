"""Tables as notebooks show them."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of texts in HTML."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
