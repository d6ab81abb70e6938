"""Rows with each of two values of a feature, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from censquant._progress import Bar
from censquant._rows._cross_fit import make_folds
from censquant._rows._encoder import known_numbers
from censquant._rows._fit_data import FitData, canonical_order
from censquant._typing import Floats
from censquant._validation import seed_sequence
from censquant.adapters import survival_of
from censquant.adapters._predictions import adapted_curve, follow_up_end, restricted_mean_of
from censquant.estimators import adapt
from censquant.estimators._adapted import AdaptedModel
from censquant.estimators._conformal_models import numbers_of
from censquant.inspection._table import FeatureTable, taken
from censquant.quantiles._grid import even_grid
from censquant.survival import Surv, Target
from censquant.survival._columns import read_numbers
from censquant.survival._kaplan_meier import default_horizon

MEAN, RISK, SURVIVAL, MEDIAN, QUANTILE = (
    "restricted_mean",
    "risk",
    "survival",
    "median",
    "quantile",
)
WHATS = (MEAN, RISK, SURVIVAL, MEDIAN, QUANTILE)
FROM, TO, OTHER = 0, 1, 2  # numbers of the values of the treatment
FEWEST_ROWS = 10  # of each value, for its chance to be modelled
N_FOLDS = 5
SMALLEST_TREATMENT_CHANCE = 0.03
_ALL = "all"
_MOST_VALUES = 10  # a column of numbers with more of them is no treatment with an overlap
_MOST_GROUPS = 50
_PARTS = 4  # into which a column of numbers is cut, as subgroups
SUPPORTED = 0.5  # share of rows whose curves follow-up must support
_N_LEVELS = 99  # of the curves that are asked how far that is
_CURVE_TIMES = 400  # at which the mean curve is evaluated, for its quantiles
_BLOCK_ROWS = 8_192
# The penalty of the logistic regression: negligible unless a feature nearly decides the treatment.
_INVERSE_PENALTY = 10.0


# The rows


@dataclass(frozen=True, eq=False)
class Arms:
    """Rows in an order that depends on their content alone, and their two sets of features."""

    data: FitData
    table: FeatureTable
    place: int
    values: tuple[str, str]  # from, to
    arms: tuple[FeatureTable, FeatureTable]  # all rows with each value
    arm: NDArray[np.intp]  # value that each row has: FROM, TO or OTHER
    labels: tuple[str, ...]  # all, then the subgroups
    member: Floats  # whether each row is in each of them; shape (n, n_labels)
    has_target: bool

    @classmethod
    def read(
        cls, model: Any, X: Any, y: Any, feature: Any, to: Any, from_: Any, by: Any, groups: Any
    ) -> Arms:
        """Check everything that is about rows."""
        table = FeatureTable.read(X, model)
        place = table.place(feature)
        n_rows = len(table)
        known = (np.ones(n_rows), np.ones(n_rows, dtype=bool)) if y is None else y
        data = FitData.read(table.X, known, groups=groups)
        if y is not None and data.target.time.min() < 0:
            raise ValueError(
                "y must have times of 0 or more, got a negative one: pass the time since the start "
                "of follow-up."
            )
        labels, member = _subgroups(table, place, by)
        order = canonical_order(numbers_of(data.x), data.target.time, data.target.event)
        data, table, member = data.take(order), table.take(order), member[order]
        columns, has = zip(
            *(
                _column_of(table, place, name, value)
                for name, value in (("from_", from_), ("to", to))
            ),
            strict=True,
        )
        texts = tuple(_text(value) for value in (from_, to))
        if texts[0] == texts[1]:
            raise ValueError(f"to and from_ must be two different values, got {to!r} twice.")
        arm = np.where(has[FROM], FROM, np.where(has[TO], TO, OTHER)).astype(np.intp)
        arms = tuple(table.with_column(place, column) for column in columns)
        return cls(
            data, table, place, (texts[0], texts[1]), (arms[0], arms[1]), arm, labels, member,
            y is not None,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.arm)

    @property
    def name(self) -> str:
        """Name of the feature."""
        return self.table.names[self.place]

    @property
    def is_discrete(self) -> bool:
        """Whether the feature has few values, and enough rows with both of the two."""
        numbers = self.table.numbers(self.place)
        few = numbers is None or np.unique(numbers[~np.isnan(numbers)]).size <= _MOST_VALUES
        return few and bool((np.bincount(self.arm, minlength=2)[:2] >= FEWEST_ROWS).all())

    def units(self) -> NDArray[np.intp]:
        """Return a number for each row that rows of one group share, by first appearance."""
        if self.data.groups is None:
            return np.arange(len(self))
        _, first, unit = np.unique(self.data.groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[unit]

    def take(self, places: NDArray[np.intp]) -> Arms:
        """Return some rows, which may repeat."""
        return replace(
            self,
            data=self.data.take(places),
            table=self.table.take(places),
            arms=(self.arms[0].take(places), self.arms[1].take(places)),
            arm=self.arm[places],
            member=self.member[places],
        )

    @cached_property
    def others(self) -> Floats:
        """The features but the one that is changed, as numbers."""
        names = [j for j in range(self.table.n_columns) if j != self.place]
        X = self.table.X
        if hasattr(X, "iloc"):
            return known_numbers(X.iloc[:, names])
        kept = X[:, names] if isinstance(X, np.ndarray) else X[[X.columns[j] for j in names]]
        return known_numbers(kept)

    def coded(self, value: int | None = None) -> Floats:
        """Return the other features and the values of the treatment, as they are or all one."""
        arm = self.arm if value is None else np.full(len(self), value)
        kinds = np.unique(self.arm)[1:]  # the first has no column of its own
        return np.column_stack((self.others, arm[:, None] == kinds)).astype(np.float64)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _column_of(
    table: FeatureTable, place: int, name: str, value: Any
) -> tuple[Any, NDArray[np.bool_]]:
    """Return a column with one value in all rows, and which rows have it already."""
    numbers = table.numbers(place)
    if numbers is None:
        texts = np.array(table.texts(place), dtype=object)
        has = texts == str(value)
        if not has.any():
            known = ", ".join(repr(text) for text in sorted({*texts} - {"missing"})[:10])
            raise ValueError(
                f"{name} must be one of the values of {table.names[place]!r}, {known}, got "
                f"{value!r}."
            )
    else:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ValueError(
                f"{name} must be a number, as the values of {table.names[place]!r}, got {value!r}."
            )
        has = numbers == number
        if not has.any():
            return np.full(len(table), number), has
    # Taken from a row that has the value, so that it keeps its type.
    return taken(table.column(place), np.full(len(table), int(np.argmax(has)))), has


def _subgroups(table: FeatureTable, place: int, by: Any) -> tuple[tuple[str, ...], Floats]:
    """Return the names of subgroups, all rows first, and their members."""
    ones = np.ones((len(table), 1))
    if by is None:
        return (_ALL,), ones
    numbers: Floats | None
    if isinstance(by, str | int):
        column = table.place(by)
        if column == place:
            raise ValueError(
                f"by must be another column than feature, got {table.names[column]!r} for both."
            )
        name, numbers = table.names[column], table.numbers(column)
        texts = np.array(table.texts(column), dtype=object)
    else:
        name, labels = getattr(by, "name", None) or "", np.asarray(by)
        if labels.shape != (len(table),):
            raise ValueError(
                f"by must be a column or have one label for each of the {len(table)} rows of X, "
                f"got shape {labels.shape}."
            )
        numbers = labels.astype(float) if labels.dtype.kind in "iuf" else None
        texts = np.array([_text(label) for label in labels.tolist()], dtype=object)
    if numbers is not None and np.unique(numbers[~np.isnan(numbers)]).size > _MOST_VALUES:
        cuts = np.unique(np.nanquantile(numbers, np.arange(1, _PARTS) / _PARTS))
        part = np.searchsorted(cuts, numbers)
        ends, what = [f"{cut:.4g}" for cut in cuts], name or "value"
        names = [f"{what} <= {ends[0]}"]
        names += [f"{low} < {what} <= {high}" for low, high in pairwise(ends)]
        names.append(f"{what} > {ends[-1]}")
        masks = [(part == k) & ~np.isnan(numbers) for k in range(len(names))]
        found = [(one, mask) for one, mask in zip(names, masks, strict=True) if mask.any()]
    else:
        distinct = sorted({*texts}, key=_by_size)
        equals = f"{name} = " if name else ""
        found = [(f"{equals}{text}", texts == text) for text in distinct]
    if len(found) > _MOST_GROUPS:
        raise ValueError(
            f"by must have at most {_MOST_GROUPS} different values, got {len(found)}: group them."
        )
    names = [_ALL, *(one for one, _ in found)]
    return tuple(names), np.column_stack((ones, *(mask.astype(float) for _, mask in found)))


def _by_size(text: str) -> tuple[int, float, str]:
    """Order numbers by size, then texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


