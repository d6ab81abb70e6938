import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from censquant.inspection import contributions
from formula_model import FormulaModel, eight_features, mixed_frame, of_mixed_frame
from shapley import exact_contributions

LOG_2 = np.log(2.0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, 8)), rng.normal(size=(200, 8))


@pytest.fixture(scope="module")
def exact(rows):
    X, background = rows
    model = FormulaModel(eight_features)
    return np.stack([exact_contributions(model.predict, x, background) for x in X])


def test_contributions_and_the_average_add_up_to_the_prediction(rows):
    model = FormulaModel(eight_features)
    for n_background in (None, 2, 7, 50):
        found = contributions(model, *rows, n_background=n_background, random_state=0)
        assert_allclose(found.base + found.values.sum(axis=1), model.predict(rows[0]), atol=1e-6)


def test_values_lie_within_two_standard_errors_of_full_enumeration_as_often_as_they_should(
    rows, exact
):
    model = FormulaModel(eight_features)
    distances = []
    for seed in range(40):
        found = contributions(model, *rows, n_background=32, random_state=seed)
        distances.append((found.values - exact) / found.standard_errors)
    distances = np.abs(distances)
    # 40 * 40 values that are correlated within a draw; a normal error is within 2 in 95.4 %.
    assert (distances < 2).mean() > 0.92
    assert np.sqrt((distances**2).mean()) < 1.2


def test_values_by_default_lie_within_two_standard_errors_of_full_enumeration(rows, exact):
    found = contributions(FormulaModel(eight_features), *rows, random_state=1)
    assert found.n_background == 100
    distances = np.abs(found.values - exact) / found.standard_errors
    # Of 40 normal errors two lie beyond two standard errors on average, and none beyond four.
    assert (distances < 2).sum() >= 36
    assert distances.max() < 4


def test_two_features_that_interact_are_exact_if_all_rows_are_used():
    rng = np.random.default_rng(1)
    X, background = rng.normal(size=(3, 3)), rng.normal(size=(40, 3))
    model = FormulaModel(lambda X: 9 + X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + np.exp(X[:, 2]))
    found = contributions(model, X, background, n_background=40, random_state=0)
    exact = [exact_contributions(model.predict, x, background) for x in X]
    assert_allclose(found.values, exact, atol=1e-10)


def test_a_linear_model_has_the_contributions_of_its_coefficients():
    rng = np.random.default_rng(2)
    X, background = rng.normal(size=(4, 3)), rng.normal(size=(20, 3))
    slopes = np.array([2.0, 0.0, -1.0])
    found = contributions(FormulaModel(lambda X: 9 + X @ slopes), X, background, random_state=0)
    assert_allclose(found.values, LOG_2 * slopes * (X - background.mean(axis=0)), atol=1e-12)


def test_a_feature_that_the_model_ignores_contributes_nothing(rows):
    X, background = rows
    found = contributions(FormulaModel(lambda X: 9 + X[:, 0] ** 2), X, background, random_state=0)
    assert_array_equal(found.values[:, 1:], 0.0)
    assert_array_equal(found.standard_errors[:, 1:], 0.0)


def test_an_individual_is_explained_the_same_whoever_else_is(rows):
    X, background = rows
    together = contributions(FormulaModel(eight_features), X, background, random_state=3)
    alone = contributions(FormulaModel(eight_features), X[2:3], background, random_state=3)
    assert_allclose(alone.values[0], together.values[2], rtol=1e-12)


def test_the_same_seed_gives_the_same_values(rows):
    first, second, third = (
        contributions(FormulaModel(eight_features), *rows, n_background=9, random_state=seed).values
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, second)
    assert np.abs(first - third).max() > 0


def test_many_individuals_cost_no_more_than_the_budget_says(monkeypatch):
    monkeypatch.setattr("censquant.inspection._contributions._BUDGET", 20_000)
    X = np.random.default_rng(0).normal(size=(100, 11))
    model = FormulaModel(lambda X: 30 + X[:, 0])
    found = contributions(model, X[:20] + 1, X, random_state=0)
    assert found.n_background == 50
    assert model.n_rows_asked == 20_000 + len(X) + 20
    assert contributions(model, X, X, random_state=0).n_background == 10
    monkeypatch.setattr("censquant.inspection._contributions._BUDGET", 1)
    assert contributions(model, X[:2], X, random_state=0).n_background == 8


def test_values_that_agree_are_not_asked_for():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(10, 12)).astype(float)
    model = FormulaModel(lambda X: 9 + X.sum(axis=1))
    found = contributions(model, X, X, random_state=0)
    most = len(X) * found.n_background * 2 * 11
    assert model.n_rows_asked < 0.65 * most
    assert_allclose(found.values, LOG_2 * (X - X.mean(axis=0)), atol=1e-12)


def test_another_quantile_has_contributions_of_its_own(rows):
    model = FormulaModel(eight_features)
    median = contributions(model, *rows, random_state=0)
    early = contributions(model, *rows, quantile=0.1, random_state=0)
    assert_allclose(early.values / median.values, np.log(0.9) / np.log(0.5))
    assert early.quantile == 0.1


def test_the_mean_of_few_rows_is_close_to_that_of_all():
    rng = np.random.default_rng(0)
    background = rng.normal(size=(2_000, 2))
    model = FormulaModel(lambda X: np.exp(X[:, 0]) + 0.1 * X[:, 1] ** 2)
    bases = [
        contributions(model, background[:1], background, n_background=20, random_state=s).base
        for s in range(20)
    ]
    truth = model.predict(background)
    plain = truth.std() / np.sqrt(20)
    assert np.sqrt(np.mean((np.array(bases) - truth.mean()) ** 2)) < 0.5 * plain


