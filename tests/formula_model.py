"""A model whose quantiles are a formula of the features, as any library might have it."""

import numpy as np


class FormulaModel:
    """Quantiles of ``formula(X)`` times ``-log(1 - level)``: exponential times."""

    def __init__(self, formula, censoring="right"):
        self.formula = formula
        self.censoring = censoring
        self.n_rows_asked = 0

    def predict_quantiles(self, X, quantiles):
        self.n_rows_asked += len(X)
        return np.outer(self.formula(X), -np.log1p(-np.asarray(quantiles)))

    def predict(self, X):
        return self.predict_quantiles(X, [0.5])[:, 0]


def eight_features(X):
    """Interactions of two and three features, a step and a curve; always positive."""
    X = np.asarray(X, dtype=float)
    step = np.where(X[:, 5] > 0, X[:, 6], -X[:, 6])
    curve = np.exp(0.3 * X[:, 2] + 0.5 * np.tanh(X[:, 3] * X[:, 4]))
    return 30 + X[:, 0] * X[:, 1] + curve + step + X[:, 7] + np.tanh(X[:, 0] * X[:, 1] * X[:, 2])


def mixed_frame(n=60, seed=0):
    """A frame with numbers, text, a category, a flag and missing values."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n).round(1),
            "stage": rng.choice(["I", "II", "III"], n),
            "site": pd.Categorical(rng.choice(["lung", "skin"], n)),
            "smoker": rng.random(n) < 0.4,
            "nodes": rng.integers(0, 9, n),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[3::9, "stage"] = None
    return frame


def of_mixed_frame(X):
    """Positive scale of a row of `mixed_frame`, by all columns and with missing values."""
    stage = X["stage"].map({"I": 4.0, "II": 2.0, "III": 1.0}).astype(float).fillna(2.5)
    site = (X["site"].astype(str) == "skin").to_numpy(float)
    age = X["age"].astype(float).fillna(65.0).to_numpy()
    flag = X["smoker"].astype(float).to_numpy()
    return stage.to_numpy() * (1 + site) * 60 / age + 0.5 * (1 - flag) + 1 / (1 + X["nodes"])
