import math
import re

import pandas as pd
import pytest
from benchmark_rows import LABELS, cell, frame, texts
from numpy.testing import assert_allclose

from censquant.benchmark.reporting._peers_table import own_data_tables, peers_tables
from censquant.benchmark.reporting._sequential_table import (
    PairedDifference,
    paired_difference,
    sequential_tables,
    times,
)
from censquant.benchmark.reporting._suite_tables import (
    arms_of,
    grid_table,
    partial_full_table,
    variants_table,
    ystar_table,
)
from censquant.benchmark.reporting._summary import Labels, fine

# Two-sided 95 % quantiles of Student's t, from a printed table.
T_1, T_2, T_3 = 12.7062, 4.3027, 3.1824


def series(*values):
    return pd.Series(values, index=range(len(values)), dtype=float)


def test_the_interval_is_the_t_interval_of_the_paired_differences():
    # Differences 1, 2, 3, 2: mean 2, variance 2 / 3.
    difference = paired_difference(series(1, 1, 1, 1), series(2, 3, 4, 3))
    assert (difference.mean, difference.n_pairs) == (2.0, 4)
    assert_allclose(difference.half_width, T_3 * math.sqrt(2 / 3 / 4), rtol=1e-4)


def test_what_is_common_to_a_pair_does_not_widen_the_interval():
    apart = paired_difference(series(1, 100, 1000), series(2, 101, 1001))
    assert (apart.mean, apart.half_width) == (1.0, 0.0)


def test_only_seeds_that_both_have_are_paired():
    first = pd.Series([1.0, 2.0, 3.0], index=[1, 2, 3])
    second = pd.Series([9.0, 4.0, math.nan], index=[7, 2, 3])
    difference = paired_difference(first, second)
    assert (difference.mean, difference.n_pairs) == (2.0, 1)
    assert math.isnan(difference.half_width)


def test_no_pair_has_no_difference():
    difference = paired_difference(series(1.0), pd.Series([1.0], index=[5]))
    assert (difference.n_pairs, difference.better("tqmse")) == (0, "unknown")
    assert str(difference) == "–"


def test_an_infinite_score_has_no_interval():
    difference = paired_difference(series(1, 1), series(2, math.inf))
    assert difference.mean == math.inf
    assert math.isnan(difference.half_width)


@pytest.mark.parametrize(
    ("mean", "metric", "better"),
    [
        (1.0, "tqmse", "first"),
        (-1.0, "tqmse", "second"),
        (1.0, "cindex", "second"),
        (-1.0, "cindex", "first"),
        (0.5, "tqmse", "neither"),
        (0.4, "cindex", "neither"),
    ],
)
def test_the_better_one_follows_the_direction_of_the_metric(mean, metric, better):
    assert PairedDifference(mean, 0.5, 10).better(metric) == better


def sequential(**extra):
    fast = {"suite": "sequential", "n_levels": 9, **extra}
    slow = {**fast, "method": "sequential_grid", "n_parameters": 8300}
    return fast, slow


def test_the_sequential_table_has_ratios_of_medians_and_the_papers_beside_them():
    fast, slow = sequential(dataset="norm_linear")
    rows = frame(
        cell({"tqmse": [0.1, 0.2], "fit_seconds": [0.1, 0.3], "predict_seconds": [1, 1]}, **fast),
        cell({"tqmse": [2.1, 2.4], "fit_seconds": [2.0, 4.0], "predict_seconds": [8, 10]}, **slow),
    )
    (table,) = sequential_tables(rows, LABELS)
    # Differences 2.0 and 2.2: standard error 0.1; the paper's is 0.245 / 1.972, of 200 runs.
    assert texts(table)[0] == [
        *("Norm linear", "9", "15.0×", "14.7×", "9.0×", "11.2×", "8.3×", "8.3×"),
        *(f"2.100 ± {0.1 * T_1:.3f}", "2.189 ± 0.245 (−0.6)", "CQRNN"),
    ]
    assert any(note.startswith("In brackets: ours minus the paper's") for note in table.notes)
    assert [row[0] + row[-1] for row in texts(table)[1:]] == [
        "Total: CQRNN better1/1",
        "Total: Sequential grid better0/1",
        "Total: no difference0/1",
    ]
    assert table.notes[0].startswith("Pairs of runs a dataset: 2. ")
    assert table.breaks == {1}


