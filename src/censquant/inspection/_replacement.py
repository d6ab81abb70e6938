"""The age at which replacing a unit before it fails costs least."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import framed, html_table
from censquant._typing import Floats
from censquant._validation import check_number
from censquant.estimators import adapt
from censquant.inspection._ages import require_running
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival._columns import read_numbers

RISKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Round risks, which are among the levels of the search."""

NEVER, LATER = "at failure", "not before"
"""What is said in place of an age."""

_LEVELS: Floats = np.array(CURVE_QUANTILES)
# Levels of the search, from rare failures on, as dense where optima of large cost ratios lie.
_SEARCHED: Floats = np.union1d(np.geomspace(5e-4, 0.99, 240), RISKS)
# Levels that carry the shape of a curve; below them single early failures decide.
_LOWEST_FITTED, _FEWEST_FITTED = 0.005, 5
# A replacement that saves less is not recommended: noise of a fit saves as much on paper.
_SMALLEST_SAVING = 0.01
# Shape of a Weibull law from which on the hazard counts as rising where follow-up ends.
_RISING_SHAPE = 1.1
_BLOCK_ROWS = 4_096


@dataclass(frozen=True, eq=False)
class ReplacementPolicy:
    r"""The cheapest age of replacement of each unit; made by `replacement_policy`.

    Parameters
    ----------
    curve : QuantileCurve of n rows
        Lives of the units, from new.
    early_cost, late_cost : float
        Costs of a replacement before a failure, and of a failure.
    age : ndarray of shape (n,)
        Age at which replacing costs least, counted from new; infinite where no replacement before
        failure pays within follow-up.
    level : ndarray of shape (n,)
        Probability of a failure before that age; 1 where the unit runs to failure.
    service : ndarray of shape (n,)
        Mean time in service until the replacement or an earlier failure.
    supported : ndarray of shape (n,)
        Age up to which follow-up supports the search.
    is_rising : ndarray of shape (n,), bool
        Whether the hazard still rises where follow-up ends: where `age` is infinite, a cheapest
        age may then lie beyond.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.inspection import ReplacementPolicy
    >>> from censquant.quantiles import QuantileCurve
    >>> levels = np.linspace(0.01, 0.99, 99)
    >>> weibull = QuantileCurve([1000 * (-np.log1p(-levels)) ** (1 / 2.5)], levels, lower=0.0)
    >>> policy = ReplacementPolicy.of(weibull, early_cost=1.0, late_cost=8.0)
    >>> policy.age.round(-1), policy.level.round(2)
    (array([390.]), array([0.09]))
    """

    curve: QuantileCurve
    early_cost: float
    late_cost: float
    age: Floats
    level: Floats
    service: Floats
    supported: Floats
    is_rising: NDArray[np.bool_]

    @classmethod
    def of(cls, curve: QuantileCurve, early_cost: float, late_cost: float) -> "ReplacementPolicy":
        """Return the policy for units whose curves are known already.

        Parameters
        ----------
        curve : QuantileCurve of n rows
        early_cost, late_cost : float

        Returns
        -------
        policy : ReplacementPolicy
        """
        parts = [_cheapest(curve.take(rows), early_cost, late_cost) for rows in _blocks(curve)]
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(curve, early_cost, late_cost, *columns)

    def take(self, rows: Any) -> "ReplacementPolicy":
        """Return the policy for some of the units.

        Parameters
        ----------
        rows : slice, or array-like of int or bool

        Returns
        -------
        policy : ReplacementPolicy
        """
        return ReplacementPolicy(
            self.curve.take(rows),
            self.early_cost,
            self.late_cost,
            self.age[rows],
            self.level[rows],
            self.service[rows],
            self.supported[rows],
            self.is_rising[rows],
        )

    def __len__(self) -> int:
        return len(self.age)

    @property
    def rate(self) -> Floats:
        """Cost per time in service of each unit under its own policy, shape (n,)."""
        cost = self.early_cost * (1.0 - self.level) + self.late_cost * self.level
        return np.asarray(cost / self.service)

    @property
    def rate_at_failure(self) -> Floats:
        """Cost per time in service of each unit that runs to failure, shape (n,).

        The mean life rests on the tail of the curve, also beyond follow-up.
        """
        return np.asarray(self.late_cost / self.curve.restricted_mean(np.inf))

    @property
    def advice(self) -> list[str]:
        """``"replace"``, ``"at failure"`` (never before), or ``"not before"`` the supported age."""
        return [
            "replace" if np.isfinite(age) else LATER if rising else NEVER
            for age, rising in zip(self.age, self.is_rising, strict=True)
        ]

    def cost_rate(self, ages: ArrayLike) -> Floats:
        """Return the cost per time in service, if units are replaced at given ages.

        Parameters
        ----------
        ages : float or array-like of shape (k,)
            Positive ages from new, the same for all units.

        Returns
        -------
        rate : ndarray of shape (n, k)
            NaN at ages that follow-up does not support.

        Examples
        --------
        >>> import numpy as np
        >>> from censquant.inspection import ReplacementPolicy
        >>> from censquant.quantiles import QuantileCurve
        >>> levels = np.linspace(0.01, 0.99, 99)
        >>> weibull = QuantileCurve([1000 * (-np.log1p(-levels)) ** (1 / 2.5)], levels, lower=0.0)
        >>> policy = ReplacementPolicy.of(weibull, early_cost=1.0, late_cost=8.0)
        >>> (1000 * policy.cost_rate([200, 400, 800])).round(1)
        array([[5.6, 4.3, 5.9]])
        """
        wanted = np.atleast_1d(read_numbers(np.atleast_1d(np.asarray(ages)), name="ages"))
        if not (wanted > 0).all():
            raise ValueError(f"ages must be positive, got {wanted[~(wanted > 0)][0]:g}.")
        found = np.empty((len(self), len(wanted)))
        for rows in _blocks(self.curve):
            times = _smoothed(self.curve.take(rows))[0]
            service = _service(times)
            for place, (own, lasted) in enumerate(zip(times, service, strict=True), rows.start):
                level = np.interp(wanted, own, _SEARCHED, left=0.0)
                # Before the first level hardly a unit fails.
                cycle = np.where(wanted < own[0], wanted, np.interp(wanted, own, lasted))
                cost = self.early_cost * (1.0 - level) + self.late_cost * level
                found[place] = np.where(wanted <= self.supported[place], cost / cycle, np.nan)
        return found

    def __str__(self) -> str:
        advice = self.advice
        lines = [
            f"{len(self)} units; a replacement costs {self.early_cost:g}, a failure "
            f"{self.late_cost:g}"
        ]
        pays = np.isfinite(self.age)
        if pays.any():
            low, middle, high = np.quantile(self.age[pays], (0.1, 0.5, 0.9))
            saved = 1.0 - (self.rate / self.rate_at_failure)[pays]
            lines += [
                f"Replacing before failure pays for {pays.sum()} and saves "
                f"{100 * saved.mean():.0f} % on average",
                f"Age of replacement: {middle:.4g} (median), {low:.4g} to {high:.4g} for 80 % of "
                "them",
            ]
        if NEVER in advice:
            lines.append(f"It never pays for {advice.count(NEVER)}, whose hazard does not rise")
        if LATER in advice:
            lines.append(
                f"It does not pay within follow-up for {advice.count(LATER)} whose hazard still "
                "rises at its end"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_table(("replacement policy",), ((line,) for line in str(self).splitlines()))

    def to_frame(self, X: Any = None) -> Any:
        """Return one row per unit.

        Parameters
        ----------
        X : DataFrame, optional
            Rows whose index the frame takes; a frame of polars gives one of polars.

        Returns
        -------
        frame : DataFrame
            With the columns ``replace_at`` (age from new, infinite for never), ``risk`` (of a
            failure before), ``cost_rate``, ``cost_rate_at_failure``, ``supported`` and ``advice``.
        """
        return framed(
            {
                "replace_at": self.age,
                "risk": self.level,
                "cost_rate": self.rate,
                "cost_rate_at_failure": self.rate_at_failure,
                "supported": self.supported,
                "advice": np.array(self.advice, dtype=object),
            },
            X,
        )


def replacement_policy(
    model: Any, X: Any, early_cost: float, late_cost: float
) -> ReplacementPolicy:
    r"""Return the age at which replacing each unit before it fails costs least.

    A unit is replaced at age :math:`a`, or when it fails before, and an equal unit starts the next
    cycle. By the renewal theorem the long-run cost per time in service is

    .. math:: \{c_e S(a) + c_l F(a)\} / \int_0^a S(t) dt,

    with the costs :math:`c_e` of a replacement before a failure and :math:`c_l` of a failure. A
    running unit is due when it reaches that age: the age that it has now does not change the rule.

    Only ages within follow-up are searched, on a curve that is smoothed over its levels. The age is
    infinite where no replacement saves at least 1 % against running to failure: because the hazard
    does not rise (``advice`` is "at failure"), or because the cheapest age may lie beyond follow-up
    ("not before").

    Lives must count from new: a model of the remaining life, whose features describe the present
    state of a unit, has no such age. Costs are not discounted, and a replacement is taken to be as
    good as new.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows.
    X : array-like or DataFrame of shape (n, n_features)
        Units.
    early_cost : float
        Cost of a replacement before a failure, positive.
    late_cost : float
        Cost of a failure with its replacement, in the same money.

    Returns
    -------
    policy : ReplacementPolicy
        Print it, take ``.to_frame()``, or ask it for the cost at other ages by ``.cost_rate``.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.inspection import replacement_policy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> life, end = 1000 * np.exp(-X[:, 0] / 4) * rng.weibull(3, 600), rng.uniform(0, 2000, 600)
    >>> model = CoxQuantileRegressor().fit(X, (np.minimum(life, end), life <= end))
    >>> policy = replacement_policy(model, X[:3], early_cost=1, late_cost=10)
    >>> bool((policy.rate < policy.rate_at_failure).all())
    True
    """
    costs = [
        check_number(name, cost, minimum=0.0, exclude_minimum=True)
        for name, cost in (("early_cost", early_cost), ("late_cost", late_cost))
    ]
    regressor = adapt(model)
    require_running(regressor)
    return ReplacementPolicy.of(regressor.predict_curve(X), *costs)


def smoothed_lives(curve: QuantileCurve) -> tuple[Floats, Floats]:
    """Return times and mean times in service of all rows, at the levels that are searched."""
    times = np.concatenate([_smoothed(curve.take(rows))[0] for rows in _blocks(curve)])
    return times, _service(times)


def at_risk(columns: Floats, risk: float) -> Floats:
    """Return what rows have at a risk, which may lie between two of the searched levels."""
    after = int(np.clip(np.searchsorted(_SEARCHED, risk), 1, len(_SEARCHED) - 1))
    low, high = _SEARCHED[after - 1], _SEARCHED[after]
    part = (risk - low) / (high - low)
    return np.asarray((1.0 - part) * columns[:, after - 1] + part * columns[:, after])


def _blocks(curve: QuantileCurve) -> Iterator[slice]:
    for start in range(0, max(len(curve), 1), _BLOCK_ROWS):
        yield slice(start, start + _BLOCK_ROWS)


def _cheapest(
    curve: QuantileCurve, early_cost: float, late_cost: float
) -> tuple[NDArray[Any], ...]:
    rows = np.arange(len(curve))
    times, shape = _smoothed(curve)
    service = _service(times)
    cost = early_cost * (1.0 - _SEARCHED) + late_cost * _SEARCHED
    with np.errstate(divide="ignore"):
        rate = np.where(service > 0, cost / service, np.inf)
    last = np.searchsorted(_SEARCHED, np.minimum(curve.reach, _SEARCHED[-1]), side="right") - 1
    last = np.maximum(last, 0)
    rate[np.arange(len(_SEARCHED)) > last[:, None]] = np.inf
    best = rate.argmin(axis=1)
    # Run to failure for comparison; the smoothed curve ends where one in a hundred is left.
    saving = 1.0 - rate[rows, best] * service[:, -1] / late_cost
    pays = (best < last) & (saving >= _SMALLEST_SAVING)
    mean_life = curve.restricted_mean(np.inf)
    return (
        np.where(pays, times[rows, best], np.inf),
        np.where(pays, _SEARCHED[best], 1.0),
        np.where(pays, service[rows, best], mean_life),
        times[rows, last],
        shape > _RISING_SHAPE,
    )


def _service(times: Floats) -> Floats:
    """Return the mean time in service up to each of the searched levels: the area below S."""
    survival = 1.0 - _SEARCHED
    first = times[:, :1] * (1.0 - 0.5 * _SEARCHED[0])
    steps = np.diff(times, axis=1) * 0.5 * (survival[1:] + survival[:-1])
    return np.cumsum(np.concatenate([first, steps], axis=1), axis=1)


def _smoothed(curve: QuantileCurve) -> tuple[Floats, Floats]:
    """Return the times of the searched levels, and the Weibull shape where follow-up ends.

    The curves of an ensemble have steps, and a minimum over steps is noise: log t is fitted per row
    by a parabola in log(-log S), a line of which is a Weibull law, over the levels within
    follow-up. Rows with too few such levels keep their own curve.
    """
    scale = np.log(-np.log1p(-_LEVELS))
    wanted = np.log(-np.log1p(-_SEARCHED))
    own, raw = curve.at(_LEVELS), curve.at(_SEARCHED)
    reach = np.minimum(curve.reach, _LEVELS[-1])
    used = (reach[:, None] >= _LEVELS) & (own > 0) & (_LEVELS >= _LOWEST_FITTED)
    weight = np.where(used, _LEVELS * (1.0 - _LEVELS), 0.0)
    fitted = used.sum(axis=1) >= _FEWEST_FITTED
    basis = np.stack([np.ones_like(scale), scale, scale**2], axis=1)
    shape = np.full(len(own), np.nan)
    if not fitted.any():
        return raw, shape
    log_time = np.log(np.where(used, own, 1.0))[fitted]
    normal = np.einsum("nl,lp,lq->npq", weight[fitted], basis, basis)
    right = np.einsum("nl,lp,nl->np", weight[fitted], basis, log_time)
    parabola = np.linalg.solve(normal, right[..., None])[..., 0]
    searched = np.stack([np.ones_like(wanted), wanted, wanted**2], axis=1)
    times = raw.copy()
    times[fitted] = np.maximum.accumulate(np.exp(parabola @ searched.T), axis=1)
    end = np.log(-np.log1p(-reach[fitted]))
    slope = parabola[:, 1] + 2.0 * parabola[:, 2] * end
    shape[fitted] = np.where(slope > 0, 1.0 / np.where(slope > 0, slope, 1.0), np.inf)
    return times, shape
