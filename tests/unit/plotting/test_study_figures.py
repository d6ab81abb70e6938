"""Figures of data, trainings and methods."""

import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from censquant import AFTRegressor, Surv
from censquant.metrics import (
    BootstrapInterval,
    Evaluation,
    a_calibration,
    d_calibration,
    pit_histogram,
)
from censquant.metrics._evaluation import EvaluationRow
from censquant.plotting import (
    plot_calibration,
    plot_comparison,
    plot_history,
    plot_survival,
)
from censquant.survival import kaplan_meier
from formula_model import FormulaModel, mixed_frame, of_mixed_frame

FRAME = mixed_frame(120)
MODEL = FormulaModel(of_mixed_frame)
RNG = np.random.default_rng(0)
TIME = np.asarray(of_mixed_frame(FRAME)) * RNG.exponential(size=120)
END = RNG.exponential(6, size=120)
Y = np.minimum(TIME, END), TIME <= END
TAUS = np.arange(1, 20) / 20


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


# Survival


def test_the_curve_is_that_of_kaplan_and_meier():
    ax = plot_survival(Y, unit="years")
    curve = kaplan_meier(*Y)
    line = ax.lines[0]
    assert_array_equal(line.get_xdata(), np.append(0.0, curve.time))
    assert_array_equal(line.get_ydata(), np.append(1.0, curve.survival))
    assert line.get_drawstyle() == "steps-post"
    ticks = ax.lines[1]
    assert_array_equal(ticks.get_xdata(), np.unique(Y[0][~Y[1]]))
    assert ax.get_xlabel() == "time (years)"


def test_the_band_is_that_of_lifelines():
    from lifelines import KaplanMeierFitter

    fitted = KaplanMeierFitter(alpha=0.1).fit(*Y)
    theirs = fitted.confidence_interval_survival_function_
    ax = plot_survival(Y, confidence=0.9)
    band = ax.collections[0].get_paths()[0].vertices
    for place, time in enumerate(theirs.index[1:-1], start=1):
        here = band[np.isclose(band[:, 0], time)][:, 1]
        for end in theirs.iloc[place]:
            assert np.isclose(here, end, atol=1e-6).any()


def test_the_table_counts_rows_at_risk_and_events_so_far():
    y = [1.0, 2.0, 2.0, 3.0, 5.0], [True, True, False, False, True]
    ax = plot_survival(y, at=[0, 2, 4])
    assert [text.get_text() for text in ax.texts] == [
        "at risk (events)",
        "5 (0)",
        "4 (2)",
        "1 (2)",
    ]


@pytest.mark.parametrize("conf_type", ["log", "plain"])
def test_the_band_is_of_the_kind_asked_for(conf_type):
    curve, ax = kaplan_meier(*Y), plot_survival(Y, conf_type=conf_type)
    band = ax.collections[0].get_paths()[0].vertices
    for place, end in zip(
        curve.time, curve.limits(curve.time, conf_type=conf_type)[1], strict=True
    ):
        assert np.isclose(band[np.isclose(band[:, 0], place), 1], end).any()


def test_late_entries_are_at_risk_from_their_entry_on():
    y, entry = ([3.0, 4.0, 6.0, 8.0, 9.0], [True, False, True, True, False]), [0, 0, 1, 2, 5]
    ax = plot_survival(Surv.from_arrays(y[1], y[0], entry=entry), at=[0, 2, 5])
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["at risk (events)", "2 (0)", "4 (0)", "3 (1)"]
    curve = kaplan_meier(*y, entry=entry)
    assert_array_equal(ax.lines[0].get_ydata()[1:], curve.survival)
    began = plot_survival(Surv.from_arrays([1, 1, 0], [3, 4, 5], entry=[2.0, 2.0, 2.5]))
    assert began.lines[0].get_xdata()[0] == 2.0


