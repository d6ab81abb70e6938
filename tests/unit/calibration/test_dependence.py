"""The test whether censoring depends on the features, which calibration and scores share."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import CensoredData, logrank

from censquant._calibration import _dependence as dependence
from censquant._calibration._dependence import censoring_dependence, rows_to_look_at
from censquant._rows._censoring import censoring_p_value
from censquant.survival import Target

SIMULATED = {
    "calendar year": lambda rng, z: 1.6 - z[:, 0] + 0.2 * rng.exponential(size=len(z)),
    "healthier leave earlier": lambda rng, z: rng.exponential(np.exp(-(z @ [0.8, -0.6, 0.4]))),
    "sicker leave earlier": lambda rng, z: rng.exponential(np.exp(z @ [0.8, -0.6, 0.4])),
    "both ends leave earlier": lambda rng, z: rng.exponential(np.exp(-2.0 * np.abs(z[:, 0]))),
    "signs that differ": lambda rng, z: rng.exponential(np.exp(np.sign(z[:, 0] * z[:, 1]))),
}
INDEPENDENT = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "uniform, many ties": lambda rng, n: np.ceil(8 * rng.uniform(0, 2, n)) / 8,
    "end of study": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, rng.uniform(0, 1, n)),
}


def features(rng, n):
    """Columns as tables have them: normal, skewed, few levels, and one that is mostly zero."""
    z = rng.normal(size=(n, 3))
    levels, rare = rng.integers(0, 4, n)[:, None] == np.arange(4), rng.random(n) < 0.06
    return z, np.column_stack((z, np.exp(2 * z[:, 0]) * rng.random(n), levels, rare))


def rows(rng, n, censoring_time):
    """Columns and target; the event depends on the features whatever the censoring does."""
    z, columns = features(rng, n)
    event_time = np.exp(z @ [0.8, -0.6, 0.4]) * rng.exponential(size=n)
    end = censoring_time(rng, z) if censoring_time in SIMULATED.values() else censoring_time(rng, n)
    return columns, Target(np.minimum(event_time, end), event_time <= end)


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_censoring_is_rejected_as_often_as_the_level_says(kind):
    values = []
    for seed in range(400):
        columns, target = rows(np.random.default_rng(seed), 200, INDEPENDENT[kind])
        values.append(censoring_dependence(target, columns))
    shares = [np.mean(np.array(values) < level) for level in (0.01, 0.05, 0.5)]
    assert shares[0] <= 0.03
    assert 0.025 <= shares[1] <= 0.085
    assert 0.4 <= shares[2] <= 0.6


@pytest.mark.parametrize("kind", SIMULATED)
def test_dependent_censoring_is_found(kind):
    columns, target = rows(np.random.default_rng(1), 600, SIMULATED[kind])
    assert censoring_dependence(target, columns) < 0.01


def test_one_column_of_two_groups_is_the_log_rank_test_of_the_censoring_times():
    rng = np.random.default_rng(2)
    group = (rng.random(300) < 0.4).astype(float)
    # No event is as late as a censoring of its time, where conventions differ.
    target = Target(np.ceil(rng.exponential(2.0, 300) * 4), rng.random(300) < 0.5)
    target = Target(target.time - 0.5 * target.event, target.event)
    first, second = (
        CensoredData(
            uncensored=target.time[part & ~target.event], right=target.time[part & target.event]
        )
        for part in (group == 1, group == 0)
    )
    order = np.lexsort((~target.event, target.time))[::-1]
    risks = dependence._RiskSets.of(target.time[order], ~target.event[order], np.ones(300))
    ranks, _ = dependence._ranks(group[order][:, None], np.ones(300))
    (found,) = dependence._p_of_each(risks, ranks)
    assert found == pytest.approx(logrank(first, second).pvalue, rel=1e-6)


def test_only_ranks_of_columns_count_and_neither_units_nor_the_order_of_rows():
    columns, target = rows(np.random.default_rng(3), 300, SIMULATED["sicker leave earlier"])
    found = censoring_dependence(target, columns)
    moved = np.where(columns > 0, columns**3, columns / 7)
    assert censoring_dependence(target, moved) == pytest.approx(found, rel=1e-9)
    scaled = Target(target.time * 3, target.event)
    assert censoring_dependence(scaled, columns) == pytest.approx(found, rel=1e-9)
    order = np.random.default_rng(4).permutation(300)
    assert censoring_dependence(target.take(order), columns[order]) == pytest.approx(found)


def test_the_end_of_a_study_tells_nothing():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 2))
    event_time = np.exp(2 * x[:, 0]) * rng.exponential(size=400)
    target = Target(np.minimum(event_time, 1.0), event_time <= 1.0)
    assert censoring_dependence(target, x) > 0.99


def test_more_columns_than_are_tested_together_keep_size_and_power():
    values, rng = [], np.random.default_rng(6)
    for _ in range(60):
        x = rng.normal(size=(200, 150))
        event_time, end = rng.exponential(np.exp(x[:, 0])), rng.exponential(size=200)
        target = Target(np.minimum(event_time, end), event_time <= end)
        values.append(censoring_dependence(target, x))
    assert np.mean(np.array(values) < 0.05) < 0.15
    end = rng.exponential(np.exp(1.5 * x[:, 7]))
    target = Target(np.minimum(event_time, end), event_time <= end)
    assert censoring_dependence(target, x) < 0.05


def test_rows_without_weight_and_columns_that_do_not_vary_do_not_count():
    columns, target = rows(np.random.default_rng(7), 300, SIMULATED["sicker leave earlier"])
    weight = np.ones(300)
    weight[::3] = 0.0
    kept = weight > 0
    expected = censoring_dependence(target.take(kept), columns[kept])
    assert censoring_p_value(columns, target, weight) == pytest.approx(expected)
    constant = np.column_stack((columns, np.ones(300)))
    assert censoring_p_value(constant, target, weight) == pytest.approx(expected)
    assert censoring_p_value(np.ones((300, 2)), target) == 1.0


def test_three_thousand_rows_are_looked_at_and_none_where_few_are_censored():
    some = rows_to_look_at(Target(np.arange(7_000.0), np.arange(7_000) % 2 == 0))
    assert 2_000 < len(some) <= 3_000
    assert not len(rows_to_look_at(Target(np.arange(100.0), np.arange(100) >= 19)))
    assert (
        censoring_p_value(np.zeros((100, 1)), Target(np.arange(100.0), np.ones(100, bool))) is None
    )


def test_a_table_is_read_as_it_is():
    rng = np.random.default_rng(8)
    centre, missing = rng.integers(0, 3, 500), rng.random(500) < 0.5
    event_time = rng.exponential(size=500)
    table = pd.DataFrame(
        {
            "centre": np.array(["Ulm", "Bonn", "Kiel"])[centre],
            "score": np.where(missing, np.nan, rng.normal(size=500)),
            "noise": rng.normal(size=500),
            "visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(centre, unit="D"),
        }
    )

    def tested(X, end):
        return censoring_p_value(X, Target(np.minimum(event_time, end), event_time <= end))

    by_centre = rng.exponential(np.array([3.0, 1.0, 1.0])[centre])
    by_missing = rng.exponential(np.where(missing, 3.0, 1.0))
    assert tested(table, by_centre) < 0.001
    assert tested(table[["score", "noise"]], by_missing) < 0.001
    assert tested(table[["noise"]], by_missing) > 0.01
    # Dates cannot be read.
    assert tested(table[["visit"]], by_centre) == 1.0
    numbers = np.column_stack((centre, missing)).astype(float)
    assert tested(sparse.csr_array(numbers), by_centre) == pytest.approx(tested(numbers, by_centre))
    assert tested(np.zeros((500, 2, 2)), by_centre) is None
