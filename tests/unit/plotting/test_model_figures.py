"""Figures of what a model has learned: their artists have the numbers of `censquant.inspection`."""

import dataclasses
import inspect
import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import censquant.plotting
from censquant import CQRNN, CensoredQuantileRegressor, CoxQuantileRegressor
from censquant.estimators.linear import CoefficientSummary
from censquant.inspection import (
    PermutationImportance,
    contrast,
    contributions,
    partial_dependence,
    permutation_importance,
)
from censquant.plotting import (
    plot_calibration,
    plot_coefficients,
    plot_contrast,
    plot_contributions,
    plot_fans,
    plot_history,
    plot_importance,
    plot_partial_dependence,
    plot_quantile_bands,
    plot_quantiles_1d,
    plot_survival,
)
from formula_model import FormulaModel, eight_features, mixed_frame, of_mixed_frame

FRAME = mixed_frame(60)
MODEL = FormulaModel(of_mixed_frame)
RNG = np.random.default_rng(0)
Y = np.asarray(of_mixed_frame(FRAME)) * RNG.exponential(size=60), RNG.random(60) < 0.7


class Followed(FormulaModel):
    """Says that levels up to half the number of nodes over ten are identified."""

    def identified_level(self, X):
        return np.asarray(X["nodes"], dtype=float) / 10


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def legend_of_axis(ax):
    return [label.get_text() for label in ax.get_xticklabels()]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


# Partial dependence


