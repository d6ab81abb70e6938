"""Makers of the synthetic data: six sets with one feature, two families with several."""

from __future__ import annotations

from typing import SupportsIndex

from censquant._seeds import RandomState
from censquant._validation import check_choice
from censquant.datasets._synthetic import SyntheticData, make

_CENSORING = ("heavy", "medium", "light", "same")


def make_norm_linear(
    n_samples: SupportsIndex = 500,
    *,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of normal times, mean and spread linear in one feature; 23 % are censored.

    The target is N(2x + 10, (x + 1)^2) and the censoring time N(4x + 10, (0.8x + 0.4)^2), with x
    uniform on (0, 2). The share censored is that of many rows; the paper's table prints the one of
    its first sample of 500, which is 1 to 4 points lower in each of these sets.

    Parameters
    ----------
    n_samples : int, at least 1
        Number of rows.
    random_state : int, numpy Generator, numpy RandomState or None
        Source of randomness; None differs each time. The global generator is never used.
    censored : bool
        Whether follow-up ends. With False the same features and targets come out, all observed:
        what a test set needs.
    paper_text : bool
        Whether the target follows the law that the paper prints. Here that is the law behind its
        numbers too, so it changes nothing.
    as_frame : bool
        Whether the features are a pandas DataFrame.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_norm_linear
    >>> X, y = make_norm_linear(random_state=0)
    >>> X.shape, y.dtype.names
    ((500, 1), ('event', 'time'))
    """
    return make("Norm linear", n_samples, random_state, censored, paper_text, as_frame)


def make_norm_nonlinear(
    n_samples: SupportsIndex = 500,
    *,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of normal times, a wave in the mean and growing spread; 27 % are censored.

    The target is N(x sin(2x) + 10, (0.5x + 0.5)^2) and the censoring time N(2x + 10, 2^2), with x
    uniform on (0, 2).

    Parameters
    ----------
    n_samples, random_state, censored, paper_text, as_frame
        As in `make_norm_linear`; the law is printed as it is here too, so `paper_text` changes
        nothing.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_norm_nonlinear
    >>> make_norm_nonlinear(n_samples=3, censored=False).y["event"]
    array([ True,  True,  True])
    """
    return make("Norm non-linear", n_samples, random_state, censored, paper_text, as_frame)


def make_exponential(
    n_samples: SupportsIndex = 500,
    *,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of exponential times, the mean linear in one feature; 34 % are censored.

    The target has mean 2x + 4 and the censoring time, exponential too, mean 15 - 3x, with x
    uniform on (0, 2).

    Parameters
    ----------
    n_samples, random_state, censored, paper_text, as_frame
        As in `make_norm_linear`; the law is printed as it is here too, so `paper_text` changes
        nothing.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_exponential
    >>> data = make_exponential(random_state=0)
    >>> bool(data.y["time"].min() > 0)
    True
    """
    return make("Exponential", n_samples, random_state, censored, paper_text, as_frame)


def make_weibull(
    n_samples: SupportsIndex = 500,
    *,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of Weibull times with a wave in their scale; 23 % are censored.

    The target has shape 5 and scale 4x sin(2(x - 1)) + 10, the censoring time shape 5 and scale
    20 - 3x, with x uniform on (0, 2).

    Parameters
    ----------
    n_samples, random_state, censored, paper_text, as_frame
        As in `make_norm_linear`; the law is printed as it is here too, so `paper_text` changes
        nothing.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_weibull
    >>> make_weibull(random_state=0).true_quantiles([0.1, 0.5, 0.9]).shape
    (500, 3)
    """
    return make("Weibull", n_samples, random_state, censored, paper_text, as_frame)


def make_lognorm(
    n_samples: SupportsIndex = 500,
    *,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of log-normal times, skewed and heavy-tailed; 22 % are censored.

    The logarithm of the target is N((x - 1)^2, 1) and the censoring time uniform on (0, 10), with
    x uniform on (0, 2): no target above 10 is ever observed. The paper's table prints another
    standard deviation; 1 is the one behind its numbers.

    Parameters
    ----------
    n_samples, random_state, censored
        As in `make_norm_linear`.
    paper_text : bool
        Whether the target follows the law that the paper prints instead, with a standard deviation
        of x^2 on the logarithmic scale.
    as_frame
        As in `make_norm_linear`.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_lognorm
    >>> bool(make_lognorm(random_state=0).y["time"].max() < 10)
    True
    """
    return make("LogNorm", n_samples, random_state, censored, paper_text, as_frame)


def make_norm_uniform(
    n_samples: SupportsIndex = 500,
    *,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
) -> SyntheticData:
    """Sample of normal times under heavy and early censoring; 66 % are censored.

    The target is N(2x cos(2x) + 13, (x^2 + 0.5)^2), moved up to 0.1 where it is smaller, and the
    censoring time uniform on (0, 18), with x uniform on (0, 2). The highest quantiles at some x lie
    beyond all follow-up.

    Parameters
    ----------
    n_samples, random_state, censored
        As in `make_norm_linear`.
    paper_text : bool
        Whether the target follows the law that the paper prints instead, which has no lower end:
        some targets are negative.
    as_frame
        As in `make_norm_linear`.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_norm_uniform
    >>> bool(make_norm_uniform(random_state=0).y["event"].mean() < 0.5)
    True
    """
    return make("Norm uniform", n_samples, random_state, censored, paper_text, as_frame)


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
        did again in every run, or the printed 6. A test set takes the offset of its training set.
    random_state, censored
        As in `make_norm_linear`.
    paper_text : bool
        Whether the target follows the law that the paper prints instead:
        N(3 x0 + x1^2 - x2^2 + 2 sin(x2 x3) + 6, (x0^2 + 0.5)^2). The paper does not say which
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
    check_choice("censoring", censoring, _CENSORING)
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
    check_choice("censoring", censoring, _CENSORING)
    return make(f"LogNorm {censoring}", n_samples, random_state, censored, paper_text, as_frame)
