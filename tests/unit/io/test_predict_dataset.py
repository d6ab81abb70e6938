"""Predictions of data sets: every row once, whatever happens on the way."""

import errno
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import censquant
from block_streams import Killed
from censquant import CoxQuantileRegressor
from censquant.io import TableError, predict_dataset, predict_file
from censquant.io import _predict as module

LEVELS = [0.1, 0.5, 0.9]


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"id": np.arange(n), "a": rng.normal(size=n), "b": rng.uniform(size=n)})


@pytest.fixture(scope="module")
def model():
    rng, x = np.random.default_rng(0), frame(400)
    t, c = rng.exponential(np.exp(x["a"])), rng.exponential(2.0, 400)
    return CoxQuantileRegressor(LEVELS).fit(x[["a", "b"]], (np.minimum(t, c), t <= c))


@pytest.fixture
def data(tmp_path):
    """Three files, of which the second has no rows and the third is text."""
    folder, whole = tmp_path / "data", frame(2_500)
    folder.mkdir()
    whole[:1_700].to_parquet(folder / "1.parquet", index=False, row_group_size=330)
    whole[:0].to_parquet(folder / "2.parquet", index=False)
    whole[1_700:].to_csv(folder / "3.csv", index=False)
    return folder, whole


def assert_all_rows(out, model, whole):
    found = ds.dataset(out).to_table().to_pandas()
    np.testing.assert_array_equal(found["id"], whole["id"])
    expected = model.predict_quantiles(whole[["a", "b"]], LEVELS, beyond="nan")
    np.testing.assert_allclose(found[["q0.1", "q0.5", "q0.9"]], expected, rtol=1e-9)
    np.testing.assert_allclose(found["identified"], model.identified_level(whole[["a", "b"]]))


def test_parts_hold_the_predictions_of_all_rows_in_their_order(model, data, tmp_path):
    folder, whole = data
    out = tmp_path / "out"
    seen = []
    written = model.predict_dataset(
        folder, out, part_rows=600, chunk_rows=250, progress=seen.append
    )
    assert (written.n_rows, written.n_new_rows, written.n_parts) == (2_500, 2_500, 5)
    assert written.columns == ("q0.1", "q0.5", "q0.9", "identified")
    assert_all_rows(out, model, whole)
    lengths = [pq.read_metadata(path).num_rows for path in sorted(out.glob("*.parquet"))]
    assert lengths == [600, 600, 500, 600, 200]
    assert seen[-1] == 2_500
    assert sorted(path.name for path in out.iterdir() if path.suffix != ".parquet") == [
        "_SUCCESS",
        "_asked",
    ]


def test_predictions_are_those_of_one_file(model, tmp_path):
    path = tmp_path / "d.parquet"
    frame(500).to_parquet(path, index=False)
    predict_file(model, path, tmp_path / "one.parquet", quantiles=LEVELS)
    predict_dataset(model, path, tmp_path / "out", quantiles=LEVELS, part_rows=130)
    one = pd.read_parquet(tmp_path / "one.parquet")
    pd.testing.assert_frame_equal(ds.dataset(tmp_path / "out").to_table().to_pandas(), one)


@pytest.mark.parametrize("n_pieces", [1, 2, 4, 7, 9])
def test_a_killed_prediction_resumes_without_losing_or_doubling_rows(
    model, data, tmp_path, n_pieces, monkeypatch
):
    folder, whole = data
    out, options = tmp_path / "out", {"part_rows": 600, "chunk_rows": 250}
    calls = []

    def progress(n_rows):
        calls.append(n_rows)
        if len(calls) == n_pieces:
            raise Killed

    with pytest.raises(Killed):
        model.predict_dataset(folder, out, progress=progress, **options)
    assert not (out / "_SUCCESS").exists()
    there = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    written = model.predict_dataset(folder, out, **options)
    n_there = sum(pq.read_metadata(path).num_rows for path in there)
    assert (written.n_rows, written.n_new_rows) == (2_500, 2_500 - n_there)
    assert all(path.stat().st_mtime_ns == before for path, before in there.items())
    assert_all_rows(out, model, whole)
    assert model.predict_dataset(folder, out, **options).n_new_rows == 0


PROGRAM = """
import sys, time, censquant
model = censquant.load_model(sys.argv[1])
model.predict_dataset(
    sys.argv[2], sys.argv[3], part_rows=300, chunk_rows=100, progress=lambda n: time.sleep(0.05)
)
"""


