import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence as dependence_of_sklearn

from censquant.inspection import partial_dependence
from censquant.inspection._table import FeatureTable
from formula_model import FormulaModel, eight_features, mixed_frame, of_mixed_frame

LOG_2 = np.log(2.0)


class AsSklearn(RegressorMixin, BaseEstimator):
    """The median of a formula as scikit-learn sees it."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return FormulaModel(eight_features).predict(X)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(150, 8))


@pytest.mark.parametrize("feature", [2, 6])
def test_values_and_averages_are_those_of_scikit_learn(rows, feature):
    ours = partial_dependence(FormulaModel(eight_features), rows, feature, n_values=12)
    theirs = dependence_of_sklearn(
        AsSklearn().fit(rows, rows[:, 0]), rows, [feature], grid_resolution=12, kind="both"
    )
    # Both interpolate the ends of the grid, by different rules for quantiles.
    again = partial_dependence(
        FormulaModel(eight_features), rows, feature, grid=theirs["grid_values"][0]
    )
    assert_allclose(ours.grid, theirs["grid_values"][0], atol=0.1)
    assert_allclose(again.average[:, 0], theirs["average"][0])
    assert_allclose(again.individual[..., 0], theirs["individual"][0])


def test_an_interaction_shows_in_individual_curves_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[:, 1] -= X[:, 1].mean()
    found = partial_dependence(
        FormulaModel(lambda X: 20 + X[:, 0] * X[:, 1]), X, 0, grid=[-1.0, 1.0]
    )
    assert_allclose(np.diff(found.average[:, 0]), 0.0, atol=1e-9)
    assert_allclose(np.diff(found.individual[..., 0], axis=1)[:, 0], 2 * LOG_2 * X[:, 1])


def test_each_level_has_its_column(rows):
    model = FormulaModel(eight_features)
    found = partial_dependence(model, rows, 0, quantiles=[0.1, 0.5, 0.9], n_values=5)
    assert found.average.shape == (5, 3)
    one = partial_dependence(model, rows, 0, quantiles=[0.9], n_values=5)
    assert_allclose(found.average[:, 2], one.average[:, 0])


def test_few_distinct_values_are_taken_as_they_are_and_missing_ones_left_out():
    frame = mixed_frame(80)
    found = partial_dependence(FormulaModel(of_mixed_frame), frame, "nodes")
    assert_array_equal(found.grid, np.sort(frame["nodes"].unique()))
    by_age = partial_dependence(FormulaModel(of_mixed_frame), frame, "age", n_values=7)
    assert np.isfinite(by_age.grid).all()


@pytest.mark.parametrize(
    ("feature", "values"),
    [("stage", ["I", "II", "III"]), ("site", ["lung", "skin"]), ("smoker", ["False", "True"])],
)
def test_categories_are_set_one_after_the_other(feature, values):
    frame = mixed_frame(50)
    model = FormulaModel(of_mixed_frame)
    found = partial_dependence(model, frame, feature)
    assert found.is_categorical
    assert found.grid.tolist() == values
    for place, value in enumerate(values):
        changed = frame.copy()
        changed[feature] = value == "True" if feature == "smoker" else value
        assert_allclose(found.individual[:, place, 0], model.predict(changed))


def test_frames_of_polars_give_the_same():
    frame = mixed_frame(30)
    frame["site"] = frame["site"].astype(str)
    model = FormulaModel(
        lambda X: of_mixed_frame(X.to_pandas() if isinstance(X, pl.DataFrame) else X)
    )
    for feature in frame.columns:
        ours = partial_dependence(model, pl.from_pandas(frame), feature)
        same = partial_dependence(model, frame, feature)
        assert_allclose(ours.average, same.average)


def test_weights_count_rows(rows):
    model = FormulaModel(eight_features)
    weight = np.arange(150) % 3
    found = partial_dependence(model, rows, 1, grid=[0.0, 1.0], sample_weight=weight)
    repeated = partial_dependence(model, np.repeat(rows, weight, axis=0), 1, grid=[0.0, 1.0])
    assert_allclose(found.average, repeated.average)


def test_many_rows_are_sampled(rows):
    found = partial_dependence(FormulaModel(eight_features), rows, 0, max_rows=20, n_values=3)
    assert found.individual.shape == (20, 3, 1)
    again = partial_dependence(FormulaModel(eight_features), rows, 0, max_rows=20, n_values=3)
    assert_array_equal(found.average, again.average)


class Followed(FormulaModel):
    """Says that levels up to the second feature are identified."""

    def identified_level(self, X):
        return X[:, 1]


@pytest.mark.parametrize(("censoring", "share"), [("right", 0.75), ("left", 0.25)])
def test_the_share_of_rows_that_the_data_can_speak_for_is_reported(censoring, share):
    X = np.array([[0.0, 0.2], [1.0, 0.6], [2.0, 0.7], [3.0, 0.9]])
    model = Followed(lambda X: 1 + X[:, 0], censoring)
    found = partial_dependence(model, X, 0, grid=[1.0])
    assert_allclose(found.identified, share)


def test_a_model_that_does_not_say_how_far_it_can_speak_has_no_share(rows):
    found = partial_dependence(FormulaModel(eight_features), rows, 0, n_values=3)
    assert_array_equal(found.identified, 1.0)


def test_the_data_are_left_as_they_are():
    frame = mixed_frame(30)
    before = frame.copy()
    for feature in frame.columns:
        partial_dependence(FormulaModel(of_mixed_frame), frame, feature)
    pd.testing.assert_frame_equal(frame, before)


def test_the_frame_of_the_outcome_has_a_line_per_value_and_level(rows):
    found = partial_dependence(
        FormulaModel(eight_features), rows, 0, quantiles=[0.1, 0.5], grid=[0.0, 1.0]
    )
    table = found.to_frame()
    assert table["value"].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert_array_equal(table["average"], found.average.ravel())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature": "age"}, "feature must be one of the columns 'x0', 'x1'"),
        ({"feature": 8}, "feature must be the name or number of one of 8 columns, got 8."),
        ({"grid": [1.0, 0.0]}, "grid must be one or more finite numbers in increasing order"),
        ({"n_values": 1}, "n_values must be at least 2, got 1."),
    ],
)
def test_wrong_arguments_are_refused(rows, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        partial_dependence(FormulaModel(eight_features), rows, **{"feature": 0, **options})


def test_categories_have_no_grid():
    message = "grid must be left out for 'stage', whose values are categories."
    with pytest.raises(ValueError, match=re.escape(message)):
        partial_dependence(FormulaModel(of_mixed_frame), mixed_frame(), "stage", grid=[1.0])


def test_a_column_without_a_value_is_refused():
    frame = mixed_frame().assign(age=np.nan)
    message = "feature must have a value in some row, but 'age' has none."
    with pytest.raises(ValueError, match=re.escape(message)):
        partial_dependence(FormulaModel(of_mixed_frame), frame, "age")


def test_what_a_mask_hides_is_missing():
    hidden = np.array([[False, True], [False, False]])
    masked = np.ma.array([[1.0, 9e9], [2.0, 4.0]], mask=hidden)
    table = FeatureTable.read(masked)
    np.testing.assert_array_equal(table.X, [[1.0, np.nan], [2.0, 4.0]])
