"""Data frames of libraries that need not be installed."""

from typing import Any


def is_polars(X: Any) -> bool:
    """Say whether an object is one of polars', without importing it."""
    return type(X).__module__.partition(".")[0] == "polars"


def pandas_for(what: str) -> Any:
    """Return pandas, or raise with the command that installs it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            f'{what} needs pandas: install it with pip install "censquant[pandas]".'
        ) from None
    return pd
