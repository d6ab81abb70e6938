"""Corrections keep their promise where their assumption holds, and say where it does not."""

import numpy as np
import pytest

from censquant._calibration._censoring import CommonCensoring, ModelledCensoring
from censquant._calibration._family import BoundFamily
from censquant._calibration._methods import METHODS
from censquant._calibration._rules import (
    CalibrationRows,
    IndexRule,
    estimated_coverages,
    trivial_rule,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import Target, censoring_kaplan_meier
from conformal_rows import LEVELS, Simulation, lognormal_curve


def bounds_of(name, rows, missed=0.1, side="lower"):
    rule = METHODS[name].calibrated(rows, side).rule(missed)
    return rule.bounds(rows.curve, rows.censoring)


@pytest.mark.parametrize("name", ["aipcw", "ipcw", "km-pit", "drcosarc", "gui", "candes"])
@pytest.mark.parametrize(("shift", "deviation"), [(0.0, 1.0), (0.5, 0.5), (-0.5, 2.0)])
def test_every_method_corrects_a_miscalibrated_model(name, shift, deviation):
    simulation = Simulation(seed=1)
    rows = simulation.rows(shift=shift, deviation=deviation, known=True)
    missed = simulation.miscoverage(bounds_of(name, rows))
    too_cautious = 0.1 if name == "drcosarc" else 0.03  # never above the model's own quantile
    assert 0.1 - too_cautious < missed < 0.125


@pytest.mark.parametrize("name", ["aipcw", "ipcw", "km-pit"])
def test_upper_bounds_miss_a_tenth_of_those_that_are_finite(name):
    simulation = Simulation(seed=2, rate=0.02)
    rows = simulation.rows(shift=-0.5)
    bounds = bounds_of(name, rows, side="upper")
    finite = np.isfinite(bounds)
    assert finite.mean() > 0.5
    later = (simulation.time > bounds)[finite].mean()
    assert 0.07 < later < 0.12


def test_upper_bounds_are_infinite_past_the_follow_up():
    simulation = Simulation(seed=3, rate=1.0)
    assert np.isinf(bounds_of("aipcw", simulation.rows(), missed=0.02, side="upper")).all()


def test_lower_bounds_end_with_the_follow_up_of_similar_rows():
    simulation = Simulation(seed=4, slope=2.0, rate=1.0)
    rows = simulation.rows()
    end = rows.censoring.followed_until(0.1)
    assert (bounds_of("aipcw", rows, missed=0.6) <= end).all()


@pytest.mark.parametrize(
    ("options", "worst"),
    [
        ({"censoring": "wrong"}, 0.02),  # the event model is right
        ({"slope": -1.0}, 0.02),  # the censoring model is right
    ],
)
def test_one_right_model_is_enough_for_aipcw(options, worst):
    simulation = Simulation(n=8000, seed=5, slope=1.0)
    missed = simulation.miscoverage(bounds_of("aipcw", simulation.rows(**options)))
    assert abs(missed - 0.1) < worst


def test_ipcw_needs_the_right_censoring_model():
    simulation = Simulation(seed=5, slope=1.0, rate=0.6)
    right, wrong = (
        simulation.miscoverage(bounds_of("ipcw", simulation.rows(censoring=kind), 0.3))
        for kind in ("true", "wrong")
    )
    assert right == pytest.approx(0.3, abs=0.03)
    assert wrong > 0.34


def test_a_model_without_a_level_that_is_low_enough_is_stretched():
    simulation = Simulation(seed=6)
    rows = simulation.rows(shift=2.0, deviation=0.05)
    assert simulation.miscoverage(rows.curve.at([0.001])[:, 0]) > 0.5
    missed = simulation.miscoverage(bounds_of("aipcw", rows))
    assert 0.075 < missed < 0.115


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_split_is_the_order_statistic_of_split_conformal_prediction(side):
    rng = np.random.default_rng(7)
    n, missed = 99, 0.1
    time = rng.exponential(size=n)
    curve = QuantileCurve(np.tile(-np.log1p(-LEVELS), (n, 1)), LEVELS, 0.0)
    censoring = CommonCensoring(censoring_kaplan_meier(time, np.ones(n, dtype=bool)), n)
    rows = CalibrationRows(Target(time, np.ones(n, dtype=bool)), curve, censoring, np.ones(n))
    bounds = bounds_of("split", rows, missed, side)
    # All curves are equal, so that the bound is a time of the rows themselves.
    expected = np.sort(time)[9 if side == "lower" else -10]
    np.testing.assert_allclose(bounds, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["aipcw", "ipcw", "km-pit"])
def test_without_censoring_others_are_nearly_split_conformal(name):
    rng = np.random.default_rng(8)
    n = 2000
    x = rng.uniform(-1, 1, n)
    time = np.exp(x + rng.standard_normal(n))
    event = np.ones(n, dtype=bool)
    censoring = CommonCensoring(censoring_kaplan_meier(time, event), n)
    rows = CalibrationRows(
        Target(time, event), lognormal_curve(x + 0.3, 0.7), censoring, np.ones(n)
    )
    ours, split = ((time < bounds_of(each, rows)).mean() for each in (name, "split"))
    assert split == pytest.approx(0.1, abs=2 / n)  # the 200th of 2,000 is not missed itself
    assert split - 0.008 < ours <= split  # half a standard error more careful


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_move_out_with_the_share_that_may_be_missed(name, side):
    if side not in METHODS[name].sides:
        return
    simulation = Simulation(n=1500, seed=9, rate=0.1)
    rows = simulation.rows(known=True)
    if METHODS[name].refuses_censoring:
        rows = CalibrationRows(
            Target(simulation.time, np.ones(1500, dtype=bool)),
            rows.curve,
            rows.censoring,
            rows.weight,
        )
    few, many = (bounds_of(name, rows, missed, side) for missed in (0.1, 0.4))
    assert (few <= many).all() if side == "lower" else (few >= many).all()


@pytest.mark.parametrize("name", ["aipcw", "ipcw", "km-pit", "drcosarc", "candes", "gui"])
def test_few_events_leave_the_trivial_bound(name):
    simulation = Simulation(n=60, seed=10, rate=2.0)
    assert simulation.target.n_events < 30
    rows = simulation.rows(known=True)
    np.testing.assert_array_equal(bounds_of(name, rows), 0.0)


def test_more_confidence_than_rows_can_show_leaves_the_trivial_bound():
    rows = Simulation(n=150, seed=11, rate=0.1).rows()
    np.testing.assert_array_equal(bounds_of("aipcw", rows, 0.001), 0.0)


def test_survivors_are_promised_what_survivors_get():
    simulation = Simulation(n=8000, seed=12, slope=0.5)
    rows = simulation.rows(shift=0.4)
    age = 1.5
    rule = METHODS["aipcw"].calibrated(rows, "lower", age).rule(0.1)
    elapsed = np.full(len(rows), age)
    bounds = rule.bounds(rows.curve, rows.censoring, elapsed)
    alive = simulation.time > age
    assert (bounds >= age).all()
    # Some thousand rows are left at that age: within two standard errors.
    assert 0.07 < (simulation.time < bounds)[alive].mean() < 0.12
    from_start = METHODS["aipcw"].calibrated(rows).rule(0.1).bounds(rows.curve, rows.censoring)
    assert (simulation.time < from_start)[alive].mean() < 0.03


def test_weights_count_rows():
    simulation = Simulation(n=1000, seed=13)
    once = simulation.rows(censoring="kaplan-meier")
    copies = np.arange(1000) % 3 + 1
    again = once.take(np.repeat(np.arange(1000), copies))
    weighted = CalibrationRows(
        once.target, once.curve, once.censoring, copies.astype(float), once.model
    )
    curves = [METHODS["aipcw"].calibrated(rows).estimate for rows in (again, weighted)]
    np.testing.assert_allclose(*curves, atol=1e-12)


def test_estimated_coverage_is_that_of_the_truth():
    simulation = Simulation(n=8000, seed=14)
    rows = simulation.rows(shift=0.3)
    bounds = rows.curve.at([0.1, 0.3])
    ((estimate, error),) = estimated_coverages(rows, [(bounds, "lower", None)])
    for place in range(2):
        truth = 1 - simulation.miscoverage(bounds[:, place])
        assert abs(estimate[place] - truth) < 3 * error[place] + 0.002


def test_an_event_at_its_lower_bound_is_covered():
    time = np.arange(1.0, 101.0)
    event = np.ones(100, dtype=bool)
    censoring = CommonCensoring(censoring_kaplan_meier(time, event), 100)
    curve = QuantileCurve(np.tile([10.0, 20.0], (100, 1)), [0.1, 0.2], 0.0)
    rows = CalibrationRows(Target(time, event), curve, censoring, np.ones(100))
    bounds = np.full((100, 1), 10.0)
    below, above = estimated_coverages(rows, [(bounds, "lower", None), (bounds, "upper", None)])
    assert below[0] == pytest.approx(0.91)
    assert above[0] == pytest.approx(0.10)


def test_the_trivial_rule_promises_nothing():
    curve = QuantileCurve([[1.0, 2.0]], [0.1, 0.5], 0.0)
    censoring = CommonCensoring(censoring_kaplan_meier([1.0], [True]), 1)
    assert trivial_rule("lower").bounds(curve, censoring) == 0.0
    assert trivial_rule("upper").bounds(curve, censoring) == np.inf
    assert trivial_rule("lower").bounds(curve, censoring, np.array([3.0])) == 3.0


def test_a_rule_reads_the_curve_at_its_index():
    curve = QuantileCurve([[1.0, 2.0]], [0.1, 0.5], 0.0)
    censoring = CommonCensoring(censoring_kaplan_meier([9.0], [True]), 1)
    assert IndexRule(0.5, "lower").bounds(curve, censoring) == 2.0
    assert BoundFamily(curve).at([0.5]) == 2.0


def joined(first, second, part):
    return np.concatenate([getattr(first, part), getattr(second, part)])


@pytest.mark.parametrize("name", ["aipcw", "ipcw"])
def test_rows_whose_bounds_are_cut_leave_nothing_of_the_promise_to_others(name):
    simulation = Simulation(n=2000, seed=15)
    rows, shares = simulation.rows(), np.linspace(0.02, 0.6, 30)
    calm = Simulation(n=2000, seed=16, rate=1e9).rows()  # censored at once, bounds and all
    both = CalibrationRows(
        Target(*(joined(rows.target, calm.target, part) for part in ("time", "event"))),
        QuantileCurve(joined(rows.curve, calm.curve, "values"), LEVELS, 0.0),
        ModelledCensoring(
            QuantileCurve(joined(rows.censoring.curve, calm.censoring.curve, "values"), LEVELS, 0.0)
        ),
        np.ones(4000),
        QuantileCurve(joined(rows.model, calm.model, "values"), LEVELS, 0.0),
    )
    alone, together = (
        [METHODS[name].calibrated(one).rule(share).index for share in shares]
        for one in (rows, both)
    )
    np.testing.assert_allclose(together, alone)
    assert (np.diff(together) >= 0).all()
