"""Which rows are held out together: folds by events, groups and equal rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._rows._row_order import canonical_order
from censquant._validation import check_integer
from censquant.survival import Target

NEVER = -1  # the fold of rows that no split holds out
Folds = NDArray[np.int64]


def make_folds(
    cv: Any, x: NDArray[Any], target: Target, groups: Any, rng: np.random.Generator
) -> Folds:
    """Return the fold of every row, counted from 0.

    Rows of one group, and rows that are equal in everything, are held out together: a model that
    has seen one of them has seen the others. Folds have about the same number of units with an
    event and of units without. A fit does not depend on the order of rows, nor on whether a row is
    repeated or weighted. Where fewer units than folds have events there are fewer folds; with
    fewer than two such units there is nothing to compare, and all rows are of fold ``NEVER``.
    """
    if isinstance(cv, list | tuple):
        return folds_of_splits(cv, len(target))
    if names_rows(cv):
        return _folds_of_tests(cv.split(x, target.event, groups), len(target), cv)
    n_folds = check_integer("cv", cv, minimum=2)
    unit = _equal_rows(x, target) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    has_event = np.zeros(n_units, dtype=bool)
    has_event[unit[target.event]] = True
    n_folds = min(n_folds, int(has_event.sum()))
    if n_folds < 2:
        return np.full(len(unit), NEVER)
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    place = 0
    for kind in (has_event, ~has_event):
        members = rng.permutation(np.flatnonzero(kind))
        fold_of_unit[members] = (place + np.arange(len(members))) % n_folds
        place += len(members)
    return fold_of_unit[unit]


def _equal_rows(x: NDArray[Any], target: Target) -> NDArray[np.intp]:
    """Return a number for each row that equal rows share, independent of their order."""
    order = canonical_order(x, target.time, target.event)
    flat = x.reshape(len(x), -1)[order]
    time, event = target.time[order], target.event[order]
    # Equal rows have equal hashes, so they are neighbours.
    is_new = (time[1:] != time[:-1]) | (event[1:] != event[:-1])
    is_new |= (flat[1:] != flat[:-1]).any(axis=1)
    unit = np.empty(len(order), dtype=np.intp)
    unit[order] = np.concatenate(([0], np.cumsum(is_new)))
    return unit


def folds_of_splits(splits: Sequence[Any], n_rows: int) -> Folds:
    """Return the fold of every row by pairs of rows to train on and rows to hold out."""
    return _folds_of_tests(splits, n_rows, "splits")


def names_rows(cv: Any) -> bool:
    """Whether ``cv`` says which rows are held out, not only in how many parts."""
    return isinstance(cv, list | tuple) or (hasattr(cv, "split") and not isinstance(cv, str))


def given_folds(
    cv: Any, x: NDArray[Any], target: Target, groups: Any, used: NDArray[np.intp]
) -> Folds:
    """Return the folds that a splitter or pairs give the rows in use; tests must not overlap.

    They are of all rows in the user's order, since a splitter may go by their places.
    """
    fold = make_folds(cv, x, target, groups, np.random.default_rng(0))[used]
    held = fold != NEVER
    fold[held] = np.unique(fold[held], return_inverse=True)[1]  # some may have no row in use
    return fold


def _folds_of_tests(splits: Iterable[Any], n_rows: int, cv: Any) -> Folds:
    fold = np.full(n_rows, NEVER)
    for place, (_, test) in enumerate(splits):
        held_out = np.asarray(test, dtype=np.intp)
        if (fold[held_out] != NEVER).any():
            raise ValueError(
                f"cv must hold out each row at most once, got {cv!r}, whose test rows overlap."
            )
        fold[held_out] = place
    return fold
