"""Transformers of scikit-learn as data: the same bits back, nothing executed."""

import json
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from censquant._files import read_arrays, write_arrays
from censquant._storage._codec import from_part, to_part
from censquant._storage._parts import Part
from censquant._storage._persistence import open_file
from model_files import refused, rewrite

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(40, 3))
GAPS = np.where(RNG.random((40, 3)) < 0.2, np.nan, NUMBERS)
EMPTY = GAPS * [1, 1, np.nan]
WORDS = RNG.choice(["a", "b", "c", "dé"], size=(40, 2))
OBJECTS = RNG.choice(np.array(["a", "b", None, np.nan], dtype=object), size=(40, 2))
NONES = np.where(OBJECTS == "a", "a", None)
INTEGERS = RNG.integers(0, 4, size=(40, 2))
FRAME = pd.DataFrame(
    {
        "age": GAPS[:, 0],
        "dose": NUMBERS[:, 1],
        "sex": WORDS[:, 0],
        "stage": OBJECTS[:, 0],
        "ward": INTEGERS[:, 0],
    }
)
MIXED = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age"]),
        ("words", OneHotEncoder(handle_unknown="ignore"), ["sex", "stage"]),
        ("rank", OrdinalEncoder(), ["ward"]),
        ("as it is", "passthrough", ["dose"]),
    ]
)

CASES = [
    (StandardScaler(), NUMBERS),
    (StandardScaler(with_mean=False, with_std=False), NUMBERS),
    (StandardScaler(), GAPS),
    (StandardScaler(), FRAME[["age", "dose"]]),
    (StandardScaler().set_output(transform="pandas"), FRAME[["age", "dose"]]),
    (StandardScaler(), NUMBERS.astype(np.float32)),
    (MinMaxScaler(feature_range=(-1, 1), clip=True), NUMBERS),
    (RobustScaler(quantile_range=(10.0, 90.0), unit_variance=True), GAPS),
    (SimpleImputer(), GAPS),
    (SimpleImputer(strategy="median", add_indicator=True), GAPS),
    (SimpleImputer(strategy="constant", fill_value=-1, keep_empty_features=True), EMPTY),
    (SimpleImputer(strategy="most_frequent"), FRAME[["sex"]]),
    (SimpleImputer(strategy="most_frequent", missing_values=0), INTEGERS),
    (SimpleImputer(strategy="constant", fill_value="none", missing_values=None), NONES),
    (MissingIndicator(), GAPS),
    (OneHotEncoder(), WORDS),
    (OneHotEncoder(sparse_output=False), OBJECTS),
    (OneHotEncoder(drop="first", dtype=np.float32), INTEGERS),
    (OneHotEncoder(drop="if_binary", sparse_output=False), FRAME[["sex", "ward"]]),
    (OneHotEncoder(categories=[["a", "b", "c", "dé"], ["dé", "c", "b", "a"]]), WORDS),
    (OneHotEncoder(min_frequency=9, handle_unknown="infrequent_if_exist"), WORDS),
    (OneHotEncoder(max_categories=2, drop="first", handle_unknown="warn"), WORDS),
    (OrdinalEncoder(), WORDS),
    (OrdinalEncoder(encoded_missing_value=-1, dtype=int), OBJECTS[:, :1]),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), INTEGERS),
    (OrdinalEncoder(min_frequency=0.2), WORDS),
    (FunctionTransformer(), NUMBERS),
    (make_pipeline(SimpleImputer(), RobustScaler(), "passthrough"), GAPS),
    (Pipeline([("only", None)]), NUMBERS),
    (ColumnTransformer([("scale", StandardScaler(), [0, 2])], remainder=MinMaxScaler()), NUMBERS),
    (ColumnTransformer([("scale", StandardScaler(), slice(0, 2)), ("no", "drop", [2])]), NUMBERS),
    (ColumnTransformer([("mask", RobustScaler(), [True, False, True])], n_jobs=1), NUMBERS),
    (
        ColumnTransformer(
            [("a", StandardScaler(), [0]), ("b", StandardScaler(), [1])],
            transformer_weights={"a": 2.0},
            remainder="passthrough",
        ),
        NUMBERS,
    ),
    (MIXED, FRAME),
    (clone(MIXED).set_output(transform="pandas").set_params(words__sparse_output=False), FRAME),
    (
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include=np.number)),
            (OneHotEncoder(), make_column_selector("^s", dtype_include=["category", object])),
        ),
        FRAME.drop(columns="age"),
    ),
    (make_pipeline(MIXED, StandardScaler(with_mean=False)), FRAME),
]  # fmt: skip


def opened(path):
    return open_file(path, from_part)