# The quantity


@dataclass(frozen=True, eq=False)
class Question:
    """The quantity, the times or levels at which it is asked for, and times of a curve."""

    what: str
    at: Floats
    times: Floats  # at which the mean curve is evaluated, for quantiles

    @property
    def is_quantile(self) -> bool:
        """Whether it is a time at a level, and not a number at a time."""
        return self.what in (MEDIAN, QUANTILE)

    @classmethod
    def read(cls, what: str, at: ArrayLike | None, rows: Arms, model: Any) -> Question:
        """Check what is asked for."""
        if what == MEDIAN:
            if at is not None:
                raise ValueError(f"at must be left out for what='median', got {at!r}.")
            at = 0.5
        if at is None:
            if what != MEAN or not rows.has_target:
                raise ValueError(
                    f"at must be given for what={what!r}"
                    + ("" if what != MEAN else " without y")
                    + ", got None."
                )
            return cls(what, np.array([_common_horizon(rows)]), np.empty(0))
        given = np.unique(read_numbers(np.atleast_1d(np.asarray(at)), name="at"))
        if what in (MEDIAN, QUANTILE):
            if not given.size or not 0 < given[0] <= given[-1] < 1:
                raise ValueError(f"at must be levels inside (0, 1) for what={what!r}, got {at!r}.")
            return cls(what, given, _curve_times(model, rows))
        if not given.size or not np.isfinite(given).all() or given[0] <= 0:
            raise ValueError(f"at must be positive times for what={what!r}, got {at!r}.")
        end = _follow_up_end(model, rows)
        if end is not None and given[-1] > end:
            raise ValueError(
                f"at must not lie past the end of follow-up, {end:g}, got {given[-1]:g}: no row "
                "was observed for so long."
            )
        return cls(what, given, np.empty(0))

    def of(self, model: Any, rows: Arms) -> Floats:
        """Return the quantity that a model predicts, shape (2, n_labels, k)."""
        fitted = getattr(model, "model_", model) if isinstance(model, AdaptedModel) else model
        means = np.stack([self._means(fitted, arm, rows.member) for arm in rows.arms])
        if not self.is_quantile:
            return means
        found = np.empty((*means.shape[:2], len(self.at)))
        for place in np.ndindex(means.shape[:2]):
            found[place] = _quantiles_of(means[place], self.times, self.at)
        return found

    def _means(self, model: Any, arm: FeatureTable, member: Floats) -> Floats:
        """Return the means over the members of each group, of what is asked for or of the curve."""
        total: Any = 0.0
        for start in range(0, len(arm), _BLOCK_ROWS):
            places = np.arange(start, min(start + _BLOCK_ROWS, len(arm)))
            total = total + member[places].T @ self._values(model, arm.take(places).X)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(total / member.sum(axis=0)[:, None])

    def _values(self, model: Any, X: Any) -> Floats:
        if self.what == MEAN:
            return np.column_stack([restricted_mean_of(model, X, end) for end in self.at])
        if self.is_quantile:
            return survival_of(model, X, self.times)
        survival = survival_of(model, X, self.at)
        return survival if self.what == SURVIVAL else 1.0 - survival


