"""Every number of a report is that of the model and the metrics."""

import re
from dataclasses import replace

import numpy as np
import pytest

from censquant import CQRNN, CoxQuantileRegressor
from censquant.inspection import expected_failures, permutation_importance
from censquant.metrics import calibration_at, coverage, evaluate, pit_band, pit_curve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.report import report_facts
from censquant.report._accuracy import RiskRow, page_verdict, risk_check
from censquant.report._tables import tables_of
from censquant.survival import kaplan_meier
from report_rows import calibrated, new_rows, plain

SHOWN = [0.1, 0.25, 0.5, 0.75, 0.9]
HORIZONS = [300.0, 900.0]


@pytest.fixture(scope="module")
def clinical():
    X, y = new_rows()
    return report_facts(
        calibrated(), X, y, horizons=HORIZONS, individuals=[4, 2], n_resamples=10, unit="days"
    )


@pytest.fixture(scope="module")
def fleet():
    X, y = new_rows()
    return report_facts(
        calibrated(), X, y, preset="reliability", risk=0.2, early_cost=1.0, late_cost=6.0,
        as_of="2026-01-31", unit="days", n_resamples=10, labels=[f"U{k}" for k in range(len(X))],
    )  # fmt: skip


def test_the_cohort_is_counted_and_its_survival_is_kaplan_meiers(clinical):
    (time, event), cohort = new_rows()[1], clinical.cohort
    curve = kaplan_meier(time, event)
    assert (cohort.n_rows, cohort.n_events) == (len(time), event.sum())
    # The longest times are not told: ten individuals or more were observed up to the end.
    assert (time >= cohort.end).sum() >= 10
    assert cohort.end == float(f"{cohort.end:.2g}")
    assert cohort.median_survival == curve.quantile(0.5)
    assert cohort.median_follow_up == kaplan_meier(time, ~event).quantile(0.5)
    assert {row.time for row in cohort.table} >= set(HORIZONS)
    for row in cohort.table:
        low, high = curve.limits(row.time)
        assert (row.survival, row.low, row.high) == (curve(row.time), low, high)
        assert row.at_risk == (time >= row.time).sum()
        assert row.events == (event & (time <= row.time)).sum()


def test_the_scores_are_those_of_evaluate(clinical):
    (X, y), model = new_rows(), calibrated()
    expected = evaluate(model, y, X, y, n_resamples=10, random_state=0)
    for row, other in zip(clinical.evaluation.rows, expected.rows, strict=True):
        np.testing.assert_array_equal(row[1:4], other[1:4])
    assert clinical.evaluation.verdict == expected.verdict
    assert clinical.verdict.startswith(f"{expected.ranking}, ")


def test_a_page_says_which_scores_may_be_biased():
    (X, (time, event)), model = new_rows(), plain()
    rng = np.random.default_rng(0)
    end = np.quantile(time, X.iloc[:, 0].rank(pct=True) ** 2) * rng.uniform(0.9, 1.1, len(X))
    y = np.minimum(time, end), event & (time <= end)
    facts = report_facts(model, X, y, horizons=HORIZONS, n_resamples=2)
    assert facts.evaluation.censoring_p_value < 0.05
    assert facts.verdict.endswith("compare by the log score, which needs no model of censoring.")
    assert facts.evaluation.rows[0].metric == "log_score"


def test_levels_are_beside_the_observed_and_the_identified_shares(clinical):
    (X, y), model = new_rows(), calibrated()
    levels = np.array(CURVE_QUANTILES)
    values = model.predict_quantiles(X, levels, beyond="extrapolate")
    _, observed = pit_curve(y, values, levels, levels=SHOWN)
    low, high = pit_band(y, values, levels, levels=SHOWN)
    identified = (model.identified_level(X)[:, None] >= SHOWN).mean(axis=0)
    found = [
        (row.level, row.observed, row.low, row.high, row.identified) for row in clinical.levels
    ]
    expected = np.column_stack((SHOWN, observed, low, high, identified))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
