import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.exceptions import NoEventsError, TruncationWarning
from censquant.metrics._absolute_error import mean_absolute_error_censored as error
from censquant.survival import Surv, censoring_kaplan_meier
from censquant.survival._kaplan_meier import inverse_censoring_weights
from oracles import loop_kaplan_meier, step_value
from strategies import repetitions, survival_data

few = settings(max_examples=40, deadline=None)
METHODS = ["pseudo-observation", "margin", "hinge", "uncensored", "ipcw"]


def continued(time, event):
    """Kaplan-Meier curve as a function, with the time at which its straight tail ends."""
    steps = loop_kaplan_meier(time, event)
    last, share = steps[0][-1], steps[1][-1]
    end = last / (1 - share)

    def curve(t):
        return step_value(*steps, t) if t <= last else max(0.0, 1 - t / end)

    return curve, last, end


def area_from(start, curve, last, end, knots):
    """Area under the continued curve, piece by piece; a piece is flat, or the straight tail."""
    edges = sorted({start, *[k for k in knots if start < k <= last]})
    total = sum(curve(a) * (b - a) for a, b in pairwise(edges))
    if start <= last:
        return total + curve(last) * (end - last) / 2
    return curve(start) * max(end - start, 0.0) / 2


def slow_surrogate(c, time, event, method):
    curve, last, end = continued(time, event)
    if method == "margin":
        share = curve(c)
        return c + area_from(c, curve, last, end, time) / share if share > 0 else c
    mean = area_from(0.0, curve, last, end, time)
    joined = np.append(time, min(c, last)), np.append(event, False)
    mean_with = area_from(0.0, *continued(*joined), joined[0])
    share = (len(time) + 1) * mean_with - len(time) * mean
    return max(share, c) if c > last else share


def slow_error(y, predicted, train, method):
    time, event = y
    curve, _, _ = continued(*train)
    total = norm = 0.0
    for i in range(len(time)):
        share, at = 1.0, time[i]
        if not event[i]:
            share, at = 1 - curve(time[i]), slow_surrogate(time[i], *train, method)
        total += share * abs(at - predicted[i])
        norm += share
    return total / norm


def spread(n, seed=0):
    return np.random.default_rng(seed).uniform(0, 9, size=n)


@pytest.mark.parametrize("method", ["margin", "pseudo-observation"])
@few
@given(data=survival_data(min_events=1), train=survival_data(min_events=1), seed=st.integers(0, 9))
def test_brute_force_agrees(method, data, train, seed):
    predicted = spread(len(data[0]), seed)
    got = error(data, predicted, method=method, y_train=train)
    assert got == pytest.approx(slow_error(data, predicted, train, method), rel=1e-9)


@pytest.mark.parametrize("method", ["margin", "pseudo-observation"])
def test_brute_force_agrees_on_many_rows(method):
    rng = np.random.default_rng(1)
    time, event = rng.exponential(5.0, size=150), rng.random(150) < 0.4
    train = rng.exponential(5.0, size=200), rng.random(200) < 0.5
    predicted = spread(150)
    got = error((time, event), predicted, method=method, y_train=train)
    assert got == pytest.approx(slow_error((time, event), predicted, train, method), rel=1e-9)


def test_a_hand_computed_margin():
    # S is 2/3 from 1, 1/3 from 3 and ends at 4 / (1 - 1/3) = 6. Past 2: (2/3 + 1/3 + 1/3) / (2/3).
    y_train = ([1.0, 3.0, 4.0], [1, 1, 0])
    surrogate = 2 + (2 / 3 + 1 / 3 + 1 / 3) / (2 / 3)
    got = error(([2.0], [0]), [0.0], method="margin", y_train=y_train)
    assert got == pytest.approx(surrogate)


def test_a_hand_computed_pseudo_observation():
    # Of one event at 2 the mean is 2. With a row censored at 1 it still is; with one at 2, S is
    # 1/2 from 2 and ends at 4, so the mean is 2 + 1/2.
    options = {"method": "pseudo-observation", "y_train": [2.0]}
    assert error(([2.0, 2.0], [0, 1]), [2 * 2.5 - 2.0, 2.0], **options) == 0.0
    assert error(([1.0, 2.0], [0, 1]), [77.0, 2.0], **options) == 0.0


