import re
import sys

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from censquant.datasets import describe, fetch_gbsg, fetch_metabric, fetch_support, fetch_whas

FETCHERS = {
    "metabric": fetch_metabric,
    "whas": fetch_whas,
    "support": fetch_support,
    "gbsg": fetch_gbsg,
}


def write(n_features):
    """Writer of a file with three rows for training, two of them the same, and one for tests."""
    train = np.arange(3 * n_features, dtype=np.float32).reshape(3, n_features)
    train[2] = train[1]
    parts = {
        "train": (train, [4.5, 2.0, 2.0], [0, 1, 1]),
        "test": (np.full((1, n_features), 0.1, dtype=np.float32), [0.0], [1]),
    }

    def to(place):
        with h5py.File(place, "w") as file:
            for part, (x, t, e) in parts.items():
                file[f"{part}/x"] = x
                file[f"{part}/t"] = np.array(t, dtype=np.float32)
                file[f"{part}/e"] = np.array(e, dtype=np.int32)

    return to


@pytest.mark.parametrize("name", FETCHERS)
class TestEveryFile:
    @pytest.fixture
    def data(self, name, folder):
        info = describe(name)
        folder.add(info.files[0].path, write(info.n_features))
        return FETCHERS[name](return_X_y=False)

    def test_rows_for_tests_come_first_and_values_are_those_of_the_file(self, name, data):
        width = len(data.feature_names)
        assert_array_equal(data.data.to_numpy()[0], np.float64(np.float32(0.1)))
        assert_array_equal(data.data.to_numpy()[1], np.arange(width))
        assert (data.data.dtypes == np.float64).all()

    def test_an_event_of_one_was_seen(self, name, data):
        assert_array_equal(data.target["event"], [True, False, True, True])
        assert_array_equal(data.target["time"], [0.0, 4.5, 2.0, 2.0])
        assert data.censored_share == 0.25

    def test_copies_share_a_number_where_the_set_has_copies(self, name, data):
        if name in ("whas", "gbsg"):
            first, second, third, fourth = data.groups
            assert third == fourth
            assert len({first, second, third}) == 3
        else:
            assert data.groups is None

    def test_columns_are_named(self, name, data):
        assert tuple(data.data.columns) == data.feature_names
        assert len(set(data.feature_names)) == describe(name).n_features


def test_rows_that_differ_only_in_the_event_are_no_copies(folder):
    def to(place):
        with h5py.File(place, "w") as file:
            for part, event in (("train", 0), ("test", 1)):
                file[f"{part}/x"] = np.zeros((1, 6), dtype=np.float32)
                file[f"{part}/t"] = np.ones(1, dtype=np.float32)
                file[f"{part}/e"] = np.array([event], dtype=np.int32)

    folder.add("whas/whas_train_test.h5", to)
    assert len(set(fetch_whas(return_X_y=False).groups)) == 2


def test_a_missing_h5py_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    message = 'Reading HDF5 files needs h5py; install it with: pip install "censquant[data]"'
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        fetch_whas()