def test_coverage_is_that_of_the_models_bounds_with_past_events_beside(clinical):
    (X, (time, event)), model = new_rows(), calibrated()
    for row in clinical.coverage:
        if row.kind == "lower bound":
            low, high = model.predict_lower_bound(X, row.promised), np.inf
        else:
            low, high = model.predict_interval(X, row.promised).T
        expected = coverage((time, event), np.nextafter(low, -np.inf), high)
        assert (row.estimate, row.low, row.high, row.sure, row.possible) == (
            expected.estimate, expected.confidence_low, expected.confidence_high,
            expected.bound_low, expected.bound_high,
        )  # fmt: skip
        assert row.n_past == event.sum()
        assert row.n_kept == (event & (low <= time) & (time <= high)).sum()
    assert [row.promised for row in clinical.coverage] == [0.8, 0.9, 0.95, 0.5, 0.8]


def test_uncalibrated_bounds_are_quantiles_and_the_facts_say_so():
    X, y = new_rows()
    facts, numbers = report_facts(plain(), X[["temp", "load"]], y, n_resamples=2), X.iloc[:, :2]
    assert any("are not calibrated" in note for note in facts.notes)
    bound = plain().predict_quantiles(numbers, [0.1], beyond="extrapolate")[:, 0]
    time, event = y
    assert facts.coverage[1].n_kept == (event & (bound <= time)).sum()
    low, high = plain().predict_interval(numbers, 0.8, beyond="inf").T
    assert facts.coverage[4].n_kept == (event & (low <= time) & (time <= high)).sum()


def test_risks_are_means_of_predictions_beside_kaplan_meier_in_thirds(clinical):
    (X, (time, event)), model = new_rows(), calibrated()
    risk = 1.0 - model.predict_survival_function(X, HORIZONS, return_array=True)
    known = ~np.isnan(model.predict_survival_function(X, HORIZONS, return_array=True, beyond="nan"))
    rows = {(row.horizon, row.group): row for row in clinical.risks}
    assert len(rows) == 8
    for place, horizon in enumerate(HORIZONS):
        order = np.argsort(risk[:, place], kind="stable")
        first, *_, last = np.array_split(order, 3)
        groups = {"all": order, "lowest third": first, "highest third": last}
        for name, members in groups.items():
            row, own = rows[horizon, name], risk[members, place]
            curve = kaplan_meier(time[members], event[members])
            low, high = curve.limits(horizon)
            expected = [own.mean(), *np.quantile(own, [0.1, 0.9]), 1 - curve(horizon), 1 - high,
                        1 - low, known[members, place].mean()]  # fmt: skip
            found = [row.predicted, row.lowest, row.highest, row.observed, row.low, row.high,
                     row.identified]  # fmt: skip
            np.testing.assert_allclose(found, expected, rtol=1e-10)
            assert row.n_rows == len(members)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
def test_importance_is_that_of_the_inspection(clinical):
    X, y = new_rows()
    expected = permutation_importance(calibrated(), X, y, n_repeats=3, random_state=0)
    np.testing.assert_array_equal(clinical.importance.importances, expected.importances)


def test_individuals_are_those_asked_for_with_their_predictions(clinical):
    (X, (time, event)), model = new_rows(), calibrated()
    assert [one.row for one in clinical.individuals] == [4, 2]
    for one in clinical.individuals:
        row = X.iloc[[one.row]]
        quantiles = model.predict_quantiles(row, SHOWN, beyond="nan")[0]
        np.testing.assert_allclose(one.quantiles, quantiles, rtol=1e-12)
        risks = 1.0 - model.predict_survival_function(row, HORIZONS, return_array=True)[0]
        np.testing.assert_allclose(one.risks, risks, rtol=1e-12)
        assert one.lower_bound == pytest.approx(model.predict_lower_bound(row, 0.9)[0])
        assert one.identified == pytest.approx(model.identified_level(row)[0])
        assert (one.time, one.event) == (time[one.row], event[one.row])
        assert list(one.features) == list(X)


