"""
Seeing that a model is too narrow
=================================

The share of events that happened by each predicted quantile, beside its level: for a right model the two are equal. A
network that was trained for too long is sure of itself and wrong, which no ranking score shows.
"""

import matplotlib.pyplot as plt
import numpy as np

from censquant import CQRNN, CoxQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant.metrics import evaluate, pit_curve

X, y = load_gbsg2()
taus = np.arange(1, 20) / 20
models = {
    "Cox": CoxQuantileRegressor(),
    "CQRNN, 100 epochs": CQRNN(random_state=0),
    "CQRNN, 10 epochs, dropout": CQRNN(max_epochs=10, dropout=0.33, random_state=0),
}

# %%
figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
ax.plot([0, 1], [0, 1], color="black", ls=":", lw=1)
for name, model in models.items():
    model.fit(X[:500], y[:500])
    quantiles = model.predict_quantiles(X[500:], taus, beyond="extrapolate")
    ax.plot(*pit_curve(y[500:], quantiles, taus), label=name)
ax.set(xlabel="level", ylabel="share of events by that quantile", xlim=(0, 1), ylim=(0, 1))
ax.legend(frameon=False)

# %%
# In words:

for name, model in models.items():
    verdict = evaluate(model, y[:500], X[500:], y[500:], n_resamples=50, random_state=0).verdict
    print(f"{name}: {verdict}\n")
