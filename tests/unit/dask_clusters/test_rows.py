"""Sums over partitions are those of all rows together; samples are of rows or of groups."""

import numpy as np
import pandas as pd
import pytest

from censquant.dask._rows import (
    MOST_TIMES,
    Statistics,
    Table,
    TimeSketch,
    draw_sample,
    join_samples,
    merge_statistics,
    sampling_share,
)
from censquant.exceptions import NoEventsError
from censquant.survival import Target, kaplan_meier
from censquant.survival._transform import TimeTransform


def drawn(n, rng):
    time = rng.gamma(2.0, size=n)
    return rng.normal(3.0, 2.0, (n, 3)), Target(time, rng.random(n) < 0.6), rng.random(n) + 0.5


def in_parts(x, target, weight, ends):
    parts = [slice(a, b) for a, b in zip([0, *ends], [*ends, len(x)], strict=True)]
    return [Statistics.of(x[part], target.take(part), weight[part]) for part in parts]


class TestStatistics:
    @pytest.mark.parametrize("ends", [[300], [0, 10, 10, 999], [1, 2, 3]])
    def test_merged_parts_have_the_moments_of_all_rows(self, ends):
        x, target, weight = drawn(1_000, np.random.default_rng(0))
        together = merge_statistics(in_parts(x, target, weight, ends)).summary()
        mean = np.average(x, axis=0, weights=weight)
        np.testing.assert_allclose(together.moments.mean, mean, rtol=1e-12)
        variance = np.average((x - mean) ** 2, axis=0, weights=weight)
        np.testing.assert_allclose(together.moments.variance, variance, rtol=1e-12)
        np.testing.assert_array_equal(together.moments.low, x.min(axis=0))
        np.testing.assert_array_equal(together.moments.high, x.max(axis=0))
        assert together.n_rows == 1_000
        assert together.weight.sum() == pytest.approx(1_000)

    def test_far_features_keep_their_spread(self):
        x, target, weight = drawn(1_000, np.random.default_rng(0))
        together = merge_statistics(in_parts(x + 1e9, target, weight, [300])).summary()
        np.testing.assert_allclose(
            together.moments.variance, np.cov(x.T, aweights=weight).diagonal(), 0.01
        )

    def test_partitions_without_rows_change_nothing(self):
        x, target, weight = drawn(50, np.random.default_rng(0))
        (alone,) = in_parts(x, target, weight, [])
        empty = Statistics.of(x[:0], target.take(slice(0)), weight[:0])
        together = merge_statistics([empty, alone, empty])
        assert together.sizes == (0, 50, 0)
        np.testing.assert_array_equal(together.moments.mean, alone.moments.mean)
        np.testing.assert_array_equal(together.moments.low, alone.moments.low)
        assert merge_statistics([empty, empty]).n_rows == 0

    def test_rows_without_an_event_are_refused(self):
        none = Target(np.arange(3.0), np.zeros(3, bool))
        found = merge_statistics([Statistics.of(np.zeros((3, 1)), none, np.ones(3))] * 2)
        with pytest.raises(NoEventsError) as error:
            found.summary()
        assert str(error.value) == (
            "The data have no event: all 6 rows of 2 partitions are censored, so no quantile can "
            "be fitted."
        )


