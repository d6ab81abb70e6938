"""Data frames that were passed in, and predictions as labelled tables like them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_choice


def is_polars(X: Any) -> bool:
    """Say whether an object is one of polars', without importing it."""
    return type(X).__module__.partition(".")[0] == "polars"


def labelled(values: NDArray[np.float64], levels: Sequence[float], X: Any, output: str) -> Any:
    """Return predictions as they are, or as a frame with the rows of ``X`` and named levels.

    The frame is polars' for polars input, else pandas' with the index of ``X`` if it has one.
    """
    check_choice("output", output, ("array", "frame"))
    if output == "array":
        return values
    names = [f"q{level:.12g}" for level in levels]
    if is_polars(X):
        import polars as pl

        return pl.DataFrame(dict(zip(names, values.T, strict=True)))
    pd = pandas_for("output='frame'")
    return pd.DataFrame(values, columns=names, index=getattr(X, "index", None))


def pandas_for(what: str) -> Any:
    """Return pandas, or raise with the command that installs it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            f'{what} needs pandas: install it with pip install "censquant[pandas]".'
        ) from None
    return pd
