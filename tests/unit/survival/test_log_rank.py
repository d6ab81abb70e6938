import re

import numpy as np
import pytest
from hypothesis import given, settings
from lifelines.datasets import load_lung
from lifelines.statistics import multivariate_logrank_test

from censquant.exceptions import FewEventsWarning
from censquant.survival import Estimate, kaplan_meier, log_rank_test
from strategies import survival_data

LUNG = load_lung()
TIME, STATUS, SEX = (LUNG[name].to_numpy() for name in ("time", "status", "sex"))
KNOWN = (LUNG["ph.ecog"] < 3).to_numpy()
ECOG = LUNG["ph.ecog"][KNOWN].to_numpy().astype(int)


def test_two_groups_are_those_of_survdiff():
    # survdiff(Surv(time, status) ~ sex, lung)
    test = log_rank_test(TIME, STATUS, SEX)
    np.testing.assert_allclose(test.statistic, 10.326742, rtol=1e-7)
    np.testing.assert_allclose(test.p_value, 0.00131116, rtol=1e-5)
    assert test.observed.tolist() == [112, 53]
    np.testing.assert_allclose(test.expected, [91.581739, 73.418261], rtol=1e-7)
    assert (test.groups, test.n.tolist(), test.degrees_of_freedom) == (("1", "2"), [138, 90], 1)


def test_three_groups_are_those_of_survdiff():
    # survdiff(Surv(time, status) ~ ph.ecog, lung, subset = ph.ecog < 3)
    test = log_rank_test(TIME[KNOWN], STATUS[KNOWN], ECOG)
    np.testing.assert_allclose(test.statistic, 18.0120966947, rtol=1e-10)
    np.testing.assert_allclose(test.expected, [53.9046962799, 83.0929422349, 26.0023614853])
    np.testing.assert_allclose(
        np.diag(test.covariance), [35.6403134184, 40.4716606511, 21.629833398]
    )
    assert test.degrees_of_freedom == 2


def test_strata_are_those_of_survdiff():
    # survdiff(Surv(time, status) ~ sex + strata(ph.ecog), lung, subset = ph.ecog < 3)
    test = log_rank_test(TIME[KNOWN], STATUS[KNOWN], SEX[KNOWN], strata=ECOG)
    np.testing.assert_allclose(test.statistic, 10.7950596335, rtol=1e-10)
    expected = [
        23.3566721735 + 41.9791843579 + 24.3051661322,
        13.6433278265 + 40.0208156421 + 19.6948338678,
    ]
    np.testing.assert_allclose(test.expected, expected, rtol=1e-9)


def test_delayed_entry_is_the_score_test_of_coxph():
    # summary(coxph(Surv(entry, t2, status) ~ factor(sex)))$sctest, where t2 has no ties
    entry = np.arange(1, 229) * 37 % 150
    late = entry < TIME
    order = np.empty(late.sum())
    order[np.argsort(TIME[late], kind="stable")] = np.arange(1, late.sum() + 1)
    test = log_rank_test(TIME[late] + order / 1e5, STATUS[late], SEX[late], entry=entry[late])
    np.testing.assert_allclose(test.statistic, 7.98098826314650, rtol=1e-10)
    np.testing.assert_allclose(test.p_value, 0.00472711297118, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
@settings(max_examples=30, deadline=None)
@given(data=survival_data(min_events=2))
def test_lifelines_agrees(data):
    time, event = data
    groups = np.arange(len(time)) % 3
    if len(time) < 3:
        return
    test = log_rank_test(time, event, groups)
    if test.degrees_of_freedom == 2:
        expected = multivariate_logrank_test(time, groups, event)
        np.testing.assert_allclose(test.statistic, expected.test_statistic, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(test.observed.sum(), test.expected.sum())


def test_groups_without_common_times_at_risk_cannot_be_compared():
    test = log_rank_test([1, 2, 8, 9], [1, 1, 1, 1], ["a", "a", "b", "b"], entry=[0, 0, 5, 5])
    assert np.isnan(test.statistic)
    assert np.isnan(test.p_value)
    assert test.degrees_of_freedom == 0


def test_p_values_are_uniform_where_groups_do_not_differ():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        life, end = rng.exponential(size=60), rng.exponential(2.0, 60)
        found.append(log_rank_test(np.minimum(life, end), life <= end, np.arange(60) % 2).p_value)
    assert 0.025 < np.mean(np.array(found) < 0.05) < 0.085


def test_the_test_prints_and_becomes_a_frame():
    test = log_rank_test([6, 7, 9, 2, 3, 4], [1, 0, 1, 1, 1, 1], ["treated"] * 3 + ["b"] * 3)
    assert str(test).splitlines()[1] == "group         n   events   expected"
    assert test.to_frame().loc["treated", "n"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 1, 1]}, "groups must hold at least two different values, got only '1'."),
        (
            {"groups": [1, 2]},
            "groups must have one value for each row, got shape (2,) for 3 rows.",
        ),
        (
            {"groups": ["a", None, "b"]},
            "groups must not be missing, got 1 missing values, the first in row 1: drop these rows "
            "or name the group.",
        ),
        (
            {"groups": [1, 2, 2], "strata": [1, np.nan, 2]},
            "strata must not be missing, got 1 missing values, the first in row 1: drop these rows "
            "or name the group.",
        ),
    ],
)
def test_wrong_groups_are_refused(options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        log_rank_test([1, 2, 3], [1, 1, 1], **options)


def test_a_group_of_its_own_for_each_row_is_warned_of():
    time = np.arange(1.0, 41.0)
    message = (
        "groups have 40 different values for 40 events, too few for the chi-squared law: the "
        "p-value may be far too small; put the values into a few classes."
    )
    with pytest.warns(FewEventsWarning, match="^" + re.escape(message) + "$"):
        log_rank_test(time, np.ones(40), time)


def test_an_estimate_is_subtracted_from_estimates_alone():
    with pytest.raises(TypeError):
        Estimate(1.0, 0.1) - 1.0
    assert np.isnan(Estimate(1.0, 0.0).p_value)
    assert np.isnan(kaplan_meier([1, 2], [0, 0]).restricted_mean(2).p_value)
