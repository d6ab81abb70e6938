"""Tables of the benchmark in terminals of several widths."""

import io

import pytest
from rich.console import Console

from censquant.cli._tables import print_table
from censquant_bench.reporting import Table, TableCell

SCORES = ("TQMSE", "UQL", "UnDCal", "C-index", "CensDCal")


def cells(*texts):
    return tuple(TableCell(text) for text in texts)


def main_table():
    columns = ["Dataset", "Method"]
    for name in SCORES:
        columns += [name, "paper"]
    rows = [
        cells("Norm linear", method, *(f"{k}.683 ± 0.00{i} (+1.{i})" for i in range(10)))
        for k, method in enumerate(("CQRNN", "DeepQuantReg, event curve (as run)"))
    ]
    rows.append(cells("GBSG", "CQRNN", *["–"] * 8, "12.345 ± 0.678", "–"))
    return Table("Full results", tuple(columns), tuple(rows), n_labels=2, breaks=frozenset({2}))


def printed(table, width):
    file = io.StringIO()
    print_table(Console(file=file, width=width, color_system=None), table)
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_number_is_cut_and_no_line_too_long(width):
    table = main_table()
    text = printed(table, width)
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= width
    for row in table.rows:
        for cell in row[2:]:
            assert cell.text in text


def test_where_there_is_room_the_table_is_whole():
    text = printed(main_table(), 320)
    assert text.count("Full results") == 1
    heading = text.splitlines()[1]
    assert [word for word in heading.split() if word != "paper"] == ["Dataset", "Method", *SCORES]


def test_parts_repeat_the_labels_and_keep_the_papers_numbers_beside_ours():
    parts = printed(main_table(), 80).split("Full results (continued)")
    assert len(parts) == len(SCORES)
    for part, name in zip(parts, SCORES, strict=True):
        heading = next(line.split() for line in part.splitlines() if "Dataset" in line)
        assert heading == ["Dataset", "Method", name, "paper"]


def test_rows_with_nothing_in_a_part_are_left_out_of_it():
    parts = printed(main_table(), 80).split("Full results (continued)")
    assert ["GBSG" in part for part in parts] == [False] * 4 + [True]


def test_several_numbers_of_a_cell_stand_below_each_other():
    row = cells("GBSG", "C-index, CensDCal", "0.684 ± 0.005, 0.358 ± 0.030")
    table = Table("Beside", ("Dataset", "Metric", "CQRNN"), (row,), n_labels=2)
    assert "0.684 ± 0.005, 0.358 ± 0.030" in printed(table, 80)
    lines = [line.split("  ")[-1].strip() for line in printed(table, 50).splitlines()[-2:]]
    assert lines == ["0.684 ± 0.005,", "0.358 ± 0.030"]


def test_long_words_are_broken_and_not_cut():
    error = "ValueError: " + "x" * 150 + " [red]"
    columns = ("Dataset", "Method", "Split", "Variant", "Seeds", "Error")
    table = Table("Failed", columns, (cells("a", "m", "random", "", "1, 2", error),), n_labels=6)
    text = printed(table, 80)
    assert text.count("x") == 150
    assert "[red]" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_table_of_no_rows_has_its_headings():
    assert "Dataset" in printed(Table("None", ("Dataset", "A" * 25, "B" * 25), ()), 40)


def test_the_best_is_bold_in_a_terminal():
    table = Table(
        "T", ("a", "b"), ((TableCell("x"), TableCell("0.6", bold=True)), cells("y", "0.7"))
    )
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system="standard")
    print_table(console, table)
    assert "\x1b[1m0.6\x1b[0m" in file.getvalue()
    assert "\x1b[1m0.7" not in file.getvalue()
