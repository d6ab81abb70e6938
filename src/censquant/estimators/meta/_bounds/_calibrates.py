"""The private half of a conformal estimator: from fitted curves to calibrated bounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from censquant._calibration._methods import METHODS
from censquant._calibration._rules import FEWEST_EVENTS, CalibrationRows, Side
from censquant._frames import OUTPUTS, framed, unmasked
from censquant._rows._features import feature_names, refuse_swapped
from censquant._rows._fit_data import default_times, read_groups
from censquant._typing import Floats
from censquant._validation import check_choice, check_n_jobs, check_number
from censquant._warn import warn_user
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._reading import read_elapsed
from censquant.estimators.ensemble._recommended import CensoredQuantileRegressor
from censquant.estimators.meta._bounds._calibration import Calibration
from censquant.estimators.meta._bounds._censoring_model import (
    CensoringModel,
    censoring_model,
    clipped_share,
)
from censquant.estimators.meta._bounds._coverage_table import CoverageTable
from censquant.estimators.meta._bounds._cross_fit import CrossFitted, FitRows, curve_table
from censquant.estimators.meta._bounds._shift import ShiftTest, numbers_of, shift_between
from censquant.estimators.meta._bounds._subgroups import subgroup_labels
from censquant.exceptions import CalibrationWarning, FewEventsWarning, IdentifiabilityWarning
from censquant.metrics import a_calibration
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._kaplan_meier import default_horizon, read_censoring_times
from censquant.survival._transform import TimeTransform

PREFIT = "prefit"
_AUTO = "auto"
_SHIFTED = 0.001
_MOST_COMPARED = 2_000


class CalibratesBounds(BaseQuantileRegressor):
    """Reads rows, learns the correction from held-out curves, and makes bounds of new ones.

    A subclass has the parameters ``estimator``, ``method``, ``cv``, ``censoring_estimator``,
    ``by``, ``n_jobs`` and ``random_state``.
    """

    estimator: Any
    method: str
    cv: Any
    censoring_estimator: Any
    by: Any
    n_jobs: int | None
    random_state: Any

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
    unique_times_: Floats
    quantiles_: Floats
    follow_up_: tuple[float, float]
    horizon_: float

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

    def _remember(self, X: Any, held: NDArray[np.intp]) -> None:
        """Keep some training rows, and compare them with those held out if these are others."""
        self._train_sample = self.shift_ = None
        if getattr(X, "ndim", 2) != 2:
            return
        numbers = numbers_of(X)
        self._train_sample = numbers[:: max(1, len(numbers) // _MOST_COMPARED)]
        trained = np.setdiff1d(np.arange(len(numbers)), held)
        if len(trained) and len(held):
            self._compare(numbers[trained], numbers[held])

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
        refuse_swapped(X, y)
        n_rows = _num_samples(X)
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # whose rows can be taken
        elif not hasattr(X, "columns"):
            X = np.asarray(unmasked(X))
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
        shape: Any = getattr(rows.X, "shape", (len(rows), 1))
        self.n_features_in_ = int(getattr(source, "n_features_in_", shape[1]))
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
        calibration = Calibration.of(calibration_rows, labels, METHODS[name], mirror=mirror)
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

    def _bounds(
        self, X: Any, confidence: Any, side: Side, elapsed: ArrayLike | None
    ) -> "IndividualBounds":
        check_is_fitted(self)
        promised = check_number(
            "confidence", confidence, minimum=0.0, below=1.0, exclude_minimum=True
        )
        curve, _ = curve_table(self.estimator_, X, mirror=self._mirror)
        ages = None
        if elapsed is not None:
            if self._mirror:
                raise ValueError("elapsed must be None for left-censored times, got ages.")
            ages = np.broadcast_to(read_elapsed(elapsed, len(curve), self), (len(curve),))
            if ages.min() < curve.lower:
                raise ValueError(f"elapsed must be at least {curve.lower:g}, got {ages.min():g}.")
        labels = subgroup_labels(self.by, X)
        censoring = self._censoring.curves(X, len(curve), mirror=self._mirror)
        missed = round(1.0 - promised, 12)
        level = missed if side == "lower" else 1.0 - missed
        own = self._calibration.recalibrated(curve, labels, self._lowest)
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

    @property
    def _lowest(self) -> float:
        """Smallest possible time, as training times tell."""
        return 0.0 if self.follow_up_[0] >= 0 else -np.inf


@dataclass(frozen=True, eq=False)
class IndividualBounds:
    """Bounds of n rows in the user's units, and what is known of each.

    Parameters
    ----------
    time : ndarray of shape (n,)
    limited : bool ndarray of shape (n,)
        Whether follow-up ends before the bound would.
    promised : float
        Confidence of all.
    side : {"lower", "upper"}
    curve : QuantileCurve of n rows
        Recalibrated.
    ages : ndarray of shape (n,) or None
        Times that the rows have outlived.
    """

    time: Floats
    limited: NDArray[np.bool_]
    promised: float
    side: Side
    curve: QuantileCurve
    ages: Floats | None

    @property
    def confidence(self) -> Floats:
        """Confidence of each bound: that of a limited one is the model's, where it is higher."""
        early = self.curve.cdf(self.time)
        if self.ages is not None:
            passed = self.curve.cdf(self.ages)
            early = (early - passed) / np.maximum(1.0 - passed, np.finfo(np.float64).tiny)
        own = 1.0 - early if self.side == "lower" else early
        return np.where(self.limited, np.maximum(own, self.promised), self.promised)

    def output(self, X: Any, output: str) -> Any:
        """Return the bounds alone, or a frame with what is known of them."""
        check_choice("output", output, OUTPUTS)
        if output == "array":
            return self.time
        columns = {"bound": self.time, "limited": self.limited, "confidence": self.confidence}
        return framed(columns, X)