def test_the_thick_line_is_the_average_and_grey_lines_are_rows():
    found = partial_dependence(MODEL, FRAME, "age")
    ax = plot_partial_dependence(found, unit="years")
    *grey, average = ax.lines
    assert_array_equal(average.get_xdata(), found.grid)
    assert_array_equal(average.get_ydata(), found.average[:, 0])
    assert len(grey) == 50
    assert_array_equal(grey[0].get_ydata(), found.individual[0, :, 0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "median (years)")


def test_a_model_and_its_rows_give_the_same_figure_with_the_values_marked():
    ax = plot_partial_dependence(MODEL, FRAME, "age", individual=False)
    average, ticks = ax.lines
    assert_array_equal(average.get_ydata(), partial_dependence(MODEL, FRAME, "age").average[:, 0])
    assert set(ticks.get_xdata()) <= set(FRAME["age"].dropna())


def test_several_levels_have_a_line_each_and_no_grey_ones():
    ax = plot_partial_dependence(MODEL, FRAME, "age", quantiles=[0.1, 0.5])
    assert legend(ax) == ["median", "10 % quantile"]
    assert ax.get_ylabel() == "predicted time"


def test_an_average_is_dotted_where_the_data_cannot_speak_for_it():
    ax = plot_partial_dependence(Followed(of_mixed_frame), FRAME, "nodes", individual=False)
    solid, dotted, _ = ax.lines
    nodes = np.sort(FRAME["nodes"].unique())
    assert_array_equal(np.isnan(solid.get_ydata()), nodes < 5)
    assert dotted.get_linestyle() == ":"
    assert_array_equal(np.isnan(dotted.get_ydata()), nodes > 5)
    assert legend(ax) == ["median", "beyond the data"]


def test_categories_are_named_on_the_axis():
    ax = plot_partial_dependence(MODEL, FRAME, "stage")
    assert legend_of_axis(ax) == ["I", "II", "III"]


# Bands


def test_bands_and_median_are_averages_of_the_model():
    ax = plot_quantile_bands(MODEL, FRAME, "age", y=Y, unit="years")
    found = partial_dependence(MODEL, FRAME, "age", quantiles=[0.1, 0.25, 0.5, 0.75, 0.9])
    assert_allclose(ax.lines[0].get_ydata(), found.average[:, 2])
    for band, columns in zip(ax.collections, ([0, 4], [1, 3]), strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert_allclose(heights.min(), found.average[:, columns].min())
        assert_allclose(heights.max(), found.average[:, columns].max())
    event, censored = ax.lines[1:]
    assert len(event.get_xdata()) == Y[1].sum()
    assert len(censored.get_xdata()) == (~Y[1]).sum()
    assert legend(ax) == ["10 % to 90 %", "25 % to 75 %", "median", "event", "censored"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "time (years)")


def test_a_category_has_boxes_and_marks_beside_each_other():
    ax = plot_quantile_bands(MODEL, FRAME, "stage", y=Y)
    found = partial_dependence(MODEL, FRAME, "stage", quantiles=[0.1, 0.25, 0.5, 0.75, 0.9])
    wide = ax.patches[:3]
    assert_allclose([box.get_y() for box in wide], found.average[:, 0])
    assert_allclose([box.get_y() + box.get_height() for box in wide], found.average[:, 4])
    positions = np.concatenate([line.get_xdata() for line in ax.lines])
    positions = positions[~np.isnan(positions)]
    assert len(positions) == FRAME["stage"].notna().sum()
    assert np.abs(positions - positions.round()).max() < 0.2


def test_bands_of_an_array_are_drawn_in_the_order_of_the_feature():
    taus = [0.1, 0.3, 0.5, 0.7, 0.9]
    x = RNG.normal(size=30)
    values = np.outer(np.exp(x), taus)
    ax = plot_quantile_bands(values, x, taus=taus)
    assert_array_equal(ax.lines[0].get_xdata(), np.sort(x))
    assert_allclose(ax.lines[0].get_ydata(), np.sort(values[:, 2]))
    by_stage = plot_quantile_bands(MODEL.predict_quantiles(FRAME, taus), FRAME, "stage", taus=taus)
    assert [label.get_text() for label in by_stage.get_xticklabels()] == [
        "I",
        "II",
        "III",
        "missing",
    ]


def test_bands_are_hatched_above_the_highest_level_that_the_data_can_speak_for():
    rows = FRAME.assign(nodes=FRAME["nodes"].clip(3, 6))
    ax = plot_quantile_bands(Followed(of_mixed_frame), rows, "nodes")
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    values = partial_dependence(MODEL, rows, "nodes", quantiles=levels).average
    # Levels up to 0.3, 0.4, 0.5 and 0.6 are identified.
    border = np.array([values[0, 1], values[1, 1], values[2, 2], values[3, 2]])
    solid, hatched = ax.collections[:2]
    assert hatched.get_hatch()
    assert not solid.get_hatch()
    tops = [solid.get_paths()[0].vertices[:, 1].max(), border.max()]
    assert_allclose(*tops)
    assert_allclose(hatched.get_paths()[0].vertices[:, 1].max(), values[:, 4].max())
    dotted, line = ax.lines
    assert dotted.get_linestyle() == ":"
    assert_array_equal(np.isnan(line.get_ydata()), [True, True, False, False])
    assert legend(ax)[-1] == "beyond the data"


def test_bands_need_levels_that_reach_their_ends():
    message = "taus must reach from 0.1 to 0.9 for the bands to be drawn, got 0.2 to 0.8."
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_quantile_bands(np.ones((3, 2)), np.ones(3), taus=[0.2, 0.8])


def test_lines_of_a_model_of_one_feature_have_the_name_of_its_column():
    frame = pd.DataFrame({"dose": np.linspace(1, 2, 9)})
    model = FormulaModel(lambda X: np.asarray(X)[:, 0])
    ax = plot_quantiles_1d(model, frame, taus=[0.25, 0.75], unit="days")
    assert_allclose(ax.lines[1].get_ydata(), model.predict_quantiles(frame, [0.75])[:, 0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "time (days)")


# Fans of a model


def test_fans_of_a_model_have_its_quantiles_its_reach_and_the_index_of_the_frame():
    rows = FRAME[:3].set_axis(["Ada", "Ben", "Cleo"]).assign(nodes=[2, 5, 9])
    ax = plot_fans(Followed(of_mixed_frame), rows)
    assert names(ax) == ["Ada", "Ben", "Cleo"]
    solid, dotted = ([s[0, 0] for s in group.get_segments()] for group in ax.collections)
    assert_allclose([*dotted, *solid], MODEL.predict(rows))
    assert len(dotted) == 1
    assert legend(ax)[-1] == "beyond the data"


def test_fans_of_a_model_need_rows_and_those_of_an_array_levels():
    with pytest.raises(ValueError, match=r"X must be given where values is a fitted model"):
        plot_fans(MODEL)
    with pytest.raises(ValueError, match=r"taus must be given where values is an array"):
        plot_fans(np.ones((2, 3)))


# Importance


def test_bars_of_importance_begin_with_the_largest():
    found = permutation_importance(MODEL, FRAME, Y, random_state=0)
    ax = plot_importance(found, unit="years")
    assert_allclose([bar.get_width() for bar in ax.patches], found.mean[found.order])
    assert names(ax) == [found.features[place] for place in found.order]
    assert ax.get_xlabel() == "increase of the censored check loss when shuffled (years)"
    same = plot_importance(MODEL, FRAME, Y, random_state=0)
    assert_allclose([bar.get_width() for bar in same.patches], found.mean[found.order])


def test_errors_are_two_standard_errors_to_either_side():
    found = PermutationImportance(("a",), np.array([[1.0, 3.0]]), 0.0, "concordance")
    ax = plot_importance(found)
    (segment,) = ax.collections[0].get_segments()
    assert_allclose(segment[:, 0], [0.0, 4.0])
    assert ax.get_xlabel() == "fall of concordance when shuffled"


def test_the_least_important_are_left_out():
    found = PermutationImportance(("a", "b", "c"), np.array([[1.0], [3.0], [2.0]]), 0.0, "score")
    assert names(plot_importance(found, max_features=2)) == ["b", "c"]


@pytest.mark.parametrize(("given", "missing"), [((), "X"), ((FRAME,), "y")])
def test_importance_of_a_model_needs_rows_and_times(given, missing):
    message = f"{missing} must be given where importance is a fitted model, got None."
    with pytest.raises(ValueError, match=message):
        plot_importance(MODEL, *given)


# Contributions


def test_bars_lead_from_the_average_to_the_individual():
    found = contributions(MODEL, FRAME[:4], FRAME, random_state=0)
    ax = plot_contributions(found, row=2, unit="years")
    bars = ax.patches
    order = np.argsort(-np.abs(found.values[2]))
    assert_allclose([bar.get_width() for bar in bars], found.values[2, order])
    assert_allclose(bars[0].get_x(), found.base)
    assert_allclose(bars[-1].get_x() + bars[-1].get_width(), found.predictions[2])
    for first, second in pairwise(bars):
        assert_allclose(first.get_x() + first.get_width(), second.get_x())
    for bar, value in zip(bars, found.values[2, order], strict=True):
        assert same_color(bar.get_facecolor(), "#4b93c3" if value >= 0 else "#d55e00")
    assert names(ax)[0] == f"{found.features[order[0]]} = {found.texts(2)[order[0]]}"
    assert ax.get_xlabel() == "median (years)"


def test_features_beyond_the_largest_share_a_bar():
    rng = np.random.default_rng(0)
    background = rng.normal(size=(50, 8))
    found = contributions(FormulaModel(eight_features), background[:1], background, random_state=0)
    ax = plot_contributions(found, max_features=3)
    assert names(ax)[-1] == "5 other features"
    last = ax.patches[-1]
    assert_allclose(last.get_x() + last.get_width(), found.predictions[0])


def test_a_model_is_explained_for_the_row_that_is_asked_for():
    ax = plot_contributions(MODEL, FRAME, FRAME, row=5, random_state=0)
    last = ax.patches[-1]
    assert_allclose(last.get_x() + last.get_width(), MODEL.predict(FRAME)[5])


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((MODEL,), {}, "X must be given where contribution is a fitted model, got None."),
        ((MODEL, FRAME), {}, "background must be given where contribution is a fitted model"),
        (
            (contributions(MODEL, FRAME[:2], FRAME, n_background=2),),
            {"row": 2},
            "row must be one of 2 individuals, got 2.",
        ),
    ],
)
def test_wrong_arguments_of_contributions_are_refused(given, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_contributions(*given, **options)


# Coefficients

LEVELS = np.array([0.25, 0.5, 0.75])
COEFFICIENTS = np.array([[1.0, 2.0, 0.1], [1.5, 2.5, 0.2], [2.0, 2.0, 0.4]])
SUMMARY = CoefficientSummary(
    "LinearQuantileRegressor",
    LEVELS,
    ("intercept", "age", "dose"),
    COEFFICIENTS,
    np.full((3, 3), 0.1),
    np.stack([COEFFICIENTS - 0.2, COEFFICIENTS + 0.3], axis=-1),
)


def test_each_feature_has_its_path_and_band():
    ax = plot_coefficients(SUMMARY, unit="days")
    assert legend(ax) == ["age", "dose"]
    for line, column in zip(ax.lines[:2], (1, 2), strict=True):
        assert_array_equal(line.get_xdata(), LEVELS)
        assert_array_equal(line.get_ydata(), COEFFICIENTS[:, column])
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose([heights.min(), heights.max()], [1.8, 2.8])
    assert ax.get_ylabel() == "coefficient (days)"


def test_terms_are_chosen_by_name():
    assert legend(plot_coefficients(SUMMARY, "intercept")) == ["intercept"]
    with pytest.raises(ValueError, match=r"terms must be among 'intercept', 'age', 'dose', got"):
        plot_coefficients(SUMMARY, ["sex"])
    with pytest.raises(ValueError, match=r"terms must name at least one, got none."):
        plot_coefficients(SUMMARY, [])


def test_a_fit_without_replications_has_no_bands():
    plain = CoefficientSummary("", LEVELS, ("age",), COEFFICIENTS[:, :1])
    assert not plot_coefficients(plain).collections


def test_models_without_coefficients_are_refused():
    with pytest.raises(
        TypeError, match=r"model must be a fitted LinearQuantileRegressor.*got FormulaModel"
    ):
        plot_coefficients(MODEL)


# What all have in common


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_partial_dependence(MODEL, FRAME, "stage", ax=ax),
        lambda ax: plot_quantile_bands(MODEL, FRAME, "smoker", ax=ax),
        lambda ax: plot_importance(MODEL, FRAME, Y, ax=ax),
        lambda ax: plot_contributions(MODEL, FRAME, FRAME, ax=ax),
        lambda ax: plot_coefficients(SUMMARY, ax=ax),
    ],
)
def test_given_axes_are_used_and_pyplot_knows_no_other(draw):
    before, ax = plt.get_fignums(), Figure().subplots()
    assert draw(ax) is ax
    assert draw(None).figure.get_layout_engine() is not None
    assert plt.get_fignums() == before


