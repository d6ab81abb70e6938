"""Mean ranks of methods over data sets, and their figure."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import friedmanchisquare

from censquant_bench import MethodRanks, plot_critical_differences, rank_methods

SCORES = np.random.default_rng(0).normal(size=(12, 4)) + np.array([0.0, 0.2, 2.0, 4.0])


@pytest.mark.parametrize(
    ("n_methods", "quantile"),
    # Table 5 (a) of Demsar (2006), alpha = 0.05.
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)],
)
def test_the_critical_difference_is_the_published_one(n_methods, quantile):
    scores = np.random.default_rng(0).normal(size=(14, n_methods))
    expected = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert_allclose(rank_methods(scores).critical_difference, expected, rtol=5e-4)


def test_ranks_begin_with_the_lowest_score_unless_higher_is_better():
    low, high = rank_methods(SCORES), rank_methods(SCORES, higher_is_better=True)
    assert_allclose(low.mean_ranks + high.mean_ranks, 5.0)
    assert low.mean_ranks[3] > low.mean_ranks[0]
    assert_allclose(low.mean_ranks, pd.DataFrame(SCORES).rank(axis=1).mean())


def test_the_p_value_is_that_of_the_test_of_friedman():
    assert_allclose(rank_methods(SCORES).p_value, friedmanchisquare(*SCORES.T).pvalue)


def test_equal_scores_are_no_evidence():
    found = rank_methods(np.ones((5, 3)))
    assert found.p_value == 1.0
    assert_array_equal(found.mean_ranks, 2.0)
    assert found.groups == [("1", "2", "3")]


def test_groups_hold_methods_of_which_no_two_are_told_apart():
    ranks = MethodRanks(("d", "a", "b", "c"), np.array([4.0, 1.0, 1.8, 2.7]), 10, 1.0, 0.0, 0.05)
    assert ranks.groups == [("a", "b"), ("b", "c")]
    assert ranks.order.tolist() == [1, 2, 3, 0]


def test_a_group_inside_another_is_not_named():
    ranks = MethodRanks(("a", "b", "c"), np.array([1.0, 1.5, 1.9]), 10, 1.0, 0.0, 0.05)
    assert ranks.groups == [("a", "b", "c")]


def test_names_come_from_frames_mappings_or_are_given():
    frame = pd.DataFrame(SCORES, columns=list("abcd"))
    assert rank_methods(frame).methods == ("a", "b", "c", "d")
    assert rank_methods(dict(frame)).methods == ("a", "b", "c", "d")
    assert rank_methods(SCORES).methods == ("1", "2", "3", "4")
    assert rank_methods(SCORES, list("wxyz")).methods == ("w", "x", "y", "z")
    table = rank_methods(frame).to_frame()
    assert table["mean_rank"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("scores", "methods", "message"),
    [
        (np.ones((1, 3)), None, "two of each at least, got shape (1, 3)."),
        (np.full((3, 3), np.nan), None, "scores must have no missing value, got 9"),
        (np.ones((3, 3)), ["a"], "methods must have one name for each of 3 columns of scores"),
    ],
)
def test_wrong_scores_are_refused(scores, methods, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rank_methods(scores, methods)


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


FRAME = pd.DataFrame(
    np.random.default_rng(1).normal(size=(15, 4)) + np.array([0.0, 0.3, 2.0, 5.0]),
    columns=list("abcd"),
)


def test_mean_ranks_begin_with_the_best_and_groups_are_joined():
    ranks = rank_methods(FRAME)
    ax = plot_critical_differences(FRAME)
    assert names(ax) == [ranks.methods[place] for place in ranks.order]
    assert_allclose(ax.lines[0].get_xdata(), ranks.mean_ranks[ranks.order])
    assert_allclose(np.ptp(ax.lines[1].get_xdata()), ranks.critical_difference)
    bars = ax.collections[1:]
    assert len(bars) == len(ranks.groups)
    assert f"critical difference {ranks.critical_difference:.2f}" in {
        text.get_text() for text in ax.texts
    }
    assert ax.get_xlabel() == "mean rank over 15 data sets, 1 is best"


def test_ranks_that_were_computed_are_drawn_as_they_are():
    ranks = rank_methods(FRAME, higher_is_better=True)
    assert names(plot_critical_differences(ranks))[0] == "d"
    assert names(plot_critical_differences(FRAME, higher_is_better=True))[0] == "d"


def test_given_axes_are_used():
    ax = Figure().subplots()
    assert plot_critical_differences(FRAME, ax=ax) is ax
