"""CompetingRisksRegressor: which of several kinds of events comes first, and when."""

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from censquant._frames import OUTPUTS, Output, framed, labelled
from censquant._rows._columns import checked_table
from censquant._rows._cross_fit import copy_with_seed
from censquant._rows._encoder import FrameEncoder, encoder_part, restored_encoder
from censquant._rows._features import (
    check_features,
    check_is_fitted,
    feature_names,
    note_of_far_features,
)
from censquant._rows._fit_data import FitData, default_times, indexable, spread
from censquant._storage._codec import Array, Entry, Fields, Reader, Writer, require
from censquant._storage._parts import expect
from censquant._trees._follow_up import (
    FEATURES,
    TIME_ROUNDING,
    FollowUp,
    ReachRule,
    followed,
    restore_features,
)
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_number,
    check_sizes,
    seed_sequence,
)
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._conformal_models import base_model
from censquant.estimators._reading import (
    AT_TIMES,
    BEYOND,
    EXTRAPOLATES,
    AtTimes,
    Beyond,
    CurveReader,
    note_of_levels,
    warn_of,
)
from censquant.estimators.ensemble._recommended import CensoredQuantileRegressor
from censquant.exceptions import FeatureWarning
from censquant.metrics._incidence import log_score_incidence
from censquant.quantiles._competing_curve import (
    CompetingCurve,
    FirstOfCauses,
    LateHazard,
    cumulative_hazard_of,
)
from censquant.quantiles._grid import CURVE_QUANTILES, DEFAULT_QUANTILES
from censquant.survival._causes import Causes, read_causes
from censquant.survival._cells import N_CELLS
from censquant.survival._columns import listed, read_numbers, read_weights
from censquant.survival._target import GeneralTarget, require_durations, require_events
from censquant.survival._transform import TimeTransform

_ENCODER = "encoder"  # name of its part in a model file
_BLOCK_ROWS = 512  # whose curves on the grid of times stay in the processor's cache
# Times between which the hazards of the kinds have a constant ratio: some even ones, some at which
# events were seen, and a few after the end of follow-up, up to so many times its length.
_N_TIMES, _N_LATER, _LATEST = 200, 40, 100.0
_SAME_SHARE = 1e-12
_MOST_LATE = 1_000  # rows whose late hazards are added up


@dataclass(frozen=True)
class FollowedUntil:
    """The rule that gives curves of competing risks the end of follow-up when it is needed."""

    model: "CompetingRisksRegressor"
    features: NDArray[Any]

    def __call__(self) -> Floats:
        end, _ = self.model._followed(self.features)
        return end * (1.0 + TIME_ROUNDING)


