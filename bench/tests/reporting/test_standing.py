"""Ranks among published learners, and tests against Cox."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata, wilcoxon

from censquant_bench.datasets import field_scores
from censquant_bench.field import PublishedScores
from censquant_bench.reporting import Standing, critical_difference, standing
from field_study import made_study


@pytest.fixture
def study(tmp_path, monkeypatch):
    return made_study(tmp_path, monkeypatch)


def table(**scores):
    """Published scores of learners that were tuned for both, on iterations 1 and 2 of lung."""
    return pd.DataFrame(
        [
            ("lung", learner, "harrell_c,isbs", number, value, value)
            for learner, values in scores.items()
            for number, value in enumerate(values, start=1)
        ],
        columns=["task", "learner", "tuned_for", "iteration", "harrell_c", "isbs"],
    )


def ours(*values):
    return {"field_lung": pd.Series(values, index=range(1, len(values) + 1), dtype=float)}


def test_means_are_of_the_iterations_that_were_run():
    published = PublishedScores(table(CPH=[0.6, 0.8], KM=[0.5, 0.5]))
    first = standing(ours(0.65), "cindex", published, "CPH")
    both = standing(ours(0.65, 0.65), "cindex", published, "CPH")
    assert first.scores.loc["field_lung"].to_dict() == {"KM": 0.5, "CPH": 0.6, "ours": 0.65}
    assert both.scores.loc["field_lung", "CPH"] == pytest.approx(0.7)
    assert (first.place, both.place) == (1, 2)


def test_a_run_of_ours_that_failed_takes_its_iteration_out_of_all_means():
    published = PublishedScores(table(CPH=[0.6, 0.8]))
    found = standing(ours(0.65, math.nan), "cindex", published, "CPH")
    assert found.scores.loc["field_lung", "CPH"] == 0.6


def test_high_is_good_in_c_and_bad_in_isbs_and_ties_are_averaged():
    published = PublishedScores(table(CPH=[0.2], KM=[0.3], AFT=[0.2]))
    in_c, in_isbs = (standing(ours(0.3), one, published, "CPH") for one in ("cindex", "isbs"))
    assert in_c.mean_ranks.to_dict() == {"KM": 1.5, "CPH": 3.5, "AFT": 3.5, "ours": 1.5}
    assert in_isbs.mean_ranks.to_dict() == {"KM": 3.5, "CPH": 1.5, "AFT": 1.5, "ours": 3.5}
    assert (in_c.place, in_isbs.place) == (1, 3)


def test_ranks_are_those_of_scipy(study):
    published = PublishedScores(field_scores())
    runs = {
        "field_lung": pd.Series({1: 0.71, 2: 0.70}),
        "field_uis": pd.Series({1: 0.4, 2: 0.5, 3: 0.6}),
    }
    found = standing(runs, "cindex_restricted_mean", published, "CPH")
    expected = rankdata(-found.scores.to_numpy(), axis=1)
    np.testing.assert_array_equal(found.ranks.to_numpy(), expected)
    assert found.scores.columns.tolist() == ["KM", "CPH", "ORSF", "SSVM", "ours"]
    assert standing(runs, "isbs", published, "CPH").scores.columns.tolist() == [
        "KM", "CPH", "ORSF", "ours",
    ]  # fmt: skip


def test_each_score_is_of_the_tuning_for_it():
    both = pd.concat(
        [
            table(ORSF=[0.7]).assign(tuned_for="harrell_c", isbs=0.9),
            table(ORSF=[0.6]).assign(tuned_for="isbs", isbs=0.1),
        ]
    )
    found = PublishedScores(both)
    assert found.means("field_lung", "cindex", [1])["ORSF"] == 0.7
    assert found.means("field_lung", "isbs", [1])["ORSF"] == 0.1


def test_a_learner_without_all_iterations_is_not_ranked_on_the_set():
    published = PublishedScores(table(CPH=[0.6, 0.8], KM=[0.5, math.nan]))
    found = standing(ours(0.65, 0.65), "cindex", published, "CPH")
    assert found.n_missing == 1
    assert math.isnan(found.mean_ranks["KM"])
    assert found.ranks.loc["field_lung", "ours"] == 2


def test_sets_that_the_study_does_not_have_are_left_out():
    published = PublishedScores(table(CPH=[0.6]))
    assert standing({"mine": pd.Series({1: 0.5})}, "cindex", published, "CPH") is None
    found = standing(ours(0.5) | {"mine": pd.Series({1: 0.5})}, "cindex", published, "CPH")
    assert found.scores.index.tolist() == ["field_lung"]


def test_the_critical_difference_is_that_of_bonferroni_and_dunn():
    # Demsar (2006), table 5: q is 2.241, 2.638 and 2.773 for 3, 7 and 10 classifiers.
    for n, q in ((3, 2.241), (7, 2.638), (10, 2.773)):
        expected = q * math.sqrt(n * (n + 1) / (6 * 14))
        assert critical_difference(n, 14) == pytest.approx(expected, abs=1e-3)
    expected = norm.ppf(1 - 0.05 / 42) * math.sqrt(22 * 23 / (6 * 17))
    assert critical_difference(22, 17) == pytest.approx(expected)


def test_gains_over_cox_count_in_the_direction_of_the_score():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame({"CPH": rng.random(9), "KM": 0.5, "ours": rng.random(9)})
    in_c, in_isbs = (Standing(metric, scores, "CPH") for metric in ("cindex", "isbs"))
    wins = int((scores["ours"] > scores["CPH"]).sum())
    assert (in_c.n_better, in_isbs.n_better) == (wins, 9 - wins)
    expected = wilcoxon(scores["ours"], scores["CPH"]).pvalue
    assert in_c.wilcoxon_p == pytest.approx(expected)
    assert in_isbs.wilcoxon_p == pytest.approx(expected)
    ranks = rankdata(-scores.to_numpy(), axis=1).mean(axis=0)
    assert in_c.lead == pytest.approx(ranks[0] - ranks[2])


def test_nothing_is_tested_where_no_difference_or_no_cox_is_there():
    same = Standing("isbs", pd.DataFrame({"CPH": [0.1, 0.2], "ours": [0.1, 0.2]}), "CPH")
    alone = Standing("isbs", pd.DataFrame({"KM": [0.1], "ours": [0.2]}), "CPH")
    for one in (same, alone):
        assert math.isnan(one.wilcoxon_p)
        assert one.n_better == 0
    assert math.isnan(alone.lead)


RANKED = pd.DataFrame(
    {
        "CPH": [0.6, 0.7, 0.6, 0.8, 0.7, 0.6],
        "KM": [0.5, 0.5, 0.5, math.nan, 0.5, 0.5],
        "ours": [0.7, 0.6, 0.7, 0.9, 0.8, 0.7],
    }
)


def test_intervals_of_mean_ranks_draw_data_sets_anew():
    found = Standing("cindex", RANKED, "CPH")
    ends, ranks = found.rank_intervals, found.ranks.drop(columns="KM").to_numpy()
    rng = np.random.default_rng(1)
    draws = ranks[rng.integers(len(ranks), size=(20_000, len(ranks)))].mean(axis=1)
    expected = np.quantile(draws, [0.025, 0.975], axis=0)
    # Means of six ranks lie a sixth apart, so that ends of intervals do too.
    np.testing.assert_allclose(ends.drop(index="KM").to_numpy().T, expected, atol=0.17)
    assert (ends["lower"] <= found.mean_ranks).all()
    assert (found.mean_ranks <= ends["upper"]).all()
    pd.testing.assert_frame_equal(ends, found.rank_intervals)


def test_critical_differences_are_drawn_of_learners_with_every_score():
    ranks = Standing("cindex", RANKED, "CPH").method_ranks()
    assert ranks.methods == ("CPH", "ours")
    assert ranks.mean_ranks.tolist() == pytest.approx([11 / 6, 7 / 6])
    worse = Standing("isbs", RANKED, "CPH").method_ranks()
    assert worse.mean_ranks.tolist() == pytest.approx([7 / 6, 11 / 6])


def test_gaps_are_to_the_best_learner_in_the_direction_of_the_score():
    in_c, in_isbs = (Standing(metric, RANKED, "CPH").gaps for metric in ("cindex", "isbs"))
    assert in_c.round(6).tolist() == [0.1, -0.1, 0.1, 0.1, 0.1, 0.1]
    assert in_isbs.round(6).tolist() == [-0.2, -0.1, -0.2, -0.1, -0.3, -0.2]
