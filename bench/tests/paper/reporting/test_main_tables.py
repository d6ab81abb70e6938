"""The main results in the paper's layout."""

import math

from benchmark_rows import LABELS, cell, frame, texts
from censquant_bench.paper import agreement, compare
from censquant_bench.paper.reporting import (
    agreement_tables,
    compact_table,
    main_table,
    own_data_tables,
    split_table,
)
from censquant_bench.reporting import Labels


def bold(table):
    return [[cell.text for cell in row if cell.bold] for row in table.rows]


def test_the_main_table_has_ours_then_the_papers_with_the_distance():
    table = main_table(frame(cell({"cindex": [0.690, 0.696]})), LABELS)
    assert table.columns == ("Dataset", "Method", "C-index", "paper")
    # Two runs: 0.010 / hypot(0.005 sqrt 5, 0.0005) = 0.89.
    assert texts(table) == [["GBSG", "CQRNN", "0.693 ± 0.003", "0.683 ± 0.005 (+0.9)"]]


def test_the_best_method_is_bold_in_the_direction_of_the_metric():
    rows = frame(
        cell({"cindex": [0.70, 0.70], "censdcal": [2.0, 2.0]}),
        cell({"cindex": [0.60, 0.60], "censdcal": [1.0, 1.0]}, method="other"),
    )
    assert bold(main_table(rows, Labels())) == [["0.700 ± 0.000"], ["1.000 ± 0.000"]]


def test_methods_that_print_the_same_are_both_best():
    rows = frame(cell({"cindex": [0.70001]}), cell({"cindex": [0.70002]}, method="other"))
    assert bold(main_table(rows, Labels())) == [["0.700"], ["0.700"]]


def test_a_single_method_is_not_the_best_of_one():
    assert bold(main_table(frame(cell({"cindex": [0.7]})), LABELS)) == [[]]


def test_rows_follow_the_labels_and_blocks_the_datasets():
    rows = frame(
        cell({"cindex": [0.7]}, dataset="mine", method="a"),
        cell({"cindex": [0.7]}, dataset="gbsg", method="sequential_grid"),
        cell({"cindex": [0.7]}, dataset="gbsg", method="cqrnn"),
        cell({"cindex": [0.7]}, dataset="whas", method="cqrnn"),
    )
    table = main_table(rows, LABELS)
    assert [row[:2] for row in texts(table)] == [
        ["WHAS", "CQRNN"],
        ["GBSG", "CQRNN"],
        ["GBSG", "Sequential grid"],
        ["mine", "a"],
    ]
    assert table.breaks == {1, 3}


def test_scores_and_papers_that_are_missing_are_dashes():
    rows = frame(
        cell({"cindex": [0.6, 0.7], "tqmse": [1.0, 2.0]}, dataset="norm_linear"),
        cell({"cindex": [0.6, 0.7]}, method="mine"),
    )
    line = texts(main_table(rows, LABELS))[1]
    assert line == ["GBSG", "mine", "–", "–", "0.650 ± 0.050", "–"]


def test_one_run_has_its_distance_from_the_papers_number():
    (line,) = texts(main_table(frame(cell({"cindex": [0.69]})), LABELS))
    assert line[2:] == ["0.690", "0.683 ± 0.005 (+0.4)"]


def test_notes_say_runs_failures_and_rounding():
    rows = frame(
        cell({"cindex": [0.5, 0.6, 0.7], "error": ["", "", "boom"]}),
        cell({"cindex": [0.5]}, dataset="whas"),
    )
    assert main_table(rows, LABELS).notes == (
        "Mean ± one standard error over 1 to 2 runs.",
        "In brackets: ours minus the paper's in its standard errors. The paper prints three "
        "decimals, so half a unit of the last one counts as part of its error.",
        "Runs that failed and are in no mean: GBSG CQRNN 1.",
    )


def test_one_run_has_no_standard_error_to_speak_of():
    rows = frame(cell({"cindex": [0.5]}), cell({"cindex": [0.5]}, dataset="whas"))
    assert main_table(rows, LABELS).notes[0] == "One run per cell, so there is no standard error."


def test_a_frame_of_failures_gives_a_table_that_says_so():
    table = main_table(frame(cell({"cindex": [math.nan], "error": ["boom"]})), LABELS)
    assert texts(table) == [["GBSG", "CQRNN", "–", "0.683 ± 0.005"]]
    assert table.notes[0] == "No run succeeded."


def test_a_user_without_the_papers_data_sees_no_paper():
    table = main_table(frame(cell({"cindex": [0.6, 0.7]}, dataset="mine")), LABELS)
    assert table.columns == ("Dataset", "Method", "C-index")
    assert len(table.notes) == 1


def test_agreement_is_shown_by_method_and_cells_outside_are_listed_with_their_cause(monkeypatch):
    rows = frame(
        cell({"cindex": [0.690, 0.696], "censdcal": [5.0, 5.002]}),
        cell({"cindex": [0.9, 0.902]}, method="lognorm_as_run"),
    )
    near = agreement(compare(rows, LABELS))
    known = {("gbsg", "cqrnn", "censdcal"): "drawn far away"}
    monkeypatch.setattr(
        "censquant_bench.paper.reporting._main_tables.difference_causes", lambda: known
    )
    shares, outside = agreement_tables(near, LABELS)
    assert shares.title == "Within 3 standard errors of the paper"
    assert outside.title == "Outside 3 standard errors of the paper"
    assert texts(shares) == [
        ["CQRNN", "1 of 2", "50.0 %", "1 of 2", "50.0 %"],
        ["LogNorm MLE (as run)", "0 of 1", "0.0 %", "0 of 1", "0.0 %"],
        ["All methods", "1 of 3", "33.3 %", "1 of 3", "33.3 %"],
    ]
    assert [row[:4] for row in texts(outside)] == [
        ["GBSG", "CQRNN", "CensDCal", "drawn far away"],
        ["GBSG", "LogNorm MLE (as run)", "C-index", "not known"],
    ]
    # (5.001 - 0.339) / hypot(0.033 sqrt 5, 0.0005) and / hypot(0.001, 0.033, 0.0005).
    assert texts(outside)[0][4:] == ["5.001 ± 0.001", "0.339 ± 0.033", "+63.2", "+141.2", "2"]


