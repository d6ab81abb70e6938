"""Folds: groups and equal rows stay together, events are spread evenly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, ShuffleSplit

from censquant._rows._cross_fit import NEVER, given_folds, make_folds
from censquant.survival import Target


def rows(n, seed=0, share=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), Target(rng.exponential(size=n), rng.random(n) < share)


@given(seed=st.integers(0, 50), n=st.integers(20, 80), n_folds=st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_every_fold_has_its_share_of_events(seed, n, n_folds):
    x, target = rows(n, seed, share=0.8)
    fold = make_folds(n_folds, x, target, None, np.random.default_rng(seed))
    counts = np.bincount(fold[target.event], minlength=n_folds)
    assert counts.max() - counts.min() <= 1
    assert np.bincount(fold).max() - np.bincount(fold, minlength=n_folds).min() <= 1


@given(seed=st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_the_fold_of_a_row_does_not_depend_on_the_order_of_rows(seed):
    x, target = rows(40, seed)
    shuffled = np.random.default_rng(seed).permutation(40)
    first = make_folds(4, x, target, None, np.random.default_rng(1))
    second = make_folds(4, x[shuffled], target.take(shuffled), None, np.random.default_rng(1))
    np.testing.assert_array_equal(first[shuffled], second)


def test_equal_rows_are_held_out_together_and_change_nothing_for_others():
    x, target = rows(40)
    repeated = np.concatenate((np.arange(40), [3, 3, 17]))
    once = make_folds(4, x, target, None, np.random.default_rng(0))
    often = make_folds(4, x[repeated], target.take(repeated), None, np.random.default_rng(0))
    np.testing.assert_array_equal(often, once[repeated])


def test_rows_of_a_group_are_held_out_together():
    x, target = rows(60)
    groups = np.arange(60) % 13
    fold = make_folds(4, x, target, groups, np.random.default_rng(0))
    for group in range(13):
        assert len(set(fold[groups == group])) == 1


def test_there_are_no_more_folds_than_events():
    x, target = rows(30)
    few = Target(target.time, np.arange(30) < 3)
    assert set(make_folds(5, x, few, None, np.random.default_rng(0))) == {0, 1, 2}


def test_one_event_leaves_nothing_to_compare():
    x, target = rows(30)
    one = Target(target.time, np.arange(30) < 1)
    assert set(make_folds(4, x, one, None, np.random.default_rng(0))) == {NEVER}


def test_a_splitter_is_asked_for_its_own_folds():
    x, target = rows(30)
    everyone = np.arange(30)
    fold = given_folds(KFold(3), x, target, None, everyone)
    np.testing.assert_array_equal(fold, np.repeat([0, 1, 2], 10))
    splitter = ShuffleSplit(1, test_size=0.2, random_state=0)
    hold_out = given_folds(splitter, x, target, None, everyone)
    assert (hold_out == 0).sum() == 6
    assert (hold_out == NEVER).sum() == 24


def test_splits_are_taken_as_they_are():
    x, target = rows(30)
    splits = list(KFold(3).split(x))
    for taken in (splits, tuple((train.tolist(), test.tolist()) for train, test in splits)):
        fold = make_folds(taken, x, target, None, np.random.default_rng(0))
        np.testing.assert_array_equal(fold, np.repeat([0, 1, 2], 10))
    with pytest.raises(ValueError, match=r"^cv must hold out each row at most once, got 'splits'"):
        make_folds([splits[0], splits[0]], x, target, None, np.random.default_rng(0))


def test_the_folds_of_a_splitter_are_those_of_the_rows_in_use():
    x, target = rows(30)
    used = np.array([29, 11, 11, 12])
    np.testing.assert_array_equal(given_folds(KFold(3), x, target, None, used), [1, 0, 0, 0])


def test_a_splitter_whose_test_rows_overlap_is_refused():
    x, target = rows(30)
    splitter = ShuffleSplit(3, test_size=0.5, random_state=0)
    with pytest.raises(ValueError, match=r"^cv must hold out each row at most once, got Shuffle"):
        given_folds(splitter, x, target, None, np.arange(30))


@pytest.mark.parametrize("cv", [1, 0, 2.5, "four"])
def test_a_number_of_folds_below_two_is_refused(cv):
    x, target = rows(30)
    with pytest.raises((TypeError, ValueError), match=r"^cv must be"):
        make_folds(cv, x, target, None, np.random.default_rng(0))