def test_the_model_describes_itself(clinical):
    model, described = calibrated(), clinical.model
    assert described.candidates == model.estimator_.candidates_.rows
    summary = model.estimator_.summary().sentences
    assert described.sentences[:-1] == tuple(one for one in summary if "Times from" not in one)
    assert model.method_ in described.sentences[-1]
    assert described.promises == tuple(row for row in model.coverage_ if row.estimate > 0)
    assert not any("are not calibrated" in note for note in clinical.notes)


def conditional_risk(model, X, age, ahead):
    """Probability to fail within times, by the survival function at the present age and later."""
    found = []
    for time in ahead:
        now, later = (
            np.array([
                model.predict_survival_function(X.iloc[[k]], [at], return_array=True)[0, 0]
                for k, at in enumerate(ages)
            ])
            for ages in (age, age + time)
        )  # fmt: skip
        found.append(1.0 - later / now)
    return np.column_stack(found)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.ExtrapolationWarning")
def test_the_fleet_has_every_running_unit_by_its_risk_within_the_first_horizon(fleet):
    (X, (time, event)), model = new_rows(), calibrated()
    units, ahead = fleet.fleet.units, fleet.settings.ahead
    assert ahead == (30.0, 90.0, 180.0, 365.0)
    assert sorted(one.row for one in units) == np.flatnonzero(~event).tolist()
    known = [one.risks[0] for one in units if not np.isnan(one.risks[0])]
    assert len(known) > 10
    assert known == sorted(known, reverse=True)
    assert not np.isnan([one.risks[0] for one in units[: len(known)]]).any()
    rows = [one.row for one in units]
    part, age = X.iloc[rows], time[rows]
    risk = conditional_risk(model, part, age, ahead)
    left = model.predict_remaining(part, age, [0.5], beyond="nan")[:, 0]
    reach = model.identified_level(part)
    for k, one in enumerate(units):
        assert one.label == f"U{one.row}"
        assert one.age == age[k]
        np.testing.assert_allclose(one.remaining50, left[k], rtol=1e-9)
        curve = model.predict_curve(part.iloc[[k]])
        until = [curve.cdf([[age[k] + one_ahead]])[0, 0] for one_ahead in ahead]
        for place, least in enumerate(one.risk_is_least):
            assert least == (until[place] > reach[k] + 1e-12)
            if not least:
                assert one.risks[place] == pytest.approx(risk[k, place], rel=1e-6, abs=1e-9)
            elif not np.isnan(one.risks[place]):
                assert one.risks[place] <= risk[k, place] + 1e-9


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
def test_bounds_of_units_are_those_of_the_model_and_each_question_has_one_answer(fleet):
    (X, (time, _)), model = new_rows(), calibrated()
    units = fleet.fleet.units
    rows = [one.row for one in units]
    part, age = X.iloc[rows], time[rows]
    bound = model.predict_lower_bound(part, 0.8, elapsed=age) - age
    bound[bound <= 0] = np.nan
    np.testing.assert_allclose([one.remaining_bound for one in units], bound, rtol=1e-9)
    for one in units:
        day = ""
        if np.isfinite(one.remaining_bound):
            day = str(np.datetime64("2026-01-31") + np.timedelta64(int(one.remaining_bound), "D"))
        assert one.bound_date == day
        if not np.isnan([one.remaining_bound, one.remaining50]).any():
            # With 80 % confidence is sooner than with 50 %.
            assert one.remaining_bound <= one.remaining50 * (1 + 1e-9) or one.bound_is_limited


