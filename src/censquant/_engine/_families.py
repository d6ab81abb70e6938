"""Standard distributions, of location 0 and scale 1: all that a parametric family is made of.

A new one needs a code, a branch in the two kernels below, a class with its formulas, and a place
in ``STANDARD``; a line in ``FAMILIES`` gives it to ``ShapeNN``. Kernels of other files that call
these are compiled again after ``make clean`` only.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from censquant._compile import exact_part
from censquant._typing import Floats

if TYPE_CHECKING:
    from censquant.export._graph import Value

NORMAL, GUMBEL, MIRRORED_GUMBEL = range(3)
"""Codes of the normal, the minimum and the maximum Gumbel distribution in kernels.

The logarithm of a Weibull time has the minimum Gumbel distribution, its negative the maximum one.
"""

LARGEST_EXPONENT = 30.0
"""Above it the exponential of a Gumbel distribution is continued as a line."""

# Of an interval in units of the cumulative hazard, and the logarithm of its steepest derivative.
_NARROWEST, _STEEPEST = 1e-14, 60.0


@exact_part
def standard_loss(u, event, family, largest):
    """Return minus the log-density at ``u``, or if censored minus the log-survival; its derivative.

    The exponential of Gumbel distributions is a line above ``largest``, so that neither loss nor
    derivative explodes.
    """
    if family == NORMAL:
        if event:
            return 0.5 * u * u + 0.5 * math.log(2.0 * math.pi), u
        hazard, loss = _normal_hazard(u)
        return loss, hazard
    if family == MIRRORED_GUMBEL:
        if event:
            value, derivative = _exponential(-u, largest)
            return value + u, 1.0 - derivative
        return _mirrored_gumbel_survival(u)
    value, derivative = _exponential(u, largest)
    if event:
        return value - u, derivative - 1.0
    return value, derivative


@exact_part
def standard_interval_loss(low, high, family, largest):
    """Return minus the log-probability of (low, high], and its derivatives by both ends.

    One of the ends may be infinite. ``largest`` is as in `standard_loss`.
    """
    if high == math.inf:
        loss, hazard = standard_loss(low, False, family, largest)
        return loss, hazard, 0.0
    mirrored = NORMAL
    if family != NORMAL:
        mirrored = MIRRORED_GUMBEL if family == GUMBEL else GUMBEL
    if low == -math.inf:
        loss, hazard = standard_loss(-high, False, mirrored, largest)
        return loss, 0.0, -hazard
    # Survival functions are subtracted in the tail where they are small: of two numbers near 1
    # the difference would have no digits.
    turned = low + high < 0.0
    if turned:
        low, high, family = -high, -low, mirrored
    near, by_near = standard_loss(low, False, family, largest)
    far, by_far = standard_loss(high, False, family, largest)
    loss = near - math.log(-math.expm1(-max(far - near, _NARROWEST)))
    by_low = by_near * math.exp(min(loss - near, _STEEPEST))
    by_high = -by_far * math.exp(min(loss - far, _STEEPEST))
    if turned:
        by_low, by_high = -by_high, -by_low
    return loss, by_low, by_high


@exact_part
def standard_level(u, family):
    """Return the distribution function and the density at ``u``."""
    if family == NORMAL:
        return normal_cdf(u), normal_density(u)
    # Far out, where the density is 0 in all digits, the exponential would overflow.
    e = math.exp(min(-u if family == MIRRORED_GUMBEL else u, 700.0))
    level = math.exp(-e) if family == MIRRORED_GUMBEL else -math.expm1(-e)
    return level, e * math.exp(-e)


@exact_part
def normal_cdf(x):
    """Return the standard normal distribution function, accurate in its lower tail."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@exact_part
def normal_density(x):
    """Return the standard normal density."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


@exact_part
def _normal_hazard(u):
    """Return ``phi(u) / (1 - Phi(u))`` and ``-log(1 - Phi(u))``, accurate far out in both tails."""
    if u < 6.0:
        density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
        if u < 0.0:  # the survival function rounds to 1 there: its complement does not
            below = 0.5 * math.erfc(-u / math.sqrt(2.0))
            return density / (1.0 - below), -math.log1p(-below)
        survival = 0.5 * math.erfc(u / math.sqrt(2.0))
        return density / survival, -math.log(survival)
    # Laplace's continued fraction for the tail, from the inside out.
    fraction = u
    for k in range(30, 0, -1):
        fraction = u + k / fraction
    return fraction, 0.5 * u * u + 0.5 * math.log(2.0 * math.pi) + math.log(fraction)


@exact_part
def _exponential(u, largest=LARGEST_EXPONENT):
    """Return ``exp(u)`` and its derivative, continued as a line above ``largest``."""
    if u <= largest:
        value = math.exp(u)
        return value, value
    slope = math.exp(largest)
    return slope * (1.0 + u - largest), slope


@exact_part
def _mirrored_gumbel_survival(u):
    """Return ``-log(1 - exp(-exp(-u)))`` and its derivative, accurate far out in both tails."""
    if u > LARGEST_EXPONENT:
        return u, 1.0
    e, _ = _exponential(-u)
    survival = -math.expm1(-e)
    loss = -math.log1p(-math.exp(-e)) if e > 0.5 else -math.log(survival)
    return loss, e * math.exp(-e) / survival


# West (2005), Better approximations to cumulative normal functions: Hart's rational form.
_HART_ABOVE = (
    3.52624965998911e-02,
    0.700383064443688,
    6.37396220353165,
    33.912866078383,
    112.079291497871,
    221.213596169931,
    220.206867912376,
)
_HART_BELOW = (
    8.83883476483184e-02,
    1.75566716318264,
    16.064177579207,
    86.7807322029461,
    296.564248779674,
    637.333633378831,
    793.826512519948,
    440.413735824752,
)
_HART_FAR = 7.07106781186547


def normal_cdf_graph(x: "Value") -> "Value":
    """Return the standard normal distribution function in a graph; error below 1e-14."""
    size = x.abs().minimum(40.0)
    density = (size * size * -0.5).exp()
    near = density * _polynomial(size, _HART_ABOVE) / _polynomial(size, _HART_BELOW)
    fraction = size + 0.65
    for numerator in (4.0, 3.0, 2.0, 1.0):
        fraction = size + numerator / fraction
    far = density / fraction / 2.506628274631
    tail = (size < _HART_FAR).where(near, far)
    return (x > 0.0).where(1.0 - tail, tail)


def _polynomial(x: "Value", coefficients: Sequence[float]) -> "Value":
    """Return a polynomial by Horner's rule."""
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


