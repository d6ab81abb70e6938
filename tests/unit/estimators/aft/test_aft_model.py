"""What a fitted model predicts, what its fit does not depend on, and where it warns."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gumbel_l, logistic, norm
from sklearn.exceptions import ConvergenceWarning

import censquant
from censquant import AFTRegressor, CoxQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant.exceptions import ConstantFeatureWarning, IdentifiabilityWarning, NoEventsError
from censquant.plotting import plot_coefficients
from model_files import refused, rewrite

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
TIME = RNG.weibull(1.5, 200) * np.exp(-X @ [0.5, -0.3, 0.0])
LIMIT = RNG.uniform(0.2, 2.5, 200)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)
LEFT = (np.maximum(TIME, 0.4 * LIMIT), TIME >= 0.4 * LIMIT)
LEVELS = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
LAWS = {
    "weibull": gumbel_l,
    "lognormal": norm,
    "loglogistic": logistic,
    "exponential": gumbel_l,
}
every_law = pytest.mark.parametrize("distribution", LAWS)


def fitted(x=X, y=Y, weight=None, **parameters):
    return AFTRegressor(**{"random_state": 0, **parameters}).fit(x, y, weight)


def quantiles(model, rows=X, levels=LEVELS):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


@every_law
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_quantiles_and_survival_are_the_formulas(distribution, censoring):
    y = LEFT if censoring == "left" else Y
    model = fitted(y=y, distribution=distribution, censoring=censoring)
    location = model.intercept_ + X @ model.coef_
    law, end = LAWS[distribution], y[0].max()
    expected = np.exp(location[:, None] + model.scale_ * law.ppf(LEVELS))
    found, early = quantiles(model), expected <= end
    np.testing.assert_allclose(found[early], expected[early], rtol=1e-9)
    assert (found[~early] <= expected[~early] * (1 + 1e-9)).all()
    times = np.linspace(0.01, end, 30)
    expected = law.sf((np.log(times) - location[:, None]) / model.scale_)
    np.testing.assert_allclose(model.predict_curve(X).survival(times), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict_curve(X).survival([0.0]), 1.0)


@every_law
def test_times_that_are_multiplied_for_one_are_multiplied_at_all_levels(distribution):
    curve = fitted(distribution=distribution)._model_curve(np.array([[0.0] * 3, [1.0, 0.0, 0.0]]))
    ratio = curve.at(LEVELS)[1] / curve.at(LEVELS)[0]
    np.testing.assert_allclose(ratio, np.exp(fitted(distribution=distribution).coef_[0]), 1e-9)


@every_law
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_the_log_likelihood_is_that_of_density_and_survival(distribution, censoring):
    time, event = LEFT if censoring == "left" else Y
    model = fitted(y=(time, event), distribution=distribution, censoring=censoring)
    u = (np.log(time) - model.intercept_ - X @ model.coef_) / model.scale_
    law = LAWS[distribution]
    density = law.logpdf(u) - np.log(model.scale_) - np.log(time)
    missed = law.logcdf(u) if censoring == "left" else law.logsf(u)
    expected = np.where(event, density, missed)
    found = model.log_likelihood(X, (time, event))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert model.log_likelihood_ == pytest.approx(expected.sum(), rel=1e-12)


@every_law
@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_no_other_coefficients_have_a_higher_likelihood(distribution, censoring, penalty):
    y = LEFT if censoring == "left" else Y
    options = {"distribution": distribution, "censoring": censoring, "penalty": penalty}
    model = fitted(y=y, **options)

    def objective(model):
        ridge = penalty / 2 * ((model.coef_ * X.std(axis=0) / model.scale_) ** 2).sum()
        return model.log_likelihood(X, y).mean() - ridge

    best = objective(model)
    steps = [("_location", 1.0), ("coef_", np.array([1.0, 0.0, 0.0]))]
    steps += [("scale_", 1.0)] * (distribution != "exponential")
    for name, step in steps:
        for size in (-1e-3, 1e-3):
            other = copy.deepcopy(model)
            setattr(other, name, getattr(model, name) + size * step)
            assert objective(other) < best


def test_left_censored_times_lie_between_zero_and_their_limit():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6000, 1))
    time = np.exp(1.0 + 0.8 * x[:, 0] + 0.5 * rng.normal(size=6000))
    limit = rng.exponential(2.0, 6000)
    y = np.maximum(time, limit), time >= limit
    model = fitted(x, y, distribution="lognormal", censoring="left")
    assert 0.3 < y[1].mean() < 0.8
    errors = model.standard_errors_
    assert (errors < 0.03).all()
    assert abs(model.intercept_ - 1.0) < 4 * errors[0]
    assert abs(model.coef_[0] - 0.8) < 4 * errors[1]
    assert abs(np.log(model.scale_ / 0.5)) < 4 * errors[2]
    # Mirroring time would have been another model: its curves are those of the formula.
    np.testing.assert_allclose(model.predict([[0.0]]), np.exp(model.intercept_), rtol=1e-9)


@pytest.mark.parametrize("unit", [24.0, 1 / 7, 1e-12, 1e100])
@every_law
def test_the_unit_of_time_does_not_matter(unit, distribution):
    model = fitted(distribution=distribution)
    scaled = fitted(y=(unit * Y[0], Y[1]), distribution=distribution)
    np.testing.assert_allclose(scaled.coef_, model.coef_, rtol=1e-9)
    assert scaled.intercept_ == pytest.approx(model.intercept_ + np.log(unit), rel=1e-9)
    assert scaled.scale_ == pytest.approx(model.scale_, rel=1e-9)
    np.testing.assert_allclose(scaled.standard_errors_, model.standard_errors_, rtol=1e-8)
    np.testing.assert_allclose(quantiles(scaled), unit * quantiles(model), rtol=1e-9)
    moved = model.log_likelihood_ - np.log(unit) * Y[1].sum()
    assert scaled.log_likelihood_ == pytest.approx(moved, rel=1e-9)


def test_units_of_features_do_not_matter():
    units = np.array([1e-6, 3.3, 1e9])
    moved = X * units + 7.0 * units
    model, other = fitted(), fitted(moved)
    np.testing.assert_allclose(other.coef_ * units, model.coef_, rtol=1e-8)
    errors = other.standard_errors_[1:4] * units
    np.testing.assert_allclose(errors, model.standard_errors_[1:4], rtol=1e-7)
    np.testing.assert_allclose(quantiles(other, moved), quantiles(model), rtol=1e-8)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_features_of_extreme_size_are_as_good_as_others(size):
    units = np.array([1.0, size, 1.0])
    np.testing.assert_allclose(quantiles(fitted(X * units), X * units), quantiles(fitted()), 1e-8)


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = fitted(X[order], (Y[0][order], Y[1][order]))
    np.testing.assert_array_equal(shuffled.coef_, fitted().coef_)
    np.testing.assert_array_equal(shuffled.covariance_, fitted().covariance_)


@every_law
def test_whole_weights_are_repeated_rows(distribution):
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    expected = fitted(X[copies], (Y[0][copies], Y[1][copies]), distribution=distribution)
    model = fitted(weight=weight, distribution=distribution)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.covariance_, expected.covariance_)
    assert model.log_likelihood_ == expected.log_likelihood_
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))


def test_fractional_weights_are_shares_of_rows():
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    # A row of next to no weight makes the same weights no counts.
    rows = np.vstack([X, X[:1]])
    y = (np.append(Y[0], Y[0][0]), np.append(Y[1], Y[1][0]))
    model = fitted(rows, y, np.append(weight, 1e-12))
    np.testing.assert_allclose(model.coef_, fitted(weight=weight).coef_, rtol=1e-6)


def test_a_penalty_draws_coefficients_to_zero_and_is_that_of_cox_for_weibull():
    sizes = [np.abs(fitted(penalty=penalty).coef_).sum() for penalty in (0.0, 0.1, 10.0, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-5
    model = fitted(penalty=0.1)
    ratios = CoxQuantileRegressor(penalty=0.1).fit(X, Y).coef_
    np.testing.assert_allclose(-model.coef_ / model.scale_, ratios, atol=0.05)
    assert model.penalty_ == 0.1


# What the data do not tell


COLLINEAR = (
    r"^X has 1 collinear columns or combinations of columns that the data say nothing about: with "
    r"penalty=0 the coefficients of the smallest norm are taken; set penalty > 0 or drop columns\.$"
)


def test_collinear_features_share_their_effect_and_have_no_standard_error():
    doubled = np.column_stack([X, X[:, 0]])
    with pytest.warns(IdentifiabilityWarning, match=COLLINEAR) as caught:
        model = fitted(doubled)
    assert caught[0].filename == __file__
    alone = fitted()
    np.testing.assert_allclose(model.coef_[[0, 3]], alone.coef_[0] / 2, rtol=1e-7)
    np.testing.assert_allclose(model.coef_[1:3], alone.coef_[1:], rtol=1e-7)
    np.testing.assert_array_equal(np.isnan(model.standard_errors_), [0, 1, 0, 0, 1, 0])
    others = [0, 2, 3, 5]
    np.testing.assert_allclose(
        model.standard_errors_[others], alone.standard_errors_[[0, 2, 3, 4]], rtol=1e-7
    )
    fitted(doubled, penalty=0.01)  # without a warning


def test_constant_features_have_the_coefficient_zero_and_change_nothing_else():
    with pytest.warns(ConstantFeatureWarning):
        model = fitted(np.column_stack([X, np.full(200, 0.1)]))
    assert model.coef_[3] == 0.0
    assert np.isnan(model.standard_errors_[4])
    np.testing.assert_allclose(model.coef_[:3], fitted().coef_, rtol=1e-9)
    with pytest.warns(ConstantFeatureWarning):
        np.testing.assert_array_equal(fitted(np.ones((200, 2))).coef_, [0.0, 0.0])


NO_MAXIMUM = (
    r"^The likelihood has no maximum with penalty=0, since in some direction of the features all "
    r"events agree with the model exactly or no row has an event: a penalty of 0\.001 was taken; "
    r"set penalty > 0, or drop columns\.$"
)
GROUP = (np.arange(200) % 2).astype(float)[:, None]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (GROUP, (Y[0], Y[1] & (GROUP[:, 0] == 0))),
        (np.random.default_rng(4).normal(size=(200, 300)), Y),
        (X, (TIME, np.arange(200) == TIME.argmax())),
        (X[:3], (Y[0][:3], np.ones(3, bool))),
    ],
    ids=["a group without events", "more features than rows", "one event, the last", "three rows"],
)
@pytest.mark.parametrize("distribution", ["weibull", "lognormal", "loglogistic"])
def test_a_likelihood_without_a_maximum_has_a_small_penalty(x, y, distribution):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        with pytest.warns(ConvergenceWarning, match=NO_MAXIMUM) as caught:
            model = fitted(x, y, distribution=distribution)
    assert caught[0].filename == __file__
    assert model.penalty_ == 1e-3
    assert ", penalty 0.001: " in model.summary().title
    assert (np.abs(model.coef_ * x.std(axis=0)) < 50).all()
    assert np.isfinite(quantiles(model, x)).all()


@pytest.mark.parametrize("scale", [1e-2, 1e-3, 1e-4])
def test_next_to_no_noise_is_no_reason_for_a_penalty(scale):
    noise = np.random.default_rng(7).normal(size=200)
    time = np.exp(1.0 + X @ [0.5, -0.3, 0.2] + scale * noise)
    model = fitted(y=time, distribution="lognormal")
    assert model.penalty_ == 0
    assert model.scale_ == pytest.approx(scale, rel=0.2)


EXTREME = {
    "equal times": (np.full(200, 5.0), Y[1]),
    "times of zero": (np.zeros(200), Y[1]),
    "one event, the first": (TIME, np.arange(200) == TIME.argmin()),
    "one event, the last": (TIME, np.arange(200) == TIME.argmax()),
    "nothing censored": (TIME, np.ones(200, bool)),
    "some times of zero": (np.where(np.arange(200) % 7 == 0, 0.0, Y[0]), Y[1]),
    "heavy tails": (np.exp(30.0 * RNG.normal(size=200)), Y[1]),
    "huge times": (1e300 * TIME, Y[1]),
    "tiny times": (1e-300 * TIME, Y[1]),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("y", EXTREME.values(), ids=EXTREME)
@every_law
def test_predictions_are_finite_and_in_order_whatever_the_times(
    y, censoring, distribution, penalty
):
    model = fitted(y=y, censoring=censoring, distribution=distribution, penalty=penalty)
    values = quantiles(model)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=1) >= 0).all()
    assert np.isfinite(model.log_likelihood(X, y)).all()
    assert np.isfinite(model.predict_restricted_mean(X)).all()


def test_one_far_time_among_many_rows_does_not_stop_the_search():
    time = np.random.default_rng(5).weibull(2.0, 20_000)
    time[0] = 1e-200
    x = np.random.default_rng(6).normal(size=(20_000, 1))
    for distribution in LAWS:
        assert fitted(x, time, distribution=distribution).n_iter_ < 60


def test_an_event_at_zero_counts_as_half_the_smallest_event_time():
    time, event = Y[0].copy(), Y[1].copy()
    event[:2] = True
    time[:2] = 0.0
    moved = time.copy()
    moved[:2] = time[2:][event[2:]].min() / 2
    np.testing.assert_allclose(fitted(y=(time, event)).coef_, fitted(y=(moved, event)).coef_, 1e-9)


def test_rows_that_are_censored_at_the_start_say_nothing():
    rows = np.vstack([X, X[:5] + 0.1])
    y = np.append(Y[0], np.zeros(5)), np.append(Y[1], np.zeros(5, bool))
    model = fitted(rows, y)
    np.testing.assert_allclose(model.coef_, fitted().coef_, rtol=1e-8)
    assert model.scale_ == pytest.approx(fitted().scale_, rel=1e-8)
    np.testing.assert_array_equal(model.log_likelihood(rows, y)[200:], 0.0)


# Around the model


def test_it_takes_its_place_in_an_ensemble():
    pool = censquant.PooledQuantileRegressor(
        [("weibull", AFTRegressor()), ("normal", AFTRegressor(distribution="lognormal"))],
        cv=2,
        random_state=0,
    )
    pool.fit(X, Y)
    assert all(
        model.covariance_ is None for models in pool.estimators_.values() for model in models
    )
    alone = censquant.PooledQuantileRegressor([("aft", AFTRegressor())], cv=2, random_state=0)
    alone.fit(X, Y)
    inner = np.array([0.1, 0.25, 0.5])
    np.testing.assert_allclose(quantiles(alone, X, inner), quantiles(fitted(), X, inner), rtol=0.02)


@pytest.mark.parametrize("censoring", ["right", "left"])
def test_members_of_ensembles_answer_in_reversed_time_where_that_is_asked(censoring):
    model = fitted(y=LEFT if censoring == "left" else Y, censoring=censoring)
    model._stands_alone = False
    levels = np.array([0.1, 0.4, 0.5])
    values, end = model._predict_checked(X, levels)
    assert end is None
    own = model._model_curve(X)
    expected = -own.at([0.5, 0.6, 0.9])[:, ::-1] if censoring == "left" else own.at(levels)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


CONFIGURATIONS = [
    {},
    {"distribution": "exponential", "penalty": 0.1, "quantiles": (0.2, 0.4)},
    {"distribution": "loglogistic", "censoring": "left"},
]
every_configuration = pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def same(twin, model):
    for ask in (
        lambda m: m.predict_quantiles(X, beyond="nan"),
        lambda m: m.identified_level(X),
        lambda m: m.log_likelihood(X, Y),
        lambda m: m.coef_,
        lambda m: m.covariance_,
        lambda m: m.intercept_,
        lambda m: (m.scale_, m.log_likelihood_, m.penalty_, m.n_iter_),
    ):
        np.testing.assert_array_equal(ask(twin), ask(model))
    assert str(twin.summary()) == str(model.summary())
    assert twin.get_params() == model.get_params()


@every_configuration
def test_a_loaded_model_is_the_same_model(path, parameters):
    model = fitted(**parameters)
    model.save(path)
    content = path.read_bytes()
    loaded = censquant.load_model(path, kind=AFTRegressor)
    same(loaded, model)
    loaded.save(path)
    assert path.read_bytes() == content


@every_configuration
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"]
)
def test_a_copy_is_the_same_model(copied, parameters):
    model = fitted(**parameters)
    same(copied(model), model)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"limits": np.array([[1.0] * 3, [0.0] * 3])}, "holds limits that are not in order."),
        ({"covariance": np.eye(4)}, "holds a covariance of other terms."),
        ({"coef": np.array([1.0, np.nan, 0.0])}, "holds numbers in 'coef' that are not finite."),
    ],
    ids=["limits", "covariance", "coef"],
)
def test_damaged_arrays_are_refused(path, arrays, message):
    fitted().save(path)
    rewrite(path, arrays=arrays)
    refused(path, message)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"description": {"scale": 0.0}}, "ValueError: scale must be"),
        ({"description": {"n_iter": -1}}, "ValueError: n_iter must be at least 0, got -1"),
        ({"parameters": {"distribution": "gamma"}}, "ValueError: distribution must be one of"),
    ],
    ids=str,
)
def test_wrong_entries_are_refused(path, part, message):
    fitted().save(path)
    rewrite(path, part=part)
    refused(path, "is not a consistent model file (" + message)


def test_the_mean_of_left_censored_times_has_no_horizon():
    rows, horizon = X[:5], 0.3
    model = fitted(y=LEFT, censoring="left", distribution="lognormal")
    location = model.intercept_ + rows @ model.coef_
    # E max(T, h) of log-normal times, up to the limit of their tails.
    u = (np.log(horizon) - location) / model.scale_
    mean = np.exp(location + model.scale_**2 / 2)
    expected = horizon * norm.cdf(u) + mean * norm.sf(u - model.scale_)
    np.testing.assert_allclose(model.predict_restricted_mean(rows, horizon), expected, rtol=0.01)


def test_names_of_columns_are_names_of_terms():
    frame, y = load_gbsg2(as_frame=True)
    model = fitted(frame, y)
    assert model.summary().terms == ("intercept", *frame.columns, "log(scale)")
    assert model.score(frame, y) > 0.67
    effects = pd.Series(model.coef_, frame.columns)
    assert effects["pnodes"] < 0 < effects["progrec"]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"penalty": -0.1}, ValueError, r"penalty must be finite and inside \[0, inf\), got -0.1"),
        (
            {"distribution": "log-normal"},
            ValueError,
            "distribution must be one of 'weibull', 'lognormal', 'loglogistic', 'exponential', "
            "got 'log-normal'",
        ),
        ({"censoring": "both"}, ValueError, "censoring must be one of 'right', 'left', got 'both'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=f"^{message}.$"):
        fitted(**parameters)


NEGATIVE = (
    "^time must not be negative for AFTRegressor, got a minimum of -1: use CoxQuantileRegressor "
    r"or shift the times\.$"
)


def test_negative_times_are_refused():
    y = np.append(Y[0][1:], -1.0), Y[1]
    with pytest.raises(ValueError, match=NEGATIVE):
        fitted(y=y)
    with pytest.raises(ValueError, match=NEGATIVE):
        fitted().log_likelihood(X, y)


def test_rows_without_an_event_are_refused():
    with pytest.raises(NoEventsError, match=r"^y has no event: 200 of 200 rows are censored"):
        fitted(y=(Y[0], np.zeros(200, bool)))


def test_coefficients_that_do_not_depend_on_the_level_are_not_drawn_over_levels():
    message = "^model must have coefficients that depend on the level, got the summary of a model"
    with pytest.raises(TypeError, match=message):
        plot_coefficients(fitted().summary())