def test_one_slow_run_and_the_network_of_follow_up_do_not_decide_the_ratio():
    fast, slow = sequential(dataset="norm_linear", follow_up_seconds=0.5)
    rows = frame(
        cell({"tqmse": [0.1, 0.2, 0.3], "fit_seconds": [1.0, 1.0, 90.0]}, **fast),
        cell({"tqmse": [2.1, 2.4, 2.2, 2.0], "fit_seconds": [5.0, 5.0, 5.0, 700.0]}, **slow),
    )
    assert texts(sequential_tables(rows, LABELS)[0])[0][2] == "9.0×"


def test_survival_sets_are_judged_by_order_and_calibration():
    fast, slow = sequential(dataset="whas")
    rows = frame(
        cell({"cindex": [0.8, 0.81, 0.82], "censdcal": [0.5, 0.6, 0.7]}, **fast),
        cell({"cindex": [0.7, 0.71, 0.72], "censdcal": [0.4, 0.6, 0.8]}, **slow),
    )
    table, means = sequential_tables(rows, LABELS)
    # CensDCal differences -0.1, 0, 0.1: standard error 0.1 / sqrt 3. What the paper prints here is
    # one standard error: -0.092 / hypot(0.001, 0.0005) and -4.317 / hypot(0.058, 0.745).
    assert texts(table)[0][8:] == [
        *("−0.100 ± 0.000", "−0.008 ± 0.001 (−82.3)", "CQRNN"),
        *(f"0.000 ± {0.1 / math.sqrt(3) * T_2:.3f}", "4.317 ± 0.745 (−5.8)", "no difference"),
    ]
    assert texts(table)[1][-4:] == ["1/1", "", "", "0/1"]
    assert texts(means) == [
        [
            *("WHAS", "CQRNN", "0.810 ± 0.006", "0.860 ± 0.002 (−8.2)"),
            *("0.600 ± 0.058", "0.721 ± 0.091 (−1.1)"),
        ],
        [
            *("WHAS", "Sequential grid", "0.710 ± 0.006", "0.852 ± 0.002 (−23.2)"),
            *("0.600 ± 0.115", "5.038 ± 0.740 (−5.9)"),
        ],
    ]
    assert means.notes == (
        "Mean ± one standard error over 3 runs.",
        "The paper's are of 50 runs. In brackets: ours minus the paper's in joint standard errors. "
        "The paper prints three decimals, so half a unit of the last one counts as part of its "
        "error.",
    )
    assert any("fit one paired standard error" in note for note in table.notes)


def test_kinds_of_data_have_tables_of_their_own_and_strange_data_no_paper():
    rows = []
    for dataset, scores in (("mine", {"cindex": [0.8]}), ("norm_linear", {"tqmse": [0.8]})):
        for common in sequential(dataset=dataset):
            rows.append(cell(scores, **common))
    synthetic, survival, means = sequential_tables(frame(*rows), LABELS)
    assert texts(synthetic)[0][0] == "Norm linear"
    assert texts(survival)[0] == [
        *("mine", "9", "1.0×", "–", "1.0×", "–", "8.3×", "–", "0.000", "–", "–"),
    ]
    assert texts(means)[0] == ["mine", "CQRNN", "0.800", "–"]
    assert means.notes == ("One run a cell, so there is no standard error.",)
    assert not any("paper" in note for note in survival.notes)
    # One pair has no standard error, so no distance either.
    assert texts(synthetic)[0][9] == "2.189 ± 0.245"
    assert "difference" not in texts(survival)[0]


def test_one_method_alone_gives_no_sequential_table():
    fast, slow = sequential()
    assert sequential_tables(frame(cell({"tqmse": [0.1]}, **fast)), LABELS) == []
    failed = frame(cell({"tqmse": [0.1]}, **fast), cell({"tqmse": [0.1], "error": ["x"]}, **slow))
    assert sequential_tables(failed, LABELS) == []


def test_data_with_none_of_the_scores_give_no_sequential_table():
    assert (
        sequential_tables(frame(*(cell({"uql": [1.0]}, **c) for c in sequential())), LABELS) == []
    )


def test_an_unknown_ratio_is_a_dash():
    assert (times(math.nan), times(2.04)) == ("–", "2.0×")


def grid_cell(values, n, m, **extra):
    variant = f"n={n},M={m}"
    return cell({"tqmse": values}, suite="grid", n_train=n, n_levels=m, variant=variant, **extra)


