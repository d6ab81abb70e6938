"""Linear quantiles: what is fitted, how it follows changes of the data, what it predicts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.linear_model import QuantileRegressor

from censquant import LinearQuantileRegressor
from censquant.estimators.linear._methods import portnoy_path
from censquant.exceptions import ExtrapolationWarning, IdentifiabilityWarning

METHODS = ("portnoy", "peng-huang", "powell")
LEVELS = (0.2, 0.4, 0.6)


def sample(seed=0, n=150, n_features=2):
    """Features, observed times, events and censoring times of a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (n, n_features))
    time = 5 + 2 * X[:, 0] - X[:, -1] + (1 + 0.5 * X[:, 0]) * rng.normal(size=n)
    limit = rng.uniform(4, 14, n)
    return X, np.minimum(time, limit), time <= limit, limit


X, TIME, EVENT, LIMIT = sample()


def fitted(method="portnoy", data=(X, TIME, EVENT, LIMIT), weight=None, **parameters):
    rows, time, event, limit = data
    model = LinearQuantileRegressor(
        **{"quantiles": LEVELS, "method": method, "random_state": 0, **parameters}
    )
    known = {"censoring_time": limit} if method == "powell" else {}
    return model.fit(rows, (time, event), weight, **known)


def coefficients(model):
    return np.column_stack((model.intercept_, model.coef_))


def close(model, expected, tolerance=1e-9):
    np.testing.assert_allclose(coefficients(model), expected, rtol=0, atol=tolerance)


