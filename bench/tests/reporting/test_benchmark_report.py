import math
import re

import numpy as np
import pandas as pd
import pytest

from benchmark_rows import LABELS, cell, frame
from censquant._files import write_whole
from censquant_bench import DATASETS, SUITES, Suite
from censquant_bench.paper._published import difference_causes
from censquant_bench.reporting import Labels, write_report

MINE = Suite("mine", "One of a user's own.", ("norm_linear",), ("cqrnn", "sequential_grid"))

HEAD = {
    "command": "censquant bench --suite main",
    "versions": {"censquant": "0.1.0", "numpy": "2.0"},
    "date": "2026-01-02",
}


def rows_of(suite):
    common = {"suite": suite, "dataset": "norm_linear"}
    if suite == "partial_full":
        traces = {"trace_loss": [[2.0, 1.0]] * 2, "trace_tqmse": [[3.0, 2.0], None]}
        return frame(cell(traces, variant="partial", **common))
    if suite == "ystar":
        return frame(cell({"tqmse": [0.1, 0.2]}, variant="c=1.2", **common))
    return frame(
        cell({"tqmse": [0.1, 0.2], "cindex": [0.6, 0.7], "crossing": [0.1, 0.2]}, **common),
        cell({"tqmse": [0.3, 0.5], "cindex": [0.5, 0.7]}, method="sequential_grid", **common),
    )


FIGURES = {
    "main": ["main"],
    "mine": [],
    "sequential": [],
    "grid": ["grid"],
    "ystar": ["ystar"],
    "crossing": ["crossing"],
    "interpolation": ["interpolation"],
    "partial_full": ["partial_full"],
    "peers": [],
}


@pytest.mark.parametrize("suite", list(FIGURES))
def test_every_suite_writes_rows_tables_time_and_its_figures(suite, tmp_path):
    one = SUITES.get(suite, MINE)
    paths = write_report(rows_of(suite), one, tmp_path / "new", LABELS, **HEAD)
    figures = [f"{name}.{kind}" for name in FIGURES[suite] for kind in ("png", "svg")]
    assert [path.name for path in paths] == [
        *("results.parquet", "table.md", "table.tex", "speed.md"),
        *figures,
    ]
    assert sorted(paths) == sorted((tmp_path / "new").iterdir())
    head = "`censquant bench --suite main` (2026-01-02; censquant 0.1.0, numpy 2.0)"
    for name in ("table.md", "speed.md"):
        assert (tmp_path / "new" / name).read_text(encoding="utf-8").startswith(head + "\n")
    latex = (tmp_path / "new" / "table.tex").read_text(encoding="utf-8")
    assert latex.splitlines()[1] == "% " + head.replace("`", "")
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") > 0


def test_the_same_rows_in_any_order_give_the_same_bytes(tmp_path):
    rows = rows_of("main")
    first, second = (
        {
            p.name: p.read_bytes()
            for p in write_report(part, SUITES["main"], tmp_path / name, LABELS, **HEAD)
        }
        for part, name in ((rows, "a"), (rows.iloc[::-1], "b"))
    )
    assert first == second


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_traces_survive_in_the_parquet_file(kind, tmp_path):
    rows = rows_of("partial_full")
    rows["trace_tqmse"] = [kind([3.0, 2.0]), math.nan]
    path, *_ = write_report(rows, SUITES["partial_full"], tmp_path, LABELS, **HEAD)
    back = pd.read_parquet(path)
    assert list(back["trace_tqmse"][0]) == [3.0, 2.0]
    assert back["trace_tqmse"][1] is None
    assert list(back["trace_loss"][1]) == [2.0, 1.0]


def test_rows_of_other_suites_are_left_out(tmp_path):
    both = pd.concat([rows_of("main"), rows_of("peers")])
    path, *_ = write_report(both, SUITES["main"], tmp_path, LABELS, **HEAD)
    assert set(pd.read_parquet(path)["suite"]) == {"main"}


def test_a_suite_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^suite must be one of 'main', got 'grid'\.$"):
        write_report(rows_of("main"), SUITES["grid"], tmp_path, LABELS, **HEAD)
    assert not list(tmp_path.iterdir())


def test_an_empty_frame_is_refused(tmp_path):
    sentence = "frame must have at least one run, got no rows; run the suite first."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        write_report(pd.DataFrame(), SUITES["main"], tmp_path, LABELS, **HEAD)


def test_tables_without_rows_are_left_out_and_failures_listed():
    rows = frame(cell({"cindex": [0.6, math.nan], "error": ["", "NaN loss"]}, dataset="mine"))
    tables = SUITES["main"].report_tables(rows, LABELS)
    assert [table.title for table in tables] == ["Full results", "Runs that failed"]


def test_own_data_in_the_main_suite_have_the_scores_that_allow_for_censoring():
    scores = {"cindex": [0.6, 0.7], "pinball": [0.2, 0.3], "coverage": [0.8, 0.8]}
    rows = frame(cell(scores, dataset="mine"), cell(scores))
    tables = {table.title: table for table in SUITES["main"].report_tables(rows, LABELS)}
    assert list(tables)[1:3] == ["Full results", "Scores that allow for censoring"]
    assert {row[0].text for row in tables["Scores that allow for censoring"].rows} == {"mine"}


def test_the_known_cause_of_a_far_cell_is_in_the_table():
    place, cause = next(item for item in difference_causes().items() if item[0][2] == "tqmse")
    dataset, method, _ = place
    labels = Labels({dataset: DATASETS[dataset].title})
    rows = frame(cell({"tqmse": [1e9, 1e9]}, dataset=dataset, method=method))
    tables = SUITES["main"].report_tables(rows, labels)
    assert tables[-1].title == "Outside 3 standard errors of the paper"
    assert tables[-1].rows[0][3].text == cause


def test_a_file_that_cannot_be_finished_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "table.md"
    write_whole(path, b"old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match=r"^full$"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
