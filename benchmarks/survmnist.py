"""CQRNN with the paper's convolutional network on SurvMNIST.

The 60,000 training images of MNIST get gamma-distributed times whose mean and variance depend on
the digit, and uniform censoring up to the 90th percentile of the times. The MNIST files are read
from the folder named by CENSQUANT_DATA where it is set, and are downloaded otherwise. The score is
the check loss of the 0.1, 0.5 and 0.9 quantiles on uncensored test rows, summed over the three
levels; the paper has 0.076.

    CENSQUANT_DATA=... python benchmarks/survmnist.py [--epochs 10] [--rows 60000] [--threads 2]
"""

import argparse
import time

import numpy as np
import torch

from censquant import CQRNN
from censquant.datasets import censor_uniform, fetch_survmnist
from censquant.metrics import concordance_index
from censquant.torch import image_cnn

LEVELS = np.array([0.1, 0.5, 0.9])


def main() -> None:
    """Fit once and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=111)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(options.seed)
    images, observed = fetch_survmnist(random_state=rng, as_frame=False)
    chosen = rng.permutation(len(images))[: options.rows]
    X = images[chosen] / np.float32(255)
    target = observed["time"][chosen]
    y = censor_uniform(target, random_state=rng)
    train, test = np.split(np.arange(len(X)), [round(0.8 * len(X))])

    model = CQRNN(
        network=image_cnn,
        learning_rate=0.001,
        max_epochs=options.epochs,
        standardize=False,
        time_transform=None,
        random_state=options.seed,
        verbose=1,
    )
    start = time.perf_counter()
    model.fit(X[train], y[train])
    minutes = (time.perf_counter() - start) / 60
    predicted = model.predict_quantiles(X[test], LEVELS, beyond="extrapolate")
    error = target[test, None] - predicted
    loss = (error * (LEVELS - (error < 0))).mean(axis=0).sum()
    print(
        f"{len(train)} rows, {100 * (1 - y['event'].mean()):.0f} % censored, {options.epochs} "
        f"epochs, {minutes:.1f} minutes: check loss {loss:.4f} (paper 0.076), "
        f"concordance {concordance_index(y[test], predicted[:, 1]):.3f} (paper 0.899)"
    )


if __name__ == "__main__":
    main()
