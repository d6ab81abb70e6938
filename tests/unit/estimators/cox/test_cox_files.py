"""Fitted Cox models as files, pickles and copies."""

import copy
import pickle

import numpy as np
import pytest

import censquant
from censquant import CoxQuantileRegressor
from censquant._files import read_arrays
from model_files import refused, rewrite

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
TIME = RNG.exponential(np.exp(-X[:, 0]))
LIMIT = RNG.uniform(0.2, 3.0, 80)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)

CONFIGURATIONS = [
    {},
    {"penalty": 0, "ties": "breslow", "quantiles": (0.2, 0.4)},
    {"censoring": "left"},
]


def fitted(**parameters):
    return CoxQuantileRegressor(**{"random_state": 0, **parameters}).fit(X, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def same(twin, model):
    for ask in (
        lambda m: m.predict_quantiles(X, beyond="nan"),
        lambda m: m.identified_level(X),
        lambda m: m.log_likelihood(X, Y),
        lambda m: m.predict_restricted_mean(X),
        lambda m: m.coef_,
        lambda m: m.baseline_times_,
        lambda m: m.baseline_cumulative_hazard_,
    ):
        np.testing.assert_array_equal(ask(twin), ask(model))
    assert twin.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(twin._baseline.time, model._baseline.time)
    assert twin.get_params() == model.get_params()


@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
def test_a_loaded_model_is_the_same_model(path, parameters):
    model = fitted(**parameters)
    model.save(path)
    content = path.read_bytes()
    loaded = censquant.load_model(path)
    same(loaded, model)
    loaded.save(path)
    assert path.read_bytes() == content


def test_a_model_without_censoring_comes_back(path):
    model = CoxQuantileRegressor().fit(X, TIME)
    model.save(path)
    same(censquant.load_model(path), model)


@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"]
)
def test_a_copy_is_the_same_model(copied, parameters):
    model = fitted(**parameters)
    same(copied(model), model)


def test_the_file_says_what_it_tells_of_the_training_data(path):
    fitted().save(path)
    header, arrays = read_arrays(path, "model")
    assert header["contents"] == [
        "smallest and largest time",
        "distinct event times (at most 1000)",
        "mean of each feature, and the limits of its effect",
        "all distinct event times, with the baseline hazard at each",
        "smallest and largest value of each feature",
        "shares of the training rows still under observation, in groups",
    ]
    assert arrays["baseline.time"].shape == (1 + Y[1].sum(),)


DAMAGED = "does not hold the arrays that its model needs: it is damaged, or network= is not the"


@pytest.mark.parametrize(
    "arrays",
    [
        {"coef": np.ones(1)},
        {"center": np.ones((2, 1))},
        {"limits": np.ones(2)},
        {"baseline.hazard": np.ones(3)},
        {"pieces.edge": np.ones(9)},
        {"pieces.rate": np.ones(2, np.float32)},
        {"colour": np.ones(1)},
    ],
    ids=lambda arrays: next(iter(arrays)),
)
def test_an_array_of_the_wrong_shape_is_refused(path, arrays):
    fitted().save(path)
    rewrite(path, arrays=arrays)
    refused(path, DAMAGED)


ARRAYS = (
    "coef",
    "center",
    "limits",
    "baseline.time",
    "baseline.hazard",
    "pieces.edge",
    "pieces.rate",
)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_missing_array_is_refused(path, name):
    fitted().save(path)
    rewrite(path, drop=[name])
    refused(path, DAMAGED)


@pytest.mark.parametrize("name", ARRAYS)
def test_numbers_that_are_not_finite_are_refused(path, name):
    fitted().save(path)
    _, arrays = read_arrays(path, "model")
    arrays[name].flat[0] = np.nan
    rewrite(path, arrays=arrays)
    refused(path, f"holds numbers in {name!r} that are not finite.")


def turned(array):
    return array[::-1].copy()


ORDER = "holds a baseline or limits that are not in order."
NEGATIVE = "holds a hazard that is not positive or falls."


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("baseline.time", turned, ORDER),
        ("baseline.time", np.zeros_like, ORDER),
        ("pieces.edge", turned, ORDER),
        ("limits", turned, ORDER),
        ("baseline.hazard", turned, NEGATIVE),
        ("baseline.hazard", np.zeros_like, NEGATIVE),
        ("baseline.hazard", lambda array: array + 1.0, NEGATIVE),
        ("pieces.rate", np.zeros_like, NEGATIVE),
    ],
)
def test_a_baseline_that_is_none_is_refused(path, name, change, message):
    fitted().save(path)
    _, arrays = read_arrays(path, "model")
    rewrite(path, arrays={name: change(arrays[name])})
    refused(path, message)


def test_a_baseline_without_times_is_refused(path):
    fitted().save(path)
    empty = {name: np.zeros(0) for name in ("baseline.time", "baseline.hazard")}
    rewrite(path, arrays=empty)
    refused(path, ORDER)


INCONSISTENT = "is not a consistent model file ("


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"description": {"n_iter": -1}}, "ValueError: n_iter must be at least 0, got -1"),
        ({"parameters": {"penalty": -1}}, "ValueError: penalty must be finite and inside [0, inf"),
        ({"parameters": {"ties": "exact"}}, "ValueError: ties must be one of 'efron', 'breslow'"),
    ],
    ids=str,
)
def test_wrong_entries_are_refused(path, part, message):
    fitted().save(path)
    rewrite(path, part=part)
    refused(path, INCONSISTENT + message)


def test_another_number_of_features_is_refused(path):
    fitted().save(path)
    rewrite(path, part={"description": {"n_features": 3}})
    refused(path, DAMAGED)
