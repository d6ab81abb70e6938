"""Rows drawn by a recipe, with their true conditional quantiles, and a function for each set."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import RandomState, check_choice, check_flag, check_number, generator
from censquant.datasets._info import CatalogueEntry, DatasetInfo, to_frame
from censquant.datasets._recipes import RECIPES, Law, Recipe, draw, quantiles_at, shifted
from censquant.quantiles._grid import check_levels
from censquant.survival import Surv

_OFFSET_DRAWS = 10_000
_CENSORING = ("heavy", "medium", "light", "same")


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """Rows of a synthetic data set, with the answer that real data never show.

    Made by the ``make_*`` functions, and taken apart by ``X, y = data``. Target and censoring time
    are drawn independently given the features, so the assumption of every censored method holds.

    Parameters
    ----------
    name : str
        Name of the data set in the CQRNN paper.
    X : ndarray or DataFrame of shape (n_samples, n_features)
        Features.
    y : structured array of shape (n_samples,)
        What a method may see: ``time``, the smaller of the two times, and ``event``, True where
        it is the target.
    target_time : ndarray of shape (n_samples,)
        Time of the event, also where it was not observed.
    censoring_time : ndarray of shape (n_samples,)
        End of follow-up; infinity in data made without censoring.
    offset : float, default 0
        Time by which all targets were moved.
    paper_text : bool, default False
        Whether the target follows the law that the paper prints, also where its numbers were made
        with another.

    Examples
    --------
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(n_samples=4, random_state=0)
    >>> X, y = data
    >>> X.shape, data.feature_names, data.censored_share
    ((4, 1), ('x',), 0.25)
    >>> import numpy as np
    >>> data.y["time"] == np.minimum(data.target_time, data.censoring_time)
    array([ True,  True,  True,  True])
    """

    name: str
    X: Any
    y: NDArray[np.void]
    target_time: Floats
    censoring_time: Floats
    offset: float = 0.0
    paper_text: bool = False

    def __iter__(self) -> Iterator[Any]:
        """Features and target, in this order."""
        return iter((self.X, self.y))

    @property
    def _info(self) -> DatasetInfo:
        return RECIPES[self.name].info

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return self._info.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of `X`, as the formulas have them."""
        return name_features(self.n_features)

    @property
    def description(self) -> str:
        """Laws of both times given the features."""
        note = RECIPES[self.name].printed_note if self.paper_text else ""
        return f"{self._info.description} {note}".rstrip()

    @property
    def source(self) -> str:
        """Who defined the laws."""
        return self._info.source

    @property
    def licence(self) -> str:
        """Terms of use."""
        return self._info.licence

    @property
    def censored_share(self) -> float:
        """Share of these rows whose event was not observed; `describe` has the one of many rows."""
        return float(1.0 - self.y["event"].mean())

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
        target, _ = self._laws
        return self._quantiles_of(target, taus, X)

    def censoring_quantiles(self, taus: ArrayLike, X: ArrayLike | None = None) -> Floats:
        """Conditional quantiles of the censoring time.

        Where the high ones lie below a quantile of the target, no data can tell the latter.

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
        >>> from censquant.datasets import make_norm_uniform
        >>> make_norm_uniform(n_samples=1).censoring_quantiles([0.5, 0.98])
        array([[ 9.  , 17.64]])
        """
        _, censoring = self._laws
        return self._quantiles_of(censoring, taus, X)

    @property
    def _laws(self) -> tuple[Law, Law]:
        """Laws of target and censoring time."""
        recipe = find_recipe(self.name, self.paper_text)
        return laws_of(recipe, self.offset)

    def _quantiles_of(self, law: Law, taus: ArrayLike, X: ArrayLike | None) -> Floats:
        levels = check_levels(taus, name="taus")
        features = np.asarray(self.X if X is None else X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise ValueError(
                f"X must have shape (n, {self.n_features}) for {self.name}, got {features.shape}."
            )
        return quantiles_at(law, levels, features)


def laws_of(recipe: Recipe, offset: float) -> tuple[Law, Law]:
    """Return the laws of target and censoring time, the target moved by an offset."""
    target = shifted(recipe.target, offset)
    return target, target if recipe.censoring is recipe.target else recipe.censoring


def name_features(n_features: int) -> tuple[str, ...]:
    """Return ``x``, or ``x0``, ``x1`` and so on where there are several."""
    return ("x",) if n_features == 1 else tuple(f"x{j}" for j in range(n_features))


def find_recipe(name: str, paper_text: bool) -> Recipe:
    """Recipe of a data set, as its numbers were made or as it is printed."""
    return RECIPES[name].as_printed() if paper_text else RECIPES[name]


def make(
    name: str,
    n_samples: SupportsIndex | None = None,
    random_state: RandomState = None,
    censored: bool = True,
    paper_text: bool = False,
    as_frame: bool = False,
    *,
    offset: float | None = None,
) -> SyntheticData:
    """Draw a data set of the table, its features as a frame or an array."""
    check_flag("as_frame", as_frame)
    recipe = find_recipe(name, check_flag("paper_text", paper_text))
    n_rows = recipe.info.n_samples if n_samples is None else _check_rows(n_samples)
    n_features = recipe.info.n_features
    rng = generator(random_state)
    if offset is not None:
        moved = _check_offset(offset, recipe)
    elif not recipe.is_shifted:
        moved = 0.0
    elif recipe.printed_offset is not None:
        moved = recipe.printed_offset
    else:
        many = rng.uniform(0.0, 2.0, size=(_OFFSET_DRAWS, n_features))
        moved = 1.0 - float(draw(recipe.target, many, rng).min())
    # The censoring times come last, so that they do not change what is drawn without them.
    X = rng.uniform(0.0, 2.0, size=(n_rows, n_features))
    target_law, censoring_law = laws_of(recipe, moved)
    target = draw(target_law, X, rng)
    censoring = draw(censoring_law, X, rng) if censored else np.full(n_rows, np.inf)
    y = Surv.from_arrays(event=target <= censoring, time=np.minimum(target, censoring))
    features = to_frame(X, name_features(n_features)) if as_frame else X
    return SyntheticData(name, features, y, target, censoring, moved, paper_text)


def _check_rows(n_samples: SupportsIndex) -> int:
    try:
        n_rows = operator.index(n_samples)
    except TypeError:
        raise TypeError(f"n_samples must be an integer, got {n_samples!r}.") from None
    if n_rows < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_rows}.")
    return n_rows


def _check_offset(offset: float, recipe: Recipe) -> float:
    if not recipe.is_shifted:
        raise ValueError(
            f"offset moves the targets of the sets with four features only, got {offset!r} for "
            f"{recipe.info.title}."
        )
    return check_number("offset", offset)


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
        As in `make_norm_linear`; `paper_text` changes nothing here either.

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
        As in `make_norm_linear`; `paper_text` changes nothing here either.

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
        As in `make_norm_linear`; `paper_text` changes nothing here either.

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
    as_frame : bool
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
    as_frame : bool
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
    as_frame : bool
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
    as_frame : bool
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


SYNTHETIC = tuple(
    CatalogueEntry(recipe.info, partial(make, title)) for title, recipe in RECIPES.items()
)
"""All synthetic data sets."""
