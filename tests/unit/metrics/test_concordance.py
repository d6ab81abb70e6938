import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines.utils import concordance_index as lifelines_index
from sksurv.metrics import concordance_index_censored

from censquant.metrics import concordance_index
from censquant.survival import Surv
from oracles import brute_force_concordance, comparable_pairs
from strategies import repetitions, survival_data

# The first call compiles, so time limits on an example would be about the compiler.
few = settings(max_examples=60, deadline=None)


def ranks(size):
    """Predictions with many ties."""
    return st.lists(st.integers(0, 6), min_size=size, max_size=size).map(np.array)


@st.composite
def predicted_data(draw):
    """Rows with at least one comparable pair, and their predictions."""
    time, event = draw(survival_data(min_size=2, min_events=1))
    time[-1], event[-1] = time.max() + 1, draw(st.booleans())
    return time, event, draw(ranks(len(time)))


def test_a_hand_computed_index():
    # Comparable: (0, 1), (0, 2), (0, 3), (2, 3); row 1 is censored before the others end.
    y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    assert concordance_index(y, [5.0, 6.0, 5.0, 1.0]) == (1 + 0.5) / 4


def test_a_row_censored_at_the_time_of_an_event_outlives_it():
    assert concordance_index(([2.0, 2.0], [1, 0]), [1.0, 3.0]) == 1.0
    assert concordance_index(([2.0, 2.0], [0, 1]), [1.0, 3.0]) == 0.0


def test_events_at_the_same_time_are_not_compared():
    assert concordance_index(([2.0, 2.0, 3.0], [1, 1, 1]), [5.0, 1.0, 6.0]) == 1.0


@few
@given(data=predicted_data())
def test_brute_force_agrees(data):
    time, event, predicted = data
    expected = brute_force_concordance(time, event, predicted)
    assert concordance_index((time, event), predicted) == expected


@few
@given(data=predicted_data(), seed=st.integers(0, 1000))
def test_brute_force_agrees_under_weights(data, seed):
    time, event, predicted = data
    weight = np.random.default_rng(seed).uniform(0.01, 5, size=len(time))
    index = concordance_index((time, event), predicted, sample_weight=weight)
    expected = brute_force_concordance(time, event, predicted, weight)
    np.testing.assert_allclose(index, expected, rtol=1e-12, atol=1e-14)


@few
@given(data=predicted_data())
def test_lifelines_and_scikit_survival_agree(data):
    time, event, predicted = data
    index = concordance_index((time, event), predicted)
    np.testing.assert_allclose(index, lifelines_index(time, predicted, event), rtol=1e-12)
    theirs = concordance_index_censored(event, time, -predicted.astype(float))[0]
    np.testing.assert_allclose(index, theirs, rtol=1e-12)


@few
@given(data=st.data())
def test_a_whole_weight_counts_as_that_many_rows(data):
    time, event, predicted = data.draw(predicted_data())
    counts = data.draw(repetitions(len(time)))
    counts[0] = counts[-1] = 2
    weighted = concordance_index((time, event), predicted, sample_weight=counts)
    repeated = [np.repeat(column, counts) for column in (time, event, predicted)]
    assert weighted == concordance_index(tuple(repeated[:2]), repeated[2])


def test_copies_of_one_row_are_never_compared():
    time, event = np.repeat([1.0, 2.0, 3.0], 3), np.repeat([True, False, True], 3)
    row = np.repeat([0, 1, 2], 3)
    assert all(row[i] != row[j] for i, j in comparable_pairs(time, event))


@few
@given(data=predicted_data())
def test_reversed_predictions_give_the_complement(data):
    time, event, predicted = data
    index = concordance_index((time, event), predicted)
    np.testing.assert_allclose(index + concordance_index((time, event), -predicted), 1, rtol=1e-14)


