"""What a fitted CQRNN answers, and how its answers agree with each other."""

import copy
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from censquant import CQRNN
from censquant.datasets import make_lognorm, make_norm_linear
from censquant.exceptions import ExtrapolationWarning

DATA = make_norm_linear(150, random_state=0)
X, Y = DATA.X, DATA.y
DEFAULT_LEVELS = np.round(np.arange(1, 20) * 0.05, 2)


def small(**parameters):
    return CQRNN(**{"max_epochs": 20, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


MODEL = small().fit(X, Y)
LEFT = small(censoring="left").fit(X, Y)
MODELS = {
    "free": MODEL,
    # Hardly trained, so that its raw outputs cross.
    "untrained": small(max_epochs=1).fit(X, Y),
    "increasing": small(head="increasing").fit(X, Y),
    "left": LEFT,
    "members": small(n_members=2).fit(X, Y),
    "log": small(time_transform="log").fit(X, Y),
}


def extrapolated(model, levels=None, rows=X):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def survival(model, *arguments, **options):
    return model.predict_survival_function(*arguments, **options, beyond="extrapolate")


def remaining(model, *arguments):
    return model.predict_remaining(*arguments, beyond="extrapolate")


every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@every_model
def test_shapes_and_types_of_all_answers(model):
    n, k = len(X), 19
    shapes = {
        (n, k): [
            extrapolated(model),
            model.predict_quantiles(X, beyond="nan"),
            remaining(model, X, 1.0),
        ],
        (n, 1): [extrapolated(model, 0.3), remaining(model, X, 1.0, 0.3)],
        (n, 2): [model.predict_interval(X, beyond="extrapolate")],
        (n,): [model.identified_level(X)],
        (n, 3): [survival(model, X, [1, 2, 3], return_array=True)],
        (n, len(model.unique_times_)): [survival(model, X, return_array=True)],
    }
    for shape, answers in shapes.items():
        for answer in answers:
            assert answer.shape == shape
            assert answer.dtype == np.float64
    assert extrapolated(model, rows=X[:1]).shape == (1, k)
    assert isinstance(model.score(X, Y), float)


@every_model
@given(levels=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=2, max_size=12))
@settings(max_examples=15, deadline=None)
def test_quantiles_never_cross_at_any_levels(model, levels):
    assert (np.diff(extrapolated(model, sorted(levels)), axis=1) >= 0).all()


def test_raw_outputs_of_the_untrained_network_do_cross():
    network = MODELS["untrained"].models_[0].network
    assert (np.diff(network.predict(X)) < 0).any()


@every_model
def test_the_default_levels_are_those_that_were_fitted(model):
    np.testing.assert_array_equal(model.quantiles_, DEFAULT_LEVELS)
    np.testing.assert_array_equal(extrapolated(model), extrapolated(model, DEFAULT_LEVELS))


def test_fitted_levels_are_those_that_were_asked_for():
    model = small(quantiles=[0.2, 0.7]).fit(X, Y)
    np.testing.assert_array_equal(model.quantiles_, [0.2, 0.7])
    assert extrapolated(model).shape == (150, 2)


def test_one_level_can_be_fitted():
    model = small(quantiles=0.5).fit(X, Y)
    np.testing.assert_array_equal(extrapolated(model)[:, 0], extrapolated(model, 0.5)[:, 0])
    with pytest.raises(ValueError, match="level"):
        extrapolated(model, 0.6)


def test_the_prediction_is_the_median():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        median = MODEL.predict(X)
    assert median.shape == (150,)
    np.testing.assert_array_equal(median, extrapolated(MODEL, 0.5)[:, 0])
    np.testing.assert_array_equal(median, extrapolated(MODEL)[:, 9])


@pytest.mark.parametrize(
    ("coverage", "ends"), [(0.8, (0.1, 0.9)), (0.9, (0.05, 0.95)), (0.5, (0.25, 0.75))]
)
def test_the_ends_of_an_interval_are_quantiles(coverage, ends):
    interval = MODEL.predict_interval(X, coverage, beyond="extrapolate")
    np.testing.assert_array_equal(interval, extrapolated(MODEL, ends))


def test_the_default_interval_covers_four_fifths():
    np.testing.assert_array_equal(
        MODEL.predict_interval(X, beyond="nan"),
        MODEL.predict_quantiles(X, [0.1, 0.9], beyond="nan"),
    )


@every_model
def test_survival_at_a_quantile_is_the_rest_of_its_level(model):
    times = extrapolated(model)
    for function, row in zip(survival(model, X), times, strict=True):
        # Tied quantiles are one point with the highest of their levels.
        distinct = np.append(np.diff(row) > 1e-9, True)
        np.testing.assert_allclose(
            function(row)[distinct], 1 - DEFAULT_LEVELS[distinct], rtol=0, atol=1e-7
        )


@every_model
def test_survival_functions_list_their_values_at_the_times_seen(model):
    functions = survival(model, X)
    matrix = survival(model, X, return_array=True)
    assert functions.shape == (150,)
    for function, row in zip(functions, matrix, strict=True):
        np.testing.assert_array_equal(function.x, model.unique_times_)
        np.testing.assert_array_equal(function.y, row)
        np.testing.assert_array_equal(function(model.unique_times_), row)
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert (np.diff(matrix, axis=1) <= 0).all()


def test_survival_functions_take_times_of_ones_own():
    (function,) = survival(MODEL, X[:1], times=[9.0, 11.0])
    np.testing.assert_array_equal(function.x, [9.0, 11.0])
    matrix = survival(MODEL, X[:1], times=[9.0, 11.0], return_array=True)
    np.testing.assert_array_equal(function.y, matrix[0])


def test_default_times_are_the_distinct_event_times():
    np.testing.assert_array_equal(MODEL.unique_times_, np.unique(Y["time"][Y["event"]]))


def test_default_times_are_at_most_a_thousand_and_keep_both_ends():
    data = make_norm_linear(2500, random_state=0)
    model = small(max_epochs=1).fit(data.X, data.y)
    seen = np.unique(data.y["time"][data.y["event"]])
    assert len(model.unique_times_) == 1000
    assert set(model.unique_times_) <= set(seen)
    assert (model.unique_times_[[0, -1]] == seen[[0, -1]]).all()


def test_the_remaining_time_of_the_unaged_is_the_quantile_less_the_time_passed():
    elapsed = 2.0
    assert (survival(MODEL, X, [elapsed], return_array=True) == 1).all()
    np.testing.assert_allclose(
        remaining(MODEL, X, elapsed), extrapolated(MODEL) - elapsed, rtol=1e-12
    )


@every_model
def test_remaining_times_increase_and_are_never_negative(model):
    for elapsed in (0.0, 10.0, 14.0, 1000.0):
        left = remaining(model, X, elapsed)
        assert (left >= 0).all()
        assert (np.diff(left, axis=1) >= 0).all()
        assert np.isfinite(left).all()


def test_remaining_times_take_the_age_of_each_row():
    elapsed = np.linspace(8, 13, len(X))
    together = remaining(MODEL, X, elapsed, [0.5])
    alone = [remaining(MODEL, X[i : i + 1], elapsed[i], [0.5])[0] for i in range(len(X))]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_remaining_times_solve_the_conditional_probability():
    function = survival(MODEL, X[:1])[0]
    elapsed = extrapolated(MODEL, 0.3)[0, 0]
    left = remaining(MODEL, X[:1], elapsed, [0.25, 0.5])[0]
    np.testing.assert_allclose(function(elapsed + left) / function(elapsed), [0.75, 0.5], atol=1e-7)


def test_a_rows_prediction_does_not_depend_on_the_rows_beside_it():
    together = extrapolated(MODEL)
    alone = np.vstack([extrapolated(MODEL, rows=X[i : i + 1]) for i in range(len(X))])
    # Matrix products of other sizes add in another order; nothing more may differ.
    np.testing.assert_allclose(together, alone, rtol=1e-14)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("name", ["free", "left"])
def test_long_tables_are_answered_block_by_block(monkeypatch, name, n_jobs):
    model = copy.copy(MODELS[name]).set_params(n_jobs=n_jobs)
    elapsed = np.linspace(8, 13, len(X))

    def answers():
        return (
            extrapolated(model),
            model.predict_quantiles(X, [0.3, 0.7], beyond="nan"),
            model.identified_level(X),
            remaining(model, X, elapsed),
            remaining(model, X, 9.0),
            survival(model, X, return_array=True),
        )

    expected = answers()
    monkeypatch.setattr("censquant.estimators._reading._BLOCK_ROWS", 7)
    for answer, whole in zip(answers(), expected, strict=True):
        np.testing.assert_allclose(answer, whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("beyond", ["extrapolate", "inf"])
def test_the_memory_of_many_rows_is_that_of_their_answer(beyond):
    rows = np.tile(X, (400, 1))
    tracemalloc.start()
    answer = MODEL.predict_quantiles(rows, beyond=beyond)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.nbytes < peak < answer.nbytes + 2e6


def test_no_time_is_predicted_below_zero_where_none_was_seen():
    data = make_lognorm(100, random_state=0)
    model = small(max_epochs=1).fit(data.X, data.y)
    far = np.array([[-300.0], [300.0]])
    assert extrapolated(model, rows=far).min() == 0.0
    shifted = small(max_epochs=1).fit(data.X, (data.y["time"] - 5, data.y["event"]))
    assert extrapolated(shifted, rows=far).min() < -5


@pytest.mark.parametrize(
    ("coverage", "error", "message"),
    [
        (1.0, ValueError, r"coverage must be finite and inside \(0, 1\), got 1.0."),
        (0.0, ValueError, r"coverage must be finite and inside \(0, 1\), got 0.0."),
        ("most", TypeError, "coverage must be a number, got 'most'."),
    ],
)
def test_a_wrong_coverage_is_refused(coverage, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        MODEL.predict_interval(X, coverage)


@pytest.mark.parametrize("method", ["predict_quantiles", "predict_remaining"])
def test_levels_outside_the_unit_interval_are_refused(method):
    arguments = (X, [0.5, 1.0]) if method == "predict_quantiles" else (X, 1.0, [0.5, 1.0])
    with pytest.raises(ValueError, match=r"^quantiles must be inside \(0, 1\), got \(0.5, 1.0\).$"):
        getattr(MODEL, method)(*arguments)


def test_elapsed_must_fit_the_rows():
    message = (
        r"^elapsed must be a number or have one value for each of the 150 rows of X, "
        r"got shape \(2,\).$"
    )
    with pytest.raises(ValueError, match=message):
        remaining(MODEL, X, [1.0, 2.0])


def test_times_must_be_numbers():
    with pytest.raises(TypeError, match=r"^times must hold numbers, got dtype <U1"):
        survival(MODEL, X, ["a"])


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.predict(X),
        lambda model: model.predict_quantiles(X),
        lambda model: model.predict_interval(X),
        lambda model: survival(model, X),
        lambda model: remaining(model, X, 1.0),
        lambda model: model.identified_level(X),
        lambda model: model.score(X, Y),
    ],
)
def test_nothing_is_predicted_before_fit(call):
    with pytest.raises(NotFittedError, match="This CQRNN instance is not fitted yet"):
        call(CQRNN())


def test_the_score_takes_weights():
    weight = np.r_[np.ones(75), np.zeros(75)]
    assert MODEL.score(X, Y, weight) == MODEL.score(X[:75], Y[:75])
