"""Bounds agree with quantiles and with each other, and hold for those at the highest risk too."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtr

from censquant import BaseQuantileRegressor, ConformalSurvivalRegressor
from censquant._calibration._methods import METHODS
from censquant.exceptions import FewEventsWarning, IdentifiabilityWarning
from censquant.quantiles import QuantileCurve
from conformal_rows import lognormal_curve

CONFIDENCES = [0.3, 0.5, 0.63, 0.7, 0.8, 0.9, 0.95, 0.996]
AGES = {"new": None, "survivors": 2.0}
# Follow-up is short: most lower bounds are limited by it, and upper bounds of high confidence are
# infinite. Tests below say when that is warned of.
pytestmark = [
    pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning"),
    pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning"),
]


class ShortFollowUp:
    """Log-normal times in years; nobody is followed for more than ten, so that few have events."""

    def __init__(self, n, seed, *, depends=False):
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(-1, 1, (n, 1))
        time = np.exp(self.mean(self.X) + 0.8 * rng.standard_normal(n))
        self.censoring_time = rng.uniform(4, 10, n)
        if depends:  # those at low risk are followed for less time
            self.censoring_time *= np.exp(0.7 * self.X[:, 0] - 0.7)
        self.y = np.minimum(time, self.censoring_time), time <= self.censoring_time

    @staticmethod
    def mean(X):
        return 3.2 - 2.2 * X[:, 0]

    def survival(self, times):
        with np.errstate(divide="ignore"):
            return ndtr((self.mean(self.X) - np.log(times)) / 0.8)


class TooLate(BaseQuantileRegressor):
    """Orders individuals well, and puts all of them too late."""

    def fit(self, X, y):
        self.n_features_in_ = 1
        return self

    def predict_curve(self, X):
        return lognormal_curve(ShortFollowUp.mean(np.asarray(X)) + 0.3, 0.7)


TRAIN, TEST = ShortFollowUp(1500, 1), ShortFollowUp(2000, 2)


def fitted(method, train=TRAIN, **options):
    options = {"censoring_estimator": "kaplan-meier", "cv": 2, "random_state": 0} | options
    time, event = train.y
    if METHODS[method].refuses_censoring:
        event = np.ones(len(time), dtype=bool)
    model = ConformalSurvivalRegressor(TooLate(), method, **options)
    return model.fit(train.X, (time, event), censoring_time=train.censoring_time)


def bounds_of(model, X, side, elapsed):
    ask = model.predict_lower_bound if side == "lower" else model.predict_upper_bound
    return np.column_stack([ask(X, confidence=one, elapsed=elapsed) for one in CONFIDENCES])


def quantiles_of(model, X, levels, elapsed):
    curve = model.predict_curve(X)
    return curve.at(levels) if elapsed is None else elapsed + curve.remaining(elapsed, levels)


@pytest.mark.parametrize("elapsed", AGES.values(), ids=AGES)
@pytest.mark.parametrize("method", METHODS)
def test_bounds_agree_with_quantiles_and_with_each_other(method, elapsed):
    model, levels = fitted(method), np.array(CONFIDENCES)
    lower = bounds_of(model, TEST.X, "lower", elapsed)
    upper = bounds_of(model, TEST.X, "upper", elapsed)
    assert (lower <= quantiles_of(model, TEST.X, (1 - levels).round(12), elapsed)).all()
    assert (upper >= quantiles_of(model, TEST.X, levels, elapsed)).all()
    if method != "candes":  # whose cutoff depends on the confidence
        assert (lower[:, 1:] <= lower[:, :-1]).all()
    assert (upper[:, 1:] >= upper[:, :-1]).all()
    pairs = itertools.product(range(len(levels)), repeat=2)
    low, high = zip(*[pair for pair in pairs if levels[list(pair)].sum() > 1], strict=True)
    assert (lower[:, low] <= upper[:, high]).all()
    for coverage in (0.2, 0.5, 0.8):
        ends = model.predict_interval(TEST.X, coverage, elapsed=elapsed)
        assert (ends[:, 0] <= ends[:, 1]).all()


@pytest.mark.parametrize("elapsed", AGES.values(), ids=AGES)
@pytest.mark.parametrize("method", ["aipcw", "ipcw", "gui"])
@pytest.mark.parametrize("depends", [False, True])
def test_the_fifth_at_the_highest_risk_is_covered_too(method, elapsed, depends):
    train = ShortFollowUp(1500, 1, depends=depends)
    given = None if depends else "kaplan-meier"
    model = fitted(method, train, censoring_estimator=given)
    riskiest = np.argsort(model.predict_curve(TEST.X).at([0.25])[:, 0])[: len(TEST.X) // 5]
    before = 1.0 if elapsed is None else TEST.survival(elapsed)
    for confidence in (0.5, 0.7, 0.8, 0.9):
        bound = model.predict_lower_bound(TEST.X, confidence, elapsed=elapsed)
        kept = np.average((TEST.survival(bound) / before)[riskiest])
        assert kept > confidence - 0.05


def test_left_censored_bounds_agree_with_quantiles():
    class Mirrored(TooLate):
        censoring = "left"

        def predict_curve(self, X):
            late = super().predict_curve(X)
            return QuantileCurve(-late.values[:, ::-1], (1 - late.taus[::-1]).round(12))

    model = ConformalSurvivalRegressor(
        Mirrored(), cv=2, censoring_estimator="kaplan-meier", random_state=0
    )
    model.fit(TRAIN.X, (-TRAIN.y[0], TRAIN.y[1]))
    levels = np.array(CONFIDENCES)
    lower = bounds_of(model, TEST.X, "lower", None)
    upper = bounds_of(model, TEST.X, "upper", None)
    assert (lower <= model.predict_curve(TEST.X).at((1 - levels).round(12))).all()
    assert (upper >= model.predict_curve(TEST.X).at(levels)).all()
    assert (lower[:, levels > 0.5] <= upper[:, levels > 0.5]).all()


def test_an_upper_bound_of_survivors_that_no_row_supports_is_infinite():
    with pytest.warns(FewEventsWarning, match="do not support upper bounds"):
        bound = fitted("aipcw").predict_upper_bound(TEST.X[:5], confidence=0.99, elapsed=3.9)
    assert np.isinf(bound).all()


def test_a_frame_says_which_bounds_follow_up_limits_and_what_these_are_worth():
    model, rows = fitted("aipcw"), pd.DataFrame(TEST.X, columns=["x"], index=range(5, 2005))
    end = model.follow_up_of(TEST.X)
    for elapsed in AGES.values():
        bound = model.predict_lower_bound(TEST.X, 0.7, elapsed=elapsed)
        found = model.predict_lower_bound(rows, 0.7, elapsed=elapsed, output="frame")
        assert list(found) == ["bound", "limited", "confidence"]
        assert found.index.equals(rows.index)
        np.testing.assert_array_equal(found["bound"], bound)
        np.testing.assert_array_equal(found["limited"], bound == end)
        assert 0.2 < found["limited"].mean() < 0.9
        curve = model.predict_curve(TEST.X)
        left = 1 - curve.cdf(bound)
        if elapsed is not None:
            left /= 1 - curve.cdf(np.full(2000, elapsed))
        worth = np.where(found["limited"], np.maximum(left, 0.7), 0.7)
        np.testing.assert_allclose(found["confidence"], worth)
        above = model.predict_upper_bound(rows, 0.3, elapsed=elapsed, output="frame")
        np.testing.assert_array_equal(above["limited"], np.isinf(above["bound"]))
        np.testing.assert_array_equal(above["confidence"], np.where(above["limited"], 1.0, 0.3))
    polars = model.predict_lower_bound(pl.DataFrame({"x": TEST.X[:3, 0]}), output="frame")
    assert polars.columns == ["bound", "limited", "confidence"]


def test_bounds_that_mostly_end_with_follow_up_are_warned_of_once():
    model = fitted("aipcw")
    message = (
        r"^1,\d\d\d of 2,000 lower bounds of confidence 0\.5 end where follow-up does: they hold "
        r"with more than 0\.5\. See limited in output='frame'\.$"
    )
    with pytest.warns(IdentifiabilityWarning, match=message) as caught:
        model.predict_lower_bound(TEST.X, 0.5)
    assert len(caught) == 1
    with pytest.warns(IdentifiabilityWarning) as caught:
        model.predict_interval(TEST.X, 0.05)
    assert [one.category for one in caught].count(IdentifiabilityWarning) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentifiabilityWarning)
        model.predict_lower_bound(TEST.X, 0.95)


def test_coverage_says_how_many_bounds_are_limited_and_how_the_others_do():
    model = fitted("aipcw")
    for confidence in (0.5, 0.7, 0.9):
        row = model.coverage_.at(confidence)
        found = model.predict_lower_bound(TRAIN.X, confidence, output="frame")
        assert row.limited == pytest.approx(found["limited"].mean(), abs=0.01)
        assert row.estimate > row.unlimited - 0.02
        assert row.unlimited == pytest.approx(confidence, abs=0.03) or row.unlimited > confidence
    assert str(model.coverage_).splitlines()[0].split()[-3:] == ["limited", "unlimited", "group"]
    assert {"limited", "unlimited"} <= set(model.coverage_.to_frame())


def test_a_survivor_of_no_time_at_all_is_anybody():
    model = fitted("aipcw")
    for side in ("lower", "upper"):
        np.testing.assert_allclose(
            bounds_of(model, TEST.X, side, 0.0), bounds_of(model, TEST.X, side, None)
        )
