"""What features do over all rows: permutation importance and partial dependence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for
from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer, seed_sequence
from censquant.adapters._predictions import adapted_curve, is_left_censored
from censquant.inspection._table import FeatureTable, taken
from censquant.metrics import get_scorer
from censquant.quantiles._grid import check_quantiles
from censquant.survival._columns import read_numbers, read_weights


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """Loss of score when the values of a feature are shuffled among the rows.

    Made by `permutation_importance`.

    Parameters
    ----------
    features : tuple of str
        Names of the columns.
    importances : ndarray of shape (n_features, n_repeats)
        Score of the rows as they are less that of the rows with the feature shuffled; for
        ``"neg_censored_pinball"`` in units of time.
    baseline : float
        Score of the rows as they are; higher is better.
    scoring : str
        Name of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.inspection import PermutationImportance
    >>> found = PermutationImportance(
    ...     ("age", "sex"), np.array([[0.1, 0.1], [0.4, 0.6]]), -2.0, "neg_censored_pinball"
    ... )
    >>> found.mean.tolist(), found.order.tolist()
    ([0.1, 0.5], [1, 0])
    """

    features: tuple[str, ...]
    importances: Floats
    baseline: float
    scoring: str

    @property
    def mean(self) -> Floats:
        """Mean loss of score of each feature."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean over repeated shuffles of the same rows; NaN for one."""
        n_repeats = self.importances.shape[1]
        if n_repeats < 2:
            return np.full(len(self.features), np.nan)
        return np.asarray(self.importances.std(axis=1, ddof=1) / np.sqrt(n_repeats))

    @property
    def order(self) -> NDArray[np.intp]:
        """Places of the features from the most to the least important."""
        return np.argsort(-self.mean, kind="stable")

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per feature, the most important first.

        Returns
        -------
        frame : DataFrame
            Indexed by ``feature``, with the columns ``importance`` and ``standard_error``.
        """
        pd = pandas_for("to_frame")
        index = pd.Index([self.features[place] for place in self.order], name="feature")
        return pd.DataFrame(
            {
                "importance": self.mean[self.order],
                "standard_error": self.standard_error[self.order],
            },
            index=index,
        )


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: str | Callable[..., float] = "neg_censored_pinball",
    features: Any = None,
    n_repeats: int = 5,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> PermutationImportance:
    """Fall of the score when the values of each feature are shuffled among the rows.

    The score is the censored check loss of the fitted levels by default, so censored rows count
    and importance is in units of time. Use rows that the model was not fitted to: on its training
    rows a model that remembers them makes everything important.

    A feature that shares its information with another one can be shuffled at little cost: both
    then seem unimportant. The standard error says how much the mean would vary with other shuffles
    of the same rows, not with other rows. An importance below zero is chance.

    Parameters
    ----------
    model : fitted model
        Any that the score takes.
    X : array-like or DataFrame of shape (n, n_features)
        Features as the model takes them.
    y : target in any form, of n rows
    scoring : str or callable, default="neg_censored_pinball"
        A name in `censquant.metrics.SCORERS`, or a function called as ``scoring(model, X, y)``
        that returns a number, higher for better; it is given ``sample_weight`` where there is one.
    features : str, int or sequence of these, optional
        Columns to look at, by name or number; all by default.
    n_repeats : int, at least 1, default=5
        Number of shuffles per feature.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the score.
    random_state : int, Generator, RandomState or None
        Source of the shuffles. Those of a feature do not depend on which others are looked at.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    importance : PermutationImportance

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.inspection import permutation_importance
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = 20 + 3 * X[:, 0] + X[:, 1]
    >>> model = LinearQuantileRegressor([0.25, 0.5]).fit(X, y)
    >>> found = permutation_importance(model, X, y, random_state=0)
    >>> bool(found.mean[0] > found.mean[1])
    True
    """
    repeats = check_integer("n_repeats", n_repeats, minimum=1)
    score = get_scorer(scoring) if isinstance(scoring, str) else scoring
    table = FeatureTable.read(X, model)
    places = table.places(features)
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    baseline = float(score(model, table.X, y, **options))
    seeds = seed_sequence(random_state).spawn(table.n_columns)
    importances = np.empty((len(places), repeats))
    bar = Bar("importance", len(places) * repeats, unit="scores") if verbose else None
    try:
        for line, place in enumerate(places):
            rng, column = np.random.default_rng(seeds[place]), table.column(place)
            for repeat in range(repeats):
                shuffled = taken(column, rng.permutation(len(table)))
                rows = table.with_column(place, shuffled).X
                importances[line, repeat] = baseline - score(model, rows, y, **options)
                if bar is not None:
                    bar.advance(1)
    finally:
        if bar is not None:
            bar.close()
    return PermutationImportance(
        tuple(table.names[place] for place in places),
        importances,
        baseline,
        scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score"),
    )


_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """Predicted quantiles at values of one feature, of every row and on average.

    Made by `partial_dependence`.

    Parameters
    ----------
    feature : str
        Name of the column.
    grid : ndarray of shape (m,)
        Values of the feature: increasing numbers, or text for categories.
    quantiles : ndarray of shape (k,)
        Levels of the quantiles.
    individual : ndarray of shape (n, m, k)
        Quantiles of each row if it had each value, in units of time.
    identified : ndarray of shape (m, k)
        Share of the rows whose quantile the data can speak for; 1 where the model does not say.
    sample_weight : ndarray of shape (n,)
        Weights of the rows in averages.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.inspection import PartialDependence
    >>> found = PartialDependence(
    ...     "age", np.array([40.0, 60.0]), np.array([0.5]),
    ...     individual=np.array([[[9.0], [5.0]], [[7.0], [4.0]]]),
    ...     identified=np.ones((2, 1)), sample_weight=np.ones(2),
    ... )
    >>> found.average.ravel().tolist()
    [8.0, 4.5]
    """

    feature: str
    grid: NDArray[Any]
    quantiles: Floats
    individual: Floats
    identified: Floats
    sample_weight: Floats

    @property
    def average(self) -> Floats:
        """Mean quantile over the rows, of shape (m, k): the partial dependence."""
        return np.asarray(np.average(self.individual, axis=0, weights=self.sample_weight))

    @property
    def is_categorical(self) -> bool:
        """Whether the values are categories without an order."""
        return self.grid.dtype.kind != "f"

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per value and level.

        Returns
        -------
        frame : DataFrame
            With the columns ``value``, ``quantile``, ``average`` and ``identified``.
        """
        pd = pandas_for("to_frame")
        n_levels = len(self.quantiles)
        return pd.DataFrame(
            {
                "value": np.repeat(self.grid, n_levels),
                "quantile": np.tile(self.quantiles, len(self.grid)),
                "average": self.average.ravel(),
                "identified": self.identified.ravel(),
            }
        )


