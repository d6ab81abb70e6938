"""Predictions for rows of a table, and functions of data frames for Spark, Ray and the like."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._units import UNITS, days_after
from censquant._validation import check_choice, check_number
from censquant.exceptions import IdentifiabilityWarning
from censquant.io._columns import Columns, list_names
from censquant.io._options import TableError, option
from censquant.io._table import feature_names
from censquant.io._target import check_unit, microseconds, read_day
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
_BEYOND = ("nan", "inf", "limit", "extrapolate")
_IDENTIFIED = "identified"
LIMITED = "limited"
"""The column that says whether follow-up ends before the bound would: true or false."""


@dataclass(frozen=True)
class Ages:
    """The column of times that individuals have lasted, or of first dates up to ``as_of``."""

    column: str
    as_of: str | None = None
    unit: str = "days"
    date_format: str | None = None

    def __post_init__(self) -> None:
        if self.as_of is not None:
            check_unit(self.unit)

    @classmethod
    def given(
        cls,
        remaining: str | None,
        start: str | None,
        as_of: str | None,
        unit: str,
        date_format: str | None,
    ) -> "Ages | None":
        """Return the column that arguments name, None if they name none."""
        if (start is None) != (as_of is None):
            raise TableError(
                f"{option('start')}, a column of first dates, and {option('as_of')}, the date up "
                f"to which ages are counted, must be given together"
            )
        if start is None:
            return None if remaining is None else cls(remaining)
        if remaining is not None:
            raise TableError(
                f"The time that each individual has lasted must be given either by "
                f"{option('remaining')} or by {option('start')} and {option('as_of')}"
            )
        return cls(start, as_of, unit, date_format)

    @property
    def role(self) -> str:
        """Name of the option that names the column."""
        return "remaining" if self.as_of is None else "start"

    def read(self, read: Columns, values: Any, shown: str, n_before: int, lowest: float) -> Floats:
        """Return the times; one that is missing or too small is refused by its row."""
        if self.as_of is None:
            elapsed = read.numbers(values, self.column, n_before)
        else:
            dates = read.dates(values, self.column, self.date_format)
            now = read_day("as_of", self.as_of, self.date_format, zoned=dates.type.tz is not None)
            begun = np.where(dates.is_null().to_numpy(), np.nan, microseconds(dates))
            elapsed = (now - begun) / (UNITS[self.unit] / 1_000)
        wrong = np.flatnonzero(~np.isfinite(elapsed) | (elapsed < lowest))
        if wrong.size:
            raise self._refused(elapsed[wrong[0]], shown, n_before + wrong[0] + 1)
        return np.asarray(elapsed)

    def _refused(self, elapsed: float, shown: str, row: int) -> TableError:
        if self.as_of is not None:
            got = "none" if np.isnan(elapsed) else "one that is later"
            return TableError(
                f"The column {self.column!r} of {shown} must hold first dates up to "
                f"{option('as_of')} ({self.as_of}), got {got} in row {row}"
            )
        got = f"{elapsed:g}" if np.isfinite(elapsed) else "none"
        return TableError(
            f"The column {self.column!r} of {shown} must hold the time that each individual has "
            f"lasted, got {got} in row {row}",
            remedy="write 0 for those that begin",
        )

    def dates(self, remaining: Floats) -> Any:
        """Return the days on which times that are left end, null where that is not known."""
        assert self.as_of is not None
        now = np.datetime64(int(read_day("as_of", self.as_of, self.date_format)), "us")
        return pa.array(days_after(now, remaining, self.unit))


class RowPredictor:
    """Predicts quantiles, an interval and a bound for each row, from the start or from now on."""

    def __init__(
        self,
        model: Any,
        quantiles: ArrayLike,
        *,
        interval: float | None = None,
        lower_bound: float | None = None,
        ages: Ages | None = None,
        beyond: str,
    ) -> None:
        levels = check_quantiles(quantiles)
        self.model, self.ages = model, ages
        # Times may be negative where those of the fit were.
        self.lowest = min(0.0, float(getattr(model, "follow_up_", (0.0,))[0]))
        self.features = feature_names(model)
        self._beyond = check_choice("beyond", beyond, _BEYOND)
        self._share = None if interval is None else _inside("interval", interval)
        self._bound = None if lower_bound is None else _inside("lower_bound", lower_bound)
        self._is_calibrated = hasattr(model, "predict_lower_bound")
        if self._bound is not None and not self._is_calibrated:
            raise TableError(
                f"{option('lower_bound')} needs a calibrated model, got {type(model).__name__}",
                remedy="fit it with --calibrate, in Python as ConformalSurvivalRegressor",
            )
        prefix = "" if ages is None else "remaining_"
        self.columns = [f"{prefix}q{level:.12g}" for level in levels]
        self.levels = levels
        if self._share is not None:
            self.columns += [f"{prefix}lower", f"{prefix}upper"]
            if not self._is_calibrated:
                low = round((1.0 - self._share) / 2.0, 12)
                self.levels = np.concatenate([levels, [low, 1.0 - low]])
        if self._bound is not None:
            self.columns += [f"{prefix}bound{self._bound:.12g}", LIMITED]
        self.columns.append(_IDENTIFIED)
        self.dated = [
            (name, name.replace(prefix, "date_", 1))
            for name in self.columns
            if name.startswith(prefix) and ages is not None and ages.as_of is not None
        ]

    def predict(self, frame: Any, elapsed: Floats | None = None) -> tuple[Floats, int]:
        """Return the columns of predictions, and how many of the quantiles are identified."""
        curve: QuantileCurve = self.model.predict_curve(frame)
        if elapsed is None:
            values, levels, reach = curve.at(self.levels), self.levels[None, :], curve.reach
        else:
            curve = curve.given(elapsed)
            values = curve.remaining(elapsed, self.levels)
            levels = curve.conditional_levels(elapsed, self.levels)
            reach = _conditional_reach(curve, elapsed)
        known = np.broadcast_to(curve.is_identified(levels), values.shape)
        if self._beyond != "extrapolate":
            replacement: Any = np.nan
            if self._beyond == "inf":
                replacement = -np.inf if curve.reach_is_lowest else np.inf
            elif self._beyond == "limit":
                end = curve.limit()
                left = end if elapsed is None else np.maximum(end - elapsed, 0.0)
                replacement = left[:, None]
            values = np.where(known, values, replacement)
        columns = [values, *self._predict_calibrated(frame, elapsed), reach]
        return np.column_stack(columns), int(known.sum())

    def _predict_calibrated(self, frame: Any, elapsed: Floats | None) -> list[Floats]:
        """Predict the interval and the bound of a calibrated model, counted from now on."""
        now = 0.0 if elapsed is None else elapsed
        found = list[Floats]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifiabilityWarning)  # the column LIMITED says it
            if self._is_calibrated and self._share is not None:
                beyond = "nan" if self._beyond == "nan" else "inf"
                ends = self.model.predict_interval(
                    frame, self._share, elapsed=elapsed, beyond=beyond
                )
                found += [end - now for end in ends.T]
            if self._bound is not None:
                bounds = self.model.predict_lower_bound(
                    frame, self._bound, elapsed=elapsed, output="frame"
                )
                found += [bounds["bound"].to_numpy() - now, bounds["limited"].to_numpy()]
        return found


def _inside(name: str, value: float) -> float:
    return check_number(name, value, minimum=0.0, below=1.0, exclude_minimum=True)


def _conditional_reach(curve: QuantileCurve, elapsed: Floats) -> Floats:
    """Return the highest identified level among those who have lasted as long."""
    passed = curve.cdf(elapsed)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = (curve.reach - passed) / (1.0 - passed)
    return np.clip(np.nan_to_num(level, nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)


def ray_predictor(
    model: Any,
    quantiles: ArrayLike = LEVELS,
    *,
    keep: Sequence[str] = (),
    beyond: str = "nan",
) -> Callable[[Any], Any]:
    """Return a function from a frame of rows to a frame of their predictions.

    For ``ray.data.Dataset.map_batches(function, batch_format="pandas")``, or dask's
    ``map_partitions``. It needs neither, and holds the model, which is sent to each worker.

    Parameters
    ----------
    model : fitted estimator
        Fitted to a data frame, whose columns each batch must have.
    quantiles : array-like of levels in (0, 1), default 0.1, 0.25, 0.5, 0.75, 0.9
        Become the columns ``q0.1``, ``q0.25``, ...
    keep : sequence of str, default ()
        Columns that are passed through in front of the predictions, such as an identifier.
    beyond : {"nan", "inf", "limit", "extrapolate"}, default "nan"
        What to return at levels beyond the identified ones.

    Returns
    -------
    function : callable
        From a pandas DataFrame to one with as many rows, its index kept; the last column,
        ``identified``, is the highest level that the data identify.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.io import ray_predictor
    >>> X, y = load_gbsg2(as_frame=True)
    >>> predict = ray_predictor(CoxQuantileRegressor().fit(X, y), [0.1, 0.5], keep=["age"])
    >>> list(predict(X[:3]).columns)
    ['age', 'q0.1', 'q0.5', 'identified']
    """
    predictor = RowPredictor(model, quantiles, beyond=beyond)
    kept = [keep] if isinstance(keep, str) else list(keep)
    if clash := [name for name in kept if name in predictor.columns]:
        raise TableError(f"keep must not name columns of predictions, got {list_names(clash)}")

    def predict(frame: Any) -> Any:
        import pandas as pd

        wanted = [*predictor.features, *kept]
        if missing := [name for name in wanted if name not in frame.columns]:
            raise TableError(
                f"A batch must have the columns of the fit and those to keep, it lacks "
                f"{list_names(missing)}"
            )
        if len(frame):
            values = predictor.predict(frame[predictor.features])[0]
        else:  # partitions may be empty
            values = np.empty((0, len(predictor.columns)))
        predicted = pd.DataFrame(values, columns=predictor.columns, index=frame.index)
        return pd.concat([frame[kept], predicted], axis=1)

    return predict


def spark_predictor(
    model: Any,
    quantiles: ArrayLike = LEVELS,
    *,
    keep: Sequence[str] = (),
    beyond: str = "nan",
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function from an iterator of frames to one of predictions, for ``mapInPandas``.

    Parameters
    ----------
    model, quantiles, keep, beyond
        As in :func:`ray_predictor`.

    Returns
    -------
    function : callable
        For ``pyspark.sql.DataFrame.mapInPandas(function, schema)`` with :func:`spark_schema`.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.io import spark_predictor
    >>> X, y = load_gbsg2(as_frame=True)
    >>> predict = spark_predictor(CoxQuantileRegressor().fit(X, y), [0.5])
    >>> [len(frame) for frame in predict(iter([X[:3], X[3:5]]))]
    [3, 2]
    """
    predict = ray_predictor(model, quantiles, keep=keep, beyond=beyond)

    def predict_all(frames: Iterator[Any]) -> Iterator[Any]:
        return map(predict, frames)

    return predict_all


def spark_schema(quantiles: ArrayLike = LEVELS, *, keep: str = "") -> str:
    """Return the schema of what :func:`spark_predictor` gives, as Spark writes schemas.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1)
    keep : str, default ""
        Schema of the columns that are kept, such as ``"id bigint"``.

    Returns
    -------
    schema : str

    Examples
    --------
    >>> from censquant.io import spark_schema
    >>> spark_schema([0.1, 0.5], keep="id bigint")
    'id bigint, `q0.1` double, `q0.5` double, `identified` double'
    """
    names = [*(f"q{level:.12g}" for level in check_quantiles(quantiles)), "identified"]
    return ", ".join([*([keep] if keep else []), *(f"`{name}` double" for name in names)])
