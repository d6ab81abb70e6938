import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from censquant.quantiles import QuantileCurve, even_grid, identified_levels, mask_beyond

FINE = np.arange(1, 1000) / 1000


def exponential_curves(rates, follow_up_end, grid=FINE):
    """True curves of T ~ Exp(rate) and of min(T, C) with C uniform on (0, follow_up_end)."""
    times = np.linspace(0, follow_up_end, 200_001)
    event, observed = [], []
    for rate in rates:
        event.append(-np.log1p(-grid) / rate)
        distribution = 1 - np.exp(-rate * times) * (1 - times / follow_up_end)
        observed.append(np.interp(FINE, distribution, times))
    return QuantileCurve(event, grid, 0.0), QuantileCurve(observed, FINE, 0.0)


@pytest.mark.parametrize("min_share", [0.02, 0.05, 0.3])
def test_the_limit_is_where_the_true_share_still_followed_meets_the_minimum(min_share):
    rates, end = np.array([0.2, 0.5, 1.0, 2.0]), 3.0
    # C is uniform, so S_C(t) = 1 - t / end reaches the minimum at t = end * (1 - min_share).
    truth = 1 - np.exp(-rates * end * (1 - min_share))
    limit = identified_levels(*exponential_curves(rates, end), min_share=min_share)
    # The estimate stops earlier where it would need the last thousandth of the observed times.
    last_observed = exponential_curves(rates, end)[1].values[:, -1]
    truth = np.minimum(truth, 1 - np.exp(-rates * last_observed))
    np.testing.assert_allclose(limit, truth, atol=0.002)


def test_without_censoring_every_level_is_identified():
    event, _ = exponential_curves([1.0, 3.0], 3.0)
    assert_array_equal(identified_levels(event, event), [0.999, 0.999])


def test_no_identified_level_is_zero():
    curve = QuantileCurve([[10.0, 20.0]], [0.3, 0.6])
    follow_up = QuantileCurve([[1.0, 2.0]], [0.3, 0.6])
    assert_array_equal(identified_levels(curve, follow_up), [0.0])


def test_a_hand_computed_share_decides():
    # S_Y(2) = 0.2 and S_T(2) = 0.5, so 40 % are still followed at the median.
    curve = QuantileCurve([[1.0, 2.0]], [0.25, 0.5])
    follow_up = QuantileCurve([[1.0, 2.0, 3.0]], [0.25, 0.8, 0.9])
    assert_array_equal(identified_levels(curve, follow_up, min_share=0.39), [0.5])
    assert_array_equal(identified_levels(curve, follow_up, min_share=0.41), [0.25])


def test_the_tail_of_the_follow_up_vouches_for_nothing():
    curve = QuantileCurve([[1.0, 2.0, 2.0001]], [0.25, 0.5, 0.51])
    follow_up = QuantileCurve([[1.0, 2.0]], [0.25, 0.5])
    assert_array_equal(identified_levels(curve, follow_up), [0.5])


def test_once_a_level_fails_all_higher_ones_fail():
    # 9 % are still followed at level 0.5 but 45 % at level 0.9: the two fits contradict each other.
    curve = QuantileCurve([[1.0, 2.0, 2.0]], [0.25, 0.5, 0.9])
    follow_up = QuantileCurve([[1.0, 2.0, 3.0]], [0.3, 0.955, 0.97])
    assert_array_equal(identified_levels(curve, follow_up, min_share=0.2), [0.25])


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.01, 0.9), st.floats(1.01, 3.0))
def test_a_stricter_share_or_shorter_follow_up_never_identifies_more(seed, share, factor):
    rng = np.random.default_rng(seed)
    grid = even_grid(9)
    event = np.cumsum(rng.exponential(size=(5, 9)), axis=1)
    observed = np.sort(event * rng.uniform(0.3, 1.0, size=(5, 9)), axis=1)
    curve, follow_up = QuantileCurve(event, grid, 0.0), QuantileCurve(observed, grid, 0.0)
    limit = identified_levels(curve, follow_up, min_share=share)
    assert np.all(np.isin(limit, np.append(grid, 0.0)))
    assert np.all(identified_levels(curve, follow_up, min_share=min(1.0, share * factor)) <= limit)
    shorter = QuantileCurve(observed / factor, grid, 0.0)
    assert np.all(identified_levels(curve, shorter, min_share=share) <= limit)


def test_curves_of_different_rows_are_refused():
    one, two = QuantileCurve([[1.0]], [0.5]), QuantileCurve([[1.0], [2.0]], [0.5])
    message = "curve and follow_up must have the same rows, got 1 and 2."
    with pytest.raises(ValueError, match=re.escape(message)):
        identified_levels(one, two)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, np.nan])
def test_a_share_out_of_range_is_refused(share):
    curve = QuantileCurve([[1.0]], [0.5])
    with pytest.raises(ValueError, match=re.escape(f"min_share must be in (0, 1], got {share}.")):
        identified_levels(curve, curve, min_share=share)


class TestMask:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    levels = (0.1, 0.3, 0.9)

    def test_extrapolation_is_a_copy(self):
        masked = mask_beyond(self.values, self.levels, [0.0, 0.0], "extrapolate")
        assert_array_equal(masked, self.values)
        assert not np.shares_memory(masked, self.values)

    @pytest.mark.parametrize(("beyond", "sign"), [("inf", np.inf), ("nan", np.nan)])
    def test_entries_above_the_level_are_replaced(self, beyond, sign):
        masked = mask_beyond(self.values, self.levels, [0.3, 0.0], beyond)
        assert_array_equal(masked, [[1.0, 2.0, sign], [sign, sign, sign]])
        assert np.isfinite(self.values).all()

    def test_rounding_of_the_level_does_not_mask_it(self):
        masked = mask_beyond(self.values, self.levels, [0.1 + 0.2, 0.3 - 1e-14], "nan")
        assert np.isfinite(masked[:, 1]).all()

    def test_columns_in_any_order_are_masked_by_their_level(self):
        masked = mask_beyond(self.values, (0.9, 0.1, 0.3), [0.2, 1.0], "inf")
        assert_array_equal(masked, [[np.inf, 2.0, np.inf], [4.0, 5.0, 6.0]])

    @pytest.mark.parametrize("word", ["drop", None])
    def test_an_unknown_word_is_answered_with_the_allowed_ones(self, word):
        message = f"beyond must be one of 'extrapolate', 'inf', 'nan', got {word!r}."
        with pytest.raises(ValueError, match=re.escape(message)):
            mask_beyond(self.values, self.levels, [0.3, 0.3], word)

    def test_shapes_that_do_not_fit_are_shown(self):
        message = (
            "values must have one row for each identified level and one column for each of "
            "levels, got shapes (2, 3), (2,) and (2,)."
        )
        with pytest.raises(ValueError, match=re.escape(message)):
            mask_beyond(self.values, (0.1, 0.3), [0.3, 0.3], "inf")
