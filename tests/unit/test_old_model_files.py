"""Files that version 0.1 wrote: they open, predict the same, and the format has not changed.

``tests/reference/models-0.1`` has one small file of every estimator, fitted to the first 160 rows
of GBSG2, and what version 0.1 predicted for the first four.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import censquant
from censquant._files import read_arrays
from censquant.datasets import load_gbsg2

FOLDER = Path(__file__).parents[1] / "reference" / "models-0.1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
LEVELS = [0.1, 0.4, 0.5, 0.7, 0.9]
OF_FRAMES = ("recommended", "cox-frame")


def rows_for(name):
    """First rows of the data, as a table or as its numbers alone."""
    table = load_gbsg2()[0].iloc[:4]
    return table if name in OF_FRAMES else table.select_dtypes("number").to_numpy(dtype=float)


def test_there_is_a_file_for_every_expectation():
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_version_0_1_predicts_the_same(name):
    model, rows = censquant.load_model(FOLDER / f"{name}.safetensors"), rows_for(name)
    found = {
        "quantiles": model.predict_quantiles(rows, LEVELS, beyond="extrapolate"),
        "identified": model.identified_level(rows),
    }
    if "lower_bound" in EXPECTED[name]:
        found["lower_bound"] = model.predict_lower_bound(rows)
    for prediction, expected in EXPECTED[name].items():
        np.testing.assert_allclose(found[prediction], expected, rtol=1e-6, err_msg=prediction)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_version_0_1_predicts_the_same_after_it_was_written_again(name, tmp_path):
    old, new, rows = FOLDER / f"{name}.safetensors", tmp_path / "model", rows_for(name)
    model = censquant.load_model(old)
    model.save(new)
    found, expected = (
        each.predict_quantiles(rows, LEVELS, beyond="extrapolate")
        for each in (censquant.load_model(new), model)
    )
    np.testing.assert_array_equal(found, expected)


# Forests are stored in another form.
@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"forest", "pool", "recommended"}))
def test_a_file_of_version_0_1_is_written_again_as_it_was(name, tmp_path):
    old, new = FOLDER / f"{name}.safetensors", tmp_path / "model"
    notes = censquant.estimators.load_notes(old)
    censquant.load_model(old).save(new, notes=notes)
    (header, arrays), (new_header, new_arrays) = (read_arrays(each, "model") for each in (old, new))
    for each in (header, new_header):
        del each["digest"], each["censquant"]
    assert comparable(new_header) == comparable(header)
    assert {k: (v.dtype, v.shape) for k, v in new_arrays.items()} == {
        k: (v.dtype, v.shape) for k, v in arrays.items()
    }
    for key, array in arrays.items():
        np.testing.assert_array_equal(new_arrays[key], array, err_msg=key)


def comparable(header):
    """Return a header as text: present names, no version of scikit-learn, no later options."""
    text = json.dumps(header, sort_keys=True).replace('"LinearCQR"', '"LinearQuantileRegressor"')
    text = re.sub(r'("max_iter": \d+, )"max_samples": "auto", ', r"\1", text)
    return re.sub(r'learn": "[^"]+"', 'learn": ""', text)