@few
@given(data=predicted_data(), seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(data, seed):
    time, event, predicted = data
    order = np.random.default_rng(seed).permutation(len(time))
    shuffled = concordance_index((time[order], event[order]), predicted[order])
    assert shuffled == concordance_index((time, event), predicted)


@few
@given(data=predicted_data())
def test_only_the_order_of_predictions_matters(data):
    time, event, predicted = data
    stretched = concordance_index((time, event), np.exp(predicted / 3.0))
    assert stretched == concordance_index((time, event), predicted)


def test_a_perfect_order_scores_one_and_equal_predictions_one_half():
    rng = np.random.default_rng(3)
    time, event = rng.exponential(size=3000), rng.random(3000) < 0.6
    weight = rng.uniform(size=3000)
    y = Surv.from_arrays(event, time)
    assert concordance_index(y, time) == 1.0
    assert concordance_index(y, np.full(3000, 7.0)) == 0.5
    assert concordance_index(y, time, sample_weight=weight) <= 1.0
    assert concordance_index(y, time, sample_weight=weight) == pytest.approx(1.0, rel=1e-12)


def test_an_infinite_prediction_is_later_than_any_other():
    assert concordance_index(([1.0, 2.0], [1, 1]), [3.0, np.inf]) == 1.0


def test_left_censored_times_have_a_perfect_order_too():
    rng = np.random.default_rng(0)
    time, limit = rng.exponential(size=200), rng.exponential(size=200)
    y = np.maximum(time, limit), time >= limit
    assert 0.3 < y[1].mean() < 0.7
    assert concordance_index(y, time, censoring="left") == 1.0
    assert concordance_index(y, -time, censoring="left") == 0.0
    assert concordance_index(y, time) < 0.9


@few
@given(predicted_data())
def test_left_censoring_is_right_censoring_backwards(data):
    time, event, predicted = data
    expected = concordance_index((time, event), predicted)
    assert concordance_index((-time, event), -predicted, censoring="left") == expected


def test_an_unknown_side_of_censoring_is_refused():
    with pytest.raises(
        ValueError, match=r"^censoring must be one of 'right', 'left', got 'both'\.$"
    ):
        concordance_index([1.0, 2.0], [1.0, 2.0], censoring="both")


def test_the_result_is_a_plain_float():
    assert type(concordance_index([1.0, 2.0], [1.0, 2.0])) is float


@pytest.mark.parametrize(
    ("y", "options", "n_rows", "n_events"),
    [
        (([1.0, 2.0], [0, 0]), {}, 2, 0),
        (([1.0, 1.0], [1, 1]), {}, 2, 2),
        (([1.0, 2.0], [0, 1]), {}, 2, 1),
        (([1.0, 2.0], [1, 1]), {"sample_weight": [1, 0]}, 2, 2),
    ],
)
def test_rows_without_a_comparable_pair_are_refused(y, options, n_rows, n_events):
    message = (
        "y must hold a comparable pair, an event and a row known to outlive it, "
        f"got none among {n_rows} rows with {n_events} events."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        concordance_index(y, [1.0, 2.0], **options)


@pytest.mark.parametrize(
    ("predicted", "options", "message"),
    [
        (
            [1.0, np.nan, np.nan],
            {},
            "predicted contains NaN: 2 of 3 times are missing, the first in row 1.",
        ),
        (
            [1.0, 2.0],
            {},
            "predicted must have one time for each row of y, got 2 times for 3 rows.",
        ),
        ([[1.0, 2.0, 3.0]], {}, "predicted must be one-dimensional, got shape (1, 3)."),
        (
            [1.0, 2.0, 3.0],
            {"sample_weight": [1.0]},
            "sample_weight must have one value for each row, got 1 values for 3 rows.",
        ),
    ],
)
def test_predictions_that_do_not_fit_are_refused(predicted, options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        concordance_index([1.0, 2.0, 3.0], predicted, **options)


def test_importing_the_metrics_does_not_load_numba():
    code = "import sys, censquant.metrics; print('numba' in sys.modules, 'sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
