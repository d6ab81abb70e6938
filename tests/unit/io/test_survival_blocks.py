"""Data sets of many files as rows to train on: read by name, refused in one sentence."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from censquant.io import SurvivalBlocks, TableError, TargetColumns, TextOptions

TARGET = TargetColumns("t", "e")


def table(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 9, n),
            "t": rng.exponential(size=n),
            "e": np.arange(n) % 2,
        }
    )


def rows_of(source, **options):
    data = SurvivalBlocks(source, TARGET, **options)
    blocks = [block for part in range(data.n_parts) for block in data.blocks(part, 4)]
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def expected(frame):
    return [
        frame[["a", "b"]].to_numpy(float),
        frame["t"].to_numpy(),
        frame["e"].to_numpy() == 1,
        np.ones(len(frame)),
    ]


def assert_same(found, wanted, **options):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, **options)


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["d.parquet", "d.feather", "d.csv", "d.tsv", "d.csv.gz"])
def test_files_of_all_formats_give_the_same_rows(tmp_path, name):
    path = write(table(), tmp_path / name)
    assert_same(rows_of(path), expected(table()), rtol=1e-14)


def test_files_may_differ_in_format_types_and_order_of_columns(tmp_path):
    one, other, third = table(seed=0), table(seed=1), table(seed=2)
    write(one, tmp_path / "1.parquet")
    write(other[["e", "t", "b", "a"]], tmp_path / "2.csv")
    write(third.astype({"a": "float32", "b": "int8", "e": "bool"}), tmp_path / "3.parquet")
    wanted = expected(pd.concat([one, other, third.astype({"a": "float32"})]))
    assert_same(rows_of(tmp_path), wanted, rtol=1e-6)


def test_a_folder_is_read_in_the_order_of_names_without_hidden_files(tmp_path):
    for number, name in enumerate(["b/part.parquet", "a/part.parquet"]):
        (tmp_path / name).parent.mkdir()
        write(table(seed=number), tmp_path / name)
    for name in ("_SUCCESS", ".part.parquet.crc", "readme.md"):
        (tmp_path / name).write_text("no table")
    wanted = expected(pd.concat([table(seed=1), table(seed=0)]))
    assert_same(rows_of(tmp_path), wanted)


def test_a_list_of_paths_is_read_in_its_order(tmp_path):
    paths = [write(table(seed=seed), tmp_path / f"{9 - seed}.parquet") for seed in range(2)]
    assert_same(rows_of(paths), expected(pd.concat([table(seed=0), table(seed=1)])))


def test_a_dataset_of_pyarrow_is_read_with_its_partitions(tmp_path):
    frame = table(12)
    ds.write_dataset(
        pa.Table.from_pandas(frame, preserve_index=False),
        tmp_path,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("b", pa.int64())]), flavor="hive"),
    )
    found = rows_of(ds.dataset(tmp_path, partitioning="hive"), features=["a", "b"])
    wanted = expected(frame)
    assert_same([each[np.argsort(found[1])] for each in found], [
        each[np.argsort(wanted[1])] for each in wanted
    ])  # fmt: skip


def test_a_dataset_in_memory_has_no_identity():
    data = ds.dataset(pa.Table.from_pandas(table()))
    assert SurvivalBlocks(data, TARGET).identity == ""
    assert_same(rows_of(data), expected(table()))


def test_the_identity_changes_with_the_files_and_with_what_is_read(tmp_path):
    path = write(table(), tmp_path / "d.parquet")

    def identity(**options):
        return SurvivalBlocks(path, TARGET, **options).identity

    first = identity()
    assert first == identity()
    assert (
        len({first, identity(features=["a"]), identity(settings=[True]), identity(weight="b")}) == 4
    )
    write(table(7), path)
    assert identity() != first


def test_files_without_rows_are_passed_over(tmp_path):
    write(table(), tmp_path / "1.parquet")
    write(table()[:0], tmp_path / "0.parquet")
    write(table()[:0], tmp_path / "2.csv")
    assert_same(rows_of(tmp_path), expected(table()))


def test_weights_are_read_from_their_column(tmp_path):
    path = write(table(), tmp_path / "d.parquet")
    x, *_, weight = rows_of(path, weight="b")
    np.testing.assert_array_equal(weight, table()["b"])
    assert x.shape == (6, 1)


def test_events_by_another_code_need_its_value(tmp_path):
    path = write(table().assign(e=[1, 2, 1, 2, 1, 1]), tmp_path / "d.parquet")
    data = SurvivalBlocks(path, TargetColumns("t", "e", ("2",)))
    (block,) = data.blocks(0, 100)
    np.testing.assert_array_equal(block[2], [False, True, False, True, False, False])


def last(frame, column, value):
    """The value in the last row, behind the first piece."""
    values = frame[column].astype(object)
    values.iloc[-1] = value
    return frame.assign(**{column: values.infer_objects()})


REFUSED = {
    "missing time": (
        table().drop(columns="t"),
        {},
        "time: {path} has no column 't'; it has 'a', 'b', 'e'.",
    ),
    "missing event": (
        table().rename(columns={"e": "E"}),
        {},
        "event: {path} has no column 'e'; did you mean 'E'?",
    ),
    "missing feature": (
        table(),
        {"features": ["a", "bb"]},
        "features: {path} has no column 'bb'; did you mean 'b'?",
    ),
    "feature is target": (
        table(),
        {"features": ["a", "t"]},
        "features must not name the target or the weight, got 't'.",
    ),
    "no features": (
        table()[["t", "e"]],
        {},
        "{path} has no column that could be a feature.",
    ),
    "NaN": (
        last(table(), "a", np.nan),
        {},
        "The column 'a' of {path} must hold numbers, got a missing value in row 6: impute or drop "
        "such rows, or name other columns by features.",
    ),
    "infinity": (
        last(table(), "a", np.inf),
        {},
        "The column 'a' of {path} must hold numbers, got infinity in row 6: impute or drop such "
        "rows, or name other columns by features.",
    ),
    "text": (
        table().assign(a=["north", "south"] * 3),
        {},
        "The column 'a' of {path} must hold numbers, got 'north' in row 1: encode it as numbers, "
        "or name other columns by features.",
    ),
    "dates": (
        table().assign(a=pd.Timestamp("2024-01-31")),
        {},
        "The column 'a' of {path} must hold numbers, got timestamp[us]: encode it as numbers, or "
        "name other columns by features.",
    ),
    "missing times": (
        last(table(), "t", np.nan),
        {},
        "The time 't' is missing in row 6 of {path}: fix or remove such rows.",
    ),
    "missing events": (
        last(table(), "e", None),
        {},
        "The event 'e' is missing in row 6 of {path}: fix or remove such rows.",
    ),
    "codes": (
        table().assign(e=[1, 2, 1, 2, 1, 1]),
        {},
        "The event 'e' must hold 0 and 1, got '1' (2), '2' (2): pass event_value='2', or another "
        "value if that one does not mean that the event was observed.",
    ),
    "negative weight": (
        table().assign(w=[1.0, 1.0, 1.0, 1.0, 1.0, -2.0]),
        {"weight": "w"},
        "The weight 'w' must not be negative, got -2 in row 6 of {path}.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_are_refused_in_one_sentence(tmp_path, case):
    frame, options, message = REFUSED[case]
    path = write(frame, tmp_path / "d.parquet")
    shown = message.format(path=repr(str(path))).replace("timestamp[us]", "TYPE")
    with pytest.raises(TableError) as caught:
        rows_of(path, **options)
    assert re.sub(r"timestamp\[\w+\]", "TYPE", str(caught.value)) == shown


def test_columns_that_only_a_later_file_has_are_refused(tmp_path):
    write(table(), tmp_path / "1.parquet")
    later = write(table().assign(c=1.0), tmp_path / "2.parquet")
    message = (
        f"{str(later)!r} has columns that the first file has not: 'c': name the columns to learn "
        "from by features."
    )
    with pytest.raises(TableError, match=re.escape(message)):
        rows_of(tmp_path)
    assert len(rows_of(tmp_path, features=["a", "b"])[0]) == 12


def test_a_column_that_a_later_file_lacks_is_refused(tmp_path):
    write(table(), tmp_path / "1.parquet")
    later = write(table().drop(columns="b"), tmp_path / "2.parquet")
    message = f"features: {str(later)!r} has no column 'b'; it has 'a', 't', 'e'."
    with pytest.raises(TableError, match=re.escape(message)):
        rows_of(tmp_path)


def test_text_is_read_by_the_options(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a;t;e\n1,5;2;0\n-;3;1\n")
    options = TextOptions(separator=";", decimal=",", missing=("-",))
    with pytest.raises(TableError, match="got a missing value in row 2"):
        rows_of(path, options=options)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("nowhere.csv", FileNotFoundError, "There is no file 'nowhere.csv'."),
        ("-", ValueError, "A data set must be in files, got '-'"),
        ([], ValueError, "A data set must have at least one file, got an empty list."),
        (3, TypeError, "A data set must be a path, a list of paths or a pyarrow.dataset.Dataset"),
    ],
)
def test_what_is_no_data_set_is_refused(source, error, message):
    with pytest.raises(error, match=re.escape(message)):
        SurvivalBlocks(source, TARGET)


def test_a_folder_without_tables_and_an_empty_file_are_refused(tmp_path):
    message = (
        f"The folder {str(tmp_path)!r} holds no tables (.parquet, .pq, .feather, .arrow, .csv, "
        ".tsv, .tab, .txt)."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        SurvivalBlocks(tmp_path, TARGET)
    empty = tmp_path / "d.csv"
    empty.touch()
    with pytest.raises(ValueError, match=re.escape(f"{str(empty)!r} is empty.")):
        SurvivalBlocks(tmp_path, TARGET)
