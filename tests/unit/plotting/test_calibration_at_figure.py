import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from censquant.exceptions import FewEventsWarning
from censquant.metrics import calibration_at
from censquant.plotting import plot_calibration_at

RATE = np.random.default_rng(0).uniform(0.2, 2.0, size=300)
LIFE = np.random.default_rng(1).exponential(1 / RATE)
FOUND = calibration_at(1 - np.exp(-RATE), None, LIFE, time=1.0)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_the_band_and_the_groups_are_drawn():
    ax = plot_calibration_at(FOUND, unit="years")
    assert_allclose(ax.lines[0].get_xydata(), np.column_stack((FOUND.risk, FOUND.curve)))
    assert_allclose(ax.lines[1].get_xydata(), [one[:2] for one in FOUND.bins])
    assert legend(ax) == ["observed", "95 % band", "groups", "ideal"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "predicted risk by 1 years",
        "observed risk by 1 years",
    )
    assert ax.get_xlim() == ax.get_ylim()


def test_several_models_have_a_curve_each():
    low = calibration_at(0.5 - 0.5 * np.exp(-RATE), None, LIFE, time=1.0)
    ax = plot_calibration_at({"right": FOUND, "too low": low})
    assert legend(ax) == ["right", "too low", "ideal"]
    assert len(ax.lines) == 3


def test_groups_alone_are_drawn_where_there_is_no_curve():
    with pytest.warns(FewEventsWarning):
        found = calibration_at(np.linspace(0.01, 0.05, 300), None, LIFE + 0.9, time=0.92)
    assert legend(plot_calibration_at(found)) == ["observed", "groups", "ideal"]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(TypeError, match=re.escape("or map names to such results, got [0.1]")):
        plot_calibration_at([0.1])
    other = calibration_at(1 - np.exp(-0.5 * RATE), None, LIFE, time=0.5)
    with pytest.raises(ValueError, match=r"^calibration must be about one time, got 0.5, 1: draw"):
        plot_calibration_at({"a": FOUND, "b": other})
