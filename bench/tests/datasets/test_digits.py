import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from censquant_bench.datasets import fetch_mnist, fetch_survmnist

MEANS = np.array([1.125, 0.225, 0.525, 0.5, 0.475, 0.8, 0.2, 1.1, 0.175, 1.075])
VARIANCES = np.array([0.1, 0.5, 0.1, 0.2, 0.2, 0.2, 0.3, 0.1, 0.4, 0.6]) / 100


def add(folder, prefix, digits):
    """Files of images whose pixels count up from the digit."""
    digits = np.asarray(digits)
    images = (digits[:, None] + np.arange(784)).reshape(-1, 28, 28) % 256
    folder.add_idx(f"mnist/{prefix}-images-idx3-ubyte.gz", images)
    folder.add_idx(f"mnist/{prefix}-labels-idx1-ubyte.gz", digits)
    return images


def test_images_have_a_channel_and_digits_are_numbers(folder):
    images = add(folder, "train", [7, 0])
    X, digits = fetch_mnist(as_frame=False)
    assert X.dtype == digits.dtype == np.uint8
    assert_array_equal(X, images[:, None])
    assert_array_equal(digits, [7, 0])


def test_a_frame_has_one_column_a_pixel(folder):
    images = add(folder, "train", [7, 0])
    X, _ = fetch_mnist()
    assert X.shape == (2, 784)
    assert X.loc[0, "pixel_3_5"] == images[0, 3, 5]


def test_test_images_are_read_from_their_own_files(folder):
    add(folder, "t10k", [4])
    assert_array_equal(fetch_mnist(subset="test")[1], [4])


def test_images_can_be_written_to(folder):
    add(folder, "train", [1])
    X, digits = fetch_mnist(as_frame=False)
    X[0], digits[0] = 0, 2
    assert X.sum() == 0


def test_a_target_of_digits_has_no_censoring(folder):
    add(folder, "train", [1])
    data = fetch_mnist(return_X_y=False, as_frame=False)
    assert data.censored_share == 0.0
    assert data.groups is None


def test_an_unknown_subset_is_refused():
    message = "subset must be one of 'train', 'test', got 'all'."
    with pytest.raises(ValueError, match=re.escape(message)):
        fetch_mnist(subset="all")


def test_times_have_the_mean_and_the_variance_of_their_digit(folder):
    digits = np.repeat(np.arange(10), 400)
    add(folder, "train", digits)
    _, y = fetch_survmnist(random_state=0, as_frame=False)
    assert y["event"].all()
    times = y["time"].reshape(10, 400)
    errors = (times.mean(axis=1) - MEANS) / np.sqrt(VARIANCES / 400)
    assert np.abs(errors).max() < 4
    # Six standard errors of a nearly normal sample's variance; the gamma laws here are skewed.
    assert_allclose(times.var(axis=1) / VARIANCES, 1, atol=6 * np.sqrt(2 / 400))


def test_the_seed_decides_the_times(folder):
    add(folder, "train", [3, 8])
    first, second, other = (fetch_survmnist(random_state=seed)[1] for seed in (1, 1, 2))
    assert_array_equal(first, second)
    assert (first["time"] != other["time"]).all()


def test_images_of_drawn_times_are_those_of_mnist(folder):
    add(folder, "train", [3, 8])
    data = fetch_survmnist(random_state=0, return_X_y=False)
    assert data.name == "survmnist"
    assert_array_equal(data.data.to_numpy(), fetch_mnist()[0].to_numpy())