@pytest.fixture(scope="module")
def pool():
    candidates = [
        ("narrow", CQRNN(max_epochs=3, hidden_layer_sizes=(4,))),
        ("wide", CQRNN(max_epochs=3, hidden_layer_sizes=(9,))),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CensoredQuantileRegressor(candidates=candidates, cv=2, random_state=0).fit(FRAME, Y)


def test_a_pool_fitted_to_text_and_missing_values_is_drawn_by_every_figure(pool):
    median = pool.predict_quantiles(FRAME, [0.5], beyond="extrapolate")[:, 0]
    contributed = plot_contributions(pool, FRAME, FRAME, row=3, random_state=0).patches[-1]
    assert_allclose(contributed.get_x() + contributed.get_width(), median[3], atol=1e-6)
    for feature in FRAME.columns:
        assert plot_partial_dependence(pool, FRAME, feature).get_xlabel() == feature
        assert plot_quantile_bands(pool, FRAME, feature, y=Y).get_xlabel() == feature
    assert set(names(plot_importance(pool, FRAME, Y, random_state=0))) == set(FRAME.columns)
    fans = plot_fans(pool, FRAME[:3], y=(Y[0][:3], Y[1][:3]))
    ticks = [s[0, 0] for group in fans.collections for s in group.get_segments()]
    assert_allclose(sorted(ticks), sorted(median[:3]))
    for kind in ("pit", "a", "d"):
        assert plot_calibration(pool, FRAME, Y, kind=kind).patches
    assert plot_survival(Y, groups=FRAME["stage"], model=pool, X=FRAME).texts
    assert len(plot_survival(model=pool, X=FRAME[:3]).lines) == 3
    assert len(plot_history(pool).lines) >= 2  # one network per fold


def test_a_model_comes_first_and_its_rows_second():
    takes_rows = {
        name: inspect.signature(getattr(censquant.plotting, name)).parameters
        for name in censquant.plotting.__all__
        if "X" in inspect.signature(getattr(censquant.plotting, name)).parameters
    }
    assert len(takes_rows) > 6
    by_name = inspect.Parameter.KEYWORD_ONLY
    for name, parameters in takes_rows.items():
        assert parameters["X"].kind is by_name or list(parameters)[1] == "X", name
        assert "taus" not in parameters or parameters["taus"].kind is by_name, name
    assert plot_fans(MODEL, FRAME[:3]).get_yticklabels()[0].get_text() == str(FRAME.index[0])


# Effects


def effect_of(**options):
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.integers(0, 2, 200), rng.normal(size=200)))
    time = np.exp(0.5 * X[:, 0] + 0.5 * X[:, 1]) * rng.weibull(2, 200)
    model = CoxQuantileRegressor()
    y = (time, np.ones(200, dtype=bool))
    return contrast(model, X, y, feature=0, to=1, from_=0, method="doubly_robust", **options)


