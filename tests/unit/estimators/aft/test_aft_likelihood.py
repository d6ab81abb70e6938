"""The likelihood of rows (entry, lower, upper]: definition, derivatives, known truths."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gumbel_l, logistic, norm

from censquant.estimators._aft_likelihood import LAWS, LogRows, RowsLikelihood, fit_rows

ORACLES = {"weibull": gumbel_l, "lognormal": norm, "loglogistic": logistic}
laws = pytest.mark.parametrize("name", ORACLES)


def rows_of_every_kind(seed=0, n=60):
    """Exact, right-, left- and interval-censored times, half of them of late entry."""
    rng = np.random.default_rng(seed)
    lower, width = rng.exponential(size=(2, n)) + 0.1
    kind = np.arange(n) % 4
    upper = np.choose(kind, [lower, np.full(n, np.inf), lower + width, lower + width])
    lower = np.where(kind == 2, 0.0, lower)
    entry = np.where((np.arange(n) < n // 2) & (kind != 2), 0.5 * lower, 0.0)
    return LogRows.of(lower, upper, entry)


@laws
def test_values_are_densities_and_probabilities_given_the_entry(name):
    rows, law = rows_of_every_kind(), ORACLES[name]
    eta, phi = np.linspace(-1.0, 1.0, 60), 1.4
    found = RowsLikelihood(rows, LAWS[name].residuals).values(eta, phi)
    low, high, start = (phi * end - eta for end in (rows.lower, rows.upper, rows.entry))
    with np.errstate(divide="ignore"):
        share = np.where(low > 0, law.sf(low) - law.sf(high), law.cdf(high) - law.cdf(low))
        whole = np.where(rows.exact, law.logpdf(low) + np.log(phi), np.log(share))
    np.testing.assert_allclose(found, whole - law.logsf(start), rtol=1e-10)


@laws
@pytest.mark.parametrize("place", [-30.0, -5.0, 0.0, 5.0, 6.0])
def test_intervals_far_out_are_integrals_of_the_density(name, place):
    ends = place + np.array([0.0, 0.25])
    rows = LogRows(ends[:1], ends[1:], np.array([-np.inf]))
    found = RowsLikelihood(rows, LAWS[name].residuals).values(np.zeros(1), 1.0)[0]
    law = ORACLES[name]
    middle = law.logpdf(ends.mean())
    share = quad(lambda u: np.exp(law.logpdf(u) - middle), *ends, epsabs=0.0, epsrel=1e-12)[0]
    assert found == pytest.approx(middle + np.log(share), rel=1e-10)


@laws
def test_derivatives_are_those_of_the_values(name):
    likelihood = RowsLikelihood(rows_of_every_kind(), LAWS[name].residuals)
    eta, phi, step = np.linspace(-1.0, 1.0, 60), 1.4, 1e-5
    slopes = likelihood.slopes(eta, phi)
    up, down = likelihood.values(eta + step, phi), likelihood.values(eta - step, phi)
    np.testing.assert_allclose(slopes.eta, (up - down) / (2 * step), rtol=1e-6, atol=1e-7)
    up, down = likelihood.values(eta, phi + step), likelihood.values(eta, phi - step)
    np.testing.assert_allclose(slopes.phi, (up - down) / (2 * step), rtol=1e-6, atol=1e-7)
    up, down = likelihood.slopes(eta + step, phi), likelihood.slopes(eta - step, phi)
    np.testing.assert_allclose(slopes.eta_eta, (up.eta - down.eta) / (2 * step), 1e-6, 1e-7)
    np.testing.assert_allclose(slopes.eta_phi, (up.phi - down.phi) / (2 * step), 1e-6, 1e-7)
    up, down = likelihood.slopes(eta, phi + step), likelihood.slopes(eta, phi - step)
    np.testing.assert_allclose(slopes.phi_phi, (up.phi - down.phi) / (2 * step), 1e-6, 1e-7)


@laws
def test_the_likelihood_without_late_entry_is_concave(name):
    rows = rows_of_every_kind()
    rows = LogRows(rows.lower, rows.upper, np.full(60, -np.inf))
    for eta, phi in ((0.0, 1.0), (-3.0, 0.3), (2.0, 4.0)):
        slopes = RowsLikelihood(rows, LAWS[name].residuals).slopes(np.full(60, eta), phi)
        assert (slopes.eta_eta <= 1e-12).all()
        determinant = slopes.eta_eta * slopes.phi_phi - slopes.eta_phi**2
        assert (determinant >= -1e-9 * np.abs(slopes.eta_eta * slopes.phi_phi)).all()


@laws
def test_narrow_intervals_become_densities(name):
    exact = LogRows.of(np.array([1.7]), np.array([1.7]))
    width = 1e-6
    narrow = LogRows(exact.lower - width / 2, exact.lower + width / 2, exact.entry)
    law, at = LAWS[name].residuals, (np.array([0.3]), 1.2)
    probability = RowsLikelihood(narrow, law).values(*at)
    density = RowsLikelihood(exact, law).values(*at)
    np.testing.assert_allclose(probability - np.log(width), density, atol=1e-8)


def test_a_row_that_could_not_be_missed_says_nothing():
    rows = LogRows.of(np.zeros(2), np.full(2, np.inf), np.array([0.0, 3.0]))
    likelihood = RowsLikelihood(rows, LAWS["lognormal"].residuals)
    np.testing.assert_array_equal(likelihood.values(np.zeros(2), 1.0), 0.0)
    np.testing.assert_allclose(likelihood.slopes(np.zeros(2), 1.0), 0.0, atol=1e-15)


def drawn(name, n=20_000):
    """Times with known coefficients: level 0.5, slopes 0.8 and -0.4, scale 0.7."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(n, 2))
    residual = ORACLES[name].rvs(size=n, random_state=rng)
    return rng, z, np.exp(0.5 + z @ [0.8, -0.4] + 0.7 * residual)


