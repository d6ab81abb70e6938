"""Simulated calibration rows with a known truth: log-normal times, two censoring mechanisms."""

import numpy as np
from scipy.special import ndtr, ndtri

from censquant._calibration._censoring import CommonCensoring, ModelledCensoring
from censquant._calibration._family import Recalibration
from censquant._calibration._rules import CalibrationRows
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival import Target, censoring_kaplan_meier

LEVELS = np.array(CURVE_QUANTILES)


def lognormal_curve(mean, deviation):
    """Curves of log-normal times with these parameters of the logarithm."""
    return QuantileCurve(np.exp(mean[:, None] + deviation * ndtri(LEVELS)), LEVELS, 0.0)


def exponential_curve(rate):
    """Curves of exponential times."""
    return QuantileCurve(-np.log1p(-LEVELS) / rate[:, None], LEVELS, 0.0)


class Simulation:
    """Rows of T = exp(x + N(0, 1)), and C exponential with a rate that may depend on x."""

    def __init__(self, n=4000, seed=0, slope=0.0, rate=0.3):
        rng = np.random.default_rng(seed)
        self.x = rng.uniform(-1, 1, size=n)
        self.time = np.exp(self.x + rng.standard_normal(n))
        self.rate = rate * np.exp(slope * self.x)
        self.censoring_time = rng.exponential(1 / self.rate)
        event = self.time <= self.censoring_time
        self.target = Target(np.minimum(self.time, self.censoring_time), event)

    def rows(self, *, shift=0.0, deviation=1.0, slope=1.0, censoring="true", known=False):
        """Calibration rows with an event model that may be wrong, and one of three censorings."""
        curve = lognormal_curve(slope * self.x + shift, deviation)
        n = len(self.x)
        weight = np.ones(n)
        if censoring == "true":
            curves = ModelledCensoring(exponential_curve(self.rate))
        elif censoring == "wrong":
            curves = ModelledCensoring(exponential_curve(np.full(n, 0.01)))
        else:
            steps = censoring_kaplan_meier(self.target.time, self.target.event)
            curves = CommonCensoring(steps, n)
        model = Recalibration.fit(curve, self.target, weight).curve(curve)
        times = self.censoring_time if known else None
        return CalibrationRows(self.target, curve, curves, weight, model, times)

    def miscoverage(self, bounds):
        """True share of events before bounds."""
        with np.errstate(divide="ignore"):
            return ndtr(np.log(bounds) - self.x).mean()
