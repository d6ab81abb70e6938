"""How far a mean lies from a printed one, in standard errors."""

from __future__ import annotations

import math

from censquant.benchmark.reporting._published import PRINTED_ROUNDING
from censquant.benchmark.reporting._tables import plus_minus, with_distance


def joint_distance(mean: float, error: float, printed_mean: float, printed_error: float) -> float:
    """Difference from a printed mean, in the standard errors of both and the rounding of print.

    Without the rounding, a printed standard error of 0.0 would make any difference infinite.

    Parameters
    ----------
    mean, error : float
        Ours, with its standard error.
    printed_mean, printed_error : float
        The paper's; 0.0 where it gives no standard error, and then the distance is in ours alone.

    Returns
    -------
    distance : float
        NaN where one of the four is not known.

    Examples
    --------
    >>> from censquant.benchmark.reporting._distance import joint_distance
    >>> round(joint_distance(0.687, 0.003, 0.683, 0.005), 2)
    0.68
    """
    return (mean - printed_mean) / math.hypot(error, printed_error, PRINTED_ROUNDING)


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
    >>> from censquant.benchmark.reporting._distance import printed_beside
    >>> printed_beside(0.687, 0.003, 0.683, 0.005)
    '0.683 ± 0.005 (+0.7)'
    """
    text = plus_minus(printed_mean, printed_error if width is None else width)
    return with_distance(text, joint_distance(mean, error, printed_mean, printed_error))