def test_a_wide_spread_of_our_own_runs_excuses_no_distance_from_the_paper():
    # Norm linear CQRNN: TQMSE 0.088 with standard error 0.009; ours is 0.150 ± 0.050.
    near = agreement(compare(frame(cell({"tqmse": [0.1, 0.2]}, dataset="norm_linear")), LABELS))
    shares, outside = agreement_tables(near, LABELS)
    assert texts(shares)[0] == ["CQRNN", "0 of 1", "0.0 %", "1 of 1", "100.0 %"]
    assert texts(outside)[0][6:] == ["+3.1", "+1.2", "2"]


def test_one_run_is_judged_by_the_papers_errors_alone():
    near = agreement(compare(frame(cell({"cindex": [0.69]})), LABELS))
    (table,) = agreement_tables(near, LABELS)
    assert texts(table)[-1] == ["All methods", "1 of 1", "100.0 %", "0 of 0", "–"]
    assert len(table.notes) == 2


def test_cells_of_failed_runs_are_counted_and_not_judged():
    failed = frame(cell({"cindex": [math.nan], "error": ["boom"]}))
    near = agreement(compare(failed, LABELS))
    (table,) = agreement_tables(near, LABELS)
    assert texts(table) == [["All methods", "0 of 0", "–", "0 of 0", "–"]]
    assert table.notes[2] == "Not judged, because every run failed: 1 cells."


def test_the_compact_table_has_one_row_per_dataset():
    rows = frame(
        cell({"cindex": [0.690, 0.696], "censdcal": [0.3, 0.4]}),
        cell({"tqmse": [0.08, 0.1], "cindex": [0.6, 0.7]}, dataset="norm_linear"),
        cell({"tqmse": [9.0, 9.0]}, dataset="norm_linear", method="sequential_grid"),
    )
    assert texts(compact_table(rows, LABELS)) == [
        ["Norm linear", "TQMSE", "0.090 ± 0.010", "0.088 ± 0.009", "+0.1"],
        [
            "GBSG",
            "C-index, CensDCal",
            "0.693 ± 0.003, 0.350 ± 0.050",
            "0.683 ± 0.005, 0.339 ± 0.033",
            "+0.9, +0.1",
        ],
    ]


def test_the_compact_table_of_strange_data_has_no_rows():
    rows = frame(cell({"cindex": [0.6, 0.7]}, dataset="mine"))
    assert compact_table(rows, LABELS).rows == ()


def test_both_splits_stand_side_by_side_with_the_change():
    rows = frame(
        cell({"cindex": [0.84, 0.86]}, dataset="whas"),
        cell({"cindex": [0.74, 0.76]}, dataset="whas", split="grouped"),
        cell({"cindex": [0.6, 0.7]}),
        cell({"cindex": [0.6, 0.7]}, dataset="mine"),
        cell({"cindex": [0.5, 0.7]}, dataset="mine", split="grouped"),
    )
    table = split_table(rows, LABELS)
    # hypot(0.01, 0.01) = 0.014 and hypot(0.05, 0.1) = 0.112.
    assert texts(table) == [
        ["WHAS", "CQRNN", "C-index", "0.850 ± 0.010", "0.750 ± 0.010", "−0.100 ± 0.014"],
        ["mine", "CQRNN", "C-index", "0.650 ± 0.050", "0.600 ± 0.100", "−0.050 ± 0.112"],
    ]
    assert table.breaks == {1}


def test_every_row_has_as_many_cells_as_there_are_columns():
    rows = frame(
        cell({"cindex": [0.690, 0.696], "censdcal": [0.3, 0.4], "uql": [math.nan] * 2}),
        cell({"uql": [0.3, 0.4]}, dataset="housing"),
    )
    for table in (main_table(rows, LABELS), compact_table(rows, LABELS)):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def own(dataset, **scores):
    return cell({"cindex": [0.6, 0.7], **scores}, dataset=dataset)


def test_own_data_are_judged_by_scores_that_allow_for_censoring():
    known = own("gbsg", pinball=[0.4, 0.6])
    (table,) = own_data_tables(frame(known, own("mine", pinball=[0.4, 0.6])), LABELS)
    assert table.title == "Scores that allow for censoring"
    assert [row[:4] for row in texts(table)] == [
        ["mine", "CQRNN", "0.650 ± 0.050", "0.500 ± 0.100"]
    ]
    assert table.notes[0].startswith("Mean ± one standard error over 2 runs. Bold: ")
    assert own_data_tables(frame(known), LABELS) == []


def test_several_own_sets_have_ranks_too():
    rows = frame(own("mine", crps=[0.4, 0.6]), own("yours", crps=[0.4, 0.6]))
    assert [table.title for table in own_data_tables(rows, LABELS)] == [
        "Scores that allow for censoring",
        "Mean ranks",
    ]


def test_own_data_without_such_scores_have_no_table_of_them():
    assert own_data_tables(frame(own("mine")), LABELS) == []
    assert own_data_tables(frame(own("mine", pinball=[math.nan] * 2)), LABELS) == []
