"""The share of individuals that must be followed is stated as it is used."""

import re
from pathlib import Path

import numpy as np
import pytest

from censquant import BaseQuantileRegressor
from censquant._trees._follow_up import FollowUp
from censquant.survival._kaplan_meier import LAST_FOLLOWED_SHARE, SMALLEST_FOLLOWED_SHARE

ROOT = Path(__file__).parents[3]
PLACES = {
    "docs/methods.md": lambda: (ROOT / "docs/methods.md").read_text(encoding="utf-8"),
    "decisions.md": lambda: (ROOT / "docs/research/decisions.md").read_text(encoding="utf-8"),
    "identified_level": lambda: BaseQuantileRegressor.identified_level.__doc__,
}


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_the_documentation_states_the_share_of_the_forest(text):
    (stated,) = re.findall(r"last\s+time\s+at\s+which\s+about\s+(\S+)\s+%\s+of\s+", text())
    assert float(stated) == 100 * LAST_FOLLOWED_SHARE


def test_the_forest_follows_until_that_share_is_left():
    n = 20_000
    censoring = np.arange(1.0, n + 1)
    rows = np.zeros((n, 1)), censoring, np.zeros(n, dtype=bool), np.ones(n)
    limit = FollowUp.fit(*rows, np.random.default_rng(0)).limit(np.zeros((1, 1)))
    assert abs(limit[0] / n - (1 - LAST_FOLLOWED_SHARE)) < 0.002
    assert LAST_FOLLOWED_SHARE < SMALLEST_FOLLOWED_SHARE