def _common_horizon(rows: Arms) -> float:
    """Return the last time at which one in twenty with each value is under observation."""
    time = rows.data.target.time
    known = [arm for arm in (FROM, TO) if (rows.arm == arm).any()]
    ends = [default_horizon(time[rows.arm == arm]) for arm in known]
    return min(ends) if ends else default_horizon(time)


def _follow_up_end(model: Any, rows: Arms) -> float | None:
    """Return the last time of the rows, or of those of the fit if that is known."""
    return float(rows.data.target.time.max()) if rows.has_target else follow_up_end(model)


def _curve_times(model: Any, rows: Arms) -> Floats:
    """Return times of the mean curve, up to the last that follow-up supports for half of the rows.

    The same times are used for refits.
    """
    end = _follow_up_end(model, rows)
    if end is None:
        raise ValueError(
            "y must be given for quantiles of a model that does not know the end of its follow-up, "
            "got None."
        )
    for arm in rows.arms:
        curve, reach = adapted_curve(model, arm.X, even_grid(_N_LEVELS))
        if reach is not None:
            supported = curve.with_reach(reach).limit()
            end = min(end, float(np.quantile(supported, 1.0 - SUPPORTED)))
    # Close where events are many, and never far apart.
    levels = np.linspace(0.0, 1.0, _CURVE_TIMES // 2 + 1)
    times = levels * end
    if rows.has_target:
        times = np.union1d(times, np.minimum(np.quantile(rows.data.target.time, levels), end))
    return times[times > 0]


def _quantiles_of(curve: Floats, times: Floats, levels: Floats) -> Floats:
    """Return the times by which a falling curve has reached 1 - level; infinite if it has not."""
    if np.isnan(curve).any():
        return np.full(len(levels), np.nan)
    fallen = 1.0 - np.minimum.accumulate(np.concatenate(([1.0], curve)))
    found = np.interp(levels, fallen, np.concatenate(([0.0], times)))
    return np.where(levels <= fallen[-1], found, np.inf)


# Who has which value


class OverlapRow(NamedTuple):
    """How often one value of the feature occurs, and among whom; a line of `Contrast.overlap`.

    Examples
    --------
    >>> from censquant.inspection._arms import OverlapRow
    >>> OverlapRow("drug", 80, 41, (0.3, 0.4, 0.6), (0.2, 0.4, 0.5), 0.0).clipped
    0.0
    """

    value: str
    n_rows: int
    n_events: int
    # 5 %, 50 % and 95 % quantile of the chance to have the value given the other features, among
    # the rows that have it and among the others
    chance_with: tuple[float, float, float]
    chance_without: tuple[float, float, float]
    clipped: float  # share of all rows whose chance is below 0.03


@dataclass(frozen=True, eq=False)
class Overlap:
    """Chances of both values for rows that their models have not seen."""

    rows: tuple[OverlapRow, OverlapRow]
    chances: Floats  # (n, n_values)
    fold: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Arms, estimator: Any, random_state: Any) -> Overlap | None:
        """Estimate the chances; None where the feature has many values, or too few rows."""
        if not rows.is_discrete:
            return None
        seed = seed_sequence(random_state).spawn(1)[0]
        fold = _arm_folds(rows.data, rows.arm, np.random.default_rng(seed))
        if fold.min() < 0:
            return None
        chances = _treatment_chances(estimator, rows.others, rows.arm, fold)
        return cls(
            (_overlap_row(rows, FROM, chances), _overlap_row(rows, TO, chances)), chances, fold
        )


