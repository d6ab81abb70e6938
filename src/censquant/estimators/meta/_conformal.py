"""ConformalSurvivalRegressor: bounds that cover, around any model."""

import os
from collections.abc import Mapping
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from censquant._calibration._rules import FOLLOWED_SHARE, end_of_follow_up
from censquant._frames import labelled
from censquant._seeds import seed_sequence
from censquant._storage._codec import Reader, Writer
from censquant._typing import Floats
from censquant._validation import check_choice, check_flag, check_number
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators.meta._bounds import (
    CrossFitted,
    ExportsBounds,
    base_model,
    cross_fitted,
    curve_table,
    numbers_of,
    prefitted,
    restore_bounds,
    store_bounds,
    subgroup_labels,
    without_rows,
)
from censquant.quantiles import QuantileCurve
from censquant.survival._target import require_events


class ConformalSurvivalRegressor(ExportsBounds):
    """Calibrated quantiles and bounds with the promised coverage, around any model.

    A lower bound of confidence 0.9 promises that nine in ten individuals outlive theirs. Rows that
    their model has not seen tell how often bounds at each level of the model's curves are missed,
    with corrections for those that were censored; the bounds farthest out that keep the promise are
    returned. An overfitted model has no level that is low enough, so bounds also stretch past its
    lowest one.

    The promise is about all individuals together and about those whose bound is not limited by
    follow-up, not about each, and about individuals like the calibration rows. It assumes that
    censoring is independent of the event time given the features, and that the censoring model or
    the recalibrated event model is right. No lower bound lies past the time to which one in ten
    individuals like this one were followed, and upper bounds there are infinite: what happens later
    is the model's word alone. No lower bound is above the recalibrated quantile of its level, and
    no upper bound below, so that bounds, intervals and quantiles do not contradict each other.

    Parameters
    ----------
    estimator : estimator, optional
        Any quantile regressor, or a model of another library that takes a structured array of event
        and time as scikit-survival's do; with ``cv="prefit"`` a fitted model of any library. By
        default :class:`CensoredQuantileRegressor`.
    method : {"auto", "aipcw", "ipcw", "km-pit", "drcosarc", "candes", "gui", "split"}
        Correction for censoring, see :data:`censquant._calibration.METHODS`. ``"auto"`` is
        ``"split"`` if no row is censored, else ``"aipcw"``; ``method_`` says why. ``"candes"`` and
        ``"gui"`` need ``censoring_time`` and are, like ``"drcosarc"``, for lower bounds alone:
        ``"aipcw"`` makes the others.
    cv : int, splitter or "prefit", default 5
        Number of folds in which every row calibrates once, an object of scikit-learn with
        ``split``, or a model that is fitted already. Pools have folds of their own, which an
        integer leaves as they are.
    censoring_estimator : estimator, "kaplan-meier" or None
        Model of the censoring time. By default a pool of a proportional-hazards model and boosted
        trees where a test finds that censoring depends on the features, and the Kaplan-Meier curve
        where it does not.
    by : str, int or callable, optional
        Column of ``X``, its place, or a function of ``X`` that returns labels: bounds and levels
        are calibrated within each subgroup.
    n_jobs : int, optional
        Threads over folds; None means 1, -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        For folds, the censoring model, and an estimator whose own ``random_state`` is None.

    Attributes
    ----------
    estimator_ : BaseQuantileRegressor
        The model, fitted to all rows.
    censoring_estimator_ : BaseQuantileRegressor or None
        Model of the censoring time; None where it is a Kaplan-Meier curve.
    method_ : str
        The method, and why.
    coverage_ : CoverageTable
        Estimated coverage of each promise with its standard error, before and after.
    clipped_share_ : float
        Share of calibration rows whose inverse weight was clipped.
    calibration_p_value_ : float or None
        Of the test of A-calibration of the model as it is.
    shift_ : ShiftTest or None
        Comparison of calibration rows with training rows, where they are different rows.
    quantiles_, follow_up_, horizon_, unique_times_, time_transform_
        As of every estimator here.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from censquant import BoostedQuantileRegressor, ConformalSurvivalRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2(as_frame=False)
    >>> model = ConformalSurvivalRegressor(BoostedQuantileRegressor(max_iter=30), random_state=0)
    >>> model = model.fit(X, y)
    >>> model.predict_lower_bound(X[:3], confidence=0.9).shape
    (3,)
    >>> model.coverage_.at(0.9).estimate > 0.89
    True
    """

    _unstored_parameters = ("cv", "random_state")  # by a model file

    def __init__(
        self,
        estimator: Any = None,
        method: str = "auto",
        cv: Any = 5,
        *,
        censoring_estimator: Any = None,
        by: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.censoring_estimator = censoring_estimator
        self.by = by
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        censoring_time: ArrayLike | None = None,
    ) -> Self:
        """Fit the model and calibrate it on rows that were held out in turn.

        With ``cv="prefit"`` it is the same as :meth:`conformalize`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was observed; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its contribution.
        groups : array-like of shape (n,), optional
            Rows of one group (a patient, an engine) are held out together.
        censoring_time : array-like of shape (n,), optional
            Times at which rows were or would have been censored, where all are known.

        Returns
        -------
        self
        """
        self._begin()
        if self._is_prefit:
            return self.conformalize(
                X, y, sample_weight, groups=groups, censoring_time=censoring_time
            )
        rows = self._read_rows(X, y, sample_weight, groups)
        require_events(rows.target)
        fit_seed, censoring_seed = seed_sequence(self.random_state).spawn(2)
        fitted = cross_fitted(
            base_model(self._unfitted()), rows, self.cv, fit_seed, self.n_jobs, mirror=self._mirror
        )
        self._adopt(fitted.model, rows)
        self._remember(X, np.unique(fitted.rows))
        self._calibrate(rows, fitted, censoring_seed, censoring_time)
        return self

    def conformalize(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        censoring_time: ArrayLike | None = None,
    ) -> Self:
        """Calibrate the fitted model on rows that it has not seen.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
        sample_weight : array-like of shape (n,), optional
        groups : array-like of shape (n,), optional
            Rows of one group are held out together where the censoring model is cross-fitted.
        censoring_time : array-like of shape (n,), optional
            Times at which rows were or would have been censored, where all are known.

        Returns
        -------
        self
        """
        self._check_parameters()
        rows = self._read_rows(X, y, sample_weight, groups)
        if self._is_prefit:
            self._train_sample = self.shift_ = None
            self._adopt(prefitted(self.estimator), rows)
        else:
            check_is_fitted(self)
        curve, _ = curve_table(self.estimator_, X, mirror=self._mirror)
        if self._train_sample is not None:
            self._compare(self._train_sample, numbers_of(X))
        everything = np.arange(len(rows))
        fitted = CrossFitted(self.estimator_, curve.values, curve.lower, everything, rows.weight)
        _, censoring_seed = seed_sequence(self.random_state).spawn(2)
        self._calibrate(rows, fitted, censoring_seed, censoring_time)
        return self

    # Predicting

    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the recalibrated distribution of each row, with its reach.

        Its levels are those at which the events of calibration rows fall on their own curves, by
        Kaplan-Meier; levels that these do not reach are not identified.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        curve : QuantileCurve of n rows
        """
        check_is_fitted(self)
        curve, reach = curve_table(self.estimator_, X, mirror=self._mirror)
        labels = subgroup_labels(self.by, X)
        return self._calibration.recalibrated(curve.with_reach(reach), labels, self._lowest)

    @overload
    def predict_lower_bound(
        self,
        X: Any,
        confidence: float = 0.9,
        *,
        elapsed: ArrayLike | None = None,
        output: Literal["array"] = "array",
    ) -> Floats: ...

    @overload
    def predict_lower_bound(
        self,
        X: Any,
        confidence: float = 0.9,
        *,
        elapsed: ArrayLike | None = None,
        output: Literal["frame"],
    ) -> Any: ...

    def predict_lower_bound(
        self,
        X: Any,
        confidence: float = 0.9,
        *,
        elapsed: ArrayLike | None = None,
        output: Literal["array", "frame"] = "array",
    ) -> Any:
        """Return times that the events of a share ``confidence`` of individuals do not precede.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        confidence : float in (0, 1), default 0.9
            P(T >= bound), over individuals like the calibration rows, and over those of them whose
            bound follow-up does not limit.
        elapsed : float or array-like of shape (n,), optional
            Time that each individual has survived already. The promise then holds among those who
            have: a bound from the start promises them nothing.
        output : {"array", "frame"}, default "array"
            ``"frame"`` returns a data frame, of polars for polars input and else of pandas.

        Returns
        -------
        bound : ndarray of shape (n,)
            Times since the start, also with ``elapsed``, and never less than that. Never above the
            quantile of level ``1 - confidence`` of :meth:`predict_curve`. The smallest possible
            time where the calibration rows support no other.

            With ``output="frame"`` a data frame: ``bound``; ``limited``, whether follow-up ends
            before the bound would, see :meth:`follow_up_of`; ``confidence``, that of each bound: as
            asked, and where limited what the model says of that time, if it is more.
        """
        return self._bounds(X, confidence, "lower", elapsed).output(X, output)

    @overload
    def predict_upper_bound(
        self,
        X: Any,
        confidence: float = 0.9,
        *,
        elapsed: ArrayLike | None = None,
        output: Literal["array"] = "array",
    ) -> Floats: ...

    @overload
    def predict_upper_bound(
        self,
        X: Any,
        confidence: float = 0.9,
        *,
        elapsed: ArrayLike | None = None,
        output: Literal["frame"],
    ) -> Any: ...

    def predict_upper_bound(
        self,
        X: Any,
        confidence: float = 0.9,
        *,
        elapsed: ArrayLike | None = None,
        output: Literal["array", "frame"] = "array",
    ) -> Any:
        """Return times by which the events of a share ``confidence`` of individuals happened.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        confidence : float in (0, 1), default 0.9
            P(T <= bound), over individuals like the calibration rows whose bound is finite.
        elapsed : float or array-like of shape (n,), optional
            As in :meth:`predict_lower_bound`.
        output : {"array", "frame"}, default "array"
            As in :meth:`predict_lower_bound`.

        Returns
        -------
        bound : ndarray of shape (n,), or DataFrame
            Never below the quantile of level ``confidence`` of :meth:`predict_curve`. Infinite, and
            ``limited``, where individuals like this one were not followed for long enough.
        """
        return self._bounds(X, confidence, "upper", elapsed).output(X, output)

    @overload  # type: ignore[override]
    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.8,
        *,
        elapsed: ArrayLike | None = None,
        beyond: Literal["inf", "nan"] = "inf",
        output: Literal["array"] = "array",
    ) -> Floats: ...

    @overload
    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.8,
        *,
        elapsed: ArrayLike | None = None,
        beyond: Literal["inf", "nan"] = "inf",
        output: Literal["frame"],
    ) -> Any: ...

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.8,
        *,
        elapsed: ArrayLike | None = None,
        beyond: Literal["inf", "nan"] = "inf",
        output: Literal["array", "frame"] = "array",
    ) -> Any:
        """Return the interval in which the event falls with probability ``coverage``.

        Its ends are the lower and the upper bound that each leave out half of the rest, in this
        order for every row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        coverage : float in (0, 1), default 0.8
        elapsed : float or array-like of shape (n,), optional
            As in :meth:`predict_lower_bound`.
        beyond : {"inf", "nan"}, default "inf"
            What to return where the data support no upper bound.
        output : {"array", "frame"}, default "array"
            As in :meth:`predict_quantiles`.

        Returns
        -------
        interval : ndarray or DataFrame of shape (n, 2)
        """
        share = check_number("coverage", coverage, minimum=0.0, below=1.0, exclude_minimum=True)
        check_choice("beyond", beyond, ("inf", "nan"))
        low = round((1.0 - share) / 2.0, 12)
        ends = np.column_stack(
            [self._bounds(X, 1.0 - low, side, elapsed).time for side in ("lower", "upper")]
        )
        if beyond == "nan":
            ends = np.where(np.isfinite(ends), ends, np.nan)
        return labelled(ends, [low, 1.0 - low], X, output)

    def follow_up_of(self, X: Any) -> Floats:
        """Return the time to which one in ten individuals like each row were followed.

        No lower bound lies past it, and upper bounds there are infinite. (``method="gui"`` and
        ``"candes"`` stop earlier; ``"km-pit"`` and ``"split"`` go on.)

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        end : ndarray of shape (n,)
            Infinite where more are under observation at the last training time, as without
            censoring. Of left-censored times, back to which.

        Examples
        --------
        >>> from censquant import BoostedQuantileRegressor, ConformalSurvivalRegressor
        >>> from censquant.datasets import load_gbsg2
        >>> X, y = load_gbsg2(as_frame=False)
        >>> base = BoostedQuantileRegressor(max_iter=30, random_state=0)
        >>> model = ConformalSurvivalRegressor(
        ...     base, censoring_estimator="kaplan-meier", random_state=0
        ... ).fit(X, y)
        >>> model.follow_up_of(X[:2])
        array([2237., 2237.])
        """
        check_is_fitted(self)
        curve, _ = curve_table(self.estimator_, X, mirror=self._mirror)
        censoring = self._censoring.curves(X, len(curve), mirror=self._mirror)
        end = end_of_follow_up(censoring, FOLLOWED_SHARE, curve)
        return -end if self._mirror else end

    # Saving

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        notes: Mapping[str, Any] | None = None,
        calibration_rows: bool = True,
    ) -> None:
        """Write the fitted estimator to one file that executes nothing when it is opened.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete. Read it with
            :func:`censquant.load_model`.
        notes : mapping, optional
            Anything JSON can hold that should stay with the model, such as the unit of time.
        calibration_rows : bool, default True
            Whether the file holds time, event and predictions of every calibration row, which
            bounds for survivors (``elapsed=``) are computed from. Without them the file holds
            sums over rows, all other predictions are the same, and ``elapsed=`` is refused after
            loading.
        """
        check_is_fitted(self)
        keeps = check_flag("calibration_rows", calibration_rows)
        BaseQuantileRegressor.save(self if keeps else without_rows(self), path, notes=notes)

    def _store(self, writer: Writer) -> None:
        store_bounds(self, writer)

    def _restore(self, reader: Reader) -> None:
        restore_bounds(self, reader)
