"""Quantile regression as a linear programme: pivots, their proof, and HiGHS behind them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from censquant.estimators.linear import _programme
from censquant.estimators.linear._programme import Programme


def loss(X, y, lower, upper, total, beta):
    residual = y - X @ beta
    return float((np.where(residual > 0, upper, lower) * residual).sum() + total @ beta)


def primal(X, y, lower, upper, total):
    """Lowest loss by the programme as it is written down, or None if there is none."""
    n, p = X.shape
    done = linprog(
        np.concatenate((total, upper, -lower)),
        A_eq=np.hstack((X, np.eye(n), -np.eye(n))),
        b_eq=y,
        bounds=[(None, None)] * p + [(0, None)] * 2 * n,
        method="highs",
    )
    return done.fun if done.status == 0 else None


@st.composite
def programmes(draw):
    """Designs and times with and without ties, weights with and without zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(6, 40)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, p)) if draw(st.booleans()) else rng.integers(0, 3, (n, p)) * 1.0
    X[:, 0] = 1.0
    X[:p] += np.diag(np.full(p, 0.5))
    y = rng.normal(size=n) if draw(st.booleans()) else rng.integers(0, 4, n) / 4.0
    if np.linalg.matrix_rank(X) < p:
        X = np.vander(np.linspace(0.1, 1, n), p, increasing=True)
    return X, y, rng


@given(programmes(), st.lists(st.floats(0.02, 0.98), min_size=1, max_size=4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_loss_is_the_lowest_there_is_whatever_was_solved_before(problem, taus, far):
    X, y, rng = problem
    programme = Programme(X, y)
    for tau in taus:
        weight = rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.8)
        weight[: X.shape[1]] += 0.1
        # Mass at infinity, as that of censored rows; with much of it there is no solution.
        total = -tau * (rng.exponential(size=len(y)) * 0.2 * far) @ X
        arguments = weight * (tau - 1), weight * tau, total
        beta, expected = programme.solve(*arguments), primal(X, y, *arguments)
        assert (beta is None) == (expected is None)
        if beta is not None:
            assert loss(X, y, *arguments, beta) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = np.column_stack((np.ones(50), rng.normal(size=(50, 2))))
    return X, rng.normal(size=50)


def bounds(n, tau):
    return np.full(n, tau - 1.0), np.full(n, tau), np.zeros(3)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_highs_takes_over_with_the_same_result_where_pivots_come_to_no_end(
    problem, tau, monkeypatch
):
    expected = Programme(*problem).solve(*bounds(50, tau))
    monkeypatch.setattr(_programme, "_PIVOTS_PER_COLUMN", 0)
    np.testing.assert_allclose(
        Programme(*problem).solve(*bounds(50, tau)), expected, rtol=0, atol=1e-13
    )


def test_pivots_go_on_from_where_highs_left(problem, monkeypatch):
    programme = Programme(*problem)
    monkeypatch.setattr(_programme, "_PIVOTS_PER_COLUMN", 0)
    programme.solve(*bounds(50, 0.5))
    monkeypatch.undo()
    expected = Programme(*problem).solve(*bounds(50, 0.55))
    monkeypatch.setattr(Programme, "_by_highs", None)
    np.testing.assert_allclose(programme.solve(*bounds(50, 0.55)), expected, rtol=0, atol=1e-13)


def test_the_fit_passes_exactly_through_as_many_rows_as_there_are_coefficients(problem):
    X, y = problem
    beta = Programme(X, y).solve(*bounds(50, 0.3))
    assert (np.abs(y - X @ beta) < 1e-14).sum() == 3


def test_two_equally_good_solutions_give_one_of_them():
    beta = Programme(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 4.0])).solve(
        np.full(4, -0.5), np.full(4, 0.5), np.zeros(1)
    )
    assert beta in (2.0, 3.0)


def test_a_loss_that_falls_for_ever_has_no_coefficients(problem):
    X, y = problem
    lower, upper, _ = bounds(50, 0.5)
    assert Programme(X, y).solve(lower, upper, -30.0 * X[0]) is None


def test_highs_without_a_vertex_gives_its_own_coefficients(problem, monkeypatch):
    expected = Programme(*problem).solve(*bounds(50, 0.5))
    monkeypatch.setattr(_programme, "_PIVOTS_PER_COLUMN", 0)
    monkeypatch.setattr(_programme, "_ILL_CONDITIONED", 0.0)
    np.testing.assert_allclose(Programme(*problem).solve(*bounds(50, 0.5)), expected, atol=1e-9)


def test_a_programme_that_highs_gives_up_is_an_error(problem, monkeypatch):
    class Failure:
        status, message = 4, "Numerical difficulties."

    monkeypatch.setattr(_programme, "_PIVOTS_PER_COLUMN", 0)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *arguments, **keywords: Failure)
    with pytest.raises(
        RuntimeError, match=r"^The linear programme was not solved: Numerical difficulties\.$"
    ):
        Programme(*problem).solve(*bounds(50, 0.5))