def written(transformer, path):
    part = to_part(transformer)
    header = {"model": part.tree(), "contents": part.all_contents()}
    write_arrays(path, "model", header, part.flat_arrays())
    return part


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        return
    one, other = (x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (one, other))
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)


def printed(transformer):
    """How it prints; selectors of columns print where they are in memory."""
    return re.sub(" at 0x[0-9a-f]+", "", str(transformer))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "part"


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_a_transformer_comes_back_with_the_same_bits(path):
    for unfitted, X in CASES:
        transformer = clone(unfitted).fit(X)
        part = written(transformer, path)
        loaded = opened(path)
        same(loaded.transform(X), transformer.transform(X))
        assert printed(loaded) == printed(transformer)
        if hasattr(transformer, "get_feature_names_out") and type(transformer) is not Pipeline:
            names = transformer.get_feature_names_out().tolist()
            assert loaded.get_feature_names_out().tolist() == names
        # And again, from parameters alone.
        same(clone(loaded).fit(X).transform(X), transformer.transform(X))
        assert to_part(loaded).tree() == part.tree()


def test_a_transformer_that_is_not_fitted_comes_back_with_its_parameters(path):
    for transformer, _ in CASES:
        part = written(transformer, path)
        assert part.arrays == {}
        assert printed(opened(path)) == printed(transformer)


def test_most_transformers_are_tried_when_they_are_opened():
    tried = [to_part(clone(t).fit(X)).description["tried"] for t, X in CASES[:10] + CASES[15:28]]
    assert all(tried)
    assert to_part(clone(MIXED).fit(FRAME)).description["tried"]


def test_rows_that_the_fit_never_saw_are_transformed_alike(path):
    transformer = clone(MIXED).fit(FRAME)
    written(transformer, path)
    new = FRAME.assign(sex="unheard of", age=np.nan)
    same(opened(path).transform(new), transformer.transform(new))


def test_pandas_missing_value_comes_back(path):
    frame = pd.DataFrame({"a": pd.array(["x", pd.NA, "x"], dtype="string")}).astype(object)
    transformer = SimpleImputer(missing_values=pd.NA, strategy="most_frequent").fit(frame)
    written(transformer, path)
    same(opened(path).transform(frame), transformer.transform(frame))


def test_the_contents_say_what_is_known_of_the_training_data(path):
    part = written(clone(MIXED).fit(FRAME), path)
    assert part.all_contents() == [
        "feature names",
        "transformers_.0.1/steps.0.1: feature names",
        "transformers_.0.1/steps.0.1: a value per feature to fill in",
        "transformers_.0.1/steps.0.1/indicator_: which features had missing values",
        "transformers_.0.1/steps.1.1: mean and standard deviation of each feature",
        "transformers_.1.1: feature names",
        "transformers_.1.1: categories of each feature",
        "transformers_.2.1: feature names",
        "transformers_.2.1: categories of each feature",
        "transformers_.3.1: feature names",
    ]


