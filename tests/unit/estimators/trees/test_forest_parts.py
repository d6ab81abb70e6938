"""The parts of a forest: scores, coded times, units of features, trees as arrays."""

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor

from censquant._trees._forest import MOST_BINS, FeatureUnits, Leaves, TimeBins, log_rank_scores

RNG = np.random.default_rng(0)


def slow_scores(time, event, weight):
    """Observed minus expected events by their definition."""
    scores = event.astype(float)
    for i in range(len(time)):
        for t in np.unique(time[event & (time <= time[i])]):
            at = time == t
            scores[i] -= weight[at & event].sum() / weight[time >= t].sum()
    return scores


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_observed_minus_expected_events(weighted):
    time = RNG.integers(1, 9, 40).astype(float)
    event = RNG.random(40) < 0.6
    weight = RNG.uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    scores = log_rank_scores(time, event, weight)
    np.testing.assert_allclose(scores, slow_scores(time, event, weight), atol=1e-12)
    assert weight @ scores == pytest.approx(0.0, abs=1e-10)


def test_few_event_times_are_all_kept_and_codes_say_who_is_at_risk():
    time = RNG.integers(1, 30, 200).astype(float)
    event = RNG.random(200) < 0.5
    bins, codes = TimeBins.fit(time, event, np.ones(200))
    np.testing.assert_array_equal(bins.times, np.unique(time[event]))
    np.testing.assert_array_equal(codes % 2, event)
    slots = codes // 2
    np.testing.assert_array_equal(bins.times[slots[event] - 1], time[event])
    at_risk = time[:, None] >= bins.times
    np.testing.assert_array_equal(slots[:, None] >= np.arange(1, len(bins.times) + 1), at_risk)


def test_many_event_times_become_bins_of_equal_weight_that_hold_their_own_time():
    n = 20_000
    time, event = RNG.exponential(size=n), RNG.random(n) < 0.7
    weight = RNG.uniform(0.1, 3.0, n)
    bins, codes = TimeBins.fit(time, event, weight)
    assert len(bins.times) == MOST_BINS
    assert np.isin(bins.times, time[event]).all()
    place = codes[event] // 2 - 1
    share = np.bincount(place, weight[event]) / weight[event].sum()
    np.testing.assert_allclose(share, 1 / MOST_BINS, rtol=0.25)
    # Bins are intervals, and the time of each lies inside of it.
    assert (np.diff(place[np.argsort(time[event])]) >= 0).all()
    for k in (0, 100, MOST_BINS - 1):
        own = time[event][place == k]
        assert own.min() <= bins.times[k] <= own.max()
    # Censored rows are compared by their own time.
    slots = codes[~event] // 2
    np.testing.assert_array_equal(slots, (time[~event, None] >= bins.times).sum(axis=1))


def test_equal_times_share_a_bin_even_if_they_are_most_of_the_rows():
    time = np.concatenate([np.full(5_000, 3.0), np.linspace(1, 5, 1_000)])
    bins, codes = TimeBins.fit(time, np.ones(6_000, bool), np.ones(6_000))
    assert len(np.unique(codes[time == 3.0])) == 1
    assert (np.diff(bins.times) > 0).all()


@pytest.mark.parametrize(
    "change",
    [lambda x: 1e-60 * x, lambda x: 1e300 * x, lambda x: 1.7e9 + x, lambda x: -x + 1e5],
    ids=["tiny", "huge", "dates", "mirrored"],
)
def test_no_unit_of_a_feature_merges_its_values(change):
    x = change(RNG.uniform(-1, 1, (500, 1)))
    seen = FeatureUnits.fit(x)(x)
    assert len(np.unique(seen)) > 490
    order = np.argsort(x[:, 0])
    assert (np.diff(seen[order, 0]) >= 0).all()
    assert np.abs(seen).max() == 1.0


def test_an_outlier_does_not_merge_the_others():
    x = np.append(RNG.uniform(0, 1, 500), 1e15)[:, None]
    assert len(np.unique(FeatureUnits.fit(x)(x))) > 490


def test_values_that_overflow_stay_on_their_side():
    x = np.array([[-1.7e308], [0.0], [1e-300], [1.7e308]])
    seen = FeatureUnits.fit(x[1:3])(x)[:, 0]
    np.testing.assert_array_equal(seen, [-np.inf, -1.0, 0.0, np.inf])
    assert np.isfinite(FeatureUnits.fit(x)(x)).all()


def test_a_constant_feature_has_units_too():
    x = np.full((5, 1), 7.0)
    np.testing.assert_array_equal(FeatureUnits.fit(x)(x), np.zeros((5, 1)))


def grown(n=400, weights=None):
    x = RNG.normal(size=(n, 3)).round(1).astype(np.float32)
    tree = ExtraTreeRegressor(min_samples_leaf=4, random_state=0).fit(x, RNG.normal(size=n)).tree_
    codes = RNG.integers(2, 90, n).astype(np.uint16)
    return x, tree, codes, Leaves.from_tree(tree, x, codes, weights)


def test_a_walk_ends_where_that_of_scikit_learn_does():
    x, tree, _, leaves = grown()
    # Values at and next to thresholds, where rounding would show.
    cuts = tree.threshold[tree.feature >= 0].astype(np.float32)
    near = np.concatenate([np.nextafter(cuts, np.float32(side)) for side in (-9, 9)] + [cuts])
    for rows in (x, np.column_stack([near] * 3)):
        expected = tree.apply(rows)
        number = np.cumsum(tree.children_left < 0) - 1
        np.testing.assert_array_equal(leaves.leaves_of(rows)[0], number[expected])


def test_each_leaf_holds_the_codes_and_weights_of_its_rows():
    weights = RNG.uniform(0.5, 2.0, 400)
    x, _tree, codes, leaves = grown(weights=weights)
    for leaf in range(len(leaves.start) - 1):
        rows = slice(leaves.start[leaf], leaves.start[leaf + 1])
        own = leaves.leaves_of(x)[0] == leaf
        np.testing.assert_array_equal(leaves.codes[rows], codes[own])
        np.testing.assert_array_equal(leaves.weights[rows], weights[own].astype(np.float32))


def test_joined_trees_are_walked_as_each_alone():
    trees = [grown() for _ in range(3)]
    joined = Leaves.joined([leaves for *_, leaves in trees])
    x = RNG.normal(size=(50, 3)).astype(np.float32)
    found = joined.leaves_of(x)
    for k, (*_, leaves) in enumerate(trees):
        own = leaves.leaves_of(x)[0]
        for row in range(50):
            expected = leaves.codes[leaves.start[own[row]] : leaves.start[own[row] + 1]]
            leaf = found[k, row]
            rows = slice(joined.start[leaf], joined.start[leaf + 1])
            np.testing.assert_array_equal(joined.codes[rows], expected)


def test_some_of_the_trees_are_those_trees_alone():
    trees = [grown() for _ in range(4)]
    joined = Leaves.joined([leaves for *_, leaves in trees])
    some = joined.take(np.array([1, 3]))
    expected = Leaves.joined([trees[1][-1], trees[3][-1]])
    for name in ("root", "children", "feature", "threshold", "start", "codes", "weights"):
        np.testing.assert_array_equal(getattr(some, name), getattr(expected, name))
