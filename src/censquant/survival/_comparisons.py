"""Estimates with standard errors and their differences, and the log-rank test of groups."""

from dataclasses import dataclass, field
from math import erfc, hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for
from censquant._typing import Floats
from censquant._validation import check_number
from censquant._warn import warn_user
from censquant.exceptions import FewEventsWarning
from censquant.survival._columns import as_array, read_entry
from censquant.survival._target import read_columns

# Directions of the covariance below this share of the largest are rounding: groups without rows at
# risk beside others.
_NO_VARIANCE = 1e-10
# With fewer events a group, of three or more, the law of chi-squared does not hold.
_FEWEST_EVENTS = 2


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, as :meth:`KaplanMeier.restricted_mean` returns it.

    Estimates of independent groups can be subtracted: the error of a difference is the root of the
    sum of both squares. Limits and p-values are those of the normal law.

    Parameters
    ----------
    value : float
    standard_error : float

    Examples
    --------
    >>> from censquant.survival import Estimate
    >>> difference = Estimate(297.5, 10.8) - Estimate(241.5, 10.4)
    >>> difference.value
    56.0
    >>> low, high = difference.limits()
    >>> round(low, 1), round(high, 1), round(difference.p_value, 4)
    (26.6, 85.4, 0.0002)
    """

    value: float
    standard_error: float

    def __sub__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        error = hypot(self.standard_error, other.standard_error)
        return Estimate(self.value - other.value, error)

    def limits(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return confidence limits.

        Parameters
        ----------
        confidence : float in (0, 1), default=0.95

        Returns
        -------
        low, high : float
        """
        reach = normal_deviate(confidence) * self.standard_error
        return self.value - reach, self.value + reach

    @property
    def p_value(self) -> float:
        """P-value of the two-sided test that the number is 0; NaN without an error."""
        if not self.standard_error > 0:
            return float("nan")
        return erfc(abs(self.value) / self.standard_error / sqrt(2.0))


def normal_deviate(confidence: float) -> float:
    """Return how many standard errors lie between an estimate and each of its limits."""
    from scipy.special import ndtri

    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    return float(ndtri((1 + level) / 2))


@dataclass(frozen=True, eq=False)
class LogRankTest:
    """Result of :func:`log_rank_test`; ``print`` shows it as a table.

    Parameters
    ----------
    statistic : float
        Chi-squared statistic; NaN where no group can be compared with another.
    degrees_of_freedom : int
        Number of groups that can be compared, less one.
    p_value : float
        Chance of a statistic as large as this where the groups do not differ.
    groups : tuple of str
        Names of the groups, sorted.
    n : ndarray of shape (n_groups,)
        Rows of each group.
    observed : ndarray of shape (n_groups,)
        Events of each group.
    expected : ndarray of shape (n_groups,)
        Events that each group would have if the hazard at each time were that of all rows.
    covariance : ndarray of shape (n_groups, n_groups)
        Covariance of ``observed - expected``.

    Examples
    --------
    >>> from censquant.survival import log_rank_test
    >>> test = log_rank_test([6, 7, 9, 2, 3, 4], [1, 0, 1, 1, 1, 1], ["a"] * 3 + ["b"] * 3)
    >>> test.groups, test.observed, round(test.p_value, 3)
    (('a', 'b'), array([2., 3.]), 0.025)
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    groups: tuple[str, ...]
    n: NDArray[np.int64]
    observed: Floats
    expected: Floats
    covariance: Floats = field(repr=False)

    def __str__(self) -> str:
        left = max(len("group"), *(len(name) for name in self.groups))
        lines = [
            f"Log-rank test: chi-squared {self.statistic:.4g} with {self.degrees_of_freedom} "
            f"degree{'s' * (self.degrees_of_freedom != 1)} of freedom, p = {self.p_value:.4g}",
            f"{'group':{left}}{'n':>8}{'events':>9}{'expected':>11}",
        ]
        rows = zip(self.groups, self.n, self.observed, self.expected, strict=True)
        lines += [f"{name:{left}}{n:8d}{seen:9g}{due:11.2f}" for name, n, seen, due in rows]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per group.

        Returns
        -------
        frame : DataFrame
            Indexed by ``group``, with the columns ``n``, ``observed`` and ``expected``.
        """
        pd = pandas_for("to_frame")
        columns = {"n": self.n, "observed": self.observed, "expected": self.expected}
        return pd.DataFrame(columns, index=pd.Index(self.groups, name="group"))


