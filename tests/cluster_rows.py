"""Rows whose true quantiles are known, in the partitions that a test asks for, and clusters."""

import warnings

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
from scipy.stats import norm

LEVELS = np.array([0.25, 0.5, 0.75])
FEATURES = ["a", "b"]
COLUMNS = {"time": "time", "event": "event"}


def linear_rows(n, seed=0):
    """Normal times around a line of the feature a; b has no effect; a third is censored."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.0, 1.0, (2, n))
    time = 5.0 + 2.0 * a + 0.5 * rng.normal(size=n)
    end = rng.uniform(3.0, 9.0, n)
    return pd.DataFrame({"a": a, "b": b, "time": np.minimum(time, end), "event": time <= end})


def truth(frame):
    """True quantiles of the rows at the levels."""
    return 5.0 + 2.0 * frame["a"].to_numpy()[:, None] + 0.5 * norm.ppf(LEVELS)


def partitioned(*frames):
    """A frame of dask with exactly these partitions, whatever they hold."""
    return dd.from_map(frames.__getitem__, range(len(frames)), meta=frames[0].iloc[:0])


def local_cluster(n_workers, *, processes=False):
    """A cluster on this machine with one thread per worker."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dask's own, of its event loops
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=":0",
        )
