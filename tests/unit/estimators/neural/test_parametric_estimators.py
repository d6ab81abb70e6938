"""LogNormalNN, WeibullNN and AsymmetricLaplaceNN: exact quantiles of a predicted distribution."""

import copy
import re

import numpy as np
import pytest
from scipy.stats import gumbel_l, laplace_asymmetric, norm

import censquant
from censquant import CQRNN, AsymmetricLaplaceNN, LogNormalNN, WeibullNN
from censquant._engine.losses._likelihoods import SMALLEST_SCALE
from censquant.datasets import make_weibull

DATA = make_weibull(120, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
LEVELS = np.array([0.001, 0.05, 0.123, 0.5, 0.777, 0.95, 0.999])
LOG_TIME = (LogNormalNN, WeibullNN)
ALL = (*LOG_TIME, AsymmetricLaplaceNN)


def small(estimator, **parameters):
    return estimator(
        **{"max_epochs": 4, "hidden_layer_sizes": (8,), "random_state": 0, **parameters}
    )


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


# Recovery of the truth


def lognormal_law(x):
    return norm(loc=1.0 + np.sin(3 * x), scale=0.3 + 0.4 * x)


def weibull_law(x):
    return gumbel_l(loc=1.0 + np.sin(3 * x), scale=0.2 + 0.4 * x)


def laplace_law(x):
    return laplace_asymmetric(0.5 + x, loc=20 + 3 * np.sin(3 * x), scale=0.5 + x)


TRUTHS = {
    LogNormalNN: (lognormal_law, np.exp),
    WeibullNN: (weibull_law, np.exp),
    AsymmetricLaplaceNN: (laplace_law, lambda u: u),
}


def simulated(estimator, n=2000, seed=0):
    """Features, times of which some 40 % are independently censored, and events."""
    law, to_time = TRUTHS[estimator]
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, size=n)
    event_time = to_time(law(x).rvs(random_state=rng))
    # From a low to a high quantile of all event times: nobody is followed beyond.
    low, high = np.quantile(event_time, [0.05, 0.95])
    ends = rng.uniform(low, high * 1.1, size=n)
    return x[:, None], np.minimum(event_time, ends), event_time <= ends


@pytest.mark.parametrize("estimator", ALL)
def test_it_recovers_its_own_distribution(estimator):
    x, time, event = simulated(estimator)
    assert 0.3 < 1 - event.mean() < 0.55
    model = estimator(
        [0.1, 0.5, 0.9], hidden_layer_sizes=(32, 32), activation="gelu", max_epochs=60,
        random_state=0,
    ).fit(x, (time, event))  # fmt: skip
    grid = np.linspace(0.05, 0.95, 50)[:, None]
    law, to_time = TRUTHS[estimator]
    truth = to_time(law(grid).ppf([0.1, 0.5, 0.9]))
    predicted = quantiles(model, grid)
    identified = truth < np.quantile(time, 0.99)
    assert identified.mean() > 0.7
    error = np.abs(predicted / truth - 1)[identified].mean()
    assert error < 0.08


# Exactness


def law_of(model, raw):
    """Scipy's distribution on the scale of training from a network's raw outputs."""
    if isinstance(model, AsymmetricLaplaceNN):
        return laplace_asymmetric(
            np.exp(raw[:, 2:]), loc=raw[:, :1], scale=np.exp(raw[:, 1:2]) / np.sqrt(2)
        )
    law = norm if isinstance(model, LogNormalNN) else gumbel_l
    return law(loc=raw[:, :1], scale=np.logaddexp(0, raw[:, 1:]) + SMALLEST_SCALE)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("transform", ["standardize", None])
def test_quantiles_at_any_level_are_the_distributions_own(estimator, transform):
    model = small(estimator, time_transform=transform, max_epochs=20).fit(X, Y)
    raw = model.models_[0].network.predict(model.models_[0].feature_scale.apply(X))
    inner = law_of(model, raw).ppf(LEVELS)
    expected = np.maximum(model.time_transform_.inverse(inner), 0.0)
    found, observed = quantiles(model, X, LEVELS), expected <= model.follow_up_[1]
    np.testing.assert_allclose(found[observed], expected[observed], rtol=1e-10)
    assert (found <= expected * (1 + 1e-10)).all()


@pytest.mark.parametrize("estimator", ALL)
def test_levels_asked_for_later_do_not_depend_on_those_of_the_fit(estimator):
    few, many = (small(estimator, quantiles=q).fit(X, Y) for q in ([0.5], None))
    np.testing.assert_array_equal(quantiles(few, X, LEVELS), quantiles(many, X, LEVELS))
    assert quantiles(few).shape == (len(X), 1)
    assert quantiles(many).shape == (len(X), 19)


