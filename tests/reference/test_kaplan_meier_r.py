from pathlib import Path

import numpy as np
import pytest

from censquant.survival import kaplan_meier

DATA = Path(__file__).parent / "data"


def table(name):
    """Columns of a reference file by their names."""
    return np.genfromtxt(DATA / name, delimiter=",", names=True, deletechars="")


@pytest.fixture(scope="module")
def curve():
    rows = table("crq_data.csv")
    return kaplan_meier(rows["time"], rows["event"])


def test_the_curve_is_that_of_survfit(curve):
    expected = table("km.csv")
    np.testing.assert_allclose(curve.time, expected["time"], rtol=1e-12)
    np.testing.assert_allclose(curve.survival, expected["surv"], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(curve.n_events, expected["n.event"])
    np.testing.assert_array_equal(curve.n_censored, expected["n.censor"])


def test_quantiles_are_those_of_the_intercept_that_crq_fits(curve):
    path = table("crq_intercept_pivot.csv")
    # Each row holds from its level up to the next, and crq repeats the last time at the end.
    inside = (path["tau"][:-1] + path["tau"][1:]) / 2
    np.testing.assert_allclose(curve.quantile(inside), path["(Intercept)"][:-1], rtol=1e-12)


def test_a_level_that_a_step_reaches_exactly_belongs_to_that_step(curve):
    path = table("crq_intercept_pivot.csv")
    times = curve.quantile(path["tau"][1:])
    np.testing.assert_allclose(times, path["(Intercept)"][:-1], rtol=1e-12)
