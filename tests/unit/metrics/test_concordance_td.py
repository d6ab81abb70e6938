import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.metrics import _concordance
from censquant.metrics._concordance import concordance_index, concordance_index_td
from censquant.quantiles import QuantileCurve
from oracles import comparable_pairs
from strategies import repetitions, survival_data

few = settings(max_examples=40, deadline=None)
TAUS = np.array([0.2, 0.5, 0.8])


def brute_force_antolini(time, event, predicted, taus, weight=None):
    """Antolini's C over all pairs, one curve and one time after the other."""
    weight = np.ones(len(time)) if weight is None else weight
    curves = [QuantileCurve.from_predictions(row[None], taus) for row in predicted]
    right = total = 0.0
    for i, j in comparable_pairs(time, event):
        own, other = (curves[row].survival([time[i]])[0, 0] for row in (i, j))
        pair = weight[i] * weight[j]
        total += pair
        right += pair * ((own < other) + (own == other) / 2)
    return right / total


@st.composite
def judged_curves(draw):
    """Rows with a comparable pair, and curves of which many are equal."""
    time, event = draw(survival_data(min_size=2, max_size=15, min_events=1))
    time[-1] = time.max() + 1
    values = draw(
        st.lists(
            st.lists(st.integers(0, 5), min_size=3, max_size=3),
            min_size=len(time),
            max_size=len(time),
        )
    )
    return time, event, np.array(values, dtype=float) * time.mean() / 2


def test_a_hand_computed_index_of_curves_that_cross():
    # At time 1 row 0 has S = 0.75 and row 1 has S = 0.875; at time 3 row 1 has S = 0.375, row 2
    # has S = 0.25: of the pairs (0, 1), (0, 2), (1, 2) the last alone is out of order.
    y = ([1.0, 3.0, 4.0], [1, 1, 0])
    predicted = [[1.0, 2.0, 3.0], [1.5, 2.5, 3.5], [2.0, 2.5, 3.0]]
    taus = [0.25, 0.5, 0.75]
    curve = QuantileCurve(predicted, taus)
    np.testing.assert_allclose(curve.survival([1.0])[:, 0], [0.75, 0.875, 1.0])
    np.testing.assert_allclose(curve.survival([3.0])[:, 0], [0.25, 0.375, 0.25])
    assert concordance_index_td(y, predicted, taus) == pytest.approx(2 / 3)


@few
@given(data=judged_curves(), seed=st.integers(0, 100))
def test_brute_force_agrees(data, seed):
    time, event, predicted = data
    weight = np.random.default_rng(seed).uniform(0.1, 3, len(time))
    expected = brute_force_antolini(time, event, predicted, TAUS, weight)
    got = concordance_index_td((time, event), predicted, TAUS, sample_weight=weight)
    assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("entries", [1, 50, 1000])
def test_the_size_of_blocks_does_not_matter(monkeypatch, entries):
    rng = np.random.default_rng(0)
    y = np.round(rng.exponential(size=60), 1), rng.random(60) < 0.6
    predicted = np.sort(rng.exponential(size=(60, 3)), axis=1)
    whole = concordance_index_td(y, predicted, TAUS)
    monkeypatch.setattr(_concordance, "_BLOCK_ENTRIES", entries)
    assert concordance_index_td(y, predicted, TAUS) == pytest.approx(whole, rel=1e-14)


@few
@given(data=st.data())
def test_a_whole_weight_counts_as_that_many_rows(data):
    time, event, predicted = data.draw(judged_curves())
    counts = data.draw(repetitions(len(time)))
    counts[np.argmax(event)] = counts[-1] = 2
    weighted = concordance_index_td((time, event), predicted, TAUS, sample_weight=counts)
    repeated = [np.repeat(column, counts, axis=0) for column in (time, event, predicted)]
    got = concordance_index_td(tuple(repeated[:2]), repeated[2], TAUS)
    assert weighted == pytest.approx(got, rel=1e-12)


def test_curves_that_do_not_cross_score_as_their_medians():
    rng = np.random.default_rng(4)
    y = rng.random(200), rng.random(200) < 0.5
    median = rng.random(200)
    # One shape, shifted, and so wide that no time lies at a chance of 0 or 1.
    predicted = median[:, None] + np.array([-3.0, 0.0, 3.0])
    expected = concordance_index(y, median)
    assert concordance_index_td(y, predicted, TAUS) == pytest.approx(expected, rel=1e-12)


def test_a_perfect_model_scores_one_and_equal_curves_one_half():
    rng = np.random.default_rng(5)
    time, event = rng.uniform(1, 2, size=100), rng.random(100) < 0.5
    wide = time[:, None] + np.array([-3.0, 0.0, 3.0])
    assert concordance_index_td((time, event), wide, TAUS) == 1.0
    assert concordance_index_td((time, event), -wide + 3, TAUS) == 0.0
    assert concordance_index_td((time, event), np.tile([1.0, 1.5, 1.7], (100, 1)), TAUS) == 0.5


@pytest.mark.parametrize(
    ("y", "predicted", "taus", "message"),
    [
        (
            ([1.0, 2.0], [0, 0]),
            [[1.0, 2.0]] * 2,
            [0.2, 0.8],
            "y must hold a comparable pair, an event and a row known to outlive it, got none "
            "among 2 rows with 0 events.",
        ),
        (
            [1.0, 2.0],
            [[1.0, 2.0]],
            [0.2, 0.8],
            "predicted must have one row for each row of y and one column for each of taus, "
            "shape (2, 2), got shape (1, 2).",
        ),
        (
            [1.0, 2.0],
            [[1.0], [2.0]],
            [0.5],
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
        ),
        (
            [1.0, 2.0],
            [[1.0, 2.0]] * 2,
            [0.8, 0.2],
            "taus must be strictly increasing and inside (0, 1), got (0.8, 0.2).",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(y, predicted, taus, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        concordance_index_td(y, predicted, taus)
