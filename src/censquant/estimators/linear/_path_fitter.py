"""Fits of whole coefficient paths, to the data and to replications of them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training import side_by_side
from censquant._typing import Floats
from censquant.estimators.linear._columns import independent_columns
from censquant.estimators.linear._data_augmentation import DEFAULT_DRAWS, data_augmentation_path
from censquant.estimators.linear._design import Design, DistinctRows
from censquant.estimators.linear._fitzenberger import edge_descent
from censquant.estimators.linear._levels import default_step, levels_of_path
from censquant.estimators.linear._path import Path
from censquant.estimators.linear._peng_huang import peng_huang_path
from censquant.estimators.linear._portnoy import portnoy_path
from censquant.estimators.linear._powell import powell_path, repeated_regressions
from censquant.estimators.linear._replications import row_factors
from censquant.estimators.linear._wang_wang import (
    MOST_FEATURES,
    chosen_bandwidth,
    wang_wang_path,
)

# With fewer, threads wait for each other's Python longer than they compute.
_ROWS_FOR_THREADS = 1_000
# Methods that fit each level by itself; the others need levels between the requested ones.
_LEVEL_BY_LEVEL = ("powell", "fitzenberger", "wang-wang")


@dataclass(frozen=True)
class PathFitter:
    """Rows, levels and method: everything that a fit needs but weights and random numbers.

    Parameters
    ----------
    rows : DistinctRows
        Times in the units of the fit: mirrored for left censoring, logarithms if requested.
    design : Design
    method : {"portnoy", "peng-huang", "powell", "fitzenberger", "wang-wang", "data-augmentation"}
    taus : ndarray of shape (k,)
        The requested levels, mirrored for left censoring.
    levels : ndarray of shape (at least k,)
        The levels of the path, with ``taus`` among them.
    bandwidth : float or None
        Of ``"wang-wang"``, in standard deviations of the features.
    n_draws : int
        Of ``"data-augmentation"``.
    """

    rows: DistinctRows
    design: Design
    method: str
    taus: Floats
    levels: Floats
    bandwidth: float | None = None
    n_draws: int = DEFAULT_DRAWS

    @classmethod
    def of(
        cls,
        rows: DistinctRows,
        method: str,
        taus: Floats,
        *,
        intercept: bool,
        step: float | None,
        bandwidth: float | None = None,
        n_draws: int = 0,
    ) -> "PathFitter":
        """Choose units and levels.

        Where nothing is censored, all methods are quantile regression, which needs no levels
        between the requested ones.
        """
        design = Design.of(rows.x, rows.target.time, intercept=intercept)
        plain = bool(rows.target.event.all()) and not np.isfinite(rows.limit).any()
        method = "portnoy" if plain else method
        levels = taus
        if method == "wang-wang" and len(design.kept) > MOST_FEATURES:
            raise ValueError(
                f"X must have at most {MOST_FEATURES} columns for method='wang-wang', whose "
                f"weights come from rows with similar features, got {len(design.kept)}: select "
                "some, or use method='portnoy'."
            )
        if not plain and method not in _LEVEL_BY_LEVEL:
            n_rows = len(rows.weight)
            step = default_step(method, n_rows) if step is None else step
            levels = levels_of_path(taus, step, n_rows)
        return cls(rows, design, method, taus, levels, bandwidth, n_draws or DEFAULT_DRAWS)

    def with_bandwidth(self, rng: np.random.Generator) -> "PathFitter":
        """Return a fitter whose bandwidth is chosen, if its method needs one that is not given."""
        if self.method != "wang-wang" or self.bandwidth is not None:
            return self
        y, rows = self.design.response(self.rows.target.time), self.rows
        bandwidth = chosen_bandwidth(
            self.design.X, self._similarity(), y, rows.target.event, self.taus, rows.weight, rng
        )
        return replace(self, bandwidth=bandwidth)

    def _similarity(self) -> Floats:
        """Return the features in standard deviations, by which rows are neighbours."""
        columns = self.design.X[:, int(self.design.intercept) :]
        spread: Floats = columns / np.maximum(columns.std(axis=0), np.finfo(np.float64).tiny)
        return spread

    def path(self, weight: Floats, rng: np.random.Generator, near: Floats | None = None) -> Path:
        """Fit the rows of positive weight, which alone have crossing levels."""
        used = weight > 0
        X = self.design.X[used]
        y = self.design.response(self.rows.target.time[used])
        event = self.rows.target.event[used]
        if self.method in ("powell", "fitzenberger"):
            limit = self.design.response(self.rows.limit[used])
            descent = edge_descent if self.method == "fitzenberger" else repeated_regressions
            return powell_path(X, y, limit, self.levels, weight[used], rng, near, descent)
        if self.method == "wang-wang" and self.bandwidth is not None:
            similarity = self._similarity()[used]
            return wang_wang_path(
                X, similarity, y, event, self.levels, weight[used], self.bandwidth
            )
        if self.method == "data-augmentation":
            return data_augmentation_path(X, y, event, self.levels, weight[used], rng, self.n_draws)
        if self.method == "peng-huang":
            return peng_huang_path(X, y, event, self.levels, weight[used])
        return portnoy_path(X, y, event, self.levels, weight[used])

    def up_to(self, n_levels: int) -> "PathFitter":
        """Return a fitter of the first of the requested levels."""
        taus = self.taus[:n_levels]
        return replace(self, taus=taus, levels=self.levels[self.levels <= taus[-1]])

    def replications(
        self,
        kind: str,
        seeds: Sequence[np.random.SeedSequence],
        near: Floats,
        n_jobs: int | None,
    ) -> Floats:
        """Return coefficients of perturbed fits in the user's units, NaN where one stopped."""
        tasks = [Replication(self, kind, seed, near) for seed in seeds]
        n_threads = n_jobs if len(self.rows.weight) >= _ROWS_FOR_THREADS else 1
        return np.array(side_by_side(tasks, n_threads, on_interrupt="raise"))

    def draws_of(self, draws: Floats, levels: Floats) -> Floats:
        """Return a path's draws at the requested levels, in the user's units."""
        kept = np.isin(levels, self.taus)
        return np.array([self.design.original(draw[kept]) for draw in draws])

    def by_row(self, values: Floats) -> Floats:
        """Return values of the distinct rows for each of the user's; NaN for weight 0."""
        group: NDArray[np.intp] = self.rows.group_of_row
        return np.where(group >= 0, values[group], np.nan)


@dataclass(frozen=True)
class Replication:
    """One perturbed fit, to be run beside others.

    Parameters
    ----------
    fitter : PathFitter
    kind : {"jackknife", "pairs", "weights"}
    seed : SeedSequence
    near : ndarray of shape (k, p)
        The fit to the data, from which Powell's searches start.
    """

    fitter: PathFitter
    kind: str
    seed: np.random.SeedSequence
    near: Floats

    def __call__(self, stopping: threading.Event) -> Floats:
        """Return the coefficients in the user's units, NaN where the fit stopped."""
        rows, design, taus = self.fitter.rows, self.fitter.design, self.fitter.taus
        table = np.full((len(taus), 1 + design.n_features), np.nan)
        if stopping.is_set():
            return table
        rng = np.random.default_rng(self.seed)
        weight = rows.weighted(row_factors(self.kind, len(rows.group), rng))
        used = weight > 0
        X, event = design.X[used], rows.target.event[used]
        # Without the only rows that tell two columns apart, or without events, nothing is fitted.
        if event.any() and len(independent_columns(X)) == X.shape[1]:
            found = design.original(self.fitter.path(weight, rng, self.near).at(taus))
            table[: len(found)] = found
        return table
