"""The paper's number beside ours, with the distance between them."""

from __future__ import annotations

import math

from censquant_bench.paper._published import joint_distance
from censquant_bench.reporting import plus_minus, signed

ROUNDING_NOTE = (
    "The paper prints three decimals, so half a unit of the last one counts as part of its error."
)
"""Printed below every table with a distance in standard errors."""


def with_distance(text: str, away: float) -> str:
    """Text of a printed number, with how far ours lies from it in brackets where that is known."""
    return text if math.isnan(away) else f"{text} ({signed(away)})"


def printed_beside(
    mean: float,
    error: float,
    printed_mean: float,
    printed_error: float,
    *,
    width: float | None = None,
) -> str:
    """Text of the paper's number, with the distance of ours in brackets where it is known.

    Parameters
    ----------
    mean, error : float
        Ours, with its standard error.
    printed_mean, printed_error : float
        The paper's, the error as one standard error.
    width : float, optional
        What the paper prints behind ±, if not the standard error; NaN where it prints nothing.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from censquant_bench.paper.reporting._distance import printed_beside
    >>> printed_beside(0.687, 0.003, 0.683, 0.005)
    '0.683 ± 0.005 (+0.7)'
    """
    text = plus_minus(printed_mean, printed_error if width is None else width)
    return with_distance(text, joint_distance(mean, error, printed_mean, printed_error))
