"""What a report is about: settings that were checked, a model, its rows and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._units import UNITS
from censquant._validation import check_choice, check_integer, check_number
from censquant.adapters._predictions import is_left_censored
from censquant.estimators import BaseQuantileRegressor, ConformalSurvivalRegressor, adapt
from censquant.inspection._table import FeatureTable
from censquant.metrics._reading import read_groups, read_levels
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES, DEFAULT_QUANTILES
from censquant.report._numbers import round_times
from censquant.survival import Target, read_target
from censquant.survival._causes import Causes, read_known_causes
from censquant.survival._columns import read_numbers
from censquant.survival._kaplan_meier import default_horizon
from censquant.survival._target import require_events

CLINICAL, RELIABILITY = "clinical", "reliability"
PRESETS = (CLINICAL, RELIABILITY)
"""The kinds of report."""

CONFIDENCE = 0.9
"""Of the lower bounds of individuals; those of units follow from the accepted risk."""

RUNNING = "running"
"""Stands for all units without an event in place of row numbers."""

_TITLES = {CLINICAL: "Time to event: a clinical report", RELIABILITY: "Reliability of a fleet"}
_N_HORIZONS = 4
# Times ahead at which failures of a fleet are counted, by the unit of time; days by default.
_AHEAD = {
    "hours": (720.0, 2160.0, 4320.0, 8760.0),
    "days": (30.0, 90.0, 180.0, 365.0),
    "weeks": (4.0, 13.0, 26.0, 52.0),
    "months": (1.0, 3.0, 6.0, 12.0),
    "years": (0.25, 0.5, 1.0, 2.0),
}
_DAY_NANOSECONDS = UNITS["days"]


@dataclass(frozen=True, eq=False)
class Settings:
    """Checked settings of a report."""

    preset: str  # {"clinical", "reliability"}
    title: str
    unit: str
    horizons: tuple[float, ...]  # increasing times at which risks are told
    # Increasing times from now within which failures of running units are counted; the fleet is
    # ordered by the risk within the first
    ahead: tuple[float, ...]
    individuals: tuple[int, ...]  # places of the rows that the page shows one by one
    listed: tuple[int, ...]  # places of the rows in the table of the fleet
    labels: tuple[str, ...]  # names of all rows
    age: Floats  # shape (n,); time that each row has lasted
    age_is_given: bool  # whether the ages are others than the observed times
    risk: float  # chance of a failure before replacement that is accepted
    early_cost: float | None
    late_cost: float | None
    as_of: date | None  # day to which the ages belong
    n_resamples: int
    seed: int
    by: NDArray[Any] | None = None  # level of each row, by which scores are told apart
    by_name: str = ""
    groups: NDArray[Any] | None = None  # of rows that belong together

    @property
    def who(self) -> str:
        """What individuals are called."""
        return "units" if self.preset == RELIABILITY else "individuals"

    @property
    def confidence(self) -> float:
        """Confidence of the lower bounds of individuals and units."""
        return round(1.0 - self.risk, 12) if self.preset == RELIABILITY else CONFIDENCE

    def date_after(self, time: float) -> str:
        """Return the day that lies so long after the day of the ages; empty if there is none."""
        if self.as_of is None or not np.isfinite(time):
            return ""
        try:
            days = timedelta(days=time * UNITS[self.unit] / _DAY_NANOSECONDS)
            return (self.as_of + days).isoformat()
        except OverflowError:
            return ""


def read_settings(
    target: Target,
    *,
    preset: str,
    title: str | None,
    unit: str,
    horizons: ArrayLike | None,
    ahead: ArrayLike | None,
    individuals: Sequence[int] | str | None,
    labels: Sequence[object] | None,
    age: ArrayLike | None,
    risk: float,
    early_cost: float | None,
    late_cost: float | None,
    as_of: str | date | None,
    n_resamples: int,
    random_state: int,
    by: Any = None,
    groups: ArrayLike | None = None,
    X: Any = None,
) -> Settings:
    """Return checked settings for the rows of a target."""
    check_choice("preset", preset, PRESETS)
    asked, listed = _read_individuals(individuals, target, preset)
    costs = [
        None if cost is None else check_number(name, cost, minimum=0.0, exclude_minimum=True)
        for name, cost in (("early_cost", early_cost), ("late_cost", late_cost))
    ]
    if (costs[0] is None) != (costs[1] is None):
        name = "late_cost" if costs[1] is None else "early_cost"
        raise ValueError(f"early_cost and late_cost must be given together, got no {name}.")
    return Settings(
        preset,
        title or _TITLES[preset],
        unit,
        _read_horizons(horizons, target),
        _read_ahead(ahead, target, unit),
        asked,
        listed,
        _read_labels(labels, len(target)),
        _read_age(age, target),
        age is not None,
        check_number("risk", risk, minimum=0.0, below=1.0, exclude_minimum=True),
        costs[0],
        costs[1],
        _read_date(as_of, unit),
        check_integer("n_resamples", n_resamples, minimum=2),
        check_integer("random_state", random_state, minimum=0),
        _read_by(by, X, len(target)),
        ""
        if by is None
        else str(by if isinstance(by, str) else getattr(by, "name", "") or "level"),
        read_groups(groups, len(target)),
    )


def _read_by(by: Any, X: Any, n_rows: int) -> NDArray[Any] | None:
    """Return the level of each row."""
    if by is None:
        return None
    labels = np.empty(n_rows, dtype=object)
    labels[:] = read_levels(by, X, n_rows)
    return labels


def _read_individuals(
    given: Sequence[int] | str | None, target: Target, preset: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows with a fan of their own, and those in the table of the fleet."""
    running = tuple(np.flatnonzero(~target.event).tolist())
    if given is None:
        # Whoever asks for a report on a fleet asks for its table.
        return (), running if preset == RELIABILITY else ()
    if isinstance(given, str):
        check_choice("individuals", given, (RUNNING,))
        if preset == RELIABILITY:
            return (), running
        raise ValueError(
            f"individuals must be row numbers in a report with preset={preset!r}, got {given!r}."
        )
    places = []
    for one in given:
        place = check_integer("individuals", one, minimum=0)
        if place >= len(target):
            raise ValueError(
                f"individuals must be row numbers from 0 to {len(target) - 1}, got {place}."
            )
        places.append(place)
    asked = tuple(dict.fromkeys(places))
    return asked, asked if preset == RELIABILITY else ()


