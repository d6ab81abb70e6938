import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from censquant.adapters import quantiles_from_survival
from censquant.survival import kaplan_meier

TIMES = [1.0, 2.0, 4.0]


def inverted(survival, quantiles, times=TIMES, beyond="last"):
    return quantiles_from_survival(times, np.atleast_2d(survival), quantiles, beyond=beyond)


# The first level is inside the point mass at the first time, the last is never reached.
LEVELS = [0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.9]


def test_quantiles_are_those_worked_out_by_hand():
    expected = [[1.0, 1.0, 1.5, 2.0, 3.0, 4.0, 4.0]]
    np.testing.assert_allclose(inverted([0.9, 0.6, 0.4], LEVELS), expected, rtol=1e-12)


def test_a_step_function_takes_the_first_time_at_which_it_is_low_enough():
    found = quantiles_from_survival(TIMES, [[0.9, 0.6, 0.4]], LEVELS, beyond="last", shape="step")
    np.testing.assert_array_equal(found, [[1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 4.0]])


def test_the_step_inverse_of_kaplan_meier_is_its_quantile():
    rng = np.random.default_rng(0)
    curve = kaplan_meier(rng.exponential(size=200), rng.uniform(size=200) < 0.8)
    levels = np.arange(0.05, 1.0, 0.05)
    found = quantiles_from_survival(
        curve.time, curve.survival[None], levels, beyond="inf", shape="step"
    )
    np.testing.assert_array_equal(found[0], curve.quantile(levels))


def test_an_unknown_shape_is_refused():
    with pytest.raises(ValueError, match=r"^shape must be one of 'linear', 'step', got 'cubic'\.$"):
        quantiles_from_survival(TIMES, [[0.9, 0.6, 0.4]], 0.5, beyond="last", shape="cubic")


def test_rows_are_inverted_each_for_itself():
    curves = [[1.0, 0.5, 0.0], [1.0, 1.0, 0.5]]
    expected = [[1.5, 2.0, 3.0], [3.0, 4.0, 4.0]]
    np.testing.assert_allclose(inverted(curves, [0.25, 0.5, 0.75]), expected)


def test_a_level_on_a_flat_piece_gets_its_earliest_time():
    assert inverted([1.0, 0.5, 0.5, 0.2], 0.5, times=[0, 1, 2, 3]) == 1.0


def test_a_level_missed_by_rounding_counts_as_reached():
    assert inverted([1.0, 0.5 + 1e-13, 0.5 + 1e-13, 0.2], 0.5, times=[0, 1, 2, 3]) == 1.0


@pytest.mark.parametrize(("beyond", "value"), [("last", 4.0), ("inf", np.inf), ("nan", np.nan)])
def test_levels_that_the_curve_never_reaches_get_what_was_asked_for(beyond, value):
    found = inverted([1.0, 0.8, 0.6], [0.4, 0.5], beyond=beyond)
    np.testing.assert_allclose(found, [[4.0, value]])


def test_a_curve_that_rises_is_put_in_order():
    np.testing.assert_array_equal(
        inverted([0.6, 0.9, 0.2], [0.3, 0.6]), inverted([0.9, 0.6, 0.2], [0.3, 0.6])
    )


def test_what_rounding_pushed_out_of_range_is_moved_back():
    np.testing.assert_array_equal(inverted([1.0 + 1e-7, 0.5, -1e-7], 0.75), [[3.0]])


def test_a_curve_of_one_time_is_a_point_mass():
    np.testing.assert_array_equal(
        inverted([0.3], [0.5, 0.9], times=[2.0], beyond="inf"), [[2.0, np.inf]]
    )


def test_no_rows_give_no_rows():
    assert quantiles_from_survival(TIMES, np.empty((0, 3)), [0.5], beyond="last").shape == (0, 1)


