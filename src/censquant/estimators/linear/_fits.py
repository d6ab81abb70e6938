"""Fits of whole coefficient paths, to the data and to replications of them as in R's crq."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._parallel import side_by_side
from censquant._typing import Floats
from censquant.estimators.linear._design import Design, DistinctRows, independent_columns
from censquant.estimators.linear._methods import (
    DEFAULT_DRAWS,
    MOST_FEATURES,
    Path,
    choose_bandwidth,
    data_augmentation_path,
    peng_huang_path,
    portnoy_path,
    wang_wang_path,
)
from censquant.estimators.linear._powell import edge_descent, powell_path, repeated_regressions

# With fewer, threads wait for each other's Python longer than they compute.
_ROWS_FOR_THREADS = 1_000
# Methods that fit each level by itself; the others need levels between the requested ones.
_LEVEL_BY_LEVEL = ("powell", "fitzenberger", "wang-wang")
# An intermediate level this close to a requested one, as a share of a step, is the same level.
_SAME = 1e-6
# The step up to so many rows. Beyond them sampling error falls and a level takes longer.
_FINE = 1e-3
_ROWS_OF_FINE = 1_000
_Z = NormalDist().inv_cdf(0.975)
_TWENTIETH = NormalDist().inv_cdf(0.95)
# So many times as far as quartiles lie outer quantiles, where quartiles say nothing.
_TOO_NARROW = 4.0
# Standard errors from the median at which replications are cut for their correlations.
_FURTHEST = 3.0
# A quartile distance is this many standard deviations of a normal distribution.
_QUARTILE = NormalDist().inv_cdf(0.75)


@dataclass(frozen=True)
class PathFitter:
    """Rows, levels and method: everything that a fit needs but weights and random numbers.

    Times of ``rows`` are in the units of the fit: mirrored for left censoring, logarithms if
    requested. ``levels`` are those of the path, with the requested ``taus`` among them; for left
    censoring they are mirrored too.
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
        bandwidth = choose_bandwidth(
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
        tasks = [_Replication(self, kind, seed, near) for seed in seeds]
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
class _Replication:
    """One perturbed fit, to be run beside others; Powell's searches start ``near`` the first."""

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
        factor = row_factors(self.kind, rows.n_independent, rng)
        weight = rows.weighted(factor if rows.cluster is None else factor[rows.cluster])
        used = weight > 0
        X, event = design.X[used], rows.target.event[used]
        # Without the only rows that tell two columns apart, or without events, nothing is fitted.
        if event.any() and len(independent_columns(X)) == X.shape[1]:
            found = design.original(self.fitter.path(weight, rng, self.near).at(taus))
            table[: len(found)] = found
        return table


def default_step(method: str, n_rows: int) -> float:
    """Return a distance between levels than which a smaller one hardly changes coefficients.

    That is 0.001 for up to 1,000 rows, then in proportion to them, but never more than the step of
    R's ``crq``. Data augmentation keeps that one: it passes through all levels in every round.
    """
    step = step_of_crq(method, n_rows)
    if method == "data-augmentation":
        return step
    return min(step, max(_FINE, _FINE * n_rows / _ROWS_OF_FINE))


def step_of_crq(method: str, n_rows: int) -> float:
    """Return the distance between levels that R's ``crq`` uses for this number of rows."""
    if method != "peng-huang":
        return 1.0 / (5.0 + 3.0 * math.pow(n_rows, 0.4))
    return min(0.01, 0.5 * math.pow(n_rows, -0.7))


def levels_of_path(taus: Floats, step: float, n_rows: int) -> Floats:
    """Return 1/n, 1/n + step, ... up to the last requested level, and the requested levels."""
    between = np.arange(1.0 / n_rows, taus[-1], step)
    nearest = np.abs(between[:, None] - taus).min(axis=1)
    return np.sort(np.concatenate((taus, between[nearest > _SAME * step])))


def n_deleted(n_rows: int) -> int:
    """Return how many rows each replication of the jackknife leaves out."""
    return 2 * math.ceil(math.sqrt(n_rows))


def row_factors(kind: str, n_rows: int, rng: np.random.Generator) -> Floats:
    """Return the factors of the rows' weights in a replication."""
    if kind == "jackknife":
        factor = np.ones(n_rows)
        factor[rng.choice(n_rows, size=n_deleted(n_rows), replace=False)] = 0.0
        return factor
    if kind == "pairs":
        return np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows).astype(np.float64)
    return rng.exponential(size=n_rows)


