from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from censquant.metrics._calibration import a_calibration
from censquant.quantiles import QuantileCurve
from strategies import repetitions, survival_data

TAUS = np.arange(1, 20) / 20
QUARTERS = [0.25, 0.5, 0.75]
few = settings(max_examples=30, deadline=None)


def hazard(u):
    return -np.log(1 - u)


def slow_counts(time, event, predicted, taus):
    """Observed and expected events of every cell before any is merged."""
    edges = [0.0, *taus]
    observed, expected = np.zeros(len(taus)), np.zeros(len(taus))
    for t, e, row in zip(time, event, np.sort(predicted, axis=1), strict=True):
        level = QuantileCurve([row], taus).cdf([t])[0]
        for j in range(len(taus)):
            a, b = edges[j], edges[j + 1]
            left = -np.inf if j == 0 else row[j - 1]
            observed[j] += e and left < t <= row[j]
            expected[j] += hazard(min(level, b)) - hazard(min(level, a))
    return observed, expected


@few
@given(data=survival_data(), seed=st.integers(0, 1000))
def test_all_counts_are_kept_by_cells_that_expect_five_events(data, seed):
    time, event = data[0] * (1 - 1e-6), data[1]
    predicted = np.random.default_rng(seed).uniform(0, 1.2 * time.max(), size=(len(time), 4))
    taus = np.array([0.1, 0.4, 0.7, 0.9])
    observed, expected = slow_counts(time, event, predicted, taus)
    result = a_calibration((time, event), predicted, taus)
    edges = np.array([0.0, *taus])
    places = np.searchsorted(edges, result.edges)
    np.testing.assert_array_equal(edges[places], result.edges)
    assert places[0] == 0
    assert places[-1] == len(taus)
    for j, (start, stop) in enumerate(pairwise(places)):
        assert result.observed[j] == pytest.approx(observed[start:stop].sum())
        assert result.expected[j] == pytest.approx(expected[start:stop].sum())
        assert result.expected[j] >= 5 or result.df == 1
        # No cell could have ended earlier.
        assert j == result.df - 1 or expected[start : stop - 1].sum() < 5
    assert result.df == len(result.observed) == len(result.edges) - 1


def test_a_hand_computed_test():
    # Levels 0.2 and 0.5 with events, 0.4 censored, 0.9 past the grid; each counted 40 times.
    y = (np.tile([0.2, 0.5, 0.4, 0.9], 40), np.tile([True, True, False, True], 40))
    result = a_calibration(y, [[0.25, 0.5, 0.75]] * 160, QUARTERS)
    first = 40 * (hazard(0.2) + 3 * hazard(0.25))
    second = 40 * (hazard(0.4) + 2 * hazard(0.5) - 3 * hazard(0.25))
    third = 40 * (hazard(0.75) - hazard(0.5))
    np.testing.assert_allclose(result.expected, [first, second, third])
    np.testing.assert_array_equal(result.observed, [40, 40, 0])
    np.testing.assert_array_equal(result.edges, [0, 0.25, 0.5, 0.75])
    statistic = ((result.observed - result.expected) ** 2 / result.expected).sum()
    assert result.statistic == pytest.approx(statistic)
    assert result.df == 3
    assert result.p_value == pytest.approx(stats.chi2(3).sf(statistic))
    np.testing.assert_allclose(result.ratio, result.observed / result.expected)


@few
@given(data=st.data())
def test_a_weight_counts_a_row_as_many_equal_rows(data):
    time, event = data.draw(survival_data())
    weight = data.draw(repetitions(len(time)))
    predicted = np.random.default_rng(0).uniform(0, 1.2 * time.max(), size=(len(time), 3))
    again = np.repeat(np.arange(len(time)), weight)
    weighted = a_calibration((time, event), predicted, QUARTERS, sample_weight=weight)
    repeated = a_calibration((time[again], event[again]), predicted[again], QUARTERS)
    np.testing.assert_allclose(weighted.expected, repeated.expected, atol=1e-12)
    np.testing.assert_allclose(weighted.observed, repeated.observed)
    assert weighted.p_value == pytest.approx(repeated.p_value)


def test_few_expected_events_leave_one_cell():
    result = a_calibration([0.2, 0.5], [QUARTERS] * 2, QUARTERS)
    assert result.df == 1
    np.testing.assert_array_equal(result.observed, [2.0])
    np.testing.assert_array_equal(result.edges, [0.0, 0.75])


def test_an_event_that_the_model_thinks_impossible_is_infinitely_surprising():
    result = a_calibration([-5.0], [QUARTERS], QUARTERS)
    assert result.statistic == np.inf
    assert result.p_value == 0
    np.testing.assert_array_equal(result.ratio, [np.inf])


def test_rows_that_left_before_any_risk_say_nothing():
    result = a_calibration(([-5.0], [False]), [QUARTERS], QUARTERS)
    assert (result.statistic, result.p_value) == (0, 1)
    np.testing.assert_array_equal(result.ratio, [1.0])


def simulate(rng, end, n=400, factor=1.0):
    """Uniform times of a scale that depends on a feature, and their quantiles times a factor."""
    scale = rng.uniform(0.5, 2.0, size=n)
    target, censoring = scale * rng.random(n), rng.uniform(0, end * scale, size=n)
    y = (np.minimum(target, censoring), target <= censoring)
    return y, factor * scale[:, None] * TAUS


@pytest.mark.parametrize(("end", "censored"), [(1.67, 0.3), (1.0, 0.5), (0.4, 0.8)])
def test_a_true_model_is_rejected_at_the_nominal_rate(end, censored):
    # Censoring depends on the feature here.
    rng = np.random.default_rng(11)
    seen, p_values = [], []
    for _ in range(1000):
        y, true = simulate(rng, end)
        seen.append(y[1].mean())
        p_values.append(a_calibration(y, true, TAUS).p_value)
    assert 1 - np.mean(seen) == pytest.approx(censored, abs=0.03)
    assert 0.03 <= np.mean(np.array(p_values) < 0.05) <= 0.07


@pytest.mark.parametrize("end", [1.67, 1.0, 0.4])
def test_the_true_model_expects_the_events_that_come(end):
    y, true = simulate(np.random.default_rng(12), end, n=20_000)
    result = a_calibration(y, true, TAUS)
    assert result.statistic < stats.chi2(result.df).ppf(0.999)
    assert abs(result.observed.sum() - result.expected.sum()) < 3 * np.sqrt(result.observed.sum())


def test_a_model_that_is_too_late_is_found_out():
    y, late = simulate(np.random.default_rng(13), 1.0, n=2000, factor=1.3)
    result = a_calibration(y, late, TAUS)
    assert result.p_value < 1e-6
    assert result.observed.sum() > result.expected.sum()


def test_one_level_is_refused():
    with pytest.raises(ValueError, match=r"^taus must hold two levels or more, since .* got 1\.$"):
        a_calibration([1.0], [[1.0]], [0.5])
