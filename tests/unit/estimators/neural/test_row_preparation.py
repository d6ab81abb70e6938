"""Scaling, ordering and splitting of rows before training, and the far end of time."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from censquant._engine.training._rows import Rows
from censquant._rows._fit_data import (
    _hash_rows,
    arrangement,
    canonical_order,
    copies_of,
)
from censquant.estimators.neural._cqrnn import push_limit, read_y_star, y_star_factor
from censquant.estimators.neural._trained_model import (
    FeatureScale,
    scaled_rows,
    targets_only,
)
from censquant.estimators.neural._training import holdout
from censquant.survival import Target

finite = st.floats(-1e6, 1e6, allow_nan=False, width=32)
whole = st.integers(-(10**6), 10**6).map(float)
counts = arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(1, 3)), elements=whole)
tables = arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(1, 3)), elements=finite)


@given(x=tables, data=st.data())
@settings(max_examples=40, deadline=None)
def test_the_order_is_a_function_of_what_rows_hold(x, data):
    shuffled = x[data.draw(st.permutations(range(len(x))))]
    np.testing.assert_array_equal(x[canonical_order(x)], shuffled[canonical_order(shuffled)])


@given(x=tables)
@settings(max_examples=30, deadline=None)
def test_the_order_is_a_permutation(x):
    assert sorted(canonical_order(x)) == list(range(len(x)))


def test_both_zeros_are_the_same_content():
    a, b = np.array([0.0, 1.0, 2.0]), np.array([-0.0, 1.0, 2.0])
    np.testing.assert_array_equal(canonical_order(a), canonical_order(b))


@given(x=counts, unit=st.sampled_from([24.0, 60.0, 365.25, 1 / 7, 1e-3, 2.0**40]))
@settings(max_examples=40, deadline=None)
def test_the_order_is_the_same_in_another_unit(x, unit):
    np.testing.assert_array_equal(canonical_order(x, x[:, 0]), canonical_order(x, unit * x[:, 0]))
    np.testing.assert_array_equal(canonical_order(x), canonical_order(unit * x))


def test_rows_that_differ_in_the_last_bits_alone_are_ordered_by_them():
    # Single precision, in which rows are compared first, takes all of these for the same.
    x = 1.6e9 + np.arange(50.0) / 1000.0
    shuffled = np.random.default_rng(0).permutation(x)
    np.testing.assert_array_equal(x[canonical_order(x)], shuffled[canonical_order(shuffled)])


def test_values_that_are_not_finite_leave_the_order_of_others_to_their_content():
    limit = np.array([np.inf, 3.0, np.nan, 5.0, 0.0, -np.inf])
    x = np.arange(6.0)
    order = canonical_order(x, limit)
    assert sorted(order) == list(range(6))
    np.testing.assert_array_equal(canonical_order(x, limit / 7), order)


def test_every_column_counts():
    x = np.zeros(50)
    orders = {canonical_order(x, y).tobytes() for y in (x, np.arange(50.0), np.arange(50.0)[::-1])}
    assert len(orders) == 3


def test_order_does_not_follow_the_values():
    order = canonical_order(np.arange(100.0))
    assert (np.diff(order) != 1).mean() > 0.9


def test_compiled_and_plain_hashes_are_the_same():
    bits = np.random.default_rng(0).integers(2**63, size=(20, 3), dtype=np.uint64)
    compiled, plain = np.zeros(20, dtype=np.uint64), np.zeros(20, dtype=np.uint64)
    _hash_rows(bits, compiled)
    # Words wrap around on purpose.
    with np.errstate(over="ignore"):
        getattr(_hash_rows, "py_func", _hash_rows)(bits, plain)
    np.testing.assert_array_equal(compiled, plain)
    assert len(set(plain)) == 20


def test_the_order_of_scaled_rows_outlives_the_rounding_of_another_unit():
    rng = np.random.default_rng(0)
    x, time = rng.normal(size=(300, 3)), rng.normal(size=300)
    event = time > 0
    # A constant feature is zero but for rounding, which differs from unit to unit.
    x[:, 2] = 0.0
    noisy = x + rng.uniform(-1e-15, 1e-15, size=x.shape)
    shuffled = rng.permutation(300)
    plain, other = (
        scaled_rows(
            features,
            i.copy(),
            FeatureScale(),
            targets_only(Target(time[i], event[i]), np.ones(300)),
        )
        for features, i in ((x, np.arange(300)), (noisy, shuffled))
    )
    np.testing.assert_allclose(other.x, plain.x, atol=1e-6)
    np.testing.assert_array_equal(other.time, plain.time)
    assert (plain.time != time.astype(np.float32)).any()


@pytest.mark.parametrize(
    ("weight", "copies"),
    [
        ([1, 1], [1, 1]),
        ([3, 2], [3, 2]),
        ([0.5, 1], None),
        ([200, 1], None),
        ([199, 1], [199, 1]),
    ],
)
def test_whole_weights_of_moderate_size_are_copies(weight, copies):
    found = copies_of(np.array(weight, dtype=float))
    assert (None if found is None else found.tolist()) == copies


def test_large_counts_scale_the_loss_instead_of_repeating_rows():
    order, weight = arrangement(np.array([1e6, 3e6]), np.eye(2))
    assert sorted(order) == [0, 1]
    assert sorted(weight) == [0.5, 1.5]


@given(
    weight=arrays(np.float64, 12, elements=st.floats(0.01, 10)), constant=st.floats(1e-3, 1e3)
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_fractional_weights_are_scaled_to_one_on_average(weight, constant):
    weight = weight + 0.0051  # not whole
    x = np.arange(12.0)[:, None]
    scaled = arrangement(weight, x)[1]
    assert scaled.mean() == pytest.approx(1.0, rel=1e-6)
    np.testing.assert_allclose(
        np.sort(arrangement(constant * weight, x)[1]), np.sort(scaled), rtol=1e-6
    )


def test_scaled_features_have_mean_zero_and_spread_one():
    x = np.random.default_rng(0).normal(5, 3, size=(200, 2))
    weight = np.random.default_rng(1).uniform(size=200)
    scaled = FeatureScale.fit(x, weight).apply(x)
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weight), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=weight), 1)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e12, -1e-12])
def test_a_constant_feature_is_0_whatever_value_it_has_later(value):
    x = np.full((30, 1), value)
    scale = FeatureScale.fit(x, np.random.default_rng(0).uniform(size=30))
    later = np.array([[value], [value + 1.0], [1000.0 * value], [-1e30]])
    np.testing.assert_allclose(scale.apply(later), 0.0, atol=1e-150)
    np.testing.assert_allclose(scale.undo(np.zeros((1, 1))), value)


def test_a_small_spread_on_a_large_value_is_kept():
    x = np.array([[1e6], [1e6 + 1]])
    np.testing.assert_allclose(FeatureScale.fit(x, np.ones(2)).apply(x), [[-1], [1]])


def test_images_are_scaled_as_one():
    x = np.random.default_rng(0).normal(2, 4, size=(10, 1, 3, 3))
    scaled = FeatureScale.fit(x, np.ones(10)).apply(x)
    assert scaled.mean() == pytest.approx(0, abs=1e-12)
    assert scaled.std() == pytest.approx(1)


def test_no_scale_returns_the_features_themselves():
    x = np.ones((2, 2))
    assert FeatureScale().apply(x) is x


def rows(n_events, n_censored):
    n = n_events + n_censored
    return Rows.from_arrays(np.arange(n)[:, None], time=np.arange(n), event=np.arange(n) < n_events)


@given(
    n_events=st.integers(10, 60), n_censored=st.integers(0, 60), fraction=st.floats(0.1, 0.9)
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_the_share_held_out_is_that_of_events_and_of_censored_rows(n_events, n_censored, fraction):
    kept, held = holdout(rows(n_events, n_censored), fraction, np.random.default_rng(0))
    assert held.event.sum() == round(fraction * n_events)
    assert (~held.event).sum() == round(fraction * n_censored)
    assert sorted([*kept.time, *held.time]) == list(range(n_events + n_censored))


@pytest.mark.parametrize(("n_events", "fraction"), [(1, 0.5), (3, 0.1), (3, 0.9)])
def test_a_side_with_no_event_is_refused(n_events, fraction):
    with pytest.raises(ValueError, match=f"^early_stopping needs events .* got {n_events} events"):
        holdout(rows(n_events, 5), fraction, np.random.default_rng(0))


TIMES = np.array([2.0, 5.0, 10.0])


@pytest.mark.parametrize(
    ("y_star", "time", "left", "expected"),
    [
        ("1.5max", TIMES, False, 15.0),
        ("1max", TIMES, False, 10.0),
        (12, TIMES, False, 12.0),
        (None, TIMES, False, None),
        # Negative times: the excess is that of the times' size, and points away from them.
        ("1.5max", TIMES - 12, False, -2.0 + 0.5 * TIMES.std()),
        ("1.5max", TIMES - 20, False, -10.0 + 0.5 * 10.0),
        ("1.5max", TIMES, True, 2.0 - 0.5 * TIMES.std()),
        ("1.5max", TIMES + 10, True, 12.0 - 0.5 * 12.0),
        (-4.0, TIMES, True, -4.0),
    ],
)
def test_y_star_in_the_users_unit(y_star, time, left, expected):
    assert read_y_star(y_star, time, left=left) == (
        expected if expected is None else pytest.approx(expected)
    )


@pytest.mark.parametrize(
    ("text", "factor"), [("1.2max", 1.2), (" 10 max ", 10.0), ("1max", 1.0), ("1.05max", 1.05)]
)
def test_factors_of_y_star_are_read_in_one_place(text, factor):
    assert y_star_factor(text) == factor


@pytest.mark.parametrize("text", ["0.9max", "max", "1.2", "-1max", "1.2 min", ""])
def test_anything_but_a_factor_of_at_least_one_is_refused(text):
    message = (
        f"y_star must be None, a time, or a factor of at least 1 such as '1.2max', got {text!r}."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        y_star_factor(text)


@given(
    time=arrays(np.float64, st.integers(2, 10), elements=finite),
    factor=st.floats(1, 10).map(lambda f: round(f, 2)),
    left=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_factor_never_leads_inside_the_times(time, factor, left):
    y_star = read_y_star(f"{factor}max", time, left=left)
    assert (y_star <= time.min()) if left else (y_star >= time.max())


def test_without_y_star_predictions_are_pushed_a_fifth_of_the_range_beyond():
    assert push_limit(TIMES, left=False) == pytest.approx(11.6)
    assert push_limit(TIMES, left=True) == pytest.approx(0.4)
