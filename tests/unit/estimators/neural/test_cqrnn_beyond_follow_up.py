"""What CQRNN says where the data cannot speak."""

import copy
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from censquant import CQRNN
from censquant.datasets import make_norm_linear
from censquant.exceptions import ExtrapolationWarning

pytestmark = pytest.mark.filterwarnings("error::censquant.exceptions.ExtrapolationWarning")

DATA = make_norm_linear(150, random_state=0)
X, Y = DATA.X, DATA.y
DEFAULT_LEVELS = np.round(np.arange(1, 20) * 0.05, 2)


def small(**parameters):
    return CQRNN(**{"max_epochs": 20, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


MODEL = small().fit(X, Y)
# The mirror image: what was followed too briefly above is followed too briefly below.
LEFT = small(censoring="left").fit(X, (20 - Y["time"], Y["event"]))


def extrapolated(model, levels=None, rows=X):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def test_every_level_is_identified_where_nothing_is_censored():
    model = small().fit(X, DATA.target_time)
    np.testing.assert_array_equal(model.identified_level(X), 0.95)
    np.testing.assert_array_equal(model.predict_quantiles(X, beyond="inf"), extrapolated(model))


def test_the_lowest_level_is_the_identified_one_of_uncensored_left_data():
    model = small(censoring="left").fit(X, DATA.target_time)
    np.testing.assert_allclose(model.identified_level(X), 0.05)


def test_the_identified_level_is_that_of_the_end_of_follow_up():
    model = limited(MODEL, 10.0)
    level = model.identified_level(X)
    survival = model.predict_survival_function(X, [10.0], return_array=True, beyond="extrapolate")
    np.testing.assert_allclose(level, np.minimum(1 - survival[:, 0], 0.95), atol=1e-12)


@pytest.fixture(scope="module")
def half_followed():
    """Times of one law for all; where x is positive, follow-up ends around its median."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(800, 1))
    time, limit = rng.exponential(10, 800), np.where(x[:, 0] > 0, rng.uniform(2, 8, 800), 200.0)
    return x, (np.minimum(time, limit), time <= limit)


def test_fewer_levels_are_identified_where_follow_up_was_shorter(half_followed):
    x, y = half_followed
    model = small(max_epochs=60, level_rule="interpolate").fit(x, y)
    long, short = model.identified_level([[-0.6], [0.6]])
    assert long == 0.95
    # Nobody with x > 0 is followed beyond 8, where the law has its level 0.55.
    assert 0.3 <= short <= 0.65


def test_the_same_holds_mirrored_for_left_censoring(half_followed):
    x, (time, event) = half_followed
    model = small(max_epochs=60, level_rule="interpolate", censoring="left").fit(x, (-time, event))
    long, short = model.identified_level([[-0.6], [0.6]])
    assert long == pytest.approx(0.05)
    assert 0.35 <= short <= 0.7


@pytest.mark.parametrize(("beyond", "mark"), [("inf", np.inf), ("nan", np.nan)])
def test_only_what_is_not_identified_is_replaced(beyond, mark):
    times = MODEL.predict_quantiles(X, beyond=beyond)
    hidden = MODEL.identified_level(X)[:, None] + 1e-9 < DEFAULT_LEVELS
    assert hidden.any()
    assert not hidden.all()
    np.testing.assert_array_equal(times[hidden], mark)
    np.testing.assert_array_equal(times[~hidden], extrapolated(MODEL)[~hidden])


@pytest.mark.parametrize(("beyond", "mark"), [("inf", -np.inf), ("nan", np.nan)])
def test_left_censoring_hides_the_levels_below(beyond, mark):
    times = LEFT.predict_quantiles(X, beyond=beyond)
    hidden = LEFT.identified_level(X)[:, None] - 1e-9 > DEFAULT_LEVELS
    assert hidden.any()
    assert not hidden.all()
    np.testing.assert_array_equal(times[hidden], mark)
    np.testing.assert_array_equal(times[~hidden], extrapolated(LEFT)[~hidden])


def test_intervals_hide_what_is_not_identified():
    interval = MODEL.predict_interval(X, 0.9, beyond="inf")
    np.testing.assert_array_equal(interval, MODEL.predict_quantiles(X, [0.05, 0.95], beyond="inf"))
    assert np.isinf(interval[:, 1]).any()


WARNING = (
    "Some predictions lie beyond what the data can speak for, where the model extrapolates: see "
    "identified_level, or choose what to return there by beyond=."
)


class Limited(CQRNN):
    """CQRNN whose rows were followed until a time that the test sets."""

    until = np.inf

    def _followed(self, features):
        level = 0.0 if self.censoring == "left" else 1.0
        return np.broadcast_to(self.until, (len(features),)), np.full(len(features), level)


def limited(model, until):
    """The same model, as if follow-up had ended then (right) or begun then (left)."""
    twin = copy.copy(model)
    twin.__class__ = Limited
    twin.until = until
    return twin


CALLS = {
    "predict": lambda model, rows: model.predict(rows),
    "predict_quantiles": lambda model, rows: model.predict_quantiles(rows),
    "predict_interval": lambda model, rows: model.predict_interval(rows, 0.9),
    "predict_survival_function": lambda model, rows: model.predict_survival_function(rows),
    "survival_array": lambda model, rows: model.predict_survival_function(rows, return_array=True),
    "predict_cumulative_hazard_function": (
        lambda model, rows: model.predict_cumulative_hazard_function(rows, return_array=True)
    ),
    "predict_remaining": lambda model, rows: model.predict_remaining(rows, 9.0),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_extrapolation_is_warned_about_once_at_the_users_line(call):
    with pytest.warns(ExtrapolationWarning) as caught:
        call(limited(MODEL, 5.0), X)
    (warning,) = caught
    assert str(warning.message) == WARNING
    assert warning.filename == __file__


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_extrapolation_in_a_late_block_is_warned_about_too(monkeypatch, n_jobs):
    monkeypatch.setattr("censquant.estimators._reading._BLOCK_ROWS", 7)
    order = np.argsort(MODEL.predict_quantiles(X, beyond="extrapolate")[:, -1])
    latest = MODEL.predict_quantiles(X[order], beyond="extrapolate")[-2:, -1]
    model = limited(MODEL, latest.mean()).set_params(n_jobs=n_jobs)
    model.predict_quantiles(X[order[:-1]])
    with pytest.warns(ExtrapolationWarning):
        model.predict_quantiles(X[order])


def test_the_reach_of_further_blocks_is_not_computed_once_one_extrapolates(monkeypatch):
    monkeypatch.setattr("censquant.estimators._reading._BLOCK_ROWS", 7)
    asked = []
    followed = Limited._followed
    monkeypatch.setattr(
        Limited, "_followed", lambda model, rows: asked.append(len(rows)) or followed(model, rows)
    )
    with pytest.warns(ExtrapolationWarning):
        limited(MODEL, 0.0).predict_quantiles(X)
    assert asked == [7]
    limited(MODEL, 1000.0).predict_quantiles(X)
    assert sum(asked) == 7 + len(X)


def test_one_individual_followed_for_long_does_not_silence_the_warning():
    until = np.full(len(X), 5.0)
    until[0] = 1000.0
    with pytest.warns(ExtrapolationWarning):
        limited(MODEL, until).predict(X)
    limited(MODEL, until[0]).predict(X[:1])


def test_the_warning_of_many_calls_is_shown_once():
    model = limited(MODEL, 9.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for row in range(40):
            model.predict_quantiles(X[row : row + 3])
    assert len(caught) == 1


def test_left_censored_times_below_the_first_follow_up_are_warned_about():
    with pytest.warns(ExtrapolationWarning):
        limited(LEFT, 100.0).predict_quantiles(X, [0.4, 0.5])


def test_levels_far_below_the_fitted_ones_are_warned_about():
    message = (
        r"^Some quantiles lie far below the lowest fitted level, 0.05: the predictions there rest "
        r"on an assumed tail, not on data.$"
    )
    with pytest.warns(ExtrapolationWarning, match=message):
        limited(MODEL, 1000.0).predict_quantiles(X, [1e-6, 0.5])


def test_features_far_outside_the_fit_are_named():
    table = pd.DataFrame({"age": X[:, 0], "dose": X[::-1, 0]})
    model = limited(small().fit(table, Y), 1000.0)
    message = (
        r"^X has values far outside the range of the fit in the columns 'age': predictions there "
        r"are extrapolations.$"
    )
    with pytest.warns(ExtrapolationWarning, match=message):
        model.predict_quantiles(table.assign(age=5000.0), [0.1])


FAR_LEVEL = r"^Some quantiles lie far below the lowest fitted level, 0.05: "


def test_remaining_times_at_levels_far_below_the_fitted_ones_are_warned_about():
    model = limited(MODEL, 1000.0)
    with pytest.warns(ExtrapolationWarning, match=FAR_LEVEL):
        model.predict_remaining(X, 0.0, [1e-6, 0.2])
    with pytest.warns(ExtrapolationWarning, match=FAR_LEVEL):
        model.predict_remaining(X, np.where(np.arange(len(X)) < 140, 9.5, 0.0), [1e-6])


def test_an_individual_past_the_lowest_fitted_level_has_no_assumed_lower_tail():
    medians = MODEL.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limited(MODEL, 1000.0).predict_remaining(X, medians, [1e-6, 0.2])
        limited(MODEL, 1000.0).predict_remaining(X, 0.0, [1e-6], beyond="extrapolate")


@pytest.mark.parametrize(
    "call",
    [
        lambda model, rows: model.predict_restricted_mean(rows, 5.0),
        lambda model, rows: model.identified_level(rows),
        *CALLS.values(),
    ],
    ids=["predict_restricted_mean", "identified_level", *CALLS],
)
def test_every_prediction_names_features_far_outside_the_fit(call):
    rows = X.copy()
    rows[3] = 5000.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(limited(MODEL, 1000.0), rows)
    (warning,) = (one for one in caught if "far outside the range" in str(one.message))
    assert warning.category is ExtrapolationWarning
    assert warning.filename == __file__
    with pytest.raises(ValueError, match=r"^X must not hold values so large that predictions over"):
        call(limited(MODEL, 1000.0), np.full_like(rows, 1.7e308))


@pytest.mark.parametrize("row", [0, 63, 64, 130, 149])
@pytest.mark.parametrize("value", [-5000.0, 5000.0])
def test_one_individual_far_outside_the_fit_is_enough(row, value):
    rows = X.copy()
    rows[row] = value
    with pytest.warns(ExtrapolationWarning, match=r"^X has values far outside .* columns 'x0': "):
        limited(MODEL, 1e9).predict_quantiles(rows, [0.1])


@pytest.mark.parametrize("transform", ["standardize", "log", None])
def test_features_that_overflow_are_refused(transform):
    model = small(time_transform=transform).fit(X, Y)
    message = (
        r"^X must not hold values so large that predictions overflow, got a value of size "
        r"1.7e\+308: check its unit.$"
    )
    with pytest.raises(ValueError, match=message):
        model.predict(np.vstack([X[:3], [[1.7e308]]]))


class TestRemaining:
    def test_who_outlived_the_follow_up_has_no_identified_level(self):
        remaining = limited(MODEL, 11.0).predict_remaining(X, 11.5, [0.1, 0.9], beyond="nan")
        assert np.isnan(remaining).all()

    def test_levels_below_the_limit_are_identified(self):
        model = limited(MODEL, 1000.0)
        known = model.predict_remaining(X, 1.0, [0.1, 0.9], beyond="inf")
        np.testing.assert_array_equal(
            known, model.predict_remaining(X, 1.0, [0.1, 0.9], beyond="extrapolate")
        )

    @pytest.mark.parametrize(
        ("elapsed", "error", "message"),
        [
            (pd.Timedelta("3 days"), TypeError, "elapsed must hold numbers, got Timedelta"),
            (np.timedelta64(3, "D"), TypeError, "elapsed must hold numbers, got dtype timedelta64"),
            ("3", TypeError, "elapsed must hold numbers, got dtype <U1"),
            (
                -1.0,
                ValueError,
                "elapsed must not be negative, got 1 of 1 values below 0, the smallest -1: pass "
                "the time since the start of follow-up.",
            ),
            (np.nan, ValueError, "elapsed must be finite, got NaN or infinity."),
            (np.ones(5000), ValueError, "elapsed must be a number or have one value for each of"),
        ],
    )
    def test_what_is_no_time_is_refused(self, elapsed, error, message):
        with pytest.raises(error, match=f"^{re.escape(message)}"):
            MODEL.predict_remaining(np.repeat(X, 7, axis=0), elapsed)


class TestFunctions:
    def test_survival_past_the_follow_up_is_hidden_on_request(self):
        model = limited(MODEL, 10.0)
        known = model.predict_survival_function(X, [9.9, 10.1], return_array=True, beyond="nan")
        assert np.isnan(known[:, 1]).all()
        assert np.isfinite(known[:, 0]).any()
        functions = model.predict_survival_function(X, [9.9, 10.1], beyond="nan")
        np.testing.assert_array_equal(np.array([f.y for f in functions]), known)
        np.testing.assert_array_equal(functions[0]([10.1]), [np.nan])

    def test_the_cumulative_hazard_is_minus_the_logarithm_of_survival(self):
        options = {"beyond": "extrapolate", "return_array": True}
        survival = MODEL.predict_survival_function(X, [8.0, 10.0], **options)
        hazard = MODEL.predict_cumulative_hazard_function(X, [8.0, 10.0], **options)
        np.testing.assert_allclose(np.exp(-hazard), survival, rtol=1e-12)

    def test_infinity_is_no_probability(self):
        message = "beyond must be one of 'warn', 'extrapolate', 'nan', got 'inf'."
        with pytest.raises(ValueError, match=f"^{message}$"):
            MODEL.predict_survival_function(X, beyond="inf")


@pytest.mark.parametrize("beyond", ["extrapolate", "inf", "nan"])
def test_who_chose_what_to_get_beyond_follow_up_is_not_warned(beyond):
    limited(MODEL, 5.0).predict_quantiles(X, beyond=beyond)


def test_times_within_follow_up_are_not_warned_about():
    limited(MODEL, 1000.0).predict_quantiles(X)


def test_uncensored_fits_are_not_warned_about():
    small().fit(X, DATA.target_time).predict(X)


def test_scoring_is_not_warned_about():
    limited(MODEL, 5.0).score(X, Y)


@pytest.mark.parametrize("method", ["predict_quantiles", "predict_interval"])
def test_an_unknown_word_for_beyond_is_refused(method):
    message = "beyond must be one of 'warn', 'extrapolate', 'limit', 'inf', 'nan', got 'skip'."
    with pytest.raises(ValueError, match=f"^{message}$"):
        getattr(MODEL, method)(X, beyond="skip")
