"""
Predicted times of single individuals
=====================================

One fan per woman of the German breast cancer study: the light band holds the recurrence with a predicted probability
of 80 %, the dark one with 50 %, and the tick is the median. What follow-up does not identify is hatched.
"""

import matplotlib.pyplot as plt

from censquant import CoxQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant.plotting import plot_fans

X, y = load_gbsg2()
model = CoxQuantileRegressor().fit(X[:500], y[:500])

# %%
# Six women that the model has not seen, two each with few, some and many positive lymph nodes:

women = X[500:].sort_values("pnodes").iloc[[0, 1, 90, 91, -2, -1]]
levels = [0.1, 0.25, 0.5, 0.75, 0.9]
quantiles = model.predict_quantiles(women, levels, beyond="extrapolate")
figure, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
plot_fans(
    quantiles,
    taus=levels,
    labels=[f"{nodes:.0f} nodes" for nodes in women["pnodes"]],
    identified=model.identified_level(women),
    unit="days",
    y=y[women.index],
    ax=ax,
)

# %%
# The same as a table, in which levels that are not identified are infinite:

print(model.predict_quantiles(women, [0.1, 0.25, 0.5], beyond="inf", output="frame").round(0))
