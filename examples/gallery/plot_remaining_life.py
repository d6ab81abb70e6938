"""
Remaining life as a unit ages
=============================

Two groups of units with the same characteristic life of 10: one has early failures, the other wears out. Given that a
unit has survived so far, the first has more and more time left and the second less and less.
"""

import matplotlib.pyplot as plt
import numpy as np

from censquant import CensoredQuantileForest
from censquant.survival import kaplan_meier

rng = np.random.default_rng(0)
wears = rng.integers(0, 2, 3000).astype(float)
failure = 10.0 * rng.weibull(np.where(wears == 1.0, 3.0, 0.7))
end = rng.uniform(0.0, 40.0, 3000)
y = np.minimum(failure, end), failure <= end
model = CensoredQuantileForest(min_samples_leaf=50, random_state=0).fit(wears[:, None], y)

# %%
ages = np.linspace(0.0, 10.0, 21)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for group, name, colour in ((0.0, "early failures", "#d55e00"), (1.0, "wear", "#08306b")):
    curve = kaplan_meier(y[0][wears == group], y[1][wears == group])
    left.step(curve.time, curve.survival, where="post", color=colour, label=name)
    remaining = model.predict_remaining(
        np.full((len(ages), 1), group), elapsed=ages, quantiles=[0.25, 0.5], beyond="nan"
    )
    right.plot(ages, remaining[:, 1], color=colour, label=f"{name}, median")
    right.plot(ages, remaining[:, 0], color=colour, ls="--", label=f"{name}, lower quartile")
left.set(xlabel="age", ylabel="still running")
left.legend(frameon=False)
right.set(xlabel="age so far", ylabel="time left")
right.legend(frameon=False)
