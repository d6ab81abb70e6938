"""DaskCensoredQuantileRegressor: the recommended estimator on rows that one machine cannot hold."""

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from censquant._validation import check_integer, check_number, seed_sequence
from censquant.dask._base import DaskRegressor
from censquant.dask._cluster import Session
from censquant.dask._fit import ClusterFit, check_checkpoint_dir
from censquant.dask._rows import Encoded, read_collections
from censquant.estimators import CensoredQuantileRegressor

_OWN = ("client", "n_replicas", "compared_rows", "passes")


@dataclass(repr=False, eq=False)
class DaskCensoredQuantileRegressor(DaskRegressor):
    """The recommended estimator with networks that learn from all rows of a cluster.

    Candidates are compared, weighted and pooled on a random sample of ``compared_rows`` rows, or
    of whole groups, on the client: a :class:`censquant.CensoredQuantileRegressor` is fitted to it.
    The networks that the pool uses are then trained again on all rows, as :class:`DaskCQRNN` is,
    with at least ``passes`` passes over them. What cannot be trained in parts stays as it was
    fitted to the sample: trees, the forest, the proportional-hazards model, the encoding of
    columns, the weights of the candidates, and the model of follow-up. ``parts_`` says which
    is which. Where trees have most of the weight, a larger sample helps more than more workers.

    Memory and faults are as in :class:`DaskCQRNN`; the client needs memory for the fit to the
    sample. The data are read twice, and once more for each network of the pool.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels that are returned by default; any other can be predicted.
    client : distributed.Client, optional
        By default the client that exists.
    n_replicas : int, optional
        Copies of each network; as in :class:`DaskCQRNN`.
    compared_rows : int, default 50000
        Size of the sample on which candidates are compared and pooled.
    passes : float, default 1.0
        Passes over all rows of each network at least; small data have the steps of one machine.
    candidates, cv, categorical_features, censoring, allow_negative, n_jobs, random_state, verbose
        As in :class:`censquant.CensoredQuantileRegressor`.

    Attributes
    ----------
    parts_ : dict of str to str
        ``"all rows"`` or ``"sample"`` for each candidate that the pool uses.
    client_ : distributed.Client
        The client that is used.
    weights_, candidates_, estimators_, oof_curve_, oof_rows_, calibration_p_value_, \
calibration_gap_, tail_rule_, feature_kinds_, quantiles_, follow_up_, horizon_, unique_times_, \
time_transform_, n_features_in_, feature_names_in_
        Those of the plain estimator; ``oof_rows_`` count rows of the sample.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from distributed import Client, LocalCluster
    >>> from censquant import CoxQuantileRegressor, ShapeNN
    >>> from censquant.dask import DaskCensoredQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> frame = X.assign(time=y["time"], event=y["event"])
    >>> candidates = [("cox", CoxQuantileRegressor()), ("normal", ShapeNN(max_steps=50))]
    >>> model = DaskCensoredQuantileRegressor(candidates=candidates, random_state=0)
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as c, Client(c):
    ...     rows = dd.from_pandas(frame, npartitions=3)
    ...     model = model.fit(rows, time="time", event="event")
    >>> model.parts_["cox"]
    'sample'
    >>> model.to_local().predict(X).shape
    (686,)
    """

    quantiles: ArrayLike | None = None
    _: KW_ONLY
    client: Any = None
    n_replicas: int | None = None
    compared_rows: int = 50_000
    passes: float = 1.0
    candidates: Sequence[tuple[str, Any]] | None = None
    cv: Any = 4
    categorical_features: Any = "from_dtype"
    censoring: str = "right"
    allow_negative: bool = False
    n_jobs: int | None = None
    random_state: Any = None
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
        groups: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit to rows on the workers.

        Parameters
        ----------
        X : DataFrame or Array of dask
            Features, or with ``time`` and ``event`` the whole table. Columns may be numbers,
            categories, text or booleans, with missing values.
        y : DataFrame of dask, optional
            Columns ``time`` (or ``duration``) and ``event``, with the partitions of ``X``.
        time, event : column of X, optional
            In place of ``y``.
        features : list of columns of X, optional
            By default all that have no other role.
        weight : column of X, optional
            Rows of weight 0 are left out.
        groups : column of X, optional
            Rows of one group (a patient, an engine) are sampled and held out together; labels are
            compared as text.
        checkpoint_dir : str or path, optional
            Folder to write a checkpoint of each network to after every round; the same call
            resumes from it. Needs an integer as ``random_state``. The fit to the sample is
            repeated.

        Returns
        -------
        self
        """
        self._local = None
        most = check_integer("compared_rows", self.compared_rows, minimum=2)
        passes = check_number("passes", self.passes, minimum=0.0)
        folder = check_checkpoint_dir(checkpoint_dir, self.random_state)
        rows = read_collections(
            X, y, time=time, event=event, features=features, weight=weight, groups=groups
        )
        durations = self.censoring == "right" and not self.allow_negative
        rows = replace(rows, layout=replace(rows.layout, durations=durations))
        own = {k: v for k, v in self.get_params(deep=False).items() if k not in _OWN}
        pool = CensoredQuantileRegressor(**own)
        # Drawn from once: a generator would give every part of the fit other numbers.
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        if not isinstance(self.random_state, int):
            pool.random_state = seed
        with Session(self.client_) as session:
            targets = rows.statistics(session, None)
            targets.summary()  # refuses rows without an event
            sample = rows.sample(session, most, targets.n_rows, seed)
            y_sample = (sample.target.time, sample.target.event)
            weights = None if weight is None else sample.weight
            pool.fit(sample.X, y_sample, weights, groups=sample.groups)
            networks = pool._untrained_networks(np.random.default_rng(seed))
            if networks:
                numbers = pool._encode_features(sample.X)
                reader = Encoded(pool, numbers.shape[1])
                fitting = ClusterFit(
                    session,
                    rows,
                    reader,
                    rows.statistics(session, reader),
                    replace(sample, X=numbers),
                    self.n_replicas,
                    folder,
                    self.verbose,
                )
                for name, network in networks.items():
                    fitting.fit(network, name=name, fewest_passes=passes)
                    pool.estimators_[name] = [network]
        pool.random_state = self.random_state
        self.parts_ = {
            name: "all rows" if name in networks else "sample" for name in pool.estimators_
        }
        self._local, self._features = pool, rows.layout.features
        return self
