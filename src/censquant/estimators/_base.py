"""The contract of a model: it predicts a distribution; every other answer derives from that."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from censquant._rows._frames import Output, labelled
from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.estimators._exporting import Exports
from censquant.estimators._reading import (
    BEYOND,
    Beyond,
    BeyondOfFunctions,
    note_of_levels,
    read_elapsed,
    warn_of,
)
from censquant.metrics import concordance_index
from censquant.quantiles import CumulativeHazardFunction, QuantileCurve, SurvivalFunction
from censquant.survival import read_target
from censquant.survival._kaplan_meier import default_horizon

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class BaseQuantileRegressor(Exports, RegressorMixin, BaseEstimator, ABC):
    """A fitted model that predicts a distribution of the time to the event per individual.

    A subclass fits and implements one method, :meth:`predict_curve`; every other prediction
    derives from its curves, so that two answers never contradict each other. Three attributes are
    used where a subclass sets them in ``fit``: ``quantiles_`` (levels returned by default),
    ``unique_times_`` (default times of survival functions) and ``horizon_`` (default horizon of
    restricted means).

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import BaseQuantileRegressor
    >>> from censquant.quantiles import QuantileCurve
    >>> class Uniform(BaseQuantileRegressor):
    ...     def fit(self, X, y):
    ...         self.longest_ = float(np.max(y))
    ...         return self
    ...     def predict_curve(self, X):
    ...         levels = np.array([0.25, 0.75])
    ...         values = np.tile(self.longest_ * levels, (len(X), 1))
    ...         return QuantileCurve(values, levels, lower=0.0)
    >>> model = Uniform().fit([[0.0], [1.0]], [3.0, 8.0])
    >>> model.predict([[0.5]])
    array([4.])
    """

    # scikit-survival's score() of its own estimators reads this: we predict times, not risks.
    _predict_risk_score = False

    @abstractmethod
    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the predictive distribution of each row, with its reach.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        curve : QuantileCurve of n rows
            In the unit of the times that were fitted. ``curve.reach`` is the highest level of each
            row that the data can speak for.
        """

    # Inside an ensemble, which has checked the features once for all of its members

    _ends_with_its_data = False
    """Whether the second value of :meth:`_predict_checked` may say where the data end."""

    def _predict_checked(
        self, x: NDArray[Any], levels: Floats
    ) -> tuple[Floats, tuple[Floats, Floats] | None]:
        """Return quantiles of checked features, and where the data behind them end.

        Times are right-censored ones: those of ``censoring="left"`` are mirrored. The end is a time
        and a level per row, past which the model rests on no data of its own; None if it has a rule
        for all levels.
        """
        curve = self._curve_checked(x)
        if self._left_censored:
            return -curve.at(1.0 - levels[::-1])[:, ::-1], None
        return curve.at(levels), None

    def _curve_checked(self, x: NDArray[Any]) -> QuantileCurve:
        """Return the curves of checked features, in the user's unit of time."""
        return self.predict_curve(x)

    # Predictions

    def predict(self, X: Any) -> Floats:
        """Return the median time of each row: by then the event has happened with probability 1/2.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        median : ndarray of shape (n,)
            In the unit of the times that were fitted. Higher means later; it is not a risk.
        """
        return self._quantiles_at(X, np.array([0.5]), "warn")[:, 0]

    @overload
    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Literal["array"] = "array",
    ) -> Floats: ...

    @overload
    def predict_quantiles(
        self,
        X: "pl.DataFrame",
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Literal["frame"],
    ) -> "pl.DataFrame": ...

    @overload
    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Literal["frame"],
    ) -> "pd.DataFrame": ...

    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Output = "array",
    ) -> Any:
        """Return the times by which the event has happened with the given probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted. Others are read off the curve through them.
        beyond : {"warn", "extrapolate", "limit", "inf", "nan"}, default "warn"
            What to return for times after the end of follow-up of individuals like this one (see
            :meth:`identified_level`). ``"extrapolate"`` returns the extrapolated time, which no
            data support, ``"warn"`` does so with a warning. ``"limit"`` returns the last supported
            time: the event comes later than that. ``"inf"`` and ``"nan"`` return infinity or NaN.
            No extrapolated median is later than 1.7 times, and no quantile up to level 0.95 later
            than 9.5 times the last observed time.
        output : {"array", "frame"}, default "array"
            A frame has the index of ``X`` and one column per level, ``q0.1``, ``q0.5``, ...;
            polars' for polars input, else pandas'.

        Returns
        -------
        times : ndarray or DataFrame of shape (n, n_levels)
            Increasing along each row where the levels increase.
        """
        levels = self._levels(quantiles)
        return labelled(self._quantiles_at(X, levels, beyond), levels.tolist(), X, output)

    @overload
    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.8,
        *,
        beyond: Beyond = "warn",
        output: Literal["array"] = "array",
    ) -> Floats: ...

    @overload
    def predict_interval(
        self,
        X: "pl.DataFrame",
        coverage: float = 0.8,
        *,
        beyond: Beyond = "warn",
        output: Literal["frame"],
    ) -> "pl.DataFrame": ...

    @overload
    def predict_interval(
        self, X: Any, coverage: float = 0.8, *, beyond: Beyond = "warn", output: Literal["frame"]
    ) -> "pd.DataFrame": ...

    def predict_interval(
        self, X: Any, coverage: float = 0.8, *, beyond: Beyond = "warn", output: Output = "array"
    ) -> Any:
        """Return the central interval in which the event falls with probability ``coverage``.

        Its ends are two predicted quantiles; nothing guarantees the coverage.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        coverage : float in (0, 1), default 0.8
        beyond, output
            As in :meth:`predict_quantiles`.

        Returns
        -------
        interval : ndarray or DataFrame of shape (n, 2)
        """
        share = check_number("coverage", coverage, minimum=0.0, below=1.0, exclude_minimum=True)
        # Rounding keeps the ends on the grid's own levels: (1 - 0.8) / 2 is not 0.1 in binary.
        low = round((1.0 - share) / 2.0, 12)
        levels = np.array([low, 1.0 - low])
        return labelled(self._quantiles_at(X, levels, beyond), levels.tolist(), X, output)

    @overload
    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: Literal[False] = False,
        *,
        beyond: BeyondOfFunctions = "warn",
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None,
        return_array: Literal[True],
        *,
        beyond: BeyondOfFunctions = "warn",
    ) -> Floats: ...

    @overload
    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        *,
        return_array: Literal[True],
        beyond: BeyondOfFunctions = "warn",
    ) -> Floats: ...

    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: bool = False,
        *,
        beyond: BeyondOfFunctions = "warn",
    ) -> NDArray[Any]:
        """Return the probability that the event has not happened yet, as a function of time.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        times : array-like of shape (n_times,), optional
            Where to evaluate; by default ``unique_times_``.
        return_array : bool, default False
            Whether to return the values at ``times`` instead of functions.
        beyond : {"warn", "extrapolate", "nan"}, default "warn"
            What to return at times past the follow-up of individuals like this one, as in
            :meth:`predict_quantiles`.

        Returns
        -------
        survival : ndarray of shape (n,) of callables, or of shape (n, n_times)
            The callables have the attributes ``x`` (times) and ``y`` (values there), as those of
            scikit-survival.
        """
        return self._functions(X, times, return_array, beyond, SurvivalFunction)

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: Literal[False] = False,
        *,
        beyond: BeyondOfFunctions = "warn",
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: Any,
        times: ArrayLike | None,
        return_array: Literal[True],
        *,
        beyond: BeyondOfFunctions = "warn",
    ) -> Floats: ...

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        *,
        return_array: Literal[True],
        beyond: BeyondOfFunctions = "warn",
    ) -> Floats: ...

    def predict_cumulative_hazard_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: bool = False,
        *,
        beyond: BeyondOfFunctions = "warn",
    ) -> NDArray[Any]:
        """Return the cumulative hazard, minus the logarithm of the survival function.

        Parameters
        ----------
        X, times, return_array, beyond
            As in :meth:`predict_survival_function`.

        Returns
        -------
        hazard : ndarray of shape (n,) of callables, or of shape (n, n_times)
            Infinite where survival is 0.
        """
        return self._functions(X, times, return_array, beyond, CumulativeHazardFunction)

    @overload
    def predict_remaining(
        self,
        X: Any,
        elapsed: ArrayLike,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Literal["array"] = "array",
    ) -> Floats: ...

    @overload
    def predict_remaining(
        self,
        X: "pl.DataFrame",
        elapsed: ArrayLike,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Literal["frame"],
    ) -> "pl.DataFrame": ...

    @overload
    def predict_remaining(
        self,
        X: Any,
        elapsed: ArrayLike,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Literal["frame"],
    ) -> "pd.DataFrame": ...

    def predict_remaining(
        self,
        X: Any,
        elapsed: ArrayLike,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Beyond = "warn",
        output: Output = "array",
    ) -> Any:
        """Return quantiles of the time that is left, given no event so far.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        elapsed : float or array-like of shape (n,)
            The time that each individual has survived already, in the unit of the fit.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        beyond, output
            As in :meth:`predict_quantiles`. An individual that has outlived the follow-up of
            others like it has no identified level left.

        Returns
        -------
        remaining : ndarray or DataFrame of shape (n, n_levels)
            Never negative. After the end of follow-up it rests on an exponential tail.
        """
        levels, fitted = self._levels(quantiles), getattr(self, "quantiles_", None)
        spent = read_elapsed(elapsed, _num_samples(X), self)
        far, notes = bool(note_of_levels(levels, fitted)), list[str]()

        def of(rows: slice) -> Floats:
            return spent[rows] if spent.ndim else spent

        def values(curve: QuantileCurve, rows: slice) -> Floats:
            low = float(of(rows).min())
            if low < curve.lower:
                raise ValueError(f"elapsed must be at least {curve.lower:g}, got {low:g}.")
            if far:  # but not for an individual who has passed the lowest fitted level
                notes.extend(note_of_levels(conditional(curve, rows), fitted))
            return curve.remaining(of(rows), levels)

        def conditional(curve: QuantileCurve, rows: slice) -> Floats:
            return curve.conditional_levels(of(rows), levels)

        def limits(curve: QuantileCurve, rows: slice) -> Floats:
            return np.maximum(curve.limit() - of(rows), 0.0)[:, None]

        check_choice("beyond", beyond, BEYOND)
        remaining = self._read(X, values, conditional, beyond, limits=limits, notes=notes)
        return labelled(remaining, levels.tolist(), X, output)

    def predict_restricted_mean(self, X: Any, horizon: float | None = None) -> Floats:
        """Return the expected time up to a horizon, the mean that the data can speak for.

        A mean hangs on the far tail, which censoring hides; the mean of the time up to a horizon
        does not. It orders individuals where the median is out of reach.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        horizon : float, optional
            By default the last time at which one in twenty of the training rows was still at
            risk.

        Returns
        -------
        mean : ndarray of shape (n,)
            Expectation of the smaller of time and horizon; with ``censoring="left"`` of the larger.
        """
        check_is_fitted(self)
        end = getattr(self, "horizon_", None) if horizon is None else horizon
        if end is None:
            raise ValueError(
                f"horizon must be given, since {type(self).__name__} has no horizon_, got None."
            )
        notes: list[str] = []
        mean = self._restricted_mean(X, check_number("horizon", end), notes)
        warn_of(notes, stacklevel=2)
        return mean

    def identified_level(self, X: Any) -> Floats:
        """Return the highest level that the data can speak for, for each row of ``X``.

        A quantile is learned from individuals who were still under observation when it was
        reached. This is the level that the predicted curve has at the last time at which about 3 %
        of the individuals like this one, had they no event, would still be under observation, and
        at most the share of them that had the event by then. Above it predictions are
        extrapolation, whatever the model. Below it the data *could* speak: an overfitted curve can
        still be wrong there, and censoring that depends on the event time given the features is
        not detected. With ``censoring="left"`` it is the lowest level.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        level : ndarray of shape (n,)
            Between 0 (none is identified) and the highest fitted level; for left censoring between
            the lowest fitted level and 1 (none).
        """
        check_is_fitted(self)
        notes: list[str] = []
        level = self._map_curves(X, lambda curve, rows: curve.reach, notes)
        warn_of(notes, stacklevel=2)
        return level

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return Harrell's concordance index of the restricted means; 0.5 is chance, 1 is best.

        Individuals are ranked by :meth:`predict_restricted_mean`, not by the median, which is an
        extrapolation where most are censored.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form that :meth:`fit` takes
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        concordance : float
        """
        check_is_fitted(self)
        target, left = read_target(y), self._left_censored
        horizon = getattr(self, "horizon_", None)
        if horizon is None:
            horizon = default_horizon(target.time, left=left)
        return concordance_index(
            (target.time, target.event),
            self._restricted_mean(X, horizon, []),
            sample_weight=sample_weight,
            censoring="left" if left else "right",
        )

    def predict_dataset(
        self,
        source: Any,
        out: str | os.PathLike[str],
        quantiles: ArrayLike | None = None,
        *,
        beyond: Literal["nan", "inf", "limit", "extrapolate"] = "nan",
        keep: Sequence[str] | str | None = None,
        **options: Any,
    ) -> Any:
        """Predict a data set in files of any size, and write a folder of Parquet files.

        Memory stays constant, and a call that was killed resumes where it was; see
        :func:`censquant.io.predict_dataset`, which ``censquant[cli]`` brings what it needs for.

        Parameters
        ----------
        source : str, path, sequence of paths, or pyarrow.dataset.Dataset
            A file or a folder of files with the columns of the fit, which must have had names.
        out : str or path
            Folder for the predictions, one column per level, ``q0.1``, ``q0.5``, ..., and
            ``identified``, the highest level that the data can speak for.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        beyond : {"nan", "inf", "limit", "extrapolate"}, default "nan"
            What to write at levels that the data cannot speak for.
        keep : sequence of str or "all", optional
            Columns that are written in front of the predictions; by default those that are no
            features.
        **options
            ``part_rows``, ``chunk_rows``, ``interval``, ``lower_bound``, ``remaining``,
            ``progress`` and ``options`` of :func:`censquant.io.predict_dataset`.

        Returns
        -------
        written : PredictedDataset
        """
        from censquant.io import predict_dataset

        levels = self._levels(quantiles)
        return predict_dataset(
            self, source, out, quantiles=levels, beyond=beyond, keep=keep, **options
        )

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file that executes nothing when it is opened.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete. Read it with
            :func:`censquant.load_model`.
        notes : mapping, optional
            Anything JSON can hold that should stay with the model, such as the unit of time;
            :func:`censquant.estimators.load_notes` reads it.
        """
        from censquant._storage._persistence import save_estimator

        check_is_fitted(self)
        save_estimator(self, path, notes)
