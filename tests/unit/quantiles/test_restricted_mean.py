"""The mean of the time up to a horizon."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import DistributionCurve
from censquant.quantiles._grid import even_grid

GRID = even_grid(19)


def curves(lower):
    rng = np.random.default_rng(0)
    values = np.sort(rng.gamma(2.0, size=(4, 19)), axis=1)
    values[1, 3:6] = values[1, 3]  # a point mass
    values[2, -2:] = values[2, -1]  # no tail
    values[3, :2] = values[3, 0]  # nothing below the first
    return QuantileCurve(values, GRID, lower)


def area(curve, row, start, end):
    first, second = curve.values[row, :2]
    kinks = [2 * first - second, *curve.values[row]]  # the distribution begins at the first
    knots = np.unique([start, end, *np.clip(kinks, start, end)])
    pieces = [
        quad(lambda t: curve.survival([t])[row, 0], low, high, epsabs=1e-12, limit=200)[0]
        for low, high in pairwise(knots)
    ]
    return sum(pieces)


@pytest.mark.parametrize("lower", [0.0, -np.inf])
@pytest.mark.parametrize("horizon", [0.05, 0.7, 2.0, 6.0, 30.0])
def test_it_is_the_area_under_the_survival_function(lower, horizon):
    curve = curves(lower)
    start = min(-5.0, horizon) if lower < 0 else 0.0
    expected = [start + area(curve, row, start, horizon) for row in range(len(curve))]
    np.testing.assert_allclose(curve.restricted_mean(horizon), expected, rtol=1e-9, atol=1e-9)


def test_an_infinite_horizon_gives_the_mean():
    curve = QuantileCurve(stats.expon.ppf(GRID)[None], GRID, 0.0)
    np.testing.assert_allclose(curve.restricted_mean(np.inf), curve.restricted_mean(1e4))


@given(st.floats(0, 50), st.floats(0, 50))
@settings(deadline=None)
def test_a_longer_horizon_never_lowers_it_and_it_never_passes_the_horizon(one, other):
    short, long = sorted((one, other))
    curve = curves(0.0)
    mean = curve.restricted_mean(short)
    assert (mean <= curve.restricted_mean(long) + 1e-12).all()
    assert (mean <= short + 1e-12).all()


def test_one_level_has_no_mean():
    message = "^restricted_mean needs a curve of at least two levels, got one with 0.5 only.$"
    with pytest.raises(ValueError, match=message):
        QuantileCurve([[1.0]], [0.5]).restricted_mean(3.0)


def test_a_horizon_must_be_a_number():
    with pytest.raises(ValueError, match=r"^horizon must be a number or infinity, got NaN.$"):
        curves(0.0).restricted_mean(np.nan)


class Frozen:
    """Distributions of scipy behind the protocol."""

    def __init__(self, parts):
        self.parts = parts

    def quantile(self, levels):
        rows = np.broadcast_to(levels, (len(self.parts), np.shape(levels)[-1]))
        return np.array([part.ppf(row) for part, row in zip(self.parts, rows, strict=True)])

    def cdf(self, times):
        return np.array([part.cdf(row) for part, row in zip(self.parts, times, strict=True)])

    def take(self, rows):
        return Frozen(list(np.array(self.parts, dtype=object)[rows]))


PARTS = [stats.weibull_min(1.4, scale=3.0), stats.lognorm(0.8, scale=2.0), stats.norm(1.0, 2.0)]
CURVE = DistributionCurve(Frozen(PARTS), GRID)


@pytest.mark.parametrize("horizon", [0.5, 3.0, 20.0])
def test_a_distributions_mean_is_its_integral(horizon):
    expected = [part.expect(lambda t: t, ub=horizon) + horizon * part.sf(horizon) for part in PARTS]
    np.testing.assert_allclose(CURVE.restricted_mean(horizon), expected, rtol=2e-6)


@pytest.mark.parametrize("level", [1e-9, 1e-6, 0.0005, 0.3, 0.9995, 1 - 1e-6])
def test_a_distribution_answers_by_its_formula_in_the_tails(level):
    np.testing.assert_allclose(CURVE.cdf(CURVE.at([level])), level, rtol=1e-9)


def test_one_listed_level_is_enough_for_a_distribution():
    curve = DistributionCurve(Frozen(PARTS), np.array([0.5]))
    assert curve.is_whole
    np.testing.assert_allclose(curve.at([0.9]), CURVE.at([0.9]))
    np.testing.assert_allclose(curve.take([1]).values, CURVE.at([0.5])[[1]])
