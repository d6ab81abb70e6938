"""CQRNN with the paper's convolutional network on SurvMNIST.

The 60,000 training images of MNIST get gamma-distributed times whose mean and variance depend on
the digit, and uniform censoring up to the 90th percentile of the times. The MNIST files are read
from the folder named by CENSQUANT_DATA (``mnist/train-images-idx3-ubyte.gz`` and the labels). The
score is the check loss of the 0.1, 0.5 and 0.9 quantiles on uncensored test rows, summed over the
three levels; the paper has 0.076.

    CENSQUANT_DATA=... python benchmarks/survmnist.py [--epochs 10] [--rows 60000] [--threads 2]
"""

import argparse
import gzip
import os
import time
from pathlib import Path

import numpy as np
import torch

from censquant import CQRNN, Surv
from censquant.metrics import concordance_index
from censquant.torch import image_cnn

MEANS = np.array([11.25, 2.25, 5.25, 5.0, 4.75, 8.0, 2.0, 11.0, 1.75, 10.75])
VARIANCES = np.array([0.1, 0.5, 0.1, 0.2, 0.2, 0.2, 0.3, 0.1, 0.4, 0.6])
LEVELS = np.array([0.1, 0.5, 0.9])


def read_idx(path: Path) -> np.ndarray:
    """Return the array of an idx file of unsigned bytes."""
    content = gzip.decompress(path.read_bytes())
    n_dimensions = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def main() -> None:
    """Fit once and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=111)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = Path(os.environ["CENSQUANT_DATA"]) / "mnist"
    rng = np.random.default_rng(options.seed)
    chosen = rng.permutation(60_000)[: options.rows]
    images = read_idx(folder / "train-images-idx3-ubyte.gz")[chosen]
    digits = read_idx(folder / "train-labels-idx1-ubyte.gz")[chosen]
    X = (images[:, None] / np.float32(255)).astype(np.float32)
    target = rng.gamma(MEANS**2 / VARIANCES, VARIANCES / MEANS, size=(len(X), 10))
    target = target[np.arange(len(X)), digits] / 10
    censoring = rng.uniform(target.min(), np.quantile(target, 0.9), size=len(X))
    y = Surv.from_arrays(event=target <= censoring, time=np.minimum(target, censoring))
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
