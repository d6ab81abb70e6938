"""Shapley values by full enumeration, written independently of the package."""

from itertools import combinations
from math import factorial

import numpy as np


def exact_contributions(predict, x, background):
    """Shapley values of one row: every subset of its features against every background row."""
    n_features = len(x)
    worth = {}
    for size in range(n_features + 1):
        for subset in combinations(range(n_features), size):
            rows = np.array(background, dtype=float)
            rows[:, list(subset)] = np.asarray(x, dtype=float)[list(subset)]
            worth[frozenset(subset)] = predict(rows).mean()
    values = np.zeros(n_features)
    for subset, value in worth.items():
        size = len(subset)
        for feature in set(range(n_features)) - subset:
            share = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            values[feature] += share * (worth[subset | {feature}] - value)
    return values
