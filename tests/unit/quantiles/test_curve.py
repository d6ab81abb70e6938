import dataclasses
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from censquant.quantiles import QuantileCurve
from censquant.quantiles._curve import reach_until
from censquant.quantiles._grid import DEFAULT_QUANTILES, even_grid

TAUS = np.array([0.25, 0.5, 0.75])


@st.composite
def curves(draw, ties=True):
    """Curves of one to four rows and two to seven levels, with or without ties and a bound."""
    n_levels, n_rows = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    percents = draw(st.lists(st.integers(1, 99), min_size=n_levels, max_size=n_levels, unique=True))
    gap = st.floats(0.01, 50.0)
    gaps = st.one_of(st.just(0.0), gap) if ties else gap
    rows = [
        draw(st.lists(gaps, min_size=n_levels - 1, max_size=n_levels - 1)) for _ in range(n_rows)
    ]
    starts = draw(st.lists(st.floats(-100.0, 100.0), min_size=n_rows, max_size=n_rows))
    values = np.array(starts)[:, None] + np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1)
    bound = draw(st.one_of(st.just(np.inf), gap, st.just(0.0) if ties else gap))
    return QuantileCurve(values, np.sort(percents) / 100, values.min() - bound)


LEVELS = st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6).map(np.array)


def slow_cdf(curve, row, time):
    """The definition, piece by piece, for one row and one time."""
    values, taus = curve.values[row], curve.taus
    first_step, last_step = values[1] - values[0], values[-1] - values[-2]
    start = max(curve.lower, values[0] - first_step * taus[0] / (taus[1] - taus[0]))
    if time < values[0]:
        return 0.0 if time <= start else taus[0] * (time - start) / (values[0] - start)
    if time >= values[-1]:
        if last_step == 0:
            return 1.0
        rate = np.log((1 - taus[-2]) / (1 - taus[-1])) / last_step
        return 1 - (1 - taus[-1]) * np.exp(-rate * (time - values[-1]))
    k = max(i for i in range(len(taus)) if values[i] <= time)
    share = (time - values[k]) / (values[k + 1] - values[k])
    return taus[k] + (taus[k + 1] - taus[k]) * share