def test_units_whose_bound_is_cut_by_follow_up_are_marked_and_do_not_lead():
    X, (time, event) = new_rows()
    facts = report_facts(plain(), X[["temp", "load"]], (time, event), preset="reliability",
                         unit="days", n_resamples=2)  # fmt: skip
    units = facts.fleet.units
    limited = [one for one in units if one.bound_is_limited]
    assert limited
    level = plain().predict_curve(X[["temp", "load"]].iloc[[one.row for one in limited]])
    ages = np.array([one.age for one in limited])
    assert not level.is_identified(level.conditional_levels(ages, [0.1])).any()
    # A short bound that is cut does not put a unit before those that are about to fail.
    assert not any(one.bound_is_limited for one in units[:3])
    assert units[0].risks[0] == max(one.risks[0] for one in units if one.risks[0] >= 0)


def test_failures_of_the_fleet_are_those_of_the_public_function(fleet):
    (X, (time, event)), model = new_rows(), calibrated()
    running = ~event
    expected = expected_failures(model, X[running], time[running], [30, 90, 180, 365])
    assert fleet.fleet.failures.rows == expected.rows
    assert fleet.fleet.n_running == running.sum()
    assert fleet.fleet.failures.n_learned is None


def test_limits_of_failures_contain_the_uncertainty_of_a_fit_whose_rows_are_given():
    (X, (time, event)), numbers = new_rows(), ["temp", "load"]
    y_train = time[:40], event[:40]
    facts = report_facts(
        plain(), X[numbers], (time, event), y_train=y_train, preset="reliability", n_resamples=2
    )
    running = ~event
    ask = plain(), X.loc[running, numbers], time[running], facts.settings.ahead
    expected = expected_failures(*ask, y_train=y_train)
    assert facts.fleet.failures.rows == expected.rows
    assert facts.fleet.failures.n_learned == y_train[1].sum()
    assert expected.rows[-1].high > expected_failures(*ask).rows[-1].high