def exact_of_frame(model, one, background):
    """Full enumeration for frames, by rows of positions."""
    stacked = pd.concat([one, background], ignore_index=True)

    def predict(codes):
        columns = {
            name: stacked[name].iloc[codes[:, place].astype(int)].reset_index(drop=True)
            for place, name in enumerate(stacked.columns)
        }
        return model.predict(pd.DataFrame(columns))

    n_features = len(stacked.columns)
    others = np.tile(np.arange(1, len(stacked))[:, None], (1, n_features))
    return exact_contributions(predict, np.zeros(n_features), others)


def test_frames_with_text_categories_and_missing_values_are_taken_as_they_are():
    frame = mixed_frame(40)
    model = FormulaModel(of_mixed_frame)
    found = contributions(model, frame.iloc[:3], frame, n_background=40, random_state=0)
    assert found.features == ("age", "stage", "site", "smoker", "nodes")
    assert_allclose(found.base + found.values.sum(axis=1), model.predict(frame[:3]), atol=1e-9)
    for row in range(3):
        exact = exact_of_frame(model, frame.iloc[[row]], frame)
        assert (np.abs(found.values[row] - exact) < 2 * found.standard_errors[row] + 1e-9).all()
    assert found.texts(0)[0] == "missing"
    assert found.texts(1)[1] in ("I", "II", "III")


def test_a_row_made_by_hand_is_compared_with_rows_of_a_study():
    frame = mixed_frame(40)
    one = pd.DataFrame([{"nodes": 2.5, "smoker": True, "age": None, "stage": "I", "site": "skin"}])
    model = FormulaModel(of_mixed_frame)
    found = contributions(model, one[frame.columns], frame, random_state=0)
    assert_allclose(found.base + found.values.sum(), model.predict(one), atol=1e-9)
    # Columns are matched by name, in the order of the individuals.
    turned = contributions(model, one, frame, random_state=0)
    assert turned.features == tuple(one.columns)
    assert_allclose(turned.base, found.base)


def test_frames_of_polars_are_taken_as_they_are():
    frame = mixed_frame(30)
    frame["site"] = frame["site"].astype(str)
    model = FormulaModel(lambda X: of_mixed_frame(X.to_pandas() if is_polars(X) else X))
    ours = contributions(model, pl.from_pandas(frame[:2]), pl.from_pandas(frame), random_state=0)
    same = contributions(model, frame[:2], frame, random_state=0)
    assert_allclose(ours.values, same.values)


def is_polars(X):
    return isinstance(X, pl.DataFrame)


def test_the_frame_of_the_outcome_has_a_line_per_individual_and_feature():
    frame = mixed_frame(20)
    frame.index = [f"p{row}" for row in range(20)]
    found = contributions(FormulaModel(of_mixed_frame), frame[:2], frame, random_state=0)
    table = found.to_frame()
    assert table.index.names == ["individual", "feature"]
    assert table.loc[("p1", "nodes"), "contribution"] == found.values[1, 4]
    assert table.loc[("p1", "nodes"), "value"] == str(frame["nodes"].iloc[1])


def test_one_feature_takes_the_whole_difference():
    X = np.array([[1.0], [3.0]])
    model = FormulaModel(lambda X: 1 + X[:, 0])
    found = contributions(model, X, X, random_state=0)
    assert_allclose(found.values[:, 0], LOG_2 * np.array([-1.0, 1.0]))


def test_one_row_to_compare_with_leaves_no_standard_error():
    found = contributions(FormulaModel(eight_features), np.ones((1, 8)), np.zeros((1, 8)))
    assert np.isnan(found.standard_errors).all()


def test_estimators_of_this_library_are_explained():
    from censquant import CoxQuantileRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.exp(1 + X[:, 0] + 0.3 * rng.normal(size=80)), rng.random(80) < 0.8
    model = CoxQuantileRegressor().fit(X, y)
    found = contributions(model, X[:4], X, random_state=0)
    sums = found.base + found.values.sum(axis=1)
    assert_allclose(sums, model.predict_quantiles(X[:4], [0.5], beyond="extrapolate")[:, 0])
    assert np.abs(found.values[:, 0]).sum() > np.abs(found.values[:, 1]).sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantile": 1.0}, "quantile must be finite and inside (0, 1), got 1.0."),
        ({"n_background": 1}, "n_background must be at least 2, got 1."),
        ({"background": np.ones((3, 7))}, "background must have the columns of X, x0, x1"),
        ({"background": np.ones((0, 8))}, "background must have at least one row, got none."),
        ({"X": np.ones(8)}, "X must have shape (n, n_features), got (8,)."),
    ],
)
def test_wrong_arguments_are_refused(rows, options, message):
    given = {"X": rows[0], "background": rows[1], **options}
    with pytest.raises(ValueError, match=re.escape(message)):
        contributions(FormulaModel(eight_features), **given)


def test_a_frame_is_not_compared_with_an_array(rows):
    frame = pd.DataFrame(rows[0], columns=[f"x{j}" for j in range(8)])
    message = "background must be of the type of X, DataFrame, got ndarray."
    with pytest.raises(TypeError, match=re.escape(message)):
        contributions(FormulaModel(eight_features), frame, rows[1])