def test_a_hand_computed_hinge():
    y = ([1.0, 2.0, 3.0], [1, 0, 0])
    assert error(y, [2.0, 9.0, 1.0], method="hinge") == (1 + 0 + 2) / 3


def test_only_events_count_as_uncensored():
    y = ([1.0, 2.0, 3.0], [1, 0, 1])
    assert error(y, [2.0, 99.0, 1.0], method="uncensored") == (1 + 2) / 2


def test_events_stand_for_the_censored_rows_under_ipcw():
    # The event at 3 stands for two rows.
    y = ([1.0, 2.0, 3.0], [1, 0, 1])
    assert error(y, [2.0, 99.0, 1.0], method="ipcw") == pytest.approx((1 + 2 * 2) / 3)


def test_the_weights_of_ipcw_are_those_of_the_training_rows():
    rng = np.random.default_rng(2)
    y, train = ((rng.uniform(size=50), rng.random(50) < 0.5) for _ in range(2))
    train[0][0] = 1.0
    weights = inverse_censoring_weights(*y, curve=censoring_kaplan_meier(*train))
    expected = np.average(np.abs(y[0] - 1.0), weights=weights)
    assert error(y, np.ones(50), method="ipcw", y_train=train) == pytest.approx(expected)


def test_events_past_the_training_rows_are_left_out_of_ipcw_with_one_warning():
    train = [1.0, 2.0, 3.0], [True, False, True]
    y, predicted = ([1.0, 3.0, 4.0, 5.0], [1, 1, 1, 1]), [2.0, 1.0, 99.0, 99.0]
    message = (
        "2 of 4 events, from time 4 on, are left out of the absolute error: the censoring curve of "
        "y_train is unknown there."
    )
    with pytest.warns(TruncationWarning, match="^" + re.escape(message) + "$") as told:
        got = error(y, predicted, method="ipcw", y_train=train)
    assert got == pytest.approx((1 + 2 * 2) / 3)
    assert len(told) == 1
    assert told[0].filename == __file__
    # Where no training row is censored the curve is known everywhere.
    assert error(y, predicted, method="ipcw", y_train=[1.0, 2.0]) == np.mean([1, 2, 95, 94])


@pytest.mark.parametrize("method", METHODS)
@few
@given(data=st.data())
def test_a_whole_weight_counts_as_that_many_rows(method, data):
    time, event = data.draw(survival_data(min_size=2, min_events=1))
    counts = data.draw(repetitions(len(time)))
    counts[0] = 2
    predicted = spread(len(time))
    weighted = error((time, event), predicted, method=method, sample_weight=counts)
    repeated = [np.repeat(column, counts) for column in (time, event, predicted)]
    expected = error(tuple(repeated[:2]), repeated[2], method=method)
    assert weighted == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_without_censoring_it_is_the_mean_absolute_error(method):
    time, predicted = spread(40, 3), spread(40, 4)
    expected = np.abs(time - predicted).mean()
    assert error(time, predicted, method=method) == pytest.approx(expected)


@pytest.mark.parametrize("method", METHODS)
def test_a_perfect_model_of_seen_events_scores_zero(method):
    y = Surv.from_arrays(np.ones(5, dtype=bool), np.arange(1.0, 6))
    assert error(y, np.arange(1.0, 6), method=method) == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_the_error_is_in_the_unit_of_time(method):
    rng = np.random.default_rng(5)
    time, event, predicted = rng.exponential(size=60), rng.random(60) < 0.5, spread(60)
    got = error((365 * time, event), 365 * predicted, method=method)
    assert got == pytest.approx(365 * error((time, event), predicted, method=method))