def test_the_table_lies_below_the_label_of_the_axis_inside_the_figure():
    ax = plot_survival(Y, groups=FRAME["stage"])
    ax.figure.draw_without_rendering()
    label = ax.xaxis.label.get_window_extent()
    for text in ax.texts:
        extent = text.get_window_extent()
        assert extent.y1 <= label.y0 + 1
        assert extent.y0 >= 0
        assert extent.x0 >= 0


def test_intervals_have_boxes_that_the_curve_crosses():
    y = Surv.from_intervals([0, 2, 4, 6], [2, 5, 5, np.inf])
    ax = plot_survival(y, at=[0, 3, 6])
    assert legend(ax) == ["Turnbull"]
    line = ax.lines[0]
    assert_array_equal(line.get_xdata(), [0, 0, 2, 4, 5, 6, 6, 6])
    assert_allclose(line.get_ydata(), [1, 1, 0.75, 0.75, 0.25, 0.25, 0.25, 0.25])
    corners = [path.vertices[:2, 0].tolist() for path in ax.collections[0].get_paths()]
    assert corners == [[0, 2], [4, 5]]
    assert [text.get_text() for text in ax.texts][1:] == ["4 (0)", "3 (1)", "1 (3)"]


def test_individuals_whose_data_begin_late_are_drawn_from_there_on():
    rng = np.random.default_rng(1)
    entry = 2.0 + rng.exponential(size=120)
    time, x = entry + rng.exponential(3, size=120), rng.normal(size=(120, 1))
    model = AFTRegressor(random_state=0).fit(x, Surv.from_arrays(np.ones(120), time, entry=entry))
    curve = model.predict_curve(x[:2])
    for line, start in zip(
        plot_survival(model=model, X=x[:2]).lines, curve.known_from, strict=True
    ):
        known = np.isfinite(line.get_ydata())
        assert_array_equal(known, line.get_xdata() >= start)
        assert 0.95 < line.get_ydata()[known][0] <= 1.0


def test_groups_have_a_curve_each_and_missing_is_a_group():
    ax = plot_survival(Y, groups=FRAME["stage"])
    assert legend(ax) == ["I", "II", "III", "missing"]
    rows = (FRAME["stage"] == "II").to_numpy()
    assert_array_equal(ax.lines[2].get_ydata()[1:], kaplan_meier(Y[0][rows], Y[1][rows]).survival)


def test_mean_predictions_of_the_groups_are_dashed():
    ax = plot_survival(Y, groups=FRAME["site"], model=MODEL, X=FRAME)
    assert legend(ax) == ["lung", "skin", "mean predicted"]
    rows = FRAME["site"] == "lung"
    dashed = ax.lines[2]
    scale = np.asarray(of_mixed_frame(FRAME[rows]))
    # The model is known by its quantiles, between which curves are straight lines.
    expected = np.exp(-dashed.get_xdata()[:, None] / scale).mean(axis=1)
    assert_allclose(dashed.get_ydata(), expected, atol=0.03)


def test_individuals_of_a_model_have_a_curve_each():
    rows = FRAME[:2].set_axis(["Ada", "Ben"])
    ax = plot_survival(model=MODEL, X=rows, unit="days")
    assert legend(ax) == ["Ada", "Ben"]
    assert all(np.diff(line.get_ydata()).max() <= 0 for line in ax.lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "y or a model with X must be given, got neither."),
        ({"model": MODEL}, "model and X must be given together, got no X."),
        ({"y": Y, "X": FRAME}, "model and X must be given together, got no model."),
        ({"y": Y, "groups": ["a"]}, "groups must have one entry for each row of y, got 1 for 120."),
        (
            {"y": Y, "model": MODEL, "X": FRAME[:3]},
            "X must have one row for each of y, got 3 and 120.",
        ),
    ],
)
def test_wrong_arguments_of_survival_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_survival(**options)


