"""Sets of the field's comparison: categories, folds and published scores."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from censquant.datasets import load
from censquant_bench.datasets import FIELD_DATASETS, fetch_field, field_folds, field_scores

ROWS = "age,sex,site,status,time\n61,male,rectum,1,12\n48,female,colon,0,30\n70,male,anus,1,4.5\n"


@pytest.fixture
def lung(folder):
    folder.add("field/datasets/lung.csv", ROWS)
    return folder


def test_words_are_categories_and_numbers_are_floats(lung):
    X, y = fetch_field("lung")
    assert X.columns.tolist() == ["age", "sex", "site"]
    assert X["age"].dtype == np.float64
    assert X["sex"].cat.categories.tolist() == ["female", "male"]
    assert X["site"].tolist() == ["rectum", "colon", "anus"]
    assert y["event"].tolist() == [True, False, True]
    assert y["time"].tolist() == [12.0, 30.0, 4.5]


def test_an_array_has_a_column_for_each_category_except_the_first(lung):
    data = fetch_field("lung", return_X_y=False, as_frame=False)
    assert data.feature_names == ("age", "sex=male", "site=colon", "site=rectum")
    expected = [[61, 1, 0, 1], [48, 0, 1, 0], [70, 1, 0, 0]]
    assert_array_equal(data.data, np.array(expected, dtype=float))
    assert data.name == "field_lung"


def test_the_array_holds_what_pandas_makes_of_the_frame(lung):
    frame, _ = fetch_field("lung")
    X, _ = fetch_field("lung", as_frame=False)
    assert_array_equal(X, pd.get_dummies(frame, drop_first=True).to_numpy(dtype=float))


def test_quoted_words_are_the_same_words(lung, folder):
    plain, _ = fetch_field("lung")
    quoted = re.sub(r"([a-z]+)", r'"\1"', ROWS)
    folder.add("field/datasets/lung.csv", quoted)
    pd.testing.assert_frame_equal(fetch_field("lung")[0], plain)


def test_the_catalogue_lists_each_set_with_a_prefix(lung):
    X, y = load("field_lung", as_frame=False)
    assert_array_equal(X, fetch_field("lung", as_frame=False)[0])
    assert len(y) == 3
    assert len(FIELD_DATASETS) == 34


@pytest.mark.parametrize("flag", ["return_X_y", "as_frame"])
def test_flags_of_field_sets_must_be_flags(lung, flag):
    with pytest.raises(TypeError, match=re.escape(f"{flag} must be True or False, got 1.")):
        fetch_field("lung", **{flag: 1})


@pytest.mark.parametrize("function", [fetch_field, field_folds])
def test_other_names_are_not_known(function):
    with pytest.raises(ValueError, match=r"^There is no field data set 'veterans'; did you mean"):
        function("veterans")


def test_another_file_under_the_name_is_refused(folder):
    place = folder.root / "field" / "datasets" / "lung.csv"
    place.parent.mkdir(parents=True)
    place.write_text(ROWS)
    with pytest.raises(ValueError, match="in CENSQUANT_DATA is not the published file"):
        fetch_field("lung")


def test_folds_and_scores_come_from_the_data_folder(folder):
    (folder.root / "field" / "folds").mkdir(parents=True)
    (folder.root / "field" / "folds" / "lung.csv").write_text("set,iteration,row_id\ntest,1,2\n")
    (folder.root / "field" / "published_scores.csv").write_text(
        "task,learner,tuned_for,iteration,harrell_c,isbs\n"
        'lung,CPH,"harrell_c,isbs",1,0.6,0.15\nlung,SSVM,harrell_c,1,0.5,\n'
    )
    assert field_folds("lung").values.tolist() == [["test", 1, 2]]
    scores = field_scores()
    assert scores["tuned_for"].tolist() == ["harrell_c,isbs", "harrell_c"]
    assert scores["isbs"].isna().tolist() == [False, True]


def test_what_is_never_downloaded_is_asked_for_in_one_sentence(folder, monkeypatch):
    message = (
        "'field/folds/lung.csv' is never downloaded: put it, made of "
        "resamplings/repeated_cv/lung.csv of slds-lmu/paper_2023_survival_benchmark on GitHub, "
        "into the folder that the environment variable CENSQUANT_DATA names."
    )
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        field_folds("lung")
    monkeypatch.setenv("CENSQUANT_DATA", str(folder.root / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"^CENSQUANT_DATA names '.*', which does not"):
        field_scores()
    monkeypatch.delenv("CENSQUANT_DATA")
    with pytest.raises(FileNotFoundError, match=r"^'field/published_scores.csv' is never"):
        field_scores()
