"""A change of units changes the answer by that unit and by nothing else."""

from functools import partial

import numpy as np
import pytest

from censquant import (
    CQRNN,
    AFTRegressor,
    AsymmetricLaplaceNN,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    DeepQuantReg,
    LinearQuantileRegressor,
    LogNormalNN,
    PooledQuantileRegressor,
    SequentialGridNN,
    ShapeNN,
    UncensoredOnlyNN,
    WeibullNN,
)
from censquant._storage._codec import Writer
from censquant._trees._follow_up import FEATURES, ReachRule
from censquant.datasets import (
    load_gbsg2,
    make_exponential,
    make_lognorm,
    make_lognorm_8d,
    make_norm_4d,
    make_norm_linear,
    make_norm_nonlinear,
    make_norm_uniform,
    make_weibull,
)
from censquant.metrics import evaluate
from censquant.quantiles import QuantileCurve

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


def follow_up_arrays(fitted):
    """Arrays of the model of follow-up, as a file holds them."""
    writer = Writer()
    writer.add({"follow_up": FEATURES["follow_up"]}, fitted)
    return writer.arrays


def assert_same_reach(changed, rows, expected, expected_rows):
    """The same levels are identified.

    The reach is the level of a predicted curve at the end of follow-up. The forest that knows the
    end is the same to the last bit, but times come back from the scale of training by way of a
    mean and a standard deviation, whose sums another unit rounds differently: a few units in the
    last place of time, divided by the distance of two quantiles.
    """
    reach = expected.identified_level(expected_rows)
    np.testing.assert_allclose(changed.identified_level(rows), reach, rtol=0, atol=1e-13)
    arrays = follow_up_arrays(changed)
    for name, array in follow_up_arrays(expected).items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)
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


# Every estimator, in another unit

UNITS = [24.0, 60.0, 365.25, 1 / 7]  # of which a time in days has so many
SAME = 1e-6  # relative
SMALL = {"hidden_layer_sizes": (8,), "max_epochs": 5, "random_state": 0}
CANDIDATES = [
    ("hazards", CoxQuantileRegressor()),
    ("network", LogNormalNN(hidden_layer_sizes=(8,), max_epochs=5)),
    ("boosting", BoostedQuantileRegressor(max_iter=30)),
    ("forest", CensoredQuantileForest(n_estimators=10)),
]
ESTIMATORS = {
    "boosting": BoostedQuantileRegressor(max_iter=60, random_state=0),
    "deep boosting": BoostedQuantileRegressor(
        max_iter=60, max_depth=5, min_samples_leaf=3, random_state=0
    ),
    "forest": CensoredQuantileForest(n_estimators=20, random_state=0),
    "hazards": CoxQuantileRegressor(random_state=0),
    "aft": AFTRegressor(random_state=0),
    "CQRNN": CQRNN(**SMALL),
    "grid": SequentialGridNN(**SMALL),
    "shape": ShapeNN(hidden_layer_sizes=(8,), max_steps=60, random_state=0),
    "log-normal": LogNormalNN(**SMALL),
    "weibull": WeibullNN(**SMALL),
    "deep": DeepQuantReg(**SMALL),
    "Laplace": AsymmetricLaplaceNN(**SMALL),
    "uncensored": UncensoredOnlyNN(**SMALL),
    "pool": PooledQuantileRegressor(CANDIDATES, random_state=0),
}
LINEAR = {
    "portnoy": LinearQuantileRegressor([0.1, 0.25], random_state=0),
    "log": LinearQuantileRegressor([0.1, 0.25], time_transform="log", random_state=0),
    "peng-huang": LinearQuantileRegressor([0.1, 0.25], method="peng-huang", random_state=0),
    "wang-wang": LinearQuantileRegressor([0.1, 0.25], method="wang-wang", random_state=0),
    "data-augmentation": LinearQuantileRegressor(
        [0.1, 0.25], method="data-augmentation", random_state=0
    ),
}
IN_TIME = {
    "pinball_loss_censored",
    "pinball_loss_ipcw",
    "crps_censored",
    "mean_absolute_error_censored",
}
small_data = pytest.mark.filterwarnings("ignore")  # warnings of them are beside the point
METHODS = ["aipcw", "ipcw", "km-pit", "drcosarc", "candes", "gui", "split"]


