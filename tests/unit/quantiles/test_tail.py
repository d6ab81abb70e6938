"""The law of curves after the last observed time."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm

from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import (
    DistributionCurve,
    LimitedDistribution,
    TailLimit,
)
from censquant.quantiles._grid import CURVE_QUANTILES

LEVELS = np.array(CURVE_QUANTILES)
TAIL = TailLimit(end=2.0)


class LogNormal:
    """Two individuals: one whose tail is long, and one whose tail is short."""

    def __init__(self, spread=(3.0, 0.2)):
        self.spread = np.asarray(spread)[:, None]

    def quantile(self, levels):
        return lognorm.ppf(
            np.broadcast_to(levels, (len(self.spread), np.shape(levels)[-1])), self.spread
        )

    def cdf(self, times):
        return lognorm.cdf(times, self.spread)

    def take(self, rows):
        return LogNormal(self.spread[rows, 0])


def formula_curve():
    return DistributionCurve(LogNormal(), LEVELS, 0.0)


def grid_curve():
    return QuantileCurve(LogNormal().quantile(LEVELS), LEVELS, 0.0)


def test_survival_is_the_smaller_of_the_own_one_and_of_the_law():
    own, limited = formula_curve(), formula_curve().limited(TAIL)
    times = np.linspace(0.0, 20.0, 400)
    at_end = own.survival([2.0])
    power = np.where(times > 2.0, at_end * (2.0 / np.maximum(times, 2.0)) ** (4.0 / 3.0), 1.0)
    np.testing.assert_allclose(
        limited.survival(times), np.minimum(own.survival(times), power), rtol=1e-12
    )


@pytest.mark.parametrize("curve", [formula_curve, grid_curve])
def test_a_curve_that_falls_faster_and_times_before_the_end_are_unchanged(curve):
    own, limited = curve(), curve().limited(TAIL)
    np.testing.assert_array_equal(own.values[1], limited.values[1])
    early = own.values <= TAIL.end
    np.testing.assert_array_equal(own.values[early], limited.values[early])
    assert own.limited(TailLimit(1e12)).values is own.values


@pytest.mark.parametrize("curve", [formula_curve, grid_curve])
def test_quantiles_stay_in_order_and_have_stated_limits(curve):
    limited = curve().limited(TAIL)
    assert (np.diff(limited.at(np.linspace(0.001, 0.999, 500)), axis=1) >= 0).all()
    assert (limited.at([0.5, 0.95]) <= TAIL.end * np.array([1.7, 9.5])).all()


def test_levels_and_quantiles_are_inverses_after_the_end():
    limited = formula_curve().limited(TAIL)
    levels = np.linspace(0.55, 0.999, 30)
    np.testing.assert_allclose(limited.cdf(limited.at(levels)), np.tile(levels, (2, 1)), rtol=1e-9)


def test_a_single_level_is_limited_as_if_nothing_had_happened_before_the_end():
    curve = QuantileCurve([[1e9], [1.0]], taus=[0.5], lower=0.0).limited(TAIL)
    np.testing.assert_allclose(curve.values[:, 0], [2.0 * 2.0**0.75, 1.0])


def test_the_remaining_life_after_the_end_is_that_of_the_law():
    limited = formula_curve().limited(TAIL)
    levels = np.array([0.1, 0.5, 0.9])
    for age in (10.0, 1e3, 1e6):
        expected = age * ((1.0 - levels) ** -0.75 - 1.0)
        np.testing.assert_allclose(limited.remaining(age, levels)[0], expected, rtol=1e-5)


def test_the_restricted_mean_is_the_area_under_the_limited_curve():
    limited = formula_curve().limited(TAIL)
    area = quad(lambda t: limited.survival([t])[0, 0], 0.0, 9.0, points=[2.0], limit=200)[0]
    assert limited.restricted_mean(9.0)[0] == pytest.approx(area, rel=2e-3)


def test_rows_taken_from_a_limited_curve_are_limited():
    limited = formula_curve().limited(TAIL)
    np.testing.assert_array_equal(limited.take([0]).values, limited.values[:1])
    assert isinstance(limited.take([0]).distribution, LimitedDistribution)


def test_the_length_of_follow_up_includes_negative_times():
    assert TailLimit.of(1.0, 5.0) == TailLimit(5.0, 0.0)
    assert TailLimit.of(-3.0, 5.0).length == 8.0


def test_the_limit_of_support_is_the_quantile_at_the_reach():
    curve = grid_curve().with_reach([0.4, 0.0])
    np.testing.assert_allclose(curve.limit(), [curve.at([0.4])[0, 0], curve.at([1e-15])[1, 0]])
