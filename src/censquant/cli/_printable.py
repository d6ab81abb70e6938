"""Text of tables and models without what a terminal would obey."""

import re
from collections.abc import Callable

# Control characters, of which escape sequences consist, and those that reorder what is shown.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _python_escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def json_escape(letter: str) -> str:
    """Return a character as JSON may write any."""
    return f"\\u{ord(letter):04x}"


def printable(text: str, *, written: Callable[[str], str] = _python_escape) -> str:
    """Return a text with escape sequences shown instead of sent; line breaks and tabs stay.

    Parameters
    ----------
    text : str
    written : callable, optional
        Returns how one such character is shown.
    """
    return _UNSAFE.sub(lambda found: written(found[0]), text)
