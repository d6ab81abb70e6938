import math

import pytest

from benchmark_rows import LABELS, cell, frame, texts
from censquant_bench.reporting import speed_table, training_time


def test_the_ratio_is_of_plain_steps_over_shared_seconds():
    rows = frame(
        cell(
            {
                "fit_seconds": [0.2, 0.4],
                "n_steps": [400, 800],
                "plain_step_seconds": [0.001, 0.002],
                "n_slots": [2, 4],
            }
        )
    )
    time = training_time(rows)
    assert time.n_runs == 2
    assert time.n_steps == 1200
    # 0.2 / 2 + 0.4 / 4 here; 0.4 + 1.6 in a plain loop.
    assert time.seconds == pytest.approx(0.2)
    assert time.plain_seconds == pytest.approx(2.0)
    assert time.ratio == pytest.approx(10.0)


def test_failed_runs_take_no_time():
    rows = frame(cell({"fit_seconds": [0.2, 100.0], "error": ["", "boom"]}))
    assert training_time(rows).seconds == pytest.approx(0.1)


def test_the_ratio_leaves_out_runs_with_nothing_to_compare():
    rows = frame(cell({"fit_seconds": [0.2, 100.0], "plain_step_seconds": [0.001, math.nan]}))
    time = training_time(rows)
    assert time.seconds == pytest.approx(50.1)
    assert time.ratio == pytest.approx(4.0)


def test_the_table_has_one_row_per_method_and_one_for_all():
    rows = frame(
        cell({"fit_seconds": [0.2, 0.2]}, method="lognorm_as_run"),
        cell({"fit_seconds": [0.2], "n_steps": [800]}),
    )
    table = speed_table(rows, LABELS)
    assert texts(table) == [
        ["CQRNN", "1", "800", "0.1", "0.8", "8.0"],
        ["LogNorm MLE (as run)", "2", "800", "0.2", "0.8", "4.0"],
        ["All methods", "3", "1600", "0.3", "1.6", "5.3"],
    ]
    assert table.notes == (
        "3 runs trained in 0.3 s with 2 fits at a time; a plain torch loop on one core would have "
        "needed 1.6 s: 5.3 times as long.",
    )
    assert table.breaks == {2}


def test_the_verdict_is_of_the_runs_that_can_be_compared():
    rows = frame(
        cell({"fit_seconds": [0.2], "n_slots": [1]}),
        cell({"fit_seconds": [9.0], "n_steps": [math.nan]}, method="cox"),
    )
    table = speed_table(rows, LABELS)
    assert texts(table)[1] == ["cox", "1", "–", "4.5", "–", "–"]
    assert table.notes == (
        "1 run trained in 0.2 s with 1 fit at a time; a plain torch loop on one core would have "
        "needed 0.4 s: 2.0 times as long.",
        "1 run with no plain loop to compare left out.",
    )


def test_different_numbers_of_slots_are_said():
    note, *_ = speed_table(frame(cell({"n_slots": [1, 4, 2]})), LABELS).notes
    assert "with 1 to 4 fits at a time" in note


def test_without_torch_there_is_no_ratio():
    table = speed_table(frame(cell({"plain_step_seconds": [math.nan]})), LABELS)
    assert texts(table)[-1][-2:] == ["–", "–"]
    assert table.notes == ("No step of a plain torch loop was measured beside these runs.",)


def test_failures_only_are_said():
    table = speed_table(frame(cell({"error": ["boom"]})), LABELS)
    assert texts(table) == [["All methods", "0", "–", "0.0", "–", "–"]]
    assert table.notes == ("No run succeeded, so there is no training time to compare.",)
