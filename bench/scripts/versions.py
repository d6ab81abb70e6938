"""Date and versions, as they stand above each table of results."""

from datetime import date

from censquant_bench._experiment import _versions


def versions() -> str:
    """Return when and with what a table was made."""
    parts = ", ".join(f"{name} {value}" for name, value in _versions().items())
    return f"{date.today().isoformat()}; {parts}"
