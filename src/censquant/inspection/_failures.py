"""How many units of a fleet will have failed within some time."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from censquant._frames import html_table, pandas_for
from censquant._typing import Floats
from censquant._validation import check_number
from censquant.adapters._predictions import is_left_censored
from censquant.estimators import adapt
from censquant.quantiles import QuantileCurve
from censquant.survival._columns import read_numbers

# Distributions of parts of the fleet up to this length are multiplied out term by term.
_SHORT = 64


class ExpectedFailuresRow(NamedTuple):
    """One line of `ExpectedFailures`.

    Examples
    --------
    >>> from censquant.inspection._failures import (ExpectedFailuresRow)
    >>> ExpectedFailuresRow(90.0, 10.7, 6, 16, 0.98).high
    16
    """

    horizon: float  # time from now
    expected: float  # mean number of failures by then
    # Limits of the number of failures
    low: int
    high: int
    # Share of the units that follow-up supports until then; the risk of the others is
    # extrapolated
    supported: float


@dataclass(frozen=True, eq=False)
class ExpectedFailures:
    """Numbers of failures by horizon; made by `expected_failures`.

    Parameters
    ----------
    rows : tuple of ExpectedFailuresRow
    n_units : int
    confidence : float
        Of the limits.

    Examples
    --------
    >>> from censquant.inspection import ExpectedFailures
    >>> from censquant.inspection._failures import (ExpectedFailuresRow)
    >>> print(ExpectedFailures((ExpectedFailuresRow(90.0, 10.7, 6, 16, 0.98),), 285, 0.9))
    285 units
     horizon  expected  90 % from    to  supported
          90      10.7          6    16       98 %
    """

    rows: tuple[ExpectedFailuresRow, ...]
    n_units: int
    confidence: float

    @classmethod
    def of(
        cls,
        curve: QuantileCurve,
        elapsed: ArrayLike,
        horizons: ArrayLike,
        *,
        confidence: float = 0.9,
    ) -> "ExpectedFailures":
        """Return the numbers of failures of units whose curves are known already.

        Parameters
        ----------
        curve : QuantileCurve of n rows
        elapsed, horizons, confidence
            As in `expected_failures`.

        Returns
        -------
        failures : ExpectedFailures

        Examples
        --------
        >>> from censquant.inspection import ExpectedFailures
        >>> from censquant.quantiles import QuantileCurve
        >>> curve = QuantileCurve([[1.0, 2.0, 3.0]] * 8, taus=[0.25, 0.5, 0.75], lower=0.0)
        >>> print(ExpectedFailures.of(curve, 1.0, [1.0, 2.0]))
        8 units
         horizon  expected  90 % from    to  supported
               1       2.7          1     5      100 %
               2       5.3          3     7      100 %
        """
        age = np.asarray(elapsed, dtype=np.float64)
        if age.shape not in ((), (len(curve),)):
            raise ValueError(
                f"elapsed must be a number or have shape ({len(curve)},), got {age.shape}."
            )
        age = np.broadcast_to(age, (len(curve),))
        wrong = np.flatnonzero(~np.isfinite(age) | (age < 0))
        if wrong.size:
            raise ValueError(
                f"elapsed must be a time of 0 or more, got {age[wrong[0]]:g} in row {wrong[0]}."
            )
        ahead = np.asarray(horizons, dtype=np.float64)
        risk = curve.risk_within(age, ahead)
        known = curve.given(age).is_identified(curve.cdf(age[:, None] + ahead))
        tails = ((1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0)
        rows = []
        for place, horizon in enumerate(ahead.tolist()):
            below = np.cumsum(_counts(risk[:, place]))
            low, high = (min(int(np.searchsorted(below, tail)), len(curve)) for tail in tails)
            supported = float(known[:, place].mean()) if len(curve) else 1.0
            total = float(risk[:, place].sum())
            rows.append(ExpectedFailuresRow(horizon, total, low, high, supported))
        return cls(tuple(rows), len(curve), confidence)

    def __str__(self) -> str:
        lines = [f"{self.n_units} units", "".join(f"{one:>{w}}" for one, w in self._heading())]
        widths = [width for _, width in self._heading()]
        for row in self._texts():
            lines.append("".join(f"{one:>{w}}" for one, w in zip(row, widths, strict=True)))
        return "\n".join(lines)

    def _heading(self) -> tuple[tuple[str, int], ...]:
        share = f"{100 * self.confidence:g} % from"
        return (
            ("horizon", 8),
            ("expected", 10),
            (share, len(share) + 2),
            ("to", 6),
            (
                "supported",
                11,
            ),
        )

    def _texts(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{row.horizon:g}",
                f"{row.expected:.1f}",
                f"{row.low}",
                f"{row.high}",
                f"{100 * row.supported:.0f} %",
            )
            for row in self.rows
        ]

    def _repr_html_(self) -> str:
        heading = tuple(name for name, _ in self._heading())
        return f"<p>{self.n_units} units</p>{html_table(heading, self._texts())}"

    def to_frame(self) -> Any:
        """Return the table as a DataFrame, one row per horizon.

        Returns
        -------
        frame : DataFrame
            With the columns ``horizon``, ``expected``, ``low``, ``high``, ``supported``.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(list(self.rows), columns=list(ExpectedFailuresRow._fields))


