"""Walks from other rows to an individual, one feature at a time, in drawn orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.inspection._table import FeatureTable, Places


@dataclass(frozen=True, eq=False)
class Walks:
    """Orders in which an individual's features replace those of each row of the background.

    Parameters
    ----------
    table : FeatureTable
        The individuals, and below them the rows that they are compared with.
    codes : ndarray of shape (n_rows, n_features)
        Equal where the values of a column are equal.
    n_individuals : int
    orders : ndarray of shape (n_others, 2, n_features)
        A random order of the features for each row of the background, and its reverse.
    """

    table: FeatureTable
    codes: Places
    n_individuals: int
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
