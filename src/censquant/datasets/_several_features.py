"""Makers of the synthetic data with several features."""

from __future__ import annotations

from typing import SupportsIndex

from censquant._seeds import RandomState
from censquant._validation import check_choice
from censquant.datasets._recipes import CENSORING_4D, CENSORING_8D
from censquant.datasets._synthetic import SyntheticData, make


def make_norm_4d(
    n_samples: SupportsIndex = 2000,
    *,
    censoring: str = "medium",
    offset: float | None = None,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of normal times with a curved mean of four features and light to heavy censoring.

    The target is N(3 x0 + x1^2 - x2^2 + sin(x2 x3) + offset, 1), with features uniform on (0, 2).

    Parameters
    ----------
    n_samples : int, at least 1
        Number of rows.
    censoring : {"heavy", "medium", "light", "same"}
        Censoring time uniform on (0, 12), (0, 20) or (0, 40), or distributed as the target.
    offset : float, optional
        Moves the targets; by default so that the smallest of 10,000 is 1, as the paper's authors
        did anew in every run, or the printed 6. A test set takes the offset of its training set.
    random_state, censored
        As in `make_norm_linear`.
    paper_text : bool
        Whether the target follows the law that the paper prints instead:
        N(3 x0 + x1^2 - x2^2 + 2 sin(x2 x3) + 6, (x0^2 + 0.5)^2). The print does not say which
        feature the standard deviation depends on; the first one is this package's reading.
    as_frame
        As in `make_norm_linear`.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_norm_4d
    >>> train = make_norm_4d(censoring="heavy", random_state=0)
    >>> test = make_norm_4d(1000, censored=False, offset=train.offset, random_state=1)
    >>> train.X.shape, 5 < train.offset < 8
    ((2000, 4), True)
    """
    check_choice("censoring", censoring, CENSORING_4D)
    return make(
        f"Norm {censoring}",
        n_samples,
        random_state,
        censored,
        paper_text,
        as_frame,
        offset=offset,
    )


def make_lognorm_8d(
    n_samples: SupportsIndex = 4000,
    *,
    censoring: str = "medium",
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of log-normal times, linear in eight features on the log scale.

    Ten times the target has a logarithm with mean
    0.8 x0 + 0.6 x1 + 0.4 x2 + 0.5 x3 - 0.3 x4 + 0.2 x5 - 0.7 x7 and standard deviation 1, with
    features uniform on (0, 2). Under heavy censoring most upper quantiles lie beyond all follow-up.

    Parameters
    ----------
    n_samples : int, at least 1
        Number of rows.
    censoring : {"heavy", "medium", "light", "same"}
        Censoring time uniform on (0, 0.4), (0, 1) or (0, 3.5), or with the target's distribution.
    random_state, censored
        As in `make_norm_linear`.
    paper_text : bool
        Changes nothing: the paper prints no coefficients, so there is no other law to draw from.
    as_frame
        As in `make_norm_linear`.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_lognorm_8d
    >>> data = make_lognorm_8d(censoring="heavy", random_state=0)
    >>> bool(data.y["time"].max() <= 0.4)
    True
    """
    check_choice("censoring", censoring, CENSORING_8D)
    return make(f"LogNorm {censoring}", n_samples, random_state, censored, paper_text, as_frame)
