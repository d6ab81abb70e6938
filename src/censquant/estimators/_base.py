"""What every estimator answers once it can predict a curve of quantiles for each row."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from censquant._validation import check_choice, check_number
from censquant.exceptions import ExtrapolationWarning
from censquant.metrics import concordance_index
from censquant.quantiles import QuantileCurve, SurvivalFunction, check_levels, mask_beyond
from censquant.survival import read_numbers
from censquant.training import side_by_side

_MOST_TIMES = 1_000  # default times of survival functions
_BEYOND = ("warn", "extrapolate", "inf", "nan")
# A block's values stay in the processor's cache, and its temporary arrays together stay below what
# malloc gives back to the system when they are freed: fetching that memory anew for every block
# cost half as much as the matrix products.
_BLOCK_ROWS = 1_024


class QuantileRegressor(RegressorMixin, BaseEstimator):
    """Predictions of times from fitted quantile curves.

    A subclass fits, says how rows become curves (``_read_features``, ``_curve_of``) and which
    levels are identified (``_identified_of``), and sets ``quantiles_``, ``unique_times_`` and
    ``follow_up_``. Rows are answered block by block, so memory stays bounded by the answer.
    """

    # scikit-survival's score() of its own estimators reads this: we predict times, not risks.
    _predict_risk_score = False

    quantiles_: NDArray[np.float64]
    unique_times_: NDArray[np.float64]
    follow_up_: tuple[float, float]

    @property
    def _left_censored(self) -> bool:
        """Whether censored events lie before their times."""
        raise NotImplementedError

    @property
    def _any_censored(self) -> bool:
        """Whether any of the fitted rows was censored."""
        raise NotImplementedError

    def _read_features(self, X: Any) -> NDArray[Any]:
        """Return ``X`` as a checked array, one row an individual."""
        raise NotImplementedError

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        """Return the quantile curves of some rows, in the user's unit of time."""
        raise NotImplementedError

    def _quantiles_of(
        self, features: NDArray[Any], levels: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the quantiles of some rows at any levels, read off their curves."""
        curve = self._curve_of(features)
        return curve.values if levels is curve.taus else curve.at(levels)

    def _identified_of(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the highest identified level of some rows (for left censoring the lowest)."""
        raise NotImplementedError

    def _answer(
        self, X: Any, ask: Callable[[NDArray[Any], slice], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return ``ask(features, rows)`` for all rows of ``X``, block by block."""
        features = self._read_features(X)
        (first,) = side_by_side([lambda _: ask(features[:_BLOCK_ROWS], slice(0, _BLOCK_ROWS))])
        if len(features) <= _BLOCK_ROWS:
            return first
        out = np.empty((len(features), *first.shape[1:]))
        out[:_BLOCK_ROWS] = first

        def task(start: int) -> Callable[[threading.Event], None]:
            rows = slice(start, start + _BLOCK_ROWS)

            def run(stopping: threading.Event) -> None:
                out[rows] = ask(features[rows], rows)

            return run

        starts = range(_BLOCK_ROWS, len(features), _BLOCK_ROWS)
        side_by_side([task(start) for start in starts], getattr(self, "n_jobs", None))
        return out

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the median time of each row: by then the event has happened with probability 1/2.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        median : ndarray of shape (n,)
            In the unit of the times that were fitted. Higher means later; it is not a risk.
        """
        return self._times(X, (0.5,), "warn")[:, 0]

    def predict_quantiles(
        self, X: Any, quantiles: ArrayLike | None = None, *, beyond: str = "warn"
    ) -> NDArray[np.float64]:
        """Return the times by which the event has happened with the given probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted. Others are read off the curve through them.
        beyond : {"warn", "extrapolate", "inf", "nan"}, default "warn"
            What to give at levels that the data cannot speak for, because nobody like this row
            was followed long enough (see :meth:`identified_level`). ``"extrapolate"`` gives the
            model's guess, ``"warn"`` does so with a warning if it lies past the last follow-up,
            the others say infinity or nothing.

        Returns
        -------
        times : ndarray of shape (n, n_levels)
            Increasing along each row where the levels increase.
        """
        return self._times(X, quantiles, beyond)

    def predict_interval(
        self, X: Any, coverage: float = 0.8, *, beyond: str = "warn"
    ) -> NDArray[np.float64]:
        """Return the central interval in which the event falls with probability ``coverage``.

        Its ends are two predicted quantiles; nothing guarantees the coverage.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        coverage : float in (0, 1), default 0.8
        beyond : {"warn", "extrapolate", "inf", "nan"}, default "warn"
            As in :meth:`predict_quantiles`.

        Returns
        -------
        interval : ndarray of shape (n, 2)
        """
        share = check_number("coverage", coverage, minimum=0.0, below=1.0, exclude_minimum=True)
        # Rounding keeps the ends on the grid's own levels: (1 - 0.8) / 2 is not 0.1 in binary.
        low = round((1.0 - share) / 2.0, 12)
        return self._times(X, (low, 1.0 - low), beyond)

    def predict_survival_function(
        self, X: Any, times: ArrayLike | None = None, return_array: bool = False
    ) -> NDArray[Any]:
        """Return the probability that the event has not happened yet, as a function of time.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        times : array-like of shape (n_times,), optional
            Where to evaluate; by default ``unique_times_``.
        return_array : bool, default False
            Whether to return the values at ``times`` instead of functions.

        Returns
        -------
        survival : ndarray of shape (n,) of callables, or of shape (n, n_times)
            The callables have the attributes ``x`` (times) and ``y`` (values there), as those of
            scikit-survival.
        """
        check_is_fitted(self, "quantiles_")
        at = self.unique_times_ if times is None else read_numbers(times, name="times")
        if return_array:
            return self._answer(X, lambda features, rows: self._curve_of(features).survival(at))
        curve = self._curve_of(self._read_features(X))
        functions = np.empty(len(curve), dtype=object)
        for i in range(len(curve)):
            functions[i] = SurvivalFunction(curve, i, at)
        return functions

    def predict_remaining(
        self, X: Any, elapsed: ArrayLike, quantiles: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return quantiles of the time that is left, given no event so far.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        elapsed : float or array-like of shape (n,)
            The time that each row has survived already.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.

        Returns
        -------
        remaining : ndarray of shape (n, n_levels)
            Never negative. Long after the highest fitted quantile it rests on an exponential tail.
        """
        levels = self._levels(quantiles)
        spent = np.asarray(elapsed)

        def ask(features: NDArray[Any], rows: slice) -> NDArray[np.float64]:
            return self._curve_of(features).remaining(spent[rows] if spent.ndim else spent, levels)

        return self._answer(X, ask)

    def identified_level(self, X: Any) -> NDArray[np.float64]:
        """Return the highest level that the data can speak for, for each row of ``X``.

        A quantile is identified while at least one in twenty of the rows like this one, had they no
        event, would still be under observation at that time. Above this level predictions are
        extrapolation, whatever the model. With ``censoring="left"`` it is the lowest level.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        level : ndarray of shape (n,)
            One of the fitted levels; 0 (for left censoring 1) where none is identified.
        """
        return self._answer(X, lambda features, rows: self._identified_of(features))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return Harrell's concordance index of the predicted medians; 0.5 is chance, 1 is best.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form that :meth:`fit` takes
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        concordance : float
        """
        median = self.predict_quantiles(X, (0.5,), beyond="extrapolate")[:, 0]
        return concordance_index(y, median, sample_weight=sample_weight)

    def _times(self, X: Any, quantiles: ArrayLike | None, beyond: str) -> NDArray[np.float64]:
        """Return quantiles for a method that the user calls: a warning points at that call."""
        check_choice("beyond", beyond, _BEYOND)
        levels = self._levels(quantiles)

        def ask(features: NDArray[Any], rows: slice) -> NDArray[np.float64]:
            times = self._quantiles_of(features, levels)
            if beyond not in ("inf", "nan"):
                return times
            identified = self._identified_of(features)
            if self._left_censored:
                return -mask_beyond(-times, 1.0 - levels, 1.0 - identified, beyond)
            return mask_beyond(times, levels, identified, beyond)

        times = self._answer(X, ask)
        if beyond == "warn" and self._any_censored:
            self._warn_of_extrapolation(times)
        return times

    def _levels(self, quantiles: ArrayLike | None) -> NDArray[np.float64]:
        """Return the levels asked for, by default the fitted ones."""
        check_is_fitted(self, "quantiles_")
        return self.quantiles_ if quantiles is None else check_levels(quantiles, name="quantiles")

    def _warn_of_extrapolation(self, times: NDArray[np.float64]) -> None:
        low, high = self.follow_up_
        n_outside = int((times < low).sum() if self._left_censored else (times > high).sum())
        if n_outside:
            warnings.warn(
                f"{n_outside} of {times.size} predicted times lie beyond the last follow-up "
                f"({low if self._left_censored else high:g}), where the model extrapolates: see "
                "identified_level, or choose beyond='extrapolate', 'inf' or 'nan'.",
                ExtrapolationWarning,
                stacklevel=4,
            )


def default_times(event_times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distinct times, at most a thousand of them, spread evenly and with both ends."""
    times = np.unique(event_times)
    if len(times) <= _MOST_TIMES:
        return times
    return times[np.linspace(0, len(times) - 1, _MOST_TIMES).round().astype(np.intp)]