def test_censored_rows_are_marked_unless_told_otherwise():
    marked, bare = plot_survival(Y), plot_survival(Y, mark_censored=False)
    ticks = [line for line in marked.lines if line.get_marker() == "|"]
    assert len(ticks) == 1
    assert not [line for line in bare.lines if line.get_marker() == "|"]


def test_very_many_steps_are_drawn_by_some_that_lie_on_the_curve():
    rng = np.random.default_rng(0)
    time, event = rng.weibull(1.5, 5_000), rng.uniform(size=5_000) < 0.7
    x, y = plot_survival((time, event), mark_censored=False).lines[0].get_data()
    assert 300 < len(x) <= 601
    assert_allclose(y, kaplan_meier(time, event)(x))
    assert x[-1] == time.max()


# Calibration


@pytest.mark.parametrize("kind", ["pit", "a", "d"])
def test_bars_are_those_of_the_metric_and_models_give_the_same(kind):
    predicted = MODEL.predict_quantiles(FRAME, TAUS)
    ax = plot_calibration(predicted, y=Y, taus=TAUS, kind=kind)
    expected = {
        "pit": lambda: pit_histogram(Y, predicted, TAUS).density,
        "a": lambda: a_calibration(Y, predicted, TAUS).ratio,
        "d": lambda: 10 * d_calibration(Y, predicted, TAUS).shares,
    }[kind]()
    heights = sorted(bar.get_height() for bar in ax.patches if bar.get_y() == 0)
    for value in expected[~np.isnan(expected)]:
        assert np.isclose(heights, value).any()
    same = plot_calibration(MODEL, FRAME, Y, taus=TAUS, kind=kind)
    assert_allclose(
        [bar.get_height() for bar in same.patches], [bar.get_height() for bar in ax.patches]
    )


def test_bars_outside_the_band_have_a_colour_of_their_own():
    predicted = MODEL.predict_quantiles(FRAME, TAUS)
    assert "outside" in legend(plot_calibration(3 * predicted, y=Y, taus=TAUS, kind="a"))


def test_the_p_value_is_written_for_tests():
    predicted = 3 * MODEL.predict_quantiles(FRAME, TAUS)
    assert [
        text.get_text() for text in plot_calibration(predicted, y=Y, taus=TAUS, kind="a").texts
    ] == ["p < 0.001"]
    assert not plot_calibration(predicted, y=Y, taus=TAUS).texts


def test_wrong_arguments_of_calibration_are_refused():
    with pytest.raises(ValueError, match=r"kind must be one of 'pit', 'a', 'd', got 'b'."):
        plot_calibration(MODEL, FRAME, Y, kind="b")
    with pytest.raises(ValueError, match=r"X must be given where predicted is a fitted model"):
        plot_calibration(MODEL, y=Y)
    left = FormulaModel(of_mixed_frame, censoring="left")
    with pytest.raises(ValueError, match=r"predicted must be fitted with censoring='right'"):
        plot_calibration(left, FRAME, Y)


# Histories


def records(member=None, n_epochs=10, **more):
    return [
        {
            **({} if member is None else {"member": member}),
            "epoch": epoch,
            "loss": 1.0 / epoch,
            "learning_rate": 0.01 if epoch < 7 else 0.001,
            **{name: value(epoch) for name, value in more.items()},
        }
        for epoch in range(1, n_epochs + 1)
    ]


class Trained:
    def __init__(self, history):
        self.history_ = history


def test_each_member_has_a_line_and_steps_of_the_learning_rate_are_marked():
    ax = plot_history(Trained(records(0) + records(1)))
    first, second, fall = ax.lines
    assert_allclose(first.get_ydata(), 1.0 / np.arange(1, 11))
    assert_array_equal(first.get_ydata(), second.get_ydata())
    assert fall.get_xdata()[0] == 7
    assert legend(ax) == ["training", "learning rate falls"]