def recovered(name, z, rows, n_errors=4.0):
    fit = fit_rows(z, rows, np.ones(len(z)), LAWS[name].residuals, 0.0)
    assert fit.converged
    assert not fit.separated
    found = np.array([fit.level, *fit.slopes, 1.0]) / fit.phi
    # Of the coefficients in these units, by their first-order change.
    change = np.eye(4) / fit.phi
    change[:, 3] = -found / fit.phi
    error = np.sqrt(np.diagonal(change @ fit.covariance @ change.T))
    assert (error < 0.05).all()
    assert (np.abs(found - [0.5, 0.8, -0.4, 0.7]) < n_errors * error).all()


@laws
def test_the_truth_is_recovered_from_visits_between_which_events_happen(name):
    rng, z, time = drawn(name)
    # Visits every year from a random date on, the last of them soon after four years.
    first = rng.uniform(0.0, 1.0, len(time))
    place, last = np.ceil(time - first), first + np.ceil(4.0 - first)
    upper = first + np.maximum(place, 0.0)
    lower = np.where(place > 0, np.minimum(upper - 1.0, last), 0.0)
    recovered(name, z, LogRows.of(lower, np.where(lower == last, np.inf, upper)))


@laws
def test_the_truth_is_recovered_under_delayed_entry(name):
    rng, z, time = drawn(name, 60_000)
    entry, end = rng.exponential(1.0, len(time)), rng.exponential(6.0, len(time))
    end += entry
    seen = time > entry
    assert 0.4 < seen.mean() < 0.8
    lower, upper = np.minimum(time, end), np.where(time <= end, time, np.inf)
    rows = LogRows.of(lower[seen], upper[seen], entry[seen])
    recovered(name, z[seen], rows)
    blind = fit_rows(
        z[seen],
        LogRows.of(lower[seen], upper[seen]),
        np.ones(seen.sum()),
        LAWS[name].residuals,
        0.0,
    )
    assert abs(blind.level / blind.phi - 0.5) > 0.1


def test_the_truth_is_recovered_from_left_censored_times():
    rng, z, time = drawn("lognormal")
    limit = rng.exponential(1.0, len(time))
    seen = time >= limit
    recovered(
        "lognormal",
        z,
        LogRows.of(np.where(seen, time, 0.0), np.maximum(time, limit)),
    )
