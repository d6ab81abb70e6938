import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sksurv.metrics import brier_score as sksurv_brier
from sksurv.metrics import integrated_brier_score as sksurv_integrated

from censquant.exceptions import TruncationWarning
from censquant.metrics import _brier
from censquant.metrics._brier import brier_score, integrated_brier_score
from censquant.survival import Surv
from oracles import loop_censoring_kaplan_meier, step_value
from strategies import repetitions, survival_data

few = settings(max_examples=40, deadline=None)


def slow_brier(y, survival, times, y_train):
    """Brier score of unweighted rows by its definition, NaN where the curve is not known."""
    time, event = y
    steps = loop_censoring_kaplan_meier(*y_train)
    scores = []
    for k, t in enumerate(times):
        at_t = step_value(*steps, t)
        if at_t == 0 or (t > y_train[0].max() and not y_train[1].all()):
            scores.append(np.nan)
            continue
        total = 0.0
        for i in range(len(time)):
            if time[i] > t:
                total += (1 - survival[i, k]) ** 2 / at_t
            elif event[i]:
                total += survival[i, k] ** 2 / step_value(*steps, time[i])
        scores.append(total / len(time))
    return np.array(scores)


def curves(n, times, seed):
    """Falling survival probabilities, some of them 0 or 1."""
    rng = np.random.default_rng(seed)
    drawn = np.clip(rng.uniform(-0.1, 1.1, size=(n, len(times))), 0, 1)
    return -np.sort(-drawn, axis=1)


def simulated(n, seed, *, tied=False):
    rng = np.random.default_rng(seed)
    latent, censoring = rng.exponential(1.0, n), rng.exponential(1.5, n)
    time = np.minimum(latent, censoring)
    if tied:
        time = np.ceil(8 * time) / 8
    return time, latent <= censoring


