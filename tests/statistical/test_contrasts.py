"""Intervals of contrasts hold the truth about as often as they say.

A short version of ``bench/scripts/contrasts.py``.
"""

import numpy as np
import pytest

from censquant import AFTRegressor, CoxQuantileRegressor
from censquant.inspection import contrast

pytestmark = pytest.mark.slow

SPREADS = {"proportional on no scale": (0.5, 0.5), "crossing hazards": (0.3, 0.9)}
HORIZON = 6.0


def times(x, arm, noise, spreads):
    spread = np.where(arm, spreads[1], spreads[0])
    return np.exp(1.0 + 0.3 * arm + 0.5 * x + spread * noise)


def population(seed, spreads, n=600):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    arm = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-0.8 * x))
    life = times(x, arm, rng.normal(size=n), spreads)
    end = rng.exponential(9.0 * np.exp(0.4 * x))
    X = np.column_stack((arm, x, rng.normal(size=n)))
    return X, (np.minimum(life, end), life <= end)


def truth(spreads, read):
    x, noise = np.random.default_rng(99).normal(size=(2, 400_000))
    untreated, treated = (read(times(x, arm, noise, spreads)) for arm in (False, True))
    return float(treated - untreated)


@pytest.mark.parametrize("spreads", SPREADS.values(), ids=SPREADS)
def test_doubly_robust_intervals_cover_with_a_wrong_model_of_the_event(spreads):
    quantities = {
        "restricted_mean": (HORIZON, lambda time: np.minimum(time, HORIZON).mean()),
        "risk": (HORIZON / 2, lambda time: (time <= HORIZON / 2).mean()),
    }
    n_runs = 50
    for what, (at, read) in quantities.items():
        exact, rows = truth(spreads, read), []
        for run in range(n_runs):
            rows += contrast(
                CoxQuantileRegressor(), *population(run, spreads), feature=0, to=1, from_=0,
                what=what, at=at, method="doubly_robust",
            ).rows  # fmt: skip
        covered = np.mean([row.low <= exact <= row.high for row in rows])
        found = np.array([row.difference for row in rows])
        error = np.mean([row.high - row.low for row in rows]) / 3.92
        # Four standard errors below, and the interval is not too wide either.
        assert covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_runs)
        assert abs(found.mean() - exact) < 4 * error / np.sqrt(n_runs)
        assert error == pytest.approx(found.std(ddof=1), rel=0.4)


def test_intervals_of_medians_by_bootstrap_cover():
    spreads = (0.5, 0.5)
    exact, covered = truth(spreads, np.median), []
    for run in range(16):
        X, y = population(run, spreads, n=400)
        model = AFTRegressor(distribution="lognormal").fit(X, y)
        (row,) = contrast(
            model, X, y, feature=0, to=1, from_=0, what="median", n_resamples=40, n_jobs=2
        ).rows
        covered.append(row.low <= exact <= row.high)
    assert np.mean(covered) >= 0.75
