"""Likelihoods of families: their objectives, and the distributions that they predict."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from censquant._engine._families import GUMBEL, NORMAL, STANDARD, Standard
from censquant._engine.losses._crps import asymmetric_laplace_crps, log_time_crps
from censquant._engine.losses._likelihoods import (
    CALIBRATION_BINS,
    CALIBRATION_SHARPNESS,
    LARGEST_LOG,
    SMALLEST_SCALE,
    asymmetric_laplace,
    asymmetric_laplace_levels,
    bound_outputs,
    calibration_penalty,
    limit_rows,
    location_scale,
    location_scale_levels,
    location_scale_rows,
)
from censquant._engine.losses._shape import (
    ShapeRows,
    ShapeTerms,
    shape_log_likelihood,
    shape_loss,
    shape_rows_log_likelihood,
    shape_rows_loss,
)
from censquant._engine.networks._network import FloatArray
from censquant._engine.training._rows import Rows
from censquant._typing import Floats
from censquant.quantiles._grid import even_grid
from censquant.survival._transform import TimeTransform

_PRECISION = 1e-13  # of log-odds, relative to their size: levels are more exact than that
_MOST_STEPS = 200  # bisection alone needs fewer
LEAST_LEFT = 1e-300
"""Probability that is at least taken to lie above a floor."""


class FormulaDistribution:
    """Predicted distributions, in model units.

    ``quantile`` and ``cdf`` are inverse to each other, and so are ``inverse_survival`` and
    ``survival``. The latter two are exact where the probability of a later event is so small that
    one minus it rounds to one.
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        raise NotImplementedError

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        raise NotImplementedError

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        raise NotImplementedError

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        raise NotImplementedError

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        raise NotImplementedError

    def _average(self, parts: Sequence[Self]) -> Self:
        """Return the distributions whose quantiles are the means of the parts'."""
        raise NotImplementedError


Family = TypeVar("Family", bound=FormulaDistribution)


def average_of(distributions: Sequence[Family]) -> Family:
    """Return the distributions whose quantiles are the means of the given ones'.

    The members of an ensemble are averaged this way: their quantiles at each level and not their
    probabilities at each time, so that members which disagree do not make a wider distribution.
    """
    kinds = sorted({type(part).__name__ for part in distributions})
    if len(kinds) != 1:
        raise TypeError(
            f"distributions must be at least one, and of one family, got {', '.join(kinds) or 0}."
        )
    first = distributions[0]
    return first if len(distributions) == 1 else first._average(distributions)


@dataclass(frozen=True, eq=False)
class LocationScaleDistribution(FormulaDistribution):
    """A standard distribution, given by its name, with locations and scales of shape (n,)."""

    location: Floats
    scale: Floats
    base: str = "normal"

    def __len__(self) -> int:
        return len(self.location)

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return replace(self, location=self.location[rows], scale=self.scale[rows])

    def _average(self, parts: Sequence[Self]) -> Self:
        return replace(
            self,
            location=np.mean([part.location for part in parts], axis=0),
            scale=np.mean([part.scale for part in parts], axis=0),
        )

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        return self._stretch(STANDARD[self.base].quantile(p))

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        return self._stretch(STANDARD[self.base].inverse_survival(p))

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        return STANDARD[self.base].cdf(self._standardize(t))

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        return STANDARD[self.base].survival(self._standardize(t))

    def _stretch(self, u: Floats) -> Floats:
        result: Floats = self.location[:, None] + self.scale[:, None] * u
        return result

    def _standardize(self, t: Floats) -> Floats:
        result: Floats = (t - self.location[:, None]) / self.scale[:, None]
        return result


