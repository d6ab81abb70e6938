"""Bounds agree with quantiles and with each other, and hold for those at the highest risk too."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from censquant import ConformalSurvivalRegressor, QuantileRegressor
from censquant.calibration import METHODS
from censquant.exceptions import FewEventsWarning
from censquant.quantiles import QuantileCurve
from conformal_rows import lognormal_curve

CONFIDENCES = [0.3, 0.5, 0.63, 0.7, 0.8, 0.9, 0.95, 0.996]
AGES = {"new": None, "survivors": 2.0}
# Too few events for upper bounds of high confidence: those are infinite.
ignored = pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")


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


class TooLate(QuantileRegressor):
    """Orders individuals well, and puts all of them too late."""

    def fit(self, X, y):
        self.n_features_in_ = 1
        return self

    def predict_curve(self, X):
        return lognormal_curve(ShortFollowUp.mean(X) + 0.3, 0.7)


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


@ignored
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


@ignored
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


@ignored
def test_a_survivor_of_no_time_at_all_is_anybody():
    model = fitted("aipcw")
    for side in ("lower", "upper"):
        np.testing.assert_allclose(
            bounds_of(model, TEST.X, side, 0.0), bounds_of(model, TEST.X, side, None)
        )
