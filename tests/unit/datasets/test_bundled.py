import csv
import re
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from lifelines.datasets import load_gbsg2 as lifelines_gbsg2
from numpy.testing import assert_array_equal

from censquant.datasets import RealData, load_gbsg2
from censquant.survival import kaplan_meier

NAMES = ("horTh", "age", "menostat", "tsize", "tgrade", "pnodes", "progrec", "estrec")


def test_frame_and_array_hold_the_same_numbers():
    frame, y = load_gbsg2()
    array, same_y = load_gbsg2(as_frame=False)
    assert isinstance(frame, pd.DataFrame)
    assert tuple(frame.columns) == NAMES
    assert array.dtype == np.float64
    assert array.shape == (686, 8)
    assert_array_equal(frame.to_numpy(), array)
    assert_array_equal(y, same_y)


def test_everything_agrees_with_the_copy_of_lifelines():
    source = lifelines_gbsg2()
    frame, y = load_gbsg2()
    coded = source.replace(
        {"no": "0", "yes": "1", "Pre": "0", "Post": "1", "III": "3", "II": "2", "I": "1"}
    )
    assert_array_equal(frame.to_numpy(), coded[list(NAMES)].to_numpy(dtype=np.float64))
    assert_array_equal(y["time"], source["time"])
    assert_array_equal(y["event"], source["cens"] == 1)


def test_the_target_is_structured_event_first():
    _, y = load_gbsg2(as_frame=False)
    assert y.dtype == np.dtype([("event", np.bool_), ("time", np.float64)])
    assert (y["event"].sum(), y["time"].min(), y["time"].max()) == (299, 8.0, 2659.0)


def test_about_a_third_are_free_of_recurrence_when_follow_up_ends():
    _, y = load_gbsg2(as_frame=False)
    assert kaplan_meier(y["time"], y["event"]).survival[-1] == pytest.approx(1 / 3, abs=0.02)


def test_no_value_is_missing():
    X, y = load_gbsg2(as_frame=False)
    assert np.isfinite(X).all()
    assert np.isfinite(y["time"]).all()


def test_all_of_it_comes_with_names_and_a_description():
    bundle = load_gbsg2(return_X_y=False, as_frame=False)
    assert isinstance(bundle, RealData)
    assert bundle.feature_names == NAMES
    assert "686 women" in bundle.description
    assert bundle.data.shape == (len(bundle.target), len(NAMES))


def test_each_column_of_the_file_is_described_beside_it():
    folder = files("censquant.datasets") / "data"
    columns = next(csv.reader((folder / "gbsg2.csv").read_text(encoding="utf-8").splitlines()))
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"`{column}`" in text for column in columns)


def test_a_missing_pandas_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = (
        "as_frame=True needs pandas; pass as_frame=False or install it with: "
        'pip install "censquant[pandas]"'
    )
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        load_gbsg2(as_frame=True)


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_other_values_of_as_frame_are_refused(value):
    message = f"as_frame must be True, False or 'auto', got {value!r}."
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        load_gbsg2(as_frame=value)


def test_without_pandas_the_same_call_gives_an_array_with_the_same_rows_and_names(monkeypatch):
    frame, y = load_gbsg2()
    monkeypatch.setitem(sys.modules, "pandas", None)
    array, same_y = load_gbsg2()
    assert type(array) is np.ndarray
    assert_array_equal(array[500:], frame[500:].to_numpy())
    assert_array_equal(y, same_y)
    assert load_gbsg2(return_X_y=False).feature_names == tuple(frame.columns)


def test_an_array_is_read_without_pandas():
    program = (
        "import sys; sys.modules['pandas'] = None\n"
        "from censquant.datasets import load_gbsg2\n"
        "assert load_gbsg2()[0].shape == (686, 8)\n"
        "heavy = {'scipy.special', 'scipy.stats', 'sklearn', 'numba', 'torch', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