def test_the_grid_table_has_rows_by_n_and_columns_by_levels():
    rows = frame(
        grid_cell([0.2, 0.4], 800, 9),
        grid_cell([0.5, 0.7], 100, 9),
        grid_cell([0.4, 0.4], 100, 19),
        grid_cell([0.1], 100, 9, dataset="whas"),
    )
    table = grid_table(rows, LABELS)
    assert table.columns == ("Dataset", "n", "M = 9", "M = 19")
    assert texts(table) == [
        ["WHAS", "100", "0.100", "–"],
        ["GBSG", "100", "0.600 ± 0.100", "0.400 ± 0.000"],
        ["GBSG", "800", "0.300 ± 0.100", "–"],
    ]
    assert [[cell.bold for cell in row] for row in table.rows] == [
        [False] * 4,
        [False, False, False, True],
        [False] * 4,
    ]
    assert table.breaks == {1}
    assert table.notes == ("Mean ± one standard error over 1 to 2 runs.",)


def test_the_ystar_table_has_the_paper_below_ours():
    rows = frame(
        cell({"tqmse": [0.08, 0.1]}, suite="ystar", dataset="norm_light", variant="c=1.2"),
        cell({"tqmse": [0.3]}, suite="ystar", dataset="norm_light", variant="y_star=3.0"),
        cell({"tqmse": [5.0]}, suite="ystar", dataset="mine", variant="100"),
    )
    table = ystar_table(rows, LABELS)
    # 0.011 / hypot(0.010, 0.0005) = 1.1.
    assert texts(table) == [
        ["Norm light", "here", "0.090 ± 0.010", "0.300", "–"],
        ["Norm light", "paper", "0.079 (+1.1)", "–", "0.081"],
        ["mine", "here", "–", "–", "5.000"],
    ]
    assert "in standard errors of ours alone" in table.notes[1]


def test_the_ystar_table_of_strange_data_says_nothing_of_the_paper():
    rows = frame(cell({"tqmse": [5.0]}, suite="ystar", dataset="mine", variant="100"))
    assert ystar_table(rows, LABELS).notes == ("One run a cell, so there is no standard error.",)


def test_the_standard_error_of_a_difference_is_its_half_width_over_the_t_quantile():
    assert_allclose(PairedDifference(0.5, T_3, 4).standard_error, 1.0, rtol=1e-4)
    assert math.isnan(PairedDifference(0.5, math.nan, 1).standard_error)


