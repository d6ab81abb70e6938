"""Numbers of failures to expect: the Poisson-binomial distribution of the predicted risks."""

import re
from datetime import date

import numpy as np
import pytest
from scipy.stats import binom, nbinom

from censquant import CoxQuantileRegressor
from censquant.exceptions import ExtrapolationWarning
from censquant.inspection import ExpectedFailures, expected_failures
from censquant.quantiles import QuantileCurve


def exponential(means):
    """Curves of units that do not age, whose risk is known whatever their age."""
    levels = np.linspace(0.001, 0.999, 999)
    return QuantileCurve(np.outer(means, -np.log1p(-levels)), levels, 0.0)


@pytest.mark.parametrize("n_units", [5, 64, 65, 700])
def test_limits_for_equal_units_are_those_of_the_binomial_distribution(n_units):
    found = ExpectedFailures.of(exponential(np.full(n_units, 100.0)), 0.0, [10.0, 70.0])
    for row in found.rows:
        risk = 1 - np.exp(-row.horizon / 100)
        assert row.expected == pytest.approx(n_units * risk, rel=1e-4)
        assert (row.low, row.high) == tuple(binom.ppf([0.025, 0.975], n_units, risk))
        assert row.spares == binom.ppf(0.95, n_units, risk)
        assert row.supported == 1.0


def test_limits_for_unequal_units_are_those_of_simulated_failures():
    rng = np.random.default_rng(0)
    means, age = rng.uniform(20.0, 2000.0, 300), rng.uniform(0.0, 100.0, 300)
    row = ExpectedFailures.of(exponential(means), age, [50.0], confidence=0.8).rows[0]
    counts = (rng.exponential(means, (20_000, 300)) < 50.0).sum(axis=1)
    assert row.expected == pytest.approx(counts.mean(), rel=0.01)
    assert np.abs(np.quantile(counts, [0.1, 0.9]) - [row.low, row.high]).max() <= 1


def test_most_of_the_simulated_fleets_fail_as_often_as_said():
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 1))
        life = 1000.0 * np.exp(-0.5 * X[:, 0]) * rng.weibull(2.0, 900)
        end = rng.uniform(0.0, 2500.0, 900)
        y = np.minimum(life, end), life <= end
        running = np.flatnonzero(~y[1])[:60]  # few, so that chance outweighs the error of the model
        row = expected_failures(CoxQuantileRegressor().fit(X, y), X[running], y[0][running], 200.0)
        failed = int((life[running] < y[0][running] + 200.0).sum())
        inside.append(row.rows[0].low <= failed <= row.rows[0].high)
    assert np.mean(inside) > 0.8


def test_units_past_follow_up_are_told():
    curve = exponential(np.full(4, 100.0)).with_reach([0.9, 0.9, 0.2, 0.2])
    found = ExpectedFailures.of(curve, 10.0, [1.0, 50.0, 500.0])
    assert [row.supported for row in found.rows] == [1.0, 0.5, 0.0]


def test_a_number_that_rests_on_the_tail_is_warned_of():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(100, 1)), rng.exponential(size=100).clip(max=2)
    model = CoxQuantileRegressor().fit(X, (time, time < 2))
    message = "Follow-up supports the risk within 50 of 0 % of the units only, and the numbers of "
    with pytest.warns(ExtrapolationWarning, match=re.escape(message)):
        expected_failures(model, X, 0.5, [0.1, 50.0])


def test_a_fleet_without_units_expects_nothing():
    row = ExpectedFailures.of(exponential(np.empty(0)), 0.0, [10.0]).rows[0]
    assert (row.expected, row.low, row.high, row.supported) == (0.0, 0, 0, 1.0)


def test_it_is_a_table_and_a_frame():
    found = ExpectedFailures.of(exponential(np.full(20, 100.0)), 0.0, [10.0, 70.0])
    assert str(found).splitlines()[0] == "20 units"
    assert len(str(found).splitlines()) == 4
    frame = found.to_frame()
    names = "horizon expected low high supported spares group n_units"
    assert frame.columns.tolist() == names.split()
    assert found._repr_html_().count("<tr>") == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"horizons": [0.0]}, "horizons must be positive times, got [0.0]."),
        ({"horizons": [np.inf]}, "horizons must be positive times, got [inf]."),
        ({"elapsed": -1.0}, "elapsed must be a time of 0 or more, got -1 in row 0."),
        ({"elapsed": [1.0, 2.0]}, "elapsed must be a number or have shape (50,), got (2,)."),
        ({"confidence": 1.0}, "confidence must be"),
    ],
)
def test_wrong_arguments_are_one_sentence(changed, message):
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = CoxQuantileRegressor().fit(X, (np.arange(1.0, 51.0), np.ones(50, dtype=bool)))
    options = {"elapsed": 0.0, "horizons": [5.0], **changed}
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        expected_failures(model, X, **options)


def test_a_model_of_left_censored_times_is_refused():
    X = np.random.default_rng(0).normal(size=(50, 1))
    y = np.arange(1.0, 51.0), np.ones(50, dtype=bool)
    model = CoxQuantileRegressor(censoring="left").fit(X, y)
    with pytest.raises(ValueError, match=r"^model must be fitted with censoring='right', got"):
        expected_failures(model, X, 0.0, [5.0])


