import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from censquant._files import FORMAT_VERSION, read_arrays, write_arrays
from censquant.exceptions import ModelFileError

ARRAYS = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "counter": np.array(7, dtype=np.int64),
    "flags": np.array([True, False]),
    "empty": np.empty((0, 4)),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.cq"


@pytest.fixture
def written(path):
    write_arrays(path, "model", {"name": "CQRNN", "levels": [0.1, 0.5]}, ARRAYS)
    return path


def refused(path, message, kind="model"):
    """Reading is refused with this very sentence."""
    with pytest.raises(ModelFileError, match="^" + re.escape(message) + "$"):
        read_arrays(path, kind)


def write_header(path, header):
    save_file({"a": np.zeros(2)}, path, metadata={"censquant": header})


def test_header_and_arrays_come_back(written):
    header, arrays = read_arrays(written, "model")
    assert header == {
        "format": FORMAT_VERSION,
        "kind": "model",
        "name": "CQRNN",
        "levels": [0.1, 0.5],
    }
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        np.testing.assert_array_equal(arrays[name], array)


def test_a_path_may_be_text(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    write_arrays("model.cq", "model", {}, ARRAYS)
    assert read_arrays("model.cq", "model")[0]["kind"] == "model"


def test_the_same_content_gives_the_same_bytes(path):
    write_arrays(path, "model", {"a": 1, "b": 2}, ARRAYS)
    first = path.read_bytes()
    write_arrays(path, "model", {"b": 2, "a": 1}, dict(reversed(ARRAYS.items())))
    assert path.read_bytes() == first


def test_nothing_but_the_file_is_left(written):
    assert list(written.parent.iterdir()) == [written]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(written, monkeypatch, failing, error):
    before = written.read_bytes()

    def fail(*arguments):
        raise error("disk full")

    owner = os if failing == "fsync" else Path
    monkeypatch.setattr(owner, failing, fail)
    with pytest.raises(error, match="disk full"):
        write_arrays(written, "model", {}, {"other": np.ones(1000)})
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_a_header_that_json_cannot_hold_is_refused_before_anything_is_written(path):
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_arrays(path, "model", {"rng": object()}, ARRAYS)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(path, mask):
    before = os.umask(mask)
    try:
        write_arrays(path, "model", {}, ARRAYS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_the_umask_is_never_changed(path, monkeypatch):
    # Not even for a moment: it belongs to all threads, and members write side by side.
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("umask was changed"))
    write_arrays(path, "model", {}, ARRAYS)


def test_a_missing_file_is_named(path):
    with pytest.raises(
        FileNotFoundError, match="^" + re.escape(f"No file at {str(path)!r}.") + "$"
    ):
        read_arrays(path, "model")


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^No file at "):
        read_arrays(tmp_path, "model")


@pytest.mark.parametrize("kept", [0, 1, 8, 40, -1])
def test_a_truncated_file_is_refused(written, kept):
    written.write_bytes(written.read_bytes()[:kept])
    pattern = (
        f"^{re.escape(repr(str(written)))} is not a complete safetensors file \\(.+\\); "
        r"it may be truncated or written by another program\.$"
    )
    with pytest.raises(ModelFileError, match=pattern):
        read_arrays(written, "model")


def test_a_file_of_something_else_entirely_is_refused(path):
    path.write_text("time,event\n1,2\n" * 100)
    with pytest.raises(ModelFileError, match="is not a complete safetensors file"):
        read_arrays(path, "model")


def test_a_foreign_safetensors_file_is_refused(path):
    save_file({"a": np.zeros(2)}, path)
    refused(path, f"{str(path)!r} was not written by censquant.")


@pytest.mark.parametrize("header", ["not json", "[1, 2]", "{}", '{"format": "1"}', "null"])
def test_a_header_that_is_not_ours_is_refused(path, header):
    write_header(path, header)
    refused(path, f"{str(path)!r} was not written by censquant.")


def test_another_kind_is_refused(written):
    refused(written, f"{str(written)!r} holds a model, not a checkpoint.", kind="checkpoint")


def test_a_newer_format_is_refused(path):
    write_header(path, json.dumps({"format": FORMAT_VERSION + 1, "kind": "model"}))
    refused(
        path,
        f"{str(path)!r} has format {FORMAT_VERSION + 1}, but this version reads formats up to "
        f"{FORMAT_VERSION}; upgrade censquant to open it.",
    )


def test_a_damaged_file_is_a_value_error():
    assert issubclass(ModelFileError, ValueError)
