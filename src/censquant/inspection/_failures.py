"""How many units of a fleet will have failed within some time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import html_table, pandas_for
from censquant._typing import Floats
from censquant._validation import check_number
from censquant._warn import warn_user
from censquant.estimators import adapt
from censquant.exceptions import ExtrapolationWarning
from censquant.inspection._ages import DEFAULT_UNIT, read_ages, require_running
from censquant.inspection._table import FeatureTable, read_labels
from censquant.quantiles import QuantileCurve
from censquant.survival import Target, read_target
from censquant.survival._columns import read_numbers

ALL = "all"
"""Name of the line that counts all units, where others count groups."""
# With fewer of the units supported, most of the number is the law of the tail.
_SUPPORTED = 0.5

# Units that are multiplied out term by term, before products are joined by Fourier transforms.
_SHORT = 64
# Ages are cut into classes of at least so many observed failures, and at most so many classes.
_CLASS_FAILURES, _MOST_CLASSES = 10, 20
_MOST_GROUPS = 100
_NOTHING = 1e-14  # above the rounding of a transform
# Half a failure more than was seen, so that a class without any has a limit (Jeffreys).
_UNSEEN = 0.5
# Points of a standard normal variable, over which the uncertain risk is averaged. The trapezoidal
# rule is accurate as long as chance moves the number by a tenth of what the model does.
_POINTS: Floats = np.linspace(-4.5, 4.5, 31)
_WEIGHTS: Floats = np.exp(-0.5 * _POINTS**2) / np.exp(-0.5 * _POINTS**2).sum()


class ExpectedFailuresRow(NamedTuple):
    """One line of `ExpectedFailures`.

    Examples
    --------
    >>> from censquant.inspection._failures import (ExpectedFailuresRow)
    >>> ExpectedFailuresRow(90.0, 10.7, 6, 16, 0.98, 16).high
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
    spares: int  # number of failures that is not exceeded with the probability `service_level`
    group: str = ALL
    n_units: int = 0  # in the group