def test_limits_of_b10_and_b50_hold_the_level_and_lie_at_levels_the_data_allow(fleet):
    (X, y), model = new_rows(), calibrated()
    levels = np.array(CURVE_QUANTILES)
    values = model.predict_quantiles(X, levels, beyond="extrapolate")
    for level, (low, high) in zip((0.1, 0.5), fleet.fleet.limits, strict=True):
        assert 0 <= low < high <= 1
        for end in (low, high):
            if 0 < end < 1:
                bottom, top = pit_band(y, values, levels, levels=[end])
                assert bottom[0] <= level <= top[0]
        below = [end for end in (low - 0.005,) if low > 0.005]
        for end in below:
            bottom, top = pit_band(y, values, levels, levels=[end])
            assert not bottom[0] <= level <= top[0]
    for row, (low, high) in zip(fleet.fleet.new_life, fleet.fleet.limits, strict=True):
        lives = np.sort(model.predict_quantiles(X, [row.level], beyond="inf")[:, 0])
        assert row.typical == lives[len(lives) // 2 - 1]
        assert row.shortest == lives[len(lives) // 10 - 1]
        ends = model.predict_quantiles(X, [low, high], beyond="inf")
        np.testing.assert_allclose([row.low, row.high], np.median(ends, axis=0), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
def test_rules_of_replacement_are_compared_for_the_same_units_from_new(fleet):
    (X, (time, event)), model = new_rows(), calibrated()
    risks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5]
    own, *rows, never = fleet.costs
    assert [row.risk for row in rows] == pytest.approx(risks)
    curve = model.predict_curve(X)
    for risk, row in zip(risks, rows, strict=True):
        assert row.rule == f"at a risk of {100 * risk:g} %"
        assert row.cost == pytest.approx(1.0 * (1 - risk) + 6.0 * risk)
        limit = model.predict_quantiles(X, [risk], beyond="extrapolate")[:, 0]
        # The curves of the rules are smoothed, which matters most where few have failed.
        assert row.late == pytest.approx(coverage((time, event), -np.inf, limit).estimate, abs=0.03)
        # The area below the survival curve from new, up to the age of replacement.
        service = np.array([curve.take([k]).restricted_mean(end)[0] for k, end in enumerate(limit)])
        tolerance = 0.2 if risk < 0.05 else 0.1
        assert row.service == pytest.approx(service.mean(), rel=tolerance)
        assert row.rate == pytest.approx(np.mean(row.cost / service), rel=tolerance)
    assert own.rate <= min(row.rate for row in rows) * 1.001
    assert never.risk == 1.0
    assert never.cost == 6.0
    ages = {one.row: one.replace_at for one in fleet.fleet.units}
    for one in fleet.fleet.units:
        if np.isfinite(ages[one.row]):
            assert one.replace_in == max(ages[one.row] - one.age, 0.0)
            assert (one.advice == "due now") == (one.age >= one.replace_at)
    assert fleet.importance is None


def test_without_costs_no_age_of_replacement_is_recommended():
    X, y = new_rows()
    facts = report_facts(plain(), X[["temp", "load"]], y, preset="reliability", n_resamples=2)
    assert all(np.isnan(one.replace_at) for one in facts.fleet.units)
    assert facts.fleet.n_due == 0
    assert all(np.isnan(row.rate) for row in facts.costs)


# The verdict


def risk_row(predicted, observed, p_value, group="lowest third", horizon=365.0):
    return RiskRow(horizon, group, 50, predicted, 0.0, 1.0, observed, 0.0, 1.0, 1.0, p_value)


def test_the_p_value_of_a_risk_is_the_level_at_which_its_limits_leave_it_out(clinical):
    _, (time, event) = new_rows()
    for row in clinical.risks:
        assert (row.p_value < 0.05) == (not row.low <= row.predicted <= row.high)
    everyone = [row for row in clinical.risks if row.group == "all"]
    for row in everyone:
        curve = kaplan_meier(time, event)
        low, high = curve.limits(row.horizon, 1.0 - row.p_value)
        nearest = low if 1 - row.predicted < curve(row.horizon) else high
        assert nearest == pytest.approx(1.0 - row.predicted, abs=1e-6)


def test_holm_decides_which_risks_disagree():
    rows = tuple(risk_row(0.3, 0.4, p) for p in (0.001, 0.012, 0.03, 0.6))
    check = risk_check(rows)
    assert (check.n_cells, check.n_outside, check.n_rejected) == (4, 3, 2)
    assert check.p_value == pytest.approx(0.004)
    assert check.worst is not None
    # Gaps below 3 percentage points are no reason to reject a model, however small the p-value.
    small = risk_check(tuple(risk_row(0.3, 0.32, 1e-9) for _ in range(4)))
    assert small.n_rejected == 4
    assert small.worst is None
    assert np.isnan(risk_check(()).p_value)


def test_the_verdict_does_not_contradict_the_table_of_risks(clinical):
    settings, said = clinical.settings, "and the predicted quantiles show no sign of miscalibration"
    evaluation = replace(
        clinical.evaluation,
        is_calibrated=True,
        calibration=said,
        verdict=f"{clinical.evaluation.ranking}, {said}. All is said.",
    )
    wrong = (*clinical.risks, risk_row(0.12, 0.31, 1e-6))
    said = page_verdict(evaluation, risk_check(wrong), settings)
    assert "no sign of miscalibration" not in said
    assert "but predicted risks are not calibrated: by 365 days 12 % of the lowest third" in said
    assert "and 31 % had (p < 0.001 after correction for 9 comparisons)." in said
    assert said.endswith("All is said.")
    right = tuple(replace(row, p_value=0.5) for row in clinical.risks)
    said = page_verdict(evaluation, risk_check(right), settings)
    assert evaluation.calibration in said
    assert "All 8 predicted risks of the table lie inside the 95 % limits" in said
    few = (*right[:-1], replace(right[-1], p_value=0.03))
    said = page_verdict(evaluation, risk_check(few), settings)
    assert "1 of 8 predicted risks of the table lie outside" in said
    assert "after correction for their number none does." in said


def test_a_group_without_events_has_limits_with_a_width():
    X, (time, event) = new_rows()
    early = np.sort(time[event])[0]
    facts = report_facts(plain(), X[["temp", "load"]], (time, event), horizons=[0.9 * early],
                         n_resamples=2)  # fmt: skip
    for row in facts.risks:
        assert row.observed == 0.0
        assert row.low == 0.0
        assert row.high == pytest.approx(1 - 0.025 ** (1 / (row.n_rows)), rel=0.05)


def test_very_many_rows_are_scored_by_a_sample_that_the_facts_name(monkeypatch):
    from censquant.report import _facts

    monkeypatch.setattr(_facts, "_MOST_SCORED", 60)
    monkeypatch.setattr(_facts, "_MOST_SHUFFLED", 40)
    X, y = new_rows()
    facts = report_facts(plain(), X[["temp", "load"]], y, n_resamples=2)
    assert facts.evaluation.n_rows == 60
    assert facts.n_shuffled == 40
    assert facts.cohort.n_rows == len(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "clinic"}, "preset must be one of 'clinical', 'reliability', got 'clinic'."),
        ({"ahead": [0.0]}, "ahead must be positive times, got [0.0]."),
        ({"horizons": [-1.0]}, "horizons must be positive times, got [-1.0]."),
        ({"horizons": [1e9]}, "horizons must not lie past the longest follow-up, "),
        ({"individuals": [100]}, "individuals must be row numbers from 0 to 99, got 100."),
        ({"individuals": "running"}, "individuals must be row numbers in a report with preset="),
        ({"labels": ["a"]}, "labels must have one name per row, got 1 for 100."),
        ({"age": -1.0}, "age must be a time of 0 or more, got -1 in row 0."),
        ({"risk": 1.0}, "risk must be"),
        ({"early_cost": 1.0}, "early_cost and late_cost must be given together, got no late_cost."),
        ({"as_of": "2026-01-01"}, "as_of needs a unit of calendar time, one of seconds, minutes, "),
        ({"as_of": "soon", "unit": "days"}, "as_of must be a date such as 2024-06-30, got 'soon'."),
    ],
)
def test_wrong_settings_are_one_sentence(options, message):
    X, y = new_rows()
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        report_facts(plain(), X[["temp", "load"]], y, **options)


