"""Files that censquant 0.1.0 wrote before there were parts and digests are still read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import censquant
from censquant._files import read_arrays
from model_files import refused

FOLDER = Path(__file__).parent / "format_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
NAMES = sorted(EXPECTED["predictions"])


def rows(model):
    names = getattr(model, "feature_names_in_", None)
    return np.array(EXPECTED["X"]) if names is None else pd.DataFrame(EXPECTED["X"], columns=names)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_first_format_predicts_what_it_predicted_then(name):
    model = censquant.load(FOLDER / f"{name}.safetensors")
    assert type(model).__name__ == name.removesuffix("_left")
    then = EXPECTED["predictions"][name]
    found = model.predict_quantiles(rows(model), beyond="extrapolate")
    np.testing.assert_allclose(found, then["quantiles"], rtol=1e-9)
    np.testing.assert_array_equal(model.identified_level(rows(model)), then["identified"])


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_first_format_is_saved_in_that_of_today(tmp_path, name):
    model = censquant.load(FOLDER / f"{name}.safetensors")
    model.save(tmp_path / "model")
    assert read_arrays(tmp_path / "model", "model")[0]["format"] == 2
    again = censquant.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(
        again.predict_quantiles(rows(model), beyond="extrapolate"),
        model.predict_quantiles(rows(model), beyond="extrapolate"),
    )


def changed(tmp_path, name, **changes):
    source, path = FOLDER / f"{name}.safetensors", tmp_path / "model"
    with safe_open(source, framework="numpy") as file:
        header = json.loads(file.metadata()["censquant"])
    header = {k: v for k, v in {**header, **changes}.items() if v is not ...}
    save_file(load_file(source), path, metadata={"censquant": json.dumps(header)})
    return path


INCONSISTENT = "is not a consistent model file ("


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("CQRNN", {"class": "load"}, "holds an estimator that is not known here: 'load'."),
        ("CQRNN", {"class": None}, "has an entry 'class' that is not str: None."),
        ("CQRNN", {"input_shape": 2}, INCONSISTENT + "TypeError: "),
        ("CQRNN", {"n_members": 0}, INCONSISTENT + "ValueError: n_members must be at least 1"),
        ("CQRNN", {"custom_network": True}, "was fitted with a network of one's own"),
        ("CQRNN", {"parameters": ...}, INCONSISTENT + "KeyError: 'parameters')."),
        ("LinearCQR", {"n_features": 10**9}, "does not name each of its features."),
        ("LinearCQR", {"note": 1}, "has an entry 'note' that is not str: 1."),
    ],
)
def test_a_header_that_is_not_consistent_is_refused(tmp_path, name, changes, message):
    refused(changed(tmp_path, name, **changes), message)


def test_vast_layers_are_refused(tmp_path):
    path = FOLDER / "CQRNN.safetensors"
    parameters = read_arrays(path, "model")[0]["parameters"]
    parameters["hidden_layer_sizes"] = [20_000, 20_000]
    refused(changed(tmp_path, "CQRNN", parameters=parameters), "does not hold the arrays that")
