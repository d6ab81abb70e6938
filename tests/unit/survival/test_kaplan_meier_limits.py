"""Limits, weights, delayed entry and means of Kaplan-Meier curves, beside R's survfit (3.5-3)."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from lifelines.datasets import load_lung, load_waltons
from lifelines.utils import restricted_mean_survival_time

from censquant.exceptions import IdentifiabilityWarning
from censquant.survival import kaplan_meier
from strategies import repetitions, survival_data

few = settings(max_examples=40, deadline=None)
LUNG = load_lung()
TIME, STATUS, SEX = (LUNG[name].to_numpy() for name in ("time", "status", "sex"))
# survival::aml, x == "Maintained" (Miller 1997)
AML = [9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161], [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0]
INF = np.inf

# summary(survfit(Surv(time, status) ~ 1, conf.type=...), times=...)
R_LIMITS = {
    ("aml", "log"): (
        [0.7541338450815, 0.6192489873994, 0.3768670595017, 0.2548599511993, 0.0359178984892],
        [1.0, 1.0, 0.999157600228, 0.945584955200, 0.943525769475],
    ),
    ("aml", "log-log"): (
        [0.5080802057699, 0.4474286146822, 0.2657520400013, 0.1673309097769, 0.0117384801232],
        [0.986673822668, 0.951162228582, 0.835299243250, 0.753399790371, 0.525014842727],
    ),
    ("aml", "plain"): (
        [0.739204333134, 0.590255058799, 0.314482491946, 0.169096200652, 0.0],
        [1.0, 1.0, 0.912790235326, 0.812721981166, 0.484931162720],
    ),
    ("lung", "log"): (
        [0.820584892081, 0.430569524730, 0.231982138262, 0.020685460199],
        [0.909646746190, 0.569127717511, 0.370747595588, 0.122534195517],
    ),
    ("lung", "log-log"): (
        [0.8122223197535, 0.4242440727848, 0.2265036771181, 0.0178661710929],
        [0.902310180515, 0.561795979141, 0.363028599684, 0.108662176031],
    ),
    ("lung", "plain"): (
        [0.81945773391368, 0.42596937946094, 0.22451793279804, 0.00556421507828],
        [0.9084802013768, 0.5640792069009, 0.3620204546251, 0.0951269210633],
    ),
}
# quantile(survfit(...), c(.25, .5, .75)): lower and upper, NA for inf
R_QUANTILES = {
    ("aml", "log"): ([13, 18, 34], [INF, INF, INF]),
    ("aml", "log-log"): ([9, 13, 31], [34, INF, INF]),
    ("aml", "plain"): ([9, 18, 31], [34, 48, INF]),
    ("lung", "log"): ([145, 285, 460], [197, 363, 654]),
    ("lung", "log-log"): ([144, 284, 457], [194, 361, 643]),
    ("lung", "plain"): ([145, 284, 457], [197, 361, 643]),
}
AT = {"aml": [9, 13, 23, 31, 48], "lung": [100, 310, 500, 883]}
QUARTILES = [0.25, 0.5, 0.75]


def of_sex(code):
    return code == SEX


def curve_of(name):
    return kaplan_meier(*AML) if name == "aml" else kaplan_meier(TIME, STATUS)


@pytest.mark.parametrize(("name", "conf_type"), R_LIMITS)
def test_limits_of_the_curve_are_those_of_survfit(name, conf_type):
    found = curve_of(name).limits(AT[name], conf_type=conf_type)
    np.testing.assert_allclose(found, R_LIMITS[name, conf_type], rtol=1e-10)


@pytest.mark.parametrize(("name", "conf_type"), R_QUANTILES)
def test_limits_of_quantiles_are_those_of_survfit(name, conf_type):
    found = curve_of(name).quantile_limits(QUARTILES, conf_type=conf_type)
    np.testing.assert_array_equal(found, R_QUANTILES[name, conf_type])


def test_published_limits_of_the_leukaemia_trial():
    # The two arms of Klein and Moeschberger (2003), table 1.1, with linear limits.
    time = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    event = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    treated = kaplan_meier(time, event)
    np.testing.assert_array_equal(treated.quantile([0.25, 0.5]), [13, 23])
    low, high = treated.quantile_limits([0.25, 0.5], conf_type="plain")
    np.testing.assert_array_equal([low, high], [[6, 13], [23, INF]])
    placebo = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
    low, high = kaplan_meier(placebo, np.ones(21)).quantile_limits(0.5, conf_type="plain")
    assert (low, high) == (4, 11)  # as survfit


@few
@given(data=survival_data(min_events=1))
def test_limits_of_every_kind_contain_the_curve_and_lie_in_the_unit_interval(data):
    curve = kaplan_meier(*data)
    at = np.concatenate(([-1.0, 0.0], curve.time, curve.time + 0.5))
    for conf_type in ("log-log", "log", "plain"):
        low, high = curve.limits(at, conf_type=conf_type)
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low <= curve(at) + 1e-12).all()
        assert (high >= curve(at) - 1e-12).all()
        first, last = curve.quantile_limits(QUARTILES, conf_type=conf_type)
        assert (first <= curve.quantile(QUARTILES)).all()
        assert (last >= curve.quantile(QUARTILES)).all()


def test_an_unknown_kind_of_limits_is_refused():
    message = "conf_type must be one of 'log-log', 'log', 'plain', got 'logit'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        kaplan_meier([1, 2], [1, 1]).limits(1.0, conf_type="logit")


# Weights


def test_whole_weights_have_the_errors_of_survfit():
    # survfit(Surv(time, status) ~ 1, lung, weights = 1 + 1:228 %% 3)
    curve = kaplan_meier(TIME, STATUS, 1 + np.arange(1, 229) % 3)
    expected = [0.0159475591554, 0.0249869004639, 0.0249223313876, 0.0183717079694]
    np.testing.assert_allclose(curve.standard_error(AT["lung"]), expected, rtol=1e-10)


def test_weights_that_count_no_rows_have_the_robust_errors_of_survfit():
    # survfit(Surv(time, status) ~ 1, lung, weights = 0.5 + (1:228 %% 5) / 4)
    curve = kaplan_meier(TIME, STATUS, 0.5 + (np.arange(1, 229) % 5) / 4)
    expected = [0.0249041065295, 0.0371365169239, 0.0358700311698, 0.0235514061136]
    np.testing.assert_allclose(curve.standard_error(AT["lung"]), expected, rtol=1e-10)
    low, high = curve.limits(500, conf_type="log")
    np.testing.assert_allclose([low, high], [0.2101436042518, 0.352321228787], rtol=1e-10)


@few
@given(data=st.data())
def test_equal_weights_of_any_size_have_the_limits_of_no_weights(data):
    time, event = data.draw(survival_data(min_events=1))
    size = data.draw(st.sampled_from([0.3, 7.7]))
    plain, weighted = kaplan_meier(time, event), kaplan_meier(time, event, np.full(len(time), size))
    at = np.concatenate(([0.0], plain.time, plain.time + 0.5))
    for conf_type in ("log-log", "log", "plain"):
        expected = plain.limits(at, conf_type=conf_type)
        found = weighted.limits(at, conf_type=conf_type)
        np.testing.assert_allclose(found, expected, atol=1e-7)


# Delayed entry

ENTRY = np.arange(1, 229) * 37 % 150
LATE = TIME > ENTRY


def late_curve(weight=None, **options):
    weight = None if weight is None else weight[: LATE.sum()]
    return kaplan_meier(TIME[LATE], STATUS[LATE], weight, entry=ENTRY[LATE], **options)


def test_delayed_entry_is_that_of_survfit():
    # survfit(Surv(entry, time, status) ~ 1, conf.type = "log"), entry = (1:228 * 37) %% 150
    curve = late_curve()
    at = [60, 200, 310, 500]
    expected = [0.867169431875, 0.643657182923, 0.468379616065, 0.277483982597]
    np.testing.assert_allclose(curve(at), expected, rtol=1e-10)
    expected = [0.0804407768955, 0.0663918961371, 0.0546430806651, 0.0419462415150]
    np.testing.assert_allclose(curve.standard_error(at), expected, rtol=1e-10)
    expected = [0.723010166745, 0.525841618569, 0.372643315015, 0.206331191736]
    np.testing.assert_allclose(curve.limits(at, conf_type="log")[0], expected, rtol=1e-10)
    assert curve.quantile(0.5) == 301
    assert curve.quantile_limits(0.5, conf_type="log") == (212, 364)


def test_a_later_start_is_that_of_survfit():
    # survfit(Surv(entry, time, status) ~ 1, start.time = 100)
    curve = late_curve(start_time=100)
    expected = [0.790241452829, 0.575046776598, 0.340677229062]
    np.testing.assert_allclose(curve([200, 310, 500]), expected, rtol=1e-10)
    expected = [0.0302648447291, 0.0383076598963, 0.0398439866227]
    np.testing.assert_allclose(curve.standard_error([200, 310, 500]), expected, rtol=1e-10)
    assert curve.known_from == 100


def test_weights_with_delayed_entry_have_the_robust_errors_of_survfit():
    # survfit(Surv(entry, time, status) ~ 1, weights = 0.5 + (1:202 %% 5) / 4)
    curve = late_curve(0.5 + (np.arange(1, 229) % 5) / 4, start_time=0)
    at = [60, 200, 310, 500]
    expected = [0.905950549451, 0.664449520185, 0.466317230114, 0.268757309127]
    np.testing.assert_allclose(curve(at), expected, rtol=1e-10)
    expected = [0.0649389750396, 0.0581786461583, 0.0507363594934, 0.0396959496463]
    np.testing.assert_allclose(curve.standard_error(at), expected, rtol=1e-10)


@few
@given(data=st.data())
def test_entries_are_counted_as_a_slow_loop_counts_them(data):
    time, event = data.draw(survival_data())
    steps = data.draw(st.lists(st.integers(1, 8), min_size=len(time), max_size=len(time)))
    entry, weight = time - np.array(steps) / 2, data.draw(repetitions(len(time)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        curve = kaplan_meier(time, event, weight, entry=entry)
        fractions = kaplan_meier(time, event, weight * 0.7, entry=entry)
    survival = 1.0
    for place, now in enumerate(curve.time):
        at_risk = weight[(entry < now) & (time >= now)].sum()
        survival *= 1 - weight[(time == now) & event].sum() / at_risk
        assert curve.n_at_risk[place] == at_risk
        np.testing.assert_allclose(curve.survival[place], survival, atol=1e-12)
    np.testing.assert_allclose(fractions.survival, curve.survival, atol=1e-12)


@few
@given(data=survival_data(min_events=1))
def test_an_entry_before_everything_changes_nothing(data):
    time, event = data
    plain, late = kaplan_meier(time, event), kaplan_meier(time, event, entry=time * 0.0 - np.inf)
    for field in ("time", "survival", "n_at_risk", "n_events", "n_censored"):
        np.testing.assert_array_equal(getattr(late, field), getattr(plain, field))
    np.testing.assert_array_equal(late.limits(plain.time), plain.limits(plain.time))


def test_delayed_entry_recovers_the_law_that_ignoring_it_distorts():
    rng = np.random.default_rng(0)
    life, entry = rng.weibull(1.5, 20_000), rng.uniform(0, 1.5, 20_000)
    seen = life > entry
    time = np.minimum(life, 2.5)[seen]
    curve = kaplan_meier(time, time < 2.5, entry=entry[seen])
    at = np.array([0.5, 1.0, 2.0])
    truth = np.exp(-(at**1.5))
    assert (np.abs(curve(at) - truth) < 4 * curve.standard_error(at)).all()
    assert (kaplan_meier(time, time < 2.5)(at) - truth > 0.04).all()


def test_a_risk_set_that_empties_is_told():
    message = (
        "entry leaves nobody at risk after 2, although rows enter later: the curve falls to 0 and "
        "stays there; start_time=2 gives the curve of those still without the event by then."
    )
    rows = [1, 2, 6, 7, 8], [1, 1, 1, 0, 1]
    with pytest.warns(IdentifiabilityWarning, match="^" + re.escape(message) + "$"):
        curve = kaplan_meier(*rows, entry=[0, 0, 3, 3, 3])
    assert curve.survival[-1] == 0.0
    assert curve([1.5, 2.5])[1] == 0.0
    later = kaplan_meier(*rows, entry=[0, 0, 3, 3, 3], start_time=2)
    np.testing.assert_allclose(later.survival, [2 / 3, 2 / 3, 0])
    message = "the curve is constant until the next entry, whatever happened then; start_time=2"
    with pytest.warns(IdentifiabilityWarning, match=re.escape(message)):
        kaplan_meier([1, 2, 6, 7, 8], [1, 0, 1, 0, 1], entry=[0, 0, 3, 3, 3])


def test_few_early_rows_that_decide_the_curve_are_told():
    message = (
        "entry leaves few at risk early: 2 rows of later 21 at 1, by when the curve has fallen to "
        "0.5; start_time=1 gives"
    )
    time, entry = np.append([1.0, 9.0], np.arange(5.0, 25.0)), np.append([0.0, 0.0], np.full(20, 2))
    with pytest.warns(IdentifiabilityWarning, match="^" + re.escape(message)):
        kaplan_meier(time, np.ones(22), entry=entry)


def test_limits_before_any_event_are_those_of_the_fewest_rows_so_far():
    # Two rows until 3, thirty from then on: nothing but the two speaks for the time before.
    time = np.append([4.0, 20.0], np.full(28, 10.0))
    curve = kaplan_meier(time, np.zeros(30), entry=np.append([0.0, 0.0], np.full(28, 3.0)))
    low, high = curve.limits([0.0, 2.0, 5.0])
    np.testing.assert_allclose(low, [1.0, 0.025**0.5, 0.025**0.5])
    assert high.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([0], "entry must have one value for each row, got 1 values for 2 rows."),
        ([0, np.nan], "entry contains NaN: 1 of 2 times are missing, the first in row 1."),
        (
            [0, 2],
            "entry must be before the row's time, got 2 and the time 2 in row 1 (1 such rows): "
            "drop rows that were never under observation.",
        ),
    ],
)
def test_wrong_entries_are_refused(entry, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        kaplan_meier([1, 2], [1, 1], entry=entry)


def test_a_start_after_all_times_is_refused():
    message = "start_time must be before the last time, got 5 and the last time 2."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        kaplan_meier([1, 2], [1, 1], start_time=5)


# Restricted means


def test_restricted_means_and_errors_are_those_of_survfit():
    # print(survfit(Surv(time, status) ~ sex, lung), rmean = 365)
    men, women = (
        kaplan_meier(TIME[of_sex(sex)], STATUS[of_sex(sex)]).restricted_mean(365) for sex in (1, 2)
    )
    found = [men.value, men.standard_error, women.value, women.standard_error]
    expected = [241.495085192, 10.3582264911, 297.465409532, 10.7913239788]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    difference = women - men
    np.testing.assert_allclose(difference.limits(), [26.65, 85.29], atol=0.01)
    np.testing.assert_allclose(difference.p_value, 0.000183, rtol=0.01)


def test_published_difference_of_restricted_means():
    # survRM2 1.0-4, up to 965 days: 324.05, 455.90; 131.86 (53.93, 209.78), p = .001
    means = [
        kaplan_meier(TIME[of_sex(sex)], STATUS[of_sex(sex)]).restricted_mean(965) for sex in (1, 2)
    ]
    np.testing.assert_allclose([mean.value for mean in means], [324.05, 455.90], atol=0.006)
    difference = means[1] - means[0]
    np.testing.assert_allclose(difference.limits(), [53.93, 209.78], atol=0.006)
    np.testing.assert_allclose(difference.p_value, 0.00091, atol=5e-6)


def test_the_error_of_a_weighted_mean_is_about_the_sum_of_squared_influences():
    weight = (0.5 + (np.arange(1, 229) % 5) / 4)[of_sex(1)]
    rows = TIME[of_sex(1)], STATUS[of_sex(1)]
    found = kaplan_meier(*rows, weight).restricted_mean(365)
    # survfit(Surv(time, status) ~ sex, weights = 0.5 + (1:228 %% 5) / 4), rmean = 365
    np.testing.assert_allclose(found.value, 238.852538569, rtol=1e-10)
    moved = weight + 1e-5 * np.diag(weight)
    means = [kaplan_meier(*rows, each).restricted_mean(365).value for each in moved]
    influence = (np.array(means) - found.value) / 1e-5
    np.testing.assert_allclose(found.standard_error, np.sqrt(influence @ influence), rtol=0.05)


def test_lifelines_has_the_same_mean():
    walton = load_waltons()
    fitter = KaplanMeierFitter().fit(walton["T"], walton["E"])
    expected = restricted_mean_survival_time(fitter, t=50)
    found = kaplan_meier(walton["T"], walton["E"]).restricted_mean(50)
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)


@few
@given(data=survival_data(min_events=1))
def test_without_censoring_the_restricted_mean_is_the_mean_of_what_was_cut(data):
    time = data[0] - 3.0  # some are negative
    horizon = float(np.median(time))
    found = kaplan_meier(time, np.ones(len(time))).restricted_mean(horizon)
    cut = np.minimum(time, horizon)
    np.testing.assert_allclose(found.value, cut.mean(), atol=1e-9)
    np.testing.assert_allclose(found.standard_error, cut.std() / np.sqrt(len(cut)), atol=1e-9)


def test_the_default_horizon_is_where_one_in_twenty_is_left():
    curve = kaplan_meier(np.arange(1, 101), np.tile([1, 0], 50))
    assert curve.restricted_mean().value == curve.restricted_mean(96).value


def test_a_horizon_past_the_last_time_is_refused():
    message = (
        "horizon must not lie after the last time, where the curve is above 0, got 3 and the last "
        "time 2: choose an earlier one."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        kaplan_meier([1, 2], [1, 0]).restricted_mean(3)
    assert kaplan_meier([1, 2], [1, 1]).restricted_mean(3).value == 1.5


@pytest.mark.slow
def test_limits_of_the_difference_cover_the_truth():
    rng, inside = np.random.default_rng(0), []
    truth = 1.5 * (1 - np.exp(-1 / 1.5)) - (1 - np.exp(-1.0))
    for _ in range(1_000):
        means = []
        for scale in (1.5, 1.0):
            life, end = rng.exponential(scale, 80), rng.uniform(0.5, 3, 80)
            curve = kaplan_meier(np.minimum(life, end), life <= end)
            means.append(curve.restricted_mean(1.0))
        low, high = (means[0] - means[1]).limits()
        inside.append(low <= truth <= high)
    assert 0.92 < np.mean(inside) < 0.97


def test_the_table_holds_what_the_methods_say():
    curve = kaplan_meier(*AML)
    frame = curve.to_frame(0.9, conf_type="plain")
    assert frame.index.name == "time"
    np.testing.assert_array_equal(frame["n_at_risk"], curve.n_at_risk)
    low, high = curve.limits(curve.time, 0.9, conf_type="plain")
    np.testing.assert_array_equal(frame[["lower", "upper"]], np.column_stack((low, high)))