class TestTimeSketch:
    def test_few_distinct_times_are_kept_exactly(self):
        rng = np.random.default_rng(0)
        time, event = rng.integers(0, 3_000, 20_000).astype(float), rng.random(20_000) < 0.5
        half = [TimeSketch.of(Target(time[k::2], event[k::2]), np.ones(10_000)) for k in (0, 1)]
        sketch = half[0].merge(half[1])
        exact = kaplan_meier(time, event)
        curve = kaplan_meier(sketch.target.time, sketch.target.event, sketch.weight)
        np.testing.assert_array_equal(curve.time, exact.time)
        np.testing.assert_allclose(curve.survival, exact.survival, rtol=1e-10)

    def test_many_times_keep_mean_ends_and_levels(self):
        rng = np.random.default_rng(0)
        time, event = rng.gamma(2.0, size=100_000), rng.random(100_000) < 0.5
        parts = [TimeSketch.of(Target(time[k::8], event[k::8]), np.ones(12_500)) for k in range(8)]
        sketch = parts[0].merge(*parts[1:])
        target, weight = sketch.target, sketch.weight
        assert len(target) <= 2 * MOST_TIMES
        assert (np.diff(target.time) >= 0).all()
        assert (target.time[0], target.time[-1]) == (time.min(), time.max())
        assert weight @ target.time / weight.sum() == pytest.approx(time.mean(), rel=1e-12)
        grid = np.quantile(time, np.linspace(0.01, 0.99, 50))
        exact, curve = kaplan_meier(time, event), kaplan_meier(target.time, target.event, weight)
        np.testing.assert_allclose(curve(grid), exact(grid), atol=2 / MOST_TIMES)

    @pytest.mark.parametrize("kind", ["standardize", "log", "tobit", "log-tobit"])
    def test_transforms_of_times_are_those_of_all_rows(self, kind):
        rng = np.random.default_rng(1)
        time, event = rng.gamma(2.0, size=50_000), rng.random(50_000) < 0.5
        sketch = TimeSketch.of(Target(time, event), np.ones(50_000))
        exact = TimeTransform.fit(time, event, kind)
        found = TimeTransform.fit(
            sketch.target.time, sketch.target.event, kind, sample_weight=sketch.weight
        )
        assert found.center == pytest.approx(exact.center, abs=1e-3)
        assert found.scale == pytest.approx(exact.scale, rel=1e-3)
        assert found.floor == exact.floor


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
    share = sampling_share(most, n, by_groups=tables[0].groups is not None)
    return join_samples(
        [draw_sample(t, k, share, seed) for k, t in enumerate(tables)], most, share
    ).table


class TestSamples:
    def test_a_sample_has_the_size_that_was_asked_for_and_columns_that_belong_together(self):
        tables = [table(range(0)), table(range(5_000)), table(range(5_000, 5_010))]
        found = sample(tables, 100)
        assert len(found) == 100
        np.testing.assert_array_equal(found.X["a"], found.target.time)
        assert len(set(found.target.time)) == 100

    def test_fewer_rows_than_asked_for_are_all_taken(self):
        assert sorted(sample([table([1, 2]), table([3])], 10).target.time) == [1, 2, 3]

    def test_every_row_has_the_same_chance(self):
        tables = [table(range(20)), table(range(20, 40))]
        counts = np.zeros(40)
        for seed in range(500):
            counts[sample(tables, 10, seed).target.time.astype(int)] += 1
        assert np.abs(counts - 125).max() < 5 * np.sqrt(125 * 0.75)

    def test_groups_are_taken_whole_from_all_partitions(self):
        groups = np.arange(2_000) % 100
        tables = [table(range(1_000), groups[:1_000]), table(range(1_000, 2_000), groups[1_000:])]
        found = sample(tables, 205)
        labels, counts = np.unique(found.groups, return_counts=True)
        assert set(counts) == {20}
        assert len(labels) == 10

    def test_one_group_larger_than_the_sample_is_taken_whole(self):
        for seed in range(5):
            parts = [table(range(30), np.arange(30) % 2), table(range(30, 60), np.zeros(30, int))]
            found = sample(parts, 10, seed)
            assert len(found) == {"0": 45, "1": 15}[found.groups[0]]
            assert len(set(found.groups)) == 1

    @pytest.mark.parametrize("by_groups", [True, False])
    def test_the_share_is_never_more_than_all(self, by_groups):
        assert sampling_share(100, 50, by_groups=by_groups) == 1.0
        assert 0.01 < sampling_share(100, 10_000, by_groups=by_groups) < 0.02
