import errno
import json
import os
import re
import stat
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from censquant import __version__
from censquant._files import (
    FORMAT_VERSION,
    content_digest,
    read_arrays,
    strict_json,
    write_arrays,
    write_whole,
)
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
    assert re.fullmatch("[0-9a-f]{64}", header.pop("digest"))
    assert header == {
        "format": FORMAT_VERSION,
        "kind": "model",
        "censquant": __version__,
        "name": "CQRNN",
        "levels": [0.1, 0.5],
    }
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].flags.writeable
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", ">f8"]
)
def test_numbers_of_every_usual_type_come_back(path, dtype):
    array = np.array([0, 1, 1, 0], dtype=dtype)
    write_arrays(path, "model", {}, {"a": array})
    read = read_arrays(path, "model")[1]["a"]
    assert read.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(read, array)


def test_an_array_of_a_type_that_no_file_can_hold_is_refused(path):
    message = "Array 'a' has the type complex128, which no file can hold."
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        write_arrays(path, "model", {}, {"a": np.zeros(2, dtype=complex)})
    assert not path.exists()


def test_safetensors_alone_reads_the_file(written):
    arrays = load_file(written)
    assert arrays.keys() == ARRAYS.keys()
    np.testing.assert_array_equal(arrays["transposed"], ARRAYS["transposed"])
    with safe_open(written, framework="numpy") as file:
        assert json.loads(file.metadata()["censquant"])["name"] == "CQRNN"


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


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_permissions_of_a_file_that_is_replaced_are_kept(written, mode):
    written.chmod(mode)
    write_arrays(written, "model", {"name": "new"}, ARRAYS)
    assert stat.S_IMODE(written.stat().st_mode) == mode
    assert read_arrays(written, "model")[0]["name"] == "new"


def test_a_private_file_is_never_readable_by_others_while_it_is_replaced(written, monkeypatch):
    written.chmod(0o600)
    modes = []
    fsync = os.fsync

    def watched(descriptor):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_arrays(written, "model", {}, ARRAYS)
    assert modes == [0o600]


def test_the_owner_of_a_file_that_is_replaced_is_kept_if_that_is_allowed(written, monkeypatch):
    asked = []
    # The file looks as if another group had it.
    group = written.stat().st_gid + 1
    result = os.stat_result([*written.stat()[:5], group, *written.stat()[6:]])
    real = Path.stat
    monkeypatch.setattr(
        Path, "stat", lambda self, **options: result if self == written else real(self, **options)
    )

    def chown(path, user, group):
        asked.append((Path(path).name.startswith(".model.cq."), user, group))
        raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    write_arrays(written, "model", {}, ARRAYS)
    assert asked == [(True, result.st_uid, group)]


@pytest.mark.parametrize("relative", [False, True])
def test_a_link_still_points_at_the_file_that_is_replaced(tmp_path, relative):
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "v1.cq", tmp_path / "model.cq"
    write_arrays(target, "model", {"name": "old"}, ARRAYS)
    link.symlink_to("store/v1.cq" if relative else target)
    write_arrays(link, "model", {"name": "new"}, ARRAYS)
    assert link.is_symlink()
    assert not target.is_symlink()
    assert read_arrays(target, "model")[0]["name"] == "new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["model.cq", "store", "v1.cq"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"content"


