"""The paper's number beside ours, with the distance between them."""

from __future__ import annotations

from censquant.benchmark.reporting._published import joint_distance
from censquant.benchmark.reporting._tables import plus_minus, with_distance


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
