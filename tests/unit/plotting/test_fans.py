import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from censquant.plotting import plot_fans
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES

TAUS = [0.1, 0.25, 0.5, 0.75, 0.9]
VALUES = np.array([[1.0, 2.0, 3.0, 5.0, 8.0], [2.0, 3.0, 4.0, 5.0, 6.0]])
BANDS = ["10 % to 90 %", "25 % to 75 %", "median"]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars(ax, *, hatched):
    """Row, start and end of all bars with or without hatching, empty ones left out."""
    found = [bar for bar in ax.patches if bool(bar.get_hatch()) == hatched and bar.get_width() > 0]
    return sorted(
        (round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_x() + bar.get_width())
        for bar in found
    )


def ticks(ax):
    """Positions of the median ticks, solid ones and dotted ones."""
    return [[segment[0, 0] for segment in group.get_segments()] for group in ax.collections]


def test_each_row_has_two_nested_bands_and_a_median():
    ax = plot_fans(VALUES, taus=TAUS)
    assert bars(ax, hatched=False) == [(0, 1, 8), (0, 2, 5), (1, 2, 6), (1, 3, 5)]
    wide, narrow = ax.patches[0], ax.patches[2]
    assert wide.get_height() < narrow.get_height()
    assert ticks(ax) == [[3.0, 4.0], []]
    assert bars(ax, hatched=True) == []
    assert legend(ax) == BANDS