KILLED = """
import os, sys
from pathlib import Path
import censquant._files as files
files.os.fsync = lambda descriptor: os.kill(os.getpid(), 9)
files.write_whole(Path(sys.argv[1]), b"half")
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_save(written):
    done = subprocess.run([sys.executable, "-c", KILLED, str(written)], check=False, timeout=1800)
    assert done.returncode == -9
    assert len(list(written.parent.iterdir())) == 2
    write_arrays(written, "model", {}, ARRAYS)
    assert list(written.parent.iterdir()) == [written]


def test_the_file_of_a_writer_that_lives_is_left_alone(written, monkeypatch):
    fsync, seen = os.fsync, []

    def meanwhile(descriptor):
        fsync(descriptor)
        if not seen:  # another writer of the same file, while the first is still busy
            seen.append(len(list(written.parent.iterdir())))
            write_arrays(written, "model", {"name": "inner"}, ARRAYS)
            seen.append(len(list(written.parent.iterdir())))

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_arrays(written, "model", {"name": "outer"}, ARRAYS)
    assert seen == [2, 2]
    assert read_arrays(written, "model")[0]["name"] == "outer"
    assert list(written.parent.iterdir()) == [written]


@pytest.mark.parametrize(("hours", "left"), [(0.5, True), (2.0, False)])
def test_without_locks_leftovers_of_more_than_an_hour_are_removed(
    written, monkeypatch, hours, left
):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    leftover = written.parent / f".{written.name}.{'0' * 16}"
    leftover.write_bytes(b"half")
    os.utime(leftover, (time.time() - 3600 * hours,) * 2)
    write_arrays(written, "model", {}, ARRAYS)
    assert leftover.exists() == left


@pytest.mark.parametrize(
    "name", [".model.cq", ".model.cq.old", ".model.cq.0123", ".other.cq.0123456789abcdef", "notes"]
)
def test_files_that_only_look_like_leftovers_are_kept(written, name):
    other = written.parent / name
    other.write_bytes(b"precious")
    write_arrays(written, "model", {}, ARRAYS)
    assert other.read_bytes() == b"precious"


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


def test_any_flipped_bit_is_refused(written):
    content = written.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            written.write_bytes(changed)
            with pytest.raises(ModelFileError):
                read_arrays(written, "model")


def test_changed_values_are_refused_by_the_digest(written):
    content = bytearray(written.read_bytes())
    content[-1] ^= 1
    written.write_bytes(content)
    refused(written, f"{str(written)!r} is damaged: its content is not that of its digest.")


def test_a_file_that_lost_its_digest_is_refused(path):
    write_header(path, json.dumps({"format": FORMAT_VERSION, "kind": "model"}))
    refused(path, f"{str(path)!r} is damaged: its content is not that of its digest.")


def test_the_digest_depends_on_header_names_types_shapes_and_values():
    array = np.zeros(4, dtype=np.float32)
    digests = [
        content_digest("{}", {"a": array}),
        content_digest("{ }", {"a": array}),
        content_digest("{}", {"b": array}),
        content_digest("{}", {"a": array.view(np.int32)}),
        content_digest("{}", {"a": array.reshape(2, 2)}),
        content_digest("{}", {"a": array + 1}),
        content_digest("{}", {"a": array[:2], "b": array[:2]}),
    ]
    assert len(set(digests)) == len(digests)


def test_format_1_had_no_digest(path):
    write_header(path, json.dumps({"format": 1, "kind": "model"}))
    header, arrays = read_arrays(path, "model")
    assert header == {"format": 1, "kind": "model"}
    assert arrays["a"].shape == (2,)


def layout(path, **changes):
    """Change the list of arrays of a file, or its lines as text."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["weights"].update(changes)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "BF16"},
        {"dtype": "F8_E4M3"},
        {"dtype": "F64"},
        {"dtype": None},
        {"dtype": ["F32"]},
        {"shape": [2, 4]},
        {"shape": [6, -1, -1]},
        {"shape": [True, 6]},
        {"shape": [2.0, 3.0]},
        {"shape": 6},
        {"shape": [10**9, 10**9]},
        {"shape": [10**30]},
        {"data_offsets": [0, 10**15]},
        {"data_offsets": [-24, 0]},
        {"data_offsets": [0]},
        {"data_offsets": None},
        {"colour": 1},
    ],
    ids=str,
)
def test_a_wrong_list_of_arrays_is_refused_without_taking_memory(written, changes):
    layout(written, **changes)
    tracemalloc.start()
    refused(
        written,
        f"{str(written)!r} is not a complete safetensors file (its header does not list arrays); "
        "it may be truncated or written by another program.",
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("length", [0, 10**7, 10**12, 2**64 - 1])
def test_a_header_of_another_length_is_refused_without_taking_memory(written, length):
    written.write_bytes(length.to_bytes(8, "little") + written.read_bytes()[8:])
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="is not a complete safetensors file"):
        read_arrays(written, "model")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_arrays_that_overlap_are_refused(written):
    layout(written, data_offsets=[8, 32])
    with pytest.raises(ModelFileError, match="its arrays do not follow one another"):
        read_arrays(written, "model")


