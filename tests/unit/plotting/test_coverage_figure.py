import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from censquant._calibration._coverage import CoverageRow, CoverageTable
from censquant.metrics import coverage
from censquant.plotting import plot_coverage

TIMES = np.arange(1.0, 41.0)
GROUPS = np.where(np.arange(40) % 2, "m", "f")
BY_SEX = coverage(TIMES, 4.5, np.inf, groups=GROUPS)
TABLE = [[0.9, 0.8, 0.95], [0.7, 0.6, 0.8]]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def dots(ax):
    """Estimates of each series, from the top row down."""
    return [line.get_xdata().tolist() for line in ax.lines]


def segments(group):
    return [(one[0, 0], one[1, 0]) for one in group.get_segments()]


def test_each_group_has_its_estimate_and_its_interval():
    ax = plot_coverage(BY_SEX, nominal=0.9)
    assert dots(ax) == [[BY_SEX["f"].estimate, BY_SEX["m"].estimate]]
    intervals, promise = ax.collections
    assert segments(intervals) == [
        (one.confidence_low, one.confidence_high) for one in BY_SEX.values()
    ]
    assert segments(promise) == [(0.9, 0.9)] * 2
    assert [label.get_text() for label in ax.get_yticklabels()] == ["f", "m"]
    assert legend(ax) == ["coverage", "promised"]


def test_arrays_are_drawn_as_they_are():
    ax = plot_coverage(TABLE, labels=["young", "old"])
    assert dots(ax) == [[0.9, 0.7]]
    assert segments(ax.collections[0]) == [(0.8, 0.95), (0.6, 0.8)]
    assert legend(ax) == ["coverage"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["young", "old"]


def test_levels_as_labels_are_their_own_promise():
    levels = dict.fromkeys((0.8, 0.95), BY_SEX["f"])
    ax = plot_coverage(levels)
    assert segments(ax.collections[1]) == [(0.8, 0.8), (0.95, 0.95)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0.8", "0.95"]


def test_each_row_may_have_a_promise_of_its_own():
    ax = plot_coverage(TABLE, nominal=[0.9, 0.8])
    assert segments(ax.collections[1]) == [(0.9, 0.9), (0.8, 0.8)]


def test_before_and_after_lie_apart_in_one_row_and_differ_in_shape_and_colour():
    ax = plot_coverage(TABLE, before=[[0.5, 0.4, 0.6]] * 2, nominal=0.9)
    after, before = ax.lines
    assert before.get_xdata().tolist() == [0.5, 0.5]
    assert (before.get_ydata() < after.get_ydata()).all()  # the first row is at the top
    assert before.get_marker() != after.get_marker()
    assert not same_color(before.get_color(), after.get_color())
    assert legend(ax) == ["after", "before", "promised"]


PROMISES = CoverageTable(
    (
        CoverageRow("lower", 0.9, 0.91, 0.01, 0.83, 1.0),
        CoverageRow("lower", 0.95, 0.99, 0.02, 0.9, 1.0, "men"),
        CoverageRow("upper", 0.9, 0.88, 0.01, 0.7, 0.6),
        CoverageRow("upper", 0.95, np.nan, np.nan, 0.7, 0.0),
    )
)


def test_the_table_of_an_estimator_says_what_is_promised_and_how_it_was():
    ax = plot_coverage(PROMISES)
    assert dots(ax) == [[0.91, 0.99], [0.83, 0.9]]
    after, _, promise = ax.collections
    assert segments(after) == [
        pytest.approx((0.91 - 0.0196, 0.91 + 0.0196), abs=1e-5),
        pytest.approx((0.99 - 0.0392, 1.0), abs=1e-5),
    ]
    assert segments(promise) == [(0.9, 0.9), (0.95, 0.95)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0.9", "0.95 men"]
    assert legend(ax) == ["after", "before", "promised"]


def test_upper_bounds_that_are_all_infinite_are_left_out():
    assert dots(plot_coverage(PROMISES, side="upper")) == [[0.88], [0.7]]


def test_the_first_row_is_at_the_top():
    bottom, top = plot_coverage(TABLE).get_ylim()
    assert top < 0 < 1 < bottom


def test_given_axes_are_used_and_returned():
    ax = Figure().subplots()
    assert plot_coverage(TABLE, ax=ax) is ax


def test_pyplot_does_not_know_the_figure(tmp_path):
    known = plt.get_fignums()
    plot_coverage(BY_SEX, nominal=0.9).figure.savefig(tmp_path / "figure.png")
    assert plt.get_fignums() == known
    assert np.ptp(plt.imread(tmp_path / "figure.png")) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"coverage": [0.9, 0.8]},
            "coverage must have shape (k, 3), estimate and both ends of its interval, got (2,).",
        ),
        (
            {"before": np.ones((2, 2))},
            "before must have shape (k, 3), estimate and both ends of its interval, got (2, 2).",
        ),
        ({"before": [[0.5, 0.4, 0.6]]}, "before must have the rows of coverage, 1, 2, got 1."),
        ({"coverage": {}}, "coverage must have at least one row, got none."),
        ({"nominal": [0.9]}, "nominal must be a number or have one for each of 2 rows, got shape"),
        ({"nominal": 90}, "nominal must be inside (0, 1), got [90]."),
        ({"side": "both"}, "side must be"),
        ({"labels": ["a"]}, "labels must have one name for each row of coverage, got 1 for 2."),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_coverage(**{"coverage": TABLE, **arguments})


def test_a_mapping_to_something_else_is_refused():
    message = "coverage must map labels to results of censquant.metrics.coverage, got float."
    with pytest.raises(TypeError, match=re.escape(message)):
        plot_coverage({"f": 0.9})