def test_a_forest_has_a_line_for_all_and_each_subgroup():
    found = effect_of(by=1, at=1.5)
    ax = plot_contrast(found, unit="days")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [row.group for row in found.rows]
    assert ax.get_xlabel() == "difference of the restricted mean time (days)"
    assert ax.get_title(loc="left") == "x0: 1 instead of 0"
    ends = [path.vertices[:, 0] for path in ax.collections[0].get_paths()]
    assert_allclose(ends, [(row.low, row.high) for row in found.rows])


def test_ratios_are_on_a_logarithmic_axis_and_times_are_named():
    found = effect_of(what="risk", at=[0.5, 1.0])
    ax = plot_contrast(found, ratio=True, unit="days")
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "ratio of the risk"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all, 0.5", "all, 1"]


def test_infinite_and_missing_ends_are_drawn_as_arrows_and_nothing():
    row = effect_of(at=1.5).rows[0]
    rows = (
        row._replace(high=np.inf),
        row._replace(group="few", low=np.nan, high=np.nan),
        row._replace(group="none", difference=np.nan, low=np.nan, high=np.nan),
    )
    ax = plot_contrast(dataclasses.replace(effect_of(at=1.5), rows=rows))
    arrows = [line for line in ax.lines if line.get_marker() == ">"]
    assert [len(line.get_xdata()) for line in arrows] == [1]
    marks = next(line for line in ax.lines if line.get_marker() == "o")
    assert len(marks.get_xdata()) == 2
