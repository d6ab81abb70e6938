"""Newton's method for convex functions, with steps that are shortened until they pay."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from censquant._typing import Floats

# The expected decrease at which the next step is the last one: its own error is the square of it.
_SMALL_DECREASE = 1e-10
_MOST_STEPS = 100
# A step that must be shorter than 2 to the minus this runs against a wall.
_MOST_HALVINGS = 15
# Rounding of a value that is a mean over rows.
_ROUNDING = 1e-13
_FIRST_DAMPING = 1e-10  # of the mean curvature


class Convex(Protocol):
    """A convex function of a vector."""

    def value(self, place: Floats) -> float:
        """Return the value, infinite where the function must not be evaluated."""
        ...

    def derivatives(self, place: Floats) -> tuple[Floats, Floats]:
        """Return gradient and Hessian."""
        ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a search ended.

    Parameters
    ----------
    place : ndarray of shape (p,)
    n_steps : int
    converged : bool
        Whether the value can be lowered by rounding errors at most.
    """

    place: Floats
    n_steps: int
    converged: bool


def minimize(function: Convex, start: Floats) -> Minimum:
    """Return the minimum of a convex function."""
    place, value = start, function.value(start)
    for n_steps in range(1, _MOST_STEPS + 1):
        gradient, hessian = function.derivatives(place)
        step = -_solve(hessian, gradient)
        decrease = -float(gradient @ step)
        for _ in range(_MOST_HALVINGS):
            trial = place + step
            found = function.value(trial)
            if found <= value + _ROUNDING * (1.0 + abs(value)):
                place, value = trial, found
                break
            step *= 0.5
        else:
            return Minimum(place, n_steps, decrease <= _SMALL_DECREASE)
        if decrease <= _SMALL_DECREASE:
            return Minimum(place, n_steps, True)
    return Minimum(place, _MOST_STEPS, False)


def _solve(hessian: Floats, gradient: Floats) -> Floats:
    """Return the solution of a system that may be singular up to rounding."""
    curvature = float(np.trace(hessian)) / len(hessian)
    damping = 0.0
    while True:
        damped = hessian + damping * np.eye(len(hessian))
        try:
            return np.asarray(cho_solve(cho_factor(damped), gradient))
        except LinAlgError:
            damping = max(10.0 * damping, _FIRST_DAMPING * abs(curvature), 1e-300)