def test_on_a_fine_grid_the_exponential_distribution_is_recovered():
    times, levels = np.linspace(0, 10, 2001), np.array([0.1, 0.5, 0.9])
    found = inverted(np.exp(-times), levels, times=times)
    np.testing.assert_allclose(found[0], -np.log1p(-levels), atol=1e-5)


def test_it_lies_within_one_step_below_the_inverse_of_kaplan_meier():
    rng = np.random.default_rng(0)
    curve = kaplan_meier(rng.exponential(size=200), rng.uniform(size=200) < 0.8)
    levels = np.arange(0.05, 0.6, 0.05)
    step, found = curve.quantile(levels), inverted(curve.survival, levels, times=curve.time)[0]
    before = curve.time[np.maximum(np.searchsorted(curve.time, step) - 1, 0)]
    last_drop = curve(step, side="left") > curve(step)
    assert last_drop.all()
    assert (found <= step).all()
    assert (found >= before).all()


curves = st.integers(1, 8).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(-50, 50), min_size=size, max_size=size, unique=True).map(sorted),
        arrays(np.float64, (3, size), elements=st.floats(0, 1)),
    )
)
levels = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6, unique=True).map(sorted)


@given(curves, levels)
def test_quantiles_rise_with_the_level_and_stay_on_the_grid(curve, taus):
    times, survival = curve
    found = quantiles_from_survival(times, survival, taus, beyond="last")
    assert found.shape == (3, len(taus))
    assert (np.diff(found, axis=1) >= 0).all()
    assert found.min() >= times[0]
    assert found.max() <= times[-1]


@given(curves, levels)
def test_the_curve_at_a_reached_quantile_is_the_share_that_is_left(curve, taus):
    times, survival = curve
    falling = -np.sort(-survival, axis=1)
    found = quantiles_from_survival(times, survival, taus, beyond="inf")
    for row, values in zip(falling, found, strict=True):
        for tau, value in zip(taus, values, strict=True):
            if np.isinf(value):
                assert row[-1] > 1 - tau
            elif value > times[0]:
                # Where the curve is steep, rounding of the time is magnified by the slope.
                assert np.interp(value, times, row) == pytest.approx(1 - tau, abs=1e-9)
            else:
                assert row[0] <= 1 - tau + 1e-9


@given(curves, levels, st.integers(-100, 100))
def test_shifted_times_give_shifted_quantiles(curve, taus, shift):
    times, survival = curve
    base = quantiles_from_survival(times, survival, taus, beyond="last")
    moved = quantiles_from_survival(np.add(times, shift), survival, taus, beyond="last")
    np.testing.assert_allclose(moved, base + shift, atol=1e-9)


@pytest.mark.parametrize("times", [[], [1.0, 1.0, 2.0], [2.0, 1.0, 3.0], [1.0, np.nan, 3.0]])
def test_times_out_of_order_are_refused(times):
    message = (
        "times must be one or more finite numbers in strictly increasing order, "
        f"got {len(times)} that are not: sort them and drop repeated ones."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        inverted([1.0] * len(times), 0.5, times=times)


@pytest.mark.parametrize("survival", [[1.0, 0.5, 0.1], [[1.0, 0.5]]])
def test_a_matrix_of_another_shape_is_refused(survival):
    message = (
        "survival must have shape (n_samples, 3), one column for each of times, "
        f"got {np.shape(survival)}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        quantiles_from_survival(TIMES, survival, 0.5, beyond="last")


def test_missing_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"^survival must hold .* got NaN in 1 of 2 rows\.$"):
        inverted([[1.0, np.nan, 0.0], [1.0, 0.5, 0.0]], 0.5)


def test_an_unknown_word_for_beyond_is_refused():
    message = "beyond must be one of 'last', 'inf', 'nan', got 'first'."
    with pytest.raises(ValueError, match=re.escape(message)):
        inverted([1.0, 0.5, 0.0], 0.5, beyond="first")


def test_a_level_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"^quantiles must be inside"):
        inverted([1.0, 0.5, 0.0], 1.0)
