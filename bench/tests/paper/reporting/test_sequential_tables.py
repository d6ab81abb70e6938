"""The sequential grid beside CQRNN."""

import math

from benchmark_rows import LABELS, cell, frame, texts
from censquant_bench.paper.reporting import sequential_tables
from censquant_bench.paper.reporting._sequential_tables import times

# Two-sided 95 % quantiles of Student's t, from a printed table.
T_1, T_2 = 12.7062, 4.3027


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
    assert table.notes[0].startswith("Pairs of runs per dataset: 2. ")
    assert table.breaks == {1}


def test_one_slow_run_does_not_decide_the_ratio():
    fast, slow = sequential(dataset="norm_linear")
    rows = frame(
        cell({"tqmse": [0.1, 0.2, 0.3], "fit_seconds": [1.0, 1.0, 90.0]}, **fast),
        cell({"tqmse": [2.1, 2.4, 2.2, 2.0], "fit_seconds": [5.0, 5.0, 5.0, 700.0]}, **slow),
    )
    assert texts(sequential_tables(rows, LABELS)[0])[0][2] == "5.0×"


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
    assert means.notes == ("One run per cell, so there is no standard error.",)
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