def test_the_first_row_is_at_the_top_with_its_name():
    ax = plot_fans(VALUES, taus=TAUS, labels=["Ada", "Ben"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Ada", "Ben"]
    bottom, top = ax.get_ylim()
    assert top < 0 < 1 < bottom


def test_rows_are_numbered_from_one_by_default():
    assert [label.get_text() for label in plot_fans(VALUES, taus=TAUS).get_yticklabels()] == [
        "1",
        "2",
    ]


def test_the_axis_names_the_unit_if_there_is_one():
    assert plot_fans(VALUES, taus=TAUS).get_xlabel() == "time"
    assert plot_fans(VALUES, taus=TAUS, unit="days").get_xlabel() == "time (days)"


def test_what_lies_above_the_identified_level_is_hatched_and_named():
    ax = plot_fans(VALUES, taus=TAUS, identified=[0.75, 0.9])
    assert bars(ax, hatched=False) == [
        (0, 1, 5),
        (0, 2, 5),
        (1, 2, 6),
        (1, 3, 5),
    ]
    assert bars(ax, hatched=True) == [(0, 5, 8)]
    assert ticks(ax) == [[3.0, 4.0], []]
    assert legend(ax) == [*BANDS, "beyond the data"]


def test_a_median_above_the_identified_level_is_dotted():
    ax = plot_fans(VALUES, taus=TAUS, identified=[0.25, 0.5])
    assert bars(ax, hatched=True) == [
        (0, 2, 5),
        (0, 2, 8),
        (1, 4, 5),
        (1, 4, 6),
    ]
    assert ticks(ax) == [[4.0], [3.0]]
    assert legend(ax) == [*BANDS, "beyond the data"]


def test_with_no_identified_level_all_is_hatched():
    ax = plot_fans(VALUES, taus=TAUS, identified=[0.0, 0.0])
    assert bars(ax, hatched=False) == []
    assert bars(ax, hatched=True) == [
        (0, 1, 8),
        (0, 2, 5),
        (1, 2, 6),
        (1, 3, 5),
    ]
    assert ticks(ax) == [[], [3.0, 4.0]]


def test_an_identified_level_between_two_of_the_grid_is_interpolated():
    ax = plot_fans(VALUES[:1], taus=TAUS, identified=[0.6])
    assert_allclose([bar[1] for bar in bars(ax, hatched=True)], 3.8)


def test_hatched_parts_are_paler_than_the_band():
    ax = plot_fans(VALUES, taus=TAUS, identified=[0.75, 0.75])
    pale = [bar.get_facecolor() for bar in ax.patches if bar.get_hatch()]
    assert all(min(color[:3]) > 0.9 for color in pale)


def test_bands_off_the_grid_are_read_from_the_curve():
    values = np.cumsum(np.ones((1, 19)), axis=1) ** 1.5
    ax = plot_fans(values, taus=DEFAULT_QUANTILES)
    low, high = QuantileCurve(values, DEFAULT_QUANTILES).at([0.1, 0.9])[0]
    assert bars(ax, hatched=False)[0][1:3] == pytest.approx((low, high))


def test_a_band_that_the_grid_does_not_reach_is_left_out():
    ax = plot_fans(VALUES[:, 1:4], taus=TAUS[1:4])
    assert bars(ax, hatched=False) == [(0, 2, 5), (1, 3, 5)]
    assert legend(ax) == ["25 % to 75 %", "median"]


def test_crossed_quantiles_are_sorted():
    ax = plot_fans(VALUES[:, ::-1], taus=TAUS)
    assert bars(ax, hatched=False) == bars(plot_fans(VALUES, taus=TAUS), hatched=False)


def test_an_event_is_a_disc_and_a_censored_time_an_open_arrow():
    ax = plot_fans(VALUES, taus=TAUS, y=([2.5, 7.0], [True, False]))
    event, censored = ax.lines
    assert (event.get_marker(), event.get_xydata().tolist()) == ("o", [[2.5, 0.0]])
    assert (censored.get_marker(), censored.get_xydata().tolist()) == (">", [[7.0, 1.0]])
    assert same_color(event.get_markerfacecolor(), event.get_color())
    assert same_color(censored.get_markerfacecolor(), "white")
    assert legend(ax) == [*BANDS, "event", "censored"]


def test_a_kind_of_mark_that_is_not_there_is_not_named():
    assert legend(plot_fans(VALUES, taus=TAUS, y=([2.5, 7.0], [True, True]))) == [*BANDS, "event"]


def test_times_that_cannot_be_negative_start_at_zero():
    assert plot_fans(VALUES, taus=TAUS).get_xlim()[0] == 0


def test_times_that_can_be_negative_keep_a_margin():
    assert plot_fans(VALUES - 5, taus=TAUS).get_xlim()[0] < -4


def test_a_negative_observed_time_stays_in_view():
    assert plot_fans(VALUES, taus=TAUS, y=([-2.0, 7.0], [1, 0])).get_xlim()[0] < -2


def test_no_rows_give_empty_axes():
    assert bars(plot_fans(np.empty((0, 5)), taus=TAUS), hatched=False) == []


def test_given_axes_are_used_and_returned():
    ax = Figure().subplots()
    assert plot_fans(VALUES, taus=TAUS, ax=ax) is ax


def test_the_figure_grows_with_the_rows():
    few, many = (
        plot_fans(VALUES, taus=TAUS).figure,
        plot_fans(np.repeat(VALUES, 9, axis=0), taus=TAUS).figure,
    )
    assert many.get_figheight() > 2 * few.get_figheight()


def test_pyplot_does_not_know_the_figure(tmp_path):
    before = plt.get_fignums()
    ax = plot_fans(VALUES, taus=TAUS, identified=[0.5, 0.0], unit="days", y=([2.5, 7.0], [1, 0]))
    ax.figure.savefig(tmp_path / "figure.png")
    assert plt.get_fignums() == before
    assert np.ptp(plt.imread(tmp_path / "figure.png")) > 0


def test_the_legend_covers_no_data_and_fits_the_figure():
    ax = plot_fans(VALUES, taus=TAUS, identified=[0.5, 0.0], y=([2.5, 7.0], [1, 0]))
    ax.figure.draw_without_rendering()
    extent = ax.get_legend().get_window_extent()
    assert extent.y0 >= ax.get_window_extent().y1 - 1
    assert extent.x1 <= ax.figure.bbox.x1
    assert extent.y1 <= ax.figure.bbox.y1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"taus": [0.1, 0.2, 0.3, 0.4, 0.5]},
            "taus must reach from 0.25 to 0.75 for a fan to be drawn, got 0.1 to 0.5.",
        ),
        (
            {"values": np.ones((2, 3))},
            "values must have shape (n, 5), with one column for each of taus, got (2, 3).",
        ),
        (
            {"values": np.full((2, 5), np.inf)},
            "values must be finite, got NaN or infinity in 2 of 2",
        ),
        ({"labels": ["Ada"]}, "labels must have one name for each row of values, got 1 for 2."),
        (
            {"identified": [0.5]},
            "identified must have shape (2,), one level for each row of values, got (1,).",
        ),
        ({"identified": [0.5, 1.5]}, "identified must be in [0, 1], got 1.5."),
        ({"identified": [0.5, np.nan]}, "identified must be in [0, 1], got nan."),
        ({"y": [1.0, 2.0, 3.0]}, "y must have one row for each of values, got 3 and 2."),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_fans(**{"values": VALUES, "taus": TAUS, **arguments})


def test_a_fan_that_is_longer_than_the_axis_ends_with_an_arrow():
    values = [[1.0, 2.0, 4.0, 6.0, 9.0], [1.0, 1.5, 2.0, 2.5, 3.0], [8.0, 9.0, 10.0, 11.0, 12.0]]
    ax = plot_fans(values, taus=[0.1, 0.25, 0.5, 0.75, 0.9], until=5.0)
    assert ax.get_xlim() == (0.0, 5.0)
    arrows = [line for line in ax.lines if line.get_marker() == ">"]
    assert len(arrows) == 1
    assert arrows[0].get_ydata().tolist() == [0, 2]
    assert set(arrows[0].get_xdata()) == {5.0}
    assert max(bar.get_x() + bar.get_width() for bar in ax.patches) <= 5.0
    assert "longer" in [text.get_text() for text in ax.get_legend().get_texts()]
    short = plot_fans(values, taus=[0.1, 0.25, 0.5, 0.75, 0.9], until=20.0)
    assert "longer" not in [text.get_text() for text in short.get_legend().get_texts()]
