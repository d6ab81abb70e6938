"""Differences of runs that share their seed, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from censquant_bench.reporting._summary import HIGHER_IS_BETTER
from censquant_bench.reporting._tables import plus_minus

if TYPE_CHECKING:
    from pandas import Series

INTERVAL_NOTE = (
    "Differences are of runs with the same seed, ± the half-width of their 95 % interval: the "
    "standard error of the mean difference times the two-sided t quantile with one degree of "
    "freedom less than there are pairs."
)
"""Said below every table of paired differences."""


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference of runs with the same seed, and its 95 % interval.

    Parameters
    ----------
    mean : float
        Mean of second minus first; NaN with no pair.
    half_width : float
        Half the width of the t interval; NaN with fewer than two pairs.
    n_pairs : int
        Seeds that both have.

    Examples
    --------
    >>> from censquant_bench.reporting import PairedDifference
    >>> PairedDifference(0.5, 0.2, 10).better("tqmse")
    'first'
    """

    mean: float
    half_width: float
    n_pairs: int

    @property
    def standard_error(self) -> float:
        """Standard error of the mean difference; NaN with fewer than two pairs."""
        return self.half_width / t_quantile(self.n_pairs)

    def better(self, metric: str) -> str:
        """Which is better beyond the interval: "first", "second", "neither" or "unknown"."""
        if math.isnan(self.mean) or math.isnan(self.half_width):
            return "unknown"
        if abs(self.mean) <= self.half_width:
            return "neither"
        return "second" if (self.mean > 0) == (metric in HIGHER_IS_BETTER) else "first"

    def __str__(self) -> str:
        return plus_minus(self.mean, self.half_width)


def paired_difference(first: Series, second: Series) -> PairedDifference:
    """Difference, second minus first, of two scores that are indexed by seed.

    Runs of one seed share data and split, so pairing takes out what is common to both.

    Parameters
    ----------
    first, second : Series
        Scores by seed; seeds that one of them lacks are left out.

    Returns
    -------
    difference : PairedDifference

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import paired_difference
    >>> print(paired_difference(pd.Series([1.0, 2.0, 4.0]), pd.Series([2.0, 4.0, 7.0])))
    2.000 ± 2.484
    """
    differences = (second - first).dropna().to_numpy(dtype=np.float64)
    n = len(differences)
    if not n:
        return PairedDifference(math.nan, math.nan, 0)
    width = math.nan
    if n > 1:
        # An infinite score has no interval.
        with np.errstate(invalid="ignore"):
            width = float(t_quantile(n) * differences.std(ddof=1) / math.sqrt(n))
    return PairedDifference(float(differences.mean()), width, n)


def t_quantile(n_pairs: int) -> float:
    """Return the factor from the standard error of a mean difference to half a 95 % interval.

    Parameters
    ----------
    n_pairs : int
        Number of differences.

    Returns
    -------
    factor : float
        NaN with fewer than two pairs.

    Examples
    --------
    >>> from censquant_bench.reporting import t_quantile
    >>> round(t_quantile(200), 3)
    1.972
    """
    from scipy.stats import t

    return float(t.ppf(0.975, n_pairs - 1)) if n_pairs > 1 else math.nan
