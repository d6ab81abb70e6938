"""A method that is not in the package: De Backer et al.'s adapted check loss, complete.

docs/adding-a-method.md explains it step by step. Run it:

    python examples/adapted_check_loss.py
"""

from dataclasses import dataclass, replace

import numpy as np

from censquant import CQRNN, UncensoredOnlyNN
from censquant.datasets import make_lognorm
from censquant.engine import GridObjective, NeuralRegressor
from censquant.survival import censoring_kaplan_meier

LEVELS = (0.1, 0.25, 0.5)


@dataclass(frozen=True, eq=False)
class AdaptedCheck(GridObjective):
    """Check loss of the observed times, less the part that censoring alone accounts for."""

    knots: np.ndarray | None = None  # times at which the chance of having been censored rises
    lost: np.ndarray | None = None  # that chance before the first of them and from each on
    area: np.ndarray | None = None  # its integral up to each of them

    def bind(self, train):
        curve = censoring_kaplan_meier(train.time, train.event, train.weight)
        lost = np.concatenate(([0.0], 1.0 - curve.survival))
        area = np.concatenate(([0.0], np.cumsum(lost[1:-1] * np.diff(curve.time))))
        return replace(self, knots=curve.time, lost=lost, area=area)

    def gradient(self, output, batch, out):
        error = output - batch.time[:, None]
        slope = (error > 0) - self._levels
        late = 1.0 - self._levels
        share = batch.weight[:, None] / len(batch)
        lost = self.lost[np.searchsorted(self.knots, output, side="right")]
        out[:] = (slope - late * lost) * share
        area = np.interp(output, self.knots, self.area)
        area += self.lost[-1] * np.maximum(output - self.knots[-1], 0.0)
        return float(((slope * error - late * area) * share).sum())

    def validation_loss(self, output, rows):
        return self.gradient(output, rows, np.empty_like(output))


class AdaptedCheckNN(NeuralRegressor):
    """Quantile network trained with the adapted check loss."""

    def _make_objective(self, taus, target, transform):
        return AdaptedCheck(taus)


def error(model, n_runs=5):
    """Mean squared distance to the true quantiles at each level."""
    found = []
    for seed in range(n_runs):
        train, test = make_lognorm(500, random_state=seed), make_lognorm(1000, random_state=99)
        model.set_params(random_state=seed).fit(train.X, train.y)
        predicted = model.predict_quantiles(test.X, beyond="extrapolate")
        found.append(((predicted - test.true_quantiles(LEVELS)) ** 2).mean(axis=0))
    return np.mean(found, axis=0)


def main():
    print("Mean squared error of the quantiles at", *LEVELS)
    for model in (
        AdaptedCheckNN(LEVELS),
        CQRNN(LEVELS, level_rule="interpolate", y_star=None),
        UncensoredOnlyNN(LEVELS),
    ):
        print(f"{type(model).__name__:18}", *(f"{value:.3f}" for value in error(model)))


if __name__ == "__main__":
    main()
