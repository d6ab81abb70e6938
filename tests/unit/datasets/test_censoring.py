import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from censquant.datasets import censor_uniform, load_gbsg2

N = 20_000
TIMES = np.random.default_rng(5).weibull(1.5, size=N)


def test_an_event_is_seen_exactly_where_it_is_not_after_the_censoring():
    y, censoring = censor_uniform(TIMES, random_state=0, return_censoring=True)
    assert_array_equal(y["event"], censoring >= TIMES)
    assert_array_equal(y["time"], np.minimum(TIMES, censoring))
    assert_array_equal(censor_uniform(TIMES, random_state=0), y)


def test_uniform_censoring_is_the_papers_by_default():
    _, censoring = censor_uniform(TIMES, random_state=0, return_censoring=True)
    low, high = TIMES.min(), np.quantile(TIMES, 0.9)
    assert stats.kstest(censoring, stats.uniform(low, high - low).cdf).pvalue > 1e-3


def test_uniform_censoring_hides_the_share_of_its_law():
    y = censor_uniform(TIMES, 0.5, 4.0, random_state=0)
    expected = np.clip((TIMES - 0.5) / 3.5, 0, 1).mean()
    assert 1 - y["event"].mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / N))


def test_uniform_censoring_may_be_at_one_time():
    _, censoring = censor_uniform(TIMES, 1.0, 1.0, return_censoring=True)
    assert_array_equal(censoring, 1.0)


def test_uniform_censoring_takes_negative_times():
    y = censor_uniform([-3.0, -1.0], low=-2.0, high=-2.0)
    assert y.tolist() == [(True, -3.0), (False, -2.0)]


def test_an_end_before_the_start_is_refused():
    message = "high must not be below low, got 1 below 2."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        censor_uniform(TIMES, low=2.0, high=1.0)


def test_censored_data_of_the_package_are_refused():
    with pytest.raises(ValueError, match="got 387 of 686 rows censored"):
        censor_uniform(load_gbsg2(as_frame=False)[1])