def _overlap_row(rows: Arms, arm: int, chances: Floats) -> OverlapRow:
    has, chance = rows.arm == arm, chances[:, arm]

    def spread(some: Floats) -> tuple[float, float, float]:
        low, middle, high = np.quantile(some, (0.05, 0.5, 0.95)).tolist()
        return low, middle, high

    return OverlapRow(
        rows.values[arm],
        int(has.sum()),
        int(rows.data.target.event[has].sum()) if rows.has_target else 0,
        spread(chance[has]),
        spread(chance[~has]),
        float((chance < SMALLEST_TREATMENT_CHANCE).mean()),
    )


def _treatment_chances(
    estimator: Any, numbers: Floats, arm: NDArray[np.intp], fold: NDArray[np.int64]
) -> Floats:
    """Return the chances ``(n, n_arms)`` of each value of the treatment, by models of other folds.

    ``arm`` numbers the values from 0; without an estimator it is a logistic regression. Where no
    other feature is left, the chances are the shares of the values.
    """
    n_arms = int(arm.max()) + 1
    chances = np.zeros((len(arm), n_arms))
    for place in range(int(fold.max()) + 1):
        held, train = fold == place, fold != place
        if not numbers.shape[1] and estimator is None:
            chances[held] = np.bincount(arm[train], minlength=n_arms) / train.sum()
            continue
        model = _treatment_model(estimator).fit(numbers[train], arm[train])
        chances[np.ix_(held, model.classes_)] = model.predict_proba(numbers[held])
    return chances


