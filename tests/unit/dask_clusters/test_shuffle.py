"""Orders of rows that are computed place by place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from censquant.dask._shuffle import shuffled


@given(n=st.integers(1, 500), key=st.integers(0, 2**64 - 1), cut=st.floats(0, 1))
def test_parts_of_an_order_have_every_row_once(n, key, cut):
    middle = int(cut * n)
    parts = np.concatenate((shuffled(0, middle, n, key), shuffled(middle, n, n, key)))
    assert sorted(parts) == list(range(n))


def test_a_part_does_not_depend_on_the_others():
    whole = shuffled(0, 1_000, 1_000, key=5)
    np.testing.assert_array_equal(shuffled(300, 400, 1_000, key=5), whole[300:400])


def test_another_key_is_another_order():
    orders = [shuffled(0, 1_000, 1_000, key) for key in (1, 2)]
    assert (orders[0] == orders[1]).mean() < 0.02


@pytest.mark.parametrize("n", [1_000, 1_025, 4_096])
def test_the_order_looks_random(n):
    places = np.array([shuffled(0, n, n, key) for key in range(40)])
    # Means of places, and the correlation of neighbours, within five standard errors.
    error = n / np.sqrt(12 * 40)
    assert np.abs(places.mean(axis=0) - (n - 1) / 2).max() < 5 * error
    neighbours = np.corrcoef(places[:, :-1].ravel(), places[:, 1:].ravel())[0, 1]
    assert abs(neighbours) < 5 / np.sqrt(places.size)
