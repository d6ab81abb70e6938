"""Whether log-normal networks explode on Norm uniform, by likelihood and by survival CRPS.

The paper reports that its log-normal network fails there "with excessive variance". Here it is
trained ten times on the paper's samples: as it was run for the paper, by the right likelihood and
by the survival CRPS with the paper's network, and by both with the defaults of the package, whose
parameters are bounded. The table has the squared error of each quantile and the spread of
log-times.

    python bench/scripts/crps_norm_uniform.py docs/images/crps_norm_uniform.png \
        > bench/results/crps_norm_uniform.md
"""

import sys
import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from versions import versions

from censquant import LogNormalNN
from censquant.plotting import plot_quantiles_1d
from censquant_bench import get_dataset, get_method

LEVELS = (0.1, 0.5, 0.9)
SEEDS = range(111, 121)
PLACES = np.linspace(0.0, 2.0, 101)[:, None]


def paper(seed: int, **options: str) -> LogNormalNN:
    """Return the paper's network with the right likelihood, or another loss."""
    return get_method("lognorm").build(get_dataset("norm_uniform"), options, seed)


WAYS = {
    "as run for the paper": lambda seed: get_method("lognorm_as_run").build(
        get_dataset("norm_uniform"), {}, seed
    ),
    "likelihood, paper's network": paper,
    "CRPS, paper's network": lambda seed: paper(seed, loss="crps"),
    "likelihood, defaults": lambda seed: LogNormalNN(random_state=seed),
    "CRPS, defaults": lambda seed: LogNormalNN(loss="crps", random_state=seed),
}


def spread(quantiles: np.ndarray) -> float:
    """Return the mean standard deviation of log-times behind two predicted quantiles."""
    return float(np.mean(np.log(quantiles[:, 2] / quantiles[:, 0])) / (2 * 1.2815515655446004))


def main(picture: str) -> None:
    """Print the table and draw the fits of the first run."""
    dataset = get_dataset("norm_uniform")
    print(f"`python bench/scripts/crps_norm_uniform.py` ({versions()})\n")
    print("| training | 0.1 | 0.5 | 0.9 | spread of log-times |")
    print("|:--|--:|--:|--:|--:|")
    figure, panels = plt.subplots(1, 4, figsize=(15, 3.6), sharey=True)
    drawn = iter(panels)
    for name, make in WAYS.items():
        errors, spreads = [], []
        for seed in SEEDS:
            data = dataset.train_test(seed)
            model = make(seed).fit(data.X, data.y)
            predicted = model.predict_quantiles(data.X_known, LEVELS, beyond="extrapolate")
            errors.append(np.mean((predicted - data.true_quantiles(LEVELS)) ** 2, axis=0))
            spreads.append(spread(np.maximum(predicted, 1e-9)))
            if seed == SEEDS[0] and name != "as run for the paper":
                curves = model.predict_quantiles(PLACES, LEVELS, beyond="extrapolate")
                truth = data.true_quantiles(LEVELS, PLACES)
                ax = plot_quantiles_1d(curves, PLACES, taus=LEVELS, true=truth, ax=next(drawn))
                ax.set(title=name, ylim=(0, 25))
        error = np.std(errors, axis=0, ddof=1) / np.sqrt(len(SEEDS))
        cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(np.mean(errors, axis=0), error, strict=True)]
        print(f"| {name} | {' | '.join(cells)} | {np.mean(spreads):.3f} |", flush=True)
    true_spread = spread(data.true_quantiles(LEVELS))
    print(f"\nThe true quantiles have a spread of {true_spread:.3f}.")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main(sys.argv[1])