def bisect(function, target, low, high):
    """The smallest argument at which an increasing function reaches the target."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) >= target else (middle, high)
    return high


class TestDefinition:
    curve = QuantileCurve([[1.0, 2.0, 4.0]], TAUS)

    def test_linear_between_levels(self):
        assert_allclose(self.curve.at([0.375, 0.625]), [[1.5, 3.0]])
        assert_allclose(self.curve.cdf([[1.5, 3.0]]), [[0.375, 0.625]])

    def test_first_segment_is_prolonged_to_level_zero(self):
        assert_allclose(self.curve.at([0.125]), [[0.5]])
        assert_allclose(self.curve.cdf([[-1.0, 0.0, 0.5]]), [[0.0, 0.0, 0.125]])

    def test_lower_bound_steepens_the_first_piece(self):
        bounded = QuantileCurve([[1.0, 2.0, 4.0]], TAUS, lower=0.5)
        assert_allclose(bounded.at([0.125]), [[0.75]])
        assert_allclose(bounded.cdf([[0.5, 0.75, 1.0]]), [[0.0, 0.125, 0.25]])

    def test_lower_bound_that_is_not_reached_changes_nothing(self):
        bounded = QuantileCurve([[1.0, 2.0, 4.0]], TAUS, lower=-3.0)
        assert_array_equal(bounded.at([0.01, 0.2]), self.curve.at([0.01, 0.2]))

    def test_tail_is_exponential_with_the_hazard_of_the_last_segment(self):
        # The survival halves over the last segment of length 2, so it halves every 2 from there on.
        assert_allclose(self.curve.survival([6.0, 8.0]), [[0.125, 0.0625]])
        assert_allclose(self.curve.at([0.875, 0.9375]), [[6.0, 8.0]])

    def test_point_mass_at_the_end_takes_the_whole_tail(self):
        curve = QuantileCurve([[1.0, 2.0, 2.0]], TAUS)
        assert_array_equal(curve.at([0.75, 0.99]), [[2.0, 2.0]])
        assert_array_equal(curve.cdf([[1.999999, 2.0, 3.0]]) >= 1, [[False, True, True]])

    def test_tied_quantiles_give_the_highest_of_their_levels(self):
        curve = QuantileCurve([[1.0, 1.0, 1.0, 2.0]], [0.1, 0.3, 0.5, 0.9])
        assert_allclose(curve.cdf([1.0]), [0.5])
        assert_array_equal(curve.cdf([[0.0, 0.999999]]), [[0.0, 0.0]])

    def test_row_that_starts_at_the_bound_has_a_point_mass_there(self):
        curve = QuantileCurve([[0.0, 1.0]], [0.2, 0.4], lower=0.0)
        assert_array_equal(curve.cdf([[-1.0, 0.0]]), [[0.0, 0.2]])
        assert_array_equal(curve.at([0.01]), [[0.0]])

    def test_infinite_times_have_levels_zero_and_one(self):
        assert_array_equal(self.curve.cdf([[-np.inf, np.inf]]), [[0.0, 1.0]])

    def test_tiny_gaps_far_away_from_the_time_do_not_overflow(self):
        curve = QuantileCurve([[0.0, 1e-300]], [0.3, 0.6])
        assert_array_equal(curve.cdf([[-1e300, 1e300]]), [[0.0, 1.0]])

    def test_median_is_the_quantile_at_one_half(self):
        assert_array_equal(QuantileCurve([[1.0, 2.0], [3.0, 5.0]], [0.4, 0.6]).median(), [1.5, 4.0])

    def test_exponential_times_are_recovered_beyond_the_grid(self):
        curve = QuantileCurve([-3 * np.log1p(-np.array(DEFAULT_QUANTILES))], DEFAULT_QUANTILES, 0.0)
        assert_allclose(curve.at([0.999]), [[-3 * np.log(0.001)]])


class TestSingleLevel:
    curve = QuantileCurve([[3.0], [5.0]], [0.9])

    def test_its_own_level_can_be_asked_for(self):
        assert_array_equal(self.curve.at([0.9, 0.9]), [[3.0, 3.0], [5.0, 5.0]])
        assert_array_equal(self.curve.at_each([[0.9], [0.9]]), [[3.0], [5.0]])

    def test_rounding_of_the_level_is_forgiven(self):
        assert_array_equal(self.curve.at(1 - 0.1 * (1 + 1e-12)), [[3.0], [5.0]])

    def test_cdf_is_known_at_its_value_only(self):
        assert_array_equal(self.curve.cdf([2.9, 5.0]), [np.nan, 0.9])
        assert_array_equal(self.curve.survival([3.0]).round(12), [[0.1], [np.nan]])

    def test_another_level_is_refused(self):
        message = (
            "Only the level 0.9 was fitted, so the level 0.5 is unknown: "
            "fit two or more levels to ask for others."
        )
        with pytest.raises(ValueError, match=re.escape(message)):
            self.curve.at([0.9, 0.5])
        with pytest.raises(ValueError, match=re.escape(message)):
            self.curve.median()

    def test_remaining_life_is_refused(self):
        message = "remaining needs a curve of at least two levels, got one with 0.9 only."
        with pytest.raises(ValueError, match=re.escape(message)):
            self.curve.remaining(0.0, [0.9])


class TestProperties:
    def test_answers_at_the_grid_are_copies(self):
        curve = QuantileCurve([[1.0, 2.0, 4.0]], TAUS)
        for levels in (TAUS, [0.5]):
            curve.at(levels)[:] = 7.0
        assert_array_equal(curve.values, [[1.0, 2.0, 4.0]])

    @settings(max_examples=60)
    @given(curves())
    def test_grid_levels_return_the_stored_bits(self, curve):
        assert_array_equal(curve.at(curve.taus), curve.values)
        assert_array_equal(curve.at(curve.taus[::-1]), curve.values[:, ::-1])
        assert_array_equal(curve.at_each(np.tile(curve.taus, (len(curve), 1))), curve.values)

    @settings(max_examples=60)
    @given(curves(), LEVELS)
    def test_quantiles_do_not_decrease_in_the_level(self, curve, levels):
        levels = np.sort(np.concatenate((levels, curve.taus, np.nextafter(curve.taus, 0))))
        assert np.all(np.diff(curve.at(levels), axis=1) >= 0)

    @settings(max_examples=60)
    @given(curves(), LEVELS)
    def test_quantiles_are_never_below_the_bound(self, curve, levels):
        assert np.all(curve.at(np.append(levels, 1e-12)) >= curve.lower)

    @settings(max_examples=60)
    @given(curves(), st.lists(st.floats(-200, 600), min_size=2, max_size=8))
    def test_cdf_is_a_distribution_function(self, curve, times):
        times = np.sort(
            np.concatenate((times, curve.values[0], np.nextafter(curve.values[0], -999)))
        )
        levels = curve.cdf(np.tile(times, (len(curve), 1)))
        assert np.all((levels >= 0) & (levels <= 1))
        assert np.all(np.diff(levels, axis=1) >= 0)

    @settings(max_examples=60)
    @given(curves(), st.lists(st.floats(-200, 600), min_size=1, max_size=8))
    def test_cdf_follows_its_definition(self, curve, times):
        times = np.append(times, curve.values[0])
        expected = [[slow_cdf(curve, row, time) for time in times] for row in range(len(curve))]
        assert_allclose(1 - curve.survival(times), expected, atol=1e-9)

    @settings(max_examples=60)
    @given(curves(ties=False), LEVELS)
    def test_cdf_is_the_inverse_of_the_quantiles(self, curve, levels):
        assert_allclose(curve.cdf(curve.at(levels)), np.tile(levels, (len(curve), 1)), atol=1e-9)

    @settings(max_examples=60)
    @given(curves(ties=False), LEVELS)
    def test_quantiles_are_the_inverse_of_the_cdf(self, curve, levels):
        times = curve.at(levels)
        assert_allclose(curve.at_each(curve.cdf(times)), times, rtol=1e-9, atol=1e-7)

    @settings(max_examples=60)
    @given(curves(), LEVELS)
    def test_cdf_of_a_quantile_reaches_its_level_even_at_ties(self, curve, levels):
        assert np.all(curve.cdf(curve.at(levels)) >= levels - 1e-9)

    @settings(max_examples=60)
    @given(curves(), LEVELS)
    def test_levels_of_each_row_agree_with_common_levels(self, curve, levels):
        assert_array_equal(curve.at_each(np.tile(levels, (len(curve), 1))), curve.at(levels))

    @settings(max_examples=60)
    @given(curves(), LEVELS, st.floats(0.01, 100.0), st.floats(-100.0, 100.0))
    def test_quantiles_follow_a_change_of_unit_and_origin(self, curve, levels, scale, shift):
        free = QuantileCurve(curve.values, curve.taus)
        moved = QuantileCurve(scale * curve.values + shift, curve.taus)
        assert_allclose(moved.at(levels), scale * free.at(levels) + shift, rtol=1e-9, atol=1e-7)

    @settings(max_examples=60)
    @given(curves(), st.floats(-200, 600))
    def test_survival_and_cdf_sum_to_one(self, curve, time):
        levels = curve.cdf(np.full(len(curve), time))
        assert_array_equal(curve.survival([time])[:, 0], 1 - levels)


class TestRemaining:
    @settings(max_examples=60)
    @given(curves(), LEVELS)
    def test_before_the_start_it_is_the_quantile_less_the_time(self, curve, levels):
        start = curve.at([1e-9]).min() - 1.0
        assert_array_equal(curve.survival([start]), 1.0)
        assert_array_equal(curve.remaining(start, levels), curve.at(levels) - start)

    @settings(max_examples=40, deadline=None)
    @given(curves(), LEVELS, st.floats(0.0, 1.0))
    def test_it_is_the_conditional_quantile(self, curve, levels, share):
        first, last = curve.values[:, 0] - 5.0, curve.values[:, -1]
        elapsed = first + share * (last - first)
        remaining = curve.remaining(elapsed, levels)
        for row, now in enumerate(elapsed):
            gone = slow_cdf(curve, row, now)
            if gone == 1:
                assert_array_equal(remaining[row], 0.0)
                continue
            for level, got in zip(levels, remaining[row], strict=True):
                target = gone + level * (1 - gone)
                # Where the distribution jumps, rounding of the target decides between two ends.
                low, high = (
                    bisect(lambda t, r=row: slow_cdf(curve, r, t), goal, now, now + 1e5) - now
                    for goal in (target - 1e-12, target + 1e-12)
                )
                assert low - 1e-6 <= got <= high + 1e-6

    @settings(max_examples=60)
    @given(curves(), LEVELS, st.floats(-200, 600))
    def test_it_is_never_negative_and_increases_with_the_level(self, curve, levels, elapsed):
        remaining = curve.remaining(elapsed, np.sort(levels))
        assert np.all(remaining >= 0)
        assert np.all(np.diff(remaining, axis=1) >= 0)

    def test_nothing_remains_after_a_point_mass_at_the_end(self):
        curve = QuantileCurve([[1.0, 2.0, 2.0], [1.0, 2.0, 3.0]], TAUS)
        remaining = curve.remaining([2.0, 2.0], [0.5, 0.9])
        assert_array_equal(remaining[0], [0.0, 0.0])
        assert np.all(remaining[1] > 0)

    @settings(max_examples=60)
    @given(curves(), LEVELS, st.floats(0.0, 1e6))
    def test_beyond_the_last_level_the_past_does_not_matter(self, curve, levels, extra):
        last = curve.values[:, -1]
        assert_array_equal(curve.remaining(last + extra, levels), curve.remaining(last, levels))

    def test_it_is_exponential_far_out_in_the_tail(self):
        curve = QuantileCurve([[1.0, 2.0, 4.0]], TAUS)
        assert_allclose(curve.remaining(1e6, [0.5, 0.75]), [[2.0, 4.0]])

    def test_a_level_next_to_one_stays_finite(self):
        curve = QuantileCurve([[1.0, 2.0, 4.0]], TAUS)
        assert np.isfinite(curve.remaining(3.0, [np.nextafter(1.0, 0.0)])).all()

    def test_elapsed_may_differ_from_row_to_row(self):
        curve = QuantileCurve([[1.0, 2.0, 3.0]] * 2, TAUS, lower=0.0)
        assert_allclose(curve.remaining([0.0, 1.0], [1 / 3]), [[4 / 3], [1.0]])

    def test_a_wrong_shape_of_elapsed_is_refused(self):
        curve = QuantileCurve([[1.0, 2.0, 3.0]] * 2, TAUS)
        message = "elapsed must be a number or have shape (2,), got (3,)."
        with pytest.raises(ValueError, match=re.escape(message)):
            curve.remaining([1.0, 2.0, 3.0], [0.5])

    def test_infinite_elapsed_is_refused(self):
        curve = QuantileCurve([[1.0, 2.0, 3.0]], TAUS)
        with pytest.raises(
            ValueError, match=re.escape("elapsed must be finite, got NaN or infinity.")
        ):
            curve.remaining(np.inf, [0.5])


class TestConstruction:
    def test_predictions_are_sorted_along_rows(self):
        curve = QuantileCurve.from_predictions([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]], TAUS)
        assert_array_equal(curve.values, [[1.0, 2.0, 3.0]] * 2)

    def test_predictions_are_clipped_at_the_bound(self):
        curve = QuantileCurve.from_predictions([[-3.0, -1.0, 2.0]], TAUS, lower=0.0)
        assert_array_equal(curve.values, [[0.0, 0.0, 2.0]])
        assert curve.lower == 0.0

    def test_predictions_in_order_are_not_copied(self):
        values = np.array([[1.0, 2.0, 3.0]])
        assert QuantileCurve.from_predictions(values, TAUS, lower=0.0).values is values

    def test_sorting_does_not_change_the_predictions_of_the_caller(self):
        values = np.array([[3.0, 2.0, -1.0]])
        QuantileCurve.from_predictions(values, TAUS, lower=0.0)
        assert_array_equal(values, [[3.0, 2.0, -1.0]])

    def test_float32_predictions_become_float64(self):
        curve = QuantileCurve.from_predictions(np.ones((1, 3), dtype=np.float32), TAUS)
        assert curve.values.dtype == np.float64
        assert curve.at([0.3]).dtype == np.float64

    def test_no_rows_give_no_rows(self):
        curve = QuantileCurve.from_predictions(np.empty((0, 3)), TAUS, lower=0.0)
        assert len(curve) == 0
        assert curve.at([0.3, 0.9]).shape == (0, 2)
        assert curve.survival([1.0]).shape == (0, 1)
        assert curve.remaining(1.0, [0.3]).shape == (0, 1)

    def test_no_times_give_no_columns(self):
        assert QuantileCurve([[1.0, 2.0, 3.0]], TAUS).survival([]).shape == (1, 0)

    def test_shapes_are_kept(self):
        curve = QuantileCurve([[1.0, 2.0, 3.0]] * 4, TAUS)
        assert curve.at(0.5).shape == (4, 1)
        assert curve.at_each(np.full((4, 2), 0.5)).shape == (4, 2)
        assert curve.cdf(np.ones(4)).shape == (4,)
        assert curve.cdf(np.ones((4, 5))).shape == (4, 5)
        assert curve.survival(1.0).shape == (4, 1)
        assert curve.survival(np.ones(5)).shape == (4, 5)
        assert curve.median().shape == (4,)

    def test_more_rows_than_a_block_agree_with_each_row_alone(self):
        rng = np.random.default_rng(0)
        n, grid = 30_000, even_grid(5)
        curve = QuantileCurve(np.cumsum(rng.exponential(size=(n, 5)), axis=1), grid, 0.0)
        levels, times = rng.uniform(0.01, 0.99, size=(n, 3)), rng.exponential(3.0, size=(n, 3))
        quantiles, probabilities = curve.at_each(levels), curve.cdf(times)
        common, survival = curve.at([0.07, 0.4, 0.97]), curve.survival([0.5, 2.0, 9.0])
        for row in (0, 21_844, 21_845, 21_846, n - 1):
            alone = QuantileCurve(curve.values[[row]], grid, 0.0)
            assert_array_equal(alone.at_each(levels[[row]])[0], quantiles[row])
            assert_array_equal(alone.cdf(times[[row]])[0], probabilities[row])
            assert_array_equal(alone.at([0.07, 0.4, 0.97])[0], common[row])
            assert_array_equal(alone.survival([0.5, 2.0, 9.0])[0], survival[row])

    def test_fields_cannot_be_reassigned(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            QuantileCurve([[1.0, 2.0, 3.0]], TAUS).lower = 0.0

    def test_pickling_keeps_the_curve(self):
        curve = pickle.loads(pickle.dumps(QuantileCurve([[1.0, 2.0, 3.0]], TAUS, 0.5)))
        assert_array_equal(curve.values, [[1.0, 2.0, 3.0]])
        assert curve.lower == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0.1, 0.2]), "values must have shape (n_samples, n_levels), got (2,)."),
        (
            ([[1.0, 2.0]], [0.5]),
            "values must have one column for each of the 1 taus, got 2 columns.",
        ),
        (([[1.0, 2.0]], [0.5, 0.2]), "taus must be strictly increasing and inside (0, 1), got"),
        (
            ([[1.0, 2.0], [1.0, np.nan], [np.inf, 2.0]], [0.1, 0.2]),
            "values must be finite, got NaN or infinity in 2 of 3 rows, first in row 1.",
        ),
        (
            ([[1.0, 2.0], [2.0, 1.0]], [0.1, 0.2]),
            "values must not decrease along a row, but row 1 does; "
            "use QuantileCurve.from_predictions to sort them.",
        ),
        (
            ([[1.0, 2.0], [-1.0, 1.0]], [0.1, 0.2], 0.0),
            "values must not be below lower=0.0, got a minimum of -1.0; "
            "use QuantileCurve.from_predictions to clip them.",
        ),
        (([[1.0]], [0.5], np.inf), "lower must be a number or minus infinity, got inf."),
        (([[1.0]], [0.5], np.nan), "lower must be a number or minus infinity, got nan."),
    ],
)
def test_what_is_no_distribution_is_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        QuantileCurve(*arguments)


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("at", [0.5, 1.0], "levels must be inside (0, 1), got (0.5, 1.0)."),
        (
            "at_each",
            [0.5, 0.5],
            "levels must have shape (n_samples, k) with n_samples=2, got (2,).",
        ),
        ("at_each", [[0.5]], "levels must have shape (n_samples, k) with n_samples=2, got (1, 1)."),
        ("at_each", [[0.5], [1.5]], "levels must be inside (0, 1), got 1.5."),
        ("at_each", [[0.5], [np.nan]], "levels must be inside (0, 1), got nan."),
        (
            "cdf",
            [1.0, 2.0, 3.0],
            "times must have shape (n_samples,) or (n_samples, n_times) with n_samples=2, "
            "got (3,); use survival for common times.",
        ),
        ("cdf", 1.0, "n_samples=2, got (); use survival for common times."),
        ("cdf", [1.0, np.nan], "times must not contain NaN."),
        ("survival", [np.nan], "times must not contain NaN."),
        (
            "survival",
            [[1.0]],
            "times must be one-dimensional, got an array of shape (1, 1); "
            "use cdf for times that differ from row to row.",
        ),
    ],
)
def test_wrong_arguments_are_refused(method, argument, message):
    curve = QuantileCurve([[1.0, 2.0, 3.0]] * 2, TAUS)
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(curve, method)(argument)


def test_the_risk_within_a_time_is_that_of_the_survival_function_and_inverts_remaining():
    curve = QuantileCurve([[1.0, 2.0, 4.0], [3.0, 5.0, 6.0]], taus=[0.25, 0.5, 0.75], lower=0.0)
    age, ahead = np.array([1.5, 4.0]), np.array([0.0, 0.5, 1.5, 90.0])
    risk = curve.risk_within(age, ahead)
    for row in range(2):
        survival = curve.take([row]).survival(age[row] + ahead)[0]
        now = curve.take([row]).survival([age[row]])[0, 0]
        np.testing.assert_allclose(risk[row], 1.0 - survival / now, atol=1e-12)
    assert (np.diff(risk, axis=1) >= 0).all()
    left = curve.remaining(age, [0.3])
    both = [curve.take([row]).risk_within(age[row], left[row])[0, 0] for row in range(2)]
    np.testing.assert_allclose(both, 0.3, rtol=1e-12)


def test_the_risk_of_a_row_that_cannot_be_alive_is_one():
    curve = QuantileCurve([[1.0, 2.0, 2.0]], taus=[0.25, 0.5, 0.75], lower=0.0)
    assert curve.risk_within(3.0, [1.0]).tolist() == [[1.0]]


# What a curve knows of its own limits.


CURVE = QuantileCurve([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], TAUS, 0.0)


def test_everything_is_identified_where_nobody_said_otherwise():
    np.testing.assert_array_equal(CURVE.reach, [1.0, 1.0])
    assert CURVE.is_identified([0.1, 0.99]).all()


def test_levels_up_to_the_reach_are_identified():
    curve = CURVE.with_reach([0.5, 0.75])
    np.testing.assert_array_equal(
        curve.is_identified([0.25, 0.1 + 0.4, 0.75]), [[1, 1, 0], [1, 1, 1]]
    )


def test_the_lowest_level_turns_the_sense_round():
    curve = CURVE.with_reach([0.5, 0.75], lowest=True)
    assert curve.reach_is_lowest
    np.testing.assert_array_equal(curve.is_identified([0.25, 0.5, 0.9]), [[0, 1, 1], [0, 0, 1]])


@pytest.mark.parametrize("lowest", [False, True])
@pytest.mark.parametrize("levels", [[0.25, 0.75], [0.5], [[0.25, 0.5], [0.75, 0.8]], [[0.9], [1]]])
def test_all_are_identified_where_each_is(lowest, levels):
    curve = CURVE.with_reach([0.5, 0.75], lowest=lowest)
    assert curve.identifies_all(levels) == curve.is_identified(levels).all()


def test_a_rule_is_asked_once_and_only_if_needed():
    asked = []

    def rule(curve):
        asked.append(len(curve))
        return np.full(len(curve), 0.3)

    curve = CURVE.with_reach(rule)
    curve.at([0.5])
    assert asked == []
    np.testing.assert_array_equal(curve.reach, curve.reach)
    assert asked == [2]


def test_a_reach_of_the_wrong_length_is_refused():
    for reach in ([0.5], lambda curve: [0.5]):
        with pytest.raises(ValueError, match=r"^reach must have shape \(2,\), got \(1,\).$"):
            CURVE.with_reach(reach).reach  # noqa: B018


def test_rows_and_pickles_keep_their_reach():
    curve = CURVE.with_reach(lambda curve: np.array([0.5, 0.7]), lowest=True)
    np.testing.assert_array_equal(curve.take([1]).reach, [0.7])
    assert curve.take(slice(1)).reach_is_lowest
    np.testing.assert_array_equal(curve.take([1], reach=False).reach, [1.0])
    again = pickle.loads(pickle.dumps(CURVE.with_reach(_rule)))
    np.testing.assert_array_equal(again.reach, [0.25, 0.25])


def _rule(curve):
    return np.full(len(curve), 0.25)


def test_the_reach_is_the_level_of_the_last_time_followed():
    np.testing.assert_allclose(reach_until(CURVE, [2.5, 3.0]), [0.625, 0.375])


def test_the_reach_never_passes_the_grid():
    np.testing.assert_array_equal(reach_until(CURVE, [100.0, np.inf]), [0.75, 0.75])
    np.testing.assert_array_equal(reach_until(CURVE, [0.0, -np.inf], lowest=True), [0.25, 0.25])


def test_nothing_is_identified_where_nobody_was_followed():
    np.testing.assert_array_equal(reach_until(CURVE, [0.0, -1.0]), [0.0, 0.0])


def test_a_single_level_is_identified_or_not():
    curve = QuantileCurve([[1.0], [2.0]], [0.5])
    np.testing.assert_array_equal(reach_until(curve, [1.5, 1.5]), [0.5, 0.0])
    np.testing.assert_array_equal(reach_until(curve, [1.5, 1.5], lowest=True), [1.0, 0.5])


def test_remaining_levels_count_from_the_time_survived():
    curve = CURVE.with_reach([0.7, 0.7])
    # After 2 the levels 0.2 and 0.6 of the rest are the levels 0.6 and 0.8 from the start.
    known = curve.is_identified(curve.conditional_levels([2.0, 2.0], [0.2, 0.6]))
    np.testing.assert_array_equal(known, [[True, False], [True, True]])
