"""Fitted linear models as files, pickles and clones."""

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import censquant
from censquant import LinearQuantileRegressor
from censquant._files import read_arrays
from model_files import refused, rewrite

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (80, 2))
TIME = 1 + X[:, 0] + RNG.exponential(size=80)
LIMIT = RNG.uniform(1.5, 5, 80)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)

CONFIGURATIONS = [
    {},
    {"quantiles": [0.2, 0.4]},
    {"quantiles": [0.4]},
    {"method": "peng-huang", "time_transform": "log"},
    {"censoring": "left", "fit_intercept": False, "quantiles": (0.4, 0.6)},
    {"n_bootstrap": 4, "random_state": 0},
    {"n_bootstrap": 4, "fit_intercept": False, "quantiles": np.array([0.2, 0.4])},
    {"method": "powell", "random_state": 0, "n_bootstrap": 2},
]


def fitted(quantiles=(0.1, 0.3, 0.5), **parameters):
    known = {"censoring_time": LIMIT} if parameters.get("method") == "powell" else {}
    return LinearQuantileRegressor(quantiles, **parameters).fit(X, Y, **known)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def same(loaded, model, *, of_rows=False):
    """Predictions and coefficients have the same bits; ``of_rows``: also what is known of rows."""
    for name in ("predict_quantiles", "identified_level"):
        options = {"beyond": "nan"} if name == "predict_quantiles" else {}
        np.testing.assert_array_equal(
            getattr(loaded, name)(X, **options), getattr(model, name)(X, **options)
        )
    np.testing.assert_array_equal(
        loaded.predict_survival_function(X, return_array=True),
        model.predict_survival_function(X, return_array=True),
    )
    names = ["standard_errors_", "confidence_intervals_", "quantiles_"]
    for name in [*names, "crossing_levels_"] if of_rows else names:
        mine, theirs = getattr(loaded, name), getattr(model, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
    assert loaded.stopped_at_ == model.stopped_at_
    assert loaded.follow_up_ == model.follow_up_
    assert loaded.time_transform_ == model.time_transform_
    assert str(loaded.summary()) == str(model.summary())


@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
def test_a_loaded_model_is_the_same_model(path, parameters):
    model = fitted(**parameters)
    model.save(path)
    loaded = censquant.load_model(path)
    assert type(loaded) is LinearQuantileRegressor
    same(loaded, model)
    expected = {
        name: tuple(value) if isinstance(value, list | np.ndarray) else value
        for name, value in model.get_params().items()
    }
    assert loaded.get_params() == expected


def test_an_uncensored_model_comes_back_whole(path):
    model = LinearQuantileRegressor([0.2, 0.5]).fit(X, TIME)
    model.save(path)
    same(censquant.load_model(path), model)


def test_a_loaded_model_can_be_saved_to_the_same_bytes_and_fitted_again(path):
    model = fitted()
    model.save(path)
    content = path.read_bytes()
    loaded = censquant.load_model(path)
    loaded.save(path)
    assert path.read_bytes() == content
    same(loaded.fit(X, Y), model, of_rows=True)


def test_levels_of_training_rows_are_not_stored(path):
    model = fitted()
    assert model.crossing_levels_.shape == (80,)
    model.save(path)
    assert censquant.load_model(path).crossing_levels_ is None
    header, arrays = read_arrays(path, "model")
    assert all(80 not in array.shape for array in arrays.values())
    assert header["contents"] == [
        "smallest and largest time",
        "distinct event times (at most 1000)",
        "smallest and largest value of each feature",
        "shares of the training rows still under observation, in groups",
    ]


def test_unknown_precision_comes_back_as_nan(path):
    columns = np.column_stack((X, X.sum(axis=1)))
    with pytest.warns(censquant.exceptions.IdentifiabilityWarning):
        model = LinearQuantileRegressor([0.2], n_bootstrap=3, random_state=0).fit(columns, Y)
    model.save(path)
    assert np.isnan(model.standard_errors_).any()
    np.testing.assert_array_equal(
        censquant.load_model(path).standard_errors_, model.standard_errors_
    )


def test_column_names_come_back(path):
    frame = pd.DataFrame(X, columns=["age", "dose"])
    LinearQuantileRegressor([0.3]).fit(frame, Y).save(path)
    loaded = censquant.load_model(path)
    assert loaded.feature_names_in_.tolist() == ["age", "dose"]
    assert loaded.n_features_in_ == 2
    assert loaded.coef_table().columns.tolist() == ["intercept", "age", "dose"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
def test_a_copy_is_the_same_model(copied, parameters):
    model = fitted(**parameters)
    same(copied(model), model, of_rows=True)


def test_a_clone_has_the_parameters_and_is_not_fitted():
    model = fitted(n_bootstrap=2, method="peng-huang")
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "coef_")


def test_an_estimator_that_is_not_fitted_cannot_be_saved(path):
    with pytest.raises(
        NotFittedError, match="This LinearQuantileRegressor instance is not fitted yet"
    ):
        LinearQuantileRegressor().save(path)
    assert not path.exists()


DAMAGED = "does not hold the arrays that its model needs: it is damaged, or network= is not the"


@pytest.mark.parametrize(
    "arrays",
    [
        {"coef": np.ones((3, 1))},
        {"intercept": np.ones(1)},
        {"standard_errors": np.ones((3, 2))},
        {"confidence_intervals": np.ones((3, 3, 1))},
        {"range": np.ones((2, 1))},
        {"crossing_levels": np.ones(80)},
        {"colour": np.ones(1)},
    ],
    ids=lambda arrays: next(iter(arrays)),
)
def test_an_array_of_the_wrong_shape_is_refused(path, arrays):
    fitted(n_bootstrap=3).save(path)
    rewrite(path, arrays=arrays)
    refused(path, DAMAGED)


@pytest.mark.parametrize("name", ["coef", "intercept", "range"])
def test_a_missing_array_is_refused(path, name):
    fitted().save(path)
    rewrite(path, drop=[name])
    refused(path, DAMAGED)


@pytest.mark.parametrize("name", ["coef", "intercept", "range"])
def test_numbers_that_are_not_finite_are_refused(path, name):
    fitted().save(path)
    _, arrays = read_arrays(path, "model")
    arrays[name].flat[0] = np.inf
    rewrite(path, arrays=arrays)
    refused(path, f"holds numbers in {name!r} that are not finite.")


INCONSISTENT = "is not a consistent model file ("


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"n_features": None},
            INCONSISTENT + "TypeError: n_features must be an integer, got None)",
        ),
        ({"n_features": 3}, DAMAGED),
        ({"n_features": 10**12}, DAMAGED),
        (
            {"has_intercept": 1},
            INCONSISTENT + "TypeError: has_intercept must be True or False, got",
        ),
        ({"any_censored": None}, INCONSISTENT + "TypeError: any_censored must be True or False"),
        ({"any_censored": False}, "has an entry 'any_censored' that its arrays contradict."),
        ({"stopped_at": ...}, INCONSISTENT + "KeyError: 'stopped_at')."),
        ({"stopped_at": "x"}, INCONSISTENT + "TypeError: stopped_at must be a number, got 'x')."),
        ({"note": None}, "has an entry 'note' that is not str: None."),
        ({"quantiles": [0.5, 0.1]}, INCONSISTENT + "ValueError: quantiles must be strictly incr"),
        ({"quantiles": [0.5]}, DAMAGED),
    ],
    ids=str,
)
def test_a_description_that_is_not_consistent_is_refused(path, changes, message):
    fitted().save(path)
    rewrite(path, part={"description": changes})
    tracemalloc.start()
    refused(path, message)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_jobs": "x"}, "TypeError: n_jobs must be an integer, got 'x'"),
        ({"method": None}, "ValueError: method must be one of"),
        ({"fit_intercept": "yes"}, "TypeError: fit_intercept must be True or False, got 'yes'"),
        ({"n_bootstrap": -1}, "ValueError: n_bootstrap must be at least 0, got -1"),
        ({"step": 2}, "ValueError: step must be finite and inside (0, 1), got 2"),
    ],
    ids=str,
)
def test_parameters_of_a_wrong_kind_are_refused(path, changes, reason):
    fitted().save(path)
    rewrite(path, part={"parameters": changes})
    refused(path, f"{INCONSISTENT}{reason}")


@pytest.mark.parametrize("name", ["Surv", "load", "Checkpoint", "LinearModel", "__version__"])
def test_a_name_that_is_no_estimator_is_refused(path, name):
    fitted().save(path)
    rewrite(path, part={"class": name})
    refused(path, f"holds an estimator that is not known here: {name!r}.")
