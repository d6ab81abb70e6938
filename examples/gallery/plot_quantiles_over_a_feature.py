"""
Heavy early censoring: the published rule and its fix
=====================================================

Two thirds of these samples are censored, most of them early. The paper's rule never estimates the level at which an
individual was censored below the first level of the grid, so that all quantiles come out too high.
``level_rule="interpolate"`` with ``y_star=None`` removes that bias. True quantiles are dashed.
"""

import matplotlib.pyplot as plt
import numpy as np

from censquant import CQRNN
from censquant.datasets import make_norm_uniform
from censquant.plotting import plot_quantiles_1d

data = make_norm_uniform(500, random_state=0)
x = np.linspace(0.02, 1.98, 100)[:, None]
levels = [0.1, 0.5, 0.9]
settings = {"as published": {}, "fixed": {"level_rule": "interpolate", "y_star": None}}

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, options) in zip(axes, settings.items(), strict=True):
    model = CQRNN(levels, random_state=0, **options).fit(data.X, data.y)
    predicted = model.predict_quantiles(x, beyond="extrapolate")
    truth = data.true_quantiles(levels, X=x)
    plot_quantiles_1d(predicted, x, taus=levels, true=truth, ax=ax)
    ax.set_title(f"{name}: mean squared error {np.mean((predicted - truth) ** 2):.2f}")