def test_a_process_that_is_killed_by_the_system_is_resumed(model, data, tmp_path):
    folder, whole = data
    out = tmp_path / "out"
    model.save(tmp_path / "model.cq")
    command = [sys.executable, "-c", PROGRAM, tmp_path / "model.cq", folder, out]
    process = subprocess.Popen([str(word) for word in command])
    deadline = time.monotonic() + 1800
    while len(list(out.glob("*.parquet"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_there = len(list(out.glob("*.parquet")))
    assert 2 <= n_there < 9
    written = model.predict_dataset(folder, out, part_rows=300, chunk_rows=100)
    assert written.n_new_rows < 2_500
    assert_all_rows(out, model, whole)
    # Nothing of the killed process is left beside the parts.
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_predictions_of_something_else_are_not_resumed(model, data, tmp_path):
    folder, whole = data
    out = tmp_path / "out"
    model.predict_dataset(folder, out)
    message = (
        "out must not hold predictions of other files, columns or levels, got "
        f"{str(out)!r}: delete it, or name another."
    )
    with pytest.raises(FileExistsError, match=re.escape(message)):
        model.predict_dataset(folder, out, [0.5])
    other = CoxQuantileRegressor(LEVELS).fit(whole[["a", "b"]], np.exp(whole["a"] + 2 * whole["b"]))
    message = (
        f"out must not hold predictions of another model, got {str(out)!r}: delete it, or name "
        "another."
    )
    with pytest.raises(FileExistsError, match=re.escape(message)):
        other.predict_dataset(folder, out)


def test_a_folder_with_other_files_is_refused(model, data, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    message = (
        "out must be a new folder, an empty one, or one in which this prediction was begun, got "
        f"{str(tmp_path / 'out')!r}, which holds other files."
    )
    with pytest.raises(FileExistsError, match=re.escape(message)):
        model.predict_dataset(data[0], tmp_path / "out")
    with pytest.raises(NotADirectoryError, match="out must be a folder for parts of predictions"):
        model.predict_dataset(data[0], tmp_path / "out" / "notes.txt")


def test_a_column_that_a_file_lacks_is_refused_by_the_file(model, data, tmp_path):
    folder, _ = data
    frame(5).drop(columns="b").to_csv(folder / "4.csv", index=False)
    message = f"{str(folder / '4.csv')!r} has no column 'b', which the model was fitted to"
    with pytest.raises(TableError, match=re.escape(message)):
        model.predict_dataset(folder, tmp_path / "out")


def test_a_data_set_without_rows_is_refused(model, tmp_path):
    frame(0).to_parquet(tmp_path / "d.parquet", index=False)
    message = f"{str(tmp_path / 'd.parquet')!r} has no rows."
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict_dataset(tmp_path / "d.parquet", tmp_path / "out")


def test_a_full_disk_is_one_sentence_and_the_parts_are_whole(model, data, tmp_path, monkeypatch):
    folder, whole = data
    out = tmp_path / "out"
    real, opened = module.writing, []

    def writing(path, *args, **options):
        opened.append(path)
        if len(opened) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *args, **options)

    monkeypatch.setattr(module, "writing", writing)
    message = (
        f"The disk is full: predictions are written to {str(out)!r} no further, the parts in it "
        "are complete; free some space, and the same call resumes."
    )
    with pytest.raises(OSError, match=re.escape(message)):
        model.predict_dataset(folder, out, part_rows=600)
    monkeypatch.undo()
    assert model.predict_dataset(folder, out, part_rows=600).n_new_rows == 1_300
    assert_all_rows(out, model, whole)


def test_a_data_set_of_pyarrow_is_predicted(model, data, tmp_path):
    folder, whole = data
    (folder / "3.csv").unlink()
    model.predict_dataset(ds.dataset(folder), tmp_path / "out")
    assert_all_rows(tmp_path / "out", model, whole[:1_700])


def test_a_model_that_was_fitted_to_files_predicts_files(tmp_path):
    table = frame(300).assign(t=lambda f: np.exp(f["a"]), e=True)
    table.to_parquet(tmp_path / "d.parquet", index=False)
    model = censquant.ShapeNN(max_steps=20, random_state=0)
    model.fit_dataset(tmp_path / "d.parquet", time="t", event="e", features=["a", "b"])
    written = model.predict_dataset(tmp_path / "d.parquet", tmp_path / "out", [0.5], keep=["id"])
    assert written.n_rows == 300
    assert pq.read_schema(next((tmp_path / "out").glob("*.parquet"))).names == [
        "id",
        "q0.5",
        "identified",
    ]
