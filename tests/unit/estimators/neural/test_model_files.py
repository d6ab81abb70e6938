"""Fitted models as files: the same bits back, one sentence for everything that is wrong."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

import censquant
from censquant import CQRNN
from censquant.datasets import make_norm_linear
from censquant.exceptions import ModelFileError

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
    loaded = censquant.load(path)
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
    loaded = censquant.load(path)
    np.testing.assert_array_equal(loaded.identified_level(X), 0.95)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_column_names_come_back(path):
    frame = pd.DataFrame(X, columns=["age", "dose"])
    small().fit(frame, Y).save(path)
    loaded = censquant.load(path)
    assert loaded.feature_names_in_.tolist() == ["age", "dose"]
    assert quantiles(loaded, frame).shape == (100, 19)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        loaded.predict(frame[["dose", "age"]])


def test_parameters_come_back_as_plain_values(path):
    model = small(hidden_layer_sizes=[8], quantiles=np.array([0.2, 0.7]), n_members=np.int64(2))
    model.fit(X, Y).save(path)
    expected = {**model.get_params(), "hidden_layer_sizes": (8,), "quantiles": (0.2, 0.7)}
    assert censquant.load(path).get_params() == expected


def test_a_generator_is_not_stored(path):
    small(random_state=np.random.default_rng(0)).fit(X, Y).save(path)
    assert censquant.load(path).random_state is None


def test_a_loaded_model_can_be_saved_and_fitted_again(path):
    model = small().fit(X, Y)
    model.save(path)
    content = path.read_bytes()
    loaded = censquant.load(path)
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
    np.testing.assert_array_equal(quantiles(censquant.load(path)), quantiles(model))


def test_parameters_changed_after_the_fit_do_not_matter_to_the_number_of_members(path):
    model = small(n_members=2).fit(X, Y)
    model.set_params(n_members=5).save(path)
    np.testing.assert_array_equal(quantiles(censquant.load(path)), quantiles(model))


def test_the_same_fit_gives_the_same_bytes(path):
    contents = []
    for _ in range(2):
        small(n_members=2, n_jobs=2).fit(X, Y).save(path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_paths_may_be_text(tmp_path):
    path = os.path.join(tmp_path, "model")  # noqa: PTH118
    small().fit(X, Y).save(path)
    assert isinstance(censquant.load(path), CQRNN)


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
    np.testing.assert_array_equal(quantiles(censquant.load(path)), quantiles(model))


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
    censquant.load(path)


def test_an_estimator_that_is_not_fitted_cannot_be_saved(path):
    with pytest.raises(NotFittedError, match="This CQRNN instance is not fitted yet"):
        CQRNN().save(path)
    assert not path.exists()


# Files that are not right


def refused(path, message):
    with pytest.raises(ModelFileError, match=f"^{re.escape(repr(str(path)) + ' ' + message)}"):
        censquant.load(path)


def rewrite(path, *, drop=(), arrays=None, **changes):
    """Change header or arrays of a model file."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["censquant"])
        content = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    content = {k: v for k, v in {**content, **(arrays or {})}.items() if k not in drop}
    header = {k: v for k, v in {**header, **changes}.items() if v is not ...}
    save_file(content, path, metadata={"censquant": json.dumps(header)})


@pytest.fixture
def saved(path):
    small().fit(X, Y).save(path)
    return path


def test_the_file_can_be_rewritten_without_harm(saved):
    before = quantiles(censquant.load(saved))
    rewrite(saved)
    np.testing.assert_array_equal(quantiles(censquant.load(saved)), before)


def test_a_path_with_no_file_is_refused(path):
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(f'No file at {str(path)!r}.')}$"):
        censquant.load(path)


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
        "has format 99, but this version reads formats up to 1; upgrade censquant to open it.",
    )


def test_a_checkpoint_is_not_a_model(path):
    small().fit(X, Y, checkpoint=censquant.Checkpoint(path))
    refused(path, "holds a checkpoint, not a model.")


@pytest.mark.parametrize("name", ["Popen", "load", "os.system", "__init__", None, ["CQRNN"]])
def test_a_class_that_is_not_ours_is_refused(saved, name):
    rewrite(saved, **{"class": name})
    refused(saved, f"holds an estimator that is not known here: {name!r}.")


DAMAGED = (
    "does not hold the arrays that its model needs: it is damaged, or network= is not the "
    "factory of the fit."
)


@pytest.mark.parametrize(
    "name",
    ["member0.parameters", "member0.dropout", "follow_up.parameters", "features.center",
     "features.scale"],
)  # fmt: skip
def test_a_missing_array_is_refused(saved, name):
    rewrite(saved, drop=[name])
    refused(saved, DAMAGED)


def test_missing_times_are_refused(saved):
    rewrite(saved, drop=["unique_times"])
    refused(saved, "is not a consistent model file (KeyError: 'unique_times').")


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    "name", ["member0.parameters", "follow_up.parameters", "features.center", "features.scale"]
)
def test_an_array_of_the_wrong_shape_is_refused(saved, name, size):
    rewrite(saved, arrays={name: np.ones(size, dtype=np.float32)})
    refused(saved, DAMAGED)


def test_times_in_a_table_are_refused(saved):
    rewrite(saved, arrays={"unique_times": np.ones((2, 2))})
    refused(saved, DAMAGED)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quantiles": [0.9, 0.1]}, "ValueError: quantiles must be strictly increasing"),
        ({"quantiles": ...}, "KeyError: 'quantiles'"),
        ({"parameters": {"colour": 1}}, "TypeError: "),
        ({"parameters": []}, "AttributeError: "),
        ({"input_shape": []}, "IndexError: "),
        ({"follow_up": [1.0]}, "ValueError: "),
        ({"time_transform": {}}, "ValueError: A time transform must have the keys"),
        ({"n_members": None}, "TypeError: "),
    ],
    ids=str,
)
def test_a_header_that_is_not_consistent_is_refused(saved, changes, reason):
    rewrite(saved, **changes)
    refused(saved, f"is not a consistent model file ({reason}")


def test_a_network_of_other_size_is_refused(saved):
    with safe_open(saved, framework="numpy") as file:
        parameters = json.loads(file.metadata()["censquant"])["parameters"]
    rewrite(saved, parameters={**parameters, "hidden_layer_sizes": [9]})
    refused(saved, DAMAGED)


def test_parameters_set_after_the_fit_do_not_spoil_the_file(path):
    model = small().fit(X, Y)
    before = quantiles(model)
    model.set_params(hidden_layer_sizes=(3, 3), head="increasing", n_members=4, activation="tanh")
    model.save(path)
    loaded = censquant.load(path)
    np.testing.assert_array_equal(quantiles(loaded), before)
    assert loaded.hidden_layer_sizes == (8,)
    loaded.save(path)
    np.testing.assert_array_equal(quantiles(censquant.load(path)), before)
