"""A change of units changes the answer by that unit and by nothing else."""

import numpy as np
import pytest

from censquant import CQRNN
from censquant.datasets import make_exponential, make_norm_linear

DATA = make_norm_linear(200, random_state=0)
X = np.hstack([DATA.X, np.cos(5 * DATA.X)])
TIME, EVENT = DATA.y["time"], DATA.y["event"]

# Rows are standardised in float64 and brought into an order that no unit changes; the training in
# float32 then sees the same bits. What is left is the rounding of the way in and out, in float64.
ROUNDING = 1e-11

SETTINGS = [
    {"y_star": None},
    {"y_star": None, "level_rule": "interpolate", "head": "increasing"},
    {"y_star": None, "n_members": 2, "dropout": 0.2, "early_stopping": True},
]


def model(**parameters):
    return CQRNN(**{"max_epochs": 30, "hidden_layer_sizes": (16,), "random_state": 0, **parameters})


def quantiles(fitted, rows=X):
    return fitted.predict_quantiles(rows, beyond="extrapolate")


def assert_same_reach(changed, rows, expected, expected_rows):
    """The same levels are identified.

    The reach is the level of a predicted curve at the end of follow-up. The forest that knows the
    end is the same to the last bit, but times come back from the scale of training by way of a
    mean and a standard deviation, whose sums another unit rounds differently: a few units in the
    last place of time, divided by the distance of two quantiles.
    """
    reach = expected.identified_level(expected_rows)
    np.testing.assert_allclose(changed.identified_level(rows), reach, rtol=0, atol=1e-13)
    for name, array in expected._follow_up.state().items():
        np.testing.assert_array_equal(changed._follow_up.state()[name], array, err_msg=name)
    hidden, expected_hidden = (
        np.isnan(model.predict_quantiles(at, beyond="nan"))
        for model, at in ((changed, rows), (expected, expected_rows))
    )
    np.testing.assert_array_equal(hidden, expected_hidden)
    assert 0 < hidden.mean() < 1


def assert_equal_but_for_rounding(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(("a", "b"), [(365.25, 0.0), (1 / 7, 0.0), (1.0, 50.0), (1000.0, -4000.0)])
def test_quantiles_follow_a_change_of_the_unit_and_origin_of_time(settings, a, b):
    expected = quantiles(model(**settings).fit(X, (TIME, EVENT)))
    changed = model(**settings).fit(X, (a * TIME + b, EVENT))
    assert_equal_but_for_rounding(quantiles(changed), a * expected + b)


@pytest.mark.parametrize("power", [-20, -1, 1, 20])
def test_powers_of_two_cost_no_more_than_the_last_bits(power):
    unit = 2.0**power
    expected = unit * quantiles(model().fit(X, (TIME, EVENT)))
    changed = quantiles(model().fit(X, (unit * TIME, EVENT)))
    np.testing.assert_allclose(changed, expected, rtol=1e-13)


@pytest.mark.parametrize("y_star", ["1.2max", None])
@pytest.mark.parametrize("kind", ["standardize", "log"])
def test_the_unit_of_time_does_not_matter_on_any_scale(kind, y_star):
    data = make_exponential(200, random_state=0)
    settings = {"time_transform": kind, "y_star": y_star}
    expected = model(**settings).fit(data.X, data.y)
    changed = model(**settings).fit(data.X, (data.y["time"] / 7, data.y["event"]))
    np.testing.assert_allclose(
        quantiles(changed, data.X), quantiles(expected, data.X) / 7, rtol=1e-9, atol=1e-11
    )
    assert_same_reach(changed, data.X, expected, data.X)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("unit", [1e-3, 1000 / 7, np.array([1e-3, 60.0])])
def test_the_unit_of_features_does_not_matter(settings, unit):
    expected = model(**settings).fit(X, (TIME, EVENT))
    changed = model(**settings).fit(unit * X, (TIME, EVENT))
    assert_equal_but_for_rounding(quantiles(changed, unit * X), quantiles(expected))
    assert_same_reach(changed, unit * X, expected, X)


@pytest.mark.parametrize("origin", [-40.0, 1e4])
def test_the_origin_of_features_does_not_matter(origin):
    expected = model().fit(X, (TIME, EVENT))
    changed = model().fit(X + origin, (TIME, EVENT))
    # The shift itself rounds: single precision of the features is all that can be asked for.
    np.testing.assert_allclose(quantiles(changed, X + origin), quantiles(expected), rtol=1e-4)


@pytest.mark.parametrize("settings", [*SETTINGS, {"y_star": 30.0}], ids=str)
def test_a_left_censored_fit_is_the_mirror_of_a_right_censored_one(settings):
    # All times are above 5, so that the bound of non-negative times at 0 is not reached.
    y_star = settings["y_star"]
    right = model(**settings).fit(X, (20 - TIME, EVENT))
    mirrored = {**settings, "y_star": None if y_star is None else 20 - y_star}
    left = model(**mirrored, censoring="left").fit(X, (TIME, EVENT))
    # The quantile at tau of 20 - T is 20 less the quantile at 1 - tau of T.
    assert quantiles(left).min() > 0
    assert quantiles(right).min() > 0
    assert_equal_but_for_rounding(quantiles(right), 20 - quantiles(left)[:, ::-1])
    np.testing.assert_allclose(left.identified_level(X), 1 - right.identified_level(X))


def test_without_scaling_inside_the_unit_matters():
    settings = {"standardize": False, "time_transform": None}
    expected = quantiles(model(**settings).fit(X, (TIME, EVENT)))
    changed = quantiles(model(**settings).fit(X, (7 * TIME, EVENT)))
    assert np.abs(changed / 7 - expected).max() > 0.1
