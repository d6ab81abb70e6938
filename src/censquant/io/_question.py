"""What is asked about each row of a table, and the columns of the answer."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.exceptions import IdentifiabilityWarning
from censquant.io._columns import Columns
from censquant.io._error import TableError, option
from censquant.io._model_columns import feature_names
from censquant.io._target import UNITS, check_unit, microseconds, read_day
from censquant.quantiles import QuantileCurve

_BEYOND = ("nan", "inf", "limit", "extrapolate")
_IDENTIFIED = "identified"
LIMITED = "limited"
"""The column that says whether follow-up ends before the bound would: true or false."""
_MOST_DAYS = 365_250 * 2  # later days have years of five digits


@dataclass(frozen=True)
class Ages:
    """Where the time that each individual has lasted is found in a table.

    Parameters
    ----------
    column : str
        Column of these times, or of first dates where ``as_of`` is given.
    as_of : str or None, default None
        Date up to which first dates are counted.
    unit : str, default "days"
    date_format : str or None, default None
    """

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
        """Return what arguments say, None if they say nothing."""
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
        """Return the times, refused by their row where one is missing or too small."""
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
        import pyarrow as pa

        assert self.as_of is not None
        now = np.datetime64(int(read_day("as_of", self.as_of, self.date_format)), "us")
        days = np.floor(remaining * (UNITS[self.unit] / UNITS["days"]))
        known = np.isfinite(days) & (np.abs(days) < _MOST_DAYS)
        end = now.astype("datetime64[D]") + np.where(known, days, 0.0).astype("timedelta64[D]")
        return pa.array(end, mask=~known)


class Question:
    """Quantiles, an interval and a bound for each row, from the start or from now on.

    Parameters
    ----------
    model : fitted estimator
    levels : ndarray of levels in (0, 1)
    interval, lower_bound : float in (0, 1) or None
    ages : Ages or None
        Where the time that has passed is found.
    beyond : {"nan", "inf", "limit", "extrapolate"}
    """

    def __init__(
        self,
        model: Any,
        levels: Floats,
        *,
        interval: float | None,
        lower_bound: float | None,
        ages: Ages | None,
        beyond: str,
    ) -> None:
        self.model, self.ages = model, ages
        # Times may be negative where those of the fit were.
        self.lowest = min(0.0, float(getattr(model, "follow_up_", (0.0,))[0]))
        self.features = feature_names(model)
        self._beyond = check_choice("beyond", beyond, _BEYOND)
        self._share = None if interval is None else _inside("interval", interval)
        self._bound = None if lower_bound is None else _inside("lower_bound", lower_bound)
        self._promises = hasattr(model, "predict_lower_bound")
        if self._bound is not None and not self._promises:
            raise TableError(
                f"{option('lower_bound')} needs a calibrated model, got {type(model).__name__}",
                remedy="fit it with --calibrate, in Python as ConformalSurvivalRegressor",
            )
        prefix = "" if ages is None else "remaining_"
        self.columns = [f"{prefix}q{level:.12g}" for level in levels]
        self.levels = levels
        if self._share is not None:
            self.columns += [f"{prefix}lower", f"{prefix}upper"]
            if not self._promises:
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

    def answer(self, frame: Any, elapsed: Floats | None) -> tuple[Floats, int]:
        """Return one column per answer, and how many of the quantiles are identified."""
        curve: QuantileCurve = self.model.predict_curve(frame)
        if elapsed is None:
            values, levels, reach = curve.at(self.levels), self.levels[None, :], curve.reach
        else:
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
        return np.column_stack([values, *self._promised(frame, elapsed), reach]), int(known.sum())

    def _promised(self, frame: Any, elapsed: Floats | None) -> list[Floats]:
        """Return the interval and the bound of a calibrated model, counted from now on."""
        now = 0.0 if elapsed is None else elapsed
        found = list[Floats]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifiabilityWarning)  # said by the column LIMITED
            if self._promises and self._share is not None:
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
