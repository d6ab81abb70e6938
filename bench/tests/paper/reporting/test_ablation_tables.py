"""The ablations: grid size, y*, crossing, interpolation, partial and full steps."""

import math
import re

import pytest

from benchmark_rows import LABELS, cell, frame, texts
from censquant_bench.paper.reporting import (
    grid_tables,
    partial_full_tables,
    variants_tables,
    ystar_tables,
)
from censquant_bench.paper.reporting._ablation_tables import arms_of
from censquant_bench.reporting import Labels, fine

# Two-sided 95 % quantile of Student's t with one degree of freedom, from a printed table.
T_1 = 12.7062


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
    (table,) = grid_tables(rows, LABELS)
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
    (table,) = ystar_tables(rows, LABELS)
    # 0.011 / hypot(0.010, 0.0005) = 1.1.
    assert texts(table) == [
        ["Norm light", "here", "0.090 ± 0.010", "0.300", "–"],
        ["Norm light", "paper", "0.079 (+1.1)", "–", "0.081"],
        ["mine", "here", "–", "–", "5.000"],
    ]
    assert "in standard errors of ours alone" in table.notes[1]


def test_the_ystar_table_of_strange_data_says_nothing_of_the_paper():
    rows = frame(cell({"tqmse": [5.0]}, suite="ystar", dataset="mine", variant="100"))
    assert ystar_tables(rows, LABELS)[0].notes == (
        "One run per cell, so there is no standard error.",
    )


def test_a_variant_without_a_factor_is_refused():
    sentence = (
        "variant must hold the factor of y*, as in 'c=1.2', got 'big'; "
        "pass rows of the suite ystar."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        ystar_tables(frame(cell({"tqmse": [5.0]}, variant="big")), LABELS)


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
    assert texts(variants_tables(rows, LABELS, "Crossing")[0]) == [
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
    lines = texts(variants_tables(rows, LABELS, "Interpolation")[0])
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
    assert [line[1:] for line in texts(partial_full_tables(rows, LABELS)[0])] == [
        [
            *("CQRNN, partial", "15.000 ± 5.000", "12.000 ± 4.000", "9.000 ± 3.000"),
            *("1.500 ± 0.500", "4.000 ± 1.000"),
        ],
        ["CQRNN, full", "–", "–", "–", "–", "–"],
    ]


ABLATIONS = {
    "grid": grid_tables,
    "ystar": ystar_tables,
    "variants": lambda rows, labels: variants_tables(rows, labels, "x"),
    "partial_full": partial_full_tables,
}


@pytest.mark.parametrize("name", list(ABLATIONS))
def test_failures_only_give_a_table_that_says_so(name):
    (table,) = ABLATIONS[name](frame(cell({"tqmse": [math.nan], "error": ["boom"]})), LABELS)
    assert table.rows == ()
    assert table.notes[0] == "No run succeeded."


def test_variants_are_in_the_order_of_their_numbers():
    rows = frame(*(cell({"tqmse": [0.1, 0.2]}, variant=f"full, {n} epochs") for n in (20, 5, 1)))
    names = [name for name, _ in arms_of(rows, LABELS)]
    assert [name.rpartition("full, ")[2] for name in names] == ["1 epochs", "5 epochs", "20 epochs"]
