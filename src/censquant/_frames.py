"""Data frames of libraries that need not be installed, and tables made from results."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_choice

Output = Literal["array", "frame"]
"""What predictions can be returned as."""

OUTPUTS = get_args(Output)


def is_polars(X: Any) -> bool:
    """Say whether an object is one of polars', without importing it."""
    return type(X).__module__.partition(".")[0] == "polars"


def is_frame(X: Any) -> bool:
    """Say whether ``X`` is a data frame of polars or pandas, or of a library like it."""
    if is_polars(X):
        return hasattr(X, "get_columns")  # the columns of a lazy frame are not there yet
    return hasattr(X, "iloc") and hasattr(X, "columns")


def unmasked(X: Any) -> Any:
    """Return a masked array as a plain one, with NaN or None where the mask hides a value.

    Anything else is returned unchanged. numpy's own conversion drops the mask, and what it hides
    becomes visible.
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    hidden = np.ma.getmaskarray(X)
    if not hidden.any():
        return X.data
    is_number = X.dtype.kind in "biuf"
    plain = np.array(X.data, dtype=np.result_type(X.dtype, np.float32) if is_number else object)
    plain[hidden] = np.nan if is_number else None
    return plain


def pandas_for(what: str) -> Any:
    """Return pandas, or raise with the command that installs it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            f'{what} needs pandas: install it with pip install "censquant[pandas]".'
        ) from None
    return pd


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


def html_table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of texts in HTML."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
