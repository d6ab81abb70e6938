"""Coefficients level by level."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from censquant._typing import Floats


@dataclass(frozen=True)
class Path:
    """Coefficients level by level, as far as they are identified.

    Parameters
    ----------
    taus : ndarray of shape (k,)
        Levels that were reached.
    coefficients : ndarray of shape (k, p)
    stopped_at : float or None
        The first level that is not identified; None if all were reached.
    crossing_levels : ndarray of shape (n,) or None
        Portnoy's method: F(c given x), the level at which the fit passed a censored row; NaN for
        events and for rows never passed.
    draws : ndarray of shape (n_draws, k, p) or None
        Data augmentation: coefficients whose spread shows the precision; NaN where a draw did not
        reach the level.
    """

    taus: Floats
    coefficients: Floats
    stopped_at: float | None
    crossing_levels: Floats | None = None
    draws: Floats | None = None

    @classmethod
    def of(
        cls,
        taus: Floats,
        coefficients: Sequence[Floats],
        n_coefficients: int,
        *,
        stopped_at: float | None = None,
        crossing_levels: Floats | None = None,
    ) -> "Path":
        """Return the path of the levels that have coefficients, the first of ``taus``."""
        table = np.array(coefficients, dtype=np.float64).reshape(-1, n_coefficients)
        return cls(taus[: len(table)], table, stopped_at, crossing_levels)

    def thinned(self, n_levels: int, taus: Floats) -> "Path":
        """Return the path at so many of its levels, evenly spread and with both ends, and ``taus``.

        Examples
        --------
        >>> import numpy as np
        >>> from censquant.estimators.linear._path import Path
        >>> path = Path(np.arange(1, 10) / 10, np.zeros((9, 1)), None)
        >>> path.thinned(3, np.array([0.2])).taus
        array([0.1, 0.2, 0.5, 0.9])
        """
        last = len(self.taus) - 1
        spread = np.linspace(0, last, min(n_levels, last + 1)).round().astype(np.intp)
        kept = np.union1d(spread, np.flatnonzero(np.isin(self.taus, taus)))
        return replace(self, taus=self.taus[kept], coefficients=self.coefficients[kept])

    def at(self, taus: Floats) -> Floats:
        """Return the coefficients at those of some levels of the grid that were reached."""
        reached = taus[np.isin(taus, self.taus)]
        return self.coefficients[np.searchsorted(self.taus, reached)]
