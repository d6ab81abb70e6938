"""The contract of a model: it predicts a distribution, from which every prediction derives."""

import os
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _num_samples

from censquant._engine.training._parallel import side_by_side
from censquant._frames import Output, labelled
from censquant._rows._features import check_is_fitted, dense, feature_names, note_of_far_features
from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.estimators._reading import (
    AT_TIMES,
    BEYOND,
    EXTRAPOLATES,
    Answers,
    AtTimes,
    Beyond,
    CurveReader,
    MeanReader,
    add_note_of_start,
    functions_of_time,
    identified,
    map_blocks,
    mean_reader,
    note_of_levels,
    quantiles_with_reach,
    read_elapsed,
    warn_of,
)
from censquant.export._graph import Graph, Value
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.export._javascript import PageModel, page_model
from censquant.export._onnx import write_onnx
from censquant.metrics import concordance_index
from censquant.quantiles import CumulativeHazardFunction, QuantileCurve, SurvivalFunction
from censquant.quantiles._distribution_curve import TailLimit
from censquant.quantiles._grid import DEFAULT_QUANTILES, check_levels
from censquant.survival import read_target
from censquant.survival._columns import read_numbers
from censquant.survival._kaplan_meier import default_horizon
from censquant.survival._kinds_of_rows import OF_ONE_KIND

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Levels = ArrayLike | None
Array = Literal["array"]
Frame = Literal["frame"]
Yes = Literal[True]
No = Literal[False]
Curve = TypeVar("Curve", QuantileCurve, GraphCurve, GridCurve)
CurveGraph = tuple[GraphCurve, Value]
"""Curves, and their reach of shape (n, 1)."""