@pytest.mark.parametrize("estimator", ALL)
def test_the_survival_function_agrees_with_the_quantiles(estimator):
    model = small(estimator, max_epochs=20).fit(X, Y)
    levels = np.array([0.1, 0.123, 0.5, 0.777, 0.95])
    times = quantiles(model, X, levels)
    for row in range(5):
        survival = model.predict_survival_function(X[row : row + 1], times[row], True)[0]
        np.testing.assert_allclose(survival, 1 - levels, rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"n_members": 3}, {"censoring": "left"}], ids=str)
@pytest.mark.parametrize("estimator", ALL)
def test_levels_of_quantiles_are_the_levels_or_the_mass_at_the_smallest_time(estimator, options):
    model = small(estimator, max_epochs=20, **options).fit(X, Y)
    curve = model.predict_curve(X)
    levels = np.array([1e-9, 0.0005, 0.01, 0.1, 0.5, 0.9, 0.9995])
    times = curve.at(levels)
    mass = curve.cdf(np.full((len(X), 1), curve.lower))
    np.testing.assert_allclose(curve.cdf(times), np.maximum(levels, mass), rtol=0, atol=1e-9)
    assert (times >= curve.lower).all()
    np.testing.assert_array_equal(times == curve.lower, levels <= mass)
    np.testing.assert_array_equal(curve.cdf(np.full(len(X), curve.lower - 1e-9)), 0.0)


def test_the_asymmetric_laplace_has_a_point_mass_where_its_tail_is_cut():
    model = small(AsymmetricLaplaceNN, max_epochs=20).fit(X, Y)
    curve, zero = model.predict_curve(X), np.zeros((len(X), 1))
    (trained,) = model.models_
    inner = trained.objective.distribution(trained.outputs(X))
    start = (0.0 - model.time_transform_.center) / model.time_transform_.scale
    mass = curve.cdf(zero)
    np.testing.assert_allclose(mass, inner.cdf(zero + start), rtol=1e-12)
    assert (mass > 0).all()
    assert (curve.at_each(0.5 * mass) == 0).all()
    assert (curve.at_each(1.001 * mass) > 0).all()


@pytest.mark.parametrize("estimator", LOG_TIME)
def test_at_the_start_all_of_a_positive_time_remains(estimator):
    model = small(estimator, max_epochs=20).fit(X, Y)
    remaining = model.predict_remaining(X, 0.0, LEVELS[1:-1])
    np.testing.assert_allclose(remaining, quantiles(model, X, LEVELS[1:-1]), rtol=5e-3)


@pytest.mark.parametrize("estimator", ALL)
def test_members_are_averaged_in_model_units(estimator):
    model = small(estimator, n_members=3).fit(X, Y)
    inner = []
    for part in model.models_:
        single = copy.copy(model)
        single.models_ = [part]
        inner.append(model.time_transform_.forward(quantiles(single, X, [0.2, 0.66])))
    assert not np.allclose(inner[0], inner[1])
    expected = model.time_transform_.inverse(np.mean(inner, axis=0))
    np.testing.assert_allclose(quantiles(model, X, [0.2, 0.66]), expected, rtol=1e-9)


@pytest.mark.parametrize("estimator", ALL)
def test_quantiles_increase_and_are_positive_where_times_are(estimator):
    predicted = quantiles(small(estimator).fit(X, Y), X, LEVELS)
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert (predicted >= 0).all()


@pytest.mark.parametrize("estimator", LOG_TIME)
def test_times_from_tiny_to_huge_are_fitted(estimator):
    rng = np.random.default_rng(0)
    time = np.exp(rng.uniform(np.log(1e-8), np.log(1e8), size=200))
    time[:2] = 1e-8, 1e8
    event, features = rng.random(200) < 0.7, rng.normal(size=(200, 2))
    for transform in ("standardize", None):
        model = small(estimator, time_transform=transform).fit(features, (time, event))
        assert np.isfinite(quantiles(model, X, LEVELS)).all()
        assert all(np.isfinite(record["loss"]) for record in model.history_)


def test_the_asymmetric_laplace_takes_times_of_any_sign():
    time = Y["time"] - 10
    model = small(AsymmetricLaplaceNN).fit(X, (time, Y["event"]))
    assert quantiles(model).min() < 0


def test_an_early_stop_is_judged_by_the_likelihood():
    model = small(WeibullNN, early_stopping=True, max_epochs=6).fit(X, Y)
    assert all("validation_loss" in record for record in model.history_)


# Left censoring, files, arguments


