"""The suite from samples to tables, with bounds whose scores are known."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from censquant import BoostedQuantileRegressor, ConformalSurvivalRegressor
from censquant_bench import (
    METHODS,
    SUITES,
    BenchmarkCell,
    BenchmarkMethod,
    get_dataset,
    get_method,
    plan,
    run,
    run_plan,
)
from censquant_bench._cells import run_cell
from censquant_bench.coverage import (
    BOUND_SETTINGS,
    COVERAGE_METHODS,
    CoverageConventions,
    EventsOnlyBound,
    UncalibratedBound,
    coverage_figure,
    coverage_tables,
)
from censquant_bench.reporting import Labels


class OracleBound(BaseEstimator):
    """Knows the law of a setting; ``level`` moves the promise, ``trivial`` is a share of zeros."""

    def __init__(self, name="gui1", level=0.1, trivial=0.0):
        self.name = name
        self.level = level
        self.trivial = trivial

    def fit(self, X, y, censoring_time=None):
        self.censoring_time_ = censoring_time
        return self

    def predict_lower_bound(self, X, confidence):
        assert confidence == 0.9
        found = BOUND_SETTINGS[self.name].true_quantiles([self.level], X)[:, 0]
        found[: round(self.trivial * len(X))] = 0.0
        return found


def method(name, model, **options):
    return BenchmarkMethod(name, name, lambda dataset, options, seed: model, **options)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_the_oracle_covers_exactly_and_has_a_ratio_of_one():
    (row,) = run_plan(
        plan("coverage", datasets=["gui1"], methods=[method("oracle", OracleBound())], seeds=1),
        n_jobs=1,
    )
    assert row["error"] == ""
    assert row["bound_coverage"] == pytest.approx(0.9, abs=1e-12)
    assert row["bound_ratio"] == pytest.approx(1.0, abs=1e-12)
    assert row["bound_trivial"] == 0.0
    assert row["bound_limited"] == 0.0
    for among in ("unlimited", "risk"):
        assert row[f"bound_{among}_coverage"] == pytest.approx(0.9, abs=1e-12)
    assert math.isfinite(row["predict_seconds"])


def test_bounds_at_another_level_cover_as_that_level_says():
    model = OracleBound(level=0.25, trivial=0.2)
    (row,) = run_plan(
        plan("coverage", datasets=["gui1"], methods=[method("late", model)], seeds=1), n_jobs=1
    )
    assert row["bound_coverage"] == pytest.approx(0.8 * 0.75 + 0.2)
    assert row["bound_trivial"] == pytest.approx(0.2)
    assert row["bound_ratio"] > 1.2


def test_limited_bounds_and_those_at_the_highest_risk_are_scored_by_themselves():
    class Cut(OracleBound):
        """Takes bounds away from those at the highest risk, and says which others were cut."""

        def follow_up_of(self, X):
            return np.full(len(X), 1.0)

        def predict_lower_bound(self, X, confidence, output):
            assert output == "frame"
            bound = super().predict_lower_bound(X, confidence)
            risk = np.argsort(np.argsort(X[:, 0])) / len(X)
            bound[risk < 0.2] = 0.0
            bound[risk > 0.7] /= 1e6
            return pd.DataFrame({"bound": bound, "limited": risk > 0.7, "confidence": 0.9})

    (row,) = run_plan(
        plan("coverage", datasets=["gui1"], methods=[method("cut", Cut())], seeds=1), n_jobs=1
    )
    assert row["error"] == ""
    assert row["bound_limited"] == pytest.approx(0.3, abs=1e-3)
    assert row["bound_risk_coverage"] == pytest.approx(1.0)
    assert row["bound_unlimited_coverage"] == pytest.approx((0.2 + 0.5 * 0.9) / 0.7, abs=1e-3)
    assert row["bound_coverage"] == pytest.approx(0.2 + 0.5 * 0.9 + 0.3, abs=1e-3)


@pytest.mark.parametrize("knows", [False, True])
def test_censoring_times_reach_the_methods_that_need_them_and_no_other(knows):
    model = OracleBound()
    cells = plan(
        "coverage", datasets=["gui1"], methods=[method("m", model, knows_censoring=knows)], seeds=1
    )
    run_plan(cells, n_jobs=1)
    if knows:
        expected = get_dataset("gui1").train_test(111).censoring_time
        np.testing.assert_array_equal(model.censoring_time_, expected)
    else:
        assert model.censoring_time_ is None


def test_a_method_has_no_more_runs_than_its_own():
    ways = [method("long", OracleBound(), most_runs=2), method("short", OracleBound())]
    seeds = {
        cell.method.name: cell.seeds
        for cell in plan("coverage", datasets=["gui1"], methods=ways, seeds=3)
    }
    assert seeds == {"long": (111, 112), "short": (111, 112, 113)}


def test_the_suite_plans_a_hundred_runs_and_twenty_of_the_recommended_estimator():
    runs = {(cell.dataset.name, cell.method.name): len(cell.seeds) for cell in plan("coverage")}
    assert {name for name, _ in runs} == set(BOUND_SETTINGS)
    assert {runs["clr1", name] for _, name in runs if name.endswith("_recommended")} == {20}
    assert {runs["clr1", name] for _, name in runs if not name.endswith("_recommended")} == {100}


def test_bounds_stand_for_all_settings():
    cells = plan("coverage", datasets=["bounds"], methods=["bound_uncalibrated"])
    assert [cell.dataset.name for cell in cells] == list(BOUND_SETTINGS)


@pytest.mark.parametrize("bad", [[1.0], [np.nan] * 5000])
def test_a_bound_that_is_no_bound_is_named_in_the_row(bad):
    class Broken(OracleBound):
        def predict_lower_bound(self, X, confidence):
            return np.array(bad)

    cells = plan("coverage", datasets=["gui1"], methods=[method("broken", Broken())], seeds=1)
    (row,) = run_plan(cells, n_jobs=1)
    assert row["error"].startswith(
        "ValueError: predict_lower_bound must return 5000 numbers without NaN, got shape"
    )


def test_a_set_without_a_known_law_is_refused():
    data = get_dataset("norm_linear").train_test(111)
    message = (
        "The suite 'coverage' needs data sets with a known law of the events; choose among "
        "'bounds'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        CoverageConventions().more_scores(OracleBound(), data.X_test, data)


def rows(coverage, *, dataset="gui1", ratio=0.95, name="m", unlimited=None):
    return pd.DataFrame(
        {
            "suite": "coverage",
            "dataset": dataset,
            "split": "random",
            "variant": "",
            "method": name,
            "seed": range(len(coverage)),
            "bound_coverage": coverage,
            "bound_ratio": ratio,
            "bound_trivial": 0.0,
            "bound_limited": 0.0 if unlimited is None else 0.6,
            "bound_unlimited_coverage": coverage if unlimited is None else unlimited,
            "bound_risk_coverage": 0.86,
            "censored_share": 0.4,
        }
    )


@pytest.mark.parametrize(
    ("coverage", "dataset", "ratio", "missed"),
    [
        ([0.9] * 10, "gui1", 0.90, "kept"),
        ([0.9] * 10, "gui1", 0.89, "ratio"),
        ([0.9] * 10, "clr3", 0.5, "kept"),
        ([0.9] * 10, "clr3", 0.49, "ratio"),
        ([0.88] * 10, "gui5", 1.0, "coverage"),
        ([0.94] * 10, "gui5", 1.0, "coverage"),
        ([0.85] + [0.91] * 9, "gui5", 1.0, "kept"),
        ([0.85] * 2 + [0.91] * 8, "gui5", 1.0, "runs"),
        ([0.5] * 10, "gui5", 0.5, "coverage, runs, ratio"),
    ],
)
def test_tables_say_which_rules_are_missed(coverage, dataset, ratio, missed):
    over_all, by_setting = coverage_tables(rows(coverage, dataset=dataset, ratio=ratio), Labels())
    assert texts(by_setting)[0][-1] == missed
    kept = missed == "kept"
    assert texts(over_all)[0][1] == f"{int(kept)} of 1"
    assert texts(over_all)[0][-1] == ("–" if kept else dataset)
    assert over_all.rows[0][1].bold == kept


def test_the_upper_line_is_judged_among_bounds_that_follow_up_does_not_limit():
    for unlimited, missed in ((0.92, "kept"), (0.94, "coverage")):
        frame = rows([0.95] * 10, dataset="ss7", unlimited=unlimited)
        assert texts(coverage_tables(frame, Labels())[1])[0][-1] == missed
    # Where all bounds are limited there is nothing that could be too long.
    frame = rows([0.95] * 10, dataset="ss7", unlimited=np.nan)
    assert texts(coverage_tables(frame, Labels())[1])[0][-1] == "kept"


def test_each_method_has_one_line_over_all_settings():
    frame = pd.concat(
        [
            rows([0.9, 0.91], name="good"),
            rows([0.92, 0.9], dataset="clr3", name="good", ratio=0.6),
            rows([0.7, 0.9], name="bad"),
        ]
    )
    over_all, by_setting = coverage_tables(frame, Labels())
    assert texts(over_all) == [
        ["bad", "0 of 1", "0.800 to 0.800", "0.800", "0.860", "50 %", "0.950 to 0.950", "gui1"],
        ["good", "2 of 2", "0.905 to 0.910", "0.910", "0.860", "0 %", "0.600 to 0.950", "–"],
    ]
    assert [line[0] for line in texts(by_setting)] == ["clr3", "gui1", "gui1"]


def test_the_figure_has_each_mean_with_four_fifths_of_its_runs():
    coverage = np.linspace(0.85, 0.95, 11)
    frame = pd.concat([rows(coverage, name="a"), rows([0.9], dataset="clr3", name="b")])
    figure = coverage_figure(frame, Labels())
    upper, lower = figure.axes
    first, second = (line for line in upper.lines if line.get_marker() in ("o", "s"))
    assert first.get_ydata().tolist() == pytest.approx([0.9])
    assert second.get_ydata().tolist() == [0.9]
    ends = upper.collections[0].get_segments()[0][:, 1]
    assert ends == pytest.approx([0.86, 0.94])
    assert [label.get_text() for label in lower.get_xticklabels()] == ["clr3", "gui1"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_a_run_writes_its_tables_and_resumes(tmp_path):
    ways = [method("oracle", OracleBound())]
    first = run("coverage", datasets=["gui1"], methods=ways, seeds=1, out=tmp_path, n_jobs=1)
    assert "oracle" in (tmp_path / "coverage" / "table.md").read_text(encoding="utf-8")
    assert (tmp_path / "coverage" / "coverage.png").is_file()
    lines = (tmp_path / "coverage" / "rows.jsonl").read_bytes()
    again = run("coverage", datasets=["gui1"], methods=ways, seeds=2, out=tmp_path, n_jobs=1)
    assert (len(first.rows), len(again.rows)) == (1, 2)
    assert (tmp_path / "coverage" / "rows.jsonl").read_bytes().startswith(lines)


def test_methods_are_registered_with_both_base_models():
    assert {one.name for one in COVERAGE_METHODS} <= set(METHODS)
    assert set(SUITES["coverage"].methods) <= set(METHODS)
    cheap = get_method("bound_uncalibrated").build(get_dataset("gui1"), {}, 3)
    assert isinstance(cheap.estimator, BoostedQuantileRegressor)
    assert cheap.estimator.random_state == 3
    long = get_method("bound_events_recommended").build(get_dataset("gui1"), {}, 3)
    assert type(long.estimator).__name__ == "CensoredQuantileRegressor"


CONFORMAL = {
    "auto": "auto",
    "ipcw": "ipcw",
    "km_pit": "km-pit",
    "drcosarc": "drcosarc",
    "candes": "candes",
    "gui": "gui",
}


@pytest.mark.parametrize("name", CONFORMAL)
def test_each_calibration_runs_as_it_comes_and_covers_most_events(name):
    way = get_method(f"bound_{name}")
    model = way.build(get_dataset("gui6"), {}, 3)
    assert isinstance(model, ConformalSurvivalRegressor)
    assert (model.method, model.cv, model.random_state) == (CONFORMAL[name], 5, 3)
    assert way.knows_censoring == (name in ("candes", "gui"))
    # Fewer rows than the suite has.
    cell = BenchmarkCell(
        "coverage", get_dataset("gui6"), way, n_train=400, conventions=CoverageConventions()
    )
    (row,) = run_cell(cell, [111])
    assert row["error"] == ""
    assert row["n_train"] == 400
    assert row["bound_coverage"] > 0.8
    assert 0.3 < row["bound_ratio"] < 1.4


class Shift(BaseEstimator):
    """Predicts that all times are 1, whatever the level."""

    def fit(self, X, y):
        return self

    def predict_quantiles(self, X, quantiles):
        return np.ones((len(X), len(quantiles)))


def test_an_uncalibrated_bound_is_the_models_quantile():
    X, y = get_dataset("gui1").train_test(111).X[:300], get_dataset("gui1").train_test(111).y[:300]
    base = BoostedQuantileRegressor(random_state=0)
    bound = UncalibratedBound(base).fit(X, y).predict_lower_bound(X, confidence=0.8)
    np.testing.assert_allclose(bound, base.fit(X, y).predict_quantiles(X, [0.2])[:, 0])


def test_a_bound_from_events_is_their_conformal_quantile():
    X = np.zeros((40, 1))
    y = np.array([(True, t) for t in range(1, 41)], dtype=[("event", bool), ("time", float)])
    model = EventsOnlyBound(Shift(), random_state=0).fit(X, y)
    # Of 20 scores 1 - t the 19th smallest, 0.9 of 21 rounded up, belongs to the second time.
    second = np.sort(model._time)[1]
    np.testing.assert_allclose(model.predict_lower_bound(X, confidence=0.9), second)


def test_a_bound_from_too_few_events_is_zero():
    X = np.zeros((40, 1))
    y = np.array([(t < 4, t) for t in range(1, 41)], dtype=[("event", bool), ("time", float)])
    model = EventsOnlyBound(Shift(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_lower_bound(X, confidence=0.9), 0.0)
