"""The partial likelihood against its definition, and its derivatives against differences."""

import numpy as np
import pytest

from censquant.estimators import _cox_likelihood as _partial_likelihood
from censquant.estimators._cox_likelihood import PartialLikelihood

TIES = ("efron", "breslow")


def rows(n=60, p=3, seed=0, *, tied=True, weighted=True):
    """Features, times from late to early, events and weights."""
    rng = np.random.default_rng(seed)
    z, time = rng.normal(size=(n, p)), rng.exponential(size=n)
    time = np.sort(np.ceil(4 * time) if tied else time)[::-1].copy()
    weight = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    return z, time, rng.uniform(size=n) < 0.6, weight


def by_definition(z, time, event, weight, ties, coefficients):
    """Sum over events of the log share of their hazard among those at risk."""
    eta, total = z @ coefficients, 0.0
    risk = weight * np.exp(eta)
    for now in np.unique(time[event]):
        tied = event & (time == now)
        d = tied.sum()
        total += weight[tied] @ eta[tied]
        for place in range(d):
            share = place / d if ties == "efron" else 0.0
            denominator = risk[time >= now].sum() - share * risk[tied].sum()
            total -= weight[tied].mean() * np.log(denominator)
    return total


def differences(function, place, step=1e-5):
    """Central differences of a function of a vector, one row per entry."""
    return np.array(
        [
            (function(place + step * e) - function(place - step * e)) / (2 * step)
            for e in np.eye(len(place))
        ]
    )


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_value_is_that_of_the_definition(ties, tied, weighted):
    data = rows(tied=tied, weighted=weighted)
    likelihood = PartialLikelihood(*data, ties)
    for coefficients in (np.zeros(3), np.array([0.5, -1.0, 2.0]), np.array([9.0, 3.0, -7.0])):
        expected = by_definition(*data, ties, coefficients)
        assert likelihood.value(coefficients) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", [2, 7, 1024])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("tied", [True, False])
def test_derivatives_are_those_of_the_value(ties, tied, block, monkeypatch):
    monkeypatch.setattr(_partial_likelihood, "_BLOCK", block)
    likelihood = PartialLikelihood(*rows(tied=tied), ties)
    place = np.array([0.5, -1.0, 0.3])
    gradient, hessian = likelihood.derivatives(place)
    np.testing.assert_allclose(gradient, differences(likelihood.value, place), rtol=1e-6)
    of_gradient = differences(lambda at: likelihood.derivatives(at)[0], place)
    np.testing.assert_allclose(hessian, of_gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(hessian, hessian.T)
    assert np.linalg.eigvalsh(hessian)[-1] < 0


def test_both_rules_agree_where_no_times_are_tied():
    data, place = rows(tied=False), np.array([0.5, -1.0, 0.3])
    efron, breslow = (PartialLikelihood(*data, ties) for ties in TIES)
    assert efron.value(place) == breslow.value(place)
    np.testing.assert_array_equal(efron.derivatives(place)[1], breslow.derivatives(place)[1])


def test_a_common_factor_of_all_hazards_changes_nothing():
    z, *others = rows()
    place = np.array([0.5, -1.0, 0.3])
    moved = PartialLikelihood(z + 40.0, *others, "efron")
    expected = PartialLikelihood(z, *others, "efron")
    assert moved.value(place) == pytest.approx(expected.value(place), rel=1e-10)
    np.testing.assert_allclose(moved.derivatives(place)[0], expected.derivatives(place)[0], 1e-8)


def test_hazards_that_differ_beyond_all_measure_have_no_value():
    likelihood = PartialLikelihood(*rows(), "efron")
    assert likelihood.value(np.array([1e3, 0.0, 0.0])) == -np.inf
    assert likelihood.is_at_its_limit(np.array([1e3, 0.0, 0.0]))
    assert not likelihood.is_at_its_limit(np.ones(3))


@pytest.mark.parametrize(("ties", "steps"), [("breslow", 3 / 4), ("efron", 1 / 4 + 1 / 3 + 1 / 2)])
def test_the_hazard_of_three_events_among_four_at_one_time(ties, steps):
    time, event = np.array([2.0, 2.0, 2.0, 2.0, 1.0]), np.array([True, True, False, True, False])
    likelihood = PartialLikelihood(np.zeros((5, 1)), time, event, np.ones(5), ties)
    times, hazard = likelihood.cumulative_hazard(np.zeros(5))
    np.testing.assert_array_equal(times, [2.0])
    np.testing.assert_allclose(hazard, [steps])


def test_without_features_breslows_hazard_is_nelson_and_aalens():
    _, time, event, weight = rows()
    likelihood = PartialLikelihood(np.zeros((60, 1)), time, event, weight, "breslow")
    times, hazard = likelihood.cumulative_hazard(np.zeros(60))
    np.testing.assert_array_equal(times, np.unique(time[event]))
    steps = [weight[event & (time == t)].sum() / weight[time >= t].sum() for t in times]
    np.testing.assert_allclose(hazard, np.cumsum(steps))