def follow_up_study(n=120):
    """Whole days, many of them tied; a feature that few rows have, and one with whole values."""
    X, y = load_gbsg2()
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    X = np.asarray(X, dtype=np.float64)[rows]
    rare = (np.arange(n) % 40 == 0).astype(np.float64)
    time = 30.0 * np.ceil(y["time"][rows] / 30.0)
    return np.column_stack([X, rare]), time, y["event"][rows].astype(bool)


def all_answers(fitted, rows, unit=1.0):
    """Everything a model says of rows, times in days although it knows another unit."""
    days = np.array([200.0, 700.0, 1500.0])
    return {
        "quantiles": fitted.predict_quantiles(rows, [0.1, 0.25], beyond="extrapolate") / unit,
        "survival": fitted.predict_survival_function(rows, unit * days, True, beyond="extrapolate"),
        "remaining": fitted.predict_remaining(rows, unit * 200.0, [0.2], beyond="extrapolate")
        / unit,
        "mean": fitted.predict_restricted_mean(rows, unit * 700.0) / unit,
        "reach": fitted.identified_level(rows),
    }


def assert_same_answers(found, expected):
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=SAME, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ESTIMATORS)
@small_data
def test_another_unit_of_time_gives_the_same_model(name):
    rows, time, event = follow_up_study()
    estimator = ESTIMATORS[name]
    expected = all_answers(estimator.fit(rows, (time, event)), rows)
    for unit in UNITS:
        changed = estimator.fit(rows, (unit * time, event))
        assert_same_answers(all_answers(changed, rows, unit), expected)


@pytest.mark.parametrize("method", LINEAR)
@small_data
def test_another_unit_of_time_gives_the_same_linear_model(method):
    rows, time, event = follow_up_study()
    rows, estimator = rows[:, :3], LINEAR[method]
    expected = estimator.fit(rows, (time, event)).coef_
    for unit in UNITS:
        changed = estimator.fit(rows, (unit * time, event)).coef_
        changed = changed if method == "log" else changed / unit
        np.testing.assert_allclose(changed, expected, rtol=SAME)


@pytest.mark.parametrize("method", ["powell", "fitzenberger"])
@small_data
def test_searches_of_powells_loss_do_not_depend_on_how_a_unit_rounds(method):
    # Fits pass through rows that are censored: whether these lie below their limit is no matter of
    # the last bit.
    rows, time, event = follow_up_study()
    limit = np.where(event, 2.0 * time, time)
    estimator = LinearQuantileRegressor([0.1, 0.25], method=method, random_state=0)
    expected = estimator.fit(rows, (time, event), censoring_time=limit).coef_
    for unit in UNITS:
        changed = estimator.fit(rows, (unit * time, event), censoring_time=unit * limit).coef_
        np.testing.assert_allclose(changed / unit, expected, rtol=SAME)


@pytest.mark.parametrize("method", METHODS)
@small_data
def test_another_unit_of_time_gives_the_same_bounds(method):
    data = make_weibull(200, random_state=0)
    rows, time = data.X, data.y["time"]
    event = data.y["event"] | (method == "split")
    known = np.where(event, 1.5 * time, time) if method in ("candes", "gui") else None

    def bounds(unit):
        base = BoostedQuantileRegressor(max_iter=20)
        model = ConformalSurvivalRegressor(base, method=method, random_state=0)
        options = {} if known is None else {"censoring_time": unit * known}
        model.fit(rows, (unit * time, event), **options)
        return (
            np.column_stack(
                [
                    model.predict_lower_bound(rows, 0.8),
                    model.predict_lower_bound(rows, 0.8, elapsed=unit * np.median(time) / 3),
                    model.predict_upper_bound(rows, 0.8),
                    model.predict_interval(rows, 0.5),
                ]
            )
            / unit
        )

    expected = bounds(1.0)
    assert np.isfinite(expected).all(axis=1).any()
    for unit in UNITS:
        np.testing.assert_allclose(bounds(unit), expected, rtol=SAME)