def scale_of(kind: str, n_rows: int, n_coefficients: int, of: str = "rows") -> float:
    """Return the ratio of the spread of estimates to that of replications of rows or groups."""
    if kind != "jackknife":
        return 1.0
    deleted = n_deleted(n_rows)
    left = n_rows - deleted - n_coefficients + 1
    if left < 1:
        raise ValueError(
            f"bootstrap='jackknife' leaves out {deleted} {of} per replication and must keep at "
            f"least {n_coefficients}, one per coefficient, got {n_rows} {of}: use "
            "bootstrap='weights'."
        )
    return math.sqrt(left / deleted)


def spread_of(coefficients: Floats, replications: Floats, scale: float) -> tuple[Floats, Floats]:
    r"""Return standard errors and 95 % limits.

    The limits lie :math:`z_{.975} / z_{.75}` quartile distances from the estimate, on each side by
    the quartile of that side, so that a few extreme replications have no effect. Where most
    replications agree, as with tied times or few rows of a level, quartiles say nothing: the 5 %
    and 95 % quantiles take their place. Where fewer than half of the replications reached a level,
    errors and limits are NaN.
    """
    limits = np.full((*coefficients.shape, 2), np.nan)
    for level, values in enumerate(replications.swapaxes(0, 1)):
        reached = values[np.isfinite(values).all(axis=1)]
        if 2 * len(reached) < len(values):
            continue
        below, above = _distances(reached)
        reach = _Z / _QUARTILE * scale
        limits[level, :, 0] = coefficients[level] - reach * below
        limits[level, :, 1] = coefficients[level] + reach * above
    return (limits[..., 1] - limits[..., 0]) / (2.0 * _Z), limits


def _distances(values: Floats) -> tuple[Floats, Floats]:
    """Return the distances of the lower and the upper quartile from the median, of each column."""
    middle = np.quantile(values, 0.5, axis=0)
    low, high = np.quantile(values, (0.25, 0.75), axis=0)
    lowest, highest = np.quantile(values, (0.05, 0.95), axis=0) - middle
    # In units of quartiles, if replications were normal.
    lowest, highest = (end * _QUARTILE / _TWENTIETH for end in (lowest, highest))
    agree = highest - lowest > _TOO_NARROW * (high - low)
    return np.where(agree, -lowest, middle - low), np.where(agree, highest, high - middle)


def covariance_of(replications: Floats, errors: Floats) -> Floats:
    """Return the covariance of each level's coefficients, of shape (k, p, p).

    Correlations are those of the replications, with values cut at three of their own standard
    errors around the median, so that a few extreme ones have little effect.
    """
    n_levels, n_terms = errors.shape
    found = np.full((n_levels, n_terms, n_terms), np.nan)
    for level, values in enumerate(replications.swapaxes(0, 1)):
        reached = values[np.isfinite(values).all(axis=1)]
        if not np.isfinite(errors[level]).any():
            continue
        unit = sum(_distances(reached)) / (2.0 * _QUARTILE)
        unit = np.where(unit > 0, unit, np.inf)
        middle = np.quantile(reached, 0.5, axis=0)
        inside = np.clip((reached - middle) / unit, -_FURTHEST, _FURTHEST)
        inside = inside - inside.mean(axis=0)
        sizes = np.sqrt((inside**2).sum(axis=0))
        sizes = np.where(sizes > 0, sizes, np.inf)
        correlation = (inside.T @ inside) / np.outer(sizes, sizes)
        np.fill_diagonal(correlation, 1.0)
        found[level] = correlation * np.outer(errors[level], errors[level])
    return found