def test_pseudo_observations_recover_the_error_that_censoring_hides():
    rng = np.random.default_rng(6)
    latent, censoring = rng.exponential(10, 20_000), rng.uniform(0, 60, 20_000)
    y = np.minimum(latent, censoring), latent <= censoring
    predicted = np.full(20_000, 60.0)
    truth = np.abs(latent - predicted).mean()
    got = {method: error(y, predicted, method=method) for method in METHODS}
    assert got["pseudo-observation"] == pytest.approx(truth, rel=0.02)
    assert got["margin"] == pytest.approx(truth, rel=0.02)
    assert got["ipcw"] == pytest.approx(truth, rel=0.02)
    assert got["uncensored"] > 1.02 * truth


def test_a_shorter_follow_up_of_the_training_rows_does_not_blow_up_the_error():
    rng = np.random.default_rng(7)
    latent = rng.exponential(size=3000)
    censoring = np.concatenate((rng.uniform(0, 3.2, 2000), rng.uniform(0, 1.0, 1000)))
    time, event = np.minimum(latent, censoring), latent <= censoring
    y, y_train = (time[:2000], event[:2000]), (time[2000:], event[2000:])
    predicted = rng.uniform(0, 2.5, size=2000)
    truth = np.abs(latent[:2000] - predicted).mean()
    assert error(y, predicted, y_train=y_train) == pytest.approx(truth, rel=0.2)


@pytest.mark.parametrize("method", ["margin", "pseudo-observation"])
def test_rows_censored_past_all_training_rows_are_finite(method):
    y = ([1.0, 50.0, 9.0], [1, 0, 0])
    for train in (([2.0, 4.0], [1, 1]), ([2.0, 4.0], [1, 0])):
        got = error(y, [1.0, 50.0, 9.0], method=method, y_train=train)
        assert got == pytest.approx(slow_error(tuple(map(np.array, y)), y[0], train, method))


@pytest.mark.parametrize(
    ("y", "options", "kind", "message"),
    [
        (
            [1.0, 2.0],
            {"method": "median"},
            ValueError,
            "method must be one of 'pseudo-observation', 'margin', 'hinge', 'uncensored', 'ipcw', "
            "got 'median'.",
        ),
        (
            ([1.0, 2.0], [0, 0]),
            {"method": "uncensored"},
            ValueError,
            "y must hold a row with information on its event time for method='uncensored', got 2 "
            "rows with 0 events: use method='hinge'.",
        ),
        (
            ([1.0, 2.0], [0, 0]),
            {"method": "margin", "y_train": [3.0, 4.0]},
            ValueError,
            "y must hold a row with information on its event time for method='margin', got 2 rows "
            "with 0 events: use method='hinge'.",
        ),
        (
            ([1.0, 2.0], [0, 0]),
            {},
            NoEventsError,
            "y_train has no event: 2 of 2 rows are censored, so their mean is unknown.",
        ),
        (
            ([1.0, 2.0], [1, 0]),
            {"method": "ipcw", "sample_weight": [0, 1]},
            ValueError,
            "y must hold a row with information on its event time for method='ipcw', got 1 rows "
            "with 0 events: use method='hinge'.",
        ),
        (
            ([1.0, 2.0], [1, 0]),
            {"sample_weight": [0, 1]},
            NoEventsError,
            "y_train has no event: 1 of 1 rows are censored, so their mean is unknown.",
        ),
        (
            [-1.0, 2.0],
            {},
            ValueError,
            "y must hold durations, none of them negative, for method='pseudo-observation', got "
            "a minimum of -1.",
        ),
        (
            [1.0, 2.0],
            {"y_train": [-1.0, 3.0]},
            ValueError,
            "y_train must hold durations, none negative and one positive at least, where their "
            "mean is needed, got times from -1 to 3.",
        ),
        (
            [1.0, 2.0],
            {"y_train": [0.0]},
            ValueError,
            "y_train must hold durations, none negative and one positive at least, where their "
            "mean is needed, got times from 0 to 0.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(y, options, kind, message):
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        error(y, [1.0, 2.0], **options)


def test_infinite_predictions_are_refused():
    message = "predicted must be finite, got infinity in 1 of 2 rows, the first in row 1."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        error([1.0, 2.0], [1.0, np.inf])
