"""One line for each running unit: ages, risks, times and dates are those of the predictions."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from censquant import CoxQuantileRegressor
from censquant.inspection import fleet_table
from report_rows import calibrated_fleet, new_rows, plain


def running():
    X, (time, event) = new_rows()
    return X.loc[~event, ["temp", "load"]], time[~event]


def test_times_and_risks_are_those_of_the_model():
    X, age = running()
    model = plain()
    table = fleet_table(model, X, age, [30, 90], risk=0.2)
    assert table.index.equals(X.index)
    left = model.predict_remaining(X, age, [0.2], beyond="nan")[:, 0]
    assert (np.isnan(left) == table["limited"]).all()
    known = ~table["limited"].to_numpy()
    np.testing.assert_allclose(table["remaining"][known], left[known])
    curve = model.predict_curve(X)
    supported = table["supported"].to_numpy()
    np.testing.assert_allclose(table["remaining"][~known], supported[~known])
    risk = curve.risk_within(age, [30.0, 90.0])
    for place, horizon in enumerate((30.0, 90.0)):
        reached = supported > horizon + 1e-6
        found = table[f"risk_{horizon:g}"].to_numpy()
        np.testing.assert_allclose(found[reached], risk[reached, place])
        assert np.isnan(found[supported == 0]).all()
        # Where follow-up ends before, the risk is at least what is stated.
        cut = ~reached & (supported > 0)
        assert (found[cut] <= risk[cut, place] + 1e-9).all()


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
def test_times_of_a_calibrated_model_are_its_bounds_at_the_age():
    X, age = running()
    model = calibrated_fleet()
    table = fleet_table(model, X, age, 30)
    bound = model.predict_lower_bound(X, 0.9, elapsed=age)
    np.testing.assert_allclose(table["remaining"], np.maximum(bound - age, 0.0))


def test_dates_lie_as_far_ahead_as_times_are_left():
    X, age = running()
    installed = pd.Timestamp("2024-06-30") - pd.to_timedelta(np.floor(age), "D")
    table = fleet_table(plain(), X, installed, 30, as_of="2024-06-30")
    np.testing.assert_array_equal(table["age"], np.floor(age))
    ahead = (table["date"] - pd.Timestamp("2024-06-30")).dt.days
    np.testing.assert_array_equal(ahead, np.floor(table["remaining"]))
    weeks = fleet_table(plain(), X, age, 4, as_of="2024-06-30", unit="weeks")
    ahead = (weeks["date"] - pd.Timestamp("2024-06-30")).dt.days
    np.testing.assert_array_equal(ahead, np.floor(7 * weeks["remaining"]))


def test_a_frame_of_polars_gives_one():
    X, age = running()
    model = plain()
    found = fleet_table(model, pl.DataFrame(X.to_dict("list")), age, 30, as_of="2024-06-30")
    expected = fleet_table(model, X, age, 30, as_of="2024-06-30")
    assert isinstance(found, pl.DataFrame)
    assert found.columns == list(expected.columns)
    np.testing.assert_array_equal(found["remaining"], expected["remaining"])


def test_units_older_than_follow_up_have_no_risk_and_no_time():
    X, _ = running()
    table = fleet_table(plain(), X[:3], 1e6, 30)
    assert table["risk_30"].isna().all()
    assert (table["remaining"] == 0).all()
    assert table["limited"].all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"risk": 1.0}, "risk must be finite and inside (0, 1), got 1.0."),
        ({"horizons": []}, "horizons must be positive times, got []."),
        ({"unit": "moons", "as_of": "2024-06-30"}, "unit must be one of 'seconds', 'minutes',"),
    ],
)
def test_wrong_arguments_are_one_sentence(changed, message):
    X, age = running()
    options = {"elapsed": age, "horizons": 30, **changed}
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        fleet_table(plain(), X, **options)


def test_a_model_of_left_censored_times_is_refused():
    X = np.random.default_rng(0).normal(size=(50, 1))
    y = np.arange(1.0, 51.0), np.ones(50, dtype=bool)
    model = CoxQuantileRegressor(censoring="left").fit(X, y)
    with pytest.raises(ValueError, match=r"^model must be fitted with censoring='right', got"):
        fleet_table(model, X, 0.0, 5.0)
