import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal

from benchmark_rows import LABELS, cell, frame
from censquant_bench.paper.reporting import (
    OneDimensional,
    grid_figure,
    main_figure,
    one_dimensional_figure,
    partial_full_figure,
    scale_top,
    variants_figure,
    ystar_figure,
)
from censquant_bench.reporting import Labels, render


def legend(owner):
    (box,) = owner.legends if hasattr(owner, "legends") else [owner.get_legend()]
    return [text.get_text() for text in box.get_texts()]


def ticks(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_xticklabels()]


MAIN = frame(
    cell({"tqmse": [0.1, 0.3]}, dataset="norm_linear"),
    cell({"tqmse": [900.0, 950.0]}, dataset="norm_linear", method="lognorm_as_run"),
    cell({"cindex": [0.6, 0.7], "censdcal": [0.2, 0.4]}),
    cell({"cindex": [0.6, 0.7], "censdcal": [0.2, 0.4]}, dataset="mine"),
    cell({"cindex": [0.9]}, split="grouped"),
)


def test_the_main_figure_has_one_axes_per_preferred_metric():
    figure = main_figure(MAIN, LABELS)
    assert [ax.get_ylabel().split("\n")[0] for ax in figure.axes] == [
        "TQMSE",
        "C-index",
        "CensDCal",
    ]
    assert [ticks(ax) for ax in figure.axes] == [["Norm linear"], *[["GBSG", "mine"]] * 2]
    assert [ax.get_yscale() for ax in figure.axes] == ["log", "linear", "linear"]
    assert legend(figure) == ["CQRNN", "LogNorm MLE (as run)", "the paper"]


def test_points_are_means_and_bars_standard_errors():
    ax = main_figure(MAIN, LABELS).axes[1]
    (container,) = ax.containers
    line, _, (bars,) = container.lines
    assert_allclose(line.get_ydata(orig=False), [0.65, 0.65])
    assert_allclose(bars.get_segments()[0][:, 1], [0.6, 0.7])
    # The paper has GBSG and not the other.
    (hollow,) = (line for line in ax.lines if line.get_markersize() > 8)
    assert_allclose(hollow.get_ydata(orig=False), [0.683, math.nan])


def test_a_legend_too_wide_for_one_row_is_broken_and_never_cut():
    names = [f"a method with quite a long name {k}" for k in range(7)]
    rows = frame(*(cell({"cindex": [0.6, 0.7]}, dataset="mine", method=name) for name in names))
    figure = main_figure(rows, LABELS)
    render(figure)
    (box,) = figure.legends
    extent = box.get_window_extent()
    assert legend(figure) == names
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.x1
    short = main_figure(MAIN, LABELS)
    render(short)
    assert short.legends[0].get_window_extent().height < extent.height


def test_a_legend_wider_than_the_figure_in_one_column_is_still_there():
    rows = frame(*(cell({"cindex": [0.6]}, dataset="mine", method=99 * name) for name in "ab"))
    assert legend(main_figure(rows, LABELS)) == [99 * "a", 99 * "b"]


def test_a_mean_far_above_all_others_is_named_at_the_edge_and_sets_no_scale():
    means = {"a": 0.2, "b": 0.3, "c": 0.4, "d": 0.5, "e": 7.7e11, "f": math.inf}
    rows = frame(*(cell({"uql": [m, m]}, dataset="mine", method=n) for n, m in means.items()))
    (ax,) = main_figure(rows, LABELS).axes
    assert [text.get_text() for text in ax.texts] == ["7.7e+11 →", "inf →"]
    assert ax.get_yscale() == "linear"
    assert 0.5 < ax.get_ylim()[1] < 1
    assert ax.get_ylim()[0] < 0.2


def test_means_that_spread_without_a_gap_are_all_to_scale():
    means = [0.1 * 10**k for k in range(8)]
    assert scale_top(means) == means[-1]
    # Half of them large: none is an exception.
    assert scale_top([1.0, 2.0, 1e6, 2e6]) == 2e6
    assert scale_top([math.inf, math.nan]) == -math.inf


def test_without_the_papers_data_nothing_is_hollow():
    figure = main_figure(frame(cell({"cindex": [0.6]}, dataset="mine")), LABELS)
    assert legend(figure) == ["CQRNN"]