def test_held_out_losses_are_dashed_with_their_lowest_value_marked():
    ax = plot_history(records(validation_loss=lambda epoch: (epoch - 4) ** 2))
    _, held_out, lowest, _ = ax.lines
    assert held_out.is_dashed()
    assert (lowest.get_xdata()[0], lowest.get_ydata()[0]) == (4, 0)
    assert legend(ax) == ["training", "held-out rows", "lowest", "learning rate falls"]


def test_levels_of_a_sequential_grid_have_a_line_each():
    history = [dict(record, level=level) for level in (0.1, 0.5) for record in records()]
    assert len(plot_history(history).lines) == 3


class Pool:
    def __init__(self):
        self.estimators_ = {
            "cox": [object()],
            "network": [Trained(records()), Trained(records())],
            "shape": [Trained([dict(record, loss=-record["epoch"]) for record in records()])],
        }


def test_networks_of_a_pool_are_drawn_on_a_scale_of_their_own():
    ax = plot_history(Pool())
    assert legend(ax) == ["network", "shape"]
    for line in ax.lines:
        assert (line.get_ydata()[0], line.get_ydata()[-1]) == (1.0, 0.0)


def test_models_that_are_not_trained_by_epochs_are_refused():
    with pytest.raises(ValueError, match=r"got FormulaModel without any: it was not trained"):
        plot_history(MODEL)


# Comparisons


def evaluation(value):
    row = EvaluationRow("crps_censored", value, value - 0.1, value + 0.2, "lower", "")
    return Evaluation((row,), 1.0, "", 10, 5)


def test_the_best_evaluation_is_on_top_with_its_interval():
    ax = plot_comparison({"a": evaluation(0.5), "b": evaluation(0.3)}, unit="days")
    assert names(ax) == ["b", "a"]
    assert_allclose(ax.lines[0].get_xdata(), [0.3, 0.5])
    assert_allclose([s[:, 0] for s in ax.collections[0].get_segments()], [[0.2, 0.5], [0.4, 0.7]])
    assert ax.get_xlabel() == "crps censored, lower is better (days)"
    kept = plot_comparison({"a": evaluation(0.5), "b": evaluation(0.3)}, sort=False)
    assert names(kept) == ["a", "b"]


def test_differences_have_a_line_at_zero():
    difference = BootstrapInterval(0.1, -0.1, 0.3, 0.1, 0.95, 100, 0, (0.5, 0.4), p_value=0.3)
    ax = plot_comparison({"a less b": difference}, "CRPS")
    assert_array_equal(ax.lines[-1].get_xdata(), [0, 0])


def test_wrong_results_are_refused():
    with pytest.raises(ValueError, match=r"results must have at least one method, got none."):
        plot_comparison({})
    with pytest.raises(ValueError, match=r"got shape \(2,\) for 'a'."):
        plot_comparison({"a": (1.0, 2.0)})


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_survival(Y, groups=FRAME["smoker"], ax=ax),
        lambda ax: plot_survival(model=MODEL, X=FRAME[:2], ax=ax),
        lambda ax: plot_calibration(MODEL, FRAME, Y, ax=ax),
        lambda ax: plot_history(records(), ax=ax),
        lambda ax: plot_comparison({"a": evaluation(0.5)}, ax=ax),
    ],
)
def test_given_axes_are_used_and_pyplot_knows_no_other(draw):
    before, ax = plt.get_fignums(), Figure().subplots()
    assert draw(ax) is ax
    assert draw(None).figure.get_layout_engine() is not None
    assert plt.get_fignums() == before


def test_a_survival_curve_on_a_grid_holds_no_time_of_a_row():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(100.0, 80), rng.uniform(size=80) < 0.7
    grid = np.arange(5.0, 151.0, 5.0)
    ax = plot_survival((time, event), grid=grid, mark_censored=False, at=[0, 100])
    drawn = ax.lines[0].get_xdata()
    assert drawn.tolist() == [0.0, *grid]
    np.testing.assert_allclose(ax.lines[0].get_ydata()[1:], kaplan_meier(time, event)(grid))
    assert ax.get_xlim() == (0.0, 150.0)
