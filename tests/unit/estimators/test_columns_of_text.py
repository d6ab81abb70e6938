"""Columns of text in models whose coefficients are read: one term for each level but the first."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lifelines.datasets import load_lung

from censquant import AFTRegressor, CoxQuantileRegressor, LinearQuantileRegressor, load_model
from censquant.exceptions import IdentifiabilityWarning
from censquant.export._graph import Graph

LUNG = load_lung()[["time", "status", "age", "sex", "ph.ecog", "inst"]].dropna()
WORDS = {0: "a fine", 1: "b walks", 2: "c rests", 3: "d bed"}
X = LUNG[["age", "sex"]].assign(ecog=LUNG["ph.ecog"].map(WORDS))
Y = (LUNG["time"].to_numpy(), LUNG["status"].to_numpy() == 1)
DUMMIES = X[["age", "sex"]].assign(
    **{f"ecog={word}": (X["ecog"] == word).astype(float) for word in list(WORDS.values())[1:]}
)
MODELS = {
    "cox": CoxQuantileRegressor(penalty=0, random_state=0),
    "aft": AFTRegressor(distribution="lognormal", random_state=0),
    "linear": LinearQuantileRegressor([0.25, 0.5], step=0.05, random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


@every_model
def test_levels_are_compared_with_the_first(model):
    expected = model.fit(DUMMIES, Y).summary().to_frame()
    quantiles = model.predict_quantiles(DUMMIES[:20], [0.25, 0.5], beyond="extrapolate")
    found = model.fit(X, Y)
    pd.testing.assert_frame_equal(found.summary().to_frame(), expected)
    assert found.feature_names_in_.tolist() == ["age", "sex", "ecog"]
    np.testing.assert_array_equal(
        found.predict_quantiles(X[:20], [0.25, 0.5], beyond="extrapolate"), quantiles
    )


@every_model
def test_categories_and_polars_are_read_alike(model):
    expected = str(model.fit(X, Y).summary())
    assert str(model.fit(X.assign(ecog=X["ecog"].astype("category")), Y).summary()) == expected
    assert str(model.fit(pl.from_pandas(X.reset_index(drop=True)), Y).summary()) == expected


def test_the_joint_test_of_a_column_is_that_of_r():
    # b %*% solve(V, b) of factor(ph.ecog): coxph with both ties, survreg with dist = "lognormal"
    for model, expected in (
        (CoxQuantileRegressor(penalty=0), 18.106569710304),
        (CoxQuantileRegressor(penalty=0, ties="breslow"), 18.047460444754),
        (AFTRegressor(distribution="lognormal"), 13.927403118315),
    ):
        summary = model.fit(X, Y).summary()
        test = summary.joint_test("ecog")
        np.testing.assert_allclose(test.statistics, expected, rtol=1e-5)
        assert test.degrees_of_freedom.tolist() == [3]
        assert str(test) in str(summary)
        assert "Joint test of ecog" in summary._repr_html_()


def test_proportional_hazards_of_a_column_are_tested_together():
    # cox.zph(coxph(Surv(time, status) ~ age + sex + factor(ph.ecog), lung))
    model = CoxQuantileRegressor(penalty=0).fit(X, Y)
    tests = model.test_proportional_hazards(X, Y)
    expected = [0.21654699573037, 2.60925878116108, 6.13259880082087, 8.45353607194260]
    np.testing.assert_allclose(tests.statistics, expected, rtol=1e-5)
    assert tests.names == ("age", "sex", "ecog", "all")
    assert tests.degrees_of_freedom.tolist() == [1, 1, 3, 5]


def test_linear_quantiles_test_a_column_at_each_level():
    model = LinearQuantileRegressor([0.25, 0.5], n_bootstrap=20, step=0.05, random_state=0)
    with pytest.warns(IdentifiabilityWarning, match=r"but 1 rows or fewer \('ecog=d bed'\): their"):
        summary = model.fit(X, Y).summary()
    assert np.isnan(summary.standard_errors[:, -1]).all()
    test = summary.joint_test("ecog")
    # The only row of the last level says nothing.
    assert test.degrees_of_freedom.tolist() == [2, 2]
    assert summary.joint_test("age").names == ("0.25", "0.5")


@every_model
def test_files_and_graphs_read_text_too(model, tmp_path):
    model.fit(X, Y)
    model.save(tmp_path / "model")
    twin = load_model(tmp_path / "model")
    np.testing.assert_array_equal(twin.predict(X[:30]), model.predict(X[:30]))
    assert str(twin.summary()) == str(model.summary())
    graph = Graph()
    model._graph_curve(graph)
    assert len(graph.inputs) >= 2


@every_model
def test_missing_text_is_a_level_and_missing_numbers_are_refused(model):
    text = X["ecog"].astype(object).where(np.arange(len(X)) % 20 > 0, None)
    terms = model.fit(X.assign(ecog=text), Y).summary().terms
    assert "ecog (missing)" in terms
    numbers = X.assign(age=X["age"].where(np.arange(len(X)) > 0))
    message = "X must be without missing values in the columns 'age': impute them or drop the rows."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        model.fit(numbers, Y)


@every_model
def test_levels_that_the_fit_did_not_have_are_refused(model):
    model.fit(X, Y)
    message = (
        "X must have levels of the fit in the columns 'ecog', got others: drop these rows, or fit "
        "to rows that have them."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        model.predict(X.assign(ecog="new"))
    message = "X must be without missing values in the columns 'ecog': impute them or drop the"
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        model.predict(X.assign(ecog=None))


@every_model
def test_text_without_levels_that_could_be_compared_is_refused(model):
    message = (
        "X must have at most 30 levels in a column of text, got 226 in 'id': drop the column, or "
        "merge levels."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        model.fit(X.assign(id=[f"patient {row}" for row in range(len(X))]), Y)
    with pytest.raises(ValueError, match=r"^X must hold numbers, got other values in the columns"):
        model.fit(X.assign(site="lung"), Y)


@every_model
def test_a_fit_to_numbers_forgets_the_text_of_the_one_before(model):
    numbers = X[["age", "sex"]]
    expected = str(model.fit(numbers, Y).summary())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    assert str(model.fit(numbers, Y).summary()) == expected
