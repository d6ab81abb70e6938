"""The times at which a row may have had its event: cells, and the chance they are given."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._cells import ObservedSets, cells_of_events
from censquant.survival._target import GeneralTarget


def made(seed, n=200):
    rng = np.random.default_rng(seed)
    time = np.round(rng.exponential(10.0, n), 1) + 0.1
    return Target(time, rng.random(n) < 0.6)


@pytest.mark.parametrize("n_cells", [2, 7, 40])
def test_each_cell_holds_an_equal_share_of_events_up_to_one(n_cells):
    time = np.random.default_rng(0).permutation(np.arange(1_003.0))
    ends = cells_of_events(Target(time, np.ones(1_003, bool)), n_cells=n_cells)
    counts = np.diff(np.searchsorted(np.sort(time), ends, side="right"), prepend=0, append=1_003)
    counts = np.append(counts[: n_cells - 1], counts[n_cells - 1 :].sum())
    assert counts.size == n_cells
    assert counts.max() - counts.min() <= 1


def test_the_last_cell_is_halved_until_few_events_are_left():
    ends = cells_of_events(Target(np.arange(1.0, 1_001.0), np.ones(1_000, bool)), n_cells=10)
    np.testing.assert_array_equal(ends[8:], [900, 950, 975, 988, 994, 997])


def test_a_weight_counts_as_equal_rows():
    target, weight = made(1), np.random.default_rng(2).integers(0, 4, 200)
    repeated = target.take(np.repeat(np.arange(200), weight))
    np.testing.assert_array_equal(
        cells_of_events(target, weight.astype(float)), cells_of_events(repeated)
    )


def test_cells_have_the_unit_of_time_and_are_few_where_events_are():
    target = made(3)
    ends = cells_of_events(target)
    np.testing.assert_array_equal(cells_of_events(Target(target.time * 7, target.event)), ends * 7)
    assert set(ends) <= set(target.time[target.event])
    np.testing.assert_array_equal(
        cells_of_events(Target(np.array([3.0, 1.0, 2.0]), np.array([True, True, False]))), [1, 3]
    )
    assert not len(cells_of_events(Target(np.ones(3), np.zeros(3, bool))))


def test_chances_are_those_of_the_distribution_row_by_row():
    target, rng = made(4), np.random.default_rng(5)
    values = np.sort(rng.exponential(10.0, (200, 3)), axis=1)
    curve = QuantileCurve(values, np.array([0.25, 0.5, 0.75]), 0.0)
    ends, entry = cells_of_events(target, n_cells=9), np.where(rng.random(200) < 0.5, 0.05, -np.inf)
    late = replace(GeneralTarget.of(target), entry=entry)
    given = ObservedSets.of(late, ends).chances(curve.cdf)
    for row, (time, event) in enumerate(zip(target.time, target.event, strict=True)):
        survival = lambda t, row=row: float(curve.take([row]).survival([t])[0, 0])  # noqa: E731
        begin = max([end for end in ends if end < time], default=-np.inf) if event else time
        end = min([end for end in ends if end >= time], default=np.inf) if event else np.inf
        begin = max(begin, entry[row])
        lived = 1.0 if begin == -np.inf else survival(begin)
        rest = 0.0 if end == np.inf else survival(end)
        before = 1.0 if entry[row] == -np.inf else survival(entry[row])
        assert given[row] == pytest.approx((lived - rest) / before, abs=1e-12)


def test_the_chances_of_all_cells_of_a_row_sum_to_one():
    ends = np.array([1.0, 2.0, 5.0])
    target = Target(np.array([0.5, 1.5, 3.0, 9.0]), np.ones(4, bool))
    curve = QuantileCurve([[0.5, 1.5, 4.0]] * 4, [0.2, 0.5, 0.9])
    assert ObservedSets.of(target, ends).chances(curve.cdf).sum() == pytest.approx(1.0)


def test_intervals_and_entries_are_read_as_they_are():
    sets = ObservedSets(
        lower=np.array([-np.inf, -1.0, 0.0]),
        upper=np.array([0.0, 1.0, np.inf]),
        entry=np.array([-np.inf, -1.0, -1.0]),
    )
    cdf = norm.cdf
    expected = [0.5, (cdf(1.0) - cdf(-1.0)) / cdf(1.0), 0.5 / cdf(1.0)]
    np.testing.assert_allclose(sets.chances(cdf), expected)
    np.testing.assert_allclose(sets.take(np.array([2, 0])).chances(cdf), [expected[2], expected[0]])
