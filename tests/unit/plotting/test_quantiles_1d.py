import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

from censquant.datasets import make_norm_uniform
from censquant.plotting import plot_quantiles_1d
from censquant.quantiles._grid import DEFAULT_QUANTILES

TAUS = [0.1, 0.5, 0.9]


@pytest.fixture(scope="module")
def data():
    return make_norm_uniform(60, random_state=0)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_one_line_a_level_in_the_order_of_the_feature(data):
    quantiles = data.true_quantiles(TAUS)
    ax = plot_quantiles_1d(quantiles, data.X, taus=TAUS)
    order = np.argsort(data.X[:, 0])
    assert len(ax.lines) == 3
    for line, column in zip(ax.lines, quantiles.T, strict=True):
        assert_array_equal(line.get_xdata(), data.X[order, 0])
        assert_array_equal(line.get_ydata(), column[order])


def test_the_feature_may_be_a_vector_or_a_column(data):
    quantiles = data.true_quantiles(TAUS)
    column = plot_quantiles_1d(quantiles, data.X, taus=TAUS)
    vector = plot_quantiles_1d(quantiles, data.X[:, 0], taus=TAUS)
    assert_array_equal(column.lines[0].get_xydata(), vector.lines[0].get_xydata())


def test_lines_get_lighter_with_the_level(data):
    ax = plot_quantiles_1d(data.true_quantiles(TAUS), data.X, taus=TAUS)
    lightness = [np.dot(to_rgb(line.get_color()), [0.2126, 0.7152, 0.0722]) for line in ax.lines]
    assert np.all(np.diff(lightness) > 0)
    assert lightness[-1] < 0.8


def test_the_legend_names_levels_from_the_top_then_truth_and_marks(data):
    quantiles = data.true_quantiles(TAUS)
    ax = plot_quantiles_1d(quantiles, data.X, taus=TAUS, true=quantiles, y=data.y)
    levels = ["90 % quantile", "50 % quantile", "10 % quantile"]
    assert legend(ax) == [*levels, "true", "event", "censored"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "time")


def test_true_quantiles_are_dashed_and_black(data):
    quantiles = data.true_quantiles(TAUS)
    ax = plot_quantiles_1d(quantiles + 1, data.X, taus=TAUS, true=quantiles)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 3
    assert {line.get_color() for line in dashed} == {"black"}


def test_events_are_discs_and_censored_rows_are_crosses(data):
    ax = plot_quantiles_1d(data.true_quantiles(TAUS), data.X, taus=TAUS, y=data.y)
    events, censored = ax.lines[3:]
    assert (events.get_marker(), censored.get_marker()) == ("o", "+")
    assert_array_equal(events.get_ydata(), data.y["time"][data.y["event"]])
    assert_array_equal(censored.get_ydata(), data.y["time"][~data.y["event"]])


def test_a_kind_of_mark_that_is_not_there_is_not_named(data):
    quantiles = data.true_quantiles([0.5])
    assert legend(plot_quantiles_1d(quantiles, data.X, taus=[0.5], y=data.target_time)) == [
        "50 % quantile",
        "event",
    ]


def test_of_many_levels_the_legend_names_a_few(data):
    ax = plot_quantiles_1d(data.true_quantiles(DEFAULT_QUANTILES), data.X, taus=DEFAULT_QUANTILES)
    assert len(ax.lines) == 19
    assert legend(ax) == [f"{level} % quantile" for level in (95, 75, 50, 25, 5)]


def test_masked_quantiles_leave_gaps(data):
    quantiles = data.true_quantiles(TAUS)
    quantiles[3:6, 2] = np.inf
    quantiles[7, 2] = np.nan
    ax = plot_quantiles_1d(quantiles, data.X, taus=TAUS)
    assert np.isnan(ax.lines[2].get_ydata()).sum() == 4
    assert np.isfinite(ax.get_ylim()).all()


def test_given_axes_are_used_and_returned(data):
    ax = Figure().subplots()
    assert plot_quantiles_1d(data.true_quantiles(TAUS), data.X, taus=TAUS, ax=ax) is ax
    assert len(ax.lines) == 3


def test_pyplot_does_not_know_the_figure(data, tmp_path):
    before = plt.get_fignums()
    ax = plot_quantiles_1d(data.true_quantiles(TAUS), data.X, taus=TAUS, y=data.y)
    ax.figure.savefig(tmp_path / "figure.png")
    assert plt.get_fignums() == before
    assert np.ptp(plt.imread(tmp_path / "figure.png")) > 0


def test_the_legend_covers_no_data(data):
    ax = plot_quantiles_1d(data.true_quantiles(TAUS), data.X, taus=TAUS, y=data.y)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1 - 1
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones((2, 2))}, "X must have shape (n,) or (n, 1), got (2, 2)."),
        ({"X": 1.0}, "X must have shape (n,) or (n, 1), got ()."),
        (
            {"predicted": np.ones((3, 2))},
            "predicted must have shape (3, 3), with one column for each of taus, got (3, 2).",
        ),
        (
            {"predicted": np.ones((2, 3))},
            "predicted must have shape (3, 3), with one column for each of taus, got (2, 3).",
        ),
        (
            {"true": np.ones(3)},
            "true must have shape (3, 3), with one column for each of taus, got (3,).",
        ),
        ({"y": [1.0, 2.0]}, "y must have one row for each of predicted, got 2 and 3."),
        ({"taus": [0.9, 0.5, 0.1]}, "taus must be strictly increasing and inside (0, 1), got"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    right = {"X": np.arange(3.0), "predicted": np.ones((3, 3)), "taus": TAUS}
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_quantiles_1d(**{**right, **arguments})


def test_a_missing_matplotlib_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = 'plotting needs matplotlib; install it with: pip install "censquant[plot]"'
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        plot_quantiles_1d(np.ones((3, 3)), np.arange(3.0), taus=TAUS)


def test_importing_the_package_does_not_load_matplotlib():
    program = "import sys, censquant.plotting; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