@dataclass(frozen=True, eq=False)
class AsymmetricLaplaceDistribution(FormulaDistribution):
    r"""Asymmetric Laplace distributions, or averages of their quantile functions.

    Each is an exponential distribution on either side of its location. With the probability
    :math:`b` of a time below it,

    .. math:: F^{-1}(p) = \theta + \alpha \min\Big(\log \frac{p}{b}, 0\Big)
              - \beta \min\Big(\log \frac{1 - p}{1 - b}, 0\Big)

    The average of several such functions is none of them. It is kept as it is, and inverted
    numerically. Arrays have shape (n, n_members).
    """

    location: Floats  # theta
    early: Floats  # alpha, the mean distance of the times below the location
    late: Floats  # beta, of those above it
    log_odds: Floats  # log(b / (1 - b))

    def __len__(self) -> int:
        return len(self.location)

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return type(self)(*(array[rows] for array in self._arrays()))

    def _average(self, parts: Sequence[Self]) -> Self:
        columns = zip(*(part._arrays() for part in parts), strict=True)
        return type(self)(*(np.hstack(arrays) for arrays in columns))

    def _arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.location, self.early, self.late, self.log_odds

    def _members(self) -> list[list[Floats]]:
        """Return the four parameters as columns, member by member."""
        n_members = self.location.shape[1]
        return [[array[:, k, None] for array in self._arrays()] for k in range(n_members)]

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        with np.errstate(divide="ignore"):
            return self._quantile_of_logs(np.log(p), np.log1p(-p))

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        with np.errstate(divide="ignore"):
            return self._quantile_of_logs(np.log1p(-p), np.log(p))

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        return np.asarray(expit(self._log_odds_at(t)))

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        return np.asarray(expit(-self._log_odds_at(t)))

    def _quantile_of_logs(self, log_p: Floats, log_q: Floats) -> Floats:
        """Return the quantiles at levels given by their logarithms and their complements'."""
        members = self._members()
        total = np.zeros(np.broadcast_shapes(log_p.shape, (len(self), 1)))
        for location, early, late, odds in members:
            total += location + early * np.minimum(log_p - log_expit(odds), 0.0)
            total -= late * np.minimum(log_q - log_expit(-odds), 0.0)
        return total / len(members)

    def _slope(self, x: Floats) -> Floats:
        """Return the derivative of the quantiles by the log-odds of the level."""
        members = self._members()
        p, q = expit(x), expit(-x)
        total = np.zeros_like(x)
        for _, early, late, odds in members:
            total += np.where(x < odds, early * q, late * p)
        return total / len(members)

    def _log_odds_at(self, t: Floats) -> Floats:
        """Return the log-odds of the levels of times, which are exact in both tails."""
        times = np.broadcast_to(t, (len(self), t.shape[-1]))
        each = [_log_odds_of_one(times, *member) for member in self._members()]
        if len(each) == 1:
            return each[0]
        # At the lowest of the members' levels no member's quantile lies above the time, so neither
        # does their mean; at the highest none lies below it.
        return self._invert(times, np.min(each, axis=0), np.max(each, axis=0))

    def _invert(self, t: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-odds between low and high at which the quantile is ``t``."""
        finite = np.isfinite(t)
        low, high = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
        x, step = 0.5 * (low + high), high - low
        for _ in range(_MOST_STEPS):
            error, slope = self._quantile_of_logs(log_expit(x), log_expit(-x)) - t, self._slope(x)
            low, high = np.where(error <= 0, x, low), np.where(error >= 0, x, high)
            newton = x - error / slope
            # Bisection where Newton's step leaves the interval, or did not halve the one before it.
            bad = (newton < low) | (newton > high) | (2.0 * np.abs(error) > np.abs(step * slope))
            following = np.where(bad, 0.5 * (low + high), newton)
            step, x = following - x, following
            if not (finite & (np.abs(step) > _PRECISION * (1.0 + np.abs(x)))).any():
                break
        return np.where(finite, x, t)


def _log_odds_of_one(
    t: Floats, location: Floats, early: Floats, late: Floats, odds: Floats
) -> Floats:
    """Return the log-odds of the levels of times under one asymmetric Laplace distribution."""
    below = t < location
    distance = np.abs(t - location) / np.where(below, early, late)
    # The logarithm of the probability beyond the time on its side: a sum of negative numbers, in
    # which no digit is lost.
    tail = np.where(below, log_expit(odds), log_expit(-odds)) - distance
    size = tail - _log_complement(tail)
    result: Floats = np.where(below, size, -size)
    return result


def _log_complement(log_p: Floats) -> Floats:
    """Return ``log(1 - exp(log_p))`` of negative numbers."""
    far = np.log1p(-np.exp(np.minimum(log_p, -1.0)))
    return np.where(log_p < -1.0, far, np.log(-np.expm1(np.maximum(log_p, -1.0))))


def shape_knots(base: str, n_levels: int) -> Floats:
    """Return the quantiles of a standard distribution at evenly spaced levels."""
    return STANDARD[base].quantile(even_grid(n_levels))


@dataclass(frozen=True, eq=False)
class ShapeDistribution(FormulaDistribution):
    """Distributions whose quantile functions bend that of a standard distribution.

    The quantile at a level is linear in the standard distribution's own between knots, and both
    end segments are prolonged: their tails are those of the standard distribution.
    """

    values: Floats  # (n, k): quantiles of each individual at evenly spaced levels, at least two
    base: str = "normal"
    cap: float = np.inf  # larger quantiles are moved down to it
    floor: float = -np.inf  # the distributions are those given a time after it

    @property
    def _standard(self) -> Standard:
        return STANDARD[self.base]

    @cached_property
    def _knots(self) -> Floats:
        return shape_knots(self.base, self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return replace(self, values=self.values[rows])

    def log_likelihood(self, time: Floats, event: NDArray[np.bool_]) -> Floats:
        """Return the log-density of events and the log-survival of censored individuals.

        The density is smoothed as in training: its logarithm is linear between the middles of the
        segments, where that of the piecewise distribution would jump.
        """
        out = np.empty(len(self))
        shape_log_likelihood(self.values, time, event, self._knots, self._standard.code, out)
        return out

    def rows_log_likelihood(
        self, time: Floats, event: NDArray[np.bool_], lower: Floats, entry: Floats
    ) -> Floats:
        """Return the log-likelihood of rows whose events lie in (lower, time], given their entry.

        That of an interval is the logarithm of its probability.
        """
        out, knots = np.empty(len(self)), self._knots
        rows = ShapeRows(time, event, lower, entry, float(self.floor))
        terms = ShapeTerms(knots, knots, self._standard.code, 1.0, 0.0, np.inf, False)
        shape_rows_log_likelihood(self.values, rows, terms, np.empty(len(knots)), out)
        return out

    def _average(self, parts: Sequence[Self]) -> Self:
        return replace(self, values=np.mean([part.values for part in parts], axis=0))

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        if self.floor == -np.inf:
            return self._bend(self._standard.quantile(p))
        below, above = self._around_floor
        level = below + p * above
        # Each half from its own end, where no digit is lost.
        low = self._standard.quantile(np.minimum(level, 0.5))
        high = self._standard.inverse_survival(np.minimum((1.0 - p) * above, 0.5))
        return np.maximum(self._bend(np.where(level < 0.5, low, high)), self.floor)

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        if self.floor == -np.inf:
            return self._bend(self._standard.inverse_survival(p))
        return self.quantile(1.0 - p)

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        own = self._standard.cdf(self._straighten(t))
        if self.floor > -np.inf:
            below, above = self._around_floor
            late = 1.0 - self._standard.survival(self._straighten(t)) / above
            own = np.clip(np.where(below < 0.5, (own - below) / above, late), 0.0, 1.0)
        return np.where(t >= self.cap, 1.0, own)

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        own = self._standard.survival(self._straighten(t))
        if self.floor > -np.inf:
            own = np.minimum(own / self._around_floor[1], 1.0)
        # What was moved down to the cap lies at it and not below.
        return np.where(t > self.cap, 0.0, own)

    @cached_property
    def _around_floor(self) -> tuple[Floats, Floats]:
        """Probabilities below and above the floor, which are divided out, of shape (n, 1)."""
        place = self._straighten(np.array([self.floor]))
        above = np.maximum(self._standard.survival(place), LEAST_LEFT)
        return self._standard.cdf(place), above

    def _bend(self, u: Floats) -> Floats:
        """Return the values at places (1, k) or (n, k) of the standard distribution."""
        last = len(self._knots) - 2
        segment = np.clip(np.searchsorted(self._knots, u, side="right") - 1, 0, last)
        share = (u - self._knots[segment]) / np.diff(self._knots)[segment]
        rows = np.arange(len(self))[:, None]
        left, right = self.values[rows, segment], self.values[rows, segment + 1]
        return np.minimum(left + share * (right - left), self.cap)

    def _straighten(self, t: Floats) -> Floats:
        """Return the places in the standard distribution of values (T,) or (n, T)."""
        t = np.broadcast_to(t, (len(self), t.shape[-1]))
        segment = np.zeros(t.shape, dtype=np.intp)
        for knot in range(1, len(self._knots) - 1):
            segment += self.values[:, knot, None] <= t
        rows = np.arange(len(self))[:, None]
        left, right = self.values[rows, segment], self.values[rows, segment + 1]
        step = np.diff(self._knots)[segment]
        result: Floats = self._knots[segment] + (t - left) / (right - left) * step
        return result


Limits = tuple[float, float, float, float]
"""Lowest and low, high and highest: beyond low and high an output approaches the other two."""

# How far a location may lie beyond the times of the training rows: by this factor where their
# logarithm is modelled, else by one less than it times their range.
_REACH = 3.0
_LONGEST_GRADIENT = 10.0  # of one row; those of rows that fit are around 1


@dataclass(frozen=True)
class ParameterBounds:
    """Intervals that the outputs of a network are kept in, smoothly; see ``bound_outputs``."""

    limits: tuple[Limits, ...]

    def __post_init__(self) -> None:
        for limits in self.limits:
            if np.isnan(limits).any() or list(limits) != sorted(limits):
                raise ValueError(
                    "limits must be numbers in the order lowest <= low <= high <= highest, "
                    f"got {limits!r}."
                )

    @cached_property
    def _table(self) -> Floats:
        return np.array(self.limits, dtype=np.float64)

    def apply(self, output: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return bounded outputs, and their derivatives by the outputs."""
        values, slopes = np.empty_like(output), np.empty_like(output)
        bound_outputs(output, self._table, values, slopes)
        return values, slopes


@dataclass(frozen=True)
class Likelihood:
    """Censored maximum likelihood: the network predicts the parameters of a distribution.

    ``bounds`` are intervals for the outputs, which :meth:`within` sets by the training rows, and
    ``calibration`` is the strength of the penalty on a batch that is not calibrated. A family has a
    loss, levels of times, and distributions with given parameters.
    """

    bounds: ParameterBounds | None = field(default=None, kw_only=True)
    calibration: float = field(default=0.0, kw_only=True)

    # Of the outputs after the location, in standard deviations of the transformed times.
    _shape_limits: ClassVar[tuple[Limits, ...]] = ()

    @property
    def n_outputs(self) -> int:
        """A location and the other parameters."""
        return 1 + len(self._shape_limits)

    def within(self, low: float, high: float, transform: TimeTransform) -> Self:
        """Return the objective with parameters that stay near the times of the training rows.

        Locations lie between a third of the smallest and three times the largest time if
        ``transform`` takes logarithms; otherwise they exceed the times by less than twice their
        range. Scales of normal and Gumbel distributions lie between 0.018 and 2.13 standard
        deviations of the transformed times, those of asymmetric Laplace distributions between
        exp(-4) and exp(2), with an asymmetry between exp(-2) and exp(2). So every quantile has a
        bound, whatever the features. Rows that a model takes for impossible are also kept from
        dominating a training step; see ``limit_rows``.
        """
        first, last = (float(value) for value in np.sort(transform.forward([low, high])))
        room = float(np.log(_REACH)) / transform.scale
        if not transform.log:
            room = (_REACH - 1.0) * (last - first) or 1.0
        location = (first - room, first, last, last + room)
        return replace(self, bounds=ParameterBounds((location, *self._shape_limits)))

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood, penalty included, and write its gradient.

        With ``bounds``, gradients of rows that are too long are shortened.
        """
        if self.bounds is None:
            return self._penalized_loss(output, batch, out)
        values, slopes = self.bounds.apply(output)
        loss = self._penalized_loss(values, batch, out)
        limit_rows(out, slopes, batch.weight, _LONGEST_GRADIENT)
        return loss

    def _penalized_loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return loss and calibration penalty, and write the gradient of both by the values."""
        loss = self._loss(values, batch, out)
        if not self.calibration:
            return loss
        levels, by_level = np.empty((2, len(values)))
        slopes = np.empty(values.shape)
        self._fill_levels(values, batch, levels, slopes)
        penalty = calibration_penalty(
            levels, batch.event, batch.weight, CALIBRATION_BINS, CALIBRATION_SHARPNESS, by_level
        )
        out += (self.calibration * by_level[:, None] * slopes).astype(out.dtype)
        return loss + self.calibration * float(penalty)

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean negative log-likelihood, a proper score under censoring, and penalty."""
        return self.gradient(output, rows, np.empty_like(output))

    def distribution(self, output: FloatArray) -> FormulaDistribution:
        """Return the predicted distributions in model units."""
        values = np.asarray(output, dtype=np.float64)
        return self._decode(values if self.bounds is None else self.bounds.apply(values)[0])

    def quantiles(self, output: FloatArray, taus: FloatArray) -> Floats:
        """Return the exact quantiles at any levels."""
        return self.distribution(output).quantile(np.asarray(taus, dtype=np.float64))

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient by the values."""
        raise NotImplementedError

    def _fill_levels(self, values: FloatArray, batch: Rows, levels: Floats, slopes: Floats) -> None:
        """Write the levels of the batch's times and their derivatives by the values."""
        raise NotImplementedError

    def _decode(self, values: Floats) -> FormulaDistribution:
        """Return the distributions with the given parameters."""
        raise NotImplementedError


@dataclass(frozen=True)
class LocationScaleLikelihood(Likelihood):
    """A standard distribution with a location and a scale, the softplus of the second output."""

    _shape_limits = ((-4.0, -3.0, 1.0, 2.0),)

    @property
    def base(self) -> str:
        """Name of the standard distribution."""
        raise NotImplementedError

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        code = STANDARD[self.base].code
        if batch.lower is not None:
            ends = (batch.time, batch.event, batch.lower, batch.entry)
            return float(location_scale_rows(values, *ends, batch.weight, code, out))
        rows = (batch.time, batch.event, batch.weight)
        return float(location_scale(values, *rows, code, out))

    def _fill_levels(self, values: FloatArray, batch: Rows, levels: Floats, slopes: Floats) -> None:
        location_scale_levels(values, batch.time, STANDARD[self.base].code, levels, slopes)

    def _decode(self, values: Floats) -> LocationScaleDistribution:
        scale = np.asarray(np.logaddexp(0.0, values[:, 1]) + SMALLEST_SCALE)
        return LocationScaleDistribution(values[:, 0], scale, self.base)


@dataclass(frozen=True)
class NormalLikelihood(LocationScaleLikelihood):
    """Normal distribution in model units: of log-normal times, if these are logarithms."""

    @property
    def base(self) -> str:
        """Name of the standard distribution."""
        return "normal"


@dataclass(frozen=True)
class GumbelLikelihood(LocationScaleLikelihood):
    """Minimum Gumbel distribution in model units: of Weibull times, if these are logarithms.

    ``mirrored`` says that model units are negated, as they are for left-censored times: the maximum
    Gumbel distribution there. Other families contain their mirror images.
    """

    mirrored: bool = False

    @property
    def base(self) -> str:
        """Name of the standard distribution."""
        return "mirrored gumbel" if self.mirrored else "gumbel"


@dataclass(frozen=True)
class AsymmetricLaplaceLikelihood(Likelihood):
    """Asymmetric Laplace distribution in model units: location, log-scale and log-asymmetry."""

    _shape_limits = ((-4.0, -3.0, 1.0, 2.0), (-2.0, -1.0, 1.0, 2.0))

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        return float(asymmetric_laplace(values, batch.time, batch.event, batch.weight, out))

    def _fill_levels(self, values: FloatArray, batch: Rows, levels: Floats, slopes: Floats) -> None:
        asymmetric_laplace_levels(values, batch.time, levels, slopes)

    def _decode(self, values: Floats) -> AsymmetricLaplaceDistribution:
        log_scale, log_kappa = np.clip(values[:, 1:].T, -LARGEST_LOG, LARGEST_LOG)[..., None]
        mean = np.exp(log_scale) / np.sqrt(2.0)
        kappa = np.exp(log_kappa)
        return AsymmetricLaplaceDistribution(
            values[:, :1], mean * kappa, mean / kappa, 2.0 * log_kappa
        )


@dataclass(frozen=True)
class LogNormalCRPS(NormalLikelihood):
    """Survival CRPS of log-normal times, in closed form, in place of the likelihood.

    ``unit`` is the logarithm of time that one model unit is; see ``log_time_crps``.
    """

    unit: float = 1.0
    mirrored: bool = False

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(log_time_crps(values, *rows, NORMAL, self.unit, self.mirrored, out))


@dataclass(frozen=True)
class WeibullCRPS(GumbelLikelihood):
    """Survival CRPS of Weibull times, by a quadrature rule; ``unit`` as in ``LogNormalCRPS``."""

    unit: float = 1.0

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(log_time_crps(values, *rows, GUMBEL, self.unit, self.mirrored, out))


@dataclass(frozen=True)
class AsymmetricLaplaceCRPS(AsymmetricLaplaceLikelihood):
    """Survival CRPS of asymmetric Laplace times, in closed form."""

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        return float(asymmetric_laplace_crps(values, batch.time, batch.event, batch.weight, out))


@dataclass(frozen=True)
class ShapeLikelihood:
    """A censored likelihood plus Portnoy's loss, of quantiles that bend a standard distribution.

    The likelihood makes use of every row and holds the tails; the check loss keeps quantiles right
    where the family is not. See ``shape_loss``.
    """

    base: str = "normal"  # name of the standard distribution
    n_outputs: int = 19  # number of quantiles, at evenly spaced levels
    likelihood_weight: float = 1.0
    pinball_weight: float = 0.3
    # In model units: predictions above it have no check loss, or with ``bounded`` the pseudo-time
    # that receives the probability mass beyond censoring times
    limit: float = 1e30
    bounded: bool = False
    cap: float = np.inf  # largest value that is predicted
    # The smallest value that is possible, where rows are not plain: the likelihood and predictions
    # are those given a later one
    floor: float = -np.inf

    @cached_property
    def _terms(self) -> ShapeTerms:
        return ShapeTerms(
            even_grid(self.n_outputs).astype(np.float32),
            shape_knots(self.base, self.n_outputs),
            STANDARD[self.base].code,
            float(self.likelihood_weight),
            float(self.pinball_weight),
            float(self.limit),
            self.bounded,
        )

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        return self._loss(output, batch, self._terms, out)

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean negative log-likelihood, a proper score under censoring."""
        terms = self._terms._replace(likelihood_weight=1.0, check_weight=0.0)
        return self._loss(output, rows, terms, np.empty_like(output))

    def _loss(self, output: FloatArray, rows: Rows, terms: ShapeTerms, out: FloatArray) -> float:
        if rows.lower is None:
            return float(shape_loss(output, rows.time, rows.event, rows.weight, terms, out))
        ends = ShapeRows(rows.time, rows.event, rows.lower, rows.entry, float(self.floor))
        return float(shape_rows_loss(output, ends, rows.weight, terms, out))

    def distribution(self, output: FloatArray) -> ShapeDistribution:
        """Return the predicted distributions in model units."""
        values = np.asarray(output, dtype=np.float64)
        return ShapeDistribution(values, self.base, self.cap, self.floor)

    def quantiles(self, output: FloatArray, taus: FloatArray) -> Floats:
        """Return the quantiles at any levels."""
        return self.distribution(output).quantile(np.asarray(taus, dtype=np.float64))
