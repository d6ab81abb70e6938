import re
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from censquant.inspection import permutation_importance
from censquant.metrics import pinball_loss_censored
from censquant.quantiles._grid import DEFAULT_QUANTILES
from formula_model import FormulaModel, mixed_frame, of_mixed_frame


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, size=(120, 3))
    time, end = (4 * X[:, 0] + X[:, 1]) * rng.exponential(size=120), rng.exponential(9, size=120)
    return X, (np.minimum(time, end), time <= end)


def model():
    return FormulaModel(lambda X: 4 * X[:, 0] + X[:, 1])


def loss(X, y):
    return pinball_loss_censored(
        y, model().predict_quantiles(X, DEFAULT_QUANTILES), DEFAULT_QUANTILES
    )


def test_importance_is_the_increase_of_the_censored_check_loss(data):
    X, y = data
    found = permutation_importance(model(), X, y, random_state=0)
    assert_allclose(found.baseline, -loss(X, y))
    assert found.mean[0] > found.mean[1] > 0
    assert_array_equal(found.importances[2], 0.0)
    assert found.order.tolist() == [0, 1, 2]


def test_the_mean_is_within_its_error_of_the_mean_over_all_shuffles():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.5, 2.0, size=(5, 2))
    y = (4 * X[:, 0] + X[:, 1]) * rng.exponential(size=5), np.array([1, 1, 0, 1, 1], dtype=bool)
    found = permutation_importance(model(), X, y, n_repeats=200, random_state=0)
    for place in range(2):
        every = []
        for order in permutations(range(5)):
            shuffled = X.copy()
            shuffled[:, place] = X[list(order), place]
            every.append(loss(shuffled, y) - loss(X, y))
        assert abs(found.mean[place] - np.mean(every)) < 3 * found.standard_error[place]
        assert_allclose(found.importances[place].std(), np.std(every), rtol=0.2)


def test_a_feature_is_shuffled_the_same_whichever_others_are(data):
    every = permutation_importance(model(), *data, random_state=0)
    one = permutation_importance(model(), *data, features=["x1"], random_state=0)
    assert one.features == ("x1",)
    assert_array_equal(one.importances[0], every.importances[1])


def test_weights_are_those_of_the_score(data):
    X, y = data
    weight = np.arange(120) % 3
    found = permutation_importance(model(), X, y, sample_weight=weight, random_state=0)
    assert_allclose(
        found.baseline,
        -pinball_loss_censored(
            y,
            model().predict_quantiles(X, DEFAULT_QUANTILES),
            DEFAULT_QUANTILES,
            sample_weight=weight,
        ),
    )


def test_any_score_can_be_asked_for(data):
    found = permutation_importance(model(), *data, scoring="concordance", random_state=0)
    assert found.scoring == "concordance"
    assert 0.5 < found.baseline < 1

    def rows(model, X, y):
        return float(len(X))

    assert_array_equal(permutation_importance(model(), *data, scoring=rows).importances, 0.0)


def test_frames_with_text_and_missing_values_are_taken_as_they_are():
    frame = mixed_frame(90)
    rng = np.random.default_rng(0)
    y = np.asarray(of_mixed_frame(frame)) * rng.exponential(size=90), np.ones(90, dtype=bool)
    before = frame.copy()
    found = permutation_importance(FormulaModel(of_mixed_frame), frame, y, random_state=0)
    assert found.features == tuple(frame.columns)
    assert found.features[found.order[0]] == "stage"
    assert frame.equals(before)


def test_the_frame_of_the_outcome_begins_with_the_most_important(data):
    table = permutation_importance(model(), *data, random_state=0).to_frame()
    assert table.index.tolist() == ["x0", "x1", "x2"]
    assert table["importance"].is_monotonic_decreasing


def test_one_shuffle_has_no_standard_error(data):
    found = permutation_importance(model(), *data, n_repeats=1, random_state=0)
    assert np.isnan(found.standard_error).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_repeats": 0}, "n_repeats must be at least 1, got 0."),
        ({"scoring": "pinball"}, "name must be one of 'concordance'"),
        ({"features": ["age"]}, "feature must be one of the columns 'x0', 'x1', 'x2', got 'age'."),
    ],
)
def test_wrong_arguments_are_refused(data, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        permutation_importance(model(), *data, **options)
