"""Fitted models as files: the same bits back, one sentence for everything that is wrong."""

import json
import os
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save, save_file
from sklearn.exceptions import NotFittedError

import censquant
from censquant import CQRNN
from censquant._files import FORMAT_VERSION, read_arrays
from censquant.datasets import make_norm_linear
from censquant.exceptions import ModelFileError
from model_files import refused, rewrite

DATA = make_norm_linear(100, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y


def small(**parameters):
    return CQRNN(**{"max_epochs": 3, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


def quantiles(model, rows=X):
    return model.predict_quantiles(rows, beyond="extrapolate")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


CONFIGURATIONS = [
    {},
    {"quantiles": [0.2, 0.7]},
    {"quantiles": np.array([0.2, 0.7]), "random_state": np.int64(3)},
    {"time_transform": "log"},
    {"time_transform": None, "standardize": False},
    {"censoring": "left"},
    {"censoring": "left", "time_transform": "log", "head": "increasing", "n_members": 2},
    {"n_members": 3, "dropout": 0.2},
    {"head": "increasing"},
    {"hidden_layer_sizes": ()},
    {"hidden_layer_sizes": np.int64(5), "activation": "tanh"},
    {"level_rule": "interpolate", "y_star": None},
    {"y_star": np.float64(100.0), "learning_rate": 1e-3},
    {"early_stopping": True, "validation_fraction": 0.3},
]


@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
def test_a_loaded_model_gives_the_same_bits(path, parameters):
    model = small(**parameters).fit(X, Y)
    model.save(path)
    loaded = censquant.load_model(path)
    assert type(loaded) is CQRNN
    np.testing.assert_array_equal(quantiles(loaded), quantiles(model))
    np.testing.assert_array_equal(loaded.identified_level(X), model.identified_level(X))
    np.testing.assert_array_equal(
        loaded.predict_quantiles(X, beyond="nan"), model.predict_quantiles(X, beyond="nan")
    )
    np.testing.assert_array_equal(
        loaded.predict_survival_function(X, return_array=True),
        model.predict_survival_function(X, return_array=True),
    )
    assert loaded.history_ == model.history_
    assert loaded.follow_up_ == model.follow_up_
    assert loaded.time_transform_ == model.time_transform_
    assert loaded.n_features_in_ == 2
    assert not hasattr(loaded, "feature_names_in_")


def test_an_uncensored_model_comes_back_whole(path):
    model = small().fit(X, DATA.target_time)
    model.save(path)
    loaded = censquant.load_model(path)
    np.testing.assert_array_equal(loaded.identified_level(X), 0.95)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_file_of_another_kind_than_expected_is_refused(path):
    small().fit(X, Y).save(path)
    assert isinstance(censquant.load_model(path, kind=censquant.CQRNN), censquant.CQRNN)
    with pytest.raises(
        ModelFileError, match=r"must hold a LinearQuantileRegressor, got a CQRNN\.$"
    ):
        censquant.load_model(path, kind=censquant.LinearQuantileRegressor)


def test_column_names_come_back(path):
    frame = pd.DataFrame(X, columns=["age", "dose"])
    small().fit(frame, Y).save(path)
    loaded = censquant.load_model(path)
    assert loaded.feature_names_in_.tolist() == ["age", "dose"]
    assert quantiles(loaded, frame).shape == (100, 19)
    expected = loaded.predict(frame)
    np.testing.assert_array_equal(loaded.predict(frame[["dose", "age"]]), expected)
    with pytest.raises(ValueError, match="columns of the fit, got no column 'dose'"):
        loaded.predict(frame[["age"]])


def test_parameters_come_back_as_plain_values(path):
    model = small(hidden_layer_sizes=[8], quantiles=np.array([0.2, 0.7]), n_members=np.int64(2))
    model.fit(X, Y).save(path)
    expected = {**model.get_params(), "hidden_layer_sizes": (8,), "quantiles": (0.2, 0.7)}
    assert censquant.load_model(path).get_params() == expected


def test_a_generator_is_not_stored(path):
    small(random_state=np.random.default_rng(0)).fit(X, Y).save(path)
    assert censquant.load_model(path).random_state is None


def test_a_loaded_model_can_be_saved_and_fitted_again(path):
    model = small().fit(X, Y)
    model.save(path)
    content = path.read_bytes()
    loaded = censquant.load_model(path)
    loaded.save(path)
    assert path.read_bytes() == content
    np.testing.assert_array_equal(quantiles(loaded.fit(X, Y)), quantiles(model))


def test_an_interrupted_ensemble_comes_back_with_the_members_it_has(path):
    class Interruption:
        def on_start(self, run):
            pass

        def on_epoch(self, run):
            if run.n_epochs == 2:
                raise KeyboardInterrupt

        def on_end(self, run):
            pass

    model = small(n_members=3).fit(X, Y, callbacks=[Interruption()])
    model.save(path)
    np.testing.assert_array_equal(quantiles(censquant.load_model(path)), quantiles(model))


def test_parameters_changed_after_the_fit_do_not_matter_to_the_number_of_members(path):
    model = small(n_members=2).fit(X, Y)
    model.set_params(n_members=5).save(path)
    np.testing.assert_array_equal(quantiles(censquant.load_model(path)), quantiles(model))


def test_the_same_fit_gives_the_same_bytes(path):
    contents = []
    for _ in range(2):
        small(n_members=2, n_jobs=2).fit(X, Y).save(path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_paths_may_be_text(tmp_path):
    path = os.path.join(tmp_path, "model")  # noqa: PTH118
    small().fit(X, Y).save(path)
    assert isinstance(censquant.load_model(path), CQRNN)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    small().fit(X, Y).save(path)
    content = path.read_bytes()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        small(random_state=1).fit(X, Y).save(path)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_an_existing_file_is_replaced(path):
    path.write_text("old")
    model = small().fit(X, Y)
    model.save(path)
    np.testing.assert_array_equal(quantiles(censquant.load_model(path)), quantiles(model))


def test_the_file_holds_arrays_and_text_and_no_pickle(path):
    small().fit(X, Y).save(path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    sizes = {name: entry["data_offsets"] for name, entry in header.items() if name[0] != "_"}
    # Header and arrays fill the file to the last byte: there is no room for anything else.
    assert max(end for _, end in sizes.values()) == len(content) - 8 - length
    assert {entry["dtype"] for name, entry in header.items() if name[0] != "_"} <= {
        "F32",
        "F64",
        "I64",
    }


def test_loading_runs_no_pickle(path, monkeypatch):
    small().fit(X, Y).save(path)

    def refuse(*arguments, **keywords):
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr("pickle.load", refuse)
    monkeypatch.setattr("pickle.loads", refuse)
    monkeypatch.setattr("pickle.Unpickler", refuse)
    censquant.load_model(path)


def test_an_estimator_that_is_not_fitted_cannot_be_saved(path):
    with pytest.raises(NotFittedError, match="This CQRNN instance is not fitted yet"):
        CQRNN().save(path)
    assert not path.exists()


# Files that are not right


@pytest.fixture
def saved(path):
    small().fit(X, Y).save(path)
    return path


def test_the_file_can_be_rewritten_without_harm(saved):
    before = quantiles(censquant.load_model(saved))
    rewrite(saved)
    np.testing.assert_array_equal(quantiles(censquant.load_model(saved)), before)


def test_a_path_with_no_file_is_refused(path):
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(f'No file at {str(path)!r}.')}$"):
        censquant.load_model(path)


@pytest.mark.parametrize("keep", [0, 4, 100, -10])
def test_a_truncated_file_is_refused(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    refused(saved, "is not a complete safetensors file (")


def test_a_text_file_is_refused(path):
    path.write_text("time,event\n1,1\n")
    refused(path, "is not a complete safetensors file (")


@pytest.mark.parametrize(
    "metadata", [None, {"format": "pt"}, {"censquant": "{"}, {"censquant": "[]"}], ids=str
)
def test_a_foreign_file_is_refused(path, metadata):
    save_file({"a": np.zeros(3)}, path, metadata=metadata)
    refused(path, "was not written by censquant.")


def test_a_newer_format_is_refused(saved):
    rewrite(saved, format=99)
    refused(
        saved,
        f"has format 99, but this version reads formats up to {FORMAT_VERSION}; upgrade censquant "
        "to open it.",
    )


def test_a_checkpoint_is_not_a_model(path):
    small().fit(X, Y, checkpoint=censquant.Checkpoint(path))
    refused(path, "holds a checkpoint, not a model.")


@pytest.mark.parametrize(
    "name",
    [
        "Popen",
        "load",
        "os.system",
        "__init__",
        "sklearn.preprocessing.StandardScaler",
        "Checkpoint",
    ],
)
def test_a_class_that_is_not_ours_is_refused(saved, name):
    rewrite(saved, part={"class": name})
    refused(saved, f"holds an estimator that is not known here: {name!r}.")


@pytest.mark.parametrize("name", [None, ["CQRNN"], 3])
def test_a_class_without_a_name_is_refused(saved, name):
    rewrite(saved, part={"class": name})
    refused(saved, f"has an entry 'class' that is not str: {name!r}.")


def test_an_estimator_that_was_not_fitted_is_refused(saved):
    rewrite(saved, part={"fitted": False})
    refused(saved, "holds an estimator that was not fitted.")


DAMAGED = (
    "does not hold the arrays that its model needs: it is damaged, or network= is not the "
    "factory of the fit."
)


@pytest.mark.parametrize(
    "name",
    ["member0.parameters", "member0.dropout", "features.center", "features.scale"],
)
def test_a_missing_array_is_refused(saved, name):
    rewrite(saved, drop=[name])
    refused(saved, DAMAGED)


def test_missing_times_are_refused(saved):
    rewrite(saved, drop=["unique_times"])
    refused(saved, DAMAGED)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    "name", ["member0.parameters", "range", "features.center", "features.scale"]
)
def test_an_array_of_the_wrong_shape_is_refused(saved, name, size):
    _, arrays = read_arrays(saved, "model")
    rewrite(saved, arrays={name: np.ones(size, dtype=arrays[name].dtype)})
    refused(saved, DAMAGED)


@pytest.mark.parametrize(
    "name", ["member0.parameters", "member0.dropout", "features.scale", "unique_times"]
)
def test_an_array_of_another_type_is_refused(saved, name):
    _, arrays = read_arrays(saved, "model")
    other = np.float32 if arrays[name].dtype == np.float64 else np.float64
    rewrite(saved, arrays={name: arrays[name].astype(other)})
    refused(saved, DAMAGED)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["parameters", "range", "features.center", "unique_times"])
def test_numbers_that_are_not_finite_are_refused(saved, name, value):
    full_name = "member0.parameters" if name == "parameters" else name
    _, arrays = read_arrays(saved, "model")
    arrays[full_name].flat[-1] = value
    rewrite(saved, arrays=arrays)
    refused(saved, f"holds numbers in {name!r} that are not finite.")


FOLLOW_UP = {
    "missing": ({"drop": ["follow_up.limits"]}, DAMAGED),
    "type": ({"arrays": {"follow_up.limits": np.ones(3, np.float32)}}, DAMAGED),
    "shape": (
        {"arrays": {"follow_up.limits": np.ones(3)}},
        "holds a model of follow-up whose array 'limits' does not have one value for each node.",
    ),
    "features": (
        {"arrays": {"follow_up.n_features": np.array([7])}},
        "holds a model of follow-up of other features.",
    ),
}


@pytest.mark.parametrize(("changes", "message"), FOLLOW_UP.values(), ids=FOLLOW_UP)
def test_a_model_of_follow_up_that_does_not_fit_is_refused(saved, changes, message):
    rewrite(saved, **changes)
    refused(saved, message)


def test_a_file_of_the_first_format_says_who_wrote_it(saved):
    header = {"format": 1, "kind": "model", "censquant": "0.1.0"}
    saved.write_bytes(save({}, metadata={"censquant": json.dumps(header)}))
    refused(saved, "was written by censquant 0.1.0, whose files this version does not read")


@pytest.mark.parametrize("name", ["colour", "member7.parameters", "features.colour", "part/colour"])
def test_an_array_too_many_is_refused(saved, name):
    rewrite(saved, arrays={name: np.ones(1)})
    with pytest.raises(ModelFileError, match="arrays"):
        censquant.load_model(saved)


def test_times_that_are_not_in_order_are_refused(saved):
    rewrite(saved, arrays={"unique_times": np.array([2.0, 1.0])})
    refused(saved, "holds times that are not in order.")


def test_times_in_a_table_are_refused(saved):
    rewrite(saved, arrays={"unique_times": np.ones((2, 2))})
    refused(saved, DAMAGED)


INCONSISTENT = "is not a consistent model file ("


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantiles": [0.9, 0.1]}, INCONSISTENT + "ValueError: quantiles must be strictly incr"),
        ({"quantiles": ...}, INCONSISTENT + "KeyError: 'quantiles')."),
        ({"quantiles": None}, "has an entry 'quantiles' that is not list: None."),
        ({"quantiles": 0.5}, "has an entry 'quantiles' that is not list: 0.5."),
        ({"quantiles": [0.1, 0.5]}, "has networks with 19 outputs, unlike its method."),
        ({"n_features": 0}, INCONSISTENT + "ValueError: n_features must be at least 1, got 0)."),
        ({"n_features": 3}, "has 3 features, but inputs of (2,)."),
        ({"n_features": 2.0}, INCONSISTENT + "TypeError: n_features must be an integer, got 2.0)."),
        ({"feature_names": ["a"]}, "does not name each of its features."),
        ({"feature_names": ["a", 3]}, "does not name each of its features."),
        ({"feature_names": "ab"}, "has an entry 'feature_names' that is not list or null: 'ab'."),
        ({"input_shape": []}, "has 2 features, but inputs of ()."),
        ({"input_shape": [2, 0]}, INCONSISTENT + "ValueError: Every entry of input_shape must be"),
        ({"input_shape": [2, 3]}, DAMAGED),
        ({"input_shape": "2"}, "has an entry 'input_shape' that is not list: '2'."),
        ({"follow_up": [1.0]}, INCONSISTENT + "ValueError: "),
        ({"follow_up": [2.0, 1.0]}, "holds times that are not in order."),
        (
            {"follow_up": ["a", "b"]},
            INCONSISTENT + "TypeError: follow_up must be a number, got 'a'",
        ),
        ({"time_transform": {}}, INCONSISTENT + "ValueError: A time transform must have the keys"),
        ({"time_transform": 1}, "has an entry 'time_transform' that is not dict: 1."),
        ({"n_members": None}, INCONSISTENT + "TypeError: n_members must be an integer, got None)."),
        ({"n_members": 0}, INCONSISTENT + "ValueError: n_members must be at least 1, got 0)."),
        ({"n_members": True}, INCONSISTENT + "TypeError: n_members must be an integer, got True)."),
        ({"n_members": 2}, DAMAGED),
        ({"n_members": 10**12}, DAMAGED),
        ({"history": None}, "has an entry 'history' that is not list: None."),
        ({"history": [1]}, "has an entry 'history' that is not dict: 1."),
        ({"any_censored": "no"}, INCONSISTENT + "TypeError: any_censored must be True or False"),
        ({"any_censored": False}, "has an entry 'any_censored' that its arrays contradict."),
        ({"standardized": None}, INCONSISTENT + "TypeError: standardized must be True or False"),
        ({"standardized": False}, "has an entry 'standardized' that its arrays contradict."),
        ({"network": None}, "has an entry 'network' that is not dict: None."),
        ({"network": {}}, INCONSISTENT + "KeyError: 'kind')."),
        ({"network": {"kind": "magic"}}, INCONSISTENT + "ValueError: kind must be one of 'custom'"),
        ({"network": {"kind": "stacked", "networks": []}}, "has arrays of a network that it does"),
        (
            {"network": {"kind": "headed", "head": "x"}},
            INCONSISTENT + "ValueError: head must be one",
        ),
        (
            {"network": {"kind": "custom", "n_outputs": 19}},
            "was fitted with a network of one's own",
        ),
    ],
    ids=str,
)
def test_a_description_that_is_not_consistent_is_refused(saved, changes, message):
    rewrite(saved, part={"description": changes})
    refused(saved, message)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"colour": 1}, "TypeError: CQRNN.__init__() got an unexpected keyword argument 'colour'"),
        ({"n_jobs": "x"}, "TypeError: n_jobs must be an integer, got 'x'"),
        ({"n_jobs": 0}, "ValueError: n_jobs must be None or an integer other than 0, got 0"),
        ({"n_members": 0}, "ValueError: n_members must be at least 1, got 0"),
        ({"hidden_layer_sizes": "x"}, "TypeError: hidden_layer_sizes must be a sequence of"),
        ({"hidden_layer_sizes": [[8]]}, "TypeError: Every entry of hidden_layer_sizes must be"),
        ({"activation": ["relu"]}, "ValueError: activation must be one of"),
        ({"dropout": 2}, "ValueError: dropout must be finite and inside [0, 1), got 2"),
        ({"head": None}, "ValueError: head must be one of 'free', 'increasing', got None"),
        ({"standardize": "yes"}, "TypeError: standardize must be True or False, got 'yes'"),
        ({"learning_rate": None}, "TypeError: learning_rate must be a number, got None"),
        ({"batch_size": 1.5}, "TypeError: batch_size must be an integer, got 1.5"),
        ({"level_rule": 3}, "ValueError: level_rule must be one of"),
        ({"censoring": "both"}, "ValueError: censoring must be one of"),
        ({"verbose": "x"}, "TypeError: verbose must be an integer, got 'x'"),
        ({"device": "cuda"}, "ValueError: device='cuda' needs network="),
        ({"quantiles": {"$part": "x"}}, "KeyError: 'x'"),
        ({"quantiles": {"$number": "x"}}, "KeyError: 'x'"),
        ({"quantiles": {"$a": 1, "$b": 2}}, "ValueError: "),
    ],
    ids=str,
)
def test_parameters_of_a_wrong_kind_are_refused(saved, changes, reason):
    rewrite(saved, part={"parameters": changes})
    refused(saved, f"{INCONSISTENT}{reason}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": []}, "has an entry 'parameters' that is not dict: []."),
        ({"description": None}, "has an entry 'description' that is not dict: None."),
        ({"parts": 3}, "has an entry 'parts' that is not dict: 3."),
        ({"parts": {"a": 3}}, INCONSISTENT + "TypeError: "),
        ({"parts": ...}, INCONSISTENT + "KeyError: 'parts')."),
        ({"fitted": 1}, "has an entry 'fitted' that is not bool: 1."),
    ],
    ids=str,
)
def test_a_part_of_a_wrong_kind_is_refused(saved, changes, message):
    rewrite(saved, part=changes)
    refused(saved, message)


