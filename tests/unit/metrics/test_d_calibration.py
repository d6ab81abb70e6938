import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from censquant.metrics import d_calibration
from strategies import repetitions, survival_data

TWENTIETHS = np.arange(1, 20) / 20
few = settings(max_examples=30, deadline=None)


def refused(message, error=ValueError):
    return pytest.raises(error, match="^" + re.escape(message) + "$")


@st.composite
def judged(draw):
    time, event = draw(survival_data())
    size = 3 * len(time)
    numbers = draw(st.lists(st.integers(0, 24), min_size=size, max_size=size))
    predicted = np.array(numbers).reshape(-1, 3) * time.max() / 20
    return time, event, predicted


TAUS = np.array([0.2, 0.5, 0.9])


@few
@given(rows=judged(), data=st.data())
def test_a_weight_counts_a_row_as_many_equal_rows(rows, data):
    time, event, predicted = rows
    weight = data.draw(repetitions(len(time)))
    again = np.repeat(np.arange(len(time)), weight)
    weighted = d_calibration((time, event), predicted, TAUS, sample_weight=weight)
    repeated = d_calibration((time[again], event[again]), predicted[again], TAUS)
    np.testing.assert_allclose(weighted.shares, repeated.shares, atol=1e-12)
    assert weighted.statistic == pytest.approx(repeated.statistic)


def simulate(rng, end, n):
    """Uniform times of a scale that depends on a feature: linear pieces describe them exactly."""
    scale = rng.uniform(0.5, 2.0, size=n)
    target, censoring = scale * rng.random(n), rng.uniform(0, end, size=n)
    y = (np.minimum(target, censoring), target <= censoring)
    return y, scale[:, None] * TWENTIETHS


def test_bins_by_hand():
    y = ([0.1, 0.3, 0.6, 0.2], [True, True, True, False])
    result = d_calibration(y, [[0.25, 0.5, 0.75]] * 4, [0.25, 0.5, 0.75], n_bins=2)
    below = 2 + (0.5 - 0.2) / 0.8
    np.testing.assert_allclose(result.shares, [below / 4, 1 - below / 4])
    np.testing.assert_array_equal(result.edges, [0.0, 0.5, 1.0])
    statistic = ((below - 2) ** 2 + (2 - below) ** 2) / 2
    assert result.statistic == pytest.approx(statistic)
    assert result.df == 1
    assert result.p_value == pytest.approx(stats.chi2(1).sf(statistic))


def test_a_row_censored_where_the_model_ends_stays_in_the_last_bin():
    result = d_calibration(([5.0], [False]), [[1.0, 2.0, 2.0]], [0.25, 0.5, 0.75], n_bins=4)
    np.testing.assert_array_equal(result.shares, [0, 0, 0, 1])


def test_the_test_never_rejects_a_true_model_where_half_of_the_rows_are_censored():
    rng = np.random.default_rng(5)
    p_values = [d_calibration(*simulate(rng, 1.1, 400), TWENTIETHS).p_value for _ in range(200)]
    assert np.mean(np.array(p_values) < 0.05) < 0.01


def test_the_test_keeps_its_size_without_censoring():
    rng = np.random.default_rng(6)
    p_values = [d_calibration(*simulate(rng, 1e9, 400), TWENTIETHS).p_value for _ in range(400)]
    assert 0.03 < np.mean(np.array(p_values) < 0.05) < 0.07


@pytest.mark.parametrize(
    ("n_bins", "message", "error"),
    [
        (1, "n_bins must be at least 2, got 1.", ValueError),
        (2.5, "n_bins must be an integer, got 2.5.", TypeError),
    ],
)
def test_a_number_of_bins_that_cuts_nothing_is_refused(n_bins, message, error):
    with refused(message, error):
        d_calibration([1.0], [[1.0, 2.0]], [0.5, 0.6], n_bins=n_bins)