def _treatment_model(estimator: Any) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if estimator is not None:
        return clone(estimator)
    return make_pipeline(StandardScaler(), LogisticRegression(C=_INVERSE_PENALTY, max_iter=1_000))


def _arm_folds(data: FitData, arm: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of every row, with rows of each value of the treatment in all of them.

    Rows of one group are held out together. The values of the treatment are spread over the folds
    as events are elsewhere, the rarer of the two first.
    """
    counts = np.bincount(arm, minlength=2)[:2]
    rare = arm == int(np.argmin(counts))
    labels = np.arange(len(data)) if data.groups is None else data.groups
    marked = Target(data.target.time, rare)
    return make_folds(N_FOLDS, np.empty((len(data), 0)), marked, labels, rng)


# How models are fitted again, and what comes of it


@dataclass(frozen=True, eq=False)
class Refits:
    """How models are fitted again."""

    random_state: Any
    n_jobs: int | None
    verbose: int
    refit: Callable[[Any, Any], Any] | None
    checkpoint: Any
    n_resamples: int

    @contextmanager
    def bar(self, unit: str, total: int | None) -> Iterator[Callable[[], None]]:
        """Show a progress bar, if it is wanted; what it gives is called after each fit."""
        if not self.verbose:
            yield lambda: None
            return
        lock = Lock()
        with Bar("contrast", total, unit=unit) as bar:

            def step() -> None:
                with lock:
                    bar.advance(1)

            yield step

    def template(self, model: Any) -> Any:
        """Return what copies are fitted of, which show no bars of their own."""
        if self.refit is not None:
            return _FittedBy(model, self.refit)
        template = clone(adapt(model))
        silent = {
            name: type(value)(0)
            for name, value in template.get_params().items()
            if name.rpartition("__")[2] == "verbose" and isinstance(value, int)
        }
        return template.set_params(**silent)


class _FittedBy(AdaptedModel):
    """A model that a function of the user fits."""

    def __init__(self, model: Any, refit: Callable[[Any, Any], Any]) -> None:
        super().__init__(model)
        self.refit = refit

    def fit(self, X: Any, y: Any, **params: Any) -> _FittedBy:
        """Fit a model by the function."""
        time, event = y
        self.model_ = self.refit(X, Surv.from_arrays(event=event, time=time))
        return self


@dataclass(frozen=True, eq=False)
class Estimate:
    """The quantity with both values, and ends of intervals of difference and ratio.

    The first table has the shape (2, n_labels, k), all others (n_labels, k).
    """

    own: Floats
    ends: tuple[Floats, Floats]
    ratio_ends: tuple[Floats, Floats]
    supported: Floats  # shares of the rows
    n_resamples: int = 0


def differences(values: Floats) -> Floats:
    """Return to less from; NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values[..., TO, :, :] - values[..., FROM, :, :])


def ratios(values: Floats) -> Floats:
    """Return to over from."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(values[..., TO, :, :] / values[..., FROM, :, :])