@pytest.mark.parametrize(("model", "reason"), [(..., "KeyError: 'model'"), ([], "TypeError: ")])
def test_a_file_without_a_model_is_refused(saved, model, reason):
    rewrite(saved, model=model)
    refused(saved, f"{INCONSISTENT}{reason}")


@pytest.mark.parametrize("sizes", [[2, 20_000, 20_000, 19], [2, 10**9, 19], [2, 10**30, 19]])
def test_a_vast_network_is_refused_without_taking_memory(saved, sizes):
    header, _ = read_arrays(saved, "model")
    network = {**header["model"]["description"]["network"], "sizes": sizes}
    parameters = {"hidden_layer_sizes": sizes[1:-1]}
    rewrite(saved, part={"parameters": parameters, "description": {"network": network}})
    tracemalloc.start()
    refused(saved, DAMAGED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("n_features", [10**6, 10**12])
def test_vastly_many_features_are_refused_without_taking_memory(saved, n_features):
    changes = {"n_features": n_features, "input_shape": [n_features]}
    rewrite(saved, part={"description": changes})
    tracemalloc.start()
    refused(saved, DAMAGED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("sizes", [[8, 19], [2, 8], [2], [], [2, 9, 19]])
def test_a_network_of_other_sizes_is_refused(saved, sizes):
    header, _ = read_arrays(saved, "model")
    network = {**header["model"]["description"]["network"], "sizes": sizes}
    rewrite(saved, part={"description": {"network": network}})
    with pytest.raises(ModelFileError, match=r"does not hold the arrays|has a network of sizes"):
        censquant.load_model(saved)


def test_what_is_wrong_is_quoted_up_to_a_length(saved):
    rewrite(saved, part={"parameters": {"activation": "x" * 100_000}})
    with pytest.raises(ModelFileError) as error:
        censquant.load_model(saved)
    assert len(str(error.value)) < 600


# What the header says


def header_of(path):
    return read_arrays(path, "model")[0]


def test_the_header_says_what_the_file_holds_of_the_training_data(path):
    small().fit(pd.DataFrame(X, columns=["age", "dose"]), Y).save(path)
    assert header_of(path)["contents"] == [
        "smallest and largest time",
        "distinct event times (at most 1000)",
        "feature names",
        "mean and standard deviation of the times or their logarithms",
        "losses of each epoch",
        "mean and standard deviation of each feature",
        "smallest and largest value of each feature",
        "shares of the training rows still under observation, in groups",
    ]
    small(standardize=False, time_transform=None).fit(X, Y).save(path)
    assert header_of(path)["contents"] == [
        "smallest and largest time",
        "distinct event times (at most 1000)",
        "losses of each epoch",
        "smallest and largest value of each feature",
        "shares of the training rows still under observation, in groups",
    ]


def test_no_array_of_the_file_has_an_entry_per_row(path):
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(1500, 2))
    target = rng.exponential(size=1500), rng.random(1500) < 0.8
    for model in (small(max_epochs=1), censquant.LinearQuantileRegressor([0.2])):
        model.fit(rows, target).save(path)
        _, arrays = read_arrays(path, "model")
        assert all(1500 not in array.shape for array in arrays.values())
        assert all(array.size < 5000 for array in arrays.values())


def test_the_header_describes_the_networks(path):
    small(head="increasing", dropout=0.2).fit(X, Y).save(path)
    assert header_of(path)["model"]["description"]["network"] == {
        "kind": "headed",
        "head": "increasing",
        "network": {"kind": "dense", "sizes": [2, 8, 19], "activation": "relu", "dropout": 0.2},
    }
    assert header_of(path)["censquant"] == censquant.__version__


def test_what_callbacks_added_to_the_history_comes_back(path):
    model = small().fit(X, Y)
    model.history_[0].update({"seconds": np.float32(0.5), "gap": np.nan})
    model.save(path)
    first = censquant.load_model(path).history_[0]
    assert first["seconds"] == 0.5
    assert np.isnan(first["gap"])


class Own(CQRNN):
    pass


def test_a_class_that_is_not_exported_cannot_be_saved(path):
    message = (
        "Own cannot be saved: a model file names classes that censquant exports, since no code is "
        "stored."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Own(max_epochs=1, hidden_layer_sizes=(2,)).fit(X, Y).save(path)
    assert not path.exists()


def test_a_parameter_that_is_code_cannot_be_saved(path):
    model = small().fit(X, Y)
    model._fit_parameters = {**model._fit_parameters, "verbose": print}
    message = (
        "CQRNN cannot be saved: its parameter verbose is or contains <built-in function print>, "
        "and a model file holds no code and no objects of other libraries."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        model.save(path)
    assert not path.exists()


def test_parameters_set_after_the_fit_do_not_spoil_the_file(path):
    model = small().fit(X, Y)
    before = quantiles(model)
    model.set_params(hidden_layer_sizes=(3, 3), head="increasing", n_members=4, activation="tanh")
    model.save(path)
    loaded = censquant.load_model(path)
    np.testing.assert_array_equal(quantiles(loaded), before)
    assert loaded.hidden_layer_sizes == (8,)
    loaded.save(path)
    np.testing.assert_array_equal(quantiles(censquant.load_model(path)), before)
