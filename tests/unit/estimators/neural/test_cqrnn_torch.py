"""A torch module in place of the dense network."""

import pickle
import random
import re

import numpy as np
import pytest
import torch
from sklearn.model_selection import ShuffleSplit

import censquant
from censquant import CQRNN, CensoredQuantileRegressor, PooledQuantileRegressor
from censquant.datasets import make_norm_linear
from censquant.exceptions import ModelFileError

DATA = make_norm_linear(100, random_state=0)
X, Y = DATA.X, DATA.y
IMAGES = np.random.default_rng(0).uniform(size=(100, 1, 8, 8)) + X[:, :, None, None]


def dense(input_shape, n_outputs):
    return torch.nn.Sequential(
        torch.nn.Linear(input_shape[0], 8), torch.nn.ReLU(), torch.nn.Linear(8, n_outputs)
    )


def dropping(input_shape, n_outputs):
    return torch.nn.Sequential(
        torch.nn.Linear(input_shape[0], 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, n_outputs)
    )


def convolution(input_shape, n_outputs):
    channels, height, width = input_shape
    return torch.nn.Sequential(
        torch.nn.Conv2d(channels, 2, 3),
        torch.nn.BatchNorm2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(2 * (height - 2) * (width - 2), n_outputs),
    )


def small(**parameters):
    return CQRNN(**{"network": dense, "max_epochs": 3, "random_state": 0, **parameters})


def quantiles(model, rows=X):
    return model.predict_quantiles(rows, beyond="extrapolate")


def test_a_module_learns():
    model = small(max_epochs=60).fit(X, Y)
    median = quantiles(model)[:, 9]
    assert np.abs(median - DATA.true_quantiles([0.5])[:, 0]).mean() < 1.0
    assert model.identified_level(X).shape == (100,)


