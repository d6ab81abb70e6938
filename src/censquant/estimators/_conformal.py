"""ConformalSurvivalRegressor: bounds that cover, around any model."""

import os
from collections.abc import Mapping
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags

from censquant._calibration._coverage import CoverageTable
from censquant._calibration._groups import Calibration, IndividualBounds, subgroup_labels
from censquant._calibration._methods import METHODS
from censquant._calibration._rules import (
    FEWEST_EVENTS,
    FOLLOWED_SHARE,
    CalibrationRows,
    Side,
    end_of_follow_up,
)
from censquant._frames import labelled
from censquant._rows._features import check_is_fitted, feature_names
from censquant._rows._fit_data import FitData, default_times
from censquant._storage._codec import Reader, Writer
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_flag,
    check_n_jobs,
    check_number,
    seed_sequence,
)
from censquant._warn import warn_user
from censquant.estimators._adapted import adapt
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._conformal_files import restore_bounds, store_bounds, without_rows
from censquant.estimators._conformal_models import (
    CensoringModel,
    CrossFitted,
    ShiftTest,
    base_model,
    clipped_share,
    curve_table,
    fit_censoring,
    fit_held_out,
    numbers_of,
    shift_between,
)
from censquant.estimators._reading import read_elapsed
from censquant.estimators.ensemble._recommended import CensoredQuantileRegressor
from censquant.exceptions import CalibrationWarning, FewEventsWarning, IdentifiabilityWarning
from censquant.export._graph import Graph, Value
from censquant.export._graphs_bounds import add_bounds, conformal_graph, own_graph
from censquant.export._graphs_curves import GraphCurve
from censquant.export._javascript import PageModel, page_model
from censquant.export._onnx import write_onnx
from censquant.metrics import a_calibration
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target
from censquant.survival._target import require_events
from censquant.survival._transform import TimeTransform

PREFIT = "prefit"
_AUTO = "auto"
_SHIFTED = 0.001  # p-value below which a shift of the features is warned of
_MOST_COMPARED = 2_000  # rows of a test of two samples


