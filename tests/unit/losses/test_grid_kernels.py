"""Losses of quantiles on a grid: against their definitions, and what follows from these."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace_asymmetric

from censquant._engine.losses._grid import (
    LEVEL_RULES,
    MarginalPinball,
    add_crossing_penalty,
    estimate_levels,
    pinball,
    portnoy,
    powell,
    tobit_laplace,
)
from oracles import (
    loop_censoring_kaplan_meier,
    slow_crossing_penalty,
    slow_level,
    slow_marginal_pinball,
    slow_pinball,
    slow_portnoy,
    slow_powell,
)
from strategies import loss_rows, repetitions, survival_data

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}
TAUS = np.array([0.1, 0.5, 0.9])
NEVER = 1e30
dtypes = pytest.mark.parametrize("dtype", TOLERANCE)
rules = pytest.mark.parametrize("rule", LEVEL_RULES)
few = settings(max_examples=60, deadline=None)


def assert_same(found, expected, dtype, size=1.0):
    """Compare a loss and its gradient with those of an oracle."""
    assert found[1].dtype == dtype
    slack = TOLERANCE[dtype]
    assert found[0] == pytest.approx(expected[0], rel=slack, abs=slack * size)
    np.testing.assert_allclose(found[1], expected[1], rtol=slack, atol=slack)


def check_loss(rows):
    """Loss and gradient of the kernel ``pinball``."""
    gradient = np.full_like(rows.predicted, np.nan)
    return pinball(rows.predicted, rows.time, rows.weight, rows.taus, gradient), gradient


def powell_loss(rows, limit):
    """Loss and gradient of the kernel ``powell``."""
    gradient = np.full_like(rows.predicted, np.nan)
    return powell(rows.predicted, rows.time, limit, rows.weight, rows.taus, gradient), gradient


def portnoy_loss(rows, rule, *, weight_below=1.0, limit=3.0, one_sided=False):
    """Loss and gradient of the kernel ``portnoy``."""
    gradient = np.full_like(rows.predicted, np.nan)
    loss = portnoy(*rows, LEVEL_RULES[rule], weight_below, limit, one_sided, gradient)
    return loss, gradient


def tobit_loss(predicted, time, event, weight, scale=0.7):
    """Loss and gradient of the kernel ``tobit_laplace``."""
    gradient = np.full_like(predicted, np.nan)
    return tobit_laplace(predicted, time, event, weight, TAUS, scale, gradient), gradient


# The check loss


@dtypes
@few
@given(data=st.data())
def test_the_check_loss_is_that_of_the_definition(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    expected = slow_pinball(rows.predicted, rows.time, rows.weight, rows.taus)
    assert_same(check_loss(rows), expected, dtype)


def test_a_prediction_that_hits_the_time_costs_nothing_and_is_pushed_up():
    gradient = np.empty((1, 1))
    loss = pinball(np.array([[2.0]]), np.array([2.0]), np.ones(1), np.array([0.25]), gradient)
    assert loss == 0
    np.testing.assert_array_equal(gradient, [[-0.25]])


def test_means_divide_by_the_number_of_rows_and_not_by_the_weights():
    ones, times, weights = np.ones((2, 1)), np.array([3.0, 3.0]), np.array([3.0, 0.0])
    gradients, level = np.empty((2, 2, 1)), np.array([0.5])
    losses = (
        pinball(ones, times, weights, level, gradients[0]),
        powell(ones, times, np.array([9.0, 9.0]), weights, level, gradients[1]),
    )
    np.testing.assert_allclose(losses, 1.5)
    np.testing.assert_allclose(gradients, np.broadcast_to([[-0.75], [0.0]], (2, 2, 1)))


def test_the_constant_with_the_lowest_loss_is_the_sample_quantile():
    time = np.random.default_rng(0).gamma(2.0, size=101)
    losses = [
        pinball(np.full((101, 1), value), time, np.ones(101), np.array([0.3]), np.empty((101, 1)))
        for value in np.sort(time)
    ]
    assert np.argmin(losses) == 30


# Portnoy's loss


@rules
@dtypes
@few
@given(data=st.data())
def test_portnoys_loss_is_that_of_the_definition(dtype, rule, data):
    rows = data.draw(loss_rows(dtype=dtype))
    options = {
        "weight_below": data.draw(st.sampled_from([0.0, 1.0])),
        "limit": data.draw(st.sampled_from([-0.5, 2.0, 100.0])),
        "one_sided": data.draw(st.booleans()),
    }
    found = portnoy_loss(rows, rule, **options)
    # A one-sided loss may cancel to nearly nothing: rounding is measured by the size of its terms.
    size = max(1.0, float(rows.weight.max()) * abs(options["limit"]) * len(rows.taus))
    assert_same(found, slow_portnoy(*rows, rule=rule, **options), dtype, size)


@rules
@dtypes
@few
@given(data=st.data())
def test_levels_are_those_of_the_rule(dtype, rule, data):
    rows = data.draw(loss_rows(dtype=dtype))
    out = np.empty_like(rows.time)
    estimate_levels(rows.time, rows.predicted, rows.taus, LEVEL_RULES[rule], out)
    expected = [
        slow_level(time, predicted, rows.taus.tolist(), rule)
        for time, predicted in zip(rows.time.tolist(), rows.predicted.tolist(), strict=True)
    ]
    np.testing.assert_allclose(out, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def levels(times, predicted, taus, rule):
    """Levels of some times on the predictions of one row."""
    out, times = np.empty(len(times)), np.asarray(times)
    predicted = np.tile(predicted, (len(times), 1))
    estimate_levels(times, predicted, np.asarray(taus), LEVEL_RULES[rule], out)
    return out


def test_hand_computed_levels():
    times = [-9.0, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 99.0]
    expected = {
        "nearest": [0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.8, 0.8],
        "lower": [0.0, 0.0, 0.2, 0.2, 0.2, 0.6, 0.6, 0.8, 0.8],
        "interpolate": [0.0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8],
    }
    for rule, values in expected.items():
        found = levels(times, [1.0, 3.0, 5.0], [0.2, 0.6, 0.8], rule)
        np.testing.assert_allclose(found, values, atol=1e-12)
        if rule != "nearest":  # which names a column and does not look at the order of the values
            found = levels(times, [5.0, 1.0, 3.0], [0.2, 0.6, 0.8], rule)
            np.testing.assert_allclose(found, values, atol=1e-12)


def test_predictions_that_coincide_give_finite_levels():
    times, taus = [0.5, 1.0, 1.5], [0.5, 0.75]
    # Two equal predictions at the time itself are both at or below it.
    equal, near = (levels(times, [1.0, 1.0 + gap], taus, "interpolate") for gap in (0.0, 1e-13))
    np.testing.assert_allclose(equal, [0.0, 0.75, 0.75])
    np.testing.assert_allclose(near, [0.0, 0.5, 0.75])


def test_a_time_between_near_predictions_lies_between_their_levels():
    for gap in (1e-3, 1e-6, 1e-10):
        found = levels([gap / 4], [0.0, gap], [0.5, 0.75], "interpolate")
        assert found[0] == pytest.approx(0.5625)


@few
@given(rows=loss_rows())
def test_without_censoring_every_variant_is_the_check_loss(rows):
    seen = rows._replace(event=np.ones(len(rows.time), dtype=bool))
    losses, gradients = zip(
        *(
            portnoy_loss(seen, rule, weight_below=below, limit=limit, one_sided=one_sided)
            for rule in LEVEL_RULES
            for below in (0.0, 1.0)
            for limit, one_sided in ((1.0, False), (-3.0, True))
        ),
        strict=True,
    )
    np.testing.assert_array_equal(losses, losses[0])
    np.testing.assert_array_equal(gradients, np.broadcast_to(gradients[0], np.shape(gradients)))


@few
@given(rows=loss_rows(), rule=st.sampled_from(list(LEVEL_RULES)))
def test_far_walls_and_no_wall_push_alike(rows, rule):
    _, wall = portnoy_loss(rows, rule, limit=1e6)
    _, no_wall = portnoy_loss(rows, rule, limit=1e30, one_sided=True)
    np.testing.assert_allclose(wall, no_wall, atol=1e-12)


@few
@given(rows=loss_rows(), rule=st.sampled_from(list(LEVEL_RULES)))
def test_above_the_cap_nothing_is_pushed_up(rows, rule):
    censored = rows._replace(event=np.zeros(len(rows.time), dtype=bool))
    _, gradient = portnoy_loss(censored, rule, limit=0.5, one_sided=True)
    assert (gradient[rows.predicted > 0.5] >= 0).all()


@few
@given(rows=loss_rows())
def test_the_weight_below_matters_only_where_predictions_cross(rows):
    rows.predicted.sort(axis=1)
    estimated = rows._replace(level=np.full_like(rows.level, -1.0))
    for rule in ("lower", "interpolate"):
        # The far time lies past every prediction, as an estimator sees to.
        _, one = portnoy_loss(estimated, rule, weight_below=1.0, limit=1e6)
        _, zero = portnoy_loss(estimated, rule, weight_below=0.0, limit=1e6)
        # Below its own level a sorted row lies below the time, where every weight pushes alike,
        # except where neighbours are equal.
        distinct = (np.diff(rows.predicted, axis=1) > 0).all(axis=1)
        np.testing.assert_allclose(one[distinct], zero[distinct], atol=1e-12)


# Powell's loss


@dtypes
@few
@given(data=st.data())
def test_powells_loss_is_that_of_the_cut_prediction(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    longer = data.draw(
        st.lists(st.integers(0, 8), min_size=len(rows.time), max_size=len(rows.time))
    )
    limit = np.where(rows.event, rows.time + dtype(0.25) * np.array(longer), rows.time)
    limit = limit.astype(dtype)
    expected = slow_powell(rows.predicted, rows.time, limit, rows.weight, rows.taus)
    assert_same(powell_loss(rows, limit), expected, dtype)


@settings(max_examples=30, deadline=None)
@given(rows=loss_rows(dtype=np.float32))
def test_without_any_censoring_powells_loss_is_the_check_loss(rows):
    loss, gradient = powell_loss(rows, np.full_like(rows.time, NEVER))
    expected, plain = check_loss(rows)
    assert loss == pytest.approx(expected, rel=1e-6, abs=1e-6)
    np.testing.assert_array_equal(gradient, plain)


def test_a_censored_row_pushes_up_until_the_prediction_reaches_it():
    predicted = np.array([[2.0], [2.75], [3.0], [7.0]])
    time = limit = np.full(4, 3.0)
    gradient = np.full((4, 1), np.nan)
    loss = powell(predicted, time, limit, np.ones(4), np.array([0.25]), gradient)
    np.testing.assert_array_equal(gradient[:, 0], [-0.0625, -0.0625, 0.0, 0.0])
    assert loss == pytest.approx(0.25 * (1.0 + 0.25) / 4)


def test_an_event_pulls_down_below_its_limit_and_not_beyond():
    predicted = np.array([[4.0], [5.5]])
    time, limit, gradient = np.full(2, 1.0), np.full(2, 5.0), np.full((2, 1), np.nan)
    loss = powell(predicted, time, limit, np.ones(2), np.array([0.25]), gradient)
    np.testing.assert_array_equal(gradient[:, 0], [0.375, 0.0])
    # The second prediction costs what one at its limit would.
    assert loss == pytest.approx(0.75 * (3.0 + 4.0) / 2)


# The likelihood around quantiles


def tobit_rows(seed=0, n=20):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, 3)),
        rng.normal(size=n),
        rng.random(n) < 0.5,
        rng.uniform(0.5, 2.0, n),
    )


def test_the_tobit_loss_is_that_of_scipys_asymmetric_laplace():
    predicted, time, event, weight = tobit_rows()
    loss, _ = tobit_loss(predicted, time, event, weight)
    total = 0.0
    for k, tau in enumerate(TAUS):
        kappa = np.sqrt(tau / (1 - tau))
        law = laplace_asymmetric(kappa, predicted[:, k], 0.7 / np.sqrt(tau * (1 - tau)))
        # Densities count without their constant.
        constant = np.log(tau * (1 - tau) / 0.7)
        values = np.where(event, law.logpdf(time) - constant, law.logsf(time))
        total -= np.mean(weight * values)
    assert loss == pytest.approx(total, rel=1e-10)


def test_the_tobit_gradient_is_that_of_differences():
    predicted, time, event, weight = tobit_rows(1)
    _, gradient = tobit_loss(predicted, time, event, weight)
    for cell in np.ndindex(predicted.shape):
        shift = np.zeros_like(predicted)
        shift[cell] = 1e-6
        high, low = (tobit_loss(predicted + s * shift, time, event, weight)[0] for s in (1, -1))
        assert gradient[cell] == pytest.approx((high - low) / 2e-6, abs=1e-8)


def test_the_tobit_gradient_tends_to_powells_as_the_scale_vanishes():
    predicted, time, event, weight = tobit_rows(2)
    limit, expected = np.where(event, np.inf, time), np.empty_like(predicted)
    powell(predicted, time, np.minimum(limit, NEVER), weight, TAUS, expected)
    scale = 1e-6
    _, gradient = tobit_loss(predicted, time, event, weight, scale)
    np.testing.assert_allclose(gradient * scale, expected, atol=1e-12)


def test_predictions_beyond_a_censoring_time_are_pushed_on_but_less_and_less():
    slopes = [
        tobit_loss(np.full((1, 3), q), np.zeros(1), np.array([False]), np.ones(1))[1][0]
        for q in (0.1, 1.0, 5.0)
    ]
    assert (np.array(slopes) < 0).all()
    assert (np.diff(np.abs(slopes), axis=0) < 0).all()


# The penalty on crossing


@dtypes
@few
@given(data=st.data())
def test_the_crossing_penalty_is_that_of_the_definition(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    # A margin off the grid of the values: at the kink both slopes would be right.
    margin = data.draw(st.sampled_from([0.0625, 0.9375]))
    before = np.full_like(rows.predicted, 0.5)
    gradient = before.copy()
    penalty = add_crossing_penalty(rows.predicted, rows.weight, margin, 2.5, gradient)
    expected = slow_crossing_penalty(rows.predicted, rows.weight, margin, 2.5)
    assert_same((penalty, gradient - before), expected, dtype)


def test_quantiles_that_keep_their_distance_cost_nothing():
    gradient = np.zeros((1, 3))
    predicted = np.array([[1.0, 1.25, 3.0]])
    assert add_crossing_penalty(predicted, np.ones(1), 0.25, 9.0, gradient) == 0
    np.testing.assert_array_equal(gradient, 0)


# The marginal loss

LEVELS = np.array([0.125, 0.5, 0.75])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_term_of_the_marginal_loss_is_that_of_the_definition(data):
    time, event = data.draw(survival_data(max_size=12))
    weight = data.draw(repetitions(len(time))).astype(float)
    n_rows = data.draw(st.integers(1, 4))
    numbers = st.lists(st.integers(-3, 30), min_size=3 * n_rows, max_size=3 * n_rows)
    predicted = np.array(data.draw(numbers)).reshape(n_rows, 3) * time.max() / 20
    judged, seen = data.draw(survival_data(min_size=n_rows, max_size=n_rows))
    loss = MarginalPinball.fit(time, event, weight)(predicted, judged, seen, LEVELS)
    steps = [column.tolist() for column in loop_censoring_kaplan_meier(time, event, weight)]
    expected = [
        [slow_marginal_pinball(q, t, e, tau, *steps) for q, tau in zip(row, LEVELS, strict=True)]
        for row, t, e in zip(predicted, judged, seen, strict=True)
    ]
    np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)


def test_a_hand_computed_marginal_loss():
    # The censoring curve is 1 before 2 and 1/2 from 2 on.
    loss = MarginalPinball.fit([1.0, 2.0, 4.0], [True, False, True])
    predicted = np.array([[4.0], [0.5], [3.0]])
    judged = loss(
        predicted, np.array([1.0, 1.0, 2.0]), np.array([True, True, False]), np.array([0.25])
    )
    np.testing.assert_allclose(judged, [[0.75 * (1 + 0.5 * 2)], [0.25 * 0.5], [0.0]])


@pytest.mark.parametrize(("n_censored", "factor"), [(8, 1.0), (198, 0.5)])
def test_a_row_stands_for_fifty_at_the_most(n_censored, factor):
    # Two rows outlast the censoring at 1: the curve stays at 2 / (n_censored + 2) from there on.
    time = np.array([1.0] * n_censored + [2.0, 4.0])
    event = np.array([False] * n_censored + [True, True])
    judged = MarginalPinball.fit(time, event)(
        np.array([[3.0]]), np.array([2.0]), np.array([True]), np.array([0.25])
    )
    np.testing.assert_allclose(judged, [[0.75 * factor]])


def test_without_censoring_the_marginal_loss_is_the_check_loss_also_past_the_last_time():
    rng = np.random.default_rng(0)
    time = rng.gamma(2.0, size=50)
    predicted = rng.uniform(-1.0, 3 * time.max(), size=(50, 3))
    loss = MarginalPinball.fit(time, np.ones(50, dtype=bool))(
        predicted, time, np.ones(50, dtype=bool), LEVELS
    )
    error = time[:, None] - predicted
    np.testing.assert_allclose(loss, error * (LEVELS - (error < 0)), atol=1e-12)


@pytest.mark.parametrize("tau", [0.25, 0.5])
def test_the_mean_marginal_loss_is_smallest_at_the_true_quantile(tau):
    rng = np.random.default_rng(7)
    event_time, censoring = rng.exponential(size=40_000), rng.uniform(0, 2, size=40_000)
    time, event = np.minimum(event_time, censoring), event_time <= censoring
    score = MarginalPinball.fit(time, event)
    candidates = -np.log(1 - tau) + np.linspace(-0.25, 0.5, 31)
    means = [
        score(np.full((len(time), 1), q), time, event, np.array([tau])).mean() for q in candidates
    ]
    assert candidates[np.argmin(means)] == pytest.approx(-np.log(1 - tau), abs=0.026)
