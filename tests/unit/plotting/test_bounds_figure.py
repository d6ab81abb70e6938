import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from censquant.plotting import plot_bounds

Y = [3.0, 1.0, 2.0, 5.0, 9.0], [True, True, False, False, True]
LOWER = [1.0, 4.0, 3.0, 2.0, 5.0]


def marks(ax):
    """Points of each kind of mark by its name in the legend."""
    found = ax.get_legend()
    names = [text.get_text() for text in found.get_texts()]
    by_face = {}
    for line in ax.lines:
        if line.get_marker() in ("o", "^"):
            key = line.get_marker(), line.get_color(), line.get_markerfacecolor()
            by_face[key] = line.get_xydata().tolist()
    return names, by_face


def test_individuals_are_sorted_by_their_lower_bound():
    ax = plot_bounds(Y, LOWER)
    assert ax.lines[0].get_ydata().tolist() == [1, 2, 3, 4, 5]


def test_kept_and_broken_promises_and_censored_times_differ():
    names, by_face = marks(plot_bounds(Y, LOWER))
    assert names == [
        "lower bound",
        "event, as promised",
        "event, promise broken",
        "censored later",
        "censored before",
    ]
    assert list(by_face.values()) == [[[1, 3], [5, 9]], [[4, 1]], [[2, 5]], [[3, 2]]]
    kept, broken, later, before = by_face
    assert (kept[0], broken[0], later[0], before[0]) == ("o", "o", "^", "^")
    assert not same_color(kept[1], broken[1])
    assert same_color(before[2], "white")
    assert not same_color(later[2], "white")


def test_a_kind_of_mark_that_is_not_there_is_not_named():
    assert marks(plot_bounds([3.0, 4.0], [1.0, 2.0]))[0] == ["lower bound", "event, as promised"]


def test_an_event_past_the_upper_bound_broke_the_promise():
    ax = plot_bounds([3.0, 4.0], [1.0, 2.0], [2.5, 5.0])
    assert marks(ax)[0] == [
        "lower bound",
        "interval",
        "event, as promised",
        "event, promise broken",
    ]


def test_an_infinite_upper_bound_is_drawn_to_the_top_and_named():
    ax = plot_bounds([3.0, 4.0], [1.0, 2.0], [6.0, np.inf])
    assert "interval without end" in marks(ax)[0]
    closed, open_ended = (bar for bar in ax.patches)
    assert (closed.get_y(), closed.get_y() + closed.get_height()) == (1.0, 6.0)
    assert open_ended.get_y() + open_ended.get_height() > 6.0
    assert not same_color(closed.get_facecolor(), open_ended.get_facecolor())


def test_no_lower_bound_leaves_a_gap_in_the_line():
    ax = plot_bounds([3.0, 4.0], [-np.inf, 2.0])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [np.nan, 2.0])


def test_times_begin_at_zero_unless_some_are_negative():
    assert plot_bounds(Y, LOWER).get_ylim()[0] == 0
    assert plot_bounds([-3.0, 4.0], [-5.0, 2.0]).get_ylim()[0] < -3


def test_the_axis_names_the_unit_and_may_be_logarithmic():
    ax = plot_bounds(Y, LOWER, log=True, unit="days")
    assert (ax.get_ylabel(), ax.get_yscale()) == ("time (days)", "log")
    assert plot_bounds(Y, LOWER).get_ylabel() == "time"


def test_given_axes_are_used_and_returned():
    ax = Figure().subplots()
    assert plot_bounds(Y, LOWER, ax=ax) is ax


def test_pyplot_does_not_know_the_figure(tmp_path):
    known = plt.get_fignums()
    upper = [np.inf, 8.0, 9.0, np.inf, 10.0]
    plot_bounds(Y, LOWER, upper).figure.savefig(tmp_path / "figure.png")
    assert plt.get_fignums() == known
    assert np.ptp(plt.imread(tmp_path / "figure.png")) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": [[1.0]]}, "lower must have shape (n,) with one row at least, got (1, 1)."),
        ({"lower": [np.nan] * 5}, "lower must not hold NaN, got it in 5 of 5 rows."),
        ({"lower": [1.0]}, "y must have one row for each of lower, got 5 and 1."),
        ({"upper": [9.0]}, "upper must have one bound for each of lower, got 1 and 5."),
        (
            {"upper": [0.5] + [9.0] * 4},
            "lower must not exceed upper, but it does in 1 of 5 rows, the first of them row 0.",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_bounds(**{"y": Y, "lower": LOWER, **arguments})
