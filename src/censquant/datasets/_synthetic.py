"""Synthetic data with known conditional quantiles, as in the CQRNN paper."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._validation import check_choice, check_number
from censquant.datasets._random import RandomState, generator
from censquant.datasets._recipes import (
    CENSORING_4D,
    CENSORING_8D,
    RECIPES,
    draw,
    quantiles_at,
    shifted,
)
from censquant.quantiles import check_levels
from censquant.survival import Surv

Floats = NDArray[np.float64]

_OFFSET_DRAWS = 10_000


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """Rows of a synthetic data set, with the answer that real data never show.

    Made by the ``make_*`` functions. Target and censoring time are drawn independently given the
    features, so the assumption of every censored method holds.

    Parameters
    ----------
    name : str
        Name of the data set in the CQRNN paper.
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : structured array of shape (n_samples,)
        What a method may see: ``time``, the smaller of the two times, and ``event``, True where
        it is the target.
    target_time : ndarray of shape (n_samples,)
        Time of the event, also where it was not seen.
    censoring_time : ndarray of shape (n_samples,)
        End of follow-up; infinity in data made without censoring.
    offset : float, default 0
        Time by which all targets were moved.

    Examples
    --------
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(n_samples=4, random_state=0)
    >>> import numpy as np
    >>> data.y["time"] == np.minimum(data.target_time, data.censoring_time)
    array([ True,  True,  True,  True])
    """

    name: str
    X: Floats
    y: NDArray[np.void]
    target_time: Floats
    censoring_time: Floats
    offset: float = 0.0

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return RECIPES[self.name].n_features

    def true_quantiles(self, taus: ArrayLike, X: ArrayLike | None = None) -> Floats:
        """Conditional quantiles of the target time, as they truly are and with no censoring.

        Parameters
        ----------
        taus : array-like of shape (k,) or float, inside (0, 1)
            Levels.
        X : array-like of shape (n, n_features), optional
            Features to take them at; those of the data by default.

        Returns
        -------
        quantiles : ndarray of shape (n, k)

        Examples
        --------
        >>> from censquant.datasets import make_norm_linear
        >>> make_norm_linear(n_samples=1).true_quantiles([0.5], X=[[0.0], [1.0]])
        array([[10.],
               [12.]])
        """
        levels = check_levels(taus, name="taus")
        features = np.asarray(self.X if X is None else X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise ValueError(
                f"X must have shape (n, {self.n_features}) for {self.name}, got {features.shape}."
            )
        return quantiles_at(shifted(RECIPES[self.name].target, self.offset), levels, features)


def make_norm_linear(
    n_samples: SupportsIndex = 500, *, random_state: RandomState = None, censored: bool = True
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
        Source of randomness; None draws afresh. The global generator is never used.
    censored : bool
        Whether follow-up ends. With False the same features and targets come out, all observed:
        what a test set needs.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_norm_linear
    >>> make_norm_linear(random_state=0).X.shape
    (500, 1)
    """
    return _make("Norm linear", n_samples, random_state, censored)


def make_norm_nonlinear(
    n_samples: SupportsIndex = 500, *, random_state: RandomState = None, censored: bool = True
) -> SyntheticData:
    """Sample of normal times, a wave in the mean and growing spread; 27 % are censored.

    The target is N(x sin(2x) + 10, (0.5x + 0.5)^2) and the censoring time N(2x + 10, 2^2), with x
    uniform on (0, 2).

    Parameters
    ----------
    n_samples, random_state, censored
        As in `make_norm_linear`.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_norm_nonlinear
    >>> make_norm_nonlinear(n_samples=3, censored=False).y["event"]
    array([ True,  True,  True])
    """
    return _make("Norm non-linear", n_samples, random_state, censored)


