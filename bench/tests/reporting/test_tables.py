import math

import pytest

from benchmark_rows import LABELS, cell, frame, texts
from censquant_bench.reporting import (
    Table,
    TableCell,
    escape_markdown,
    failed_table,
    number,
    plus_minus,
    signed,
    to_latex,
    to_markdown,
)
from censquant_bench.reporting._tables import escape_latex


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.000"), (-0.25, "−0.250"), (-0.0004, "0.000"), (math.nan, "–"), (math.inf, "inf")],
)
def test_numbers_have_three_decimals_and_a_true_minus(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.25, "+1.2"), (-1.25, "−1.2"), (0.01, "0.0"), (math.nan, "–")]
)
def test_distances_carry_their_sign(value, text):
    assert signed(value) == text


def test_an_unknown_error_is_left_out():
    assert plus_minus(1.0, math.nan) == "1.000"
    assert plus_minus(1.0, 0.5) == "1.000 ± 0.500"


def test_latex_escapes_every_special_sign():
    assert escape_latex(r"a_b & 5% $#{}~^\ [x] <|> ± × − ≤ –") == (
        r"a\_b \& 5\% \$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} {[}x{]} "
        r"$<$\textbar{}$>$ $\pm$ $\times$ $-$ $\leq$ --"
    )


def test_markdown_escapes_what_would_break_a_table():
    assert escape_markdown("a|b*c_d\n`e`") == r"a\|b\*c\_d \`e\`"


TABLE = Table(
    "A & B",
    ("set_name", "C"),
    ((TableCell("x_1"), TableCell("1 ± 2", bold=True)), (TableCell("y"), TableCell("3"))),
    ("Note 5 %.",),
    breaks=frozenset({1}),
)


def test_markdown_has_rules_bold_and_notes():
    assert to_markdown([TABLE], "Head `x`.") == (
        "Head `x`.\n\n## A & B\n\n| set\\_name | C |\n|:--|--:|\n"
        "| x\\_1 | **1 ± 2** |\n| y | 3 |\n\nNote 5 %.\n"
    )


def test_latex_has_booktabs_rules_bold_and_notes():
    assert to_latex([TABLE], "Head") == "\n".join(
        [
            r"% Needs \usepackage{booktabs,graphicx}.",
            "% Head",
            "",
            r"\begin{table}[htbp]",
            r"\centering",
            r"\caption{A \& B}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            r"\begin{tabular}{lr}",
            r"\toprule",
            r"set\_name & C \\",
            r"\midrule",
            r"x\_1 & \textbf{1 $\pm$ 2} \\",
            r"\midrule",
            r"y & 3 \\",
            r"\bottomrule",
            r"\end{tabular}}",
            r"\par\smallskip{\footnotesize Note 5 \%.}",
            r"\end{table}",
            "",
        ]
    )


def test_latex_cuts_a_long_table_before_a_block_and_repeats_its_head():
    rows = tuple((TableCell(f"r{i}"), TableCell(str(i))) for i in range(95))
    table = Table("Long", ("name", "C"), rows, ("Last.",), breaks=frozenset({35, 70}))
    pages = to_latex([table, TABLE]).split(r"\begin{table}")[1:]
    shown = [[f"r{i}" for i in range(95) if f"r{i} &" in page] for page in pages]
    assert [(part[0], part[-1]) for part in shown[:3]] == [
        ("r0", "r34"),
        ("r35", "r69"),
        ("r70", "r94"),
    ]
    assert [name for part in shown for name in part] == [f"r{i}" for i in range(95)]
    assert [page.count(r"\midrule") for page in pages] == [1, 1, 1, 2]
    assert [page.count(r"\addtocounter{table}{-1}") for page in pages] == [0, 1, 1, 0]
    assert [r"\caption{Long (continued)}" in page for page in pages] == [False, True, True, False]
    assert ["Last." in page for page in pages] == [False, False, True, False]


def test_latex_cuts_a_long_block_where_the_page_ends():
    rows = tuple((TableCell(f"r{i}"), TableCell(str(i))) for i in range(81))
    text = to_latex([Table("Long", ("name", "C"), rows)])
    assert [page.count(r" \\") - 1 for page in text.split(r"\begin{table}")[1:]] == [40, 40, 1]


def test_latex_says_so_where_names_stop_pdflatex():
    named = Table("Means", ("set", "C"), ((TableCell("β患β"), TableCell("0.6 ± 0.1 ×")),))
    assert to_latex([named], "Head").splitlines()[:4] == [
        r"% Needs \usepackage{booktabs,graphicx}.",
        "% Head",
        "% Needs XeLaTeX or LuaLaTeX, and a font that has β 患: pdfLaTeX stops at such letters.",
        "",
    ]
    latin = Table("Means", ("set", "C"), ((TableCell("Zürich, Łódź"), TableCell("0.6 ± 0.1 ×")),))
    assert "XeLaTeX" not in to_latex([latin], "Head")


def test_failed_runs_are_listed_with_seeds_and_errors():
    rows = frame(
        cell({"error": ["", "NaN loss", "NaN loss", "disk full"]}),
        cell({"error": ["boom"]}, dataset="whas", split="grouped"),
    )
    assert texts(failed_table(rows, LABELS)) == [
        ["WHAS", "CQRNN", "grouped", "", "1", "boom"],
        ["GBSG", "CQRNN", "random", "", "2, 3", "NaN loss"],
        ["GBSG", "CQRNN", "random", "", "4", "disk full"],
    ]


def test_no_failure_is_an_empty_table():
    assert failed_table(frame(cell({"cindex": [0.5]})), LABELS).rows == ()
