"""Tables are read as they are, whatever their encoding, separators and quotation marks."""

import contextlib
import errno
import gzip
import io
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from censquant.io import (
    TableError,
    TargetColumns,
    TextOptions,
    predict_file,
    read_table,
)
from censquant.io._dataset import open_dataset
from censquant.io._predict import writing
from censquant.io._reader import TableReader
from censquant.io._table import columns_to_leave_out

TEXT = 'days,"site, plant",größe\n3,"north\nwing",1.5\n 5 ,"says ""hi""",NA\n'


def write(folder, content, name="table.csv"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("encoding", "line_end", "packed"),
    [
        ("utf-8", "\n", False),
        ("utf-8", "\r\n", True),
        ("utf-8-sig", "\r\n", False),
        ("utf-16", "\n", True),
        ("utf-16", "\r\n", False),
        ("cp1252", "\n", False),
    ],
)
def test_text_means_the_same_in_every_encoding(tmp_path, encoding, line_end, packed):
    content = TEXT.replace("\n", line_end).encode(encoding)
    path = write(tmp_path, gzip.compress(content) if packed else content)
    options = TextOptions(encoding="cp1252") if encoding == "cp1252" else None
    table = read_table(path, options)
    assert table.kinds == {"days": "number", "site, plant": "text", "größe": "number"}
    np.testing.assert_array_equal(table.numbers("days", "time"), [3.0, 5.0])
    np.testing.assert_array_equal(table.numbers("größe", "features"), [1.5, np.nan])
    assert table.columns["site, plant"].to_pylist() == [f"north{line_end}wing", 'says "hi"']
    assert any("line breaks in 'site, plant'" in note for note in table.notes)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_of_the_header(tmp_path, separator):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    path = tmp_path / "table.txt"
    frame.to_csv(path, sep=separator, index=False)
    assert list(read_table(path).columns) == ["a", "b"]


def test_a_header_with_two_possible_separators_is_read_by_its_comma(tmp_path):
    path = write(tmp_path, b"a;b,c\n1,2\n")
    assert list(read_table(path).columns) == ["a;b", "c"]
    path = write(tmp_path, b"a;b,c\n1;2\n")
    with pytest.raises(TableError, match=r"2 columns in its header but 1 in the row '1;2': pass "):
        read_table(path)


def test_long_files_are_read_like_pandas_reads_them(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=150_000),
            "word": rng.choice(["a", 'quoted "b"', "line\nbreak", "ü"], 150_000),
        }
    )
    path = tmp_path / "long.csv"
    frame.to_csv(path, index=False)
    seen = []
    table = read_table(path, progress=lambda *done: seen.append(done))
    np.testing.assert_array_equal(table.numbers("x", "features"), frame["x"])
    assert table.columns["word"].to_pylist() == frame["word"].tolist()
    assert seen[-1] == (path.stat().st_size, path.stat().st_size, "bytes")


def test_columns_without_a_name_are_left_aside_and_said(tmp_path):
    table = read_table(write(tmp_path, b",a,\n1,2,\n2,3,\n"))
    assert list(table.columns) == ["a"]
    assert table.notes == ("2 columns without names are left aside.",)


def test_a_name_that_stands_twice_can_only_be_refused(tmp_path):
    table = read_table(write(tmp_path, b"a,b,a\n1,2,3\n"))
    with pytest.raises(TableError, match="more than one column called 'a': rename all but one"):
        table.column("a", "features")


