"""A small cluster inside this process, and rows whose true quantiles are known."""

import warnings

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

LEVELS = np.array([0.25, 0.5, 0.75])


@pytest.fixture(scope="session")
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dask's own, of its ports and event loops
        made = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        )
    with made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


def linear_rows(n, seed=0):
    """Normal times around a line of the feature a; b has no effect; a third is censored."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.0, 1.0, (2, n))
    time = 5.0 + 2.0 * a + 0.5 * rng.normal(size=n)
    end = rng.uniform(3.0, 9.0, n)
    return pd.DataFrame({"a": a, "b": b, "time": np.minimum(time, end), "event": time <= end})


def truth(frame, levels=LEVELS):
    return 5.0 + 2.0 * frame["a"].to_numpy()[:, None] + 0.5 * norm.ppf(levels)


def partitioned(*frames):
    """A frame of dask with exactly these partitions, whatever they hold."""
    return dd.from_map(frames.__getitem__, range(len(frames)), meta=frames[0].iloc[:0])


@pytest.fixture(scope="session")
def frame():
    return linear_rows(3_000)


@pytest.fixture
def rows(frame):
    return dd.from_pandas(frame, npartitions=4)
