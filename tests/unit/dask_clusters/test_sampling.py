"""Samples of rows and of groups."""

import numpy as np
import pandas as pd
import pytest

from censquant.dask._reading import Table
from censquant.dask._sampling import drawn, joined, share_of
from censquant.survival import Target


def table(values, groups=None):
    values = np.asarray(values, dtype=float)
    return Table(
        pd.DataFrame({"a": values}),
        Target(values, np.ones(len(values), bool)),
        np.ones(len(values)),
        None if groups is None else np.asarray(groups).astype(str),
    )


def sample(tables, most, seed=0):
    n = sum(map(len, tables))
    share = share_of(most, n, by_groups=tables[0].groups is not None)
    return joined([drawn(t, k, share, seed) for k, t in enumerate(tables)], most, share).table


def test_a_sample_has_the_size_that_was_asked_for_and_columns_that_belong_together():
    tables = [table(range(0)), table(range(5_000)), table(range(5_000, 5_010))]
    found = sample(tables, 100)
    assert len(found) == 100
    np.testing.assert_array_equal(found.X["a"], found.target.time)
    assert len(set(found.target.time)) == 100


def test_fewer_rows_than_asked_for_are_all_taken():
    assert sorted(sample([table([1, 2]), table([3])], 10).target.time) == [1, 2, 3]


def test_every_row_has_the_same_chance():
    tables = [table(range(20)), table(range(20, 40))]
    counts = np.zeros(40)
    for seed in range(500):
        counts[sample(tables, 10, seed).target.time.astype(int)] += 1
    assert np.abs(counts - 125).max() < 5 * np.sqrt(125 * 0.75)


def test_groups_are_taken_whole_from_all_partitions():
    groups = np.arange(2_000) % 100
    tables = [table(range(1_000), groups[:1_000]), table(range(1_000, 2_000), groups[1_000:])]
    found = sample(tables, 205)
    labels, counts = np.unique(found.groups, return_counts=True)
    assert set(counts) == {20}
    assert len(labels) == 10


def test_one_group_larger_than_the_sample_is_taken_whole():
    for seed in range(5):
        parts = [table(range(30), np.arange(30) % 2), table(range(30, 60), np.zeros(30, int))]
        found = sample(parts, 10, seed)
        assert len(found) == {"0": 45, "1": 15}[found.groups[0]]
        assert len(set(found.groups)) == 1


@pytest.mark.parametrize("by_groups", [True, False])
def test_the_share_is_never_more_than_all(by_groups):
    assert share_of(100, 50, by_groups=by_groups) == 1.0
    assert 0.01 < share_of(100, 10_000, by_groups=by_groups) < 0.02
