"""Cross-fitted influence values of the survival curves if everybody had one value of a feature."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._rows._cross_fit import FitTask, cross_fit
from censquant._rows._features import dense
from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant._validation import seed_sequence
from censquant.adapters import survival_of
from censquant.estimators import CoxQuantileRegressor
from censquant.estimators._conformal_models import KAPLAN_MEIER, base_model
from censquant.exceptions import (
    CalibrationWarning,
    ExtrapolationWarning,
    FeatureWarning,
    FewEventsWarning,
)
from censquant.inspection._arms import (
    FEWEST_ROWS,
    FROM,
    MEAN,
    SMALLEST_TREATMENT_CHANCE,
    SURVIVAL,
    TO,
    Arms,
    Estimate,
    Overlap,
    Question,
    Refits,
    differences,
    ratios,
)
from censquant.inspection._table import FeatureTable
from censquant.survival import Target, censoring_kaplan_meier
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

FEWEST_EVENTS = 5  # of each value; with fewer an interval of influence values is too short
_SMALLEST_SURVIVAL = 1e-3
_N_CELLS = 100  # of time up to the horizon; hazards are constant within each
_FEWEST_CENSORED = 10  # fewer have one Kaplan-Meier curve of the censoring times for all rows
_COX_PENALTY = 1e-3  # weaker than its default: a dependence that is shrunk leaves a bias
_BLOCK_ROWS = 4_096

# Of models that are fitted in the background, whose warnings the user can do nothing about.
_QUIET = (CalibrationWarning, ExtrapolationWarning, FeatureWarning, FewEventsWarning)


@dataclass(frozen=True, eq=False)
class NuisanceCurves:
    """Predictions for held-out rows with the two values of the treatment, at the ends of cells."""

    grid: Floats  # ends of the cells of time, increasing from the first on
    survival: Floats  # shape (2, n, n_cells)
    censoring: Floats  # chance to be under observation just before; shape (2, n, n_cells)


def time_cells(at: Floats) -> Floats:
    """Return the ends of cells of time up to the last time asked for, each of these among them."""
    even = np.linspace(0.0, at[-1], _N_CELLS + 1)[1:]
    # An even end beside a time that is asked for would make a cell of no width.
    apart = np.abs(even[:, None] - at).min(axis=1) > 1e-6 * at[-1]
    return np.sort(np.concatenate((even[apart], at)))


def fit_nuisances(
    model: Any,
    censoring_estimator: Any,
    rows: Arms,
    fold: NDArray[np.int64],
    grid: Floats,
    seed: np.random.SeedSequence,
    work: Refits,
) -> NuisanceCurves:
    """Fit models of events and of censoring to all folds but one, and predict that one."""
    n_folds, target = int(fold.max()) + 1, rows.data.target
    states = iter(seed.generate_state(2 * n_folds).tolist())
    jobs = [(work.template(model), rows.data, _PredictArms(rows.arms, _survival, grid))]
    by_model = _censoring_model(censoring_estimator, target)
    if by_model is not None:
        hidden = (target.time, ~target.event)
        if censoring_estimator is None:
            # It takes numbers alone, which others need not be given.
            coded = [FeatureTable.read(rows.coded(arm)) for arm in (FROM, TO)]
            flipped = FitData.read(rows.coded(), hidden)
            jobs.append((by_model, flipped, _PredictArms(coded, _steps_before, grid)))
        else:
            flipped = FitData.read(rows.data.x, hidden)
            jobs.append((by_model, flipped, _PredictArms(rows.arms, _before, grid)))
    with work.bar("fits", n_folds * len(jobs)) as step, warnings.catch_warnings():
        for category in _QUIET:
            warnings.simplefilter("ignore", category)
        tasks = [
            FitTask(
                estimator,
                next(states),
                data,
                np.flatnonzero(fold == place),
                replace(predict, held=np.flatnonzero(fold == place)),
                keep_model=False,
                on_done=step,
            )
            for place in range(n_folds)
            for estimator, data, predict in jobs
        ]
        results = iter(cross_fit(tasks, work.n_jobs))
    survival, censoring = np.empty((2, 2, len(rows), len(grid)))
    for place in range(n_folds):
        held, train = fold == place, fold != place
        survival[:, held] = next(results).predicted
        if by_model is None:
            curve = censoring_kaplan_meier(target.time[train], target.event[train])
            censoring[:, held] = curve(grid, side="left")
        else:
            censoring[:, held] = next(results).predicted
    return NuisanceCurves(
        grid,
        np.clip(survival, _SMALLEST_SURVIVAL, 1.0),
        np.clip(censoring, SMALLEST_CENSORING_CHANCE, 1.0),
    )


def _censoring_model(estimator: Any, target: Target) -> Any:
    """Return an unfitted model of the censoring times; None for one Kaplan-Meier curve."""
    if isinstance(estimator, str):
        if estimator != KAPLAN_MEIER:
            raise ValueError(
                f"censoring_estimator must be None, {KAPLAN_MEIER!r} or an estimator, got "
                f"{estimator!r}."
            )
        return None
    if estimator is not None:
        return base_model(estimator)
    n_censored = len(target) - target.n_events
    return None if n_censored < _FEWEST_CENSORED else CoxQuantileRegressor(penalty=_COX_PENALTY)


def _survival(model: Any, X: Any, grid: Floats) -> Floats:
    # What is adapted knows its curves exactly.
    return survival_of(getattr(model, "model_", model), X, grid)


def _before(model: Any, X: Any, grid: Floats) -> Floats:
    """Return chances just before times, where those who are censored at them still count."""
    return _survival(model, X, grid * (1.0 - 1e-9))


def _steps_before(model: CoxQuantileRegressor, X: Any, grid: Floats) -> Floats:
    """Return chances just before times by a baseline that falls at the censored times alone.

    Between them Cox's curves fall in a straight line. Where a study ends for many at one time,
    their chance would fall all the way there.
    """
    place = np.searchsorted(model.baseline_times_, grid)
    hazard = np.concatenate(([0.0], model.baseline_cumulative_hazard_))[place]
    ratio = np.exp(model._log_ratio(dense(model._read_features(X))))
    return np.asarray(np.exp(-np.outer(ratio, hazard)))


@dataclass(frozen=True, eq=False)
class _PredictArms:
    """Predicts survival of held-out rows with each value of the treatment."""

    arms: Sequence[FeatureTable]  # of all rows
    predict: Callable[[Any, Any, Floats], Floats]
    grid: Floats
    held: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def __call__(self, model: Any, rows: FitData, stopping: threading.Event) -> Floats:
        parts = [arm.take(self.held).X for arm in self.arms]
        return np.stack([self.predict(model, X, self.grid) for X in parts])


def influence_values(curves: NuisanceCurves, arm: int, target: Target, weight: Floats) -> Floats:
    r"""Return what each row adds to the survival curve if everybody had a value, at ends of cells.

    .. math:: \phi_i(t) = S(t | x_i) \Big[1 - w_i \int_0^{\min(t, Y_i)}
              \frac{dM_i(u)}{S(u | x_i) G(u- | x_i)}\Big]

    with :math:`w_i` the inverse chance of the value for rows that have it, else 0, and
    :math:`M_i` the martingale of the event: 1 at an event, less the hazard that the row was exposed
    to. Shape (n, n_cells).
    """
    found = np.empty(curves.survival.shape[1:])
    for start in range(0, len(target), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        found[rows] = _block_values(
            curves.grid,
            curves.survival[arm, rows],
            curves.censoring[arm, rows],
            target.take(rows),
            weight[rows],
        )
    return found


def _block_values(
    grid: Floats, survival: Floats, censoring: Floats, target: Target, weight: Floats
) -> Floats:
    """Return the influence values of a block of rows.

    Both hazards are constant within a cell, so that the integral is exact for rows whose time lies
    inside of one.
    """
    starts = np.concatenate(([0.0], grid[:-1]))
    widths = grid - starts
    ones = np.ones((len(survival), 1))
    log_s = np.log(np.concatenate((ones, survival), axis=1))
    log_g = np.log(np.concatenate((ones, np.minimum.accumulate(censoring, axis=1)), axis=1))
    hazard, both = -np.diff(log_s) / widths, -np.diff(log_s + log_g) / widths
    inverse = np.exp(-(log_s + log_g)[:, :-1])  # of both chances where the cell begins
    exposed = np.clip(target.time[:, None] - starts, 0.0, widths)
    growth = both * exposed
    # The integral of exp(both * u) over the exposed part, also where nothing grows.
    length = np.where(growth > 1e-8, np.expm1(growth) / np.where(both > 0.0, both, 1.0), exposed)
    change = -hazard * inverse * length
    cell = np.searchsorted(grid, target.time)
    rows = np.flatnonzero(target.event & (cell < len(grid)))
    place = cell[rows]
    way = both[rows, place] * (target.time[rows] - starts[place])
    change[rows, place] += inverse[rows, place] * np.exp(way)
    return np.asarray(survival * (1.0 - weight[:, None] * np.cumsum(change, axis=1)))


def areas_until(values: Floats, grid: Floats, at: Floats) -> Floats:
    """Return areas under curves that begin at 1, up to some of the ends of cells; shape (n, k)."""
    whole = np.concatenate((np.ones((len(values), 1)), values), axis=1)
    widths = np.diff(np.concatenate(([0.0], grid)))
    areas = np.cumsum((whole[:, 1:] + whole[:, :-1]) / 2.0 * widths, axis=1)
    return np.asarray(areas[:, np.searchsorted(grid, at)])


def doubly_robust(
    model: Any,
    rows: Arms,
    asked: Question,
    overlap: Overlap | None,
    censoring_estimator: Any,
    confidence: float,
    work: Refits,
) -> Estimate:
    from scipy.stats import t as student

    if overlap is None:
        counts = np.bincount(rows.arm, minlength=2)
        raise ValueError(
            f"feature must have few values, and at least {FEWEST_ROWS} rows in several groups with "
            f"each of the two, for method='doubly_robust', got {counts[FROM]} rows with "
            f"{rows.values[FROM]} and {counts[TO]} with {rows.values[TO]}: use "
            "method='bootstrap'."
        )
    target = rows.data.target
    for arm in (FROM, TO):
        last = float(target.time[rows.arm == arm].max())
        if asked.at[-1] > last:
            raise ValueError(
                f"at must not lie past the follow-up of the rows with {rows.name} = "
                f"{rows.values[arm]}, which ends at {last:g}, got {asked.at[-1]:g}."
            )
    grid = time_cells(asked.at)
    seed = seed_sequence(work.random_state).spawn(2)[1]
    fold = overlap.fold
    curves = fit_nuisances(model, censoring_estimator, rows, fold, grid, seed, work)
    place = np.searchsorted(grid, asked.at)
    values = np.empty((2, len(rows), len(asked.at)))
    for arm in (FROM, TO):
        chance = np.maximum(overlap.chances[:, arm], SMALLEST_TREATMENT_CHANCE)
        phi = influence_values(curves, arm, target, (rows.arm == arm) / chance)
        if asked.what == MEAN:
            values[arm] = areas_until(phi, grid, asked.at)
        else:
            values[arm] = phi[:, place] if asked.what == SURVIVAL else 1.0 - phi[:, place]
    counts = rows.member.sum(axis=0)
    own = np.einsum("ng,ank->agk", rows.member, values) / counts[:, None]
    followed = (curves.censoring[:, :, place] > SMALLEST_CENSORING_CHANCE * 1.001).all(axis=0)
    unit = rows.units()
    margin, log_margin = np.empty((2, *own.shape[1:]))
    for label in range(len(rows.labels)):
        inside = rows.member[:, label] > 0
        enough = _events_by_arm(rows, inside, asked.at) >= FEWEST_EVENTS
        deviation = values[:, inside] - own[:, None, label]
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = deviation / own[:, None, label]
        for spread, ends in ((deviation, margin), (relative, log_margin)):
            error, n_units = _standard_error(spread[TO] - spread[FROM], unit[inside])
            factor = float(student.ppf((1.0 + confidence) / 2.0, max(n_units - 1, 1)))
            ends[label] = np.where(enough, factor * error, np.nan)
    difference = differences(own)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_ratio = np.log(ratios(own))
    return Estimate(
        own,
        (difference - margin, difference + margin),
        (np.exp(log_ratio - log_margin), np.exp(log_ratio + log_margin)),
        rows.member.T @ followed / counts[:, None],
    )


def _events_by_arm(rows: Arms, inside: NDArray[np.bool_], at: Floats) -> NDArray[np.intp]:
    """Return the number of events by each time with the value that has fewer of them."""
    target = rows.data.target
    counts = [
        [np.count_nonzero(inside & target.event & (rows.arm == arm) & (target.time <= time))
         for time in at]
        for arm in (FROM, TO)
    ]  # fmt: skip
    return np.asarray(np.min(counts, axis=0))


def _standard_error(deviation: Floats, unit: NDArray[np.intp]) -> tuple[Floats, int]:
    """Return the standard errors of means over rows, whose units are independent; and how many."""
    codes = np.unique(unit, return_inverse=True)[1]
    n_units = int(codes.max()) + 1
    sums = np.zeros((n_units, deviation.shape[1]))
    np.add.at(sums, codes, deviation)
    if n_units < 2:
        return np.full(deviation.shape[1], np.nan), n_units
    variance = (sums**2).sum(axis=0) * n_units / (n_units - 1)
    return np.sqrt(variance) / len(deviation), n_units
