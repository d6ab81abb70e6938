"""Every method that knows of censoring finds the true quantiles; those that ignore it do not.

Three laws, whose quantiles are linear in the one feature on the scale where each is natural, under
independent exponential censoring of about four rows in ten, which leaves a few rows to be followed
very long. The error is relative, averaged over the feature and over three fits to 3,000 rows.
"""

import numpy as np
import pytest
from scipy.stats import gumbel_l, laplace_asymmetric, norm

from censquant import (
    CQRNN,
    AsymmetricLaplaceNN,
    DeepQuantReg,
    LinearQuantileRegressor,
    LogNormalNN,
    SequentialGridNN,
    UncensoredOnlyNN,
    WeibullNN,
)

LEVELS = [0.1, 0.5, 0.9]
GRID = np.linspace(0.05, 0.95, 19)[:, None]
TOLERANCE = 0.07

# Law on its natural scale, the way to times, and the mean of the censoring time.
LAWS = {
    "log-normal": (lambda x: norm(1 + x, 0.4 + 0.3 * x), np.exp, 9.0),
    "Weibull": (lambda x: gumbel_l(1.5 + x, 0.3 + 0.3 * x), np.exp, 11.0),
    "asymmetric Laplace": (
        lambda x: laplace_asymmetric(0.4, loc=2 + x, scale=1 + x),
        lambda u: u,
        12.0,
    ),
}

NETWORK = {"hidden_layer_sizes": (32,), "activation": "gelu", "max_epochs": 40}
FIXED = {"level_rule": "interpolate", "y_star": None}
METHODS = {
    "CQRNN": (CQRNN, NETWORK),
    "CQRNN, fixed": (CQRNN, NETWORK | FIXED),
    "CQRNN, increasing": (CQRNN, NETWORK | FIXED | {"head": "increasing"}),
    "CQRNN, penalised": (CQRNN, NETWORK | FIXED | {"crossing_penalty": 1.0}),
    "CQRNN, levels once an epoch": (CQRNN, NETWORK | FIXED | {"em_epochs": 1}),
    "CQRNN, known censoring times": (CQRNN, NETWORK),
    "sequential grid": (SequentialGridNN, NETWORK),
    "sequential grid, upper": (SequentialGridNN, NETWORK | {"crossed": "upper"}),
    "sequential grid, interpolated": (SequentialGridNN, NETWORK | {"crossed": "interpolate"}),
    "DeepQuantReg": (DeepQuantReg, NETWORK),
    "LogNormalNN": (LogNormalNN, NETWORK),
    "WeibullNN": (WeibullNN, NETWORK),
    "AsymmetricLaplaceNN": (AsymmetricLaplaceNN, NETWORK),
    "LinearQuantileRegressor, Portnoy": (LinearQuantileRegressor, {}),
    "LinearQuantileRegressor, Peng-Huang": (LinearQuantileRegressor, {"method": "peng-huang"}),
    "LinearQuantileRegressor, Powell": (
        LinearQuantileRegressor,
        {"method": "powell", "quantiles": LEVELS},
    ),
    "exclude censored": (UncensoredOnlyNN, NETWORK),
}
KNOW_CENSORING_TIMES = ("CQRNN, known censoring times", "LinearQuantileRegressor, Powell")
OWN_LAW = {
    "LogNormalNN": "log-normal",
    "WeibullNN": "Weibull",
    "AsymmetricLaplaceNN": "asymmetric Laplace",
}
IGNORANT = ("exclude censored",)


def relative_errors(method, law_name):
    """Mean absolute relative error at each level, and the share of censored rows."""
    law, to_time, mean_censoring = LAWS[law_name]
    truth = to_time(law(GRID).ppf(LEVELS))
    estimator, options = METHODS[method]
    if estimator is LinearQuantileRegressor and to_time is np.exp:
        options = options | {"time_transform": "log"}
    errors, censored = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 1, size=3000)
        event_time = to_time(law(x).rvs(random_state=rng))
        ends = rng.exponential(mean_censoring, size=3000)
        time, event = np.minimum(event_time, ends), event_time <= ends
        known = {"censoring_time": ends} if method in KNOW_CENSORING_TIMES else {}
        model = estimator(random_state=seed, **options).fit(x[:, None], (time, event), **known)
        predicted = model.predict_quantiles(GRID, LEVELS, beyond="extrapolate")
        errors.append(np.abs(predicted / truth - 1))
        censored.append(1 - event.mean())
    return np.mean(errors, axis=(0, 1)), np.mean(censored)


CASES = [
    (method, law)
    for method in METHODS
    if method not in IGNORANT
    for law in LAWS
    if OWN_LAW.get(method, law) == law
]


@pytest.mark.parametrize(("method", "law"), CASES)
def test_true_quantiles_are_found_under_independent_censoring(method, law):
    errors, censored = relative_errors(method, law)
    assert 0.3 < censored < 0.5
    assert errors.max() < TOLERANCE


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", IGNORANT)
def test_true_quantiles_are_missed_where_censoring_is_ignored(method, law):
    errors, _ = relative_errors(method, law)
    assert errors.max() > 2 * TOLERANCE
