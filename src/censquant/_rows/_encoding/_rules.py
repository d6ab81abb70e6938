"""How one column becomes columns of finite numbers, as it was decided in the fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._rows._encoding._values import Categories, Column, Numbers, UnusableColumnError
from censquant._typing import Floats

MOST_LEVELS = 30
"""Columns that one category can become: the most frequent levels; the others share one column."""

_ENOUGH_ROWS = 5
_ROWS_PER_ENOUGH = 10  # in small data


def enough_rows(n_rows: float) -> int:
    """Return how many rows a level must have to get a column of its own.

    Five rows: the effect of a level that is seen less often is mostly noise, and a part of the
    rows is censored at that. No share of the data is asked for, since half a per cent of a million
    rows is plenty, and :data:`MOST_LEVELS` bounds the width. In fewer than fifty rows a tenth of
    them is enough, so that a small example keeps its levels.
    """
    return max(1, min(_ENOUGH_ROWS, int(n_rows) // _ROWS_PER_ENOUGH))


@dataclass(frozen=True)
class NumberRule:
    """A column of numbers: missing values become the median, beside a column that says so.

    Parameters
    ----------
    median : float
    has_value : bool
        False where all values of the fit were the same: only whether one is missing is used.
    has_missing : bool
        Whether values were missing in the fit.
    """

    median: float
    has_value: bool = True
    has_missing: bool = False
    as_category = False

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that the column ``name`` becomes."""
        return [name] * self.has_value + [f"{name} (missing)"] * self.has_missing

    def write(self, column: Column, out: Floats) -> str:
        """Write the columns into an array of zeros; return what was unknown in the fit, or ""."""
        assert isinstance(column, Numbers)
        missing = missing_values(column.values)
        if self.has_value:
            out[:, 0] = column.values
            if missing is not None:
                out[missing, 0] = self.median
        if missing is None:
            return ""
        if self.has_missing:
            out[missing, -1] = 1.0
        return "" if self.has_missing else "missing"


@dataclass(frozen=True)
class CategoryRule:
    """A column of levels: one column of zeros and ones per level.

    Two levels need one column, that of the second.

    Parameters
    ----------
    levels : tuple of str
        Those with a column of their own, sorted.
    has_rare : bool
        Whether the fit had other levels. They and unknown levels count as one level; without it
        unknown levels are zeros in all columns.
    has_missing : bool
        Whether values were missing in the fit: they are a level too.
    """

    levels: tuple[str, ...]
    has_rare: bool = False
    has_missing: bool = False
    as_category = True

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that the column ``name`` becomes."""
        named = [f"{name}={level}" for level in self.levels] + [f"{name} (rare)"] * self.has_rare
        return named[self._n_implied :] + [f"{name} (missing)"] * self.has_missing

    @property
    def has_levels(self) -> bool:
        """Whether more than missing values is used."""
        return len(self.levels) + self.has_rare > 1

    @property
    def _n_implied(self) -> int:
        """Number of levels without a column, because the other columns say it already."""
        return 1 if len(self.levels) + self.has_rare <= 2 else 0

    @property
    def unknown_target(self) -> int:
        """The column of levels that the fit did not have; -1 for none."""
        return len(self.levels) - self._n_implied if self.has_rare else -1

    def missing_target(self, width: int) -> int:
        """Return the column, of so many, of missing values; -1 for none."""
        return width - 1 if self.has_missing else self.unknown_target

    def targets(self, levels: Sequence[str]) -> NDArray[np.intp]:
        """Return the column of each of some levels; negative for none."""
        place = {level: code - self._n_implied for code, level in enumerate(self.levels)}
        return np.array([place.get(level, self.unknown_target) for level in levels], np.intp)

    def write(self, column: Column, out: Floats) -> str:
        """Write the columns into an array of zeros; return what was unknown in the fit, or ""."""
        assert isinstance(column, Categories)
        targets = self.targets(column.levels)
        # The last entry is that of a missing value, whose code is -1.
        target = np.append(targets, self.missing_target(out.shape[1]))[column.codes]
        rows = np.flatnonzero(target >= 0)
        out[rows, target[rows]] = 1.0
        if not self.has_missing and (column.codes < 0).any():
            return "missing"
        if not self.has_rare and _has_other_levels(column, self.levels):
            return "levels"
        return ""


Rule = NumberRule | CategoryRule


def _has_other_levels(column: Categories, known: Sequence[str]) -> bool:
    other = [code for code, level in enumerate(column.levels) if level not in known]
    # Levels that a categorical type declares need not occur.
    return bool(other) and bool(np.isin(column.codes, other).any())


def missing_values(values: Floats) -> NDArray[np.bool_] | None:
    """Return where numbers are missing, None if nowhere; infinity is refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return None
    if np.isinf(values).any():
        raise UnusableColumnError("infinity")
    missing = np.isnan(values)
    return missing if missing.any() else None


def fitted_number_rule(column: Numbers, weight: Floats | None) -> NumberRule | None:
    """Return the rule for a column of numbers, None if nothing can be learned from it."""
    values, missing = column.values, missing_values(column.values)
    if missing is not None:
        values = values[~missing]
        weight = None if weight is None else weight[~missing]
        if not len(values):
            return None
    varies = bool((values != values[0]).any())
    if not varies and missing is None:
        return None
    return NumberRule(_median(values, weight), varies, missing is not None)


def fitted_category_rule(column: Categories, weight: Floats | None) -> CategoryRule | None:
    """Return the rule for a column of levels, None if nothing can be learned from it."""
    present = column.codes >= 0
    counts = np.bincount(
        column.codes[present],
        weights=None if weight is None else weight[present],
        minlength=len(column.levels),
    )
    n_rows = len(column.codes) if weight is None else float(weight.sum())
    frequent = np.flatnonzero(counts >= enough_rows(n_rows))
    ranked = sorted(frequent.tolist(), key=lambda code: (-counts[code], column.levels[code]))
    kept = ranked[:MOST_LEVELS]
    if not present.any():
        return None
    rule = CategoryRule(
        levels=tuple(sorted(column.levels[code] for code in kept)),
        has_rare=bool((counts > 0).sum() > len(kept)),
        has_missing=not present.all(),
    )
    return rule if rule.names("") else None


def _median(values: Floats, weight: Floats | None) -> float:
    """Return the median; a row of weight 3 counts as three rows."""
    if weight is None:
        low, high = (len(values) - 1) // 2, len(values) // 2
        ordered: NDArray[Any] = np.partition(values, [low, high])
    else:
        # Equal values are ordered by their weights: sums must not depend on the order of rows.
        order = np.lexsort((weight, values))
        ordered, total = values[order], np.cumsum(weight[order])
        low, high = (
            int(np.searchsorted(total, total[-1] / 2.0, side=side)) for side in ("left", "right")
        )
        high = min(high, len(ordered) - 1)
    # Halves are added, since the sum of two large numbers may overflow.
    return float(ordered[low] / 2.0 + ordered[high] / 2.0)
