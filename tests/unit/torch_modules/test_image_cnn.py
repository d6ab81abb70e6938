import re

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import censquant
from censquant import CQRNN, LogNormalNN, SequentialGridNN
from censquant.torch import image_cnn


def test_the_layers_are_those_of_the_paper():
    module = image_cnn((1, 28, 28), 19)
    convolutions = [layer for layer in module if isinstance(layer, torch.nn.Conv2d)]
    assert [(c.out_channels, c.kernel_size) for c in convolutions] == [
        (64, (5, 5)),
        (128, (5, 5)),
        (256, (3, 3)),
    ]
    assert module[-1].in_features == 256 * 2 * 2
    assert sum(isinstance(layer, torch.nn.Dropout2d) for layer in module) == 2


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 20, 31)])
def test_other_image_sizes_work_from_sixteen_pixels_on(shape):
    assert image_cnn(shape, 4)(torch.zeros(2, *shape)).shape == (2, 4)


@pytest.mark.parametrize("shape", [(1, 15, 28), (28, 28), (5,)])
def test_other_shapes_are_refused(shape):
    message = (
        "image_cnn needs rows of shape (channels, height, width) with at least 16 x 16 pixels, "
        f"got {shape}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        image_cnn(shape, 3)


@pytest.fixture(scope="module")
def digits():
    """Handwritten digits, doubled in size, whose time depends on the digit; half are censored."""
    images, labels = load_digits(return_X_y=True)
    few = labels < 3
    X = np.kron(images[few].reshape(-1, 1, 8, 8) / 16, np.ones((2, 2)))
    rng = np.random.default_rng(0)
    target = rng.gamma(50, (1 + 2 * labels[few]) / 50)
    censoring = rng.uniform(0, 8, size=len(target))
    y = (np.minimum(target, censoring), target <= censoring)
    return X, y, labels[few]


def test_images_are_fitted_and_every_layer_is_trained(digits):
    X, y, labels = digits
    model = CQRNN(
        [0.25, 0.5, 0.75],
        network=image_cnn,
        learning_rate=0.001,
        max_epochs=8,
        batch_size=64,
        random_state=0,
    )
    model.fit(X, y)
    median = model.predict_quantiles(X, [0.5], beyond="extrapolate")[:, 0]
    means = [median[labels == digit].mean() for digit in range(3)]
    np.testing.assert_allclose(means, [1, 3, 5], atol=0.7)
    fresh = CQRNN(
        [0.25, 0.5, 0.75], network=image_cnn, max_epochs=1, learning_rate=1e-12, random_state=0
    ).fit(X, y)
    for name, value in model.models_[0].network.state().items():
        if name.startswith("module."):
            assert np.abs(value - fresh.models_[0].network.state()[name]).max() > 1e-4


@pytest.mark.parametrize("estimator", [LogNormalNN, SequentialGridNN])
def test_other_methods_take_images_too(digits, estimator, tmp_path):
    X, (time, event), _ = digits
    model = estimator([0.25, 0.75], network=image_cnn, max_epochs=1, random_state=0)
    model.fit(X[:64], (time[:64], event[:64]))
    predicted = model.predict_quantiles(X[:5], beyond="extrapolate")
    assert predicted.shape == (5, 2)
    model.save(tmp_path / "model")
    loaded = censquant.load_model(tmp_path / "model", network=image_cnn)
    np.testing.assert_array_equal(loaded.predict_quantiles(X[:5], beyond="extrapolate"), predicted)