def partial_dependence(
    model: Any,
    X: Any,
    feature: str | int,
    *,
    quantiles: ArrayLike = (0.5,),
    grid: ArrayLike | None = None,
    n_values: int = 40,
    percentiles: Sequence[float] = (0.05, 0.95),
    max_rows: int = 1_000,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
) -> PartialDependence:
    """Predicted quantiles as a function of one feature, averaged over the rows, in units of time.

    All rows are given the same value of the feature, everything else stays as it is, and their
    quantiles are averaged; then the next value. The average of quantiles is the typical quantile
    of an individual, not the quantile of the population. Where the feature goes along with
    others, some of these rows are combinations that nobody has: look at the individual curves.

    Parameters
    ----------
    model : fitted model
        Any that `censquant.adapters.is_supported` knows.
    X : array-like or DataFrame of shape (n, n_features)
        Rows to average over, as the model takes them.
    feature : str or int
        Column, by name or number.
    quantiles : array-like of shape (k,), inside (0, 1), default=(0.5,)
        Increasing levels.
    grid : array-like of shape (m,), optional
        Numbers to look at, increasing. By default the values that the column has if they are at
        most ``n_values`` or categories, a missing one left out, otherwise evenly spaced ones.
    n_values : int, at least 2, default=40
        Number of evenly spaced values.
    percentiles : pair of float in [0, 1], default=(0.05, 0.95)
        Quantiles of the feature at which evenly spaced values begin and end.
    max_rows : int, at least 1, default=1000
        Rows to average over; of more a random sample is taken.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf) of the rows in the average.
    random_state : int, Generator, RandomState or None, default=0
        Source of that sample.

    Returns
    -------
    dependence : PartialDependence

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.inspection import partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearQuantileRegressor([0.25, 0.5]).fit(X, 20 + 3 * X[:, 0] + X[:, 1])
    >>> found = partial_dependence(model, X, 0, grid=[-1.0, 1.0])
    >>> float(np.diff(found.average[:, 0])[0].round(6))
    6.0
    """
    levels = check_quantiles(quantiles)
    table = FeatureTable.read(X, model)
    place = table.place(feature)
    weight = read_weights(sample_weight, len(table))
    n_most = check_integer("max_rows", max_rows, minimum=1)
    values, sources = _values(
        table, place, grid, check_integer("n_values", n_values, minimum=2), percentiles
    )
    rows = np.arange(len(table))
    if len(table) > n_most:
        rng = np.random.default_rng(seed_sequence(random_state))
        rows = np.sort(rng.choice(len(table), n_most, replace=False))
    part = table.take(rows)
    is_lowest = is_left_censored(model)
    individual = np.empty((len(rows), len(values), len(levels)))
    identified = np.ones((len(values), len(levels)))
    for column, value in enumerate(values):
        if sources is None:
            changed = part.with_column(place, np.full(len(rows), value))
        else:
            same = np.full(len(rows), sources[column])
            changed = part.with_column(place, taken(table.column(place), same))
        curve, reach = adapted_curve(model, changed.X, levels)
        individual[:, column] = curve.values
        if reach is not None:
            known = (
                levels >= reach[:, None] - _ROUNDING
                if is_lowest
                else levels <= reach[:, None] + _ROUNDING
            )
            identified[column] = np.average(known, axis=0, weights=weight[rows])
    return PartialDependence(
        table.names[place], values, levels, individual, identified, weight[rows]
    )


