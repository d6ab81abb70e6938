"""What every estimator answers once it can predict a curve of quantiles for each row."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from censquant._validation import check_choice, check_number
from censquant.exceptions import ExtrapolationWarning
from censquant.metrics import concordance_index
from censquant.quantiles import QuantileCurve, SurvivalFunction, check_levels, mask_beyond
from censquant.survival import read_numbers

_BEYOND = ("warn", "extrapolate", "inf", "nan")


class BaseQuantileRegressor(RegressorMixin, BaseEstimator):
    """Predictions of times from fitted quantile curves.

    A subclass fits, and provides ``_predict_curve(X)`` and ``identified_level(X)``; in ``fit`` it
    sets ``quantiles_``, ``unique_times_`` and ``follow_up_``.
    """

    # scikit-survival's scorers read this: predictions are times, not risks.
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

    def _predict_curve(self, X: Any) -> QuantileCurve:
        """Return the fitted quantile curves of the rows of ``X``, in the user's unit of time."""
        raise NotImplementedError

    def identified_level(self, X: Any) -> NDArray[np.float64]:
        """Return the highest level that the data can speak for, for each row of ``X``."""
        raise NotImplementedError

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
        return self.predict_quantiles(X, quantiles=(0.5,))[:, 0]

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
        check_choice("beyond", beyond, _BEYOND)
        curve = self._predict_curve(X)
        levels = curve.taus if quantiles is None else check_levels(quantiles, name="quantiles")
        return self._limit(X, curve.at(levels), levels, beyond)

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
        return self.predict_quantiles(X, (low, 1.0 - low), beyond=beyond)

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
        curve = self._predict_curve(X)
        at = self.unique_times_ if times is None else read_numbers(times, name="times")
        if return_array:
            return curve.survival(at)
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
        curve = self._predict_curve(X)
        levels = curve.taus if quantiles is None else check_levels(quantiles, name="quantiles")
        return curve.remaining(elapsed, levels)

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

    def _limit(
        self, X: Any, times: NDArray[np.float64], levels: NDArray[np.float64], beyond: str
    ) -> NDArray[np.float64]:
        """Treat the times that the data cannot speak for as ``beyond`` says."""
        if beyond in ("inf", "nan"):
            identified = self.identified_level(X)
            if self._left_censored:
                return -mask_beyond(-times, 1.0 - levels, 1.0 - identified, beyond)
            return mask_beyond(times, levels, identified, beyond)
        if beyond == "warn" and self._any_censored:
            low, high = self.follow_up_
            outside = times < low if self._left_censored else times > high
            if outside.any():
                end = low if self._left_censored else high
                warnings.warn(
                    f"{int(outside.sum())} of {outside.size} predicted times lie beyond the last "
                    f"follow-up ({end:g}), where the model extrapolates: see identified_level, or "
                    "choose beyond='extrapolate', 'inf' or 'nan'.",
                    ExtrapolationWarning,
                    stacklevel=3,
                )
        return times
