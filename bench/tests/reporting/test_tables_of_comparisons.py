"""The parts of a comparison with published learners: bold cells, titles, the figure of ranks."""

import numpy as np
import pandas as pd
import pytest

from censquant_bench.comparisons._tools import PublishedMeans
from censquant_bench.reporting import Comparison, Labels, ranks_figure, render

SETS = [f"set{k}" for k in range(12)]


def made(**options):
    """Comparison with two learners on twelve sets: one is as good as the method, one far worse."""
    table = pd.DataFrame(
        [
            (learner, name, metric, value + 0.001 * place)
            for place, name in enumerate(SETS)
            for metric, scores in {"c": (0.7, 0.5), "isbs": (0.1, 0.3)}.items()
            for learner, value in zip(("good", "bad"), scores, strict=True)
        ],
        columns=["model", "dataset", "metric", "mean"],
    )
    settings = {"digits": {"isbs": 4}, "learners": {"good": "A good one"}, **options}
    return Comparison(
        {"cindex": "C", "isbs": "ISBS"},
        lambda: PublishedMeans(table, "", {"cindex": "c", "isbs": "isbs"}),
        {"bad": "Bad"},
        ("A note.", "Published by us."),
        "Not there.",
        **settings,
    )


def rows(cindex=0.6, isbs=0.2):
    wiggle = 0.2 * (np.arange(len(SETS)) % 2)
    common = {"suite": "mine", "split": "random", "variant": "", "method": "m", "seed": 1}
    frame = pd.DataFrame({"dataset": SETS, **common, "fit_seconds": 1.0})
    return frame.assign(cindex=cindex + wiggle, isbs=isbs - 0.75 * wiggle)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_tables_have_the_best_learner_the_reference_and_the_test():
    tables = {table.title: table for table in made().tables(rows(), Labels())}
    by_set = tables["C by data set"]
    assert by_set.columns == (
        "Dataset", "Method", "Runs", "C", "Rank", "Best published", "Bad", "Fit s",
    )  # fmt: skip
    assert texts(by_set)[0] == ["set0", "m", "1", "0.600", "2.0", "0.700 (good)", "0.500", "1"]
    assert [row[3].bold for row in by_set.rows[:2]] == [False, True]
    assert texts(tables["ISBS by data set"])[1][3:6] == ["0.0500", "1.0", "0.1010 (good)"]
    ((name, n_sets, c, isbs),) = texts(tables["Mean ranks among the published learners"])
    assert (name, n_sets) == ("m", "12")
    assert c.startswith("1.5 (1 of 3; 1.")
    assert isbs.startswith("1.5 (1 of 3; 1.")
    learners = texts(tables["All learners and m: mean ranks"])
    assert learners[-1] == ["bad", "3.0", "3.0"]
    assert ["A good one (good)", "1.5", "1.5"] in learners
    tests = tables["Against Bad"].rows
    assert [cell.text for cell in tests[0]][2:7] == ["1.5", "3.0", "+1.50", "0.92", "12 of 12"]
    assert tests[0][4].bold


def test_a_comparison_of_some_sets_says_which():
    one = made(title="large sets", datasets=frozenset(SETS[:3]))
    tables = one.tables(rows(), Labels())
    assert all(table.title.endswith(", large sets") for table in tables)
    assert len(tables[0].rows) == 3


def test_scores_beside_another_have_no_table_of_their_own():
    one = made(beside={"cindex": ("isbs",)})
    titles = [table.title for table in one.tables(rows(), Labels())]
    assert "ISBS by data set" not in titles
    first = one.tables(rows(), Labels())[0]
    assert first.columns[3:5] == ("C", "ISBS")
    assert texts(first)[0][3:5] == ["0.600", "0.2000"]


def test_a_score_that_no_row_has_is_missing_and_not_ranked():
    frame = rows().drop(columns="isbs")
    tables = {table.title: table for table in made().tables(frame, Labels())}
    assert texts(tables["ISBS by data set"])[0][3:5] == ["–", "–"]
    ranks = tables["Mean ranks among the published learners"]
    assert ranks.columns == ("Method", "Data sets", "C")


def test_the_figure_has_a_panel_per_score_with_learners_in_their_order():
    figure = ranks_figure([made()], rows(), Labels({}, {"m": "Mine"}))
    assert [ax.get_title() for ax in figure.axes] == ["C", "ISBS"]
    for ax in figure.axes:
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert sorted(names[:2]) == ["A good one", "Mine"]
        assert names[2] == "bad"
        assert ax.get_xlabel() == "mean rank\n12 data sets"
        dots = sorted(line.get_xdata()[0] for line in ax.lines)
        assert dots == pytest.approx([1.5, 1.5, 3.0])
    files = render(figure)
    assert files == render(ranks_figure([made()], rows(), Labels({}, {"m": "Mine"})))
