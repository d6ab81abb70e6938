"""Differences of runs with the same seed."""

import math

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from censquant_bench.reporting import PairedDifference, paired_difference

# Two-sided 95 % quantile of Student's t with three degrees of freedom, from a printed table.
T_3 = 3.1824


def series(*values):
    return pd.Series(values, index=range(len(values)), dtype=float)


def test_the_interval_is_the_t_interval_of_the_paired_differences():
    # Differences 1, 2, 3, 2: mean 2, variance 2 / 3.
    difference = paired_difference(series(1, 1, 1, 1), series(2, 3, 4, 3))
    assert (difference.mean, difference.n_pairs) == (2.0, 4)
    assert_allclose(difference.half_width, T_3 * math.sqrt(2 / 3 / 4), rtol=1e-4)


def test_what_is_common_to_a_pair_does_not_widen_the_interval():
    apart = paired_difference(series(1, 100, 1000), series(2, 101, 1001))
    assert (apart.mean, apart.half_width) == (1.0, 0.0)


def test_only_seeds_that_both_have_are_paired():
    first = pd.Series([1.0, 2.0, 3.0], index=[1, 2, 3])
    second = pd.Series([9.0, 4.0, math.nan], index=[7, 2, 3])
    difference = paired_difference(first, second)
    assert (difference.mean, difference.n_pairs) == (2.0, 1)
    assert math.isnan(difference.half_width)


def test_no_pair_has_no_difference():
    difference = paired_difference(series(1.0), pd.Series([1.0], index=[5]))
    assert (difference.n_pairs, difference.better("tqmse")) == (0, "unknown")
    assert str(difference) == "–"


def test_an_infinite_score_has_no_interval():
    difference = paired_difference(series(1, 1), series(2, math.inf))
    assert difference.mean == math.inf
    assert math.isnan(difference.half_width)


@pytest.mark.parametrize(
    ("mean", "metric", "better"),
    [
        (1.0, "tqmse", "first"),
        (-1.0, "tqmse", "second"),
        (1.0, "cindex", "second"),
        (-1.0, "cindex", "first"),
        (0.5, "tqmse", "neither"),
        (0.4, "cindex", "neither"),
    ],
)
def test_the_better_one_follows_the_direction_of_the_metric(mean, metric, better):
    assert PairedDifference(mean, 0.5, 10).better(metric) == better


def test_the_standard_error_of_a_difference_is_its_half_width_over_the_t_quantile():
    assert_allclose(PairedDifference(0.5, T_3, 4).standard_error, 1.0, rtol=1e-4)
    assert math.isnan(PairedDifference(0.5, math.nan, 1).standard_error)