def _read_horizons(horizons: ArrayLike | None, target: Target) -> tuple[float, ...]:
    if horizons is None:
        return round_times(default_horizon(target.time), _N_HORIZONS)
    found = np.unique(read_numbers(np.atleast_1d(np.asarray(horizons)), name="horizons"))
    if not found.size or not np.isfinite(found).all() or found[0] <= 0:
        raise ValueError(f"horizons must be positive times, got {np.ravel(horizons).tolist()}.")
    if found[-1] > target.time.max():
        raise ValueError(
            f"horizons must not lie past the longest follow-up, {target.time.max():g}, got "
            f"{found[-1]:g}."
        )
    return tuple(found.tolist())


def _read_ahead(ahead: ArrayLike | None, target: Target, unit: str) -> tuple[float, ...]:
    longest = float(target.time.max())
    if ahead is None:
        usual = tuple(time for time in _AHEAD.get(unit, ()) if time <= longest)
        return usual or round_times(default_horizon(target.time) / 2.0, _N_HORIZONS)
    found = np.unique(read_numbers(np.atleast_1d(np.asarray(ahead)), name="ahead"))
    if not found.size or not np.isfinite(found).all() or found[0] <= 0:
        raise ValueError(f"ahead must be positive times, got {np.ravel(ahead).tolist()}.")
    return tuple(found.tolist())


def _read_labels(labels: Sequence[object] | None, n_rows: int) -> tuple[str, ...]:
    if labels is None:
        return tuple(f"row {place}" for place in range(n_rows))
    if len(labels) != n_rows:
        raise ValueError(f"labels must have one name per row, got {len(labels)} for {n_rows}.")
    return tuple(str(label) for label in labels)


