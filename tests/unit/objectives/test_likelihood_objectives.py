import pickle

import numpy as np
import pytest
from scipy.stats import gumbel_l, gumbel_r, laplace_asymmetric, norm

from censquant._engine.losses._likelihoods import SMALLEST_SCALE
from censquant._engine.objectives._likelihoods import (
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    Likelihood,
    NormalLikelihood,
)
from oracles import slow_asymmetric_laplace, slow_location_scale
from toys import censored_rows

LEVELS = np.array([0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999])


def normal_law(output):
    return norm(loc=output[:, :1], scale=np.logaddexp(0, output[:, 1:]) + SMALLEST_SCALE)


def gumbel_law(output):
    return gumbel_l(loc=output[:, :1], scale=np.logaddexp(0, output[:, 1:]) + SMALLEST_SCALE)


def mirrored_law(output):
    return gumbel_r(loc=output[:, :1], scale=np.logaddexp(0, output[:, 1:]) + SMALLEST_SCALE)


def laplace_law(output):
    return laplace_asymmetric(
        np.exp(output[:, 2:]), loc=output[:, :1], scale=np.exp(output[:, 1:2]) / np.sqrt(2)
    )


OBJECTIVES = {
    "normal": (NormalLikelihood(), normal_law, 2),
    "gumbel": (GumbelLikelihood(), gumbel_law, 2),
    "mirrored gumbel": (GumbelLikelihood(mirrored=True), mirrored_law, 2),
    "laplace": (AsymmetricLaplaceLikelihood(), laplace_law, 3),
}
ORACLES = {
    "normal": lambda *rows: slow_location_scale(*rows, "normal"),
    "gumbel": lambda *rows: slow_location_scale(*rows, "gumbel"),
    "mirrored gumbel": lambda *rows: slow_location_scale(*rows, "mirrored gumbel"),
    "laplace": slow_asymmetric_laplace,
}


@pytest.fixture(params=OBJECTIVES)
def name(request):
    return request.param


def test_it_has_one_output_a_parameter(name):
    objective, _, n_outputs = OBJECTIVES[name]
    assert objective.n_outputs == n_outputs


def test_quantiles_are_those_of_scipy(name):
    objective, law, n_outputs = OBJECTIVES[name]
    output = np.random.default_rng(0).uniform(-2, 2, size=(40, n_outputs))
    quantiles = objective.quantiles(output, LEVELS)
    assert quantiles.dtype == np.float64
    np.testing.assert_allclose(quantiles, law(output).ppf(LEVELS), rtol=1e-12, atol=1e-12)
    assert (np.diff(quantiles, axis=1) > 0).all()


@pytest.mark.parametrize("raw", [-30.0, 30.0])
def test_quantiles_of_extreme_parameters_are_finite_and_in_order(name, raw):
    objective, _, n_outputs = OBJECTIVES[name]
    for sign in (1, -1):
        output = np.array([[1.0, raw, sign * raw][:n_outputs]], dtype=np.float32)
        quantiles = objective.quantiles(output, LEVELS)
        assert np.isfinite(quantiles).all()
        assert (np.diff(quantiles) >= 0).all()


def test_strong_asymmetry_leaves_one_side_exponential():
    sigma = np.sqrt(2)
    output = np.array([[0.0, 0.0, -12.0], [0.0, 0.0, 12.0]])
    late, early = AsymmetricLaplaceLikelihood().quantiles(output, LEVELS)
    np.testing.assert_allclose(late, -np.log1p(-LEVELS) * np.exp(12) / sigma, rtol=1e-6)
    np.testing.assert_allclose(early, np.log(LEVELS) * np.exp(12) / sigma, rtol=1e-6)


def test_loss_and_gradient_are_those_of_the_definition(name):
    objective, _, n_outputs = OBJECTIVES[name]
    rows = censored_rows(20)
    output = np.random.default_rng(1).normal(size=(20, n_outputs)).astype(np.float32)
    out = np.full_like(output, np.nan)
    loss = objective.gradient(output, rows, out)
    expected, gradient = ORACLES[name](output, rows.time, rows.event, rows.weight)
    assert isinstance(loss, float)
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(out, gradient, rtol=1e-4, atol=1e-6)


def test_the_loss_judges_validation_rows_itself(name):
    objective, _, n_outputs = OBJECTIVES[name]
    rows, output = censored_rows(20), np.zeros((20, n_outputs), dtype=np.float32)
    loss = objective.gradient(output, rows, np.empty_like(output))
    assert objective.validation_loss(output, rows) == loss
    np.testing.assert_array_equal(output, 0)


def test_no_row_is_dropped_and_nothing_is_learned_beforehand(name):
    objective, *_ = OBJECTIVES[name]
    rows = censored_rows(5)
    assert objective.prepare(rows) is rows
    assert objective.bind(rows) is objective


def test_it_can_be_pickled(name):
    objective, *_ = OBJECTIVES[name]
    assert pickle.loads(pickle.dumps(objective)) == objective


def test_a_likelihood_must_say_its_gradient():
    with pytest.raises(NotImplementedError):
        Likelihood().gradient(np.zeros((1, 2)), censored_rows(1), np.empty((1, 2)))
