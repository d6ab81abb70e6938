"""The suite from data to tables, on a small made study."""

import math
import re
import shutil
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from benchmark_cells import Median
from censquant import CQRNN
from censquant.metrics import concordance_index
from censquant_bench import (
    METHODS,
    KaplanMeierBaseline,
    get_dataset,
    get_method,
    own_method,
    plan,
    run,
    run_plan,
)
from censquant_bench.datasets import fetch_field, field_folds
from censquant_bench.field import FIELD_COMPARISON, FIELD_METHODS, FIELD_SUITE
from censquant_bench.reporting import Labels
from data_folder import Folder
from field_study import made_study


@pytest.fixture
def study(tmp_path, monkeypatch):
    return made_study(tmp_path, monkeypatch)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def titled(tables, start):
    return next(table for table in tables if table.title.startswith(start))


def test_rows_are_divided_as_the_study_divided_them(study):
    data = get_dataset("field_lung").train_test(2)
    folds = field_folds("lung").query("iteration == 2")
    X, y = fetch_field("lung", as_frame=False)
    for part, features, target in (("train", data.X, data.y), ("test", data.X_test, data.y_test)):
        rows = folds.loc[folds["set"] == part, "row_id"].to_numpy() - 1
        np.testing.assert_array_equal(features, X[rows])
        np.testing.assert_array_equal(target, y[rows])
    train, test = data.frames
    assert train["sex"].tolist() == np.where(data.X[:, 1] == 1, "M", "F").tolist()
    assert test["age"].tolist() == data.X_test[:, 0].tolist()
    assert data.feature_names == ("age", "sex=M")


def test_a_set_is_read_anew_in_another_folder(study, monkeypatch, tmp_path):
    first = get_dataset("field_lung").train_test(1)
    other = Folder(tmp_path / "other", monkeypatch)
    shutil.copytree(study.root, other.root)
    monkeypatch.setenv("CENSQUANT_DATA", str(other.root))
    rows = (study.root / "field" / "datasets" / "lung.csv").read_text().replace(",M,", ",X,")
    other.add("field/datasets/lung.csv", rows)
    second = get_dataset("field_lung").train_test(1)
    assert second.feature_names == ("age", "sex=X")
    np.testing.assert_array_equal(second.X, first.X)


def test_runs_are_iterations_and_no_more_than_a_set_has():
    of = {cell.dataset.name: cell.seeds for cell in plan("field", methods=["kaplan_meier"])}
    assert len(of) == 34
    assert set(of.values()) == {(1, 2, 3)}
    cells = plan("field", methods=["kaplan_meier"], seeds=40)
    runs = {cell.dataset.name: cell.seeds[-1] for cell in cells}
    assert (runs["field_support"], runs["field_gbsg"], runs["field_lung"]) == (3, 15, 30)


def test_a_range_names_the_iterations_themselves():
    wanted = {"datasets": ["field_lung", "field_colrec"], "methods": ["kaplan_meier"]}
    assert [cell.seeds for cell in plan("field", seeds=range(4, 7), **wanted)] == [(4, 5, 6), ()]
    wanted["datasets"] = ["field_colrec"]
    message = "There is nothing to run: no data set has a run of range(4, 7)."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        plan("field", seeds=range(4, 7), **wanted)


def test_sets_of_development_and_confirmation_are_all_sets():
    parts = [
        {cell.dataset.name for cell in plan("field", datasets=[group], methods=["kaplan_meier"])}
        for group in ("field-development", "field-confirmation", "field")
    ]
    assert [len(part) for part in parts] == [17, 17, 34]
    assert parts[0] | parts[1] == parts[2]
    assert "field_veteran" in parts[1]


