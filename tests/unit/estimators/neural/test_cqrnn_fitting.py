"""How the parameters of CQRNN and the arguments of fit change what is learned."""

import re

import numpy as np
import pytest

from censquant import CQRNN
from censquant.datasets import make_norm_linear, make_norm_uniform
from censquant.exceptions import ConstantFeatureWarning

DATA = make_norm_linear(150, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
LARGEST, SMALLEST = float(Y["time"].max()), float(Y["time"].min())


def small(**parameters):
    return CQRNN(**{"max_epochs": 4, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def fitted(target=Y, rows=X, **parameters):
    return quantiles(small(**parameters).fit(rows, target), rows)


def assert_same(*fits):
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit, fits[0])


def assert_all_differ(*fits):
    assert len({fit.tobytes() for fit in fits}) == len(fits)


# Where the censored rest is sent


def test_a_factor_is_the_same_as_its_time_in_the_users_unit():
    for text, number in (("1.2max", 1.2 * LARGEST), (" 2.0 max ", 2 * LARGEST)):
        by_text, by_number = (small(y_star=y, max_epochs=60).fit(X, Y) for y in (text, number))
        assert_same(quantiles(by_text), quantiles(by_number))
        assert by_text.history_ == by_number.history_
    assert_same(fitted(y_star="1.2max", max_epochs=60), fitted(max_epochs=60))


def test_every_choice_of_y_star_is_a_fit_of_its_own():
    data, choices = make_norm_uniform(150, random_state=0), ("1max", "1.2max", None)
    assert_all_differ(*(fitted(data.y, data.X, y_star=y, max_epochs=200) for y in choices))


def test_a_farther_y_star_moves_the_censored_rest_farther():
    near, far = (fitted(max_epochs=200, y_star=y)[:, -1].mean() for y in ("1max", "3max"))
    assert far > near


def test_y_star_does_not_matter_without_censoring():
    assert_same(*(fitted(DATA.target_time, y_star=y_star) for y_star in ("1.2max", "9max", None)))


def test_the_largest_time_itself_may_be_y_star():
    assert_same(fitted(y_star=LARGEST), fitted(y_star="1max"))


@pytest.mark.parametrize("y_star", ["1.2", "max", "x", "-2max", "0.9max", "1.2 min", ""])
def test_a_text_that_is_no_factor_is_refused(y_star):
    message = (
        "^y_star must be None, a time, or a factor of at least 1 such as '1.2max', "
        f"got '{y_star}'.$"
    )
    with pytest.raises(ValueError, match=message):
        small(y_star=y_star).fit(X, Y)


def test_y_star_below_the_largest_time_is_refused():
    message = f"^y_star must lie above the largest time, {LARGEST:g}, got 12.$"
    with pytest.raises(ValueError, match=message):
        small(y_star=12.0).fit(X, Y)


def test_y_star_above_the_smallest_time_is_refused_for_left_censoring():
    message = f"^y_star must lie below the smallest time, {SMALLEST:g}, got 12.$"
    with pytest.raises(ValueError, match=message):
        small(y_star=12.0, censoring="left").fit(X, Y)


@pytest.mark.parametrize("y_star", [SMALLEST - 1, -100.0, "1.2max", None])
def test_y_star_below_all_times_serves_left_censoring(y_star):
    assert np.isfinite(fitted(censoring="left", y_star=y_star)).all()


# The method's other choices


def test_every_level_rule_is_a_fit_of_its_own():
    data = make_norm_uniform(150, random_state=0)
    rules = ("nearest", "lower", "interpolate")
    assert_all_differ(*(fitted(data.y, data.X, level_rule=rule) for rule in rules))


def test_the_level_rule_does_not_matter_without_censoring():
    assert_same(*(fitted(DATA.target_time, level_rule=rule) for rule in ("nearest", "lower")))


def test_quantiles_of_the_increasing_head_do_not_cross_before_sorting():
    model = small(head="increasing", max_epochs=1).fit(X, Y)
    network = model.models_[0].network
    assert (np.diff(network.predict(X)) > 0).all()


def test_every_activation_is_a_fit_of_its_own():
    assert_all_differ(*(fitted(activation=name) for name in ("relu", "gelu", "silu", "tanh")))


def test_dropout_is_used_in_training_only():
    model = small(dropout=0.5).fit(X, Y)
    assert_same(quantiles(model), quantiles(model))
    assert (quantiles(model) != fitted()).any()


@pytest.mark.parametrize("kind", ["standardize", "log", None])
def test_predictions_are_in_the_users_unit_on_every_scale(kind):
    median = fitted(time_transform=kind, max_epochs=400)[:, 9]
    truth = DATA.true_quantiles([0.5])[:, 0]
    assert np.abs(median - truth).mean() < 1.0


def test_the_logarithm_cannot_take_negative_times():
    message = (
        "^time must not be negative for time_transform='log', got a minimum of -1.5: "
        "use time_transform='standardize'.$"
    )
    with pytest.raises(ValueError, match=message):
        small(time_transform="log").fit([[0.0], [1.0]], [-1.5, 2.0])


@pytest.mark.parametrize("kind", ["standardize", None])
def test_negative_times_are_fitted_elsewhere(kind):
    assert fitted((Y["time"] - 20, Y["event"]), time_transform=kind).min() < 0


@pytest.mark.parametrize("y_star", ["1.2max", None])
@pytest.mark.parametrize("censoring", ["left", "right"])
def test_times_of_zero_are_fitted_on_the_logarithm(censoring, y_star):
    time = np.maximum(Y["time"] - 11, 0)
    fit = fitted((time, Y["event"]), time_transform="log", censoring=censoring, y_star=y_star)
    assert np.isfinite(fit).all()
    assert fit.min() >= 0


def test_features_are_scaled_inside_unless_told_otherwise():
    rows = 10 * X
    model = small().fit(rows, Y)
    np.testing.assert_allclose(model.models_[0].feature_scale.center, rows.mean(axis=0))
    np.testing.assert_allclose(model.models_[0].feature_scale.scale, rows.std(axis=0))
    raw = small(standardize=False).fit(rows, Y)
    assert raw.models_[0].feature_scale.center is None
    assert (quantiles(raw, rows) != quantiles(model, rows)).any()


def test_a_constant_feature_is_as_good_as_any_other_constant():
    seven, nine = (np.column_stack([X, np.full(len(X), c)]) for c in (7.0, 1e9))
    message = (
        "X has 1 of 3 features that are the same in all rows ('x2'): nothing can be learned from "
        "them."
    )
    with pytest.warns(ConstantFeatureWarning, match=re.escape(message)) as caught:
        first, second = small().fit(seven, Y), small().fit(nine, Y)
    assert {warning.filename for warning in caught} == {__file__}
    # The order of rows depends on what they hold, so sums are rounded elsewhere.
    scaled = first.models_[0].feature_scale.apply(seven)
    np.testing.assert_allclose(second.models_[0].feature_scale.apply(nine), scaled, atol=1e-13)
    np.testing.assert_array_equal(scaled[:, 2], 0.0)
    assert np.isfinite(quantiles(first, seven)).all()


def test_one_feature_and_one_level_are_enough():
    assert fitted(rows=X[:, :1], quantiles=[0.5]).shape == (150, 1)


def test_single_precision_features_are_taken():
    model = small().fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(quantiles(model), fitted(), rtol=0.02)


def test_without_hidden_layers_the_quantiles_are_linear():
    model = small(hidden_layer_sizes=(), quantiles=[0.5], max_epochs=30).fit(X[:, :1], Y)
    line = quantiles(model, np.linspace(0, 2, 9)[:, None])[:, 0]
    np.testing.assert_allclose(np.diff(line, n=2), 0.0, atol=1e-9)
    assert line[-1] > line[0] + 0.1


@pytest.mark.parametrize("sizes", [8, [8], (np.int64(8),), np.array([8])])
def test_layer_sizes_may_be_a_number_or_any_sequence(sizes):
    assert_same(fitted(hidden_layer_sizes=sizes), fitted(hidden_layer_sizes=(8,)))


def test_a_batch_larger_than_the_data_is_all_of_them():
    assert_same(fitted(batch_size=150), fitted(batch_size=10_000))


def test_two_rows_are_enough():
    model = small().fit([[0.0], [1.0]], [1.0, 2.0])
    assert quantiles(model, [[0.5]]).shape == (1, 19)


def test_equal_times_are_fitted():
    assert np.isfinite(fitted(np.full(150, 3.0))).all()


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize("kind", ["standardize", "log"])
def test_any_unit_of_time_is_fitted(factor, kind):
    fit = fitted((factor * Y["time"], Y["event"]), time_transform=kind, max_epochs=60)
    assert np.abs(fit[:, 9] / factor - DATA.true_quantiles([0.5])[:, 0]).mean() < 1.0
