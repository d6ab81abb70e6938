"""Fitted linear models as files, pickles and clones."""

import copy
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import censquant
from censquant import LinearCQR
from censquant.exceptions import ModelFileError

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
    return LinearCQR(quantiles, **parameters).fit(X, Y, **known)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def same(loaded, model):
    for name in ("predict_quantiles", "identified_level"):
        options = {"beyond": "nan"} if name == "predict_quantiles" else {}
        np.testing.assert_array_equal(
            getattr(loaded, name)(X, **options), getattr(model, name)(X, **options)
        )
    np.testing.assert_array_equal(
        loaded.predict_survival_function(X, return_array=True),
        model.predict_survival_function(X, return_array=True),
    )
    for name in ("crossing_levels_", "standard_errors_", "confidence_intervals_", "quantiles_"):
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
    loaded = censquant.load(path)
    assert type(loaded) is LinearCQR
    same(loaded, model)
    expected = {
        name: tuple(value) if isinstance(value, list | np.ndarray) else value
        for name, value in model.get_params().items()
    }
    assert loaded.get_params() == expected


def test_an_uncensored_model_comes_back_whole(path):
    model = LinearCQR([0.2, 0.5]).fit(X, TIME)
    model.save(path)
    same(censquant.load(path), model)


def test_a_loaded_model_can_be_saved_to_the_same_bytes_and_fitted_again(path):
    model = fitted()
    model.save(path)
    content = path.read_bytes()
    loaded = censquant.load(path)
    loaded.save(path)
    assert path.read_bytes() == content
    same(loaded.fit(X, Y), model)


def test_column_names_come_back(path):
    frame = pd.DataFrame(X, columns=["age", "dose"])
    LinearCQR([0.3]).fit(frame, Y).save(path)
    loaded = censquant.load(path)
    assert loaded.feature_names_in_.tolist() == ["age", "dose"]
    assert loaded.n_features_in_ == 2
    assert loaded.coef_table().columns.tolist() == ["intercept", "age", "dose"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
def test_a_copy_is_the_same_model(copied, parameters):
    model = fitted(**parameters)
    same(copied(model), model)


def test_a_clone_has_the_parameters_and_is_not_fitted():
    model = fitted(n_bootstrap=2, method="peng-huang")
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "coef_")


def test_an_estimator_that_is_not_fitted_cannot_be_saved(path):
    with pytest.raises(NotFittedError, match="This LinearCQR instance is not fitted yet"):
        LinearCQR().save(path)
    assert not path.exists()


def rewrite(path, *, drop=(), arrays=None, **changes):
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["censquant"])
        content = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    content = {k: v for k, v in {**content, **(arrays or {})}.items() if k not in drop}
    header = {k: v for k, v in {**header, **changes}.items() if v is not ...}
    save_file(content, path, metadata={"censquant": json.dumps(header)})


def refused(path, message):
    with pytest.raises(ModelFileError, match=f"^{re.escape(repr(str(path)) + ' ' + message)}"):
        censquant.load(path)


DAMAGED = "does not hold the arrays that its model needs: it is damaged, or network= is not the"


@pytest.mark.parametrize(
    "arrays",
    [
        {"coef": np.ones((3, 1))},
        {"intercept": np.ones(1)},
        {"standard_errors": np.ones((3, 2))},
        {"confidence_intervals": np.ones((3, 3, 1))},
        {"follow_up.coefficients": np.ones((13, 2))},
        {"follow_up.low": np.ones(1)},
        {"crossing_levels": np.ones((2, 2))},
        {"colour": np.ones(1)},
    ],
    ids=lambda arrays: next(iter(arrays)),
)
def test_an_array_of_the_wrong_shape_is_refused(path, arrays):
    fitted(n_bootstrap=3).save(path)
    rewrite(path, arrays=arrays)
    refused(path, DAMAGED)


@pytest.mark.parametrize("name", ["coef", "intercept", "follow_up.high"])
def test_a_missing_array_is_refused(path, name):
    fitted().save(path)
    rewrite(path, drop=[name])
    refused(path, DAMAGED)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_features": None}, "TypeError: "),
        ({"stopped_at": ...}, "KeyError: 'stopped_at'"),
        ({"quantiles": [0.5, 0.1]}, "ValueError: quantiles must be strictly increasing"),
    ],
)
def test_a_header_that_is_not_consistent_is_refused(path, changes, reason):
    fitted().save(path)
    rewrite(path, **changes)
    refused(path, f"is not a consistent model file ({reason}")


@pytest.mark.parametrize("name", ["Surv", "load", "Checkpoint", "LinearModel", "__version__"])
def test_a_name_that_is_no_estimator_is_refused(path, name):
    fitted().save(path)
    rewrite(path, **{"class": name})
    refused(path, f"holds an estimator that is not known here: {name!r}.")
