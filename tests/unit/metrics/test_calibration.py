import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.metrics._calibration import km_calibration, pit_curve, pit_deviation
from oracles import loop_kaplan_meier, step_value
from strategies import repetitions, survival_data

TAUS = np.arange(1, 20) / 20
few = settings(max_examples=30, deadline=None)


def refused(message):
    return pytest.raises(ValueError, match="^" + re.escape(message) + "$")


def simulate(seed, end, n=4000):
    """Uniform times of a scale that depends on a feature: linear pieces describe them exactly."""
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 2.0, size=n)
    target, censoring = scale * rng.random(n), rng.uniform(0, end, size=n)
    return scale, (np.minimum(target, censoring), target <= censoring)


def test_the_deviation_is_the_largest_of_the_curve():
    y = ([0.5, 1.5, 2.5, 9.0], [1, 0, 1, 1])
    predicted, taus = [[1.0, 2.0, 3.0]] * 4, [0.25, 0.5, 0.75]
    levels, observed = pit_curve(y, predicted, taus)
    assert pit_deviation(y, predicted, taus) == np.abs(observed - levels).max() == 0.25
    assert pit_deviation(y, predicted, taus, levels=[0.75]) == pytest.approx(0.125)


def test_levels_that_follow_up_did_not_reach_do_not_count():
    y = ([0.5, 1.5, 1.5], [1, 0, 0])
    deviation = pit_deviation(y, [[1.0, 2.0, 3.0]] * 3, [0.25, 0.5, 0.75])
    assert deviation == pytest.approx(1 / 3 - 0.25)


def test_a_deviation_at_levels_that_no_row_reached_is_refused():
    with refused(
        "levels must hold one that follow-up reached for some row, got 0.5 as the lowest: "
        "every row of y is censored before."
    ):
        pit_deviation(([0.5, 0.5], [0, 0]), [[1.0, 2.0]] * 2, [0.5, 0.8])


@pytest.mark.parametrize(("end", "censored"), [(2.2, 0.3), (1.15, 0.5), (0.42, 0.8)])
def test_the_true_model_is_calibrated_under_censoring(end, censored):
    scale, y = simulate(1, end)
    assert abs(1 - y[1].mean() - censored) < 0.05
    # Half of the largest level that anybody can be followed to.
    levels = TAUS[min(end / 0.5, 1) / 2 >= TAUS]
    deviation = pit_deviation(y, scale[:, None] * TAUS, TAUS, levels=levels)
    assert deviation < 2 / np.sqrt(y[1].sum())
    assert pit_deviation(y, 1.4 * scale[:, None] * TAUS, TAUS, levels=levels) > deviation + 0.05


@few
@given(data=st.data())
def test_a_weight_counts_a_row_as_many_equal_rows(data):
    time, event = data.draw(survival_data(min_events=1))
    weight = data.draw(repetitions(len(time)))
    predicted = np.cumsum(
        np.random.default_rng(0).uniform(0.1, 1.0, size=(len(time), 3)) * time.max() / 2, axis=1
    )
    again = np.repeat(np.arange(len(time)), weight)
    weighted = pit_curve((time, event), predicted, [0.2, 0.5, 0.8], sample_weight=weight)
    repeated = pit_curve((time[again], event[again]), predicted[again], [0.2, 0.5, 0.8])
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)
    times = np.array([0.2, 0.5]) * time[weight > 0].max()
    survival = np.sort(predicted[:, :2] / (2 * predicted.max()))[:, ::-1]
    assert km_calibration((time, event), survival, times, sample_weight=weight) == pytest.approx(
        km_calibration((time[again], event[again]), survival[again], times)
    )


def test_a_hand_computed_distance_from_kaplan_meier():
    # Kaplan-Meier is 1, 0.75, 0.75 and 0.375 at the times; the mean prediction is 0.9, ..., 0.3.
    y = ([1.0, 1.5, 2.5, 4.0], [1, 0, 1, 1])
    survival = [[1.0, 0.8, 0.6, 0.4], [0.8, 0.6, 0.4, 0.2]] * 2
    gaps = np.array([0.9 - 1, 0.7 - 0.75, 0.5 - 0.75, 0.3 - 0.375]) ** 2
    area = gaps[:2].mean() * 1.0 + gaps[1:3].mean() * 0.5 + gaps[2:].mean() * 1.5
    distance = km_calibration(y, survival, [0.5, 1.5, 2.0, 3.5])
    assert distance == pytest.approx(area / 3)


@few
@given(data=survival_data(min_size=2, min_events=1), seed=st.integers(0, 100))
def test_the_distance_is_that_of_its_definition(data, seed):
    time, event = data
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 1, size=5)) * time.max()
    survival = np.sort(rng.random((len(time), 5)), axis=1)[:, ::-1]
    curve = [column.tolist() for column in loop_kaplan_meier(time, event)]
    squared = [(np.mean(survival[:, j]) - step_value(*curve, t)) ** 2 for j, t in enumerate(times)]
    area = sum((times[j + 1] - times[j]) * (squared[j] + squared[j + 1]) / 2 for j in range(4))
    distance = km_calibration((time, event), survival, times)
    assert distance == pytest.approx(area / (times[-1] - times[0]))


def test_times_past_the_last_row_do_not_count():
    y = ([1.0, 2.0, 3.0], [1, 1, 0])
    near = km_calibration(y, [[0.7, 0.4]] * 3, [1.0, 3.0])
    far = km_calibration(y, [[0.7, 0.4, 0.0]] * 3, [1.0, 3.0, 4.0])
    assert near == far


def test_kaplan_meier_for_everybody_scores_zero():
    y = ([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    assert km_calibration(y, [[0.75, 0.5, 0.5, 0.0]] * 4, [1.0, 2.0, 3.0, 4.0]) == 0


def test_too_few_times_inside_the_data_are_refused():
    with refused("times must hold two times or more up to the last time of y, 3, got 1."):
        km_calibration([1.0, 3.0], [[0.5, 0.4, 0.3]] * 2, [2.0, 4.0, 5.0])


@pytest.mark.parametrize("end", [2.2, 1.1, 0.42])
def test_the_true_model_stays_near_kaplan_meier(end):
    scale, y = simulate(2, end)
    times = np.linspace(0, 0.9 * end, 50)
    survival = np.maximum(1 - times / scale[:, None], 0.0)
    distance = km_calibration(y, survival, times)
    # A typical distance of two standard errors of a share of all rows.
    assert distance < 4 * 0.25 / y[1].sum()
    late = np.maximum(1 - times / (1.4 * scale[:, None]), 0.0)
    assert km_calibration(y, late, times) > 4 * distance