def make_exponential(
    n_samples: SupportsIndex = 500, *, random_state: RandomState = None, censored: bool = True
) -> SyntheticData:
    """Sample of exponential times, the mean linear in one feature; 34 % are censored.

    The target has mean 2x + 4 and the censoring time, exponential too, mean 15 - 3x, with x
    uniform on (0, 2).

    Parameters
    ----------
    n_samples, random_state, censored
        As in `make_norm_linear`.

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
    return _make("Exponential", n_samples, random_state, censored)


def make_weibull(
    n_samples: SupportsIndex = 500, *, random_state: RandomState = None, censored: bool = True
) -> SyntheticData:
    """Sample of Weibull times with a wave in their scale; 23 % are censored.

    The target has shape 5 and scale 4x sin(2(x - 1)) + 10, the censoring time shape 5 and scale
    20 - 3x, with x uniform on (0, 2).

    Parameters
    ----------
    n_samples, random_state, censored
        As in `make_norm_linear`.

    Returns
    -------
    data : SyntheticData

    Examples
    --------
    >>> from censquant.datasets import make_weibull
    >>> make_weibull(random_state=0).true_quantiles([0.1, 0.5, 0.9]).shape
    (500, 3)
    """
    return _make("Weibull", n_samples, random_state, censored)


def make_lognorm(
    n_samples: SupportsIndex = 500, *, random_state: RandomState = None, censored: bool = True
) -> SyntheticData:
    """Sample of log-normal times, skewed and heavy-tailed; 22 % are censored.

    The logarithm of the target is N((x - 1)^2, 1) and the censoring time uniform on (0, 10), with
    x uniform on (0, 2): no target above 10 is ever seen. The paper's table prints another standard
    deviation; 1 is the one behind its numbers.

    Parameters
    ----------
    n_samples, random_state, censored
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
    return _make("LogNorm", n_samples, random_state, censored)


def make_norm_uniform(
    n_samples: SupportsIndex = 500, *, random_state: RandomState = None, censored: bool = True
) -> SyntheticData:
    """Sample of normal times under heavy and early censoring; 66 % are censored.

    The target is N(2x cos(2x) + 13, (x^2 + 0.5)^2), moved up to 0.1 where it is smaller, and the
    censoring time uniform on (0, 18), with x uniform on (0, 2). The highest quantiles at some x lie
    beyond all follow-up.

    Parameters
    ----------
    n_samples, random_state, censored
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
    return _make("Norm uniform", n_samples, random_state, censored)


def make_norm_4d(
    n_samples: SupportsIndex = 2000,
    *,
    censoring: str = "medium",
    offset: float | None = None,
    random_state: RandomState = None,
    censored: bool = True,
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
        did anew in every run. A test set takes the offset of its training set.
    random_state, censored
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
    return _make(f"Norm {censoring}", n_samples, random_state, censored, offset)


def make_lognorm_8d(
    n_samples: SupportsIndex = 4000,
    *,
    censoring: str = "medium",
    random_state: RandomState = None,
    censored: bool = True,
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
    return _make(f"LogNorm {censoring}", n_samples, random_state, censored)


def _make(
    name: str,
    n_samples: SupportsIndex,
    random_state: RandomState,
    censored: bool,
    offset: float | None = None,
) -> SyntheticData:
    """Draw one data set of the table."""
    try:
        n_rows = operator.index(n_samples)
    except TypeError:
        raise TypeError(f"n_samples must be an integer, got {n_samples!r}.") from None
    if n_rows < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_rows}.")
    recipe, rng = RECIPES[name], generator(random_state)
    if not recipe.is_shifted:
        moved = 0.0
    elif offset is None:
        many = rng.uniform(0.0, 2.0, size=(_OFFSET_DRAWS, recipe.n_features))
        moved = 1.0 - float(draw(recipe.target, many, rng).min())
    else:
        moved = check_number("offset", offset)
    # The censoring times come last, so that they do not change what is drawn without them.
    X = rng.uniform(0.0, 2.0, size=(n_rows, recipe.n_features))
    target_law = shifted(recipe.target, moved)
    censoring_law = target_law if recipe.censoring is recipe.target else recipe.censoring
    target = draw(target_law, X, rng)
    censoring = draw(censoring_law, X, rng) if censored else np.full(n_rows, np.inf)
    y = Surv.from_arrays(event=target <= censoring, time=np.minimum(target, censoring))
    return SyntheticData(name, X, y, target, censoring, moved)