def test_types_of_parquet_are_kept_and_pieces_are_small(tmp_path):
    frame = pd.DataFrame(
        {
            "n": range(10),
            "flag": [True, False] * 5,
            "day": pd.date_range("2024-01-01", periods=10),
            "level": pd.Categorical(["a", "b"] * 5),
            "list": [[1]] * 10,
        }
    )
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    table = read_table(path)
    assert list(table.kinds.values()) == ["number", "number", "date", "text", "other"]
    reader = TableReader(path)
    assert [piece.num_rows for piece in reader.pieces([0, 3], 4)] == [4, 4, 2]
    reader.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": ",", "decimal": ","}, "separator and decimal must differ, got ',' for both"),
        ({"separator": ""}, "separator must be one character such as ';', got ''"),
        ({"decimal": "'"}, "decimal must be one of '.', ',', got"),
        ({"encoding": "nope"}, "encoding must be one that Python knows"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TextOptions(**options)


def test_what_is_no_encoding_of_text_is_refused():
    for encoding in ("zlib", "base64", "hex", "rot13", "bz2", "undefined", "nope"):
        with pytest.raises(TableError, match="encoding must be one that Python knows for text"):
            TextOptions(encoding=encoding)


def test_encodings_of_text_are_read(tmp_path):
    for encoding in ("cp1252", "utf-16", "utf-16-le", "utf-8-sig", "cp037", "gbk"):
        path = write(tmp_path, "a,b\n1,x\n2,y\n".encode(encoding))
        table = read_table(path, TextOptions(encoding=encoding))
        np.testing.assert_array_equal(table.numbers("a", "features"), [1.0, 2.0])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_the_encoding_that_is_advised_for_zero_bytes_reads_the_file(tmp_path, encoding):
    path = write(tmp_path, "größe;b\n1;x\n2;y\n".encode(encoding))
    with pytest.raises(TableError, match=f"bytes that are zero.*: pass encoding='{encoding}'"):
        read_table(path)
    table = read_table(path, TextOptions(encoding=encoding))
    assert list(table.columns) == ["größe", "b"]
    with pytest.raises(TableError, match=f"is not text in utf-.. .*: pass encoding='{encoding}'"):
        read_table(path, TextOptions(encoding=encoding[:6]))


@pytest.mark.parametrize(
    "content", [b"a,b\n1,\0\0\n2,3\n", bytes(range(256)) * 20, b"\0" * 100, b"a\0b,c\n1,2\n"]
)
def test_no_encoding_is_advised_for_bytes_that_are_no_text(tmp_path, content):
    with pytest.raises(TableError, match="zero, so that it is not text: save the table as CSV"):
        read_table(write(tmp_path, content))


def test_a_damaged_feather_file_is_refused_and_does_not_end_the_process(tmp_path):
    path = tmp_path / "table.feather"
    pa.feather.write_feather(pa.table({"a": ["ab", "cd", "ef"]}), path, "uncompressed")
    places, damaged = (np.int32(ends).tobytes() for ends in ([0, 2, 4, 6], [0, 2, 2**30, 6]))
    content = path.read_bytes()
    assert content.count(places) == 1
    path.write_bytes(content.replace(places, damaged))
    with pytest.raises(ValueError, match=r"cannot be read \(.*[Oo]ffset"):
        read_table(path)
    reader = open_dataset(pyarrow.dataset.dataset(path, format="feather")).parts[0].open()
    with pytest.raises(ValueError, match="cannot be read"):
        list(reader.pieces([0], 10))


def test_damaged_feather_files_are_read_or_refused(tmp_path):
    path = tmp_path / "table.feather"
    frame = pd.DataFrame({"a": ["ab", "cde", None], "b": [1.5, 2, 3], "c": [True, False, True]})
    frame.astype({"a": "category"}).to_feather(path, compression="uncompressed")
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        damaged = np.frombuffer(content, np.uint8).copy()
        damaged[rng.integers(0, len(damaged), 5)] = rng.integers(0, 256, 5)
        path.write_bytes(damaged.tobytes())
        with contextlib.suppress(ValueError):
            table = read_table(path)
            table.frame([name for name, kind in table.kinds.items() if kind in ("number", "text")])


def test_a_feather_file_that_asks_for_more_memory_than_there_is_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "table.feather"
    pd.DataFrame({"a": [1.0, 2.0]}).to_feather(path)
    opened = pa.ipc.open_file

    class Damaged:
        schema, num_record_batches = opened(path).schema, 1

        def get_batch(self, number):
            raise MemoryError

    monkeypatch.setattr(pa.ipc, "open_file", lambda source: Damaged())
    with pytest.raises(ValueError, match=r"cannot be read.*asks for more memory than there is"):
        read_table(path)


def test_a_full_disk_behind_standard_output_is_one_sentence(monkeypatch):
    class Full(io.BytesIO):
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    class Output:
        buffer = Full()

    monkeypatch.setattr(sys, "stdout", Output())
    table = pa.table({"a": [1.0]})
    message = "^The disk is full: the predictions on standard output are not complete.$"
    with (
        pytest.raises(OSError, match=message),
        writing("-", table.schema, overwrite=False) as write_rows,
    ):
        write_rows(table)


def test_thousands_separators_are_not_taken_for_decimals(tmp_path):
    table = read_table(write(tmp_path, b"a;b\n1.500,5;x\n2,5;y\n"), TextOptions(decimal=","))
    assert table.kinds["a"] == "text"


def test_the_error_speaks_python_and_shell():
    error = TableError("b is odd", [("date_format", "%d %m"), ("drop", "b")], "fix it", about="a_b")
    assert str(error) == "a_b: b is odd: pass date_format='%d %m' or drop='b', or fix it."
    assert error.for_shell() == "--a-b: b is odd: add --date-format '%d %m' or --drop b, or fix it."


def test_target_columns_come_back_from_notes():
    columns = TargetColumns(start="a", end="b", until="2024-01-01", unit="weeks")
    assert TargetColumns.from_dict(columns.to_dict()) == columns
    columns = TargetColumns("days", "status", ("dead", "gone"))
    assert TargetColumns.from_dict(columns.to_dict()) == columns


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time": "a", "start": "b", "end": "c", "event": "d"}, "either by one column"),
        ({"time": "a", "event": "b", "until": "2024-01-01"}, "until is a date, and needs columns"),
        ({"start": "a", "end": "b", "until": "2024", "event_value": ("x",)}, "event_value needs"),
        (
            {"start": "a", "end": "b", "event": "c", "unit": "moons"},
            "unit must be one of seconds",
        ),
        ({"lower": "a"}, "lower and upper must be given together, got lower alone"),
        ({"upper": "a"}, "upper and lower must be given together, got upper alone"),
        (
            {"lower": "a", "upper": "b", "event": "c"},
            "lower and upper stand without event: an upper bound that is missing says",
        ),
    ],
)
def test_contradicting_columns_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        TargetColumns(**columns)


