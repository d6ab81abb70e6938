"""Estimators inside estimators: saved as data in the same file."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import censquant
from censquant import CQRNN, LinearQuantileRegressor
from censquant._files import read_arrays
from censquant._storage._codec import (
    Array,
    check_arrays,
    from_part,
    parameters_of,
    restored_parameters,
    to_part,
)
from censquant._storage._parts import Decoder, Encoder, Part, UnstorableError, expect
from censquant._storage._persistence import save_estimator
from censquant.exceptions import ModelFileError
from model_files import refused, rewrite

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.uniform(size=60), "sex": RNG.choice(["f", "m"], size=60)})
TIME = 1 + FRAME["age"].to_numpy() + RNG.exponential(size=60)
LIMIT = RNG.uniform(1, 5, 60)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)


class Steps(Pipeline):
    """A pipeline whose steps are parts of its file."""

    def _to_part(self):
        parameters, parts = parameters_of(self)
        return Part("Steps", parameters, parts=parts)

    @classmethod
    def _from_part(cls, part, network):
        parameters = restored_parameters(part, network)
        return cls(**{**parameters, "steps": list(parameters["steps"])})


class Pool(BaseEstimator):
    """An estimator with estimators among its parameters and in its fitted state."""

    def __init__(self, base=None, others=(), options=None, random_state=None):
        self.base = base
        self.others = others
        self.options = options
        self.random_state = random_state

    def fit(self, X, y):
        self.fitted_ = LinearQuantileRegressor([0.2]).fit(X, y)
        self.weight_ = np.array([0.5])
        return self

    def _to_part(self):
        parameters, parts = parameters_of(self)
        parts["fitted"] = to_part(self.fitted_)
        return Part("Pool", parameters, {}, {"weight": self.weight_}, parts, ("a weight",))

    @classmethod
    def _from_part(cls, part, network):
        pool = cls(**restored_parameters(part, network))
        pool.fitted_ = from_part(part.parts["fitted"], network)
        pool.weight_ = part.arrays["weight"]
        return pool


@pytest.fixture(autouse=True)
def _exported(monkeypatch):
    monkeypatch.setattr(censquant, "__all__", [*censquant.__all__, "Steps", "Pool"])
    monkeypatch.setattr(censquant, "Steps", Steps, raising=False)
    monkeypatch.setattr(censquant, "Pool", Pool, raising=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model"


def pipeline():
    columns = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["sex"]))
    model = CQRNN([0.3, 0.6], hidden_layer_sizes=(3,), max_epochs=2, random_state=0)
    return Steps([("columns", columns), ("model", model)]).fit(FRAME, Y)


def test_a_pipeline_with_categorical_columns_predicts_the_same_bits(path):
    model = pipeline()
    save_estimator(model, path)
    loaded = censquant.load_model(path)
    assert type(loaded) is Steps
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    assert loaded["model"].history_ == model["model"].history_
    save_estimator(loaded, path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()


def test_arrays_of_parts_have_the_path_of_their_part_before_their_name(path):
    save_estimator(pipeline(), path)
    header, arrays = read_arrays(path, "model")
    assert "steps.1.1/member0.parameters" in arrays
    assert "steps.0.1/transformers_.0.1/mean_" in arrays
    assert header["model"]["parameters"]["steps"] == [
        ["columns", {"$part": "steps.0.1"}],
        ["model", {"$part": "steps.1.1"}],
    ]
    assert "steps.1.1: losses of each epoch" in header["contents"]
    assert "steps.0.1/transformers_.1.1: categories of each feature" in header["contents"]


def test_estimators_among_parameters_come_back_fitted_or_not(path):
    fitted = LinearQuantileRegressor([0.3]).fit(FRAME[["age"]], Y)
    pool = Pool(
        base=CQRNN((0.2, 0.7), n_members=3),
        others=(fitted, StandardScaler()),
        options={"deep": LinearQuantileRegressor(method="powell"), "rate": np.nan, 3: (1, 2)},
    ).fit(FRAME[["age"]], Y)
    save_estimator(pool, path)
    loaded = censquant.load_model(path)
    assert loaded.base.get_params() == pool.base.get_params()
    assert not hasattr(loaded.base, "quantiles_")
    np.testing.assert_array_equal(
        loaded.others[0].predict_quantiles(FRAME[["age"]]),
        fitted.predict_quantiles(FRAME[["age"]]),
    )
    assert str(loaded.others[1]) == "StandardScaler()"
    assert loaded.options["deep"].method == "powell"
    assert np.isnan(loaded.options["rate"])
    assert loaded.options[3] == (1, 2)
    np.testing.assert_array_equal(loaded.fitted_.coef_, pool.fitted_.coef_)
    np.testing.assert_array_equal(loaded.weight_, pool.weight_)


def test_a_generator_among_unstored_parameters_is_none_and_elsewhere_refused(path):
    fitted = Pool(random_state=np.random.default_rng(0)).fit(FRAME[["age"]], Y)
    save_estimator(fitted, path)
    assert censquant.load_model(path).random_state is None
    message = (
        "Pool cannot be saved: its parameter options is or contains <built-in function len>, and a "
        "model file holds no code and no objects of other libraries."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        save_estimator(fitted.set_params(options={"a": [len]}), path)


def test_an_estimator_of_others_inside_ours_is_refused(path):
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match=r"^LinearRegression cannot be saved: a model file holds"):
        save_estimator(Pool(base=LinearRegression()).fit(FRAME[["age"]], Y), path)


def test_damage_deep_inside_is_refused(path):
    save_estimator(pipeline(), path)
    rewrite(path, arrays={"steps.1.1/member0.parameters": np.zeros(3, dtype=np.float32)})
    refused(path, "does not hold the arrays that its model needs")


@pytest.mark.parametrize("name", ["steps.9/a", "a/b/c", "/", "steps.1.1/x/y"])
def test_arrays_of_no_part_are_refused(path, name):
    save_estimator(pipeline(), path)
    rewrite(path, arrays={name: np.zeros(1)})
    refused(path, "has arrays of a part ")


def test_parts_that_nest_without_end_are_refused(path):
    save_estimator(pipeline(), path)
    tree = inner = {"class": "Steps", "fitted": True, "parameters": {}, "description": {}}
    for _ in range(40):
        inner["parts"] = {"a": {**tree}}
        inner = inner["parts"]["a"]
    inner["parts"] = {}
    rewrite(path, model=tree)
    refused(path, "has parts inside parts to a depth of more than 32.")


def test_names_with_a_slash_are_refused_when_saving():
    part = Part("CQRNN", {}, arrays={"a/b": np.zeros(1)})
    message = "Names in a model file must have no slash, got 'a/b'."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        part.flat_arrays()


PLAIN = [
    (None, None),
    (True, True),
    (np.bool_(False), False),
    (np.int32(3), 3),
    (np.float32(0.5), 0.5),
    (2**100, 2**100),
    ("é", "é"),
    (np.str_("a"), "a"),
    ([1, [2.5]], (1, (2.5,))),
    (np.array([[1, 2]]), ((1, 2),)),
    (np.array(0.5), 0.5),
    (np.array(["a", None], dtype=object), ("a", None)),
    ({"a": (1,)}, {"a": (1,)}),
    ({"$a": 1}, {"$a": 1}),
    ({1: 2, "b": 3}, {1: 2, "b": 3}),
    ({}, {}),
    (-np.inf, -np.inf),
]


@pytest.mark.parametrize(("value", "expected"), PLAIN, ids=str)
def test_plain_values_come_back(value, expected):
    encoded = Encoder(to_part)(value, "x")
    text = json.dumps(encoded, allow_nan=False)
    assert Decoder(Part("", {}), from_part)(json.loads(text)) == expected


@pytest.mark.parametrize("value", [object(), print, {1, 2}, 10**40, b"a", CQRNN, 1j, np.array(1j)])
def test_values_that_no_file_can_hold_are_refused(value):
    with pytest.raises(UnstorableError):
        Encoder(to_part)([value], "x")


def test_numbers_that_may_be_unknown_may_be_nan():
    arrays = {"a": np.array([np.nan])}
    check_arrays(arrays, {"a": Array("f8", (1,), finite=False)})
    with pytest.raises(ModelFileError, match=r"^holds numbers in 'a' that are not finite\.$"):
        check_arrays(arrays, {"a": Array("f8", (1,))})


def test_a_refusal_shows_no_more_than_the_beginning_of_a_nested_value():
    value = ["x" * 500, {"a": {str(i): {"b" * 90: ["c" * 90] * 9} for i in range(9)}}] * 5
    with pytest.raises(ModelFileError) as caught:
        expect("parts", value, dict)
    text = str(caught.value)
    assert text.startswith("has an entry 'parts' that is not dict: ['xxx")
    assert text.endswith("....")
    assert len(text) < 300
