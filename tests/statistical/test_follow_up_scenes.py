"""What is called identified, compared with the true probability of being followed that long.

A cell is an individual with a level; its follow-up is S_C(Q), the probability of being under
observation at its true quantile Q. Cells without any follow-up must not be called identified, those
with a follow-up of 5 % or more must not be refused.
"""

import numpy as np
import pytest

from censquant import WeibullNN
from censquant._trees._follow_up import FollowUp
from censquant.datasets import make_lognorm_8d, make_norm_4d
from censquant.quantiles._grid import DEFAULT_QUANTILES

LEVELS = np.asarray(DEFAULT_QUANTILES)
N_TRAIN, N_NEW, SEEDS = 2_000, 2_000, range(6)


def abrupt(seed):
    """Exponential times; follow-up ends at 0.4 to 0.5 or at 4 to 5, by the sign of a feature."""
    rng = np.random.default_rng(seed)
    n = N_TRAIN + N_NEW
    x = rng.uniform(-1, 1, size=(n, 2))
    last = np.where(x[:, 0] > 0, 0.5, 5.0)
    event, censoring = rng.exponential(size=n), last * rng.uniform(0.8, 1.0, size=n)
    quantiles = np.tile(-np.log1p(-LEVELS), (N_NEW, 1))
    end = last[N_TRAIN:, None]
    followed = np.clip((end - quantiles) / (0.2 * end), 0, 1)
    rows = x[:N_TRAIN], np.minimum(event, censoring)[:N_TRAIN], (event <= censoring)[:N_TRAIN]
    return rows, x[N_TRAIN:], quantiles, followed


def smooth(make, end, **options):
    """A set of the paper, in which follow-up is uniform on (0, end)."""

    def draw(seed):
        train, new = (
            make(n, random_state=np.random.default_rng((seed, n)), **options)
            for n in (N_TRAIN, N_NEW + 1)
        )
        quantiles = new.true_quantiles(LEVELS)
        rows = train.X, train.y["time"], train.y["event"]
        return rows, new.X, quantiles, np.clip(1 - quantiles / end, 0, 1)

    return draw


SCENES = {
    "abrupt": (abrupt, 0.10),
    "norm_heavy": (smooth(make_norm_4d, 12.0, censoring="heavy", offset=6.5), 0.05),
    "lognorm_medium": (smooth(make_lognorm_8d, 1.0, censoring="medium"), 0.05),
    "lognorm_heavy": (smooth(make_lognorm_8d, 0.4, censoring="heavy"), 0.05),
}
MOST_REFUSED = 0.12
every_scene = pytest.mark.parametrize(("draw", "most_false"), SCENES.values(), ids=SCENES)


def errors(called, followed):
    """Shares of the cells without follow-up that are called identified, and of refused others."""
    return called[followed <= 0].mean(), 1 - called[followed >= 0.05].mean()


@every_scene
def test_the_forest_knows_where_follow_up_ends(draw, most_false):
    found = []
    for seed in SEEDS:
        (x, time, event), new, quantiles, followed = draw(seed)
        forest = FollowUp.fit(x, time, event, np.ones(len(x)), np.random.default_rng(seed))
        limit, level = forest.limit_and_level(new)
        called = (quantiles <= limit[:, None]) & (level[:, None] >= LEVELS)
        found.append(errors(called, followed))
    false, refused = np.mean(found, axis=0)
    assert false <= most_false / 2
    assert refused <= MOST_REFUSED


@every_scene
def test_a_fitted_estimator_knows_what_is_identified(draw, most_false):
    found = []
    for seed in SEEDS:
        (x, time, event), new, _, followed = draw(seed)
        model = WeibullNN(random_state=seed).fit(x, (time, event))
        found.append(errors(model.identified_level(new)[:, None] + 1e-12 >= LEVELS, followed))
    false, refused = np.mean(found, axis=0)
    assert false <= most_false
    assert refused <= MOST_REFUSED
