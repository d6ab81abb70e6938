import math
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from benchmark_rows import LABELS, cell, frame
from censquant_bench.paper.reporting import main_table
from censquant_bench.reporting import (
    Labels,
    fine,
    first_split,
    mean_and_error,
    random_split,
    summarize,
    tidy,
)


def test_mean_and_standard_error_are_those_of_the_formula():
    mean, error, count = mean_and_error([1.0, 2.0, 6.0])
    # Deviations -2, -1, 3: sum of squares 14, variance 7 with ddof 1.
    assert (mean, count) == (3.0, 3)
    assert_allclose(error, math.sqrt(7 / 3))


def test_one_run_has_no_standard_error():
    mean, error, count = mean_and_error([4.0])
    assert (mean, count) == (4.0, 1)
    assert math.isnan(error)


def test_no_run_has_no_mean():
    mean, error, count = mean_and_error([math.nan])
    assert count == 0
    assert math.isnan(mean)
    assert math.isnan(error)


def test_an_infinite_score_is_not_hidden():
    mean, error, count = mean_and_error([1.0, math.inf])
    assert (mean, count) == (math.inf, 2)
    assert math.isnan(error)


def test_failed_runs_are_counted_and_in_no_mean():
    rows = cell({"cindex": [0.5, 0.7, 0.9], "error": ["", "", "NaN loss"]})
    (line,) = summarize(frame(rows)).to_dict("records")
    assert (line["n_runs"], line["n_failed"]) == (2, 1)
    assert_allclose((line["mean"], line["se"]), (0.6, 0.1))


def test_a_cell_with_failures_only_is_listed_with_nan():
    (line,) = summarize(frame(cell({"cindex": [math.nan], "error": ["boom"]}))).to_dict("records")
    assert (line["n_runs"], line["n_failed"]) == (0, 1)
    assert math.isnan(line["mean"])


def test_a_metric_that_a_dataset_has_not_is_left_out():
    rows = frame(
        cell({"cindex": [0.6, 0.7], "tqmse": [math.nan] * 2}),
        cell({"cindex": [0.6, 0.7], "tqmse": [1.0, 2.0]}, dataset="norm_linear"),
    )
    summary = summarize(rows)
    assert set(summary.loc[summary["dataset"] == "gbsg", "metric"]) == {"cindex"}
    assert set(summary.loc[summary["dataset"] == "norm_linear", "metric"]) == {"cindex", "tqmse"}


def test_splits_and_variants_are_cells_of_their_own():
    rows = frame(
        cell({"cindex": [0.8]}),
        cell({"cindex": [0.7]}, split="grouped"),
        cell({"cindex": [0.6]}, variant="penalty"),
    )
    assert sorted(summarize(rows)["mean"]) == [0.6, 0.7, 0.8]


def test_the_order_of_the_rows_does_not_change_a_digit():
    rng = np.random.default_rng(0)
    rows = frame(cell({"cindex": list(rng.random(50))}))
    pd.testing.assert_frame_equal(summarize(rows), summarize(rows.iloc[::-1]))


def test_missing_words_become_empty_ones():
    rows = tidy(frame(cell({"cindex": [0.5]}, variant=None)).drop(columns="error"))
    assert rows["variant"].tolist() == rows["error"].tolist() == [""]


def refusal(sentence):
    return pytest.raises(ValueError, match=f"^{re.escape(sentence)}$")


@pytest.mark.parametrize("empty", [pd.DataFrame(), frame(cell({"cindex": [0.5]})).iloc[:0]])
def test_an_empty_frame_says_what_to_do(empty):
    with refusal("frame must have at least one run, got no rows; run the suite first."):
        summarize(empty)


def test_a_missing_column_is_named():
    rows = frame(cell({"cindex": [0.5]})).drop(columns="seed")
    with refusal(
        "frame must have the columns suite, dataset, method, split, variant, seed, "
        "got none named 'seed'; pass the rows as the benchmark wrote them."
    ):
        tidy(rows)


def test_a_run_that_is_there_twice_is_named():
    rows = cell({"cindex": [0.5]}, variant="penalty")
    with refusal(
        "frame must have every run once, got main, gbsg, cqrnn, random, penalty, 1 twice; "
        "drop one of the rows."
    ):
        tidy(frame(rows, rows))


def test_two_suites_are_not_pooled():
    rows = frame(cell({"cindex": [0.5]}), cell({"cindex": [0.5]}, suite="peers"))
    with refusal("frame must hold one suite, got main, peers; select one of them."):
        tidy(rows)


def test_fine_and_random_rows_are_selected():
    rows = frame(
        cell({"cindex": [0.5, 0.6], "error": ["", "boom"]}),
        cell({"cindex": [0.7]}, split="grouped"),
    )
    assert sorted(fine(rows)["cindex"]) == [0.5, 0.7]
    assert random_split(rows)["cindex"].tolist() == [0.5]


def test_unknown_names_stand_for_themselves_and_come_last():
    labels = Labels({"b": "B"}, {"n": "N"})
    assert (labels.dataset("b"), labels.dataset("x")) == ("B", "x")
    assert (labels.method("n"), labels.method("x")) == ("N", "x")
    assert labels.ordered_datasets(["x", "a", "b", "a"]) == ["b", "a", "x"]
    assert labels.ordered_methods(["x", "n"]) == ["n", "x"]


def test_huge_scores_have_a_mean_and_an_error():
    mean, error, _ = mean_and_error([1e300, 3e300])
    assert (mean, error) == (pytest.approx(2e300), pytest.approx(1e300))


def test_sets_that_are_only_grouped_are_shown_by_that_split():
    rows = frame(
        cell({"cindex": [0.6, 0.7]}, dataset="mine", split="grouped"),
        cell({"cindex": [0.8, 0.9]}, dataset="whas", split="grouped"),
        cell({"cindex": [0.8, 0.9]}, dataset="whas", split="random"),
    )
    shown = first_split(tidy(rows))
    assert sorted(set(zip(shown["dataset"], shown["split"], strict=True))) == [
        ("mine", "grouped"),
        ("whas", "random"),
    ]
    assert {row[0].text for row in main_table(rows, LABELS).rows} == {"mine", "WHAS"}
