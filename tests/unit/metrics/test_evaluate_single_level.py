"""What `evaluate` says of a model with a single fitted level."""

import re

import numpy as np
import pytest

from censquant import CQRNN, LinearQuantileRegressor
from censquant.exceptions import IdentifiabilityWarning
from censquant.metrics import evaluate


def mostly_censored(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    time, end = 1 + X[:, 0] + 3 * rng.exponential(size=n), rng.uniform(0.5, 1.5, size=n)
    return X, (np.minimum(time, end), time <= end), end


def test_a_linear_model_with_one_identified_level_is_judged_by_its_whole_path():
    X, y, _ = mostly_censored()
    with pytest.warns(IdentifiabilityWarning):
        model = LinearQuantileRegressor(step=0.01).fit(
            X, y
        )  # a path of so few levels is not thinned
    assert model.quantiles_.tolist() == [0.05]
    result = evaluate(model, y, X, y, n_resamples=5, random_state=0)
    levels = model.predict_curve(X).taus
    again = evaluate(model, y, X, y, taus=levels, n_resamples=5, random_state=0)
    assert str(result) == str(again)
    assert np.isfinite(result["concordance_restricted_mean"].value)
    assert np.isfinite(result["pinball_loss_censored"].value)


def test_a_long_path_is_thinned_to_as_many_levels_as_usual():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    time, end = 1 + X[:, 0] + rng.uniform(size=200), rng.uniform(1, 5, size=200)
    y = (np.minimum(time, end), time <= end)
    model = LinearQuantileRegressor([0.8], step=0.02).fit(X, y)
    levels = model.predict_curve(X).taus
    assert len(levels) > 19
    result = evaluate(model, y, X, y, n_resamples=5, random_state=0)
    chosen = levels[np.linspace(0, len(levels) - 1, 19).round().astype(int)]
    again = evaluate(model, y, X, y, taus=chosen, n_resamples=5, random_state=0)
    assert str(result) == str(again)


@pytest.mark.parametrize("kind", ["powell", "network"])
def test_one_quantile_and_nothing_else_is_refused_with_a_remedy(kind):
    X, y, end = mostly_censored()
    if kind == "powell":
        model = LinearQuantileRegressor([0.05], method="powell").fit(X, y, censoring_time=end)
    else:
        model = CQRNN([0.05], max_epochs=1, random_state=0).fit(X, y)
    message = (
        f"evaluate needs a model with two or more levels, got {type(model).__name__} with the "
        "level 0.05 only, from which no distribution can be read: fit it with more quantiles that "
        "the data identify."
    )
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}$"):
        evaluate(model, y, X, y, n_resamples=5)