def log_rank_test(
    time: ArrayLike,
    event: ArrayLike,
    groups: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    entry: ArrayLike | None = None,
) -> LogRankTest:
    """Test whether groups have the same distribution of event times.

    At the time of each event the events of each group are compared with its share of the rows at
    risk. The test finds hazards of constant ratio best. Where curves cross it may find nothing,
    however different they are: compare restricted means then. The variance is the hypergeometric
    one, as in R's ``survdiff`` and SAS's ``PROC LIFETEST``, and differs at ties from the score test
    of Cox's model.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event or of the end of follow-up.
    event : array-like of shape (n,)
        True where the event was observed.
    groups : array-like of shape (n,)
        Numbers or texts, at least two different ones. With more than two there is a
        `FewEventsWarning` below two events a group, where the p-value may be far too small.
    strata : array-like of shape (n,), optional
        Rows are compared only with rows of the same stratum, as by ``strata()`` in R.
    entry : array-like of shape (n,), optional
        Time from which on each row was under observation, as in :func:`kaplan_meier`.

    Returns
    -------
    test : LogRankTest

    Examples
    --------
    >>> from censquant.survival import log_rank_test
    >>> print(log_rank_test([6, 7, 9, 2, 3, 4], [1, 0, 1, 1, 1, 1], ["a"] * 3 + ["b"] * 3))
    Log-rank test: chi-squared 5.052 with 1 degree of freedom, p = 0.0246
    group       n   events   expected
    a           3        2       3.85
    b           3        3       1.15
    """
    target = read_columns(time, event)
    n_rows = len(target)
    names, group = _labels(groups, n_rows, "groups")
    n_groups = len(names)
    if n_groups < 2:
        raise ValueError(
            f"groups must hold at least two different values, got only {str(names[0])!r}."
        )
    start = None if entry is None else read_entry(entry, target.time)
    stratum = np.zeros(n_rows, dtype=np.intp)
    if strata is not None:
        _, stratum = _labels(strata, n_rows, "strata")
    observed, expected = np.zeros(n_groups), np.zeros(n_groups)
    covariance = np.zeros((n_groups, n_groups))
    for place in range(int(stratum.max()) + 1):
        rows = np.flatnonzero(stratum == place)
        if not target.event[rows].any():
            continue
        own = target.take(rows)
        times = np.unique(own.time[own.event])
        # One column for each group: rows at risk, and events, at each time of an event.
        at_risk, events = np.empty((2, len(times), n_groups))
        for column in range(n_groups):
            of_group = group[rows] == column
            ends = np.sort(own.time[of_group])
            at_risk[:, column] = len(ends) - np.searchsorted(ends, times, side="left")
            if start is not None:
                begins = np.sort(start[rows][of_group])
                at_risk[:, column] -= len(begins) - np.searchsorted(begins, times, side="left")
            had = np.sort(own.time[of_group & own.event])
            steps = np.searchsorted(had, times, side="right")
            events[:, column] = steps - np.searchsorted(had, times, side="left")
        n, d = at_risk.sum(axis=1), events.sum(axis=1)
        share = at_risk / n[:, None]
        spread = d * (n - d) / np.maximum(n - 1.0, 1.0)
        observed += events.sum(axis=0)
        expected += d @ share
        covariance += np.diag(spread @ share) - (share * spread[:, None]).T @ share
    n_events = int(observed.sum())
    if n_groups > 2 and 0 < n_events < _FEWEST_EVENTS * n_groups:
        warn_user(
            f"groups have {n_groups} different values for {n_events} events, too few for the "
            "chi-squared law: the p-value may be far too small; put the values into a few classes.",
            FewEventsWarning,
        )
    chi, rank = _quadratic_form(observed - expected, covariance)
    from scipy.special import chdtrc

    return LogRankTest(
        chi,
        rank,
        float(chdtrc(rank, chi)) if rank else float("nan"),
        tuple(str(name) for name in names),
        np.bincount(group, minlength=n_groups),
        observed,
        expected,
        covariance,
    )


def _labels(values: ArrayLike, n_rows: int, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct values of a column, sorted, and the place of each row's among them."""
    column = as_array(values, name)
    if column.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one value for each row, got shape {column.shape} for {n_rows} rows."
        )
    missing = [value is None or value != value for value in column.tolist()]
    if any(missing):
        raise ValueError(
            f"{name} must not be missing, got {sum(missing)} missing values, the first in row "
            f"{missing.index(True)}: drop these rows or name the group."
        )
    if column.dtype.kind == "O":
        column = column.astype(str)
    names, place = np.unique(column, return_inverse=True)
    return names, place


def _quadratic_form(difference: Floats, covariance: Floats) -> tuple[float, int]:
    """Return ``d' C^- d`` and the rank of C, whose rows add up to 0."""
    sizes, axes = np.linalg.eigh(covariance)
    known = sizes > _NO_VARIANCE * max(sizes[-1], 1e-300)
    if not known.any():
        return float("nan"), 0
    along = difference @ axes[:, known]
    return float(along**2 @ (1.0 / sizes[known])), int(known.sum())
