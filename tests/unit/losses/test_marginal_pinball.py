import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.losses._grid import MarginalPinball
from oracles import loop_censoring_kaplan_meier, slow_marginal_pinball
from strategies import repetitions, survival_data

TAUS = np.array([0.125, 0.5, 0.75])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_term_is_that_of_the_definition(data):
    time, event = data.draw(survival_data(max_size=12))
    weight = data.draw(repetitions(len(time))).astype(float)
    n_rows = data.draw(st.integers(1, 4))
    numbers = st.lists(st.integers(-3, 30), min_size=3 * n_rows, max_size=3 * n_rows)
    predicted = np.array(data.draw(numbers)).reshape(n_rows, 3) * time.max() / 20
    judged, seen = data.draw(survival_data(min_size=n_rows, max_size=n_rows))
    loss = MarginalPinball.fit(time, event, weight)(predicted, judged, seen, TAUS)
    steps = [column.tolist() for column in loop_censoring_kaplan_meier(time, event, weight)]
    expected = [
        [slow_marginal_pinball(q, t, e, tau, *steps) for q, tau in zip(row, TAUS, strict=True)]
        for row, t, e in zip(predicted, judged, seen, strict=True)
    ]
    np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)


def test_a_hand_computed_loss():
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


def test_without_censoring_it_is_the_check_loss_also_past_the_last_time():
    rng = np.random.default_rng(0)
    time = rng.gamma(2.0, size=50)
    predicted = rng.uniform(-1.0, 3 * time.max(), size=(50, 3))
    loss = MarginalPinball.fit(time, np.ones(50, dtype=bool))(
        predicted, time, np.ones(50, dtype=bool), TAUS
    )
    error = time[:, None] - predicted
    np.testing.assert_allclose(loss, error * (TAUS - (error < 0)), atol=1e-12)


@pytest.mark.parametrize("tau", [0.25, 0.5])
def test_its_mean_is_smallest_at_the_true_quantile(tau):
    rng = np.random.default_rng(7)
    event_time, censoring = rng.exponential(size=40_000), rng.uniform(0, 2, size=40_000)
    time, event = np.minimum(event_time, censoring), event_time <= censoring
    judge = MarginalPinball.fit(time, event)
    candidates = -np.log(1 - tau) + np.linspace(-0.25, 0.5, 31)
    means = [
        judge(np.full((len(time), 1), q), time, event, np.array([tau])).mean() for q in candidates
    ]
    assert candidates[np.argmin(means)] == pytest.approx(-np.log(1 - tau), abs=0.026)