def test_left_censored_laplace_times_are_the_mirror_image():
    time = Y["time"] - Y["time"].mean()
    options = {"time_transform": None, "max_epochs": 10}
    right = small(AsymmetricLaplaceNN, **options).fit(X, (time, Y["event"]))
    left = small(AsymmetricLaplaceNN, censoring="left", **options).fit(X, (-time, Y["event"]))
    levels = np.array([0.05, 0.3, 0.9])
    np.testing.assert_allclose(
        quantiles(left, X, 1 - levels[::-1]), -quantiles(right, X, levels)[:, ::-1], rtol=1e-6
    )


@pytest.mark.parametrize("estimator", ALL)
def test_left_censored_times_are_of_the_same_law(estimator):
    law, to_time = TRUTHS[estimator]
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, size=2000)
    event_time = to_time(law(x).rvs(random_state=rng))
    low, high = np.quantile(event_time, [0.02, 0.9])
    ends = rng.uniform(low - 0.2 * (high - low), high, size=2000)
    time, event = np.maximum(event_time, ends), event_time >= ends
    assert 0.2 < 1 - event.mean() < 0.55
    model = estimator(
        [0.1, 0.5, 0.9], hidden_layer_sizes=(32, 32), activation="gelu", max_epochs=60,
        random_state=0, censoring="left",
    ).fit(x[:, None], (time, event))  # fmt: skip
    grid = np.linspace(0.05, 0.95, 50)[:, None]
    truth = to_time(law(grid).ppf([0.1, 0.5, 0.9]))
    identified = truth > np.quantile(time, 0.01)
    assert identified.mean() > 0.7
    assert np.abs(quantiles(model, grid) / truth - 1)[identified].mean() < 0.08


@pytest.mark.parametrize("estimator", LOG_TIME)
def test_left_censored_rows_pull_down(estimator):
    time = Y["time"]
    event = np.arange(len(time)) % 3 > 0
    seen, left, right = (
        np.median(quantiles(small(estimator, max_epochs=40, **options).fit(X, target), X, [0.5]))
        for options, target in (
            ({}, time),
            ({"censoring": "left"}, (time, event)),
            ({}, (time, event)),
        )
    )
    assert left < seen < right


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_members": 2}, {"censoring": "left"}, {"time_transform": None, "quantiles": [0.3]}],
    ids=str,
)
def test_a_loaded_model_gives_the_same_bits(tmp_path, estimator, parameters):
    model = small(estimator, **parameters).fit(X, Y)
    model.save(tmp_path / "model.safetensors")
    loaded = censquant.load_model(tmp_path / "model.safetensors")
    assert type(loaded) is estimator
    np.testing.assert_array_equal(quantiles(loaded), quantiles(model))
    np.testing.assert_array_equal(quantiles(loaded, X, LEVELS), quantiles(model, X, LEVELS))
    np.testing.assert_array_equal(loaded.identified_level(X), model.identified_level(X))


@pytest.mark.parametrize("estimator", LOG_TIME)
@pytest.mark.parametrize("smallest", [0.0, -1.5])
def test_times_that_are_not_positive_are_refused(estimator, smallest):
    time = Y["time"].copy()
    time[7] = smallest
    message = (
        f"time must be positive for {estimator.__name__}, got a minimum of {smallest:g}: use "
        "CQRNN or shift the times."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        small(estimator).fit(X, (time, Y["event"]))


def test_the_tag_says_who_needs_positive_times():
    tags = {estimator: estimator().__sklearn_tags__() for estimator in (*ALL, CQRNN)}
    needy = {e for e, tag in tags.items() if tag.target_tags.positive_only}
    assert needy == set(LOG_TIME)


@pytest.mark.parametrize("estimator", LOG_TIME)
def test_raw_logarithms_are_fitted_when_asked(estimator):
    transform = small(estimator, time_transform=None).fit(X, Y).time_transform_
    assert (transform.log, transform.center, transform.scale) == (True, 0.0, 1.0)
    np.testing.assert_allclose(transform.forward([1.0, np.e]), [np.log(max(1, transform.floor)), 1])
    scaled = small(estimator).fit(X, Y).time_transform_
    assert (scaled.log, scaled.center) != (True, 0.0)


@pytest.mark.parametrize("estimator", LOG_TIME)
@pytest.mark.parametrize("transform", ["log", "sqrt", True])
def test_other_transforms_are_refused(estimator, transform):
    message = f"time_transform must be one of 'standardize', None, got {transform!r}."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        small(estimator, time_transform=transform).fit(X, Y)


@pytest.mark.parametrize("estimator", ALL)
def test_an_increasing_head_is_refused(estimator):
    message = (
        f"head must be 'free' for {estimator.__name__}, whose outputs are parameters of a "
        "distribution, got 'increasing'."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        small(estimator, head="increasing").fit(X, Y)