class Standard(ABC):
    """Formulas of a standard distribution, exact in both tails, for arrays and for graphs."""

    code: int

    @abstractmethod
    def quantile(self, p: Floats) -> Floats:
        """Return the places below which the distribution has probabilities ``p``."""

    @abstractmethod
    def inverse_survival(self, p: Floats) -> Floats:
        """Return the places above which the distribution has probabilities ``p``."""

    @abstractmethod
    def cdf(self, u: Floats) -> Floats:
        """Return the probabilities below places."""

    @abstractmethod
    def survival(self, u: Floats) -> Floats:
        """Return the probabilities above places."""

    @abstractmethod
    def cdf_graph(self, u: "Value") -> "Value":
        """Return the probabilities below places of a graph."""

    def survival_graph(self, u: "Value") -> "Value":
        """Return the probabilities above places of a graph."""
        return 1.0 - self.cdf_graph(u)


class _Normal(Standard):
    code = NORMAL

    def quantile(self, p: Floats) -> Floats:
        return np.asarray(ndtri(p))

    def inverse_survival(self, p: Floats) -> Floats:
        return -self.quantile(p)

    def cdf(self, u: Floats) -> Floats:
        return np.asarray(ndtr(u))

    def survival(self, u: Floats) -> Floats:
        return self.cdf(-u)

    def cdf_graph(self, u: "Value") -> "Value":
        return normal_cdf_graph(u)

    def survival_graph(self, u: "Value") -> "Value":
        return normal_cdf_graph(-u)


class _Gumbel(Standard):
    code = GUMBEL

    def quantile(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.log1p(-p)))

    def inverse_survival(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.log(p)))

    def cdf(self, u: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(-np.exp(u)))

    def survival(self, u: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-np.exp(u)))

    def cdf_graph(self, u: "Value") -> "Value":
        return 1.0 - (-u.exp()).exp()


class _MirroredGumbel(Standard):
    code = MIRRORED_GUMBEL

    def quantile(self, p: Floats) -> Floats:
        return -STANDARD["gumbel"].inverse_survival(p)

    def inverse_survival(self, p: Floats) -> Floats:
        return -STANDARD["gumbel"].quantile(p)

    def cdf(self, u: Floats) -> Floats:
        return STANDARD["gumbel"].survival(-u)

    def survival(self, u: Floats) -> Floats:
        return STANDARD["gumbel"].cdf(-u)

    def cdf_graph(self, u: "Value") -> "Value":
        return (-(-u).exp()).exp()


class _Logistic(Standard):
    # Without a code: no network predicts it.

    def quantile(self, p: Floats) -> Floats:
        return np.asarray(logit(p))

    def inverse_survival(self, p: Floats) -> Floats:
        return -self.quantile(p)

    def cdf(self, u: Floats) -> Floats:
        return np.asarray(expit(u))

    def survival(self, u: Floats) -> Floats:
        return self.cdf(-u)

    def cdf_graph(self, u: "Value") -> "Value":
        return 1.0 / ((-u).exp() + 1.0)

    def survival_graph(self, u: "Value") -> "Value":
        return self.cdf_graph(-u)


STANDARD: dict[str, Standard] = {
    "normal": _Normal(),
    "gumbel": _Gumbel(),
    "mirrored gumbel": _MirroredGumbel(),
    "logistic": _Logistic(),
}
"""Standard distributions by name."""


class Family(NamedTuple):
    """A family of ``ShapeNN``: names of the standard distribution and of its mirror image."""

    base: str
    mirrored: str
    of_logarithms: bool


FAMILIES = {
    "normal": Family("normal", mirrored="normal", of_logarithms=False),
    "log-normal": Family("normal", mirrored="normal", of_logarithms=True),
    "weibull": Family("gumbel", mirrored="mirrored gumbel", of_logarithms=True),
}
"""Families of ``ShapeNN`` by name."""