@small_data
def test_folds_and_weights_of_a_pool_are_the_same_in_another_unit():
    rows, time, event = follow_up_study()
    pool = PooledQuantileRegressor(CANDIDATES, random_state=0)
    pool.fit(rows, (time, event))
    weights, values = pool.weights_, pool.oof_curve_.values
    for unit in UNITS:
        pool.fit(rows, (unit * time, event))
        assert pool.weights_ == pytest.approx(weights, rel=SAME)
        np.testing.assert_allclose(pool.oof_curve_.values / unit, values, rtol=SAME)


@small_data
def test_scores_without_a_unit_are_the_same_in_another_unit():
    rows, time, event = follow_up_study(200)
    half = slice(0, 100), slice(100, 200)

    def scores(unit):
        seen, new = ((unit * time[part], event[part]) for part in half)
        model = CoxQuantileRegressor(random_state=0).fit(rows[half[0]], seen)
        table = evaluate(model, seen, rows[half[1]], new, n_resamples=20).rows
        return {row.metric: np.array(row[1:4]) for row in table}

    expected = scores(1.0)
    for unit in UNITS:
        for metric, values in scores(unit).items():
            factor = unit if metric in IN_TIME else 1.0
            np.testing.assert_allclose(values, factor * expected[metric], rtol=SAME, err_msg=metric)


@pytest.mark.parametrize("name", ESTIMATORS)
@small_data
def test_other_units_of_features_give_the_same_model(name):
    rows, time, event = follow_up_study()
    estimator = ESTIMATORS[name]
    powers = 2.0 ** np.arange(-4, rows.shape[1] - 4)
    mixed = np.resize([1000.0, 1 / 7, 365.25, 0.01], rows.shape[1])
    expected = all_answers(estimator.fit(rows, (time, event)), rows)
    for units in (powers, np.full(rows.shape[1], 1000.0), mixed):
        changed = estimator.fit(units * rows, (time, event))
        assert_same_answers(all_answers(changed, units * rows), expected)


@pytest.mark.parametrize("lowest", [False, True])
def test_a_curve_that_jumps_where_follow_up_ends_has_reached_it_in_every_unit(lowest):
    class Followed:
        def _followed(self, features):
            return np.array([348.0]), np.array([1.0 - lowest])

    for rounding in (-1e-15, 0.0, 1e-15):
        values = np.full((1, 3), 348.0 * (1.0 + rounding))
        curve = QuantileCurve(values, [0.1, 0.25, 0.4])
        reach = curve.with_reach(ReachRule(Followed(), X), lowest=lowest).reach
        assert reach.tolist() == [0.1 if lowest else 0.4]


def untied_study():
    X, y = load_gbsg2()
    X = np.asarray(X, dtype=np.float64)[:400]
    return X, y["time"][:400].astype(np.float64), y["event"][:400].astype(bool)


def simulated(make):
    data = make(200, random_state=1)
    return data.X, data.y["time"], data.y["event"]


TEN_DATA_SETS = {
    "gbsg2": untied_study,
    "tied": follow_up_study,
    **{
        make.__name__: partial(simulated, make)
        for make in (
            make_exponential,
            make_lognorm,
            make_lognorm_8d,
            make_norm_4d,
            make_norm_linear,
            make_norm_nonlinear,
            make_norm_uniform,
            make_weibull,
        )
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("data", TEN_DATA_SETS)
@small_data
def test_ten_data_sets_give_the_same_models_in_every_unit(data):
    rows, time, event = TEN_DATA_SETS[data]()
    estimators = {"recommended": CensoredQuantileRegressor(random_state=0), **ESTIMATORS}
    for name, estimator in estimators.items():
        fitted = estimator.fit(rows, (time, event))
        expected = fitted.predict_quantiles(rows, [0.1, 0.5, 0.9], beyond="extrapolate")
        # Some times are near 0: what counts is the difference beside those of the row.
        size = np.abs(expected).max(axis=1, keepdims=True)
        for unit in UNITS:
            changed = estimator.fit(rows, (unit * time, event))
            values = changed.predict_quantiles(rows, [0.1, 0.5, 0.9], beyond="extrapolate")
            difference = np.abs(values / unit - expected) / size
            assert difference.max() < SAME, (name, unit)
