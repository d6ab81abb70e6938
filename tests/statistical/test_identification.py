"""What the data cannot speak for is known, and does not disturb what they can."""

import numpy as np
import pytest
from scipy.stats import norm

from censquant import CQRNN

PLACES = np.linspace(-0.95, 0.95, 80)[:, None]
SPREAD = 2.0


def normal_and_uniform(end, seed, n=1000):
    """Normal times around 10 + 2x; follow-up uniform on (0, end)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 1))
    time, limit = rng.normal(10 + 2 * x[:, 0], SPREAD), rng.uniform(0, end, n)
    return x, (np.minimum(time, limit), time <= limit)


def true_quantiles(levels):
    return 10 + 2 * PLACES + SPREAD * norm.ppf(levels)


def quantiles(model):
    return model.predict_quantiles(PLACES, beyond="extrapolate")


def identified(model):
    return model.quantiles_ <= model.identified_level(PLACES)[:, None] + 1e-9


def root_mean_square(difference):
    """In units of the law's spread."""
    return float(np.sqrt((difference**2).mean())) / SPREAD


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("end", [12.0, 16.0])
def test_flags_agree_with_the_truth(end, seed):
    model = CQRNN(level_rule="interpolate", random_state=seed).fit(*normal_and_uniform(end, seed))
    still_followed = np.clip(1 - true_quantiles(model.quantiles_) / end, 0, 1)
    truth = still_followed >= 0.05
    assert (identified(model) == truth).mean() >= 0.85


def test_less_is_identified_the_earlier_follow_up_ends():
    shares = [
        identified(CQRNN(level_rule="interpolate", random_state=0).fit(*normal_and_uniform(end, 0)))
        for end in (10.0, 12.0, 16.0, 40.0)
    ]
    means = [share.mean() for share in shares]
    assert means == sorted(means)
    assert means[0] < 0.6
    assert means[-1] > 0.97


@pytest.fixture(scope="module", params=range(3))
def fits(request):
    """Fits to the same rows with different pseudo-times."""
    rows = normal_and_uniform(12.0, request.param)
    return {
        y_star: CQRNN(level_rule="interpolate", y_star=y_star, random_state=0).fit(*rows)
        for y_star in ("2max", "100max", None)
    }


def test_the_pseudo_time_does_not_matter_to_identified_quantiles(fits):
    both = identified(fits["2max"]) & identified(fits["100max"])
    assert 0.4 < both.mean() < 0.95
    difference = (quantiles(fits["100max"]) - quantiles(fits["2max"]))[both]
    # A fit itself is off the truth by some 0.2 spreads here.
    assert root_mean_square(difference) < 0.08


def test_the_one_sided_cap_does_not_disturb_identified_quantiles(fits):
    both = identified(fits["2max"]) & identified(fits[None])
    assert root_mean_square((quantiles(fits[None]) - quantiles(fits["2max"]))[both]) < 0.08
    truth = true_quantiles(fits[None].quantiles_)
    errors = [root_mean_square((quantiles(fit) - truth)[both]) for fit in fits.values()]
    assert max(errors) < 0.35


def test_the_one_sided_cap_keeps_predictions_near_the_times_seen(fits):
    low, high = fits[None].follow_up_
    # Pushing stops a fifth of the range above the last time; smoothness may carry a bit farther.
    assert quantiles(fits[None]).max() < high + 0.4 * (high - low)
