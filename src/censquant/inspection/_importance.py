"""Importance of features: how much worse predictions become when a feature is shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for
from censquant._progress import Bar
from censquant._seeds import seed_sequence
from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.inspection._table import FeatureTable, taken
from censquant.metrics import get_scorer


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