def expected_failures(
    model: Any,
    X: Any,
    elapsed: ArrayLike,
    horizons: ArrayLike,
    *,
    confidence: float = 0.9,
) -> ExpectedFailures:
    r"""Return how many running units will have failed within each horizon, with limits.

    A unit that has lasted :math:`s` fails within :math:`h` with the probability
    :math:`1 - S(s + h | x) / S(s | x)`. The sum over units is the expected number of failures. The
    limits are quantiles of the number of failures among independent units with these
    probabilities (the Poisson-binomial distribution, computed exactly).

    The limits contain chance alone. They do not contain the error of the model, nor what hits many
    units at once (a bad batch, a hot summer): check the calibration of the model with
    `censquant.metrics.evaluate`, and expect wider limits where units depend on each other.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows.
    X : array-like or DataFrame of shape (n, n_features)
        Units that are running.
    elapsed : float or array-like of shape (n,)
        Time that each has lasted already, 0 or more.
    horizons : float or array-like of shape (k,)
        Positive times from now, in the unit of the model's times.
    confidence : float in (0, 1), default 0.9
        Of the limits.

    Returns
    -------
    failures : ExpectedFailures
        Print it, or take ``.to_frame()``. The column ``supported`` is the share of units for which
        follow-up reaches the horizon; the risk of the others rests on the model's tail.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.inspection import expected_failures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> life, end = 1000 * np.exp(-X[:, 0] / 2) * rng.weibull(2, 600), rng.uniform(0, 2500, 600)
    >>> time, event = np.minimum(life, end), life <= end
    >>> model = CoxQuantileRegressor().fit(X, (time, event))
    >>> running = ~event
    >>> found = expected_failures(model, X[running], time[running], [30, 365])
    >>> [(row.horizon, row.low <= row.expected <= row.high) for row in found.rows]
    [(30.0, True), (365.0, True)]
    """
    share = check_number("confidence", confidence, minimum=0.0, below=1.0, exclude_minimum=True)
    regressor = adapt(model)
    if is_left_censored(regressor):
        raise ValueError(
            "model must be fitted with censoring='right', got censoring='left': units that run "
            "have their failure after their age."
        )
    ahead = np.unique(read_numbers(np.atleast_1d(np.asarray(horizons)), name="horizons"))
    if not ahead.size or not np.isfinite(ahead).all() or ahead[0] <= 0:
        raise ValueError(f"horizons must be positive times, got {np.ravel(horizons).tolist()}.")
    return ExpectedFailures.of(regressor.predict_curve(X), elapsed, ahead, confidence=share)


def _counts(risk: Floats) -> Floats:
    """Return the probabilities of 0, 1, ..., n failures among independent units."""
    if len(risk) <= _SHORT:
        found = np.ones(1)
        for one in risk:
            found = np.convolve(found, [1.0 - one, one])
        return found
    from scipy.signal import fftconvolve

    half = len(risk) // 2
    product = fftconvolve(_counts(risk[:half]), _counts(risk[half:]))
    return np.asarray(np.maximum(product, 0.0))