def _values(
    table: FeatureTable,
    place: int,
    grid: ArrayLike | None,
    n_values: int,
    percentiles: Sequence[float],
) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """Return the values to look at and, for categories, a row that has each of them."""
    numbers = table.numbers(place)
    if grid is not None:
        if numbers is None:
            raise ValueError(
                f"grid must be left out for {table.names[place]!r}, whose values are categories."
            )
        return _read_grid(grid), None
    if numbers is None:
        texts = np.array(table.texts(place), dtype=object)
        distinct, first = np.unique(texts.astype(str), return_index=True)
        there = distinct != "missing"
        return distinct[there], first[there]
    known = np.unique(numbers[~np.isnan(numbers)])
    if not known.size:
        raise ValueError(
            f"feature must have a value in some row, but {table.names[place]!r} has none."
        )
    if known.size <= n_values:
        return known, None
    low, high = np.quantile(numbers[~np.isnan(numbers)], percentiles)
    if low == high:
        return known[np.linspace(0, known.size - 1, n_values).round().astype(np.intp)], None
    return np.linspace(low, high, n_values), None


def _read_grid(grid: ArrayLike) -> Floats:
    """Return the values that are given, or raise one sentence."""
    values = read_numbers(grid, name="grid")
    if not values.size or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ValueError(
            f"grid must be one or more finite numbers in increasing order, got {grid!r}."
        )
    return values
