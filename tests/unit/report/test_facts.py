"""Every number of a report is that of the model and the metrics."""

import re

import numpy as np
import pytest

from censquant import CQRNN, CoxQuantileRegressor
from censquant.inspection import expected_failures, permutation_importance
from censquant.metrics import coverage, evaluate, pit_band, pit_curve
from censquant.quantiles import CURVE_QUANTILES
from censquant.report import report_facts
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
    assert described.sentences[:-1] == model.estimator_.summary().sentences
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
