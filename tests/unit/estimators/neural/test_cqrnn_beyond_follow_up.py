"""What CQRNN says where the data cannot speak."""

import copy

import numpy as np
import pytest

from censquant import CQRNN
from censquant.datasets import make_norm_linear
from censquant.exceptions import ExtrapolationWarning

DATA = make_norm_linear(150, random_state=0)
X, Y = DATA.X, DATA.y
DEFAULT_LEVELS = np.round(np.arange(1, 20) * 0.05, 2)


def small(**parameters):
    return CQRNN(**{"max_epochs": 20, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


MODEL = small().fit(X, Y)
LEFT = small(censoring="left").fit(X, Y)


def extrapolated(model, levels=None, rows=X):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def test_every_level_is_identified_where_nothing_is_censored():
    model = small().fit(X, DATA.target_time)
    np.testing.assert_array_equal(model.identified_level(X), 0.95)
    np.testing.assert_array_equal(model.predict_quantiles(X, beyond="inf"), extrapolated(model))


def test_the_lowest_level_is_the_identified_one_of_uncensored_left_data():
    model = small(censoring="left").fit(X, DATA.target_time)
    np.testing.assert_allclose(model.identified_level(X), 0.05)


def test_the_identified_level_is_a_fitted_one_or_none():
    level = MODEL.identified_level(X)
    assert np.isin(level.round(10), np.append(DEFAULT_LEVELS, 0.0)).all()


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
    "{n} of {of} predicted times lie beyond the last follow-up ({end}), where the model "
    "extrapolates: see identified_level, or choose beyond='extrapolate', 'inf' or 'nan'."
)


def shifted(model, by):
    """The same model, as if follow-up had ended earlier (right) or begun later (left)."""
    twin = copy.copy(model)
    twin.follow_up_ = tuple(end + by for end in model.follow_up_)
    return twin


@pytest.mark.parametrize(
    ("call", "n_levels"),
    [
        (lambda model: model.predict(X), 1),
        (lambda model: model.predict_quantiles(X), 19),
        (lambda model: model.predict_interval(X, 0.9), 2),
    ],
    ids=["predict", "predict_quantiles", "predict_interval"],
)
def test_times_past_the_last_follow_up_are_warned_about_at_the_users_line(call, n_levels):
    model = shifted(MODEL, -(MODEL.follow_up_[1] - 5.0))
    with pytest.warns(ExtrapolationWarning) as caught:
        call(model)
    (warning,) = caught
    n = 150 * n_levels
    assert str(warning.message) == WARNING.format(n=n, of=n, end=5)
    assert warning.filename == __file__


def test_left_censored_times_before_the_first_are_warned_about():
    model = shifted(LEFT, 100.0 - LEFT.follow_up_[0])
    with pytest.warns(ExtrapolationWarning) as caught:
        model.predict_quantiles(X, [0.4, 0.5])
    assert str(caught[0].message) == WARNING.format(n=300, of=300, end=100)


@pytest.mark.parametrize("beyond", ["extrapolate", "inf", "nan"])
def test_who_chose_what_to_get_beyond_follow_up_is_not_warned(beyond):
    shifted(MODEL, -10.0).predict_quantiles(X, beyond=beyond)


def test_times_within_follow_up_are_not_warned_about():
    shifted(MODEL, 1000.0).predict_quantiles(X)


def test_uncensored_fits_are_not_warned_about():
    shifted(small().fit(X, DATA.target_time), -100.0).predict(X)


def test_scoring_is_not_warned_about():
    shifted(MODEL, -100.0).score(X, Y)


@pytest.mark.parametrize("method", ["predict_quantiles", "predict_interval"])
def test_an_unknown_word_for_beyond_is_refused(method):
    message = "beyond must be one of 'warn', 'extrapolate', 'inf', 'nan', got 'skip'."
    with pytest.raises(ValueError, match=f"^{message}$"):
        getattr(MODEL, method)(X, beyond="skip")
