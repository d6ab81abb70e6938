import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from censquant.quantiles import QuantileCurve, restricted_mean

TAUS = np.array([0.1, 0.35, 0.5, 0.8, 0.95])
VALUES = np.array([[0.3, 1.0, 1.7, 2.2, 5.0], [2.0, 2.0, 4.0, 9.0, 9.5], [0.1, 0.2, 3.0, 3.0, 7.0]])


def by_quadrature(curve, row, horizon):
    """Integral of the quantile function cut at the horizon, piece by piece."""
    single = QuantileCurve(curve.values[row : row + 1], curve.taus, curve.lower)

    def cut(level):
        inside = min(max(level, 1e-300), np.nextafter(1.0, 0.0))
        return min(single.at([inside])[0, 0], horizon)

    crossing = float(single.cdf([horizon])[0])
    ends = np.unique(np.concatenate(([0.0], curve.taus, [crossing])))
    total = sum(quad(cut, low, high, epsabs=1e-13, epsrel=1e-13)[0] for low, high in pairwise(ends))
    return total + (1.0 - ends[-1]) * horizon


@pytest.mark.parametrize("lower", [-np.inf, 0.0, -1.5])
@pytest.mark.parametrize("horizon", [-1.0, 0.05, 1.2, 2.2, 4.4, 8.0, 30.0])
def test_the_closed_form_is_the_integral_of_the_quantile_function(lower, horizon):
    curve = QuantileCurve(VALUES, TAUS, lower)
    expected = [by_quadrature(curve, row, horizon) for row in range(len(curve))]
    np.testing.assert_allclose(restricted_mean(curve, horizon), expected, rtol=1e-9, atol=1e-9)


def test_without_a_horizon_it_is_the_mean_of_the_distribution():
    taus = np.arange(1, 2000) / 2000
    exponential = QuantileCurve([-np.log1p(-taus)], taus, 0.0)
    assert restricted_mean(exponential, np.inf)[0] == pytest.approx(1.0, abs=1e-4)


def test_a_point_mass_at_the_end_counts_at_its_time():
    curve = QuantileCurve([[1.0, 2.0, 2.0]], [0.25, 0.5, 0.75], lower=0.0)
    # Uniform on (0, 2) up to level 0.5, and the other half at 2.
    assert restricted_mean(curve, 9.0)[0] == pytest.approx(0.5 * 1.0 + 0.5 * 2.0)


@given(st.lists(st.floats(0, 100), min_size=5, max_size=5).map(sorted), st.floats(-50, 300))
def test_it_exceeds_neither_the_horizon_nor_the_mean(values, horizon):
    curve = QuantileCurve([values], TAUS)
    found = restricted_mean(curve, horizon)[0]
    whole = restricted_mean(curve, np.inf)[0]
    assert found <= min(horizon, whole) + 1e-9 * (1 + abs(whole))
    assert found >= min(horizon, curve.at([1e-12])[0, 0]) - 1e-9 * (1 + abs(whole))


def test_later_quantiles_have_a_later_mean():
    near, far = QuantileCurve(VALUES, TAUS), QuantileCurve(VALUES + 0.1, TAUS)
    assert (restricted_mean(far, 4.0) > restricted_mean(near, 4.0)).all()


def test_a_single_level_has_no_mean():
    message = "curve must have at least two levels for a restricted mean, got one with 0.5 only."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        restricted_mean(QuantileCurve([[1.0]], [0.5]), 2.0)


def test_a_horizon_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"^horizon must be a number, got nan\.$"):
        restricted_mean(QuantileCurve(VALUES, TAUS), np.nan)
