"""Predictions as labelled tables like the data frame that was passed in."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from censquant._frames import is_polars, pandas_for
from censquant._validation import check_choice

Output = Literal["array", "frame"]
"""What predictions can be returned as."""

OUTPUTS = get_args(Output)


def labelled(values: NDArray[np.float64], levels: Sequence[float], X: Any, output: Output) -> Any:
    """Return predictions as they are, or as a frame with the rows of ``X`` and named levels.

    See `framed`.
    """
    check_choice("output", output, OUTPUTS)
    if output == "array":
        return values
    return framed({f"q{level:.12g}": one for level, one in zip(levels, values.T, strict=True)}, X)


def framed(columns: Mapping[str, NDArray[Any]], X: Any) -> Any:
    """Return a frame of columns: polars' for polars input, else pandas' with the index of ``X``."""
    if is_polars(X):
        import polars as pl

        return pl.DataFrame(dict(columns))
    pd = pandas_for("output='frame'")
    return pd.DataFrame(dict(columns), index=getattr(X, "index", None))
