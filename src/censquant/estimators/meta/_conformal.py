"""ConformalSurvivalRegressor: bounds that cover, around any model."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from censquant._seeds import seed_sequence
from censquant._validation import check_choice, check_n_jobs, check_number
from censquant._warn import warn_user
from censquant.calibration import FEWEST_EVENTS, METHODS, CalibrationRows, Side
from censquant.estimators._base import QuantileRegressor
from censquant.estimators._feature_model import default_times
from censquant.estimators._features import feature_names
from censquant.estimators._frames import labelled
from censquant.estimators._parts import Part
from censquant.estimators._reading import read_elapsed
from censquant.estimators.meta._bounds import (
    Calibration,
    CensoringModel,
    CoverageTable,
    CrossFitted,
    FitRows,
    ShiftTest,
    base_model,
    censoring_model,
    clipped_share,
    conformal_part,
    cross_fitted,
    curve_table,
    numbers_of,
    prefitted,
    restored_conformal,
    shift_between,
    subgroup_labels,
)
from censquant.estimators.meta._pool import read_groups
from censquant.estimators.meta._recommended import CensoredQuantileRegressor
from censquant.exceptions import CalibrationWarning, FewEventsWarning
from censquant.metrics import a_calibration
from censquant.quantiles import DEFAULT_QUANTILES, QuantileCurve
from censquant.survival import (
    Target,
    TimeTransform,
    default_horizon,
    read_censoring_times,
    read_target,
    read_weights,
    require_events,
)

Floats = NDArray[np.float64]

PREFIT = "prefit"
_AUTO = "auto"
_SHIFTED = 0.001
_MOST_COMPARED = 2_000


class ConformalSurvivalRegressor(QuantileRegressor):
    """Calibrated quantiles and bounds with the promised coverage, around any model.

    A lower bound of confidence 0.9 promises that nine in ten individuals outlive theirs. Rows that
    their model has not seen tell how often bounds at each level of the model's curves are missed,
    with corrections for those that were censored; the bounds farthest out that keep the promise are
    returned. An overfitted model has no level that is low enough, so bounds also stretch past its
    lowest one.

    The promise is about all individuals together, not about each, and about individuals like the
    calibration rows. It assumes that censoring is independent of the event time given the features,
    and that the censoring model or the recalibrated event model is right. No lower bound lies past
    the time to which one in ten individuals like this one were followed, and upper bounds there are
    infinite: what happens later is the model's word alone.

    Parameters
    ----------
    estimator : estimator, optional
        Any quantile regressor, or a model of another library that takes a structured array of event
        and time as scikit-survival's do; with ``cv="prefit"`` a fitted model of any library. By
        default :class:`CensoredQuantileRegressor`.
    method : {"auto", "aipcw", "ipcw", "km-pit", "drcosarc", "candes", "gui", "split"}
        Correction for censoring, see :data:`censquant.calibration.METHODS`. ``"auto"`` is
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
        Column of ``X``, its place, or a function of ``X`` that returns labels: bounds and levels are
        calibrated within each subgroup.
    n_jobs : int, optional
        Threads over folds; None means 1, -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        For folds, the censoring model, and an estimator whose own ``random_state`` is None.

    Attributes
    ----------
    estimator_ : QuantileRegressor
        The model, fitted to all rows.
    censoring_estimator_ : QuantileRegressor or None
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

    n_features_in_: int
    time_transform_: TimeTransform
    estimator_: Any
    censoring_estimator_: Any
    method_: str
    coverage_: CoverageTable
    clipped_share_: float
    calibration_p_value_: float | None
    shift_: ShiftTest | None
    _calibration: Calibration
    _censoring: CensoringModel
    _method_name: str
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
        return CensoredQuantileRegressor() if self.estimator is None else self.estimator

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
        held = np.unique(fitted.rows)
        trained = np.setdiff1d(np.arange(len(rows)), held)
        self._train_sample = None
        self.shift_ = None
        if getattr(X, "ndim", 2) == 2:
            numbers = numbers_of(X)
            self._train_sample = numbers[:: max(1, len(numbers) // _MOST_COMPARED)]
            if len(trained) and len(held):
                self._compare(numbers[trained], numbers[held])
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

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == PREFIT

    @property
    def _mirror(self) -> bool:
        return self._left_censored

    def _begin(self) -> None:
        """Check parameters and forget an earlier fit, so that a fit that fails leaves none."""
        self._check_parameters()
        self.__dict__.pop("_calibration", None)

    def _check_parameters(self) -> None:
        check_choice("method", self.method, (_AUTO, *METHODS))
        check_n_jobs(self.n_jobs)
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, (PREFIT,))

    def _read_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> FitRows:
        n_rows = _num_samples(X)
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        return FitRows(
            X,
            read_target(y, n_samples=n_rows),
            read_weights(sample_weight, n_rows),
            None if groups is None else read_groups(groups, n_rows),
        )

    def _adopt(self, model: Any, rows: FitRows) -> None:
        """Take over what is known of the fitted model."""
        target = rows.target
        self.estimator_ = model
        self.time_transform_ = TimeTransform(mirror=self._mirror)
        levels = getattr(model, "quantiles_", DEFAULT_QUANTILES)
        self.quantiles_ = np.asarray(levels, dtype=np.float64)
        ends = (float(target.time.min()), float(target.time.max()))
        self.follow_up_ = getattr(model, "follow_up_", ends)
        horizon = default_horizon(target.time, rows.weight, left=self._mirror)
        self.horizon_ = float(getattr(model, "horizon_", horizon))
        times = getattr(model, "unique_times_", None)
        self.unique_times_ = default_times(target.time[target.event] if times is None else times)
        self.__dict__.pop("feature_names_in_", None)
        source = model if hasattr(model, "n_features_in_") else getattr(model, "model_", model)
        shape = np.shape(rows.X) if hasattr(rows.X, "shape") else ()
        width = getattr(source, "n_features_in_", shape[1] if len(shape) > 1 else 1)
        self.n_features_in_ = int(width)
        names = getattr(source, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _compare(self, train: Floats, calibration: Floats) -> None:
        """Test whether calibration rows are like training rows, and say if they are not."""
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

    def _calibrate(
        self,
        rows: FitRows,
        fitted: CrossFitted,
        seed: np.random.SeedSequence,
        censoring_time: ArrayLike | None,
    ) -> None:
        """Learn the correction from curves of rows that their model has not seen."""
        mirror = self._mirror
        limit = None
        if censoring_time is not None:
            limit = read_censoring_times(censoring_time, rows.target, left=mirror)
            limit = -limit if mirror else limit
        held, name = rows.take(fitted.rows), self._chosen(rows.target, limit)
        timeline = Target(-held.target.time if mirror else held.target.time, held.target.event)
        labels = subgroup_labels(self.by, held.X)
        self._refuse_small_groups(labels, held.target)
        # Rows that stand for several equal ones share one answer of the censoring model.
        self._censoring, curves = censoring_model(
            self.censoring_estimator, rows, seed, self.n_jobs, mirror=mirror
        )
        calibration_rows = CalibrationRows(
            timeline,
            fitted.curve,
            curves.take(fitted.rows),
            fitted.weight,
            censoring_time=None if limit is None else limit[fitted.rows],
        )
        self.censoring_estimator_ = self._censoring.model
        self._method_name = name
        self.clipped_share_ = clipped_share(calibration_rows.censoring, timeline, fitted.weight)
        self.method_ = self._said(name, held.target)
        self.calibration_p_value_ = self._tested(calibration_rows)
        calibration = Calibration(calibration_rows, labels, METHODS[name], mirror)
        self.coverage_ = CoverageTable(tuple(calibration.coverage_rows(named=self.by is not None)))
        self._calibration = calibration
        if held.target.n_events < FEWEST_EVENTS:
            warn_user(
                f"Bounds need {FEWEST_EVENTS} calibration rows with an event, got "
                f"{held.target.n_events}: all bounds are trivial, the smallest possible time and "
                "infinity.",
                FewEventsWarning,
            )

    def _chosen(self, target: Target, limit: Floats | None) -> str:
        """Return the name of the method; refuse one that does not fit the data."""
        name = self.method
        if name == _AUTO:
            name = "split" if target.event.all() else "aipcw"
        if METHODS[name].needs_censoring_times and limit is None:
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

    def _said(self, name: str, target: Target) -> str:
        """Return the method and why, in words."""
        n = max(len(target), 1)
        share = 100.0 * (n - target.n_events) / n
        why = "as asked for"
        if self.method == _AUTO:
            why = "since every event was observed"
            if name == "aipcw":
                why = f"since {share:.0f} % of {len(target)} calibration rows are censored"
        if name in ("split", "km-pit"):
            return f"{name}, {why}"
        said = f"{name}, {why}; {self._censoring.reason}"
        if self.clipped_share_:
            said += f"; the weights of {100.0 * self.clipped_share_:.2g} % of rows were clipped"
        return said

    def _tested(self, rows: CalibrationRows) -> float | None:
        """Return the p-value of the calibration of the model as it is."""
        if rows.target.n_events < FEWEST_EVENTS:
            return None
        y, taus = (rows.target.time, rows.target.event), np.array([0.1, 0.25, 0.5, 0.75, 0.9])
        tested = a_calibration(y, rows.curve.at(taus), taus, sample_weight=rows.weight)
        return float(tested.p_value)

    def _refuse_small_groups(self, labels: NDArray[Any], target: Target) -> None:
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
        curve, reach = curve_table(self.estimator_, X, mirror=self._mirror)
        labels = subgroup_labels(self.by, X)
        new = self._calibration.recalibrated(curve.with_reach(reach), labels)
        if not self._mirror:
            return new
        lowest = 0.0 if self.follow_up_[0] >= 0 else -np.inf
        turned = QuantileCurve.from_predictions(-new.values[:, ::-1], 1.0 - new.taus[::-1], lowest)
        return turned.with_reach(1.0 - new.reach, lowest=True)

    def predict_lower_bound(
        self, X: Any, confidence: float = 0.9, *, elapsed: ArrayLike | None = None
    ) -> Floats:
        """Return times that the events of a share ``confidence`` of individuals do not precede.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        confidence : float in (0, 1), default 0.9
            P(T >= bound), over individuals like the calibration rows.
        elapsed : float or array-like of shape (n,), optional
            Time that each individual has survived already. The promise then holds among those who
            have: a bound from the start promises them nothing.

        Returns
        -------
        bound : ndarray of shape (n,)
            Times since the start, also with ``elapsed``, and never less than that. The smallest
            possible time where the calibration rows support no other.
        """
        return self._bounds(X, confidence, "lower", elapsed)

    def predict_upper_bound(
        self, X: Any, confidence: float = 0.9, *, elapsed: ArrayLike | None = None
    ) -> Floats:
        """Return times by which the events of a share ``confidence`` of individuals happened.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        confidence : float in (0, 1), default 0.9
            P(T <= bound), over individuals like the calibration rows whose bound is finite.
        elapsed : float or array-like of shape (n,), optional
            As in :meth:`predict_lower_bound`.

        Returns
        -------
        bound : ndarray of shape (n,)
            Infinite where individuals like this one were not followed for long enough.
        """
        return self._bounds(X, confidence, "upper", elapsed)

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.8,
        *,
        elapsed: ArrayLike | None = None,
        beyond: str = "inf",
        output: str = "array",
    ) -> Any:
        """Return the interval in which the event falls with probability ``coverage``.

        Its ends are the lower and the upper bound that each leave out half of the rest.

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
            [self._bounds(X, 1.0 - low, side, elapsed) for side in ("lower", "upper")]
        )
        if beyond == "nan":
            ends = np.where(np.isfinite(ends), ends, np.nan)
        return labelled(ends, [low, 1.0 - low], X, output)

    def _bounds(self, X: Any, confidence: Any, side: Side, elapsed: ArrayLike | None) -> Floats:
        check_is_fitted(self)
        promised = check_number(
            "confidence", confidence, minimum=0.0, below=1.0, exclude_minimum=True
        )
        curve, _ = curve_table(self.estimator_, X, mirror=self._mirror)
        ages = None
        if elapsed is not None:
            if self._mirror:
                raise ValueError("elapsed must be None for left-censored times, got ages.")
            ages = np.broadcast_to(read_elapsed(elapsed, len(curve)), (len(curve),))
            if ages.min() < curve.lower:
                raise ValueError(f"elapsed must be at least {curve.lower:g}, got {ages.min():g}.")
        labels = subgroup_labels(self.by, X)
        censoring = self._censoring.curves(X, len(curve), mirror=self._mirror)
        missed = round(1.0 - promised, 12)
        bounds, notes = self._calibration.bounds(curve, censoring, labels, missed, side, ages)
        for note in dict.fromkeys(notes):
            warn_user(note, FewEventsWarning)
        return bounds

    # Saving

    def _to_part(self) -> Part:
        return conformal_part(self)

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        return restored_conformal(cls, part, network)