UNSTORABLE = [
    (
        FunctionTransformer(np.log1p),
        "FunctionTransformer",
        "func is or contains <ufunc 'log1p'>",
    ),
    (
        OneHotEncoder(feature_name_combiner=max),
        "OneHotEncoder",
        "feature_name_combiner is or contains <built-in function max>",
    ),
    (
        ColumnTransformer([("a", StandardScaler(), len)]),
        "ColumnTransformer",
        "transformers is or contains <built-in function len>",
    ),
    (
        OneHotEncoder(categories=[np.array(["2020-01-01"], dtype="datetime64[D]")]),
        "OneHotEncoder",
        "categories is or contains array(['2020-01-01'], dtype='datetime64[D]')",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("transformer", "name", "what"), UNSTORABLE, ids=["0", "1", "2", "3"])
def test_code_and_foreign_objects_are_refused_when_saving(transformer, name, what):
    message = (
        f"{name} cannot be saved: its {what}, and a model file holds no code and no objects of "
        "other libraries."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        to_part(transformer)


@pytest.mark.parametrize("transformer", [PCA(), make_pipeline(StandardScaler(), PCA())])
def test_a_transformer_that_is_not_known_is_refused_when_saving(transformer):
    message = (
        "PCA cannot be saved: a model file holds estimators that censquant exports and, of "
        "scikit-learn, ColumnTransformer, MissingIndicator, SimpleImputer, Pipeline, "
        "FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, "
        "StandardScaler."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        to_part(transformer)


class Own(StandardScaler):
    pass


def test_a_subclass_of_a_known_transformer_is_not_known():
    with pytest.raises(TypeError, match=r"^Own cannot be saved"):
        to_part(Own())


@pytest.fixture
def saved(path):
    written(OneHotEncoder(sparse_output=False, dtype=np.float32).fit(WORDS), path)
    return path


@pytest.mark.parametrize(
    "name",
    ["sklearn.decomposition.PCA", "sklearn.preprocessing.load", "sklearn.os.system", "sklearn."],
)
def test_a_class_that_is_not_known_is_refused(saved, name):
    rewrite(saved, part={"class": name})
    refused(saved, f"holds a transformer that is not known here: {name!r}.", opened)


@pytest.mark.parametrize(
    "name", ["transform", "__class__", "_validate_params", "fit", "copy", "__dict__"]
)
def test_a_file_cannot_set_what_the_class_defines(saved, name):
    rewrite(saved, part={"description": {"state": {name: 1}}})
    refused(saved, f"sets {name!r}, which is no fitted attribute of its transformer.", opened)


def test_files_of_scikit_learn_before_1_7_are_opened(path):
    # Checked with 1.6.1 itself: all of the transformers above that it wrote are opened by 1.9.1.
    transformer = ColumnTransformer([("fill", SimpleImputer(), [0, 1])]).fit(GAPS)
    part = to_part(transformer)
    part.parameters["force_int_remainder_cols"] = True
    imputer = part.parts["transformers_.0.1"]
    imputer.description["state"].pop("_fill_dtype", None)  # which 1.6 does not have
    same(from_part(part).transform(GAPS), transformer.transform(GAPS))


def test_a_state_of_another_version_is_refused_with_both_versions(saved):
    rewrite(saved, part={"description": {"scikit_learn": "0.99.0", "state": {"n_features_in_": 2}}})
    refused(
        saved,
        "holds a sklearn.preprocessing.OneHotEncoder of scikit-learn 0.99.0 that cannot be made "
        f"again with scikit-learn {sklearn.__version__} (AttributeError: ",
        opened,
    )


def test_a_parameter_of_another_version_is_refused_with_both_versions(saved):
    rewrite(saved, part={"parameters": {"sparse": True}})
    refused(
        saved,
        f"holds a sklearn.preprocessing.OneHotEncoder of scikit-learn {sklearn.__version__} that "
        f"cannot be made again with scikit-learn {sklearn.__version__} (TypeError: ",
        opened,
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"$type": "numpy.load"}, "holds the type 'numpy.load', which no transformer has."),
        ({"$type": "eval"}, "holds the type 'eval', which no transformer has."),
        ({"$type": "os.float64"}, "holds the type 'os.float64', which no transformer has."),
        ({"$type": 3}, "has an entry '$type' that is not str: 3."),
        ({"$dtype": "V8"}, "holds the type 'V8', which no transformer has."),
        ({"$magic": 1}, "holds a value of an unknown kind: '$magic'."),
        ({"$text": [1]}, "has an entry '$text' that is not str: 1."),
    ],
    ids=str,
)
def test_values_of_an_unknown_kind_are_refused(saved, value, message):
    rewrite(saved, part={"parameters": {"dtype": value}})
    refused(saved, message, opened)


@pytest.mark.parametrize(
    "value",
    [
        {"$part": "x"},
        {"$array": "x"},
        {"$number": "x"},
        {"$objects": 3},
        {"$slice": [1, 2, 3, 4]},
        {"$selector": {"colour": 1}},
        {"$dict": [[[1], 2]]},
        {"$dict": 1},
        {"$tuple": None},
        {"$a": 1, "b": 2},
    ],
    ids=str,
)
def test_values_that_say_nothing_are_refused(saved, value):
    rewrite(saved, part={"parameters": {"dtype": value}})
    refused(saved, "holds a sklearn.preprocessing.OneHotEncoder of scikit-learn ", opened)


def test_vastly_many_features_take_no_memory(path):
    written(StandardScaler().fit(NUMBERS), path)
    header = to_part(StandardScaler().fit(NUMBERS)).description
    rewrite(path, part={"description": {"state": {**header["state"], "n_features_in_": 10**10}}})
    refused(path, "holds a sklearn.preprocessing.StandardScaler of scikit-learn ", opened)


def test_a_part_is_json(path):
    tree = to_part(clone(MIXED).fit(FRAME)).tree()
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert isinstance(Part.from_file(tree, to_part(clone(MIXED).fit(FRAME)).flat_arrays()), Part)


@pytest.mark.parametrize("widths", [[2**31, 2], [10**12], [-1, 2], [2.0, 2], [], "xx"], ids=str)
def test_an_encoder_wider_than_its_categories_takes_no_memory(saved, widths):
    state = read_arrays(saved, "model")[0]["model"]["description"]["state"]
    rewrite(saved, part={"description": {"state": {**state, "_n_features_outs": widths}}})
    tracemalloc.start()
    refused(saved, "holds an encoder whose columns are not those of its categories.", opened)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
