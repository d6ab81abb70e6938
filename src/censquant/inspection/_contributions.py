"""Shapley contributions of features to one prediction, by walks in both directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from censquant._frames import pandas_for
from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer, check_number, seed_sequence
from censquant.adapters import predict_quantiles_of
from censquant.inspection._table import FeatureTable, Places


@dataclass(frozen=True, eq=False)
class Walks:
    """Orders in which an individual's features replace those of each row of the background."""

    table: FeatureTable  # the individuals, and below them the rows that they are compared with
    codes: Places  # shape (n_rows, n_features); equal where the values of a column are equal
    n_individuals: int
    # shape (n_others, 2, n_features); a random order of the features for each row of the
    # background, and its reverse
    orders: Places

    @classmethod
    def draw(cls, table: FeatureTable, n_individuals: int, rng: np.random.Generator) -> Walks:
        """Return walks in random orders; the rows after the individuals are the background."""
        n_others = len(table) - n_individuals
        orders = rng.permuted(np.tile(np.arange(table.n_columns), (n_others, 1)), axis=1)
        codes = np.column_stack([table.codes(place) for place in range(table.n_columns)])
        return cls(table, codes, n_individuals, np.stack((orders, orders[:, ::-1]), axis=1))

    @property
    def predictions_per_row(self) -> int:
        """Most predictions that one individual needs; the ends of walks are known."""
        n_others, _, n_features = self.orders.shape
        return int(n_others * 2 * (n_features - 1))

    def contributions(
        self,
        rows: Places,
        predict: Callable[[Any], Floats],
        at_rows: Floats,
        at_others: Floats,
    ) -> tuple[Floats, Floats]:
        """Return the mean steps of each feature and their standard errors, one row each."""
        n_others, _, n_features = self.orders.shape
        others = self.n_individuals + np.arange(n_others)
        # A step that changes no value changes no prediction: (row, other, direction, step).
        moves = np.take_along_axis(
            (self.codes[rows, None] != self.codes[others])[:, :, None, :],
            self.orders[None],
            axis=3,
        )
        moves[..., -1] = False  # the last step ends at the individual, whose prediction is known
        # Place of each feature in each order: it is taken from the individual after that step.
        taken_at = np.argsort(self.orders, axis=2)
        row, other, direction, step = np.nonzero(moves)
        from_row = taken_at[other, direction] <= step[:, None]
        source = np.where(from_row, rows[row, None], others[other, None])
        values = np.empty((*moves.shape[:3], n_features + 1))
        values[..., 0] = at_others[:, None]
        values[..., -1] = at_rows[:, None, None]
        inner = values[..., 1:-1]
        if len(source):
            inner[moves[..., :-1]] = predict(self.table.mixed(source))
        # Where nothing moved, the value before is the value still.
        last = np.where(moves[..., :-1], np.arange(1, n_features), 0)
        np.maximum.accumulate(last, axis=3, out=last)
        values[..., 1:-1] = np.take_along_axis(values, last, axis=3)
        steps = np.take_along_axis(np.diff(values, axis=3), taken_at[None], axis=3).mean(axis=2)
        if n_others < 2:
            return steps.mean(axis=1), np.full((len(rows), n_features), np.nan)
        return steps.mean(axis=1), steps.std(axis=1, ddof=1) / np.sqrt(n_others)


