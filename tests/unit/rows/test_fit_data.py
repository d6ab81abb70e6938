"""The road from a user's data to rows: checked, in an order of their content, weights as copies."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array

from censquant._rows._fit_data import FitData

X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 5.0], [7.0, 4.0]])
Y = ([4.0, 2.0, 9.0, 6.0], [True, False, True, True])


def read(**options):
    return FitData.read(X, Y, **options)


@pytest.mark.parametrize(
    "table", [X, X.tolist(), pd.DataFrame(X, columns=["a", "b"]), csc_array(X)]
)
def test_rows_of_any_table_can_be_taken(table):
    rows = FitData.read(table, Y, groups=list("uuvv")).take(np.array([2, 0]))
    assert rows.target.time.tolist() == [9.0, 4.0]
    assert rows.source.tolist() == [2, 0]
    assert rows.groups.tolist() == ["v", "u"]
    taken = rows.x.toarray() if hasattr(rows.x, "toarray") else np.asarray(rows.x)
    np.testing.assert_array_equal(taken, X[[2, 0]])


def test_all_rows_in_their_order_are_not_copied():
    data = read()
    assert data.take(np.arange(4)) is data


def test_the_order_of_arranged_rows_is_that_of_their_content():
    shuffle = np.array([2, 0, 3, 1])
    one = read().arranged()
    other = FitData.read(X[shuffle], (np.array(Y[0])[shuffle], np.array(Y[1])[shuffle])).arranged()
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.target.time, other.target.time)
    np.testing.assert_array_equal(one.source, shuffle[other.source])


def test_whole_weights_are_copies_and_rows_without_weight_are_left_out():
    rows = read(sample_weight=[2, 1, 0, 1]).arranged()
    assert sorted(rows.source.tolist()) == [0, 0, 1, 3]
    assert rows.equal_weights
    rows = read(sample_weight=[0.5, 1.0, 0.0, 1.5]).arranged()
    assert dict(zip(rows.source.tolist(), rows.weight.tolist(), strict=True)) == {
        0: 0.5,
        1: 1,
        3: 1.5,
    }


def test_features_can_be_left_to_those_who_sort_them():
    rows = read().arranged(features=False)
    assert rows.x.shape == (4, 0)
    np.testing.assert_array_equal(X[rows.source], read().arranged().x)


def test_known_censoring_times_stay_with_their_rows():
    limit = np.array([5.0, 2.0, 10.0, 7.0])
    rows = read(censoring_time=limit).arranged()
    np.testing.assert_array_equal(rows.censoring_time, limit[rows.source])


def test_left_censored_times_are_mirrored_on_the_timeline_alone():
    rows = read(left=True)
    assert rows.timeline.time.tolist() == [-4.0, -2.0, -9.0, -6.0]
    assert rows.follow_up == (2.0, 9.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 2]}, r"^groups must have one label for each of the 4 rows of X, got shape"),
        (
            {"sample_weight": [1.0]},
            r"^sample_weight must have one value for each row, got 1",
        ),
    ],
)
def test_what_does_not_fit_the_rows_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        read(**options)
