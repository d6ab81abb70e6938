"""Generated rows of the benchmarks of speed and scale: the truth is known and nothing is linear.

Ten standard normal features, of which one has a linear effect, one a wave, and two an interaction;
log-normal times; exponential ends of observation, which censor about a third of the rows.
"""

import numpy as np
from scipy.stats import norm

N_FEATURES, SPREAD, MEAN_END = 10, 0.5, 3.0


def center(x):
    """Return the mean of the logarithm of time."""
    return 0.5 * x[:, 0] + 0.3 * np.sin(3 * x[:, 1]) + 0.2 * x[:, 2] * x[:, 3]


def draw(n_rows, rng, n_features=N_FEATURES):
    """Return features in single precision and the times of all events."""
    x = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    return x, np.exp(center(x) + SPREAD * rng.normal(size=n_rows))


def observe(event_time, rng):
    """Return the times until event or end of observation, and which of them are events."""
    end = rng.exponential(MEAN_END, len(event_time))
    return np.minimum(event_time, end), event_time <= end


def true_quantiles(x, levels):
    """Return the quantiles that no model can beat."""
    return np.exp(center(x)[:, None] + SPREAD * norm.ppf(levels))


def check_loss(event_time, predicted, levels):
    """Return the mean check loss over rows and levels."""
    error = event_time[:, None] - predicted
    return float(np.maximum(levels * error, (levels - 1) * error).mean())