class BaseQuantileRegressor(RegressorMixin, BaseEstimator, ABC):
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

    _accepts: tuple[str, ...] = ("right",)  # kinds of rows that fit takes, of READABLE
    _is_empirical = False  # whether its law knows of no events where none were seen
    _entered: Any = None  # when rows like a given one came under observation
    _reads_features = False  # whether a subclass has _read_features and _curve_of
    _feature_range: Floats | None = None  # smallest and largest value of each feature in the fit
    # False inside an ensemble, which has one model of follow-up, and warnings of its own, for all.
    _stands_alone = True
    _stopping: Event | None = None  # ends a fit inside an ensemble
    _ends_with_its_data = False  # whether _predict_checked may return ends
    _cross_fits_itself = False  # whether it has TabularRegressor._fit_folds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._reads_features
        return tags

    # Curves

    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the predictive distribution of each row, with its reach.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)

        Returns
        -------
        curve : QuantileCurve of n rows
            In the unit of the times that were fitted. ``curve.reach`` is the highest level of each
            row that the data can speak for.
        """
        check_is_fitted(self)
        features = dense(self._read_features(X))
        return side_by_side([lambda stopping: self._curve_of(features)])[0]

    def _read_features(self, X: Any) -> Any:
        """Return ``X`` as a checked array or sparse matrix, one row per individual."""
        raise NotImplementedError(f"{type(self).__name__} must implement predict_curve.")

    def _column_names(self) -> list[str]:
        """Return the names of the columns that ``_read_features`` returns."""
        return feature_names(self)

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        """Return the curves of checked rows, with their reach, in the user's unit of time."""
        return self.predict_curve(features)

    def _predict_checked(self, x: NDArray[Any], levels: Floats) -> Answers:
        """Return quantiles of rows that an ensemble has checked, and where their data end.

        Times are right-censored ones: those of ``censoring="left"`` are mirrored.
        """
        curve = self._curve_of(x)
        if self._left_censored:
            return -curve.at(1.0 - levels[::-1])[:, ::-1], None
        return curve.at(levels), None

    @classmethod
    def _mean_reader(cls, models: Sequence[Any], levels: Floats) -> MeanReader:
        """Return a function that answers as :meth:`_predict_checked`: the mean of fitted models."""
        return mean_reader(models, levels)

    def _map_curves(self, X: Any, read: CurveReader, notes: list[str]) -> NDArray[Any]:
        """Return ``read(curve, rows)`` for all rows; add to ``notes`` what is odd about ``X``.

        Where features are read, memory stays bounded by the result, however many rows there are,
        and sparse rows become dense a block at a time.
        """
        if not self._reads_features:
            return read(self.predict_curve(X), slice(None))
        features = self._read_features(X)
        if self._feature_range is not None:
            notes += note_of_far_features(features, self._feature_range, self._column_names())
        return map_blocks(self._curve_of, features, read, getattr(self, "n_jobs", None))

    @property
    def _left_censored(self) -> bool:
        """Whether censored events lie before their times."""
        return getattr(self, "censoring", "right") == "left"

    def _lowest_time(self: Any) -> float:
        """Return the lowest time that is predicted: where none was negative, none will be."""
        return 0.0 if self.follow_up_[0] >= 0 else -np.inf

    def _limited(self: Any, curve: Curve) -> Curve:
        """Return curves, of arrays or of a graph, under the law of tails; a pool has its own."""
        return curve.limited(TailLimit.of(*self.follow_up_)) if self._stands_alone else curve

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
        self, X: Any, quantiles: Levels = None, *, beyond: Beyond = "warn", output: Array = "array"
    ) -> Floats: ...

    @overload
    def predict_quantiles(
        self, X: "pl.DataFrame", quantiles: Levels = None, *, beyond: Beyond = "warn", output: Frame
    ) -> "pl.DataFrame": ...

    @overload
    def predict_quantiles(
        self, X: Any, quantiles: Levels = None, *, beyond: Beyond = "warn", output: Frame
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
        self, X: Any, coverage: float = 0.8, *, beyond: Beyond = "warn", output: Array = "array"
    ) -> Floats: ...

    @overload
    def predict_interval(
        self, X: "pl.DataFrame", coverage: float = 0.8, *, beyond: Beyond = "warn", output: Frame
    ) -> "pl.DataFrame": ...

    @overload
    def predict_interval(
        self, X: Any, coverage: float = 0.8, *, beyond: Beyond = "warn", output: Frame
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
        self, X: Any, times: Levels = ..., return_array: No = ..., *, beyond: AtTimes = ...
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_survival_function(
        self, X: Any, times: Levels, return_array: Yes, *, beyond: AtTimes = ...
    ) -> Floats: ...

    @overload
    def predict_survival_function(
        self, X: Any, times: Levels = ..., *, return_array: Yes, beyond: AtTimes = ...
    ) -> Floats: ...

    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: bool = False,
        *,
        beyond: AtTimes = "warn",
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
        self, X: Any, times: Levels = ..., return_array: No = ..., *, beyond: AtTimes = ...
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_cumulative_hazard_function(
        self, X: Any, times: Levels, return_array: Yes, *, beyond: AtTimes = ...
    ) -> Floats: ...

    @overload
    def predict_cumulative_hazard_function(
        self, X: Any, times: Levels = ..., *, return_array: Yes, beyond: AtTimes = ...
    ) -> Floats: ...

    def predict_cumulative_hazard_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: bool = False,
        *,
        beyond: AtTimes = "warn",
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
        quantiles: Levels = ...,
        *,
        beyond: Beyond = ...,
        output: Array = ...,
    ) -> Floats: ...

    @overload
    def predict_remaining(
        self,
        X: "pl.DataFrame",
        elapsed: ArrayLike,
        quantiles: Levels = ...,
        *,
        beyond: Beyond = ...,
        output: Frame,
    ) -> "pl.DataFrame": ...

    @overload
    def predict_remaining(
        self,
        X: Any,
        elapsed: ArrayLike,
        quantiles: Levels = ...,
        *,
        beyond: Beyond = ...,
        output: Frame,
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
        n_rows = _num_samples(X)
        spent = np.broadcast_to(read_elapsed(elapsed, n_rows, self), (n_rows,))
        far, notes = bool(note_of_levels(levels, fitted)), list[str]()

        def values(curve: QuantileCurve, rows: slice) -> Floats:
            low = float(spent[rows].min())
            if low < curve.lower:
                raise ValueError(f"elapsed must be at least {curve.lower:g}, got {low:g}.")
            if far:  # but not for an individual who has passed the lowest fitted level
                notes.extend(note_of_levels(conditional(curve, rows), fitted))
            return curve.remaining(spent[rows], levels)

        def conditional(curve: QuantileCurve, rows: slice) -> Floats:
            return curve.conditional_levels(spent[rows], levels)

        def limits(curve: QuantileCurve, rows: slice) -> Floats:
            return np.maximum(curve.limit() - spent[rows], 0.0)[:, None]

        check_choice("beyond", beyond, BEYOND)
        options: Any = {"limits": limits, "notes": notes, "elapsed": lambda rows: spent[rows]}
        remaining = self._read(X, values, conditional, beyond, **options)
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

        Where rows came under observation late, ``predict_curve(X).known_from`` is the time by which
        3 % of similar rows had entered. If more than 2 % of the events come before it by the model,
        no level is identified but given no event until then (:meth:`predict_remaining`): this is 0.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        level : ndarray of shape (n,)
            Between 0 (none is identified) and the highest fitted level; for left censoring between
            the lowest fitted level and 1 (none).
        """
        return quantiles_with_reach(self, X)[1]

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
        target, left = read_target(y, accepts=OF_ONE_KIND), self._left_censored
        horizon = getattr(self, "horizon_", None)
        if horizon is None:
            horizon = default_horizon(target.time, left=left)
        mean, y = self._restricted_mean(X, horizon, []), target.for_fit
        side: Literal["right", "left"] = "left" if left else "right"
        return concordance_index(y, mean, sample_weight=sample_weight, censoring=side)

    # Reading off curves

    def _levels(self, quantiles: ArrayLike | None) -> Floats:
        """Return the levels asked for, by default the fitted ones."""
        check_is_fitted(self)
        if quantiles is None:
            return np.asarray(getattr(self, "quantiles_", DEFAULT_QUANTILES), dtype=np.float64)
        return check_levels(quantiles, name="quantiles")

    def _quantiles_at(self, X: Any, levels: Floats, beyond: str) -> Floats:
        """Return quantiles for a public method."""
        check_is_fitted(self)
        return self._read(
            X,
            lambda curve, rows: curve.at(levels),
            lambda curve, rows: levels,
            check_choice("beyond", beyond, BEYOND),
            notes=note_of_levels(levels, getattr(self, "quantiles_", None)),
            stacklevel=4,
        )

    def _quantiles_with_reach(self, X: Any, levels: Floats) -> tuple[Floats, Floats]:
        """Return extrapolated quantiles, and `identified_level`, of curves predicted once."""
        return quantiles_with_reach(self, X, levels)

    def _functions(
        self, X: Any, times: Levels, return_array: bool, beyond: str, kind: type[SurvivalFunction]
    ) -> NDArray[Any]:
        """Return functions of time, or their values, for a public method."""
        check_is_fitted(self)
        check_choice("beyond", beyond, AT_TIMES)
        if times is None and not hasattr(self, "unique_times_"):
            raise ValueError(
                f"times must be given, since {type(self).__name__} has no unique_times_, got None."
            )
        given = getattr(self, "unique_times_", None) if times is None else times
        at = read_numbers(given, name="times")

        def levels(curve: QuantileCurve, rows: slice) -> Floats:
            return 1.0 - curve.survival(at)

        values = functions_of_time(kind, at, return_array=return_array, masked=beyond == "nan")
        # Functions hide what is not identified themselves.
        seen = "extrapolate" if beyond == "nan" and not return_array else beyond
        return self._read(X, values, levels, seen, stacklevel=4)

    def _restricted_mean(self, X: Any, horizon: float, notes: list[str]) -> Floats:
        """Return means up to a horizon; add to ``notes`` what is odd about ``X``."""

        def read(curve: QuantileCurve, rows: slice) -> Floats:
            if not curve.is_whole:  # one quantile is all there is to rank by
                return curve.values[:, 0]
            add_note_of_start(curve, notes)
            mean = curve.restricted_mean(horizon)
            # E max(T, h) = E T + h - E min(T, h)
            return curve.restricted_mean(np.inf) + horizon - mean if self._left_censored else mean

        return self._map_curves(X, read, notes)

    def _read(
        self,
        X: Any,
        values: CurveReader,
        levels: CurveReader,
        beyond: str,
        *,
        limits: CurveReader = lambda curve, rows: curve.limit()[:, None],
        notes: list[str] | None = None,
        elapsed: Callable[[slice], ArrayLike] | None = None,
        stacklevel: int = 3,
    ) -> NDArray[Any]:
        """Return values read off the curves, with what is not identified treated as asked for.

        ``levels`` returns the levels of the values, in common or for each row; ``limits`` the
        values at the limit of support; ``elapsed`` until when rows are known to have no event.
        """
        notes = [] if notes is None else notes
        note = f"{EXTRAPOLATES} {getattr(self, 'tail_rule_', '')}".rstrip()
        read = identified(values, levels, limits, beyond, note, notes, elapsed)
        found = self._map_curves(X, read, notes)
        if beyond != "extrapolate":
            warn_of(notes, stacklevel=stacklevel)
        return found

    # Files and exports

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

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        quantiles: ArrayLike | None = None,
        *,
        dtype: str = "float32",
    ) -> None:
        """Write the fitted estimator as an ONNX file, which runs without this package.

        Its outputs are ``quantiles`` of shape (n, n_levels), those of :meth:`predict_quantiles`
        with ``beyond="extrapolate"``, ``median`` of shape (n,), and ``identified`` of shape (n,),
        the level of :meth:`identified_level` that the quantiles' levels have to be compared with.
        Any number of rows can be asked for. A model of one level other than 0.5 has no ``median``.
        Rows that Python refuses, because of infinity or of a missing number where the model takes
        none, have NaN in all outputs.

        Features are the input ``X``. A :class:`~censquant.CensoredQuantileRegressor` that was
        fitted to categories has a second input of text, ``categories``, with ``""`` for a missing
        one; the file's metadata name the columns of both.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        dtype : {"float32", "float64"}, default "float32"
            Of the features that it takes and of what it returns; it computes in double precision.
            Features whose differences are small beside their values, such as dates in seconds,
            need ``"float64"``.
        """
        check_choice("dtype", dtype, ("float32", "float64"))
        write_onnx(path, self._graph(quantiles), dtype)

    def to_javascript(
        self,
        quantiles: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        coarse_times: bool = False,
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
            Whether times of training rows are kept out of the page: a baseline hazard is stored at
            means of five event times, and ends of follow-up are rounded. Predicted times then
            differ from those of Python by a few per cent at most, and less with more rows.

        Returns
        -------
        model : PageModel
            Its ``n_bytes`` say what it adds to a page: forests of many rows are large.
        """
        return page_model(self._graph(quantiles, times, coarse_times=coarse_times))

    def _graph(
        self, quantiles: Levels, times: Levels = None, *, coarse_times: bool = False
    ) -> Graph:
        """Return the model as a graph from features to quantiles at some levels."""
        check_is_fitted(self)
        graph = Graph(coarse_times=coarse_times)
        self._add_outputs(graph, *self._graph_curve(graph), quantiles, times)
        graph.hide_unusable()
        graph.drop_unused()
        return graph

    def _add_outputs(
        self, graph: Graph, curve: GraphCurve, reach: Value, quantiles: Levels, times: Levels
    ) -> None:
        """Make curves and their reach ``(n, 1)`` the outputs of a graph."""
        levels = self._levels(quantiles)
        graph.outputs["quantiles"] = curve.at(levels)
        if len(curve.taus) > 1 or 0.5 in curve.taus:
            graph.outputs["median"] = curve.at([0.5]).reshape()
        graph.outputs["identified"] = reach.reshape()
        graph.facts = {"quantiles": levels.tolist(), "left_censored": self._left_censored}
        if times is not None:
            at = read_numbers(times, name="times")
            asked = graph.repeated(at, next(iter(graph.inputs.values())))
            graph.outputs["survival"] = 1.0 - curve.levels_of(asked)
            graph.facts["times"] = at.tolist()

    def _graph_curve(self, graph: Graph) -> CurveGraph:
        """Return the curves and their reach ``(n, 1)`` in a graph, whose inputs it declares."""
        shape: Any = getattr(self, "_input_shape", ())
        if len(shape) > 1:
            raise TypeError(
                f"{type(self).__name__} cannot be exported: it was fitted to samples of shape "
                f"{shape}, and the export knows tables only."
            )
        names = feature_names(self)
        numbers = graph.numbers(len(names), names)
        graph.require_finite(numbers, may_be_missing=True)
        return self._curve_of_numbers(numbers)

    def _curve_of_numbers(self, numbers: Value) -> CurveGraph:
        """Return curves and their reach ``(n, 1)`` for features that are numbers in a graph."""
        x = self._numbers_graph(numbers)
        x.graph.require_finite(x)
        return self._curve_of_graph(x)

    def _numbers_graph(self, numbers: Value) -> Value:
        """Return what ``_read_features`` makes of numbers, in a graph."""
        return numbers

    def _curve_of_graph(self, x: Value) -> CurveGraph:
        """Return what ``_curve_of`` does, in a graph."""
        raise TypeError(
            f"{type(self).__name__} cannot be exported: the export knows the estimators of "
            "censquant, pools and pipelines of them."
        )