def test_months_and_time_zones_are_counted_as_calendars_do(tmp_path):
    content = (
        b"start,end,seen\n2020-01-01T00:00:00+02:00,2020-01-31T10:30:00+02:00,1\n"
        b"2020-01-01T00:00:00+00:00,2021-01-01T00:00:00+00:00,0\n"
    )
    table = read_table(write(tmp_path, content))
    target = TargetColumns(start="start", end="end", event="seen", unit="months").read(table)
    np.testing.assert_allclose(target.time, [30.4375 / 30.4375, 366 / 30.4375])


def test_bounds_and_entries_are_columns(tmp_path):
    table = read_table(write(tmp_path, b"clear,found,since\n2,5,1\n,1,0\n7,,6\n"))
    target = TargetColumns(lower="clear", upper="found", entry="since").read(table)
    np.testing.assert_array_equal(target.lower, [2, -np.inf, 7])
    np.testing.assert_array_equal(target.upper, [5, 1, np.inf])
    np.testing.assert_array_equal(target.entry, [1, -np.inf, 6])
    plain = TargetColumns(time="found", event="since", event_value=("1",))
    assert TargetColumns.from_dict(plain.to_dict()) == plain


def test_entries_may_be_dates_beside_a_start(tmp_path):
    content = (
        b"born,joined,last,died\n1930-01-01,1990-01-01,1995-01-01,1\n"
        b"1940-01-01,1991-01-01,1999-01-01,0\n"
    )
    table = read_table(write(tmp_path, content))
    columns = TargetColumns(start="born", end="last", event="died", entry="joined", unit="years")
    np.testing.assert_allclose(columns.read(table).entry, [60.0, 51.0], atol=0.01)
    with pytest.raises(TableError, match="must hold durations, got dates"):
        TargetColumns(time="died", event="died", entry="joined").read(table)
    missing = read_table(write(tmp_path, b"t,e,since\n3,1,\n4,0,1\n"))
    with pytest.raises(TableError, match="The entry 'since' is missing in 1 of 2 rows"):
        TargetColumns("t", "e", entry="since").read(missing)


def test_columns_that_only_look_like_the_time_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"days": rng.exponential(100, 50), "failed": rng.integers(0, 2, 50)})
    frame["minus"] = -frame["days"]
    frame["noise"] = rng.normal(size=50)
    frame["code"] = rng.integers(0, 5, 50)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    table = read_table(path)
    target = TargetColumns("days", "failed").read(table)
    left_out, doubtful = columns_to_leave_out(table, ["minus", "noise", "code"], target)
    assert left_out == {}
    assert set(doubtful) == {"minus"}


def test_a_model_without_names_cannot_predict_a_file(tmp_path):
    with pytest.raises(ValueError, match="must have been fitted to a data frame"):
        predict_file(object(), "data.csv", "out.csv")


def test_a_parquet_file_is_not_held_in_memory_while_it_is_read(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({f"x{k}": rng.normal(size=100_000) for k in range(10)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=5_000)
    before = pa.total_allocated_bytes()
    reader = TableReader(tmp_path / "rows.parquet")
    tracemalloc.start()
    held = [pa.total_allocated_bytes() - before for _ in reader.pieces(range(10), 5_000)]
    by_python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reader.close()
    assert len(held) == 20
    assert max(held) + by_python < (tmp_path / "rows.parquet").stat().st_size / 2


def test_without_pyarrow_the_import_says_what_to_install():
    hidden = f"import sys; sys.path[:0] = {sys.path!r}; sys.modules['pyarrow'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", hidden + "import censquant.io"], capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == (
        'ImportError: censquant.io needs pyarrow. Install it with: pip install "censquant[cli]"'
    )
