"""The verdict's rule on samples whose error is known."""

import numpy as np
import pytest
from scipy.special import ndtri

from censquant.metrics import evaluate
from censquant.metrics._calibration import a_calibration
from censquant.metrics._distortion import Distortion, fit_distortion
from censquant.quantiles import QuantileCurve
from censquant.survival import Target

TAUS = np.arange(1, 20) / 20
SEEDS = range(8)


def lognormal(x, levels):
    return np.exp(x + 0.5 * ndtri(levels))


def weibull(x, levels):
    return np.exp(x) * (-np.log1p(-levels)) ** (1 / 1.5)


FAMILIES = {"lognormal": lognormal, "weibull": weibull}
ERRORS = {
    "too early": lambda rows, median: 0.75 * rows,
    "too late": lambda rows, median: rows / 0.75,
    "too narrow": lambda rows, median: median * (rows / median) ** 0.6,
    "too wide": lambda rows, median: median * (rows / median) ** 1.6,
}


def sample(family, share, seed, n=1000):
    """Times with a share of them censored, and the true quantiles."""
    rng = np.random.default_rng(seed)
    x, level, end = rng.uniform(size=n), rng.uniform(size=n), rng.uniform(0.2, 1.0, size=n)
    time = FAMILIES[family](x, level)
    # The factor on the censoring times that censors the wanted share.
    end = end * np.quantile(time / end, 1.0 - share) if share else np.full(n, np.inf)
    y = Target(np.minimum(time, end), time <= end)
    assert abs(1 - y.event.mean() - share) < 0.01
    return y, FAMILIES[family](x[:, None], TAUS)


def found(y, rows):
    """What the verdict says: nothing where the quantiles count as calibrated."""
    if a_calibration((y.time, y.event), rows, TAUS).p_value >= 0.05:
        return None
    return fit_distortion(y, QuantileCurve(rows, TAUS)).words()


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("family", FAMILIES)
def test_errors_of_location_and_of_width_are_told_apart(family, share, error):
    said = []
    for seed in SEEDS:
        y, rows = sample(family, share, seed)
        said.append(found(y, ERRORS[error](rows, rows[:, 9:10])))
    # A second, smaller error may be named beside it, but the error itself is never missed.
    assert all(words and error in words for words in said)
    assert sum(words == (error,) for words in said) >= len(said) - 2


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("family", FAMILIES)
def test_true_quantiles_count_as_calibrated(family, share):
    said = [found(*sample(family, share, seed)) for seed in range(20)]
    # The test rejects one in twenty; four or more of twenty has a probability of 1.6 %.
    assert sum(words is not None for words in said) < 4


def test_two_errors_of_the_same_size_are_both_reported():
    y, rows = sample("lognormal", 0.3, 0)
    median = rows[:, 9:10]
    assert set(found(y, 0.9 * median * (rows / median) ** 0.6)) == {"too early", "too narrow"}


def test_exact_medians_with_narrow_quantiles_are_not_called_early():
    y, rows = sample("lognormal", 0.3, 1)
    narrow = rows[:, 9:10] * (rows / rows[:, 9:10]) ** 0.6
    pair = (y.time, y.event)
    verdict = evaluate(narrow, pair, None, pair, taus=TAUS, n_resamples=5, random_state=0).verdict
    assert "(p < 0.001): they are too narrow; " in verdict


def test_the_fit_recovers_shift_and_spread():
    y, rows = sample("lognormal", 0.4, 2, n=5000)
    # On the scale of levels the events of quantiles moved by 0.2 and halved are N(0.4, 2).
    halved = np.exp(np.log(rows[:, 9:10]) + 0.5 * np.log(rows / rows[:, 9:10]) - 0.1)
    fit = fit_distortion(y, QuantileCurve(halved, TAUS))
    assert fit.shift == pytest.approx(0.4, abs=4 * fit.shift_error)
    assert fit.spread == pytest.approx(np.log(2), abs=4 * fit.spread_error)
    assert fit.shift_error < 0.06
    assert fit.spread_error < 0.06


def test_rows_without_an_event_leave_the_fit_finite():
    y = Target(np.full(100, 2.0), np.zeros(100, dtype=bool))
    fit = fit_distortion(y, QuantileCurve(np.tile(TAUS, (100, 1)), TAUS))
    assert np.isfinite(fit).all()
    assert fit.words() == ("too early",)


def test_events_before_every_quantile_leave_the_fit_finite():
    y = Target(np.full(100, 0.5), np.ones(100, dtype=bool))
    fit = fit_distortion(y, QuantileCurve(np.tile(1 + TAUS, (100, 1)), TAUS))
    assert np.isfinite(fit).all()
    assert "too late" in fit.words()


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (Distortion(0.5, 0.0, 0.1, 0.1), ("too early",)),
        (Distortion(-0.5, 0.0, 0.1, 0.1), ("too late",)),
        (Distortion(0.0, 0.5, 0.1, 0.1), ("too narrow",)),
        (Distortion(0.0, -0.5, 0.1, 0.1), ("too wide",)),
        (Distortion(0.1, 0.1, 0.1, 0.1), ()),
        # 0.5 * 0.159 is less than half of 1.0 * 0.282, and 1.0 * 0.159 is more.
        (Distortion(1.0, 0.5, 0.1, 0.1), ("too early",)),
        (Distortion(1.0, 1.0, 0.1, 0.1), ("too early", "too narrow")),
        (Distortion(0.3, -2.0, 0.1, 0.1), ("too wide",)),
    ],
)
def test_an_error_is_named_if_it_is_clear_and_not_much_the_smaller(fit, words):
    assert fit.words() == words


def test_mirrored_times_swap_early_and_late_only():
    assert Distortion(1.0, 1.0, 0.1, 0.1).words(is_mirrored=True) == ("too late", "too narrow")