def _read_age(age: ArrayLike | None, target: Target) -> Floats:
    """Return the age of each row: by default the time up to which it was observed."""
    if age is None:
        return target.time
    given = np.broadcast_to(np.asarray(age, dtype=np.float64), (len(target),))
    wrong = np.flatnonzero(~np.isfinite(given) | (given < 0))
    if wrong.size:
        raise ValueError(
            f"age must be a time of 0 or more, got {given[wrong[0]]:g} in row {wrong[0]}."
        )
    return given


def _read_date(as_of: str | date | None, unit: str) -> date | None:
    if as_of is None:
        return None
    if unit not in UNITS:
        raise ValueError(
            f"as_of needs a unit of calendar time, one of {', '.join(UNITS)}, got unit={unit!r}."
        )
    if isinstance(as_of, date):
        return as_of
    try:
        return date.fromisoformat(as_of)
    except ValueError:
        raise ValueError(f"as_of must be a date such as 2024-06-30, got {as_of!r}.") from None


LEVELS: Floats = np.array(CURVE_QUANTILES)


def any_event(y: object, model: Any) -> object:
    """Return a target with kinds of events, of a model that knows them, as one of any event."""
    causes = read_known_causes(y, model)
    return y if causes is None else causes.of_any_kind


@dataclass(frozen=True, eq=False)
class Study:
    """What all numbers of a report are computed from; every row is predicted once."""

    model: BaseQuantileRegressor
    table: FeatureTable
    target: Target
    train: Target  # rows that say how individuals are censored
    curve: QuantileCurve  # as the model predicts them
    causes: Causes | None = None  # where events are of several kinds

    @classmethod
    def of(cls, model: Any, X: Any, y: object, y_train: object) -> "Study":
        """Return a study; refuse what no report can be made of."""
        regressor = adapt(model)
        if is_left_censored(regressor):
            raise ValueError(
                "model must be fitted with censoring='right', got censoring='left': a report knows "
                "events that come after their censored times."
            )
        table = FeatureTable.read(X, regressor)
        causes = read_known_causes(y, regressor, n_samples=len(table))
        y = y if causes is None else causes.of_any_kind
        target = read_target(y, n_samples=len(table))
        require_events(target)
        train = target if y_train is None else read_target(any_event(y_train, regressor))
        curve = regressor.predict_curve(table.X)
        if not curve.is_whole:
            raise ValueError(
                "model must predict at least two quantiles, got a "
                f"{type(regressor).__name__} with the level {curve.taus[0]:g} alone."
            )
        return cls(regressor, table, target, train, curve, causes)

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: Any) -> "Study":
        """Return some of the rows; what says how individuals are censored stays."""
        if len(rows) == len(self) and (np.asarray(rows) == np.arange(len(self))).all():
            return self
        places = np.asarray(rows, dtype=np.intp)
        return Study(
            self.model,
            self.table.take(places),
            self.target.take(places),
            self.train,
            self.curve.take(places),
            None if self.causes is None else self.causes.take(places),
        )

    @property
    def y(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Times and events."""
        return self.target.time, self.target.event

    @property
    def y_train(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Times and events of the rows that say how individuals are censored."""
        return self.train.time, self.train.event

    @property
    def judged_levels(self) -> Floats:
        """Levels that scores and tests look at: those of the fit if there are several."""
        levels = np.atleast_1d(getattr(self.model, "quantiles_", DEFAULT_QUANTILES))
        return levels if len(levels) > 1 else np.array(DEFAULT_QUANTILES)

    @property
    def is_calibrated(self) -> bool:
        """Whether the model makes bounds that keep what they promise."""
        return isinstance(self.model, ConformalSurvivalRegressor)

    def known_quantiles(self, levels: Floats) -> Floats:
        """Return quantiles, NaN where the data cannot speak."""
        found = self.curve.at(levels)
        return np.where(self.curve.is_identified(levels), found, np.nan)

    def known_remaining(self, age: Floats, levels: Floats) -> Floats:
        """Return quantiles of the time that is left at an age, NaN where the data cannot speak."""
        found = self.curve.remaining(age, levels)
        conditional = self.curve.conditional_levels(age, levels)
        return np.where(self.curve.given(age).is_identified(conditional), found, np.nan)
