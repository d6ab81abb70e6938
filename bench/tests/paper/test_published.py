import math
from importlib.resources import files

import pytest

from censquant_bench import DATASETS
from censquant_bench.paper._published import (
    PAPER_METRICS,
    PUBLISHED_COLUMNS,
    difference_causes,
    published_sequential,
    published_sequential_means,
    published_table,
    published_ystar,
)


def value(table, column, **where):
    for name, wanted in where.items():
        table = table[table[name] == wanted]
    return table[column].item()


def test_every_printed_score_has_one_row():
    table = published_table()
    # 14 synthetic sets x 5 methods x 5 scores, 5 x 4 x 4, 7 x 4 x 2.
    assert len(table) == 14 * 5 * 5 + 5 * 4 * 4 + 7 * 4 * 2
    assert not table.duplicated(["dataset", "method", "metric"]).any()
    assert not table.isna().any().any()
    assert set(table["metric"]) == set(PAPER_METRICS)
    assert table.groupby("kind")["dataset"].nunique().to_dict() == {
        "synthetic": 14,
        "real target": 5,
        "survival": 7,
    }


@pytest.mark.parametrize(
    ("dataset", "method", "metric", "mean", "se"),
    [
        ("Norm linear", "Sequential grid", "tqmse", 2.779, 0.506),
        ("Norm med.", "LogNorm MLE", "undcal", 17.969, 0.548),
        ("SurvMNIST", "CQRNN", "uql", 0.076, 0.0),
        ("LGGGBM", "DeepQuantReg", "censdcal", 1.275, 0.184),
    ],
)
def test_scores_are_those_of_the_paper(dataset, method, metric, mean, se):
    where = {"dataset": dataset, "method": method, "metric": metric}
    assert value(published_table(), "mean", **where) == mean
    assert value(published_table(), "se", **where) == se


def test_scores_that_a_kind_of_data_cannot_have_are_absent():
    table = published_table()
    assert set(table.loc[table["kind"] == "survival", "metric"]) == {"cindex", "censdcal"}
    assert "tqmse" not in set(table.loc[table["kind"] == "real target", "metric"])


def test_sequential_differences_have_the_sign_of_the_papers_own_means():
    key = ["dataset", "method", "metric"]
    ten, fifty = (t.set_index(key) for t in (published_table(), published_sequential_means()))
    checked = 0
    for row in published_sequential().itertuples():
        source = ten if row.metric == "tqmse" else fifty
        sequential = source.loc[(row.dataset, "Sequential grid", row.metric)]
        cqrnn = source.loc[(row.dataset, "CQRNN", row.metric)]
        # Smaller differences may have either sign by chance.
        if abs(row.difference) > math.hypot(sequential["se"], cqrnn["se"]):
            assert (sequential["mean"] - cqrnn["mean"]) * row.difference > 0
            checked += 1
    assert checked == 16


def test_printed_widths_on_survival_sets_are_too_narrow_for_95_percent():
    widths = published_sequential().query("metric == 'censdcal'").set_index("dataset")["interval"]
    errors = published_sequential_means().query("metric == 'censdcal'")
    errors = errors.pivot(index="dataset", columns="method", values="se").loc[widths.index]
    # The least standard error that a difference of the two means can have, after rounding.
    least = (errors["Sequential grid"] - errors["CQRNN"]).abs() - 0.001
    narrow = widths + 0.0005 < 2.01 * least
    assert set(widths.index[narrow]) == {"WHAS", "SUPPORT", "GBSG"}


def test_no_difference_is_a_negative_zero():
    assert "-0.0" not in [str(value) for value in published_sequential()["difference"]]


def test_ystar_has_six_factors_for_four_sets():
    table = published_ystar()
    assert sorted(table["factor"].unique()) == [1.0, 1.2, 1.5, 2.0, 10.0, 100.0]
    assert len(table) == 24
    assert value(table, "tqmse", dataset="LogNorm heavy", factor=10.0) == 1.026


def test_every_cause_belongs_to_a_score_that_the_paper_printed():
    printed = published_table().set_index(["dataset", "method", "metric"]).index
    causes = difference_causes()
    for dataset, method, metric in causes:
        assert (DATASETS[dataset].title, PUBLISHED_COLUMNS[method], metric) in printed
    assert all(isinstance(cause, str) and cause.strip() == cause for cause in causes.values())
    assert all(cause for cause in causes.values())


def test_no_score_has_two_causes():
    text = (
        files("censquant_bench.paper")
        .joinpath("published", "causes.csv")
        .read_text(encoding="utf-8")
    )
    assert len(difference_causes()) == len(text.strip().splitlines()) - 1