def test_models_without_a_distribution_or_of_the_other_censoring_are_refused():
    X, y = new_rows()
    numbers = X[["temp", "load"]]
    model = CQRNN([0.5], max_epochs=1, hidden_layer_sizes=(2,)).fit(numbers, y)
    with pytest.raises(ValueError, match=r"must predict at least two quantiles, got a CQRNN"):
        report_facts(model, numbers, y)
    with pytest.raises(ValueError, match=r"model must be fitted with censoring='right', got"):
        report_facts(CoxQuantileRegressor(censoring="left").fit(numbers, y), numbers, y)


def test_risks_have_a_curve_and_scores_a_line_for_each_level():
    X, y = new_rows()
    groups = np.arange(len(X)) // 4
    facts = report_facts(
        calibrated(), X, y, horizons=HORIZONS, by="site", groups=groups, n_resamples=10
    )
    plain = report_facts(calibrated(), X, y, horizons=HORIZONS, n_resamples=10)
    assert [one.time for one in facts.calibration] == list(HORIZONS)
    risk = 1.0 - calibrated().predict_survival_function(X, HORIZONS[-1:], return_array=True)[:, 0]
    expected = calibration_at(risk, None, y, HORIZONS[-1], groups=groups)
    assert facts.calibration[-1].ici == pytest.approx(expected.ici)
    np.testing.assert_allclose(facts.calibration[-1].lower, expected.lower)
    assert not np.allclose(plain.calibration[-1].lower, expected.lower)
    assert list(facts.evaluation.by) == ["missing", "north", "south", "west"]
    assert plain.evaluation.by == {}
    tables = tables_of(facts)
    assert [row[0].text for row in tables["by-level"].rows] == [
        label for label, one in facts.evaluation.by.items() if one.n_rows >= 10
    ]
    assert len(tables["risk-calibration"].rows) == len(HORIZONS)
    assert "by-level" not in tables_of(plain)
