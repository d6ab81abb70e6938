"""Newton's method finds minima of convex functions, and says where it does not."""

import numpy as np
import pytest

from censquant.estimators._cox_likelihood import minimize


class Of:
    """A function given by three others."""

    def __init__(self, value, gradient, hessian):
        self.value = value
        self._gradient, self._hessian = gradient, hessian

    def derivatives(self, place):
        return self._gradient(place), self._hessian(place)


def test_a_parabola_takes_one_step_and_one_to_confirm():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    b = np.array([1.0, -4.0])
    found = minimize(
        Of(lambda x: x @ a @ x / 2 - b @ x, lambda x: a @ x - b, lambda x: a), np.zeros(2)
    )
    np.testing.assert_allclose(found.place, np.linalg.solve(a, b), rtol=1e-12)
    assert found.n_steps == 2
    assert found.converged


@pytest.mark.parametrize("start", [-3.0, 3.0, 6.0])
def test_steps_that_overshoot_are_shortened(start):
    # Newton's full steps diverge here from every start beyond 1.09.
    function = Of(
        lambda x: float(np.logaddexp(x, -x).sum()),
        np.tanh,
        lambda x: np.diag(1.0 - np.tanh(x) ** 2),
    )
    found = minimize(function, np.array([start]))
    assert abs(found.place[0]) < 1e-6
    assert found.converged


def test_a_hessian_that_is_singular_up_to_rounding_is_damped():
    hessian = np.array([[2.0, 2.0], [2.0, 2.0 - 1e-12]])
    function = Of(
        lambda x: float((x.sum() - 1.0) ** 2),
        lambda x: 2 * (x.sum() - 1.0) * np.ones(2),
        lambda x: hessian,
    )
    found = minimize(function, np.zeros(2))
    np.testing.assert_allclose(found.place, [0.5, 0.5], atol=1e-2)
    assert found.place.sum() == pytest.approx(1.0, abs=1e-6)
    assert found.converged


def test_a_wall_in_front_of_the_minimum_is_reported():
    function = Of(
        lambda x: float((x[0] - 2.0) ** 2) if x[0] < 1.0 else np.inf,
        lambda x: 2 * (x - 2.0),
        lambda x: 2 * np.eye(1),
    )
    found = minimize(function, np.zeros(1))
    assert 0.99 < found.place[0] < 1.0
    assert not found.converged


def test_a_function_without_a_minimum_ends_after_a_hundred_steps():
    function = Of(lambda x: -float(x[0]), lambda x: -np.ones(1), lambda x: np.eye(1))
    found = minimize(function, np.zeros(1))
    assert found.n_steps == 100
    assert not found.converged