@dataclass(frozen=True, eq=False)
class ExpectedFailures:
    """Numbers of failures by horizon and group; made by `expected_failures`.

    Parameters
    ----------
    rows : tuple of ExpectedFailuresRow
        All units first, then each group.
    n_units : int
    confidence : float
        Of the limits.
    service_level : float, default 0.95
        Of the spares.
    n_learned : int, optional
        Failures that the limits take the model to have learned from; None if they contain chance
        alone.

    Examples
    --------
    >>> from censquant.inspection import ExpectedFailures
    >>> from censquant.inspection._failures import (ExpectedFailuresRow)
    >>> print(ExpectedFailures((ExpectedFailuresRow(90.0, 10.7, 6, 16, 0.98, 16),), 285, 0.9))
    285 units
     horizon  expected  90 % from    to  spares (95 %)  supported
          90      10.7          6    16             16       98 %
    """

    rows: tuple[ExpectedFailuresRow, ...]
    n_units: int
    confidence: float
    service_level: float = 0.95
    n_learned: int | None = None

    @classmethod
    def of(
        cls,
        curve: QuantileCurve,
        elapsed: ArrayLike,
        horizons: ArrayLike,
        *,
        groups: Sequence[str] | None = None,
        y_train: Any = None,
        groups_train: Sequence[str] | None = None,
        confidence: float = 0.95,
        service_level: float = 0.95,
    ) -> "ExpectedFailures":
        """Return the numbers of failures of units whose curves are known already.

        Parameters
        ----------
        curve : QuantileCurve of n rows
        elapsed : float or array-like of shape (n,)
        horizons : array-like of shape (k,)
            Increasing.
        groups : sequence of str, optional
            Names of the groups of the units.
        y_train : times and events, optional
        groups_train : sequence of str, optional
            Names of the groups of the rows of ``y_train``.
        confidence, service_level
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
         horizon  expected  95 % from    to  spares (95 %)  supported
               1       2.7          0     5              5      100 %
               2       5.3          3     8              7      100 %
        """
        age, ahead = read_ages(elapsed, len(curve)), np.asarray(horizons, dtype=np.float64)
        risk = curve.risk_within(age, ahead)
        known = curve.given(age).is_identified(curve.cdf(age[:, None] + ahead))
        past = None if y_train is None else Past.of(read_past(y_train), groups_train)
        levels = np.array([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0, service_level])
        parts: list[tuple[str, Any]] = [(ALL, slice(None))]
        if groups is not None:
            names = _names_of_groups(groups)
            parts += [(name, np.flatnonzero(names == name)) for name in _sorted_names(names)]
        rows = []
        for name, units in parts:
            n_units = len(age[units])
            for place, horizon in enumerate(ahead.tolist()):
                share = risk[units, place]
                spread = 0.0
                if past is not None:
                    spread = past.spread(curve.take(units), age[units], horizon, name)
                below = np.cumsum(chances_of_counts(share, spread))
                low, high, spares = np.minimum(np.searchsorted(below, levels), n_units).tolist()
                supported = float(known[units, place].mean()) if n_units else 1.0
                rows.append(
                    ExpectedFailuresRow(
                        horizon, float(share.sum()), low, high, supported, spares, name, n_units
                    )
                )
        n_learned = None if past is None else int(past.failures.size)
        return cls(tuple(rows), len(curve), confidence, service_level, n_learned)

    @property
    def _has_groups(self) -> bool:
        return any(row.group != ALL for row in self.rows)

    def __str__(self) -> str:
        texts = self._texts()
        widths = [
            max(len(one) for one in column) + (2 if place else 1)
            for place, column in enumerate(zip(*texts, strict=True))
        ]
        lines = [f"{self.n_units} units"]
        for row in texts:
            cells = [
                f" {one:<{width - 1}}" if self._has_groups and not place else f"{one:>{width}}"
                for place, (one, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("".join(cells).rstrip())
        return "\n".join(lines)

    def _texts(self) -> list[tuple[str, ...]]:
        """Return the heading and the lines."""
        by_group = ("group", "units") if self._has_groups else ()
        heading = (
            *by_group,
            "horizon",
            "expected",
            f"{100 * self.confidence:g} % from",
            "  to",
            f"spares ({100 * self.service_level:g} %)",
            "supported",
        )
        return [
            heading,
            *(
                (
                    *((row.group, f"{row.n_units}") if self._has_groups else ()),
                    f"{row.horizon:g}",
                    f"{row.expected:.1f}",
                    f"{row.low}",
                    f"{row.high}",
                    f"{row.spares}",
                    f"{100 * row.supported:.0f} %",
                )
                for row in self.rows
            ),
        ]

    def _repr_html_(self) -> str:
        heading, *lines = self._texts()
        return f"<p>{self.n_units} units</p>{html_table(heading, lines)}"

    def to_frame(self) -> Any:
        """Return the table as a DataFrame, one row per group and horizon.

        Returns
        -------
        frame : DataFrame
            With the columns ``horizon``, ``expected``, ``low``, ``high``, ``supported``,
            ``spares``, ``group`` (``"all"`` for the fleet) and ``n_units``.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(list(self.rows), columns=list(ExpectedFailuresRow._fields))


def expected_failures(
    model: Any,
    X: Any,
    elapsed: ArrayLike,
    horizons: ArrayLike,
    *,
    as_of: Any = None,
    unit: str = DEFAULT_UNIT,
    by: Any = None,
    y_train: Any = None,
    by_train: Any = None,
    confidence: float = 0.95,
    service_level: float = 0.95,
) -> ExpectedFailures:
    r"""Return how many running units will have failed within each horizon, with limits.

    A unit that has lasted :math:`s` fails within :math:`h` with the probability
    :math:`1 - S(s + h | x) / S(s | x)`. The sum over units is the expected number of failures. The
    limits are quantiles of the number of failures among independent units with these
    probabilities (the Poisson-binomial distribution, computed exactly). Spares are the number that
    is enough with the probability ``service_level``.

    Without ``y_train`` the limits contain chance alone. With it they also contain the uncertainty
    of what was learned: a risk at ages at which 40 failures were seen is known to about
    :math:`1 / \sqrt{40}` = 16 %. All risks are multiplied by a common factor with a gamma
    distribution of mean 1, whose variance is :math:`\sum_c E_c^2 / D_c` divided by
    :math:`(\sum_c E_c)^2`. Here :math:`E_c` is the number of failures that the fleet is expected to
    have at the ages of class :math:`c`, and :math:`D_c` the number of failures of ``y_train`` at
    these ages, plus one half. A group also has a variance for its own level, one divided by the
    number of its past failures.

    No limits contain what hits many units at once (a bad batch, a hot summer), or a model that is
    wrong in its form: check the calibration with `censquant.metrics.evaluate`.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows.
    X : array-like or DataFrame of shape (n, n_features)
        Units that are running.
    elapsed : float or array-like of shape (n,)
        Time that each has lasted already, 0 or more; or, with ``as_of``, the date of its start.
    horizons : float or array-like of shape (k,)
        Positive times from now, in the unit of the model's times.
    as_of : date or str such as "2024-06-30", optional
        Day up to which the units have lasted, where ``elapsed`` are dates.
    unit : {"days", "hours", "weeks", "months", "years", "minutes", "seconds"}, default "days"
        Unit of the model's times, in which such ages are counted.
    by : str, int or array-like of shape (n,), optional
        A column of ``X``, or names of groups: the table then has further rows for each group.
    y_train : times and events, optional
        Target that the model was fitted to, one row for each unit: the limits then contain the
        uncertainty of the model.
    by_train : array-like, optional
        Groups of the rows of ``y_train``; required with ``by`` and ``y_train``.
    confidence : float in (0, 1), default 0.95
        Of the limits. The number of failures is discrete, so that the limits hold at least this
        share: about 1.5 percentage points more where 10 failures are expected, 0.5 where 100 are.
    service_level : float in (0, 1), default 0.95
        Probability that the spares are enough.

    Returns
    -------
    failures : ExpectedFailures
        Print it, or take ``.to_frame()``. The column ``supported`` is the share of units for which
        follow-up reaches the horizon; the risk of the others rests on the model's tail. Below one
        half there is an `ExtrapolationWarning`.

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
    >>> [(row.horizon, row.low <= row.expected <= row.spares <= row.high) for row in found.rows]
    [(30.0, True), (365.0, True)]

    With the uncertainty of the model, by group:

    >>> site = np.where(X[:, 0] > 0, "north", "south")
    >>> found = expected_failures(
    ...     model, X[running], time[running], [365], by=site[running], y_train=(time, event),
    ...     by_train=site,
    ... )
    >>> [row.group for row in found.rows]
    ['all', 'north', 'south']
    """
    shares = [
        check_number(name, value, minimum=0.0, below=1.0, exclude_minimum=True)
        for name, value in (("confidence", confidence), ("service_level", service_level))
    ]
    regressor = adapt(model)
    require_running(regressor)
    ahead = read_horizons(horizons)
    curve = regressor.predict_curve(X)
    groups = None if by is None else read_labels("by", by, FeatureTable.read(X, regressor))
    groups_train = None
    if y_train is not None and by is not None:
        if by_train is None:
            raise ValueError(
                "by_train must have the groups of the rows of y_train where by is given, got None: "
                "pass them, or leave out y_train for limits that contain chance alone."
            )
        groups_train = read_labels("by_train", by_train, len(read_past(y_train)))
    found = ExpectedFailures.of(
        curve,
        read_ages(elapsed, len(curve), as_of=as_of, unit=unit),
        ahead,
        groups=groups,
        y_train=y_train,
        groups_train=groups_train,
        confidence=shares[0],
        service_level=shares[1],
    )
    for row in found.rows:
        if row.group == ALL and row.supported < _SUPPORTED:
            warn_user(
                f"Follow-up supports the risk within {row.horizon:g} of "
                f"{100 * row.supported:.0f} % of the units only, and the numbers of the others "
                "rest on the model's tail: limits do not contain that, ask for an earlier horizon.",
                ExtrapolationWarning,
            )
            break
    return found


def read_horizons(horizons: ArrayLike) -> Floats:
    """Return increasing times from now."""
    ahead = np.unique(read_numbers(np.atleast_1d(np.asarray(horizons)), name="horizons"))
    if not ahead.size or not np.isfinite(ahead).all() or ahead[0] <= 0:
        raise ValueError(f"horizons must be positive times, got {np.ravel(horizons).tolist()}.")
    return ahead


def read_past(y_train: Any) -> Target:
    """Return a target of which only the ages at failures are used."""
    return read_target(y_train, accepts=("right", "delayed_entry"))


def _names_of_groups(groups: Sequence[str]) -> NDArray[Any]:
    """Return names of groups, none of which is that of the line of all units."""
    return np.array([f"group {ALL}" if name == ALL else name for name in groups], dtype=object)


def _sorted_names(groups: NDArray[Any]) -> list[str]:
    names = sorted(set(groups.tolist()))
    if len(names) > _MOST_GROUPS:
        raise ValueError(
            f"by must have at most {_MOST_GROUPS} groups, got {len(names)}: name a column with "
            "few values, or pass wider classes."
        )
    return names


@dataclass(frozen=True, eq=False)
class Past:
    """Failures that a model has learned from, by age and group."""

    failures: Floats  # shape (d,); ages at the observed failures, increasing
    groups: NDArray[Any] | None  # shape (d,), in any order
    edges: Floats  # of the classes of ages, from minus infinity to infinity

    @classmethod
    def of(cls, target: Target, groups: Sequence[str] | None) -> "Past":
        ages = np.sort(target.time[target.event])
        size = max(_CLASS_FAILURES, -(-len(ages) // _MOST_CLASSES))
        edges, start = [-np.inf], 0
        # Equal ages belong to one class, which may be larger.
        for place in range(size, len(ages) - size + 1):
            if place - start >= size and ages[place] > ages[place - 1]:
                edges.append(ages[place])
                start = place
        names = None if groups is None else _names_of_groups(groups)[target.event]
        return cls(ages, names, np.array([*edges, np.inf]))

    def spread(self, curve: QuantileCurve, age: Floats, horizon: float, group: str) -> float:
        """Return the relative variance of the number of failures by what was learned."""
        ends = np.clip(self.edges, age[:, None], age[:, None] + horizon)
        ahead = np.diff(curve.cdf(ends), axis=1) / np.maximum(1.0 - curve.cdf(age)[:, None], 1e-12)
        expected = ahead.sum(axis=0)
        if not expected.sum() > 0:
            return 0.0
        seen = np.histogram(self.failures, self.edges)[0] + _UNSEEN
        found = float((expected**2 / seen).sum() / expected.sum() ** 2)
        if group != ALL and self.groups is not None:
            found += 1.0 / (float((self.groups == group).sum()) + _UNSEEN)
        return found


def chances_of_counts(risk: Floats, spread: float) -> Floats:
    """Return the probabilities of 0, ..., n failures; ``spread`` is that of a common factor."""
    if not spread > 0:
        return _counts(risk)
    # The gamma distribution of mean 1 and this variance, by the cube of a normal variable (Wilson
    # and Hilferty).
    ninth = spread / 9.0
    factors = np.maximum(1.0 - ninth + _POINTS * np.sqrt(ninth), 1e-3) ** 3
    factors /= (_WEIGHTS * factors).sum()
    stay = np.log1p(-np.minimum(risk, 1.0 - 1e-15))
    chances = np.zeros(len(risk) + 1)
    for weight, factor in zip(_WEIGHTS, factors, strict=True):
        chances += weight * _counts(-np.expm1(factor * stay))
    return chances


def _counts(risk: Floats) -> Floats:
    """Return the probabilities of 0, 1, ..., n failures among independent units."""
    n_blocks = 1 << max(0, -(-len(risk) // _SHORT) - 1).bit_length()
    blocks = np.zeros((n_blocks, _SHORT))
    blocks.ravel()[: len(risk)] = risk
    found = np.zeros((n_blocks, _SHORT + 1))
    found[:, 0] = 1.0
    for one in blocks.T[:, :, None]:
        found[:, 1:] = found[:, 1:] * (1.0 - one) + found[:, :-1] * one
        found[:, :1] *= 1.0 - one
    while len(found) > 1:
        # Numbers that no block reaches need not be carried on: most risks are small.
        width = int(np.flatnonzero((found > _NOTHING).any(axis=0))[-1]) + 1
        length = 1 << (2 * width - 2).bit_length()
        transformed = np.fft.rfft(found[:, :width], length, axis=1)
        joined = np.fft.irfft(transformed[0::2] * transformed[1::2], length, axis=1)
        found = np.maximum(joined[:, : 2 * width - 1], 0.0)
    chances = np.zeros(len(risk) + 1)
    n_known = min(len(chances), found.shape[1])
    chances[:n_known] = found[0, :n_known]
    return chances