def fleet(seed, n_units=500):
    """A fleet of Weibull lives that was sold over some years, a model of it, and its future."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_units, 2))
    life = 1000.0 * np.exp(-0.5 * X[:, 0]) * rng.weibull(2.0, n_units)
    age = rng.uniform(0.0, 1600.0, n_units)
    time, event = np.minimum(life, age), life <= age
    return X, time, event, life, CoxQuantileRegressor().fit(X, (time, event))


def test_a_risk_learned_from_few_failures_gives_limits_of_a_negative_binomial():
    # Rare failures with a gamma factor of shape k: by textbook a negative binomial.
    curve, seen = exponential(np.full(4000, 10_000.0)), np.full(40, 20.0)
    y_train = np.append(seen, np.full(500, 100.0)), np.arange(540) < 40
    row = ExpectedFailures.of(curve, 0.0, [50.0], y_train=y_train).rows[0]
    mean = 4000 * -np.expm1(-50.0 / 10_000.0)
    shape = 40.5
    low, high = nbinom.ppf([0.025, 0.975], shape, shape / (shape + mean))
    assert abs(row.low - low) <= 1
    assert abs(row.high - high) <= 1
    alone = ExpectedFailures.of(curve, 0.0, [50.0]).rows[0]
    assert row.low < alone.low < alone.high < row.high
    assert row.expected == alone.expected


def test_groups_add_up_and_each_has_its_own_uncertainty():
    X, time, event, _, model = fleet(0)
    site = np.where(X[:, 1] > 0.5, "north", "south")
    running = ~event
    ask = (model, X[running], time[running], [90.0, 180.0])
    found = expected_failures(*ask, by=site[running], y_train=(time, event), by_train=site)
    rows = {(row.group, row.horizon): row for row in found.rows}
    for horizon in (90.0, 180.0):
        parts = [rows[name, horizon] for name in ("north", "south")]
        assert sum(row.expected for row in parts) == pytest.approx(rows["all", horizon].expected)
        assert sum(row.n_units for row in parts) == rows["all", horizon].n_units == running.sum()
        widths = [(row.high - row.low) / row.expected for row in (*parts, rows["all", horizon])]
        assert widths[0] > widths[1] > widths[2]  # the north is the smallest
    assert found.n_learned == event.sum()
    assert str(found).splitlines()[1].split()[:3] == ["group", "units", "horizon"]
    assert "north" in found._repr_html_()


def test_a_group_called_all_is_told_from_the_line_of_all_units():
    y_train = np.full(30, 20.0), np.ones(30, dtype=bool)
    found = ExpectedFailures.of(
        exponential(np.full(200, 100.0)), 0.0, [9.0], groups=["all"] * 200, y_train=y_train,
        groups_train=["all"] * 30,
    )  # fmt: skip
    everybody, group = found.rows
    assert (everybody.group, group.group) == ("all", "group all")
    assert everybody.expected == group.expected
    assert group.high > everybody.high  # with the uncertainty of its own level


def test_dates_are_ages():
    X, time, event, _, model = fleet(1, 200)
    running = ~event
    age = np.floor(time[running])
    start = np.datetime64("2024-06-30") - age.astype("timedelta64[D]")
    given = expected_failures(model, X[running], age, 90.0)
    for dates in (start, start.astype(str), list(start.astype(object))):
        found = expected_failures(model, X[running], dates, 90.0, as_of="2024-06-30")
        assert found.rows == given.rows
    months = expected_failures(
        model, X[running], start, 3.0, as_of=date(2024, 6, 30), unit="months"
    )
    elapsed = age / (365.25 / 12)
    assert months.rows == expected_failures(model, X[running], elapsed, 3.0).rows


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"elapsed": ["2024-01-01"] * 50},
            "as_of must be the day up to which the units have lasted where elapsed are dates, got "
            "None: pass as_of='2024-06-30', or the ages as numbers.",
        ),
        (
            {"elapsed": ["2024-01-01"] * 49 + ["2025-01-01"], "as_of": "2024-06-30"},
            "elapsed must hold dates up to as_of (2024-06-30), got 2025-01-01 in row 49.",
        ),
        (
            {"elapsed": ["2024-01-01"] * 50, "as_of": "soon"},
            "as_of must be a date such as 2024-06-30, got 'soon'.",
        ),
        (
            {"elapsed": ["new"] * 50, "as_of": "2024-06-30"},
            "elapsed must hold times or dates such as 2024-06-30, got 'new'.",
        ),
        (
            {"by": np.arange(50) % 2, "y_train": (np.ones(3), np.ones(3, dtype=bool))},
            "by_train must have the groups of the rows of y_train where by is given, got None: "
            "pass them, or leave out y_train for limits that contain chance alone.",
        ),
        (
            {"by": [1, 2]},
            "by must be a column or have one group for each of 50 rows, got shape (2,).",
        ),
        (
            {"by": "site"},
            "feature must be one of the columns 'x0', got 'site'.",
        ),
        ({"service_level": 0.0}, "service_level must be finite and inside (0, 1), got 0.0."),
    ],
)
def test_wrong_dates_and_groups_are_one_sentence(changed, message):
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = CoxQuantileRegressor().fit(X, (np.arange(1.0, 51.0), np.ones(50, dtype=bool)))
    options = {"elapsed": 0.0, "horizons": [5.0], **changed}
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        expected_failures(model, X, **options)


def test_too_many_groups_are_one_sentence():
    with pytest.raises(ValueError, match=r"^by must have at most 100 groups, got 120: name a col"):
        ExpectedFailures.of(
            exponential(np.full(120, 9.0)), 0.0, [1.0], groups=[f"g{k}" for k in range(120)]
        )


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [90.0, 270.0])
def test_of_500_simulated_fleets_93_to_97_in_100_fail_as_often_as_said(horizon):
    inside = []
    for seed in range(500):
        X, time, event, life, model = fleet(seed, 800)
        running = ~event
        row = expected_failures(
            model, X[running], time[running], horizon, y_train=(time, event)
        ).rows[0]
        failed = int((life[running] <= time[running] + horizon).sum())
        inside.append(row.low <= failed <= row.high)
    assert 0.93 <= np.mean(inside) <= 0.97