# Predictions that a call makes unless it is told otherwise, and limits of the rows compared with.
_BUDGET, _FEWEST, _MOST = 20_000_000, 8, 100
# Rows of the background whose predictions are looked at before some are chosen.
_LOOKED_AT = 10_000
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Contributions:
    """How far each feature moves the predicted quantile of individuals away from the average.

    Made by `contributions`. ``base + values.sum(axis=1)`` is the prediction, up to rounding.

    Parameters
    ----------
    features : tuple of str
        Names of the columns.
    values : ndarray of shape (n, n_features)
        Contributions in units of time; positive moves the quantile to later times.
    standard_errors : ndarray of shape (n, n_features)
        How much the values would vary with other rows of the background and other orders of the
        features.
    base : float
        Mean prediction over the rows that individuals are compared with.
    predictions : ndarray of shape (n,)
        Predicted quantile of each individual.
    quantile : float in (0, 1)
        Level of the quantile.
    n_background : int
        Number of rows that each individual was compared with.
    X : array or DataFrame of shape (n, n_features)
        The individuals.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.inspection import contributions
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearQuantileRegressor([0.5]).fit(X, 20 + 3 * X[:, 0] + X[:, 1])
    >>> found = contributions(model, X[:1], X, random_state=0)
    >>> bool(abs(found.base + found.values.sum() - model.predict(X[:1])[0]) < 1e-6)
    True
    """

    features: tuple[str, ...]
    values: Floats
    standard_errors: Floats
    base: float
    predictions: Floats
    quantile: float
    n_background: int
    X: Any

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> list[Any]:
        """Names of the individuals: the index of the frame, or their numbers from 0."""
        return list(self.X.index) if hasattr(self.X, "iloc") else list(range(len(self)))

    def texts(self, row: int) -> list[str]:
        """Return the values of the features of one individual as text.

        Parameters
        ----------
        row : int
            Its place among the individuals.

        Returns
        -------
        texts : list of str
        """
        one = FeatureTable.read(self.X).take([row])
        return [one.texts(place)[0] for place in range(len(self.features))]

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per individual and feature.

        Returns
        -------
        frame : DataFrame
            Indexed by ``individual`` and ``feature``, with the columns ``value`` (text),
            ``contribution`` and ``standard_error``.
        """
        pd = pandas_for("to_frame")
        index = pd.MultiIndex.from_product(
            [self.names, self.features], names=["individual", "feature"]
        )
        table = FeatureTable.read(self.X)
        columns = [table.texts(place) for place in range(len(self.features))]
        return pd.DataFrame(
            {
                "value": list(chain.from_iterable(zip(*columns, strict=True))),
                "contribution": self.values.ravel(),
                "standard_error": self.standard_errors.ravel(),
            },
            index=index,
        )


def contributions(
    model: Any,
    X: Any,
    background: Any,
    *,
    quantile: float = 0.5,
    n_background: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Contributions:
    r"""Shapley values of the predicted quantile of individuals, in units of time.

    The prediction of an individual differs from the average of others. Exchange the features of
    another row for those of the individual, one after the other: each step moves the prediction,
    and the steps add up to the whole difference. A contribution is the mean step of a feature over
    all orders of the features and over the rows of the background:

    .. math:: \phi_j = \frac{1}{|B|} \sum_{b \in B} E_\pi \big[ f(x_{S_j \cup j}, b) -
              f(x_{S_j}, b) \big]

    with :math:`S_j` the features before j in the order :math:`\pi`. Orders are drawn at random,
    one for each row of the background, and walked in both directions, which is exact for models
    without interactions of three features or more. The cost is ``2 * (n_features - 1) *
    n_background`` predictions per individual, fewer where values agree; the contributions of
    one individual do not depend on the others, for the same ``n_background``.

    A contribution says what the *model* does, not what would happen to the individual if the
    feature changed. Correlated features share what they have in common, and steps pass through
    combinations of values that nobody has. Predictions above the identified level are taken as
    they are.

    Parameters
    ----------
    model : fitted model
        Any that `censquant.adapters.predict_quantiles_of` takes.
    X : array-like or DataFrame of shape (n, n_features)
        The individuals, as the model takes them.
    background : array-like or DataFrame of shape (n_others, n_features)
        Rows that they are compared with, such as the training rows.
    quantile : float in (0, 1), default=0.5
        Level of the quantile; 0.5 is what ``predict`` returns.
    n_background : int, at least 2, optional
        How many rows of the background are used: chosen at random from as many groups of rows
        with similar predictions, so that their mean is close to that of all. By default 100, or
        fewer, but 8 at least, where more than 20 million predictions would be needed.
    random_state : int, Generator, RandomState or None
        Source of the rows and orders.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    contributions : Contributions

    References
    ----------
    .. [1] E. Strumbelj, I. Kononenko (2014). Explaining prediction models and individual
       predictions with feature contributions. *Knowledge and Information Systems* 41.
    .. [2] R. Mitchell, J. Cooper, E. Frank, G. Holmes (2022). Sampling permutations for Shapley
       value estimation. *Journal of Machine Learning Research* 23.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.inspection import contributions
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearQuantileRegressor([0.25, 0.5]).fit(X, 20 + 3 * X[:, 0] + X[:, 1])
    >>> found = contributions(model, X[:2], X, random_state=0)
    >>> found.features, found.values.shape
    (('x0', 'x1'), (2, 2))
    >>> np.allclose(found.values, (X[:2] - X.mean(axis=0)) * [3.0, 1.0])
    True
    """
    level = check_number("quantile", quantile, minimum=0.0, below=1.0, exclude_minimum=True)
    table = FeatureTable.read(X, model)
    others = FeatureTable.read(background, model, name="background")
    table.require_columns_of(others)
    n_rows, n_features = len(table), table.n_columns
    count = _n_background(n_background, n_rows, n_features, len(others))
    row_seed, order_seed = (np.random.default_rng(s) for s in seed_sequence(random_state).spawn(2))

    def predict(features: Any) -> Floats:
        return predict_quantiles_of(model, features, [level])[:, 0]

    chosen, at_chosen = _spread(others, predict, count, row_seed)
    predictions = predict(table.X)
    walks = Walks.draw(table.above(chosen), n_rows, order_seed)
    steps = walks.predictions_per_row
    values, errors = np.empty((n_rows, n_features)), np.empty((n_rows, n_features))
    at_once = max(1, _BATCH_ROWS // max(steps, 1))
    bar = Bar("contributions", n_rows, unit="individuals") if verbose else None
    try:
        for start in range(0, n_rows, at_once):
            rows = np.arange(start, min(start + at_once, n_rows))
            values[rows], errors[rows] = walks.contributions(
                rows, predict, predictions[rows], at_chosen
            )
            if bar is not None:
                bar.advance(len(rows))
    finally:
        if bar is not None:
            bar.close()
    return Contributions(
        table.names,
        values,
        errors,
        float(at_chosen.mean()),
        predictions,
        level,
        count,
        table.X,
    )


def _n_background(given: int | None, n_rows: int, n_features: int, n_others: int) -> int:
    """Return how many rows each individual is compared with."""
    if given is not None:
        return min(check_integer("n_background", given, minimum=2), n_others)
    affordable = _BUDGET // (2 * n_rows * max(n_features - 1, 1))
    return min(int(np.clip(affordable, _FEWEST, _MOST)), n_others)


def _spread(
    others: FeatureTable, predict: Any, count: int, rng: np.random.Generator
) -> tuple[FeatureTable, Floats]:
    """Return one random row of each of ``count`` groups of similar predictions, with these."""
    n_looked_at = min(len(others), max(_LOOKED_AT, count))
    looked_at = others
    if n_looked_at < len(others):
        looked_at = others.take(np.sort(rng.choice(len(others), n_looked_at, replace=False)))
    predictions = predict(looked_at.X)
    order = np.argsort(predictions, kind="stable")
    edges = np.linspace(0, n_looked_at, count + 1).round().astype(np.intp)
    places = order[edges[:-1] + (rng.random(count) * np.diff(edges)).astype(np.intp)]
    return looked_at.take(places), predictions[places]