class CompetingRisksRegressor(BaseQuantileRegressor):
    """Which of several kinds of events comes first, and when, from any estimator.

    One copy of the estimator learns the hazard of each kind, with events of other kinds as the end
    of follow-up. The hazards together give the distribution of the time of the first event of any
    kind, and the cumulative incidence of each kind: the chance that its event has happened by a
    time, which no other event came before. Incidences and the chance of no event sum to 1.

    Every prediction of other estimators is that of the first event of any kind.
    With ``kind=`` quantiles are those of one kind: infinite where its event will never be the first
    one for a large enough share of individuals like this one.

    An estimator goes on after the last event that it saw. Where it expects more than one event of a
    kind between the last one and the end of follow-up, none of which came, its hazard there is
    scaled down to one event, and before up to no fewer than were seen: the incidence of kinds that
    end early, such as deaths of a treatment, hardly grows after that.

    Follow-up must be independent of the times of events given the features. The kinds need not be
    independent of each other. Effects of features on an incidence are those in a world in which the
    other kinds happen as they did: they do not say what would be if a kind were prevented.

    Parameters
    ----------
    estimator : estimator, optional
        Any quantile regressor for right-censored times, or a model of another library that takes a
        structured array of event and time as scikit-survival's do. By default
        :class:`CensoredQuantileRegressor`.
    random_state : int, RandomState, Generator or None
        For an estimator whose own ``random_state`` is None.

    Attributes
    ----------
    kinds_ : ndarray of shape (n_kinds,)
        What the kinds are called: the names that ``y`` has, or 1, 2, ...
    estimators_ : dict
        The fitted copy of each kind. Alone it predicts what would be if other kinds did not exist
        and were independent of this one, which data cannot tell.
    quantiles_, follow_up_, horizon_, unique_times_, time_transform_
        As of every estimator here, for events of any kind.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    Of each individual, x decides which of two kinds is likely to be the first.

    >>> import numpy as np
    >>> from censquant import CompetingRisksRegressor, CoxQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 1))
    >>> times = rng.exponential(np.exp(np.hstack([X, -X])))
    >>> kind = np.array(["relapse", "death"])[times.argmin(axis=1)]
    >>> model = CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, (times.min(axis=1), kind))
    >>> model.kinds_.tolist()
    ['death', 'relapse']
    >>> incidence = model.predict_cumulative_incidence([[-1.0], [1.0]], times=[1.0])
    >>> incidence.shape
    (2, 2, 1)
    >>> incidence[:, 0, 0] < incidence[:, 1, 0]
    array([ True, False])
    >>> model.predict_quantiles([[0.0]], [0.9], kind="death", beyond="inf")
    array([[inf]])
    """

    kinds_: NDArray[Any]
    estimators_: dict[Any, Any]
    quantiles_: Floats
    unique_times_: Floats
    follow_up_: tuple[float, float]
    horizon_: float
    n_features_in_: int
    time_transform_: TimeTransform
    _encoder: FrameEncoder | None  # None for features that are images or sequences
    _input_shape: tuple[int, ...]
    _follow_up: FollowUp | None
    _feature_range: Floats | None
    _grid: Floats
    _late_hazards: Floats  # a row for each kind
    _unstored_parameters = ("random_state",)  # by a model file
    _accepts = ("right", "delayed_entry", "competing")

    def __init__(self, estimator: Any = None, *, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")  # the last that a fit sets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None
        tags.input_tags.categorical = self.estimator is None
        tags.target_tags.positive_only = True
        return tags

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit one copy of the estimator to each kind of event.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : structured array, (time, event) tuple, DataFrame or dict
            Times, and of which kind the event was: 0 where none was seen and else whole numbers
            from 1 on; or names of kinds, with ``"censored"`` or a missing value where no event was
            seen. Rows may have been under observation from a later time than 0 on (see
            :class:`Surv`), where the estimator takes such rows.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its contribution.
        groups : array-like of shape (n,), optional
            Rows of one group (a patient, an engine) are held out together, where the estimator
            takes groups.

        Returns
        -------
        self
        """
        self.__dict__.pop("estimators_", None)  # so that a fit that fails leaves none
        unfitted = base_model(
            CensoredQuantileRegressor() if self.estimator is None else self.estimator
        )
        if getattr(unfitted, "censoring", "right") == "left":
            raise ValueError(
                "estimator must be one of right-censored times, got censoring='left': competing "
                "risks end a follow-up, which has a start."
            )
        causes = read_causes(y, accepts=self._accepts)
        weight = read_weights(sample_weight, len(causes))
        _refuse_kinds(causes, weight)
        require_durations(causes.target)
        data = FitData.read(
            X,
            causes.of_any_kind,
            sample_weight,
            groups,
            read_features=lambda X: self._fit_features(X, weight),
            accepts=self._accepts,
        )
        rows = data.arranged()
        require_events(rows.target)
        model_seed, follow_up_seed = seed_sequence(self.random_state).spawn(2)
        self._feature_range = rows.feature_range
        self._input_shape = rows.x.shape[1:]
        self.time_transform_ = TimeTransform()
        self.follow_up_ = rows.follow_up
        self.horizon_ = rows.horizon
        self.unique_times_ = rows.event_times()
        self._grid = _grid_of(rows.target.time[rows.target.event], self.follow_up_[1])
        self._follow_up = None
        if not rows.target.event.all():
            self._follow_up = FollowUp.fit(
                rows.x.reshape(len(rows), -1),
                rows.target.time,
                rows.target.event,
                rows.weight,
                np.random.default_rng(follow_up_seed),
            )
        fitted = self._fit_kinds(unfitted, X, causes, sample_weight, groups, model_seed)
        last = self.follow_up_[1]
        late = [
            _late_hazard(model, X, causes.target, place + 1, weight, last)
            for place, model in enumerate(fitted)
        ]
        self._late_hazards = np.array([astuple(each) for each in late])
        self.kinds_ = causes.kinds
        self.quantiles_ = np.asarray(getattr(fitted[0], "quantiles_", DEFAULT_QUANTILES), float)
        self.estimators_ = dict(zip(causes.kinds.tolist(), fitted, strict=True))
        return self

    def _fit_features(self, X: Any, weight: Floats) -> NDArray[Any]:
        """Return features as the numbers by which similar rows are found."""
        if getattr(X, "ndim", 2) > 2:
            self._encoder = None
            return np.asarray(check_features(self, X, reset=True, allow_nd=True))
        table = checked_table(self, X, reset=True)
        # The estimators warn of odd columns themselves.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FeatureWarning)
            self._encoder = FrameEncoder.fit(table, feature_names(self), weight=weight)
        return self._encoder.transform(table, warn=False)

    def _fit_kinds(
        self,
        unfitted: Any,
        X: Any,
        causes: Causes,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        seed: np.random.SeedSequence,
    ) -> list[Any]:
        """Return a fitted copy for each kind."""
        options: dict[str, Any] = {}
        if sample_weight is not None:
            options[getattr(unfitted, "_weight_argument", "sample_weight")] = sample_weight
        if groups is not None and "groups" in inspect.signature(unfitted.fit).parameters:
            options["groups"] = groups
        fitted = []
        for place, state in enumerate(seed.generate_state(len(causes.kinds)).tolist()):
            own = causes.target.of_kind(place + 1)
            model = copy_with_seed(unfitted, state)
            fitted.append(model.fit(X, own.for_fit, **options))
        return fitted

    # Predicting

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._encoder is not None:
            table = checked_table(self, X, reset=False)
            return self._encoder.transform(table, warn=False)
        return np.asarray(check_features(self, X, reset=False, allow_nd=True))

    def _column_names(self) -> list[str]:
        if self._encoder is None:
            return super()._column_names()
        return self._encoder.feature_names_out

    def predict_curve(self, X: Any) -> CompetingCurve:
        """Return the distribution of the first event of any kind of each row, with its reach.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        curve : QuantileCurve of n rows
        """
        check_is_fitted(self)
        return self._curves(X, self._read_features(X))

    def _curves(self, X: Any, features: NDArray[Any]) -> CompetingCurve:
        curves = []
        for kind, model in self.estimators_.items():
            curve = model.predict_curve(X)
            if not curve.is_whole:
                raise ValueError(
                    f"estimator must predict at least two quantiles, got that of kind {kind!r} "
                    f"with the level {curve.taus[0]:g} alone."
                )
            curves.append(curve)
        late = [LateHazard(*row) for row in self._late_hazards.tolist()]
        first = FirstOfCauses(tuple(curves), tuple(late))
        levels = np.union1d(self.quantiles_, CURVE_QUANTILES)
        found = CompetingCurve(first, levels, self._grid, FollowedUntil(self, features))
        return found.with_reach(ReachRule(self, features))

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return how long individuals were followed, and the level reached by then."""
        flat = features.reshape(len(features), -1)
        return followed(self._follow_up, flat, self.time_transform_, self.follow_up_)

    def _map_curves(self, X: Any, read: CurveReader, notes: list[str]) -> NDArray[Any]:
        check_is_fitted(self)
        features = self._read_features(X)
        if self._feature_range is not None:
            notes += note_of_far_features(features, self._feature_range, self._column_names())
        n_rows = len(features)
        if n_rows <= _BLOCK_ROWS:
            return read(self._curves(X, features), slice(0, n_rows))
        table, parts = indexable(X), []
        for start in range(0, n_rows, _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, n_rows))
            block = _safe_indexing(table, np.arange(rows.start, rows.stop))
            parts.append(read(self._curves(block, features[rows]), rows))
        return np.concatenate(parts)

    def predict_cumulative_incidence(
        self,
        X: Any,
        times: ArrayLike | None = None,
        kind: Any = None,
        *,
        beyond: AtTimes = "warn",
    ) -> Floats:
        """Return the chance that an event of each kind has happened, as the first one, by times.

        The incidences of all kinds and :meth:`predict_survival_function` sum to 1 at each time.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        times : array-like of shape (n_times,), optional
            By default ``unique_times_``.
        kind : one of ``kinds_``, optional
            The only kind to return.
        beyond : {"warn", "extrapolate", "nan"}, default "warn"
            What to return at times past the follow-up of individuals like this one.

        Returns
        -------
        incidence : ndarray of shape (n, n_kinds, n_times), or (n, n_times) of one kind
            The kinds are in the order of ``kinds_``.
        """
        check_is_fitted(self)
        at = read_numbers(self.unique_times_ if times is None else times, name="times")
        chosen: Any = slice(None) if kind is None else self._place_of(kind)
        return self._at_times(X, at, beyond, lambda incidence: incidence[:, chosen])

    def predict_kind(
        self,
        X: Any,
        horizon: float | None = None,
        *,
        beyond: AtTimes = "warn",
        output: Output = "array",
    ) -> Any:
        """Return the probability that the first event is of each kind and comes within a horizon.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        horizon : float, optional
            By default ``horizon_``, the last time at which one in twenty of the training rows was
            still at risk.
        beyond : {"warn", "extrapolate", "nan"}, default "warn"
            As in :meth:`predict_cumulative_incidence`.
        output : {"array", "frame"}, default "array"
            A frame has the index of ``X`` and one column per kind; polars' for polars input, else
            pandas'.

        Returns
        -------
        probability : ndarray or DataFrame of shape (n, n_kinds)
            What is missing to 1 is the probability of no event within the horizon.
        """
        check_is_fitted(self)
        end = self.horizon_ if horizon is None else check_number("horizon", horizon)
        found = self._at_times(X, np.array([end]), beyond, lambda incidence: incidence)[:, :, 0]
        return self._by_kind(found, X, output)

    def predict_time_lost(
        self, X: Any, horizon: float | None = None, *, output: Output = "array"
    ) -> Any:
        """Return the expected time that each kind of event takes away up to a horizon.

        It is the area under the cumulative incidence. The times lost to all kinds and
        :meth:`predict_restricted_mean`, the time without any event, sum to the horizon.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        horizon : float, optional
            By default ``horizon_``.
        output : {"array", "frame"}, default "array"
            As in :meth:`predict_kind`.

        Returns
        -------
        lost : ndarray or DataFrame of shape (n, n_kinds)
        """
        check_is_fitted(self)
        end = self.horizon_ if horizon is None else horizon
        end = check_number("horizon", end, minimum=0.0, exclude_minimum=True)
        notes: list[str] = []

        def read(curve: Any, rows: slice) -> Floats:
            lost: Floats = curve.lost_time(end)
            return lost

        lost = self._map_curves(X, read, notes)
        warn_of(notes, stacklevel=2)
        return self._by_kind(lost[:, :-1], X, output)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike | None = None,
        *,
        kind: Any = None,
        beyond: Beyond = "warn",
        output: Output = "array",
    ) -> Any:
        """Return times by which the event of a kind, or any, has happened with given probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        kind : one of ``kinds_``, optional
            By default the first event of any kind counts. A level of one kind is the probability
            that its event has happened, and that no other came before.
        beyond : {"warn", "extrapolate", "limit", "inf", "nan"}, default "warn"
            What to return where follow-up ended too early to tell, as for every estimator. Of one
            kind that is where its incidence could still rise to the level after the end of
            follow-up, or does so after the last event of this kind that was seen; where too few
            are left for that, the time is infinite whatever ``beyond`` says.
        output : {"array", "frame"}, default "array"
            As of every estimator.

        Returns
        -------
        times : ndarray or DataFrame of shape (n, n_levels)
            With ``kind``, infinity means that the event of this kind never comes first with so
            large a probability.
        """
        levels = self._levels(quantiles)
        if kind is None:
            times = self._quantiles_at(X, levels, beyond)
            return labelled(times, levels.tolist(), X, output)
        place = self._place_of(kind)
        check_choice("beyond", beyond, BEYOND)
        notes = note_of_levels(levels, self.quantiles_)

        def read(curve: Any, rows: slice) -> Floats:
            return _of_kind(curve, place, levels, beyond, notes)

        times = self._map_curves(X, read, notes)
        if beyond != "extrapolate":
            warn_of(notes, stacklevel=2)
        return labelled(times, levels.tolist(), X, output)

    def _at_times(
        self, X: Any, times: Floats, beyond: str, chosen: Callable[[Floats], Floats]
    ) -> Floats:
        """Return what is chosen of incidences (n, K, T) for a public method."""
        check_choice("beyond", beyond, AT_TIMES)
        notes: list[str] = []

        def read(curve: Any, rows: slice) -> Floats:
            incidence = curve.incidence(times)
            if beyond != "extrapolate":
                late = times > curve.ends[:, None]
                if beyond == "nan":
                    incidence = np.where(late[:, None], np.nan, incidence)
                elif late.any():
                    notes.append(EXTRAPOLATES)
            return chosen(incidence)

        found = self._map_curves(X, read, notes)
        if beyond != "extrapolate":
            warn_of(notes, stacklevel=3)
        return found

    def _place_of(self, kind: Any) -> int:
        """Return the place of a kind in ``kinds_``."""
        known = self.kinds_.tolist()
        if kind not in known or isinstance(kind, bool):
            raise ValueError(
                f"kind must be one of {listed(map(repr, known))}, got {kind!r}: kinds_ has all."
            )
        return int(known.index(kind))

    def _by_kind(self, values: Floats, X: Any, output: Output) -> Any:
        """Return one column per kind, with names where a frame is wanted."""
        check_choice("output", output, OUTPUTS)
        if output == "array":
            return values
        names = [str(kind) for kind in self.kinds_]
        return framed(dict(zip(names, values.T, strict=True)), X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the log score of the incidences, higher is better.

        It is that of :func:`censquant.metrics.log_score_incidence` in 40 cells of event times, and
        needs no model of the censoring.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form that :meth:`fit` takes
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        times = default_times(self.unique_times_, N_CELLS)
        incidence = self.predict_cumulative_incidence(X, times, beyond="extrapolate")
        return -log_score_incidence(
            y, incidence, times, kinds=self.kinds_, sample_weight=sample_weight
        )

    def _graph(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(
            "CompetingRisksRegressor cannot be exported, since the export knows no incidences: "
            "export the models in estimators_, each of which predicts one kind alone."
        )

    # Saving

    def _store(self, writer: Writer) -> None:
        writer.add(_STORED, self)
        writer.add(FEATURES, self)
        for place, model in enumerate(self.estimators_.values()):
            writer.add_model(f"fitted.{place}", model)
        if self._encoder is not None:
            writer.parts[_ENCODER] = encoder_part(self._encoder)

    def _restore(self, reader: Reader) -> None:
        reader.fill(self, _STORED)
        late = self._late_hazards
        shares = (late[:, 2] >= 1.0) & (late[:, 3] >= 0.0) & (late[:, 3] <= 1.0)
        require(len(late) == len(self.kinds_) and shares.all(), "holds no shares of hazards")
        rising = self._grid[0] == 0.0 and (np.diff(self._grid) > 0.0).all()
        require(rising, "holds times between which hazards are compared that do not increase")
        restore_features(self, reader)
        self._encoder = None
        if _ENCODER in reader.part.parts:
            names = feature_names(self)
            self._encoder = restored_encoder(reader.part.parts[_ENCODER], names)
        kinds = self.kinds_.tolist()
        self.estimators_ = {
            kind: reader.model(f"fitted.{place}") for place, kind in enumerate(kinds)
        }


def _of_kind(
    curve: CompetingCurve, place: int, levels: Floats, beyond: str, notes: list[str]
) -> Floats:
    """Return quantiles of one kind, with those that are not identified treated as asked for."""
    found = curve.quantiles_of_kind(place, levels)
    if beyond == "extrapolate":
        return found
    end, last = curve.ends, curve.distribution.late[place].last
    by_end = curve.incidence(end[:, None])[:, place]
    left = 1.0 - curve.cdf(end)[:, None]
    # Whatever comes later, so large a share can no longer have this event as the first one.
    is_never = levels > by_end + left + _SAME_SHARE
    # A model also goes on after the last event of this kind, which no event supports.
    late = found > last * (1.0 + TIME_ROUNDING)
    unknown = ((levels > by_end + _SAME_SHARE) | late) & ~is_never
    found = np.where(is_never, np.inf, found)
    if beyond == "warn":
        if unknown.any():
            notes.append(EXTRAPOLATES)
        return found
    instead: dict[str, Any] = {
        "inf": np.inf,
        "nan": np.nan,
        "limit": np.minimum(end, last)[:, None],
    }
    return np.where(unknown, instead[beyond], found)


def _refuse_kinds(causes: Causes, weight: Floats) -> None:
    """Raise unless rows with a weight have events of two kinds or more, and of each."""
    require_events(causes.target.take(weight > 0))
    counts = np.bincount(causes.code, weight > 0, minlength=len(causes.kinds) + 1)[1:]
    kinds = causes.kinds.tolist()
    if len(kinds) == 1:
        raise ValueError(
            f"y must have events of two kinds or more, got the kind {kinds[0]!r} alone: fit "
            "CensoredQuantileRegressor, or any other estimator, to such times."
        )
    empty = [kind for kind, count in zip(kinds, counts, strict=True) if not count]
    if empty:
        raise ValueError(
            "sample_weight must leave events of every kind, got none of "
            f"{listed(map(repr, empty))}: leave these rows out of y."
        )


def _late_hazard(
    model: Any, X: Any, target: GeneralTarget, kind: int, weight: Floats, end: float
) -> LateHazard:
    """Return what counts of a kind's hazard after its last event.

    Rows were followed after the last event without another. If the model expects more than one
    there, as it does where a kind of event ends long before follow-up does, its hazard counts for
    one event in all. As many of the others as were seen before, and not expected, are moved there.
    """
    used = np.flatnonzero(weight > 0)
    last = float(target.time[used][target.kind[used] == kind].max())
    plain = LateHazard(last, end)
    if not (target.time[used] > last).any():
        return plain
    # Spread over their times, so that it does not matter in which order rows come.
    used = used[np.argsort(target.time[used], kind="stable")]
    some = used[spread(len(used), _MOST_LATE)]
    curve = model.predict_curve(_safe_indexing(indexable(X), some))
    if not curve.is_whole:
        return plain
    time, entry = target.time[some], np.maximum(target.entry[some], 0.0)
    times = np.column_stack((np.minimum(entry, last), np.minimum(time, last), entry, time))
    hazard = cumulative_hazard_of(curve, times)
    before = math.fsum((hazard[:, 1] - hazard[:, 0]) * weight[some])
    after = math.fsum((hazard[:, 3] - hazard[:, 2]) * weight[some]) - before
    one = float(weight[some].sum() / weight[used].sum())  # event, of all rows
    if after <= one or before <= 0.0:
        return plain
    lacking = one * float(weight[target.kind == kind].sum()) - before
    moved = min(max(lacking, 0.0), after - one)
    return LateHazard(last, end, 1.0 + moved / before, one / after)


def _grid_of(event_times: Floats, last: float) -> Floats:
    """Return the times between which the hazards of the kinds have a constant ratio."""
    even = np.linspace(0.0, last, _N_TIMES + 1)
    later = last * np.geomspace(1.0, _LATEST, _N_LATER + 1)
    return np.unique(np.concatenate((even, default_times(event_times, _N_TIMES), later)))


def _read_kinds(name: str, kinds: Any) -> NDArray[Any]:
    """Return the names of the kinds, all numbers or all texts."""
    entries = expect(name, kinds, list)
    numbers = all(isinstance(kind, int) and not isinstance(kind, bool) for kind in entries)
    texts = all(isinstance(kind, str) for kind in entries)
    different = len(set(entries)) == len(entries) > 1 if numbers or texts else False
    require(different, "does not name each of its kinds of events")
    return np.array(entries) if numbers else np.array(entries, dtype=object)


_STORED: Fields = {
    "kinds": Entry(_read_kinds, "kinds_", plain=lambda kinds: kinds.tolist()),
    "input_shape": Entry(
        lambda name, shape: check_sizes(name, expect(name, shape, list)), "_input_shape"
    ),
    "grid": Array("f8", ("grid",), "_grid", says="some of the event times"),
    "late_hazards": Array(
        "f8", ("kinds", 4), "_late_hazards", says="last time of an event of each kind"
    ),
}
