"""Predictions as labelled tables like the data frame that was passed in."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from censquant._frames import is_polars, pandas_for
from censquant._validation import check_choice

Output = Literal["array", "frame"]
"""The form of predictions."""


def labelled(values: NDArray[np.float64], levels: Sequence[float], X: Any, output: Output) -> Any:
    """Return predictions as they are, or as a frame with the rows of ``X`` and named levels.

    The frame is polars' for polars input, else pandas' with the index of ``X`` if it has one.
    """
    check_choice("output", output, get_args(Output))
    if output == "array":
        return values
    names = [f"q{level:.12g}" for level in levels]
    if is_polars(X):
        import polars as pl

        return pl.DataFrame(dict(zip(names, values.T, strict=True)))
    pd = pandas_for("output='frame'")
    return pd.DataFrame(values, columns=names, index=getattr(X, "index", None))
