"""
Effects that change with the level
==================================

A linear quantile regression has its own coefficients at every level, with confidence limits. A proportional-hazards model
could not say that a feature moves early times and leaves late ones alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from censquant import LinearQuantileRegressor
from censquant.datasets import load_gbsg2

X, y = load_gbsg2()
features = X[["horTh", "age", "tsize", "pnodes"]]
levels = np.arange(1, 9) / 20
model = LinearQuantileRegressor(levels, time_transform="log", n_bootstrap=200, random_state=0)
model.fit(features, y)

# %%
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for ax, (term, name) in zip(axes, enumerate(features, start=1), strict=True):  # term 0: intercept
    ax.fill_between(model.quantiles_, *model.confidence_intervals_[:, term].T, color="#a6cde3")
    ax.plot(model.quantiles_, model.coef_[:, term - 1], color="#08306b")
    ax.axhline(0.0, color="black", lw=0.5)
    ax.set(title=name, xlabel="level")
axes[0].set_ylabel("change of log time")