def test_more_bytes_than_the_arrays_take_are_refused(written):
    written.write_bytes(written.read_bytes() + b"more")
    with pytest.raises(ModelFileError, match=r"\(\d+ bytes follow its header instead of \d+\)"):
        read_arrays(written, "model")


def test_an_empty_array_of_vast_dimensions_is_refused(path):
    header = {"a": {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}}
    header["__metadata__"] = {"censquant": json.dumps({"format": 1, "kind": "model"})}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ModelFileError, match="'a' has no possible shape"):
        read_arrays(path, "model")


def test_a_boolean_that_is_neither_true_nor_false_is_refused(path):
    write_arrays(path, "model", {}, {"flags": np.array([True])})
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\2")
    refused(path, f"{str(path)!r} is damaged: 'flags' is not an array of booleans.")


def test_a_file_that_is_cut_short_while_it_is_read_is_refused(written, monkeypatch):
    # As if the other half of the content had gone between looking at its size and reading it.
    size = written.stat().st_size
    written.write_bytes(written.read_bytes()[: size - 20])
    real = os.fstat

    def before(descriptor):
        found = real(descriptor)
        return os.stat_result([*found[:6], size, *found[7:]])

    monkeypatch.setattr(os, "fstat", before)
    with pytest.raises(ModelFileError, match="is not a complete safetensors file"):
        read_arrays(written, "model")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a": 1e400}',
        '{"a": -1e999}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1, "a": 2}',
        '{"a": ' + "9" * 41 + "}",
        '{"a": ' + "9" * 5000 + "}",
        "",
        "{",
        '{"a": 1} 2',
    ],
    ids=lambda text: text[:20],
)
def test_json_without_one_meaning_is_refused(path, text):
    with pytest.raises((ValueError, RecursionError)):
        strict_json(text)
    write_header(path, text)
    refused(path, f"{str(path)!r} was not written by censquant.")


def test_json_of_numbers_and_text_is_read():
    text = '{"a": [1, -2.5, "x", null, true], "b": ' + "7" * 39 + "}"
    assert strict_json(text) == json.loads(text)


def test_a_foreign_safetensors_file_is_refused(path):
    save_file({"a": np.zeros(2)}, path)
    refused(path, f"{str(path)!r} was not written by censquant.")


@pytest.mark.parametrize(
    "header",
    ["not json", "[1, 2]", "{}", '{"format": "1"}', "null", '{"format": true}', '{"format": 0}'],
)
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


def test_a_kind_is_quoted_up_to_a_length(path):
    write_header(path, json.dumps({"format": 1, "kind": "x" * 1000}))
    refused(path, f"{str(path)!r} holds a {'x' * 40}, not a model.")


def test_a_damaged_file_is_a_value_error():
    assert issubclass(ModelFileError, ValueError)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_names_the_file_and_leaves_what_was_there(path, monkeypatch, number):
    write_whole(path, b"before")

    def full(descriptor):
        raise OSError(number, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = f"^The disk is full: {re.escape(repr(str(path)))} is not written; free some space.$"
    with pytest.raises(OSError, match=message) as caught:
        write_whole(path, b"after")
    assert caught.value.errno == number
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