def test_a_variant_without_a_factor_is_refused():
    sentence = (
        "variant must hold the factor of y*, as in 'c=1.2', got 'big'; "
        "pass rows of the suite ystar."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        ystar_table(frame(cell({"tqmse": [5.0]}, variant="big")), LABELS)


def test_variants_are_held_against_the_plain_one():
    rows = frame(
        cell({"tqmse": [1.0, 2.0], "crossing": [0.1, 0.3]}, dataset="norm_linear"),
        cell(
            {"tqmse": [0.5, 1.5], "crossing": [0.0, 0.0]},
            dataset="norm_linear",
            variant="increasing",
        ),
        cell({"tqmse": [3.0, 2.0]}, dataset="norm_linear", variant="penalty"),
    )
    assert texts(variants_table(rows, LABELS, "Crossing")) == [
        ["Norm linear", "CQRNN", "TQMSE", "1.500 ± 0.500", "–", "–", "20.0 %"],
        [
            *("Norm linear", "CQRNN, increasing", "TQMSE", "1.000 ± 0.500"),
            *("−0.500 ± 0.000", "CQRNN, increasing", "0.0 %"),
        ],
        [
            *("Norm linear", "CQRNN, penalty", "TQMSE", "2.500 ± 0.500"),
            *(f"1.000 ± {T_1:.3f}", "neither", "–"),
        ],
    ]


def test_survival_sets_have_a_row_for_each_of_their_two_metrics():
    rows = frame(
        *(cell({"cindex": [0.6], "censdcal": [0.2]}, method=m) for m in ("cqrnn", "cqrnn_other"))
    )
    lines = texts(variants_table(rows, LABELS, "Interpolation"))
    assert [line[1:3] for line in lines] == [
        ["CQRNN", "C-index"],
        ["cqrnn_other", "C-index"],
        ["CQRNN", "CensDCal"],
        ["cqrnn_other", "CensDCal"],
    ]
    assert lines[1][4:] == ["0.000", "unknown", "–"]


def test_the_plain_variant_comes_first_whatever_its_name():
    rows = fine(frame(*(cell({"tqmse": [1.0]}, variant=v) for v in ("full 10", "partial", "all"))))
    assert [name for name, _ in arms_of(rows, Labels())] == [
        "cqrnn, partial",
        "cqrnn, all",
        "cqrnn, full 10",
    ]


def test_traces_are_read_at_shares_of_the_epochs():
    long = [float(k) for k in range(10, 0, -1)]
    rows = frame(
        cell(
            {"trace_tqmse": [long, [2 * v for v in long]], "trace_loss": [[3.0], [5.0]]},
            suite="partial_full",
            variant="partial",
        ),
        cell(
            {"trace_tqmse": [math.nan], "trace_loss": [None]}, suite="partial_full", variant="full"
        ),
    )
    assert [line[1:] for line in texts(partial_full_table(rows, LABELS))] == [
        [
            *("CQRNN, partial", "15.000 ± 5.000", "12.000 ± 4.000", "9.000 ± 3.000"),
            *("1.500 ± 0.500", "4.000 ± 1.000"),
        ],
        ["CQRNN, full", "–", "–", "–", "–", "–"],
    ]


ABLATIONS = {
    "grid": grid_table,
    "ystar": ystar_table,
    "variants": lambda rows, labels: variants_table(rows, labels, "x"),
    "partial_full": partial_full_table,
}


@pytest.mark.parametrize("name", list(ABLATIONS))
def test_failures_only_give_a_table_that_says_so(name):
    table = ABLATIONS[name](frame(cell({"tqmse": [math.nan], "error": ["boom"]})), LABELS)
    assert table.rows == ()
    assert table.notes[0] == "No run succeeded."


def test_peers_have_scores_times_and_ranks():
    scores = {
        "cindex": [0.6, 0.7],
        "pinball": [0.4, 0.6],
        "a_calibration_p": [0.01, 0.5],
        "coverage": [0.7, 0.8],
        "nominal_coverage": [0.8, 0.8],
        "fit_seconds": [1.0, 2.0],
        "predict_seconds": [0.001, 0.003],
    }
    rows = frame(
        cell(scores, suite="peers"),
        cell({"cindex": [0.8, 0.8], "pinball": [0.6, 0.6]}, suite="peers", method="cox"),
        cell({"cindex": [0.5, 0.5]}, suite="peers", dataset="whas", split="grouped"),
    )
    table, ranks = peers_tables(rows, LABELS)
    assert table.columns == (
        *("Dataset", "Method", "C-index", "Pinball", "A-cal. refused", "Coverage (nominal)"),
        *("Fit s", "Predict s"),
    )
    assert texts(table) == [
        ["WHAS (grouped split)", "CQRNN", "0.500 ± 0.000", "–", "–", "–", "0.2", "0.01"],
        [
            *("GBSG", "CQRNN", "0.650 ± 0.050", "0.500 ± 0.100", "50 %", "0.750 (0.800)"),
            *("1.5", "0.002"),
        ],
        ["GBSG", "cox", "0.800 ± 0.000", "0.600 ± 0.000", "–", "–", "0.2", "0.01"],
    ]
    assert [[cell.text for cell in row if cell.bold] for row in table.rows] == [
        [],
        ["0.500 ± 0.100"],
        ["0.800 ± 0.000"],
    ]
    # CQRNN is first of one on WHAS and second of two on GBSG by the C-index.
    assert texts(ranks) == [["CQRNN", "2", "1.5", "1.0", "1.2"], ["cox", "1", "1.0", "2.0", "1.5"]]


def test_peers_without_times_or_calibration_have_dashes():
    rows = frame(cell({"cindex": [0.6]}, suite="peers"))
    rows = rows.drop(columns=["fit_seconds", "predict_seconds"])
    table, _ = peers_tables(rows, LABELS)
    assert texts(table)[0][3:] == ["–", "–", "–", "–"]


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


def test_peers_that_all_failed_have_no_rows():
    rows = frame(cell({"cindex": [math.nan], "error": ["boom"]}, suite="peers"))
    assert [table.rows for table in peers_tables(rows, LABELS)] == [(), ()]


def test_variants_are_in_the_order_of_their_numbers():
    rows = frame(*(cell({"tqmse": [0.1, 0.2]}, variant=f"full, {n} epochs") for n in (20, 5, 1)))
    names = [name for name, _ in arms_of(rows, LABELS)]
    assert [name.rpartition("full, ")[2] for name in names] == ["1 epochs", "5 epochs", "20 epochs"]