class ConformalSurvivalRegressor(BaseQuantileRegressor):
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
        Correction for censoring, see the page on calibration. ``"auto"`` is
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

    estimator_: Any
    shift_: ShiftTest | None
    _calibration: Calibration
    _censoring: CensoringModel
    _train_sample: Floats | None
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_calibration")  # the last that a fit sets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._unfitted()
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = get_tags(inner).input_tags
        return tags

    @property
    def censoring(self) -> str:
        """The side of censoring of the estimator."""
        return str(getattr(self.estimator, "censoring", "right"))

    def _unfitted(self) -> Any:
        """Return the estimator, or the recommended one."""
        return CensoredQuantileRegressor() if self.estimator is None else self.estimator

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == PREFIT

    def _check_parameters(self) -> None:
        check_choice("method", self.method, (_AUTO, *METHODS))
        check_n_jobs(self.n_jobs)
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, (PREFIT,))

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
        self._check_parameters()
        self.__dict__.pop("_calibration", None)  # so that a fit that fails leaves none
        if self._is_prefit:
            return self.conformalize(
                X, y, sample_weight, groups=groups, censoring_time=censoring_time
            )
        left = self._left_censored
        data = FitData.read(X, y, sample_weight, groups, censoring_time, left=left)
        require_events(data.target)
        fit_seed, censoring_seed = seed_sequence(self.random_state).spawn(2)
        fitted = fit_held_out(base_model(self._unfitted()), data, self.cv, fit_seed, self.n_jobs)
        self._adopt(fitted.model, data)
        self._keep_sample(data.x, np.unique(fitted.rows))
        self._calibrate(data, fitted, censoring_seed)
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
        left = self._left_censored
        data = FitData.read(X, y, sample_weight, groups, censoring_time, left=left)
        if self._is_prefit:
            if self.estimator is None:
                raise ValueError("estimator must be a fitted model for cv='prefit', got None.")
            self._train_sample = self.shift_ = None
            self._adopt(adapt(self.estimator), data)
        else:
            check_is_fitted(self)
        curve, _ = curve_table(self.estimator_, X, mirror=self._left_censored)
        if self._train_sample is not None:
            self._test_shift(self._train_sample, numbers_of(data.x))
        fitted = CrossFitted(self.estimator_, curve.values, curve.lower, data.source, data.weight)
        _, censoring_seed = seed_sequence(self.random_state).spawn(2)
        self._calibrate(data, fitted, censoring_seed)
        return self

    def _adopt(self, model: Any, data: FitData) -> None:
        """Take over the attributes of the fitted model."""
        self.estimator_ = model
        self.time_transform_ = TimeTransform(mirror=data.left)
        levels = getattr(model, "quantiles_", DEFAULT_QUANTILES)
        self.quantiles_ = np.asarray(levels, dtype=np.float64)
        self.follow_up_ = getattr(model, "follow_up_", data.follow_up)
        self.horizon_ = float(getattr(model, "horizon_", data.horizon))
        times = getattr(model, "unique_times_", None)
        self.unique_times_ = data.event_times() if times is None else default_times(times)
        self.__dict__.pop("feature_names_in_", None)
        source = model if hasattr(model, "n_features_in_") else getattr(model, "model_", model)
        shape: Any = getattr(data.x, "shape", (len(data), 1))
        self.n_features_in_ = int(getattr(source, "n_features_in_", shape[1]))
        names = getattr(source, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _keep_sample(self, x: Any, held: NDArray[np.intp]) -> None:
        """Keep some training rows, and compare them with those held out if these are others."""
        self._train_sample = self.shift_ = None
        if getattr(x, "ndim", 2) != 2:
            return
        numbers = numbers_of(x)
        self._train_sample = numbers[:: max(1, len(numbers) // _MOST_COMPARED)]
        trained = np.setdiff1d(np.arange(len(numbers)), held)
        if len(trained) and len(held):
            self._test_shift(numbers[trained], numbers[held])

    def _test_shift(self, train: Floats, calibration: Floats) -> None:
        """Test whether calibration rows are like training rows, and warn if they are not."""
        some = calibration[:: max(1, len(calibration) // _MOST_COMPARED)]
        names = feature_names(self)
        if len(names) != train.shape[1]:
            names = [f"x{column}" for column in range(train.shape[1])]
        self.shift_ = shift_between(train, some, names)
        if self.shift_ is not None and self.shift_.p_value < _SHIFTED:
            warn_user(
                f"Calibration rows differ from training rows in {self.shift_.feature!r} "
                f"(p = {self.shift_.p_value:.2g}): bounds hold for rows like the calibration rows.",
                CalibrationWarning,
            )

    def _calibrate(self, data: FitData, fitted: CrossFitted, seed: np.random.SeedSequence) -> None:
        """Estimate the correction from curves of rows that their model has not seen."""
        held, name = data.take(fitted.rows), self._choose_method(data)
        timeline, limit = held.timeline, held.censoring_time
        labels = subgroup_labels(self.by, held.x)
        self._refuse_small_groups(labels, held.target)
        # Rows that stand for several equal ones share one prediction of the censoring model.
        self._censoring, curves = fit_censoring(self.censoring_estimator, data, seed, self.n_jobs)
        rows = CalibrationRows(
            timeline,
            fitted.curve,
            curves.take(fitted.rows),
            fitted.weight,
            censoring_time=-limit if limit is not None and data.left else limit,
        )
        self.censoring_estimator_ = self._censoring.model
        self._method_name = name
        self.clipped_share_ = clipped_share(rows.censoring, timeline, fitted.weight)
        self.method_ = self._describe_method(name, held.target)
        self.calibration_p_value_ = _test_calibration(rows)
        calibration = Calibration.of(rows, labels, METHODS[name], mirror=data.left)
        self.coverage_ = CoverageTable(tuple(calibration.coverage_rows(named=self.by is not None)))
        self._calibration = calibration
        if held.target.n_events < FEWEST_EVENTS:
            warn_user(
                f"Bounds need {FEWEST_EVENTS} calibration rows with an event, got "
                f"{held.target.n_events}: all bounds are trivial, the smallest possible time and "
                "infinity.",
                FewEventsWarning,
            )

    def _choose_method(self, data: FitData) -> str:
        """Return the name of the method; refuse one that does not fit the data."""
        name, target = self.method, data.target
        if name == _AUTO:
            name = "split" if target.event.all() else "aipcw"
        if METHODS[name].needs_censoring_times and data.censoring_time is None:
            raise ValueError(
                f"censoring_time must be given for method={name!r}, got None: pass the censoring "
                "times of all rows, or use method='aipcw'."
            )
        n_censored = len(target) - target.n_events
        if METHODS[name].refuses_censoring and n_censored:
            raise ValueError(
                f"method must not be {name!r} where rows are censored, got {n_censored} of "
                f"{len(target)}: use method='aipcw'."
            )
        return name

    def _describe_method(self, name: str, target: Target) -> str:
        """Return the method and the reason for it, in words."""
        n = max(len(target), 1)
        share = 100.0 * (n - target.n_events) / n
        why = "as asked for"
        if self.method == _AUTO:
            why = "since every event was observed"
            if name == "aipcw":
                why = f"since {share:.0f} % of {len(target)} calibration rows are censored"
        if name in ("split", "km-pit"):
            return f"{name}, {why}"
        text = f"{name}, {why}; {self._censoring.reason}"
        if self.clipped_share_:
            text += f"; the weights of {100.0 * self.clipped_share_:.2g} % of rows were clipped"
        return text

    def _refuse_small_groups(self, labels: NDArray[Any], target: Target) -> None:
        """Raise if a subgroup has too few events to be calibrated."""
        if self.by is None:
            return
        for label in np.unique(labels):
            n_events = int(target.event[labels == label].sum())
            if n_events < FEWEST_EVENTS:
                raise ValueError(
                    f"by must give groups of at least {FEWEST_EVENTS} rows with an event, got "
                    f"{n_events} in {label.item()!r}: merge small groups."
                )

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
        curve, reach = curve_table(self.estimator_, X, mirror=self._left_censored)
        labels = subgroup_labels(self.by, X)
        return self._calibration.recalibrated(curve.with_reach(reach), labels, self._lowest_time())

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
        curve, _ = curve_table(self.estimator_, X, mirror=self._left_censored)
        censoring = self._censoring.curves(X, len(curve), mirror=self._left_censored)
        end = end_of_follow_up(censoring, FOLLOWED_SHARE, curve)
        return -end if self._left_censored else end

    def _bounds(
        self, X: Any, confidence: Any, side: Side, elapsed: ArrayLike | None
    ) -> IndividualBounds:
        """Return the bounds of new rows, and warn of those that are trivial or limited."""
        check_is_fitted(self)
        promised = check_number(
            "confidence", confidence, minimum=0.0, below=1.0, exclude_minimum=True
        )
        curve, _ = curve_table(self.estimator_, X, mirror=self._left_censored)
        ages = None
        if elapsed is not None:
            if self._left_censored:
                raise ValueError("elapsed must be None for left-censored times, got ages.")
            ages = np.broadcast_to(read_elapsed(elapsed, len(curve), self), (len(curve),))
            if ages.min() < curve.lower:
                raise ValueError(f"elapsed must be at least {curve.lower:g}, got {ages.min():g}.")
        labels = subgroup_labels(self.by, X)
        censoring = self._censoring.curves(X, len(curve), mirror=self._left_censored)
        missed = round(1.0 - promised, 12)
        level = missed if side == "lower" else 1.0 - missed
        own = self._calibration.recalibrated(curve, labels, self._lowest_time())
        if ages is None:
            quantile = own.at([level])[:, 0]
        else:
            quantile = ages + own.remaining(ages, [level])[:, 0]
        time, limited, notes = self._calibration.bounds(
            curve, censoring, labels, missed, side, quantile, ages
        )
        for note in dict.fromkeys(notes):
            warn_user(note, FewEventsWarning)
        found = IndividualBounds(time, limited, promised, side, own, ages)
        n_cut = int(np.count_nonzero(found.limited & np.isfinite(time)))
        if 2 * n_cut > len(time):
            warn_user(
                f"{n_cut:,} of {len(time):,} {side} bounds of confidence {promised:g} end where "
                f"follow-up does: they hold with more than {promised:g}. See limited in "
                "output='frame'.",
                IdentifiabilityWarning,
            )
        return found

    # Exporting

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        quantiles: ArrayLike | None = None,
        *,
        dtype: str = "float32",
        confidence: ArrayLike | None = None,
    ) -> None:
        """Write the fitted estimator as an ONNX file, which runs without this package.

        Its outputs are those of every estimator, with recalibrated quantiles, and with
        ``confidence`` also ``lower_bound`` and ``upper_bound`` of shape (n, n_confidences): those
        of :meth:`predict_lower_bound` and :meth:`predict_upper_bound`; ``lower_bound_limited`` and
        ``upper_bound_limited`` are 1 where follow-up limits them, else 0.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        dtype : {"float32", "float64"}, default "float32"
            Of the features that it takes and of what it returns; it computes in double precision.
        confidence : float or array-like in (0, 1), optional
            Of the bounds. A censoring model that depends on the features becomes part of the file.
        """
        check_choice("dtype", dtype, ("float32", "float64"))
        write_onnx(path, self._graph(quantiles, confidence=confidence), dtype)

    def to_javascript(
        self,
        quantiles: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
        confidence: ArrayLike | None = None,
    ) -> PageModel:
        """Return the fitted estimator as JSON that a script evaluates in a web page.

        Its outputs are those of :meth:`to_onnx`, and ``survival`` of shape (n, n_times).

        Parameters
        ----------
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        times : array-like of shape (n_times,), optional
            Times at which the survival function is wanted as well.
        coarse_times : bool, default False
            Whether times of training rows are kept out of the page, as of every estimator.
        confidence : float or array-like in (0, 1), optional
            Of the bounds.

        Returns
        -------
        model : PageModel
        """
        return page_model(self._graph(quantiles, times, confidence, coarse_times=coarse_times))

    def _graph(
        self,
        quantiles: ArrayLike | None,
        times: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
    ) -> Graph:
        check_is_fitted(self)
        graph = Graph(coarse_times=coarse_times)
        own, reach = own_graph(self, *self.estimator_._graph_curve(graph))
        curve, reach = conformal_graph(self, own, reach)
        self._add_outputs(graph, curve, reach, quantiles, times)
        if confidence is not None:
            add_bounds(self, graph, own, curve, confidence)
        graph.hide_unusable()
        graph.drop_unused()
        return graph

    def _graph_curve(self, graph: Graph) -> tuple[GraphCurve, Value]:
        return conformal_graph(self, *own_graph(self, *self.estimator_._graph_curve(graph)))

    def _curve_of_numbers(self, numbers: Value) -> tuple[GraphCurve, Value]:
        return conformal_graph(self, *own_graph(self, *self.estimator_._curve_of_numbers(numbers)))

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


def _test_calibration(rows: CalibrationRows) -> float | None:
    """Return the p-value of the calibration of the model as it is."""
    if rows.target.n_events < FEWEST_EVENTS:
        return None
    y, taus = (rows.target.time, rows.target.event), np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    return float(a_calibration(y, rows.curve.at(taus), taus, sample_weight=rows.weight).p_value)
