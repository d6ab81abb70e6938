"""From the answers of candidates about held-out rows to the way they are pooled."""

import numpy as np
from numpy.typing import NDArray

from censquant.estimators.meta._pool._candidates import LEVELS
from censquant.estimators.meta._pool._cross_fit import Candidate
from censquant.estimators.meta._pool._mixture import Bounds, Mixture
from censquant.estimators.meta._pool._prior import Prior
from censquant.estimators.meta._pool._weights import BrierScore, shrunk_weights


def weighed(
    kept: list[Candidate],
    prior: Prior,
    score: BrierScore,
    held: NDArray[np.intp],
    bounds: Bounds,
    n_events: int,
) -> Mixture:
    """Return how the candidates are pooled, by their answers about held-out rows."""
    if len(kept) == 1:
        return Mixture(np.ones(1), np.zeros(1), bounds)
    names = [each.name for each in kept]
    score = score.take(held)
    likelihood = {
        each.name: None if each.log_likelihood is None else each.log_likelihood[held]
        for each in kept
    }
    expected = prior(names, likelihood)
    whole = np.array([each.is_whole for each in kept])
    reference = np.zeros(len(kept))
    if not len(held):  # nothing to compare them by
        reference[whole] = expected[whole] / expected[whole].sum() if whole.any() else 0.0
        return Mixture(expected, reference, bounds)
    if whole.any():
        alone = [each for each in kept if each.is_whole]
        by_itself = score.quadratic(
            lambda rows: np.stack([each.answer(held[rows]).values for each in alone]),
            LEVELS,
            bounds.lower,
        )
        share = expected[whole] / expected[whole].sum()
        reference[whole] = shrunk_weights(by_itself, share, n_events)
    mixture = Mixture(expected, reference, bounds)
    together = score.quadratic(
        lambda rows: mixture.continued([each.answer(held[rows]) for each in kept]),
        LEVELS,
        bounds.lower,
    )
    weights = shrunk_weights(together, expected, n_events)
    if not (weights[~whole] > 0).any():  # nothing has to be continued
        reference = np.zeros(len(kept))
    return Mixture(weights, reference, bounds)
