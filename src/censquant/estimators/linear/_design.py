"""The rows of the linear programmes, and the way back to coefficients in the user's units."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.survival import Target

_SMALLEST = float(np.finfo(np.float64).tiny)
# A part of a column that earlier ones do not explain is rounding if smaller than this share.
_NOTHING_NEW = 1e-11


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows among the user's, each with the weight of all its copies.

    Weighting and repeating a row thus give the same programme, and so does any order of the rows.
    """

    x: Floats
    target: Target
    limit: Floats  # known censoring times, infinite where there is none
    weight: Floats  # positive, and 1 on average
    single_weight: Floats  # of the user's rows, in an order that depends only on their content
    group: NDArray[np.intp]  # the distinct row of each of them
    group_of_row: NDArray[np.intp]  # of the user's rows in their own order; -1 for weight 0
    # Number of what each of the single rows belongs to, such as a patient; None where to itself.
    cluster: NDArray[np.intp] | None = None

    @classmethod
    def among(
        cls,
        x: Floats,
        target: Target,
        limit: Floats,
        weight: Floats,
        clusters: NDArray[Any] | None = None,
    ) -> "DistinctRows":
        """Find the distinct rows of positive weight, ordered by time."""
        used = np.flatnonzero(weight > 0)
        # By weight last, so that sums over copies are always taken in the same order.
        keys = [weight[used], *x[used].T[::-1], limit[used], target.event[used], target.time[used]]
        order = used[np.lexsort(keys)]
        first = np.zeros(len(order), dtype=bool)
        first[0] = True
        for column in (target.time, target.event, limit):
            first[1:] |= column[order[1:]] != column[order[:-1]]
        first[1:] |= (x[order[1:]] != x[order[:-1]]).any(axis=1)
        group = np.cumsum(first) - 1
        group_of_row = np.full(len(weight), -1, dtype=np.intp)
        group_of_row[order] = group
        picked = order[first]
        single = weight[order]
        total: Floats = np.bincount(group, weights=single).astype(np.float64)
        mean = total.sum() / len(total)
        return cls(
            x[picked],
            target.take(picked),
            limit[picked],
            total / mean,
            single / mean,
            group,
            group_of_row,
            None if clusters is None else np.unique(clusters[order], return_inverse=True)[1],
        )

    @property
    def n_independent(self) -> int:
        """Number of clusters, or of single rows."""
        return len(self.group) if self.cluster is None else int(self.cluster.max()) + 1

    def weighted(self, factor: Floats) -> Floats:
        """Return weights of the distinct rows after each single row's is multiplied."""
        weights = self.single_weight * factor
        total = np.bincount(self.group, weights=weights, minlength=len(self.weight))
        return total.astype(np.float64)


@dataclass(frozen=True)
class Design:
    """Design and response of the order of 1, without collinear columns.

    Centring and scaling change nothing but rounding: the estimators follow every such change of
    units, and tolerances then have a meaning. Values too small to have all their digits in float64
    are replaced by 0: no coefficient could compensate for them.
    """

    X: Floats  # columns of the programme; the first is ones if there is an intercept
    kept: NDArray[np.intp]  # the user's columns among them
    n_features: int  # number of the user's columns
    intercept: bool
    center: Floats
    scale: Floats
    y_center: float
    y_scale: float

    @classmethod
    def of(cls, x: Floats, y: Floats, *, intercept: bool) -> "Design":
        """Choose columns and units for some rows."""
        ones = np.ones((len(x), int(intercept)))
        x = np.where(np.abs(x) < _SMALLEST, 0.0, x)
        found = independent_columns(np.hstack([ones, x]))
        kept = found[int(intercept) :] - int(intercept)
        if len(found) == 0:
            raise ValueError(
                "X must hold a value other than 0 for fit_intercept=False, got only zeros."
            )
        columns = x[:, kept]
        center = columns.mean(axis=0) if intercept else np.zeros(len(kept))
        y_center = float(np.median(y)) if intercept else 0.0
        scale = _power_of_two(np.abs(columns - center).max(axis=0, initial=0.0))
        y_scale = _power_of_two(np.abs(y - y_center).max())
        return cls(
            np.hstack([ones, (columns - center) / scale]),
            kept,
            x.shape[1],
            intercept,
            center,
            scale,
            y_center,
            float(y_scale),
        )

    @property
    def left_out(self) -> NDArray[np.intp]:
        """The user's columns that are constant or combinations of others."""
        return np.setdiff1d(np.arange(self.n_features), self.kept)

    def response(self, y: Floats) -> Floats:
        """Return times in the programme's unit."""
        return (y - self.y_center) / self.y_scale

    def original(self, beta: Floats) -> Floats:
        """Return rows of coefficients in the user's units, the intercept (or 0) first.

        They are not finite where features vary by next to nothing beside the times.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = beta[:, int(self.intercept) :] * self.y_scale / self.scale
            table = np.zeros((len(beta), 1 + self.n_features))
            table[:, 1 + self.kept] = slopes
            if self.intercept:
                table[:, 0] = beta[:, 0] * self.y_scale + self.y_center - slopes @ self.center
        return table


def _power_of_two(size: Any) -> Any:
    """Return the power of two nearest to a size: dividing by it rounds nothing."""
    return np.where(size > 0, 2.0 ** np.round(np.log2(np.where(size > 0, size, 1.0))), 1.0)


def independent_columns(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the positions of the columns that are no linear combination of columns before them.

    Of collinear columns the first are kept, so that the choice follows from the order of the names.
    """
    n, p = matrix.shape
    directions = np.empty((n, min(n, p)))
    kept: list[int] = []
    for column in range(p):
        if len(kept) == min(n, p):
            break
        size = np.abs(matrix[:, column]).max()
        if size == 0.0:
            continue
        rest = matrix[:, column] / size
        rest = rest / np.linalg.norm(rest)
        # Twice is enough: the second time removes what rounding left of the first.
        for _ in range(2):
            earlier = directions[:, : len(kept)]
            rest = rest - earlier @ (earlier.T @ rest)
        length = np.linalg.norm(rest)
        if length > _NOTHING_NEW:
            directions[:, len(kept)] = rest / length
            kept.append(column)
    return np.array(kept, dtype=np.intp)