# Against other programs and the truth


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("intercept", [True, False])
def test_without_censoring_all_methods_are_quantile_regression(method, intercept):
    time = sample(3)[1]
    levels = (0.101, 0.33, 0.5, 0.87)
    model = LinearQuantileRegressor(levels, method=method, fit_intercept=intercept).fit(X, time)
    for level, slopes, constant in zip(levels, model.coef_, model.intercept_, strict=True):
        plain = QuantileRegressor(
            quantile=level, alpha=0, solver="highs", fit_intercept=intercept
        ).fit(X, time)
        np.testing.assert_allclose(slopes, plain.coef_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(constant, plain.intercept_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_known_coefficients_are_recovered_under_censoring(method):
    data = sample(1, n=4000)
    assert 1 - data[2].mean() > 0.2
    model = fitted(method, data, quantiles=(0.25, 0.5, 0.75))
    z = norm.ppf(model.quantiles_)
    expected = np.column_stack((5 + z, 2 + 0.5 * z, np.full(3, -1.0)))
    np.testing.assert_allclose(coefficients(model), expected, rtol=0, atol=0.2)
    # Taking censored times for events is off by far more.
    naive = LinearQuantileRegressor((0.75,)).fit(data[0], data[1])
    assert np.abs(coefficients(naive) - expected[2]).max() > 0.4


def test_powells_coefficients_do_not_depend_on_the_levels_below():
    alone = fitted("powell", quantiles=(0.6,))
    np.testing.assert_allclose(coefficients(fitted("powell"))[2], coefficients(alone)[0], atol=1e-9)


def test_limits_matter_to_powell_also_where_no_row_is_censored():
    rows, time = X[EVENT], TIME[EVENT]
    plain = LinearQuantileRegressor(LEVELS, method="powell").fit(rows, time)
    cut = LinearQuantileRegressor(LEVELS, method="powell", random_state=0)
    cut.fit(rows, time, censoring_time=LIMIT[EVENT])
    assert np.abs(coefficients(cut) - coefficients(plain)).max() > 1e-3


def test_the_internal_levels_begin_at_one_over_the_rows_and_go_in_steps():
    model = fitted(step=0.25, quantiles=(0.5, 0.6))
    levels = np.array([1 / 150, 1 / 150 + 0.25, 0.5, 1 / 150 + 0.5, 0.6])
    design = np.column_stack((np.ones(150), X))
    path = portnoy_path(design, TIME, EVENT, levels, np.ones(150))
    close(model, path.coefficients[[2, 4]])
    np.testing.assert_allclose(model.crossing_levels_, path.crossing_levels, atol=1e-9)


def test_a_finer_step_passes_censored_rows_at_about_the_same_levels():
    coarse, fine = (fitted(step=step).crossing_levels_ for step in (0.05, 0.005))
    both = ~np.isnan(coarse) & ~np.isnan(fine)
    assert both.sum() > 20
    assert np.abs(coarse - fine)[both].max() < 0.05


# Changes of the data that coefficients follow


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("factor", "shift"), [(3.0, 0.0), (1e-6, 0.0), (1e5, 2e6), (1.0, -20.0)])
def test_coefficients_follow_the_unit_and_the_origin_of_time(method, factor, shift):
    expected = coefficients(fitted(method)) * factor
    expected[:, 0] += shift
    model = fitted(method, (X, factor * TIME + shift, EVENT, factor * LIMIT + shift))
    np.testing.assert_allclose(coefficients(model) / factor, expected / factor, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_coefficients_follow_a_linear_change_of_features(method):
    change = np.array([[2.0, 1.0], [-1.0, 300.0]])
    model = fitted(method, (X @ change, TIME, EVENT, LIMIT))
    np.testing.assert_allclose(model.coef_ @ change.T, fitted(method).coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, fitted(method).intercept_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_coefficients_follow_a_linear_shift_of_times(method):
    shift = X @ [1.5, -4.0]
    model = fitted(method, (X, TIME + shift, EVENT, LIMIT + shift))
    close(model, coefficients(fitted(method)) + np.array([0.0, 1.5, -4.0]), 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_neither_the_order_of_rows_nor_of_repetitions_changes_a_bit(method):
    order = np.random.default_rng(0).permutation(150)
    data = tuple(column[order] for column in (X, TIME, EVENT, LIMIT))
    settings_ = {"n_bootstrap": 5, "bootstrap": "pairs"}
    expected, model = fitted(method, **settings_), fitted(method, data, **settings_)
    np.testing.assert_array_equal(coefficients(model), coefficients(expected))
    np.testing.assert_array_equal(model.standard_errors_, expected.standard_errors_)
    if method == "portnoy":
        np.testing.assert_array_equal(model.crossing_levels_, expected.crossing_levels_[order])
    else:
        assert model.crossing_levels_ is None


@pytest.mark.parametrize("method", METHODS)
def test_whole_weights_are_repeated_rows_to_the_bit(method):
    count = np.random.default_rng(1).integers(0, 4, 150)
    data = tuple(np.repeat(column, count, axis=0) for column in (X, TIME, EVENT, LIMIT))
    expected, model = fitted(method, data), fitted(method, weight=count)
    np.testing.assert_array_equal(coefficients(model), coefficients(expected))
    np.testing.assert_array_equal(model.identified_level(X), expected.identified_level(X))
    if method == "portnoy":
        np.testing.assert_array_equal(
            np.repeat(model.crossing_levels_, count), expected.crossing_levels_
        )
        assert np.isnan(model.crossing_levels_[count == 0]).all()


def test_only_the_ratios_of_weights_count():
    weight = np.random.default_rng(2).uniform(0.1, 1.0, 150)
    close(fitted(weight=weight), coefficients(fitted(weight=7.3 * weight)))
    assert np.abs(coefficients(fitted(weight=weight)) - coefficients(fitted())).max() > 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_left_censoring_is_right_censoring_of_negative_times(method):
    right = fitted(method)
    data = (X, -TIME, EVENT, -LIMIT)
    left = fitted(method, data, censoring="left", quantiles=(0.4, 0.6, 0.8))
    np.testing.assert_allclose(coefficients(left), -coefficients(right)[::-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        left.predict_quantiles(X, beyond="extrapolate"),
        -right.predict_quantiles(X, beyond="extrapolate")[:, ::-1],
        atol=1e-8,
    )
    np.testing.assert_allclose(left.identified_level(X), 1 - right.identified_level(X))
    if method == "portnoy":
        np.testing.assert_allclose(left.crossing_levels_, 1 - right.crossing_levels_, atol=1e-9)


def test_coefficients_without_an_intercept_have_the_intercept_zero():
    for censoring in ("right", "left"):
        model = fitted(fit_intercept=False, censoring=censoring)
        assert model.intercept_.tolist() == [0.0] * len(model.quantiles_)
        assert not np.signbit(model.intercept_).any()


@pytest.mark.parametrize("method", METHODS)
def test_the_logarithm_fits_the_logarithm_and_predicts_times(method):
    positive = (X, np.exp(TIME / 5), EVENT, np.exp(LIMIT / 5))
    model = fitted(method, positive, time_transform="log")
    plain = fitted(method, (X, TIME / 5, EVENT, LIMIT / 5))
    close(model, coefficients(plain))
    np.testing.assert_allclose(
        model.predict_quantiles(X, beyond="extrapolate"),
        np.exp(plain.predict_quantiles(X, beyond="extrapolate")),
    )


@pytest.mark.parametrize("limit", [np.inf, 1e6])
def test_a_limit_that_nobody_reaches_is_no_limit(limit):
    time = sample(3)[1]
    plain = LinearQuantileRegressor(LEVELS).fit(X, time)
    model = LinearQuantileRegressor(LEVELS, method="powell", random_state=0)
    close(model.fit(X, time, censoring_time=np.full(150, limit)), coefficients(plain))


def test_an_infinite_limit_on_the_left_is_no_limit_on_the_log_scale():
    time = np.exp(sample(3)[1])
    plain = LinearQuantileRegressor(LEVELS, time_transform="log").fit(X, time)
    model = LinearQuantileRegressor(LEVELS, method="powell", censoring="left", time_transform="log")
    model.fit(X, time, censoring_time=np.full(150, -np.inf))
    close(model, coefficients(plain), 1e-8)


# What is not identified


def test_levels_that_censoring_hides_are_left_out_with_a_warning():
    time = np.arange(1.0, 21.0)
    x = np.tile([0.0, 1.0], 10)[:, None]
    with pytest.warns(IdentifiabilityWarning) as caught:
        model = LinearQuantileRegressor().fit(x, (np.minimum(time, 12), time <= 12))
    n_left_out = 19 - len(model.quantiles_)
    assert str(caught[0].message) == (
        f"{n_left_out} of 19 quantiles are left out, since censoring hides the levels from about "
        f"{model.stopped_at_:.3g} on."
    )
    assert caught[0].filename == __file__
    assert model.quantiles_[-1] == pytest.approx(0.6, abs=0.06)
    assert model.stopped_at_ == pytest.approx(0.6, abs=0.1)
    assert model.coef_.shape == (len(model.quantiles_), 1)
    assert (model.identified_level(x) <= model.quantiles_[-1]).all()
    assert np.isnan(model.predict_quantiles(x, [0.9], beyond="nan")).all()


def test_hidden_levels_of_left_censoring_are_the_lower_ones():
    time = np.arange(1.0, 21.0)
    x = np.tile([0.0, 1.0], 10)[:, None]
    with pytest.warns(
        IdentifiabilityWarning,
        match=r"^\d+ of 19 quantiles are left out, since censoring hides the levels up to about "
        r"0\.\d+\.$",
    ):
        model = LinearQuantileRegressor(censoring="left").fit(x, (np.maximum(time, 9), time >= 9))
    assert model.quantiles_[0] == pytest.approx(0.4, abs=0.06)
    assert model.quantiles_[-1] == 0.95
    assert model.stopped_at_ < model.quantiles_[0]


@pytest.mark.parametrize("method", METHODS)
def test_levels_none_of_which_is_identified_are_refused(method):
    time = np.arange(1.0, 21.0)
    data = (np.tile([0.0, 1.0], 10)[:, None], np.minimum(time, 5), time <= 5, np.full(20, 5.0))
    with pytest.raises(
        ValueError,
        match=r"^quantiles must hold a level that the data identify, got \(0\.8, 0\.9\): censoring "
        r"hides the levels from about 0\.\d+ on\.$",
    ):
        fitted(method, data, quantiles=(0.8, 0.9))


def test_all_levels_reached_is_no_stop():
    assert fitted().stopped_at_ is None
    np.testing.assert_array_equal(fitted().quantiles_, LEVELS)


@pytest.mark.parametrize("method", METHODS)
def test_collinear_columns_have_the_coefficient_zero_and_change_nothing_else(method):
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.insert(1, "sum", frame["a"] + 2 * frame["b"])
    frame.insert(0, "one", 7.3)
    frame["far"] = 1e9 * frame["a"]
    with pytest.warns(IdentifiabilityWarning) as caught:
        model = fitted(method, (frame, TIME, EVENT, LIMIT), n_bootstrap=4, bootstrap="weights")
    assert [str(warning.message) for warning in caught] == [
        "X has 3 of 5 columns that are constant or linear combinations of others ('one', 'b', "
        "'far'): their coefficients are set to 0."
    ]
    assert caught[0].filename == __file__
    assert not model.coef_[:, [0, 3, 4]].any()
    expected = fitted(method).predict_quantiles(X, beyond="extrapolate")
    np.testing.assert_allclose(
        model.predict_quantiles(frame, beyond="extrapolate"), expected, rtol=1e-8
    )
    missing = np.isnan(model.standard_errors_).all(axis=0)
    assert missing.tolist() == [False, True, False, False, True, True]


def test_more_features_than_rows_interpolate_with_the_first_columns():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(6, 9))
    with pytest.warns(
        IdentifiabilityWarning,
        match=r"^X has 4 of 9 columns that are constant or linear combinations of others \('x5', "
        r"'x6', 'x7', 'x8'\): their coefficients are set to 0\.$",
    ):
        model = LinearQuantileRegressor([0.1, 0.9]).fit(wide, np.arange(6.0))
    np.testing.assert_allclose(
        model.predict_quantiles(wide), np.arange(6.0)[:, None].repeat(2, axis=1), atol=1e-9
    )


def test_a_long_list_of_collinear_columns_is_cut():
    with pytest.warns(IdentifiabilityWarning, match=r"\('x0', 'x1', 'x2', 'x3', 'x4', \.\.\.\):"):
        LinearQuantileRegressor([0.5]).fit(np.ones((5, 8)), np.arange(5.0))


@given(st.integers(0, 10**6), st.sampled_from(METHODS[:2]), st.sampled_from(["right", "left"]))
@settings(max_examples=25, deadline=None)
def test_tied_and_discrete_data_give_finite_coefficients_or_one_sentence(seed, method, side):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    rows = rng.integers(0, 3, (n, 2))
    time, event = rng.integers(1, 6, n), rng.random(n) < 0.6
    event[0] = True
    message = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        try:
            model = LinearQuantileRegressor(method=method, censoring=side).fit(rows, (time, event))
        except ValueError as error:
            message = str(error)
    if message:
        assert message.startswith("quantiles must hold a level that the data identify, got (0.05,")
        return
    assert np.isfinite(coefficients(model)).all()
    assert (np.diff(model.predict_quantiles(rows, beyond="extrapolate"), axis=1) >= 0).all()


# Predictions


def test_predictions_are_the_linear_quantiles_sorted():
    model = fitted()
    values = model.intercept_ + X @ model.coef_.T
    np.testing.assert_allclose(
        model.predict_quantiles(X, beyond="extrapolate"), np.sort(values, axis=1), rtol=1e-12
    )


def test_no_negative_time_is_predicted_where_none_was_seen():
    model = LinearQuantileRegressor(LEVELS).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    assert model.predict_quantiles([[-5.0]], beyond="extrapolate").tolist() == [[0.0] * 3]
    shifted = LinearQuantileRegressor(LEVELS).fit(
        [[0.0], [1.0], [2.0], [3.0]], [-1.0, 0.0, 1.0, 2.0]
    )
    np.testing.assert_allclose(shifted.predict_quantiles([[-5.0]], beyond="extrapolate"), -6.0)


def test_identified_levels_fall_where_rows_are_followed_for_a_short_time_only():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=800)
    time = 10 + rng.normal(size=800)
    limit = 9.8 + 4 * x
    model = LinearQuantileRegressor().fit(x[:, None], (np.minimum(time, limit), time <= limit))
    x = np.array([0.0, 0.2, 0.5, 1.0])
    expected = norm.cdf(9.8 + 4 * x - 10)
    np.testing.assert_allclose(
        model.identified_level(x[:, None]), np.minimum(expected, 0.95), rtol=0, atol=0.11
    )


def test_everything_is_identified_without_censoring():
    model = LinearQuantileRegressor(LEVELS).fit(X, TIME)
    np.testing.assert_array_equal(model.identified_level(X), 0.6)
    left = LinearQuantileRegressor(LEVELS, censoring="left").fit(X, TIME)
    np.testing.assert_array_equal(left.identified_level(X), 0.2)


def test_a_prediction_beyond_the_follow_up_is_warned_of():
    with pytest.warns(ExtrapolationWarning, match="^Some predictions lie beyond what the data can"):
        fitted().predict([[3.0, 0.0]])


def test_the_survival_function_and_remaining_life_come_with_the_base():
    model = fitted(quantiles=None)
    survival = model.predict_survival_function(X[:2], [5.0, 7.0], return_array=True)
    assert ((survival > 0) & (survival < 1)).all()
    assert (model.predict_remaining(X[:2], 5.0, [0.5]) > 0).all()
    assert model.score(X, (TIME, EVENT)) > 0.7
    assert model.unique_times_.tolist() == sorted(TIME[EVENT].tolist())
    assert model.follow_up_ == (TIME.min(), TIME.max())


def test_column_names_are_kept_and_checked():
    frame = pd.DataFrame(X, columns=["age", "dose"])
    model = fitted(data=(frame, TIME, EVENT, LIMIT))
    assert model.feature_names_in_.tolist() == ["age", "dose"]
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame[["dose", "age"]]), expected)
    with pytest.raises(ValueError, match="columns of the fit, got no column 'dose'"):
        model.predict(frame[["age"]])
