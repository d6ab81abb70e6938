"""Mean and spread behind censored times, against a numerical maximum of the likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from censquant.survival._transform import _MOST_GROUPS, TimeTransform


def sample(n=400, seed=0, *, low=0.0, high=18.0):
    """Normal times of mean 10 and deviation 3, censored uniformly."""
    rng = np.random.default_rng(seed)
    time, end = rng.normal(10.0, 3.0, n), rng.uniform(low, high, n)
    return np.minimum(time, end), time <= end


def by_search(time, event, weight=None):
    """Maximum of the censored normal likelihood, found without its derivatives."""
    weight = np.ones(len(time)) if weight is None else weight

    def loss(parameters):
        law = norm(parameters[0], np.exp(parameters[1]))
        return -(weight * np.where(event, law.logpdf(time), law.logsf(time))).sum()

    start = [time.mean(), np.log(time.std())]
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    return found.x[0], np.exp(found.x[1])


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_maximum_of_the_censored_likelihood(seed):
    time, event = sample(seed=seed)
    assert 0.3 < 1 - event.mean() < 0.7
    transform = TimeTransform.fit(time, event, "tobit")
    np.testing.assert_allclose(
        (transform.center, transform.scale), by_search(time, event), rtol=1e-5
    )
    assert not transform.log


def test_it_finds_the_law_behind_early_censoring_where_plain_moments_do_not():
    time, event = sample(20_000, low=0.0, high=12.0)
    assert 1 - event.mean() > 0.7
    tobit, plain = (TimeTransform.fit(time, event, kind) for kind in ("tobit", "standardize"))
    np.testing.assert_allclose((tobit.center, tobit.scale), (10.0, 3.0), rtol=0.02)
    assert plain.center < 7.0


def test_logarithms_are_treated_alike():
    time, event = sample()
    inner = TimeTransform.fit(time / 10, event, "tobit")
    transform = TimeTransform.fit(np.exp(time / 10), event, "log-tobit")
    assert transform.log
    np.testing.assert_allclose(transform.center, inner.center, rtol=1e-9)
    np.testing.assert_allclose(transform.scale, inner.scale, rtol=1e-9)


def test_left_censored_times_are_the_mirror_image():
    time, event = sample()
    right = TimeTransform.fit(time, event, "tobit")
    left = TimeTransform.fit(-time, event, "tobit", mirror=True)
    assert left.center == pytest.approx(-right.center, rel=1e-12)
    assert left.scale == pytest.approx(right.scale, rel=1e-12)
    np.testing.assert_allclose(left.forward(-time), right.forward(time), atol=1e-12)


def test_without_censoring_it_is_the_plain_standardisation():
    time, _ = sample()
    event = np.ones(len(time), bool)
    tobit, plain = (TimeTransform.fit(time, event, kind) for kind in ("tobit", "standardize"))
    assert tobit.center == pytest.approx(plain.center, rel=1e-12)
    assert tobit.scale == pytest.approx(plain.scale, rel=1e-12)


def test_weights_count_rows():
    time, event = sample(60)
    counts = np.random.default_rng(1).integers(0, 4, 60)
    weighted = TimeTransform.fit(time, event, "tobit", sample_weight=counts)
    repeated = TimeTransform.fit(np.repeat(time, counts), np.repeat(event, counts), "tobit")
    assert weighted.center == pytest.approx(repeated.center, rel=1e-10)
    assert weighted.scale == pytest.approx(repeated.scale, rel=1e-10)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e6, 1e200])
def test_the_unit_of_time_does_not_matter(unit):
    time, event = sample()
    one, other = (TimeTransform.fit(unit * t, event, "tobit") for t in (time / unit, time))
    assert other.center == pytest.approx(unit * one.center, rel=1e-9)
    assert other.scale == pytest.approx(unit * one.scale, rel=1e-9)


def test_grouping_many_censored_rows_changes_next_to_nothing():
    time, event = sample(40_000)
    assert (~event).sum() > 5 * _MOST_GROUPS
    transform = TimeTransform.fit(time, event, "tobit")
    np.testing.assert_allclose(
        (transform.center, transform.scale), by_search(time, event), rtol=1e-4
    )
    order = np.random.default_rng(2).permutation(len(time))
    again = TimeTransform.fit(time[order], event[order], "tobit")
    assert again.center == pytest.approx(transform.center, rel=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_equal_events_after_all_censoring_keep_a_scale(share):
    n = 200
    event = np.arange(n) >= share * n
    time = np.where(event, 5.0, np.linspace(0.0, 4.0, n))
    transform = TimeTransform.fit(time, event, "tobit")
    plain = TimeTransform.fit(time, event, "standardize")
    assert 1e-3 * plain.scale <= transform.scale
    assert np.isfinite(transform.forward(time)).all()


def test_one_event_among_many_censored_rows_stays_near_the_times():
    time, event = np.linspace(1.0, 2.0, 300), np.zeros(300, bool)
    event[0] = True
    transform = TimeTransform.fit(time, event, "tobit")
    assert 1.0 < transform.center < 20.0
    assert 0.1 < transform.scale < 20.0