@pytest.mark.parametrize("factory", [dense, dropping])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_same_random_state_gives_the_same_bits(factory, n_jobs):
    first, second = (small(network=factory, n_members=2, n_jobs=n_jobs).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(quantiles(first), quantiles(second))
    other = small(network=factory, n_members=2, random_state=1).fit(X, Y)
    assert (quantiles(first) != quantiles(other)).any()


def test_no_global_generator_is_touched():
    before = torch.get_rng_state(), random.getstate()
    quantiles(small(network=dropping).fit(X, Y))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


def test_the_increasing_head_stands_on_any_module():
    model = small(head="increasing").fit(X, Y)
    network = model.models_[0].network
    assert (np.diff(network.predict(X)) > 0).all()


@pytest.mark.parametrize("standardize", [True, False])
def test_images_are_rows(standardize):
    model = small(network=convolution, standardize=standardize).fit(IMAGES, Y)
    assert quantiles(model, IMAGES).shape == (100, 19)
    assert model.identified_level(IMAGES).shape == (100,)
    assert np.isfinite(model.predict_remaining(IMAGES, 3.0)).all()


def test_images_have_one_mean_and_one_spread_in_all():
    scale = small(network=convolution).fit(IMAGES, Y).models_[0].feature_scale
    np.testing.assert_allclose(scale.center, [IMAGES.mean()])
    np.testing.assert_allclose(scale.scale, [IMAGES.std()])


def test_images_of_another_shape_are_refused():
    model = small(network=convolution).fit(IMAGES, Y)
    message = "X must have rows of shape (1, 8, 8) as in fit, got (1, 9, 8)."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.predict(np.zeros((2, 1, 9, 8)))


def test_images_need_a_network():
    with pytest.raises(ValueError, match="Found array with dim 4"):
        CQRNN().fit(IMAGES, Y)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_many_images_are_answered_block_by_block(monkeypatch, n_jobs):
    model = small(network=convolution, n_jobs=n_jobs).fit(IMAGES, Y)
    expected = quantiles(model, IMAGES)
    monkeypatch.setattr("censquant.estimators._reading._BLOCK_ROWS", 7)
    curve_of, sizes = CQRNN._curve_of, []
    monkeypatch.setattr(
        CQRNN, "_curve_of", lambda self, rows: sizes.append(len(rows)) or curve_of(self, rows)
    )
    # Torch predicts in single precision.
    np.testing.assert_allclose(quantiles(model, IMAGES), expected, rtol=1e-5)
    assert sorted(sizes) == [2] + 14 * [7]


def test_weights_that_are_counts_are_repeated_images():
    weight = np.arange(100) % 3
    expected = small(network=convolution).fit(
        np.repeat(IMAGES, weight, axis=0), np.repeat(Y, weight)
    )
    model = small(network=convolution).fit(IMAGES, Y, weight)
    np.testing.assert_array_equal(quantiles(model, IMAGES), quantiles(expected, IMAGES))


def test_a_pickled_module_predicts_the_same_bits():
    model = small(network=convolution).fit(IMAGES, Y)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(quantiles(twin, IMAGES), quantiles(model, IMAGES))


@pytest.mark.parametrize(
    ("factory", "rows", "parameters"),
    [
        (dense, X, {}),
        (dropping, X, {"head": "increasing", "n_members": 2}),
        (convolution, IMAGES, {"standardize": False}),
        (convolution, IMAGES, {"censoring": "left", "time_transform": "log"}),
    ],
)
def test_a_saved_module_predicts_the_same_bits(tmp_path, factory, rows, parameters):
    path = tmp_path / "model.safetensors"
    model = small(network=factory, **parameters).fit(rows, Y)
    model.save(path)
    loaded = censquant.load_model(path, network=factory)
    np.testing.assert_array_equal(quantiles(loaded, rows), quantiles(model, rows))
    np.testing.assert_array_equal(loaded.identified_level(rows), model.identified_level(rows))
    assert loaded.get_params() == model.get_params()
    assert loaded.n_features_in_ == model.n_features_in_


def test_loading_needs_the_factory(tmp_path):
    path = tmp_path / "model.safetensors"
    small().fit(X, Y).save(path)
    message = (
        f"{str(path)!r} was fitted with a network of one's own: pass the same factory as "
        "load_model(path, network=)."
    )
    with pytest.raises(ModelFileError, match=f"^{re.escape(message)}$"):
        censquant.load_model(path)


def test_loading_refuses_another_factory(tmp_path):
    path = tmp_path / "model.safetensors"
    small().fit(X, Y).save(path)
    message = (
        f"{str(path)!r} does not hold the arrays that its model needs: it is damaged, or network= "
        "is not the factory of the fit."
    )
    with pytest.raises(ModelFileError, match=f"^{re.escape(message)}$"):
        censquant.load_model(path, network=lambda shape, n: torch.nn.Linear(shape[0], n))


def test_the_built_in_network_runs_on_the_cpu_only():
    message = "device='cuda' needs network=: the built-in dense network runs on the CPU."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        CQRNN(device="cuda").fit(X, Y)


def test_the_network_must_be_a_function():
    message = "network must be a function (input_shape, n_outputs) -> torch.nn.Module, got 'cnn'."
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        CQRNN(network="cnn").fit(X, Y)


def test_the_function_must_return_a_module():
    with pytest.raises(TypeError, match=r"^network must return a torch.nn.Module, got int.$"):
        CQRNN(network=lambda shape, n: 3).fit(X, Y)


def test_the_module_must_give_one_output_a_level():
    message = "network must map 100 rows to outputs of shape (100, 19), got (100, 2)."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        small(network=lambda shape, n: torch.nn.Linear(shape[0], 2)).fit(X, Y)


@pytest.mark.parametrize("kind", [CensoredQuantileRegressor, PooledQuantileRegressor])
def test_a_pool_of_one_network_predicts_images(kind, tmp_path):
    named = [("network", small(network=convolution))]
    folds = ShuffleSplit(1, test_size=0.2, random_state=0)
    model = (
        kind(named, cv=folds)
        if kind is PooledQuantileRegressor
        else kind(candidates=named, cv=folds, random_state=0)
    )
    model.fit(IMAGES, Y)
    predicted = quantiles(model, IMAGES)
    assert predicted.shape == (100, 19)
    assert (np.diff(predicted, axis=1) >= 0).all()
    model.save(tmp_path / "model")
    loaded = censquant.load_model(tmp_path / "model", network=convolution)
    np.testing.assert_array_equal(quantiles(loaded, IMAGES), predicted)
    with pytest.raises(
        ValueError,
        match=r"^X must have rows of shape \(1, 8, 8\) as in fit, got \(1, 4, 4\)\.$",
    ):
        model.predict(IMAGES[:, :, :4, :4])
