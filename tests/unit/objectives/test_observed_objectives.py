"""Check losses of the events alone: who counts, and how much."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from lifelines import KaplanMeierFitter

from censquant._engine.objectives._grid import ObservedPinball, Pinball, WeightedPinball
from censquant._engine.training._loop import TrainingConfig, train
from censquant._engine.training._rows import Rows
from censquant.survival._kaplan_meier import inverse_censoring_weights
from oracles import loop_censoring_kaplan_meier, slow_pinball, step_value
from strategies import survival_data
from toys import TAUS, censored_rows, dense

LEVELS = np.array(TAUS, dtype=np.float32)


def weighted_rows(n=40, seed=0):
    rows = censored_rows(n, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, size=n)
    return replace(rows, weight=weight.astype(np.float32))


def output_for(rows):
    rng = np.random.default_rng(2)
    return rng.normal(1.0, 0.5, size=(len(rows), 3)).astype(np.float32)


def gradient_of(objective, output, rows):
    out = np.full_like(output, np.nan)
    return objective.gradient(output, objective.prepare(rows), out), out


# Events alone


def test_censored_rows_have_no_weight_and_events_keep_theirs():
    rows = weighted_rows()
    prepared = ObservedPinball(TAUS).prepare(rows)
    assert len(prepared) == len(rows)
    np.testing.assert_array_equal(prepared.weight, rows.weight * rows.event)
    assert prepared.weight.dtype == np.float32


def test_the_loss_is_the_check_loss_of_the_events():
    rows = weighted_rows()
    output = output_for(rows)
    loss, gradient = gradient_of(ObservedPinball(TAUS), output, rows)
    expected_loss, expected = slow_pinball(output, rows.time, rows.weight * rows.event, LEVELS)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(gradient[~rows.event], 0)


def test_times_of_censored_rows_do_not_matter():
    rows = censored_rows()
    moved = replace(rows, time=np.where(rows.event, rows.time, np.float32(1e6)))
    fits = []
    for given_rows in (rows, moved):
        network = dense()
        train(
            network,
            ObservedPinball(TAUS),
            given_rows,
            TrainingConfig(max_epochs=5, batch_size=16),
            np.random.default_rng(0),
        )
        fits.append(network.predict(rows.x))
    np.testing.assert_array_equal(*fits)


def test_the_plain_check_loss_does_not_look_at_events():
    rows = censored_rows()
    fits = []
    for event in (rows.event, np.ones_like(rows.event)):
        network = dense()
        train(
            network,
            Pinball(TAUS),
            replace(rows, event=event),
            TrainingConfig(max_epochs=5, batch_size=16),
            np.random.default_rng(0),
        )
        fits.append(network.predict(rows.x))
    np.testing.assert_array_equal(*fits)


# Events by their chance of having been seen


def test_weights_are_those_of_lifelines_curve_of_censoring():
    rows = censored_rows(200)
    bound = WeightedPinball(TAUS, floor=1e-9).bind(rows)
    time = rows.time - np.float64(rows.time.min()) + 1.0  # lifelines knows positive times alone
    fitter = KaplanMeierFitter().fit(time, ~rows.event)
    just_before = np.nextafter(time, -np.inf)
    chance = fitter.survival_function_at_times(just_before).to_numpy()
    expected = np.where(rows.event, 1 / chance, 0)
    assert expected.max() > 2
    np.testing.assert_allclose(bound.prepare(rows).weight, expected, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(data=survival_data(min_size=2, min_events=1))
def test_at_ties_events_leave_before_censorings(data):
    time, event = data
    rows = Rows.from_arrays(np.zeros((len(time), 1)), time=time, event=event)
    weight = WeightedPinball(TAUS).bind(rows).prepare(rows).weight
    curve = loop_censoring_kaplan_meier(rows.time, event)
    expected = [
        seen / max(step_value(*curve, t, before=True), 0.02)
        for t, seen in zip(rows.time, event, strict=True)
    ]
    np.testing.assert_allclose(weight, expected, rtol=1e-6)


def test_weights_agree_with_those_of_the_survival_package():
    rows = censored_rows(60)
    weight = WeightedPinball(TAUS).bind(rows).prepare(rows).weight
    np.testing.assert_allclose(weight, inverse_censoring_weights(rows.time, rows.event), rtol=1e-6)


def test_the_floor_bounds_the_weights():
    # Each of the first 99 rows is censored, so the chance of the last one is 1 in 100.
    rows = Rows.from_arrays(np.zeros((100, 1)), time=np.arange(100), event=np.arange(100) == 99)
    weights = [
        WeightedPinball(TAUS, floor=floor).bind(rows).prepare(rows).weight[-1]
        for floor in (0.001, 0.02, 0.5)
    ]
    np.testing.assert_allclose(weights, [100, 50, 2], rtol=1e-6)
    assert WeightedPinball(TAUS).floor == 0.02


def test_other_rows_are_weighted_by_the_training_curve():
    training, others = censored_rows(80, seed=1), censored_rows(30, seed=2)
    bound = WeightedPinball(TAUS).bind(training)
    curve = loop_censoring_kaplan_meier(training.time, training.event)
    expected = [
        seen / max(step_value(*curve, t, before=True), 0.02)
        for t, seen in zip(others.time, others.event, strict=True)
    ]
    prepared = bound.prepare(others)
    np.testing.assert_allclose(prepared.weight, expected, rtol=1e-6)
    own = WeightedPinball(TAUS).bind(others).prepare(others)
    assert not np.allclose(prepared.weight, own.weight)


def test_row_weights_count_in_the_curve_and_in_the_loss():
    rows = weighted_rows()
    prepared = WeightedPinball(TAUS).bind(rows).prepare(rows)
    curve = loop_censoring_kaplan_meier(rows.time, rows.event, rows.weight.astype(float))
    expected = [
        weight * seen / max(step_value(*curve, t, before=True), 0.02)
        for t, seen, weight in zip(rows.time, rows.event, rows.weight, strict=True)
    ]
    np.testing.assert_allclose(prepared.weight, expected, rtol=1e-5)
    output = output_for(rows)
    loss, gradient = gradient_of(WeightedPinball(TAUS).bind(rows), output, rows)
    expected_loss, by_output = slow_pinball(output, rows.time, prepared.weight, LEVELS)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    np.testing.assert_allclose(gradient, by_output, rtol=1e-5, atol=1e-6)


def test_binding_leaves_the_objective_as_it_was():
    objective = WeightedPinball(TAUS, floor=0.1)
    bound = objective.bind(censored_rows())
    assert objective.curve is None
    assert (bound.floor, bound.taus) == (0.1, TAUS)


def test_it_must_be_bound_before_it_prepares():
    message = "prepare needs a bound objective: call bind(rows) first."
    with pytest.raises(RuntimeError, match="^" + re.escape(message) + "$"):
        WeightedPinball(TAUS).prepare(censored_rows())


@pytest.mark.parametrize("objective", [ObservedPinball(TAUS), WeightedPinball(TAUS)], ids=str)
def test_it_can_be_pickled(objective):
    assert pickle.loads(pickle.dumps(objective)) == objective
