import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sksurv.metrics import concordance_index_ipcw as sksurv_index

from censquant.exceptions import TruncationWarning
from censquant.metrics._concordance import concordance_index, concordance_index_ipcw
from censquant.survival import Surv
from oracles import comparable_pairs, loop_censoring_kaplan_meier, step_value
from strategies import repetitions, survival_data

few = settings(max_examples=40, deadline=None)


def brute_force_uno(y, predicted, y_train, *, truncation=np.inf, weight=None):
    """Uno's C over all pairs; events where the curve is zero or unknown start none."""
    time, event = y
    weight = np.ones(len(time)) if weight is None else weight
    steps = loop_censoring_kaplan_meier(*y_train)
    right = total = 0.0
    for i, j in comparable_pairs(time, event):
        chance = step_value(*steps, time[i])
        unknown = time[i] > y_train[0].max() and not y_train[1].all()
        if time[i] >= truncation or chance == 0 or unknown:
            continue
        pair = weight[i] * weight[j] / chance**2
        total += pair
        right += pair * ((predicted[i] < predicted[j]) + (predicted[i] == predicted[j]) / 2)
    return right / total if total else None


def index(*arguments, **options):
    """Value of the index, with the warning about truncation put aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return concordance_index_ipcw(*arguments, **options)


@st.composite
def judged_data(draw):
    """Rows that start with a comparable pair, and predictions with many ties."""
    time, event = draw(survival_data(min_size=2, min_events=1))
    time[0], time[-1] = time.min() / 2, time.max() + 1
    predicted = draw(st.lists(st.integers(0, 6), min_size=len(time), max_size=len(time)))
    return time, event, np.array(predicted, dtype=float)


def simulated(n, seed, *, tied=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    latent, censoring = np.exp(x + rng.normal(size=n)), rng.exponential(3.0, size=n)
    time = np.minimum(latent, censoring)
    if tied:
        time = np.ceil(8 * time) / 8
    return time, latent <= censoring, np.round(x, 1 if tied else 6)


def test_a_hand_computed_index():
    # G is 2/3 from time 2 on, so the pair (2, 3) weighs 9/4 and the three pairs of row 0 weigh 1.
    y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    assert concordance_index_ipcw(y, [2.0, 1.0, 3.0, 4.0]) == pytest.approx(4.25 / 5.25, rel=1e-14)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("truncation", [None, 2.0])
def test_scikit_survival_agrees_on_other_training_rows(tied, truncation):
    time, event, x = simulated(400, 0, tied=tied)
    train_time, train_event, _ = simulated(500, 1, tied=tied)
    # scikit-survival refuses events at which its curve is zero or unknown.
    inside = ~event | (time < train_time.max())
    time, event, x = time[inside], event[inside], x[inside]
    y, y_train = Surv.from_arrays(event, time), Surv.from_arrays(train_event, train_time)
    ours = concordance_index_ipcw(y, x, y_train=y_train, truncation=truncation)
    assert ours == pytest.approx(sksurv_index(y_train, y, -x, tau=truncation)[0], abs=1e-10)


@pytest.mark.parametrize("tied", [True, False])
def test_scikit_survival_agrees_on_the_rows_themselves(tied):
    time, event, x = simulated(400, 3, tied=tied)
    time[-1], event[-1] = time.max() + 1, False
    y = Surv.from_arrays(event, time)
    assert concordance_index_ipcw(y, x) == pytest.approx(sksurv_index(y, y, -x)[0], abs=1e-10)


@few
@given(data=judged_data(), train=survival_data(min_size=2), truncation=st.sampled_from([1.5, 4.0]))
def test_brute_force_agrees(data, train, truncation):
    time, event, predicted = data
    weight = np.arange(1.0, len(time) + 1)
    expected = brute_force_uno(
        (time, event), predicted, train, truncation=truncation * time.mean(), weight=weight
    )
    if expected is not None:
        given_options = {"truncation": truncation * time.mean(), "sample_weight": weight}
        got = index((time, event), predicted, y_train=train, **given_options)
        assert got == pytest.approx(expected, rel=1e-12)


@few
@given(data=st.data())
def test_a_whole_weight_counts_as_that_many_rows(data):
    time, event, predicted = data.draw(judged_data())
    counts = data.draw(repetitions(len(time)))
    counts[0] = counts[-1] = 2
    weighted = index((time, event), predicted, sample_weight=counts)
    repeated = [np.repeat(column, counts) for column in (time, event, predicted)]
    assert weighted == pytest.approx(index(tuple(repeated[:2]), repeated[2]), rel=1e-12)


@few
@given(data=judged_data())
def test_reversed_predictions_give_the_complement(data):
    time, event, predicted = data
    both = index((time, event), predicted) + index((time, event), -predicted)
    assert both == pytest.approx(1.0, rel=1e-12)


def test_a_perfect_order_scores_one_and_equal_predictions_one_half():
    time, event, _ = simulated(500, 5)
    assert index((time, event), time) == pytest.approx(1.0, rel=1e-12)
    assert index((time, event), np.full(500, np.inf)) == pytest.approx(0.5, rel=1e-12)


def test_without_censoring_it_is_harrells_index():
    time, _, x = simulated(200, 6)
    assert concordance_index_ipcw(time, x) == pytest.approx(concordance_index(time, x), rel=1e-12)


def test_training_rows_without_censoring_know_the_curve_everywhere():
    y = ([1.0, 2.0, 30.0], [1, 1, 1])
    assert concordance_index_ipcw(y, [1.0, 2.0, 3.0], y_train=[1.0, 1.5]) == 1.0


def test_censoring_moves_harrells_index_and_not_this_one():
    rng = np.random.default_rng(8)
    x = rng.normal(size=20_000)
    # The order is easy to tell early on and hard later, so that lost late pairs flatter Harrell.
    latent = np.where(rng.random(20_000) < 0.3, np.exp(x), rng.uniform(5, 10, 20_000))
    censoring = rng.uniform(0, 12, size=20_000)
    y = np.minimum(latent, censoring), latent <= censoring
    truth = concordance_index(latent, x)
    assert abs(index(y, x) - truth) < 0.02
    assert concordance_index(y, x) > truth + 0.03


def test_events_past_the_known_curve_are_left_out_with_one_warning():
    y = ([1.0, 2.0, 5.0, 6.0, 7.0], [1, 1, 1, 1, 0])
    message = (
        "2 of 4 events, from time 5 on, are left out of the concordance index: the censoring "
        "curve of y_train is zero or unknown there."
    )
    with pytest.warns(TruncationWarning, match="^" + re.escape(message) + "$") as caught:
        got = concordance_index_ipcw(y, [1, 2, 5, 4, 3], y_train=([1.0, 3.0], [1, 0]))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert got == 1.0


def test_events_without_weight_are_not_told_of():
    y, weight = ([1.0, 2.0, 3.0, 9.0], [True, False, True, True]), [1, 1, 1, 0]
    assert concordance_index_ipcw(y, [1.0, 2.0, 3.0, 4.0], sample_weight=weight) == 1.0


def test_a_truncation_before_the_end_of_the_curve_warns_of_nothing():
    y = ([1.0, 2.0, 5.0], [1, 1, 1])
    options = {"y_train": ([1.0, 3.0], [1, 0]), "truncation": 3.0}
    assert concordance_index_ipcw(y, [1.0, 2.0, 0.0], **options) == pytest.approx(1 / 3)


def test_an_event_at_the_truncation_starts_no_pair():
    y = [1.0, 2.0, 3.0]
    assert concordance_index_ipcw(y, [1.0, 5.0, 4.0], truncation=2.0) == 1.0


@pytest.mark.parametrize(
    ("y", "predicted", "options", "error", "message"),
    [
        (
            ([1.0, 2.0], [0, 0]),
            [1.0, 2.0],
            {},
            ValueError,
            "y must hold a comparable pair, an event and a row known to outlive it, got none "
            "among 2 rows with 0 events.",
        ),
        (
            [1.0, 2.0],
            [1.0, 2.0],
            {"truncation": 1.0},
            ValueError,
            "y must hold a comparable pair, an event and a row known to outlive it, got none "
            "among 2 rows with 2 events.",
        ),
        (
            [1.0, 2.0],
            [1.0],
            {},
            ValueError,
            "predicted must have one time for each row of y, got 1 times for 2 rows.",
        ),
        (
            [1.0, 2.0],
            [1.0, 2.0],
            {"truncation": "late"},
            TypeError,
            "truncation must be a number, got 'late'.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(y, predicted, options, error, message):
    with pytest.raises(error, match="^" + re.escape(message) + "$"):
        concordance_index_ipcw(y, predicted, **options)