def test_an_iteration_that_does_not_exist_is_named(study):
    message = (
        "The data set field_lung has no iteration 111; run it in the suite 'field', whose runs are "
        "the study's iterations."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        get_dataset("field_lung").train_test(111)


def test_the_group_stands_for_all_sets_of_the_field():
    cells = plan("field", datasets=["field"], methods=["kaplan_meier"])
    assert {cell.dataset.kind for cell in cells} == {"field"}
    assert len(cells) == 34


def test_rows_have_the_studys_scores_beside_the_usual_ones(study):
    cells = plan("field", datasets=["field_lung"], methods=["lognormal_default"], seeds=1)
    (row,) = run_plan(cells, n_jobs=1)
    assert row["error"] == ""
    for score in ("cindex_restricted_mean", "isbs", "dcalib", "log_score", "cindex", "pinball"):
        assert math.isfinite(row[score]), score
    data = get_dataset("field_lung").train_test(1)
    model = get_method("lognormal_default").build(get_dataset("field_lung"), {}, 1)
    model.fit(data.X, data.y)
    horizon = np.sort(data.y_test["time"])
    # The first time at which more than 80 % of 50 rows came before it.
    mean = model.predict_restricted_mean(data.X_test, horizon[41])
    assert row["cindex_restricted_mean"] == concordance_index(data.y_test, mean)
    assert row["cindex_restricted_mean"] > 0.6
    assert row["isbs"] < 0.2


@pytest.mark.parametrize("method", FIELD_METHODS, ids=lambda method: method.name)
def test_methods_come_with_their_own_defaults(method):
    model = method.build(get_dataset("field_lung"), {}, 7)
    assert METHODS[method.name] is method
    if not isinstance(model, KaplanMeierBaseline):
        assert model.random_state == 7
    if method.name.endswith("_default"):
        assert {**model.get_params(), "random_state": None} == type(model)().get_params()


def test_methods_of_the_paper_scale_these_sets_themselves(study):
    cqrnn = get_method("cqrnn").build(get_dataset("field_lung"), {}, 1)
    assert cqrnn.standardize
    assert cqrnn.time_transform == CQRNN().time_transform


class Categorical(Median):
    """Notes what it is fitted to and asked about."""

    seen: ClassVar[list] = []

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def fit(self, X, y):
        self.seen.append(X)
        return super().fit(X, y)

    def predict_quantiles(self, X, quantiles):
        self.seen.append(X)
        return super().predict_quantiles(X, quantiles)


class Plain(Categorical):
    """The same without the declaration."""

    seen: ClassVar[list] = []

    def __sklearn_tags__(self):
        return BaseEstimator.__sklearn_tags__(self)


@pytest.mark.parametrize(
    ("estimator", "columns"), [(Categorical(), ["age", "sex"]), (Plain(), ["age", "sex=M"])]
)
def test_estimators_that_declare_it_get_categories(study, estimator, columns):
    estimator.seen.clear()
    cells = plan("field", datasets=["field_uis"], methods=[own_method("own", estimator)], seeds=1)
    (row,) = run_plan(cells, n_jobs=1)
    assert row["error"] == ""
    assert all(isinstance(X, pd.DataFrame) for X in estimator.seen)
    assert all(X.columns.tolist() == columns for X in estimator.seen)
    assert {len(X) for X in estimator.seen} == {50, 100}
    assert row["cindex_restricted_mean"] == 0.5


def test_the_tables_compare_with_the_published_learners(study):
    report = run(
        "field",
        datasets=["field_lung", "field_uis"],
        methods=["kaplan_meier", "lognormal_default"],
        n_jobs=1,
    )
    tables = report.tables
    by_set = texts(titled(tables, "C by data set"))
    assert [row[:4] for row in by_set[:1]] == [["lung (field)", "Kaplan-Meier", "1, 2, 3", "0.500"]]
    assert by_set[0][5:9] == ["4.5", "0.720 (ORSF)", "0.700", "0.500"]
    assert texts(titled(tables, "ISBS by"))[0][5:8] == ["0.1400 (ORSF)", "0.1500", "0.2000"]
    ranks = {row[0]: row[1:] for row in texts(titled(tables, "Mean ranks"))}
    assert ranks["Kaplan-Meier"][:2] == ["2", "4.5 (4 of 5; 4.5 to 4.5)"]
    assert ranks["Kaplan-Meier"][3] == "3.0 (3 of 4; 3.0 to 3.0)"
    learners = texts(titled(tables, "All learners and LogNormalNN()"))
    assert {row[0] for row in learners} == {
        "Kaplan-Meier (KM)", "Cox (CPH)", "oblique forest (ORSF)", "survival SVM (SSVM)",
        "LogNormalNN()",
    }  # fmt: skip
    assert {row[0]: row[3] for row in learners}["survival SVM (SSVM)"] == "–"
    tests = texts(titled(tables, "Against Cox"))
    assert [row[:2] for row in tests[:4]] == [
        ["Kaplan-Meier", "C"],
        ["Kaplan-Meier", "C of the median"],
        ["Kaplan-Meier", "ISBS"],
        ["Kaplan-Meier", "D-calibration"],
    ]
    assert tests[0][3:7] == ["2.0", "−2.50", "3.95", "0 of 2"]
    assert "No published score is missing" in report.to_markdown()


def rows_of(dataset, **scores):
    common = {"suite": "field", "dataset": dataset, "method": "m", "split": "random"}
    return pd.DataFrame(
        {**common, "variant": "", "seed": [1, 2, 3], "fit_seconds": 0.1, "cindex": 0.6, **scores}
    )


def test_the_best_score_is_bold_and_missing_ones_are_counted(study):
    place = study.root / "field" / "published_scores.csv"
    lines = [line for line in place.read_text().splitlines() if "uis,KM" not in line]
    place.write_text("\n".join(lines))
    frame = pd.concat(
        rows_of(name, cindex_restricted_mean=0.8, isbs=0.3) for name in ("field_lung", "field_uis")
    )
    tables = FIELD_COMPARISON.tables(frame, Labels())
    assert titled(tables, "C by").rows[0][3].bold
    assert not titled(tables, "ISBS by").rows[0][3].bold
    assert texts(titled(tables, "C by"))[1][8] == "–"
    notes = " ".join(titled(tables, "Mean ranks").notes)
    assert "Published scores missing on these sets and runs: 1; a learner is ranked" in notes


def test_without_published_scores_ours_are_shown_alone(study):
    (study.root / "field" / "published_scores.csv").unlink()
    frame = rows_of("field_lung", cindex_restricted_mean=0.8, isbs=0.3)
    tables = FIELD_SUITE.report_tables(frame, Labels())
    titles = ["C by data set", "ISBS by data set", "D-calibration by data set"]
    assert [table.title for table in tables] == titles
    assert texts(tables[0])[0][3:] == ["0.800", "0.600", "–", "–", "–", "–", "0.1"]
    assert any("so nothing is compared" in note for note in tables[0].notes)


def test_sets_of_a_users_own_have_no_rank(study):
    frame = pd.concat(
        [
            rows_of("field_lung", cindex_restricted_mean=0.8, isbs=0.3),
            rows_of("mine", cindex_restricted_mean=0.8, isbs=0.3),
        ]
    )
    by_set = texts(titled(FIELD_COMPARISON.tables(frame, Labels()), "C by"))
    assert by_set[0][5] == "1.0"
    assert by_set[1][5:9] == ["–"] * 4
