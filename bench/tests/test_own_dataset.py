"""A user's own data as a set of the benchmark."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from censquant_bench import own_dataset


def test_each_seed_divides_own_data_differently():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), (rng.exponential(size=50), rng.random(50) < 0.7)
    dataset = own_dataset("mine", X, y, taus=[0.25, 0.5], test_share=0.4)
    data = dataset.train_test(1)
    assert data.X.shape == (30, 2)
    assert dataset.taus == (0.25, 0.5)
    assert not np.array_equal(data.X, dataset.train_test(2).X)


def test_groups_of_own_data_stay_together():
    labels = np.repeat(np.arange(10), 5)
    dataset = own_dataset("mine", labels[:, None], (np.ones(50), np.ones(50, bool)), groups=labels)
    data = dataset.train_test(3, "grouped")
    assert not set(data.X.ravel()) & set(data.X_test.ravel())


def test_groups_of_another_length_are_refused():
    with pytest.raises(
        ValueError, match=r"groups must have one label per row \(2\), got shape \(3,\)"
    ):
        own_dataset("mine", [[1.0], [2.0]], [1.0, 2.0], groups=[1, 2, 3])


@pytest.mark.parametrize("name", ["gbsg", "GBSG", "Norm linear"])
def test_names_of_the_table_are_not_free(name):
    with pytest.raises(ValueError, match="name must not be that of a set of the benchmark"):
        own_dataset(name, [[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (pd.DataFrame({"a": [1, 2], "city": ["x", "y"]}), {}, "these columns do not: city; encode"),
        ([1.0, 2.0], {}, r"X must have one row per individual, got shape \(2,\)"),
        ([[1.0], [2.0]], {"test_share": 1.5}, "test_share must be finite and inside"),
        ([[1.0], [2.0]], {"groups": [1, 1]}, "groups must hold at least two labels, got one"),
        ([[1.0], [2.0]], {"groups": ["a", None]}, "label for every row, but 1 of 2 are missing"),
        ([[1.0], [2.0]], {"groups": [1.0, np.nan]}, "label for every row, but 1 of 2 are missing"),
        ([[1.0], [2.0]], {"groups": [pd.NA, 1]}, "label for every row, but 1 of 2 are missing"),
        ([[1.0], [2.0]], {"test_share": 0.99}, "test_share=0.99 of 2 rows leaves none to fit"),
        (
            [[1.0], [2.0]],
            {"test_share": 0.6, "groups": [1, 2]},
            "test_share=0.6 of 2 groups leaves none to fit",
        ),
    ],
)
def test_own_data_that_cannot_be_used_get_a_sentence(X, options, message):
    with pytest.raises(ValueError, match=message):
        own_dataset("mine", X, [1.0, 2.0], **options)


@pytest.mark.parametrize(
    ("name", "X", "error", "message"),
    [
        (3, [[1.0], [2.0]], TypeError, "name must be text, got int"),
        (" ", [[1.0], [2.0]], ValueError, "name must not be empty"),
        ("mine", csr_array([[1.0], [2.0]]), TypeError, r"got a sparse matrix; pass X.toarray\(\)"),
    ],
)
def test_wrong_kinds_get_a_sentence(name, X, error, message):
    with pytest.raises(error, match=message):
        own_dataset(name, X, [1.0, 2.0])


def test_missing_numbers_of_pandas_are_missing_numbers():
    X = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]})
    data = own_dataset("mine", X, [1.0, 2.0, 3.0]).train_test(1)
    rows = np.vstack((data.X, data.X_test))
    assert np.isnan(rows).sum() == 1
    assert data.feature_names == ("a", "b")


def test_own_data_travel_whole_to_workers():
    own = own_dataset("mine", np.arange(20.0)[:, None], np.arange(1.0, 21.0))
    copy = pickle.loads(pickle.dumps(own))
    np.testing.assert_array_equal(copy.train_test(1).X, own.train_test(1).X)
    assert copy.fingerprint == own.fingerprint
