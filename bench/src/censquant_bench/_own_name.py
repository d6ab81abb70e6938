"""Names that a user gives to data and methods of their own."""

from collections.abc import Iterable
from typing import Any


def check_own_name(name: Any, what: str, known: Iterable[Any]) -> None:
    """Refuse a name that is empty, or that something of the benchmark has already.

    Parameters
    ----------
    name : str
        What the user calls it.
    what : str
        What is named, with its article.
    known : iterable of objects with name and title
        What the benchmark has of the kind.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be text, got {type(name).__name__}.")
    if not name.strip():
        raise ValueError("name must not be empty: tables show it.")
    if name.lower() in {word.lower() for one in known for word in (one.name, one.title)}:
        raise ValueError(
            f"name must not be that of {what} of the benchmark, got {name!r}; choose another."
        )
