"""A small cluster inside this process, and rows for it."""

import pytest

# Helpers are imported inside fixtures: where dask is missing, the tests here are left out one by
# one, and this file must load.


@pytest.fixture(scope="session")
def cluster():
    from cluster_rows import local_cluster

    with local_cluster(2) as made:
        yield made


@pytest.fixture
def client(cluster):
    import distributed

    with distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture(scope="session")
def frame():
    from cluster_rows import linear_rows

    return linear_rows(3_000)


@pytest.fixture
def rows(frame):
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=4)
