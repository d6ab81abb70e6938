"""The Kaplan-Meier curve as a method without features."""

import numpy as np
import pytest

from censquant.survival import kaplan_meier
from censquant_bench import KaplanMeierBaseline

Y = [1.0, 2.0, 3.0, 4.0, 5.0], [True, False, True, True, False]


@pytest.fixture
def model():
    return KaplanMeierBaseline().fit(np.zeros((5, 2)), Y)


def test_everybody_gets_the_curve(model):
    times = np.linspace(0, 6, 25)
    survival = model.predict_curve(np.ones((3, 2))).survival(times)
    np.testing.assert_array_equal(survival, np.tile(kaplan_meier(*Y)(times), (3, 1)))


@pytest.mark.parametrize("horizon", [0.5, 1.0, 3.5, 5.0, 9.0])
def test_the_restricted_mean_is_the_area_under_the_curve(model, horizon):
    middles = (np.arange(100_000) + 0.5) * horizon / 100_000
    area = kaplan_meier(*Y)(middles).mean() * horizon
    found = model.predict_curve(np.ones((2, 2))).restricted_mean(horizon)
    np.testing.assert_allclose(found, [area, area], rtol=1e-4)


def test_quantiles_never_reached_are_the_last_time(model):
    found = model.predict_quantiles(np.ones((2, 2)), [0.2, 0.9])
    np.testing.assert_array_equal(found, [[1.0, 5.0], [1.0, 5.0]])