def quiet(metric, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return metric(*arguments, **options)


def test_a_hand_computed_score():
    # G is 1 up to time 2 and 1/2 from there on: at 2.5 row 2 stands for two rows.
    y = ([1.0, 2.0, 3.0], [1, 0, 1])
    survival = [[0.5, 0.2], [0.4, 0.3], [0.9, 0.6]]
    expected = [(0.25 + 0.36 + 0.01) / 3, (0.04 + 2 * 0.16) / 3]
    np.testing.assert_allclose(brier_score(y, survival, [1.5, 2.5]), expected, rtol=1e-14)
    assert integrated_brier_score(y, survival, [1.5, 2.5]) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_scikit_survival_agrees(tied, same):
    time, event = simulated(300, 0, tied=tied)
    train_time, train_event = (time, event) if same else simulated(400, 1, tied=tied)
    y, y_train = Surv.from_arrays(event, time), Surv.from_arrays(train_event, train_time)
    high = min(np.quantile(time, 0.98), np.quantile(train_time, 0.98))
    times = np.linspace(time.min(), high, 25)
    if tied:
        times = np.unique(np.floor(8 * times) / 8)
    survival = curves(300, times, 2)
    given_train = None if same else y_train
    score = brier_score(y, survival, times, y_train=given_train)
    np.testing.assert_allclose(score, sksurv_brier(y_train, y, survival, times)[1], atol=1e-10)
    integrated = integrated_brier_score(y, survival, times, y_train=given_train)
    theirs = sksurv_integrated(y_train, y, survival, times)
    assert integrated == pytest.approx(theirs, abs=1e-10)


@few
@given(data=survival_data(), train=survival_data(), seed=st.integers(0, 100))
def test_the_definition_agrees(data, train, seed):
    times = np.unique(np.concatenate((data[0], data[0] * 1.1, train[0])))
    survival = curves(len(data[0]), times, seed)
    score = quiet(brier_score, data, survival, times, y_train=train)
    np.testing.assert_allclose(score, slow_brier(data, survival, times, train), rtol=1e-11)


@few
@given(data=st.data())
def test_a_whole_weight_counts_as_that_many_rows(data):
    time, event = data.draw(survival_data(min_size=2))
    counts = data.draw(repetitions(len(time)))
    times = np.unique(time)
    survival = curves(len(time), times, 0)
    weighted = quiet(brier_score, (time, event), survival, times, sample_weight=counts)
    repeated = [np.repeat(column, counts, axis=0) for column in (time, event, survival)]
    expected = quiet(brier_score, tuple(repeated[:2]), repeated[2], times)
    np.testing.assert_allclose(weighted, expected, rtol=1e-11)


def test_blocks_of_rows_add_up(monkeypatch):
    y, times = simulated(100, 4), np.linspace(0.1, 1.0, 5)
    survival = curves(100, times, 5)
    whole = brier_score(y, survival, times)
    monkeypatch.setattr(_brier, "_BLOCK_ROWS", 7)
    np.testing.assert_allclose(brier_score(y, survival, times), whole, rtol=1e-13)


def test_perfect_foresight_scores_zero_and_its_opposite_one():
    time = np.random.default_rng(6).exponential(size=200)
    times = np.linspace(0.1, 2.0, 9)
    outcome = (time[:, None] > times).astype(float)
    assert np.all(brier_score(time, outcome, times) == 0)
    assert integrated_brier_score(time, outcome, times) == 0
    # The opposite rises along a row, so one time after the other is asked for.
    for k, t in enumerate(times):
        assert brier_score(time, 1 - outcome[:, [k]], [t]) == pytest.approx([1.0])


def test_one_half_everywhere_scores_a_quarter():
    time = np.random.default_rng(7).exponential(size=200)
    times = [0.2, 0.5, 3.0]
    assert integrated_brier_score(time, np.full((200, 3), 0.5), times) == pytest.approx(0.25)


def test_the_true_model_scores_below_wrong_ones_under_censoring():
    rng = np.random.default_rng(8)
    rate = np.exp(rng.normal(size=5000))
    latent, censoring = rng.exponential(1 / rate), rng.exponential(1.0, size=5000)
    y = np.minimum(latent, censoring), latent <= censoring
    times = np.linspace(0.05, 1.5, 30)
    scores = [
        integrated_brier_score(y, np.exp(-factor * np.outer(wrong, times)), times)
        for factor, wrong in [(1.0, rate), (0.5, rate), (2.0, rate), (1.0, np.ones(5000))]
    ]
    assert np.argmin(scores) == 0


def test_times_past_the_training_follow_up_are_nan_with_one_warning():
    y = ([1.0, 2.0, 5.0], [1, 1, 0])
    survival = [[0.9, 0.5, 0.2, 0.1]] * 3
    message = (
        "2 of 4 times are left without a Brier score: the censoring curve of y_train is zero or "
        "unknown there."
    )
    with pytest.warns(TruncationWarning, match="^" + re.escape(message) + "$") as caught:
        score = brier_score(y, survival, [0.5, 1.5, 3.0, 9.0], y_train=([1.0, 3.0], [1, 0]))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(score).tolist() == [False, False, True, True]


def test_the_integral_leaves_times_past_the_training_follow_up_out_with_one_warning():
    y = ([1.0, 2.0, 5.0], [1, 1, 0])
    survival = np.array([[0.9, 0.5, 0.2]] * 3)
    y_train = ([1.0, 3.0], [1, 0])
    message = (
        "1 of 3 times are left out of the integrated Brier score: the censoring curve of y_train "
        "is zero or unknown there."
    )
    with pytest.warns(TruncationWarning, match="^" + re.escape(message) + "$") as caught:
        score = integrated_brier_score(y, survival, [0.5, 1.5, 3.0], y_train=y_train)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert score == integrated_brier_score(y, survival[:, :2], [0.5, 1.5], y_train=y_train)


def test_training_rows_without_censoring_know_the_curve_everywhere():
    assert brier_score([1.0, 5.0], [[0.0], [1.0]], [4.0], y_train=[1.0, 2.0]) == [0.0]


@pytest.mark.parametrize(
    ("survival", "times", "options", "message"),
    [
        (
            [[0.9, 0.5]] * 2,
            [1.0, 5.0],
            {"y_train": ([1.0, 3.0], [1, 0])},
            "times must hold two times or more at which the censoring curve of y_train is known "
            "and positive, got 1 of 2.",
        ),
        (
            [[0.9]] * 2,
            [1.0],
            {},
            "times must hold two times or more at which the censoring curve of y_train is known "
            "and positive, got 1 of 1.",
        ),
        (
            [[0.9, 0.5]],
            [1.0, 5.0],
            {},
            "survival must have one row for each row of y and one column for each of times, "
            "shape (2, 2), got shape (1, 2).",
        ),
        (
            [[0.9, 0.5]] * 2,
            [5.0, 1.0],
            {},
            "times must be one or more finite numbers in strictly increasing order, got 5, 1.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(survival, times, options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        integrated_brier_score([1.0, 2.0], survival, times, **options)
