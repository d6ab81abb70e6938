"""An estimator that uses the encoder: scikit-learn's rules hold, messy frames go in, files work."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from censquant import CensoredQuantileRegressor, CoxQuantileRegressor, load_model
from censquant._storage._codec import to_part


def messy(**parameters):
    """Return the recommended estimator with one candidate that is fitted fast."""
    candidates = [("cox", CoxQuantileRegressor())]
    return CensoredQuantileRegressor([0.25, 0.5], candidates=candidates, cv=2, **parameters)


# Small data of the checks have few events, and columns that are constant, equal or all distinct.
@pytest.mark.filterwarnings("ignore::censquant.exceptions.FeatureWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_scikit_learn_finds_nothing_to_object_to():
    objections = {}
    for estimator, check in estimator_checks_generator(messy(random_state=0)):
        try:
            check(estimator)
        except Exception as error:
            objections[check.func.__name__] = repr(error)
    assert objections == {}


N = 200
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(60, 9, N)),
        "sex": RNG.choice(["f", "m"], N),
        "smoker": pd.array(RNG.choice([True, False, None], N), dtype="boolean"),
        "grade": pd.Categorical(RNG.choice([1, 2], N)),
    }
)
TIME = RNG.exponential(1 + 5 * (FRAME["sex"] == "m").to_numpy())
Y = (np.minimum(TIME, 6.0), TIME <= 6.0)


@pytest.fixture(scope="module")
def model():
    return messy().fit(FRAME, Y)


def test_a_messy_frame_is_fitted_and_predicted(model):
    predicted = model.predict(FRAME)
    men = (FRAME["sex"] == "m").to_numpy()
    assert np.isfinite(predicted).all()
    assert np.median(predicted[men]) > 1.5 * np.median(predicted[~men])
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["age", "sex", "smoker", "grade"]


def test_scikit_learn_clones_and_cross_validates_it():
    scores = cross_val_score(clone(messy()), FRAME, np.array(TIME), cv=3)
    assert (scores > 0.5).all()


def test_row_order_changes_no_bit_of_the_encoding(model):
    order = RNG.permutation(N)
    shuffled = messy().fit(FRAME.iloc[order], (Y[0][order], Y[1][order]))
    np.testing.assert_array_equal(shuffled._encode_features(FRAME), model._encode_features(FRAME))


def test_missing_columns_are_named_with_a_suggestion(model):
    renamed = FRAME.rename(columns={"age": "Age", "grade": "zzz"})
    message = "X must have the columns of the fit, got no column 'age', 'grade' (is it 'Age'?)."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.predict(renamed)
    message = "X must have the columns of the fit, got no column 'sex'."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.predict(FRAME.drop(columns="sex"))


def test_columns_are_found_by_name_whatever_their_order_and_beside_others(model):
    expected = model.predict(FRAME)
    np.testing.assert_array_equal(model.predict(FRAME[FRAME.columns[::-1]]), expected)
    more = FRAME.assign(more=1.0, day=np.datetime64("2024-01-01"))[["more", *FRAME, "day"]]
    np.testing.assert_array_equal(model.predict(more), expected)


def test_a_column_that_is_there_twice_is_refused(model):
    message = "X must have each column of the fit once, got 'age' more than once."
    twice = pd.concat([FRAME, FRAME[["age"]]], axis=1)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.predict(twice)


def test_an_array_without_names_is_predicted_with_scikit_learns_warning(model):
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Censored"):
        predicted = model.predict(FRAME.astype(object).to_numpy())
    np.testing.assert_array_equal(predicted, model.predict(FRAME))


@pytest.mark.parametrize("rows", [0, 1])
def test_a_frame_of_too_few_rows_is_refused(rows):
    message = rf"{rows} sample\(s\) \(shape=\({rows}, 4\)\) while a minimum of 2 is required"
    with pytest.raises(ValueError, match=message):
        messy().fit(FRAME.iloc[:rows], TIME[:rows])


def test_a_frame_without_columns_is_refused():
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        messy().fit(FRAME[[]], TIME)


def test_warnings_are_shown_once_in_a_loop(model):
    unknown = FRAME.assign(grade=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            model.predict(unknown)
    said = [str(w.message) for w in caught]
    assert said == [
        "X has levels in the columns 'grade' that the fit did not have: they are predicted as if "
        "they were none of the known levels."
    ]


def test_the_tags_say_what_is_accepted():
    tags = messy().__sklearn_tags__().input_tags
    assert (tags.allow_nan, tags.categorical, tags.sparse, tags.string) == (True, True, True, False)


def test_the_encoder_is_a_part_of_the_estimators_file(model, tmp_path):
    contents = to_part(model).all_contents()
    assert [entry for entry in contents if entry.startswith("encoder: ")] == [
        "encoder: median of each numeric feature and whether it had missing values",
        "encoder: levels of each categorical feature (at most 30) and whether it had others",
    ]
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again._encode_features(FRAME), model._encode_features(FRAME))
