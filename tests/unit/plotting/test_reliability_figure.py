import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from censquant.datasets import make_norm_uniform, make_weibull
from censquant.metrics import pit_band, pit_curve
from censquant.plotting import plot_reliability

TAUS = np.round(np.arange(0.1, 1.0, 0.1), 1)
DATA = make_weibull(400, random_state=0)
TRUTH = DATA.true_quantiles(TAUS)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def band(group):
    """Lowest and highest value of a filled band at each level."""
    points = group.get_paths()[0].vertices
    levels = np.unique(points[:, 0])
    return np.array(
        [(points[points[:, 0] == x, 1].min(), points[points[:, 0] == x, 1].max()) for x in levels]
    )


def test_the_line_is_the_observed_share_and_the_band_its_limits():
    ax = plot_reliability(DATA.y, TRUTH, TAUS, confidence=0.8)
    nominal, observed = pit_curve(DATA.y, TRUTH, TAUS)
    assert_allclose(ax.lines[0].get_xydata(), np.column_stack((nominal, observed)))
    low, high = pit_band(DATA.y, TRUTH, TAUS, confidence=0.8)
    assert_allclose(band(ax.collections[0]), np.column_stack((low, high)))
    assert legend(ax) == ["predicted", "ideal"]


def test_calibrated_levels_are_nearer_to_the_diagonal_than_early_ones():
    ax = plot_reliability(DATA.y, 0.8 * TRUTH, TAUS, calibrated=TRUTH)
    assert legend(ax) == ["before calibration", "after", "ideal"]
    before, after = (np.abs(line.get_ydata() - line.get_xdata()).max() for line in ax.lines[:2])
    assert after < 0.08 < 0.2 < before


def test_lines_end_where_follow_up_does():
    data = make_norm_uniform(300, random_state=0)
    time = np.minimum(data.y["time"], 11.0)
    y = time, data.y["event"] & (data.y["time"] <= 11.0)
    shares = plot_reliability(y, np.tile([9.0, 10.0, 12.0, 13.0], (300, 1)), [0.1, 0.2, 0.6, 0.8])
    assert np.isnan(shares.lines[0].get_ydata()).tolist() == [False, False, True, True]


def test_columns_from_the_first_infinite_one_on_are_left_out():
    values = TRUTH.copy()
    values[3, 6:] = np.inf
    ax = plot_reliability(DATA.y, TRUTH, TAUS, calibrated=values)
    assert len(ax.lines[0].get_xdata()) == 9
    assert ax.lines[1].get_xdata().tolist() == TAUS[:6].tolist()


def test_both_axes_are_levels_of_one_scale():
    ax = plot_reliability(DATA.y, TRUTH, TAUS)
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)
    assert ax.get_aspect() == 1


def test_given_axes_are_used_and_returned():
    ax = Figure().subplots()
    assert plot_reliability(DATA.y, TRUTH, TAUS, ax=ax) is ax


def test_pyplot_does_not_know_the_figure(tmp_path):
    known = plt.get_fignums()
    plot_reliability(DATA.y, TRUTH, TAUS).figure.savefig(tmp_path / "figure.png")
    assert plt.get_fignums() == known
    assert np.ptp(plt.imread(tmp_path / "figure.png")) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"predicted": TRUTH[:, :3]},
            "predicted must have shape (n, 9), with one column for each of taus, got (400, 3).",
        ),
        (
            {"calibrated": TRUTH[:3]},
            "calibrated must have shape (400, 9), with one column for each of taus, got (3, 9).",
        ),
        ({"y": [1.0, 2.0]}, "y must have one row for each of predicted, got 2 and 400."),
        ({"confidence": 1.5}, "confidence must be"),
        (
            {"calibrated": np.full((400, 9), np.inf)},
            "The quantiles after must be finite at two levels or more, got 0.",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_reliability(**{"y": DATA.y, "predicted": TRUTH, "taus": TAUS, **arguments})