def test_the_grid_figure_has_one_panel_per_dataset_and_one_line_per_grid():
    rows = frame(
        *(
            cell(
                {"tqmse": [1 / n, 3 / n]},
                suite="grid",
                dataset=dataset,
                variant=f"{n} {m}",
                n_train=n,
                n_levels=m,
            )
            for dataset in ("norm_linear", "norm_light", "a", "b")
            for n in (100, 200, 400, 800, 1600)
            for m in (9, 19)
        )
    )
    figure = grid_figure(rows, LABELS)
    assert [ax.get_title() for ax in figure.axes] == ["Norm linear", "Norm light", "a", "b"]
    ax = figure.axes[0]
    assert len(ax.containers) == 2
    assert_allclose(
        ax.containers[0].lines[0].get_ydata(orig=False), 2 / np.array([100, 200, 400, 800, 1600])
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ticks(ax) == ["100", "400", "1600"]
    assert legend(figure) == ["M = 9", "M = 19"]


def test_the_ystar_figure_has_ours_solid_and_the_papers_dashed():
    rows = frame(
        *(
            cell({"tqmse": [0.1, 0.2]}, suite="ystar", dataset=dataset, variant=f"c={c}")
            for dataset in ("norm_light", "mine")
            for c in (1.2, 2, 10)
        )
    )
    (ax,) = ystar_figure(rows, LABELS).axes
    assert len(ax.containers) == 2
    (dashed,) = (line for line in ax.lines if line.get_linestyle() == "--")
    assert_array_equal(dashed.get_xdata(), [0, 1, 2])
    assert_array_equal(dashed.get_ydata(), [0.079, 0.081, 0.081])
    assert ticks(ax) == ["1.2", "2", "10"]
    assert legend(ax) == ["Norm light", "mine"]
    assert ax.get_xlabel().endswith("; dashed and hollow: the paper")
    (alone,) = ystar_figure(rows[rows["dataset"] == "mine"], LABELS).axes
    assert alone.get_xlabel() == "factor c of y* = c max(y)"


def test_traces_are_drawn_as_mean_and_band_over_the_epochs_that_all_have():
    rows = frame(
        cell(
            {"trace_loss": [[3.0, 2.0, 1.0], [5.0, 4.0]], "trace_tqmse": [[2.0, 1.0]] * 2},
            suite="partial_full",
            variant="partial",
        ),
        cell(
            {"trace_loss": [[9.0]], "trace_tqmse": [math.nan]}, suite="partial_full", variant="full"
        ),
    )
    figure = partial_full_figure(rows, LABELS)
    loss, tqmse = figure.axes
    assert_array_equal(loss.lines[0].get_xydata(), [[1, 4.0], [2, 3.0]])
    assert [len(ax.lines) for ax in (loss, tqmse)] == [2, 1]
    # One run has no band.
    assert [len(ax.collections) for ax in (loss, tqmse)] == [1, 1]
    assert legend(figure) == ["CQRNN, partial", "CQRNN, full"]
    assert (loss.get_yscale(), tqmse.get_yscale()) == ("linear", "log")


def test_variants_are_drawn_in_percent_of_the_plain_one():
    rows = frame(
        cell({"tqmse": [1.0, 3.0], "crossing": [0.1, 0.3]}, dataset="norm_linear"),
        cell({"tqmse": [1.5, 3.5]}, dataset="norm_linear", variant="penalty"),
        cell({"crossing": [0.5]}, dataset="mine"),
    )
    figure = variants_figure(rows, LABELS)
    left, right = figure.axes
    (container,) = left.containers
    assert_allclose(container.lines[0].get_xdata(orig=False), [25.0])
    assert_allclose(right.containers[0].lines[0].get_xdata(orig=False), [20.0])
    assert left.get_xlabel() == "change of TQMSE against CQRNN, %"
    assert [text.get_text() for text in left.get_yticklabels()] == ["Norm linear", "mine"]
    assert legend(figure) == ["CQRNN", "CQRNN, penalty"]


def test_a_change_of_many_times_does_not_press_the_others_together():
    rows = frame(
        cell({"tqmse": [1.0, 1.1]}, dataset="norm_linear"),
        cell({"tqmse": [1.2, 1.3]}, dataset="norm_linear", variant="penalty"),
        cell({"tqmse": [1.0, 1.0]}, dataset="mine"),
        cell({"tqmse": [20.0, 20.0]}, dataset="mine", variant="penalty"),
    )
    left, right = variants_figure(rows, LABELS).axes
    assert (left.get_xscale(), right.get_xscale()) == ("symlog", "linear")
    assert left.get_xlabel().endswith("(shaded: in logarithms)")
    assert ticks(left)[-3:] == ["100", "300", "1000"]
    low, high = left.get_xlim()
    assert low < 0
    assert high > 1900


def test_variants_with_no_crossing_column_still_have_a_legend():
    rows = frame(cell({"tqmse": [1.0, 3.0]}), cell({"tqmse": [1.5, 3.5]}, variant="penalty"))
    assert legend(variants_figure(rows, LABELS)) == ["CQRNN", "CQRNN, penalty"]


FIGURES = {
    "main": main_figure,
    "grid": grid_figure,
    "ystar": ystar_figure,
    "partial_full": partial_full_figure,
    "variants": variants_figure,
}


@pytest.mark.parametrize("name", list(FIGURES))
def test_failures_only_give_an_empty_figure(name):
    rows = frame(cell({"tqmse": [math.nan], "error": ["boom"]}))
    assert render(FIGURES[name](rows, LABELS))["png"]


@pytest.mark.parametrize("name", list(FIGURES))
def test_an_empty_frame_is_refused(name):
    with pytest.raises(ValueError, match=r"^frame must have at least one run, got no rows; "):
        FIGURES[name](frame(cell({"tqmse": [1.0]})).iloc[:0], LABELS)


def one(methods=("cqrnn", "mine")):
    x = np.linspace(0, 2, 5)
    true = np.stack([x + 1, x + 2, x + 3], axis=1)
    predicted = dict.fromkeys(methods, true + 0.1)
    return OneDimensional(x, true, predicted, [0.5, 1.0, 1.5], [1, 2, 3], [True, False, True])


def test_the_1d_figure_is_a_matrix_of_sets_and_methods():
    figure = one_dimensional_figure({"mine": one(), "norm_linear": one()}, [0.1, 0.5, 0.9], LABELS)
    axes = figure.axes
    assert len(axes) == 4
    assert [ax.get_title() for ax in axes] == ["CQRNN", "mine", "", ""]
    assert [ax.get_ylabel() for ax in axes] == ["Norm linear", "", "mine", ""]
    assert legend(figure) == ["10 %", "50 %", "90 %", "true", "event", "censored"]


def test_a_panel_has_rows_by_kind_solid_predictions_and_dashed_truth():
    data = one()
    ax = one_dimensional_figure({"a": data}, [0.1, 0.5, 0.9], Labels()).axes[0]
    event, censored, *curves = ax.lines
    assert_array_equal(event.get_xydata(), [[0.5, 1], [1.5, 3]])
    assert_array_equal(censored.get_xydata(), [[1.0, 2]])
    assert event.get_marker() != censored.get_marker()
    assert [line.get_linestyle() for line in curves] == ["-"] * 3 + ["--"] * 3
    assert_allclose(curves[1].get_ydata(), data.true[:, 1] + 0.1)
    assert_allclose(curves[4].get_ydata(), data.true[:, 1])


def test_a_method_that_fails_does_not_set_the_scale():
    data = one()
    wild = OneDimensional(
        data.x, data.true, {"m": 1e6 * data.true, "n": np.full((5, 3), np.inf)}, *([1], [2], [True])
    )
    ax = one_dimensional_figure({"a": wild}, [0.1, 0.5, 0.9], Labels()).axes[0]
    assert ax.get_ylim()[1] < 10


def test_a_method_without_the_set_leaves_truth_and_rows():
    figure = one_dimensional_figure(
        {"a": one(["m"]), "b": one(["m", "n"])}, [0.1, 0.5, 0.9], Labels()
    )
    assert [len(ax.lines) for ax in figure.axes] == [8, 5, 8, 8]


def test_no_set_is_refused():
    sentence = "sets must hold at least one dataset, got none; run the suite first."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        one_dimensional_figure({}, [0.5], LABELS)


def test_files_are_valid_and_the_same_again():
    first, second = (render(main_figure(rows, LABELS)) for rows in (MAIN, MAIN.iloc[::-1]))
    assert first == second
    assert first["png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert first["png"].endswith(b"IEND\xaeB`\x82")
    assert ET.fromstring(first["svg"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<dc:date>" not in first["svg"]


def test_pyplot_knows_none_of_the_figures():
    before = plt.get_fignums()
    main_figure(MAIN, LABELS)
    assert plt.get_fignums() == before


def test_long_titles_of_methods_are_broken_and_not_run_together():
    one = OneDimensional([0, 1], [[1], [2]], {"m": [[1], [2]]}, [0, 1], [1, 2], [True, False])
    labels = Labels({}, {"m": "DeepQuantReg, event curve (as run)"})
    title = one_dimensional_figure({"a": one}, [0.5], labels).axes[0].get_title()
    assert title == "DeepQuantReg, event\ncurve (as run)"
