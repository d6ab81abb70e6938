"""DaskCQRNN: CQRNN on rows that one machine cannot hold."""

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from censquant._validation import seed_sequence
from censquant.dask._base import DaskRegressor
from censquant.dask._cluster import Session
from censquant.dask._fit import ClusterFit, check_checkpoint_dir
from censquant.dask._rows import Numbers, read_collections
from censquant.estimators import CQRNN
from censquant.estimators.neural._split_fit import check_splittable

_OWN = ("client", "n_replicas")
FOLLOW_UP_ROWS = 50_000
"""Rows from which the follow-up is learned; on one machine it uses as many at most."""


@dataclass(repr=False, eq=False)
class DaskCQRNN(DaskRegressor):
    """CQRNN trained on the workers of a dask cluster.

    Copies of the network, one per thread of the cluster, each make steps on rows of their own.
    After every round their parameters and Adam's moments are averaged, weighted by rows, and all go
    on from the average. Rounds are a few steps long at first and up to a twentieth of a pass later;
    learning rate and number of passes are those of :class:`censquant.CQRNN`. With few rows per copy
    averaging costs accuracy, so that each has at least 20,000 unless ``n_replicas`` says otherwise.

    Means and standard deviations of features, and the distribution of times behind the transform,
    y* and the censoring curve, are sums over partitions. The model of follow-up, on which
    :meth:`censquant.CQRNN.identified_level` rests, is learned from a random sample of 50,000 rows.
    The client holds that sample and the network; workers hold the rows in single precision, about
    ``4 * (n_features + 3)`` bytes each, twice that while partitions are put together, and the
    partitions that they read at the moment. All rows of one round must fit into the workers' memory
    together; the data are read twice.

    Workers may join, leave or die: what is lost is computed again elsewhere, with the same bits.
    The result depends on how rows are partitioned and on the number of copies, not on the workers.
    Rows of sorted files should be shuffled over partitions. Weights scale the loss; unlike on one
    machine, whole numbers do not repeat rows.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
    client : distributed.Client, optional
        By default the client that exists.
    n_replicas : int, optional
        Copies of the network; by default one per thread of the cluster, as long as each has 20,000
        rows. There are never more than partitions with rows.
    hidden_layer_sizes, activation, dropout, head
        As in :class:`censquant.CQRNN`.
    network : None
        Must be None: torch modules are trained on one machine.
    level_rule, y_star, crossing_penalty, crossing_margin
        As in :class:`censquant.CQRNN`.
    em_epochs : None
        Must be None: levels of censoring times are renewed at every step.
    known_censoring_loss, standardize, time_transform, learning_rate, weight_decay, batch_size, \
max_epochs
        As in :class:`censquant.CQRNN`.
    early_stopping : bool, default False
        Whether to hold out a share of the rows of each partition. After every pass the client
        decides by the mean loss of them all, for all copies.
    validation_fraction, n_iter_no_change, n_members, n_jobs, censoring, random_state, device, \
verbose
        As in :class:`censquant.CQRNN`; ``n_jobs`` is used by predictions.

    Attributes
    ----------
    client_ : distributed.Client
        The client that is used.
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        Those of the plain estimator; ``history_`` has one record per pass.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from distributed import Client, LocalCluster
    >>> from censquant.dask import DaskCQRNN
    >>> from censquant.datasets import make_norm_linear
    >>> data = make_norm_linear(400, random_state=0)
    >>> frame = pd.DataFrame(data.y).assign(x=data.X[:, 0])
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as c, Client(c):
    ...     rows = dd.from_pandas(frame, npartitions=4)
    ...     model = DaskCQRNN(max_epochs=5, random_state=0).fit(rows, time="time", event="event")
    ...     times = model.predict_quantiles(rows, [0.1, 0.5], beyond="extrapolate").compute()
    >>> times.shape
    (400, 2)
    >>> model.to_local().predict(frame[["x"]]).shape
    (400,)
    """

    quantiles: ArrayLike | None = None
    _: KW_ONLY
    client: Any = None
    n_replicas: int | None = None
    hidden_layer_sizes: Sequence[int] = (100, 100)
    activation: str = "relu"
    dropout: float = 0.0
    head: str = "free"
    network: Callable[..., Any] | None = None
    level_rule: str = "nearest"
    y_star: str | float | None = "1.2max"
    crossing_penalty: float = 0.0
    crossing_margin: float = 0.0
    em_epochs: int | None = None
    known_censoring_loss: str = "powell"
    standardize: bool = True
    time_transform: str | None = "standardize"
    learning_rate: float = 0.01
    weight_decay: float = 1e-4
    batch_size: int = 128
    max_epochs: int = 100
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    n_members: int = 1
    n_jobs: int | None = None
    censoring: str = "right"
    random_state: Any = None
    device: str | None = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        time: Any = None,
        event: Any = None,
        features: Sequence[Any] | None = None,
        weight: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit to rows on the workers.

        Parameters
        ----------
        X : DataFrame or Array of dask
            Features, or with ``time`` and ``event`` the whole table. Partitions may be empty or
            small, and may have their columns in any order and in any numeric types.
        y : DataFrame of dask, optional
            Columns ``time`` (or ``duration``) and ``event``, with the partitions of ``X``.
        time, event : column of X, optional
            In place of ``y``.
        features : list of columns of X, optional
            By default all that have no other role.
        weight : column of X, optional
            Scales the loss of each row; rows of weight 0 are left out.
        checkpoint_dir : str or path, optional
            Folder to write a checkpoint to after every round; the same call resumes from it, with
            the same bits. Needs an integer as ``random_state``.

        Returns
        -------
        self
        """
        self._local = None
        model = CQRNN(**{k: v for k, v in self.get_params(deep=False).items() if k not in _OWN})
        check_splittable(model)
        folder = check_checkpoint_dir(checkpoint_dir, self.random_state)
        rows = read_collections(X, y, time=time, event=event, features=features, weight=weight)
        # Drawn from once: a generator would give every part of the fit other numbers.
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        if not isinstance(self.random_state, int):
            model.random_state = seed
        with Session(self.client_) as session:
            reader = Numbers(rows.layout.features, rows.layout.n_features)
            statistics = rows.statistics(session, reader)
            statistics.summary()  # refuses rows without an event before any is drawn
            sample = rows.sample(session, FOLLOW_UP_ROWS, statistics.n_rows, seed)
            ClusterFit(
                session, rows, reader, statistics, sample, self.n_replicas, folder, self.verbose
            ).fit(model)
        model.random_state = self.random_state
        self._local, self._features = model, rows.layout.features
        return self
